// The mini-map: where in the text the window is; a click goes there.
"use strict";
(() => {
  const text = document.getElementById("text");
  const map = document.getElementById("minimap");
  const view = document.getElementById("view");
  if (!text || !map) return;
  const follow = () => {
    const box = text.getBoundingClientRect();
    const top = Math.max(0, -box.top / box.height);
    const bottom = Math.min(1, (innerHeight - box.top) / box.height);
    view.setAttribute("y", String(1000 * top));
    view.setAttribute("height", String(Math.max(0, 1000 * (bottom - top))));
  };
  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; follow(); });
  };
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  const go = (event) => {
    const box = map.getBoundingClientRect();
    const share = (event.clientY - box.top) / box.height;
    const own = text.getBoundingClientRect();
    scrollTo({ top: scrollY + own.top + share * own.height - innerHeight / 2 });
  };
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); go(event); });
  map.addEventListener("pointermove", (event) => { if (event.buttons) go(event); });
  follow();
})();
