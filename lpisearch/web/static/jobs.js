// Jobs under way tell how far they have come (server-sent events); files are sent with a bar.
"use strict";
(() => {
  const list = document.getElementById("joblist");
  const reload = async () => {
    const address = list.dataset.jobs;
    if (address !== "/library/jobs") { location.reload(); return; }
    const answer = await fetch(address, { headers: { "X-Part": "part" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    list.replaceChildren(...page.body.childNodes);
    follow();
  };
  const said = (job) => {
    const far = job.progress || {};
    if (far.documents) return `${far.documents.toLocaleString("en")} documents`;
    return far.stage || far.part || "";
  };
  const follow = () => {
    for (const place of list.querySelectorAll("[data-job]")) {
      if (!["waiting", "running"].includes(place.dataset.state)) continue;
      const events = new EventSource(`/api/v1/jobs/${place.dataset.job}/events`);
      events.addEventListener("progress", (event) => {
        const job = JSON.parse(event.data);
        const bar = place.querySelector("progress");
        if (bar && job.progress?.total) bar.value = job.progress.done / job.progress.total;
        else bar?.removeAttribute("value");
        place.querySelector("[data-said]").textContent = said(job);
      });
      events.addEventListener("end", () => { events.close(); reload(); });
      events.addEventListener("error", () => { if (events.readyState === EventSource.CLOSED) return; });
    }
  };
  if (list) follow();

  const form = document.getElementById("upload");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const told = document.getElementById("sending");
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.upload.addEventListener("progress", (sent) => {
      told.textContent = sent.total ? `Uploading: ${Math.round((100 * sent.loaded) / sent.total)}%` : "Uploading …";
    });
    request.addEventListener("load", () => {
      told.textContent = request.status < 400 ? "Uploaded." : request.responseText.slice(0, 300);
      if (request.status < 400) { form.reset(); reload(); }
    });
    request.addEventListener("error", () => { told.textContent = "The server is not responding."; });
    request.send(new FormData(form));
  });
  document.getElementById("files")?.addEventListener("change", (event) => {
    if (event.target.files.length) document.getElementById("sending").textContent = `${event.target.files.length} selected`;
  });
})();
