// The map: drawn pixel by pixel, so that a hundred thousand points move with the hand.
"use strict";
(() => {
  const one = (id) => document.getElementById(id);
  const canvas = one("map");
  if (!canvas) return;
  const box = one("box");
  const pen = canvas.getContext("2d", { alpha: false });
  const form = one("maptools");
  const asked = new URLSearchParams({ projection: canvas.dataset.projection });
  if (canvas.dataset.topics) asked.set("topics", canvas.dataset.topics);

  const state = { points: null, data: null, by: "topic", only: 0, lit: [], picked: [], hover: -1, chosen: -1, line: null };
  const view = { scale: 1, x: 0, y: 0 };
  let width = 0, height = 0, ratio = 1, whole = 1, colours = null, image = null, pixels = null, words = null, moving = false, rests = 0;

  // Colours come from the style, so that the theme is one.
  const read = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const rgb = (text) => {
    const probe = new OffscreenCanvas(1, 1).getContext("2d");
    probe.fillStyle = text;
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const readColours = () => {
    colours = {
      sheet: rgb(read("--sheet")), none: rgb(read("--edge")), ink: read("--ink"), paper: read("--sheet"),
      accent: read("--accent"), own: Array.from({ length: 12 }, (_, i) => rgb(read(`--c${i}`))),
    };
  };
  const numberOf = (i) => (state.by === "topic" ? state.points.topic[i] : state.points.label[i]);
  const colourNumber = (number) => (state.by === "topic" ? number - 1 : state.data.labels[number - 1].colour) % 12;
  const colourOf = (number) => (number ? colours.own[colourNumber(number)] : colours.none);

  const onScreen = (i) => [state.points.x[i] * view.scale + view.x, state.points.y[i] * view.scale + view.y];
  const onMap = (x, y) => [(x - view.x) / view.scale, (y - view.y) / view.scale];
  const fit = () => {
    const margin = 34;
    const [left, top, right, bottom] = state.points ? state.points.bounds : [0, 0, 1, 1];
    view.scale = Math.max(40, Math.min(
      (width - 2 * margin) / Math.max(right - left, 0.05), (height - 2 * margin) / Math.max(bottom - top, 0.05)));
    whole = view.scale;
    view.x = width / 2 - (view.scale * (left + right)) / 2;
    view.y = height / 2 - (view.scale * (top + bottom)) / 2;
  };

  // How much of each pixel a disc covers: [dx, dy, cover of 256, dx, dy, …].
  const disc = (size) => {
    const found = [];
    const reach = Math.ceil(size + 0.5);
    for (let dy = -reach; dy <= reach; dy += 1) {
      for (let dx = -reach; dx <= reach; dx += 1) {
        const cover = Math.max(0, Math.min(1, size + 0.5 - Math.hypot(dx, dy)));
        if (cover > 0.04) found.push(dx, dy, Math.round(cover * 256));
      }
    }
    return Int32Array.from(found);
  };
  const radius = () => {
    const size = state.points.size;
    const usual = size > 50000 ? 0.9 : size > 10000 ? 1.25 : size > 2000 ? 1.9 : size > 500 ? 2.6 : 3.6;
    return ratio * Math.min(5, usual * (view.scale / whole) ** 0.4);
  };

  const pack = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  const paletteOf = () => {
    const most = 1 + (state.by === "topic" ? state.data.topics.length : state.data.labels.length);
    const mix = (colour, share) => colour.map((c, k) => Math.round(c * share + colours.sheet[k] * (1 - share)));
    return Array.from({ length: most }, (_, n) => {
      const off = state.lit.length > 0 || (state.only && n !== state.only);
      return mix(colourOf(n), off ? 0.22 : n ? 0.92 : 0.6);
    });
  };

  // Many points that move are small squares, which cost next to nothing; at rest they are discs.
  const paintPoints = () => {
    const wide = canvas.width, high = canvas.height;
    if (!image || image.width !== wide || image.height !== high) {
      image = pen.createImageData(wide, high);
      pixels = new Uint32Array(image.data.buffer);
    }
    pixels.fill(pack(colours.sheet));
    const palette = paletteOf();
    const frame = [wide, high, view.scale * ratio, view.x * ratio, view.y * ratio];
    const { xs, ys, topics, labels } = state.points.drawn;
    const numbers = state.by === "topic" ? topics : labels;
    if (moving && state.points.size > 10000) squares(pixels, xs, ys, numbers, palette, frame);
    else discs(pixels, xs, ys, numbers, palette, frame, radius());
    pen.putImageData(image, 0, 0);
  };

  const squares = (to, xs, ys, numbers, palette, [wide, high, scale, left, top]) => {
    const packed = Uint32Array.from(palette, pack);
    const right = wide - 2, bottom = high - 2, size = xs.length;
    const broad = ratio > 1;
    for (let i = 0; i < size; i += 1) {
      const x = (xs[i] * scale + left) | 0, y = (ys[i] * scale + top) | 0;
      if (x < 1 || y < 1 || x >= right || y >= bottom) continue;
      const at = y * wide + x, colour = packed[numbers[i]];
      to[at] = colour;
      to[at + 1] = colour;
      to[at + wide] = colour;
      to[at + wide + 1] = colour;
      if (broad) { to[at - 1] = colour; to[at + wide - 1] = colour; to[at - wide] = colour; to[at - wide + 1] = colour; }
    }
  };

  const discs = (to, xs, ys, numbers, palette, [wide, high, scale, left, top], size) => {
    const stamp = disc(size), reach = Math.ceil(size + 1), count = xs.length;
    for (let i = 0; i < count; i += 1) {
      const x = Math.round(xs[i] * scale + left), y = Math.round(ys[i] * scale + top);
      if (x < reach || y < reach || x >= wide - reach || y >= high - reach) continue;
      const [red, green, blue] = palette[numbers[i]];
      for (let m = 0; m < stamp.length; m += 3) {
        const at = (y + stamp[m + 1]) * wide + x + stamp[m], cover = stamp[m + 2], under = to[at];
        const r = under & 255, g = (under >> 8) & 255, b = (under >> 16) & 255;
        to[at] = (255 << 24) | ((b + (((blue - b) * cover) >> 8)) << 16)
          | ((g + (((green - g) * cover) >> 8)) << 8) | (r + (((red - r) * cover) >> 8));
      }
    }
  };

  const ring = (i, size, colour, filled) => {
    const [x, y] = onScreen(i);
    pen.beginPath();
    pen.arc(x, y, size, 0, 7);
    if (filled) { pen.fillStyle = filled; pen.fill(); }
    pen.strokeStyle = colour;
    pen.lineWidth = filled ? 1.2 : 2;
    pen.stroke();
  };

  let breadths = [];
  const paintNames = () => {
    if (state.by !== "topic" || state.lit.length) return;
    pen.font = "600 12.5px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    const taken = [];
    const order = words.map((_, n) => n).filter((n) => words[n]).sort((a, b) => words[b][2] - words[a][2]);
    for (const n of order) {
      if (state.only && state.only !== n + 1) continue;
      const [mx, my] = words[n];
      const x = mx * view.scale + view.x, y = my * view.scale + view.y;
      const said = state.data.topics[n].name;
      const half = (breadths[n] ||= pen.measureText(said).width / 2 + 4);
      if (x < half || x > width - half || y < 12 || y > height - 12) continue;
      if (taken.some((t) => Math.abs(t[0] - x) < t[2] + half && Math.abs(t[1] - y) < 19)) continue;
      taken.push([x, y, half]);
      pen.lineWidth = 4;
      pen.strokeStyle = colours.paper;
      pen.strokeText(said, x, y);
      pen.fillStyle = colours.ink;
      pen.fillText(said, x, y);
    }
  };

  const paint = () => {
    if (!width) return;
    if (!state.points) { pen.fillStyle = colours.paper; pen.fillRect(0, 0, canvas.width, canvas.height); return; }
    paintPoints();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintNames();
    const size = Math.max(3, radius() / ratio + 1.6);
    for (let k = state.lit.length - 1; k >= 0; k -= 1) {
      const i = state.lit[k];
      ring(i, k < 10 ? size + 2 : size, colours.paper, `rgb(${colourOf(numberOf(i)).join(" ")})`);
    }
    for (const i of state.picked) ring(i, size, colours.ink);
    if (state.chosen >= 0) { ring(state.chosen, size + 5, colours.accent); ring(state.chosen, size, colours.paper, colours.accent); }
    if (state.hover >= 0) ring(state.hover, size + 3, colours.ink);
    if (state.line) {
      pen.beginPath();
      for (let k = 0; k < state.line.length; k += 2) {
        pen.lineTo(state.line[k] * view.scale + view.x, state.line[k + 1] * view.scale + view.y);
      }
      pen.strokeStyle = colours.accent;
      pen.lineWidth = 1.5;
      pen.setLineDash([5, 4]);
      pen.stroke();
      pen.setLineDash([]);
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
  };
  let waits = false;
  const draw = () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; paint(); });
  };

  const move = () => {
    moving = true;
    clearTimeout(rests);
    rests = setTimeout(() => { moving = false; draw(); }, 120);
    draw();
  };

  const measure = () => {
    const before = width;
    ratio = Math.min(2, devicePixelRatio || 1);
    width = box.clientWidth;
    height = box.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    if (!before) fit();
    draw();
  };

  const zoom = (factor, x = width / 2, y = height / 2) => {
    const least = 0.5 * whole, most = 400 * whole;
    const scale = Math.max(least, Math.min(most, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    move();
  };

  // Titles, asked for when they are first wanted.
  const known = new Map();
  const documents = async (numbers) => {
    const unknown = numbers.filter((at) => !known.has(at)).slice(0, 300);
    if (unknown.length) {
      const answer = await fetch(`/map/documents?${asked}&at=${unknown.join(",")}`);
      if (answer.ok) for (const each of await answer.json()) known.set(each.at, each);
    }
    return numbers.map((at) => known.get(at)).filter(Boolean);
  };
  const address = (id) => {
    const wanted = new URLSearchParams({ id });
    if (one("q").value.trim()) wanted.set("q", one("q").value);
    return `/document?${wanted}`;
  };

  const tip = one("tip");
  let hovering = 0;
  const point = (x, y) => {
    const at = state.points.nearest(...onMap(x, y), 9 / view.scale);
    if (at === state.hover) return;
    state.hover = at;
    tip.hidden = true;
    canvas.style.cursor = at >= 0 ? "pointer" : "";
    draw();
    clearTimeout(hovering);
    if (at < 0) return;
    hovering = setTimeout(async () => {
      const [found] = await documents([at]);
      if (!found || state.hover !== at) return;
      tip.textContent = found.title || found.id;
      tip.dir = "auto";
      tip.hidden = false;
      const [px, py] = onScreen(at);
      tip.style.left = `${Math.max(4, Math.min(width - tip.offsetWidth - 4, px + 12))}px`;
      tip.style.top = `${py + 16 + tip.offsetHeight > height ? py - tip.offsetHeight - 12 : py + 14}px`;
    }, known.has(at) ? 0 : 40);
  };

  // All documents of a list get a label, not only those that are shown.
  const labels = (numbers) => {
    const made = one("labelling")?.content.cloneNode(true);
    if (!made) return [];
    made.querySelector("form").addEventListener("submit", async (event) => {
      const own = event.target;
      if (own.elements.documents.value) return;
      event.preventDefault();
      const ids = [];
      for (let at = 0; at < numbers.length; at += 300) {
        for (const each of await documents(numbers.slice(at, at + 300))) ids.push(each.id);
      }
      own.elements.documents.value = JSON.stringify(ids);
      own.requestSubmit();
    });
    return [made];
  };

  // A list of documents beside the map.
  const list = async (numbers, title) => {
    const place = one("picked");
    place.hidden = !numbers.length;
    if (!numbers.length) return;
    const heading = document.createElement("h2");
    heading.textContent = `${title}: ${numbers.length.toLocaleString("en")}`;
    const clear = document.createElement("button");
    clear.type = "button";
    clear.className = "link";
    clear.textContent = "Clear";
    clear.addEventListener("click", () => { state.picked = []; state.lit = []; one("q").value = ""; remember(); list([], ""); draw(); });
    const items = document.createElement("ol");
    for (const each of await documents(numbers.slice(0, 200))) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = address(each.id);
      link.textContent = each.title || each.id;
      link.dir = "auto";
      link.addEventListener("pointerenter", () => { state.hover = each.at; draw(); });
      item.append(link);
      items.append(item);
    }
    const more = document.createElement("p");
    more.className = "soft small";
    const rest = numbers.length - items.children.length;
    more.textContent = rest > 0 ? `The first ${items.children.length} are listed; ${rest.toLocaleString("en")} more are selected.` : "";
    place.replaceChildren(heading, clear, ...labels(numbers), items, more);
    place.parentElement.scrollTop = 0;
  };

  // The hand: drag moves, wheel and two fingers zoom, Shift or the button draw a lasso.
  const hands = new Map();
  let moved = 0, drawing = false, spread = 0;
  const place = (event) => {
    const edge = canvas.getBoundingClientRect();
    return [event.clientX - edge.left, event.clientY - edge.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (!state.points || event.button) return;
    canvas.setPointerCapture(event.pointerId);
    hands.set(event.pointerId, place(event));
    moved = 0;
    drawing = hands.size === 1 && (event.shiftKey || one("lasso").getAttribute("aria-pressed") === "true");
    state.line = drawing ? [...onMap(...place(event))] : null;
    spread = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!state.points) return;
    const [x, y] = place(event);
    const before = hands.get(event.pointerId);
    if (!before) { point(x, y); return; }
    moved += Math.hypot(x - before[0], y - before[1]);
    hands.set(event.pointerId, [x, y]);
    tip.hidden = true;
    if (drawing) { state.line.push(...onMap(x, y)); draw(); return; }
    const [first, second] = [...hands.values()];
    if (second) {
      const now = Math.hypot(first[0] - second[0], first[1] - second[1]);
      if (spread) zoom(now / spread, (first[0] + second[0]) / 2, (first[1] + second[1]) / 2);
      spread = now;
      return;
    }
    view.x += x - before[0];
    view.y += y - before[1];
    move();
  });
  const lift = (event) => {
    if (!hands.delete(event.pointerId)) return;
    if (drawing && state.line) {
      state.picked = state.line.length > 6 ? state.points.inside(state.line) : [];
      state.line = null;
      drawing = false;
      list(state.picked, "Selected");
      draw();
    } else if (moved < 5 && event.type === "pointerup") {
      const at = state.points.nearest(...onMap(...place(event)), 9 / view.scale);
      if (at >= 0) documents([at]).then(([found]) => { if (found) location.href = address(found.id); });
    }
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => { if (!hands.size && state.points) { state.hover = -1; tip.hidden = true; draw(); } });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    tip.hidden = true;
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...place(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(2, ...place(event)));
  canvas.addEventListener("keydown", (event) => {
    const step = 60;
    const acts = {
      ArrowLeft: () => { view.x += step; }, ArrowRight: () => { view.x -= step; },
      ArrowUp: () => { view.y += step; }, ArrowDown: () => { view.y -= step; },
      "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: () => fit(),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
    move();
  });
  one("nearer").addEventListener("click", () => zoom(1.5));
  one("farther").addEventListener("click", () => zoom(1 / 1.5));
  one("whole").addEventListener("click", () => { fit(); draw(); });
  one("lasso").addEventListener("click", () => {
    const on = one("lasso").getAttribute("aria-pressed") !== "true";
    one("lasso").setAttribute("aria-pressed", String(on));
    box.classList.toggle("lasso", on);
  });

  // The legend.
  const legend = () => {
    const heading = document.createElement("h2");
    heading.textContent = state.by === "topic" ? "Topics" : "Labels";
    const counts = new Uint32Array(65536);
    for (let i = 0; i < state.points.size; i += 1) counts[numberOf(i)] += 1;
    const rows = state.by === "topic" ? state.data.topics : state.data.labels;
    const buttons = rows.map((row, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(state.only === at + 1));
      const dot = document.createElement("span");
      dot.className = `dot k${colourNumber(at + 1)}`;
      const said = document.createElement("span");
      said.textContent = row.name;
      said.dir = "auto";
      const count = document.createElement("span");
      count.className = "soft";
      count.textContent = counts[at + 1].toLocaleString("en");
      button.append(dot, said, count);
      button.addEventListener("click", () => { state.only = state.only === at + 1 ? 0 : at + 1; legend(); draw(); });
      return button;
    });
    one("legend").replaceChildren(heading, ...buttons);
  };

  // The address holds what is shown.
  const remember = () => {
    const wanted = new URLSearchParams(new FormData(form));
    for (const [key, value] of [...wanted]) {
      if (!value || (key === "colour" && value === "topic") || (key === "projection" && value === "neighbours")) wanted.delete(key);
    }
    if (canvas.dataset.id) wanted.set("id", canvas.dataset.id);
    history.replaceState(null, "", wanted.size ? `/map?${wanted}` : "/map");
  };
  let asking = 0, turn = 0;
  const light = async () => {
    turn += 1;
    const own = turn;
    const q = one("q").value;
    const answer = q.trim() ? await fetch(`/map/lit?${asked}&${new URLSearchParams({ q })}`) : null;
    const found = answer ? await answer.json() : { lit: [] };
    if (own !== turn) return;
    state.lit = found.lit;
    remember();
    list(state.lit, "Found");
    one("told").textContent = q.trim() ? `${state.lit.length} documents highlighted` : "";
    draw();
  };
  one("q").addEventListener("input", () => { clearTimeout(asking); asking = setTimeout(light, 80); });
  form.addEventListener("submit", (event) => {
    if (event.submitter || document.activeElement === one("q")) { event.preventDefault(); light(); }
  });
  form.addEventListener("change", (event) => {
    if (event.target.name !== "colour") return;
    state.by = event.target.value;
    state.only = 0;
    legend();
    remember();
    draw();
  });
  document.addEventListener("lpisearch:theme", () => { readColours(); draw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });

  const begin = async () => {
    const chosen = canvas.dataset.id ? `&${new URLSearchParams({ id: canvas.dataset.id })}` : "";
    let said = await fetch(`/map/data?${asked}${chosen}`), data = await said.json();
    while (data.waits) {
      one("waiting").textContent = data.waits;
      await new Promise((done) => setTimeout(done, 700));
      said = await fetch(`/map/data?${asked}${chosen}`);
      data = await said.json();
    }
    if (data.trouble || !said.ok) { one("waiting").textContent = data.trouble || "The map could not be drawn."; return; }
    const bytes = await (await fetch(`/map/points?${asked}`)).arrayBuffer();
    state.points = new window.LpisearchPoints(bytes);
    state.data = data;
    state.by = form.elements.colour.value;
    if (state.by === "label" && !data.labels.length) state.by = "topic";
    state.chosen = data.chosen ?? -1;
    fit();
    words = state.points.middles(data.topics.length);
    const left = data.unplaced ? ` ${data.unplaced.toLocaleString("en")} without known words are not shown.` : "";
    one("rule").textContent = `${data.documents.toLocaleString("en")} documents.${left} ${data.rule}`;
    one("waiting").hidden = true;
    legend();
    canvas.dataset.ready = "yes";
    if (one("q").value.trim()) light();
    draw();
  };
  readColours();
  new ResizeObserver(measure).observe(box);
  measure();
  begin().catch(() => { one("waiting").textContent = "The server is not responding."; });
})();
