// What every page does: theme, keyboard, parts of pages, search as you type, preview.
"use strict";
(() => {
  const root = document.documentElement;
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const tell = (text) => { one("#told").textContent = text; };
  root.classList.add("scripted");

  // Theme.
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  one("#theme")?.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("lpisearch-theme", root.dataset.theme); } catch { /* no storage */ }
    document.dispatchEvent(new CustomEvent("lpisearch:theme"));
  });

  // Settings of this browser.
  const KEPT = "lpisearch-settings";
  const settings = { by: "hybrid", preview: true, keys: true, recent: true };
  try { Object.assign(settings, JSON.parse(localStorage.getItem(KEPT))); } catch { /* no storage */ }
  const sheet = one("#settings");
  if (sheet) {
    const fields = sheet.elements;
    fields.theme.value = root.dataset.theme ?? "system";
    fields.by.value = settings.by;
    for (const name of ["preview", "keys", "recent"]) fields[name].checked = settings[name];
    sheet.addEventListener("change", () => {
      settings.by = fields.by.value;
      for (const name of ["preview", "keys", "recent"]) settings[name] = fields[name].checked;
      const theme = fields.theme.value;
      if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
      try {
        localStorage.setItem(KEPT, JSON.stringify(settings));
        if (theme === "system") localStorage.removeItem("lpisearch-theme");
        else localStorage.setItem("lpisearch-theme", theme);
        if (!settings.recent) localStorage.removeItem("lpisearch-recent");
        one("#kept").textContent = "Saved.";
      } catch { one("#kept").textContent = "This browser keeps no settings."; }
    });
  }

  // Parts of pages. A request that another one replaces is aborted in silence.
  const part = async (address, { kind = "part", signal } = {}) => {
    const answer = await fetch(address, { headers: { "X-Part": kind }, signal, redirect: "follow" });
    return { status: answer.status, url: answer.url, text: answer.status === 204 ? "" : await answer.text() };
  };
  const nodes = (text, selector) => {
    const body = new DOMParser().parseFromString(text, "text/html").body;
    const chosen = selector && body.querySelector(selector);
    return chosen ? [chosen] : [...body.childNodes];
  };
  const fill = async (box, address, { signal, select } = {}) => {
    box.setAttribute("aria-busy", "true");
    try {
      const { text } = await part(address, { signal });
      box.replaceChildren(...nodes(text, select));
      return true;
    } catch (error) {
      if (error.name !== "AbortError") tell("The server is not responding.");
      return false;
    } finally { box.removeAttribute("aria-busy"); }
  };
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-into]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const box = document.getElementById(link.dataset.into);
    if (link.getAttribute("aria-expanded") === "true") {
      box.replaceChildren();
      link.setAttribute("aria-expanded", "false");
      return;
    }
    if (await fill(box, link.href, { select: link.dataset.select })) {
      if (link.hasAttribute("aria-expanded")) link.setAttribute("aria-expanded", "true");
    }
  });
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      const load = async () => {
        if (await fill(target, target.dataset.load) && one("[data-again]", target)) setTimeout(load, 1500);
      };
      load();
    }
  });
  all("[data-load]").forEach((box) => seen.observe(box));

  // Search as you type: results stay, dimmed, until others come. A key asks at once; while an answer is
  // under way, keys wait for each other, and then replace it.
  const form = one("form#search");
  const field = one("#q");
  const WAIT = 60, PAUSE = 400, BEGIN = 1500;
  const defaults = { by: "hybrid", sort: "relevance" };
  let asking = null, waits = 0, pauses = 0, lastKey = -Infinity, begins = false;
  const address = () => {
    const wanted = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value && defaults[name] !== value) wanted.append(name, value);
    }
    return wanted.size ? `/?${wanted}` : "/";
  };
  const stale = (on) => one("#answer")?.classList.toggle("stale", on);
  const ask = async (typed) => {
    clearTimeout(waits);
    clearTimeout(pauses);
    asking?.abort();
    const own = asking = new AbortController();
    const wanted = address();
    stale(true);
    one("#busy").classList.add("busy");
    try {
      const { status, text } = await part(wanted, { kind: typed ? "typed" : "page", signal: own.signal });
      if (own !== asking) return;
      if (status === 204) { pauses = setTimeout(() => ask(false), PAUSE); return; }
      show(text, wanted, typed);
    } catch (error) {
      if (error.name === "AbortError") return;
      stale(false);
      tell("The server is not responding.");
    } finally {
      if (own === asking) {
        asking = null;
        one("#busy").classList.remove("busy");
      }
    }
  };
  const show = (text, wanted, typed) => {
    const [fresh] = nodes(text, "#answer");
    const active = document.activeElement;
    const kept = active?.form === form && active !== field && active.id;
    if (fresh.id !== "answer") { one("#answer").replaceChildren(fresh); return; }
    const brief = "brief" in fresh.dataset && one("#answer > .facets");
    if (brief) {
      one("#answer > .results").replaceWith(one(".results", fresh));
      stale(false);
      pauses = setTimeout(() => ask(false), PAUSE);
    } else one("#answer").replaceWith(fresh);
    if (kept) document.getElementById(kept)?.focus({ preventScroll: true });
    if (location.pathname + location.search !== wanted) {
      if (typed && !begins) history.replaceState(null, "", wanted);
      else history.pushState(null, "", wanted);
      begins = false;
    }
    one("#home")?.remove();
    const after = one("#after");
    if (after) {
      after.hidden = wanted === "/" || !one("#answer .hit");
      all("[name=search]", after).forEach((each) => { each.value = wanted; });
      for (const link of all("[data-search]", after)) {
        const own = new URL(link.href), as = own.searchParams.get("as");
        own.search = wanted.slice(1);
        if (as) own.searchParams.set("as", as);
        link.href = own;
      }
    }
    if (fresh.dataset.title) document.title = fresh.dataset.title;
    tell(one("#answer .summary [role=status]")?.textContent.trim() ?? "");
    if (!brief) settle();
    document.dispatchEvent(new CustomEvent("lpisearch:answer"));
  };
  if (form && one("#answer")) {
    const asked = new URLSearchParams(location.search);
    if (!asked.has("by") && !asked.has("q")) {
      const own = all("[name=by]", form).find((each) => each.value === settings.by);
      if (own) own.checked = true;
    }
    field.addEventListener("input", () => {
      begins ||= performance.now() - lastKey > BEGIN;
      lastKey = performance.now();
      stale(true);
      clearTimeout(waits);
      clearTimeout(pauses);
      waits = setTimeout(() => ask(true), asking ? WAIT : 0);
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); ask(false); });
    document.addEventListener("change", (event) => { if (event.target.matches(".asks")) ask(false); });
    addEventListener("popstate", () => location.reload());
  }

  // All values of a facet, with a field that searches them.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a.all-values");
    if (!link || !form) return;
    event.preventDefault();
    const box = document.createElement("div");
    const find = document.createElement("input");
    find.type = "search";
    find.placeholder = "Find a value";
    find.setAttribute("aria-label", "Find a value");
    const list = link.closest("fieldset").querySelector("ul");
    let turn = null;
    const load = () => {
      turn?.abort();
      turn = new AbortController();
      return fill(box, `${link.href}&${new URLSearchParams({ find: find.value })}`, { signal: turn.signal });
    };
    find.addEventListener("input", load);
    if (!await load()) return;
    list.remove();
    link.parentElement.replaceWith(find, box);
    find.focus();
  });

  // Results by the keyboard, and their preview beside them.
  const typing = () => document.activeElement?.matches("input:not([type=checkbox], [type=radio]), textarea, select");
  const broad = matchMedia("(min-width: 75em)");
  let at = -1, showing = null, soon = 0;
  const preview = (hit, delay = 120) => {
    const box = one("#preview");
    if (!box || !broad.matches || !settings.preview) return;
    clearTimeout(soon);
    soon = setTimeout(async () => {
      showing?.abort();
      const own = showing = new AbortController();
      const target = one("a.open", hit).href.split("#")[0];
      if (!await fill(box, target, { signal: own.signal }) || own !== showing) return;
      box.hidden = false;
      one("#answer").classList.add("with-preview");
      const spot = one(".here mark", box) ?? one(".here", box) ?? one("mark", box);
      box.scrollTop = spot ? spot.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3 : 0;
    }, delay);
  };
  const choose = (step, focus = true) => {
    const hits = all(".hit");
    if (!hits.length) return;
    const now = hits.findIndex((hit) => hit.contains(document.activeElement));
    at = Math.max(0, Math.min(hits.length - 1, (now >= 0 ? now : at) + step));
    hits.forEach((hit, number) => hit.classList.toggle("chosen-hit", number === at));
    preview(hits[at]);
    if (!focus) return;
    one("h2 a", hits[at]).focus({ preventScroll: true });
    const box = hits[at].getBoundingClientRect();
    if (box.top < 80 || box.bottom > innerHeight) hits[at].scrollIntoView({ block: "center" });
  };
  const settle = () => {
    at = -1;
    open();
    if (one(".search-page") && new URLSearchParams(location.search).get("q") && broad.matches && one(".hit")) {
      one(".hit").classList.add("chosen-hit");
      preview(one(".hit"), 250);
    }
  };
  document.addEventListener("focusin", (event) => {
    const hit = event.target.closest?.(".hit");
    if (!hit || hit.classList.contains("chosen-hit")) return;
    all(".hit").forEach((each, number) => { each.classList.toggle("chosen-hit", each === hit); if (each === hit) at = number; });
    preview(hit);
  });
  document.addEventListener("pointerover", (event) => {
    const hit = event.pointerType === "mouse" && event.target.closest?.(".hit");
    if (!hit || hit.classList.contains("chosen-hit") || !one("#answer.with-preview")) return;
    all(".hit").forEach((each, number) => { each.classList.toggle("chosen-hit", each === hit); if (each === hit) at = number; });
    preview(hit, 300);
  });
  const acts = {
    "/": () => { if (field) { field.focus(); field.select(); } else location.href = "/"; },
    j: () => choose(1),
    k: () => choose(-1),
    ArrowDown: () => choose(1),
    ArrowUp: () => choose(-1),
    w: () => one(".hit.chosen-hit .ask-why")?.click(),
    n: () => jump(1),
    p: () => jump(-1),
    "[": () => one(".around [rel=prev]")?.click(),
    "]": () => one(".around [rel=next]")?.click(),
    "?": () => { const help = one("#keys"); if (help.open) help.close(); else help.showModal(); },
  };
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); palette(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing()) { event.preventDefault(); document.activeElement.blur(); return; }
    if (typing()) {
      if (event.key === "ArrowDown" && document.activeElement === field && one(".hit")) { event.preventDefault(); at = -1; choose(1); }
      return;
    }
    if (one("dialog[open]") && event.key !== "?") return;
    if (event.key.startsWith("Arrow") && !(document.activeElement.closest?.(".hit") && event.target.closest(".hit"))) return;
    if (!settings.keys && event.key.length === 1) return;
    if (Object.hasOwn(acts, event.key)) { event.preventDefault(); acts[event.key](); }
  });
  one("#help")?.addEventListener("click", (event) => { event.preventDefault(); one("#keys").showModal(); });
  document.addEventListener("click", (event) => { if (event.target.matches("dialog")) event.target.close(); });

  // The command palette: pages, and what was searched for.
  const palette = () => {
    const box = one("#palette");
    if (box.open) { box.close(); return; }
    const list = one("ul", box), find = one("input", box);
    const draw = () => {
      const wanted = find.value.trim().toLowerCase();
      const rows = all("a", one("#commands").content).concat(recent.links())
        .filter((link) => link.textContent.toLowerCase().includes(wanted));
      if (wanted) {
        const link = document.createElement("a");
        link.href = `/?${new URLSearchParams({ q: find.value })}`;
        link.textContent = `Search for “${find.value}”`;
        rows.unshift(link);
      }
      list.replaceChildren(...rows.slice(0, 9).map((link, number) => {
        const item = document.createElement("li");
        item.append(link.cloneNode(true));
        item.classList.toggle("on", number === 0);
        return item;
      }));
    };
    find.value = "";
    draw();
    find.oninput = draw;
    find.onkeydown = (event) => {
      const items = all("li", list), now = items.findIndex((item) => item.classList.contains("on"));
      if (event.key === "Enter") { event.preventDefault(); one(".on a", list)?.click(); box.close(); }
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      items.forEach((item, number) => item.classList.toggle("on", number === (now + step + items.length) % items.length));
    };
    box.showModal();
    find.focus();
  };

  // What was searched for lately stays in this browser alone.
  const recent = {
    key: "lpisearch-recent",
    read() { try { return JSON.parse(localStorage.getItem(this.key)) ?? []; } catch { return []; } },
    write(list) { try { localStorage.setItem(this.key, JSON.stringify(list.slice(0, 12))); } catch { /* no storage */ } },
    add(text, where) { this.write([{ text, where }, ...this.read().filter((each) => each.text !== text)]); },
    links() {
      return this.read().map(({ text, where }) => {
        const link = document.createElement("a");
        link.href = String(where).startsWith("/?") ? where : "/";
        link.textContent = text;
        link.dir = "auto";
        return link;
      });
    },
  };
  const remember = () => {
    const text = field?.value.trim();
    if (settings.recent && form && text && one(".hit")) recent.add(text, location.pathname + location.search);
  };
  addEventListener("pagehide", remember);
  document.addEventListener("click", (event) => { if (event.target.closest?.(".hit a")) remember(); });
  const home = one("#recent");
  if (home && recent.read().length) {
    one("ul", home).replaceChildren(...recent.links().slice(0, 6).map((link) => {
      const item = document.createElement("li");
      item.append(link);
      return item;
    }));
    home.hidden = false;
    one("button", home).addEventListener("click", () => { recent.write([]); home.hidden = true; });
  }

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

  // Facets stay open or shut on narrow screens; on wide ones they are always open.
  const wide = matchMedia("(min-width: 44.01rem)");
  const open = () => all(".facets > details").forEach((each) => { if (wide.matches) each.open = true; });
  wide.addEventListener("change", open);
  settle();

  // Choices that take effect at once.
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  });
})();
