// What every page does: theme, keyboard, search as you type.
"use strict";
(() => {
  const root = document.documentElement;
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  root.classList.add("scripted");

  // Theme.
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  one("#theme")?.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("lpisearch-theme", root.dataset.theme); } catch { /* no storage */ }
    document.dispatchEvent(new CustomEvent("lpisearch:theme"));
  });

  // Hits by the keyboard.
  const typing = () => document.activeElement?.matches("input:not([type=checkbox], [type=radio]), textarea, select");
  let at = -1;
  const choose = (step) => {
    const hits = all(".hit");
    if (!hits.length) return;
    const now = hits.findIndex((hit) => hit.contains(document.activeElement));
    at = Math.max(0, Math.min(hits.length - 1, (now >= 0 ? now : at) + step));
    hits.forEach((hit, number) => hit.classList.toggle("chosen-hit", number === at));
    const link = one("h2 a", hits[at]);
    link.focus({ preventScroll: true });
    const box = hits[at].getBoundingClientRect();
    if (box.top < 80 || box.bottom > innerHeight) hits[at].scrollIntoView({ block: "center" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = one("#q");
    if (event.key === "Escape" && typing()) { event.preventDefault(); document.activeElement.blur(); return; }
    if (typing()) {
      if (event.key === "ArrowDown" && document.activeElement === field) { event.preventDefault(); at = -1; choose(1); }
      return;
    }
    if (one("dialog[open]") && event.key !== "?") return;
    const acts = {
      "/": () => { if (field) { field.focus(); field.select(); } else location.href = "/"; },
      j: () => choose(1),
      k: () => choose(-1),
      w: () => one(".hit.chosen-hit .ask-why")?.click(),
      n: () => jump(1),
      p: () => jump(-1),
      "?": () => { const help = one("#keys"); if (help.open) help.close(); else help.showModal(); },
    };
    if (Object.hasOwn(acts, event.key)) { event.preventDefault(); acts[event.key](); }
  });
  one("#help")?.addEventListener("click", (event) => { event.preventDefault(); one("#keys").showModal(); });
  all("dialog").forEach((dialog) => dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  }));

  // From one match of a document to the next.
  let match = -1;
  const jump = (step) => {
    const marks = all(".text mark");
    if (!marks.length) return;
    marks[match]?.classList.remove("here");
    match = (match + step + marks.length) % marks.length;
    marks[match].classList.add("here");
    marks[match].scrollIntoView({ block: "center" });
  };
  all("[data-jump]").forEach((button) => button.addEventListener("click", () => jump(Number(button.dataset.jump))));

  // The address follows what is typed: one step back for each pause, not for each key.
  let lastKey = -Infinity, begins = false;
  one("#q")?.addEventListener("input", () => {
    begins ||= performance.now() - lastKey > 1500;
    lastKey = performance.now();
  });
  document.addEventListener("htmx:beforeHistoryUpdate", (event) => {
    const typed = (event.detail.requestConfig?.elt ?? event.detail.elt)?.id === "q";
    if (typed && !begins) event.detail.history.type = "replace";
    if (typed) begins = false;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id !== "answer") return;
    at = -1;
    const said = one("#answer .summary [role=status]");
    one("#told").textContent = said ? said.textContent.trim() : "";
    const title = one("#answer")?.dataset.title;
    if (title) document.title = title;
  });
  document.addEventListener("htmx:sendError", () => { one("#told").textContent = "The server is not responding."; });

  // Facets stay open or shut on narrow screens; on wide ones they are always open.
  const wide = matchMedia("(min-width: 44.01rem)");
  const open = () => all(".facets > details").forEach((each) => { if (wide.matches) each.open = true; });
  wide.addEventListener("change", open);
  document.addEventListener("htmx:afterSwap", open);
  open();

  // Choices that take effect at once.
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  });
})();
