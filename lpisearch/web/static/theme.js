// Before anything is drawn: the theme that was chosen, so that nothing flashes.
"use strict";
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("lpisearch-theme"); } catch { /* storage is switched off */ }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
