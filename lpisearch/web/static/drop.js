// A file that is dropped on a marked place becomes that of the field in it.
"use strict";
document.querySelectorAll("[data-drop]").forEach((place) => {
  const field = place.querySelector("input[type=file]");
  const over = (on) => (event) => { event.preventDefault(); place.classList.toggle("over-it", on); };
  place.addEventListener("dragover", over(true));
  place.addEventListener("dragleave", over(false));
  place.addEventListener("drop", (event) => {
    over(false)(event);
    if (!event.dataTransfer.files.length) return;
    field.files = event.dataTransfer.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });
});
