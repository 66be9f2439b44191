// The points of the map: read from bytes, and found again by where they are.
"use strict";
window.LpisearchPoints = class {
  // Four 16-bit numbers for each: x, y (upwards), topic, label; 0 is none of the last two.
  constructor(bytes) {
    const all = new Uint16Array(bytes);
    this.size = all.length / 4;
    this.x = new Float32Array(this.size);
    this.y = new Float32Array(this.size);
    this.topic = new Uint16Array(this.size);
    this.label = new Uint16Array(this.size);
    for (let i = 0, at = 0; i < this.size; i += 1, at += 4) {
      this.x[i] = all[at] / 65535;
      this.y[i] = 1 - all[at + 1] / 65535;
      this.topic[i] = all[at + 2];
      this.label[i] = all[at + 3];
    }
    this.bounds = this.size ? [1, 1, 0, 0] : [0, 0, 1, 1];
    for (let i = 0; i < this.size; i += 1) {
      this.bounds[0] = Math.min(this.bounds[0], this.x[i]);
      this.bounds[1] = Math.min(this.bounds[1], this.y[i]);
      this.bounds[2] = Math.max(this.bounds[2], this.x[i]);
      this.bounds[3] = Math.max(this.bounds[3], this.y[i]);
    }
    const order = this.#scattered();
    this.drawn = {
      xs: Float32Array.from(order, (i) => this.x[i]), ys: Float32Array.from(order, (i) => this.y[i]),
      topics: Uint16Array.from(order, (i) => this.topic[i]), labels: Uint16Array.from(order, (i) => this.label[i]),
    };
    this.#fillGrid();
  }

  // An order in which neighbours in the file are far apart, so that none hides another by chance.
  #scattered() {
    const order = new Uint32Array(this.size);
    const divides = (a, b) => { while (b) [a, b] = [b, a % b]; return a; };
    let step = Math.floor(this.size * 0.618) | 1;
    while (this.size > 1 && divides(step, this.size) !== 1) step += 1;
    for (let i = 0, at = 0; i < this.size; i += 1, at = (at + step) % this.size) order[i] = at;
    return order;
  }

  #cell(i) {
    const side = this.side;
    const column = Math.min(side - 1, Math.floor(this.x[i] * side));
    return Math.min(side - 1, Math.floor(this.y[i] * side)) * side + column;
  }

  #fillGrid() {
    this.side = Math.max(1, Math.min(256, Math.ceil(Math.sqrt(this.size / 4))));
    this.starts = new Uint32Array(this.side * this.side + 1);
    for (let i = 0; i < this.size; i += 1) this.starts[this.#cell(i) + 1] += 1;
    for (let i = 1; i < this.starts.length; i += 1) this.starts[i] += this.starts[i - 1];
    const next = this.starts.slice();
    this.inGrid = new Uint32Array(this.size);
    for (let i = 0; i < this.size; i += 1) { const c = this.#cell(i); this.inGrid[next[c]] = i; next[c] += 1; }
  }

  // The points in a box, one after the other.
  *within(left, top, right, bottom) {
    const side = this.side;
    const clip = (value) => Math.max(0, Math.min(side - 1, Math.floor(value * side)));
    const [c0, c1] = [clip(left), clip(right)];
    for (let row = clip(top); row <= clip(bottom); row += 1) {
      const end = this.starts[row * side + c1 + 1];
      for (let at = this.starts[row * side + c0]; at < end; at += 1) {
        const i = this.inGrid[at];
        if (this.x[i] >= left && this.x[i] <= right && this.y[i] >= top && this.y[i] <= bottom) yield i;
      }
    }
  }

  // The point nearest to a place, no farther than a distance; -1 if there is none.
  nearest(x, y, distance) {
    let best = -1;
    let least = distance * distance;
    for (const i of this.within(x - distance, y - distance, x + distance, y + distance)) {
      const far = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
      if (far <= least) { best = i; least = far; }
    }
    return best;
  }

  // The points inside a line that closes itself: [x, y, x, y, …].
  inside(line) {
    const xs = line.filter((_, at) => at % 2 === 0);
    const ys = line.filter((_, at) => at % 2 === 1);
    const found = [];
    for (const i of this.within(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys))) {
      let within = false;
      for (let a = 0, b = xs.length - 1; a < xs.length; b = a, a += 1) {
        if ((ys[a] > this.y[i]) !== (ys[b] > this.y[i])
          && this.x[i] < ((xs[b] - xs[a]) * (this.y[i] - ys[a])) / (ys[b] - ys[a]) + xs[a]) within = !within;
      }
      if (within) found.push(i);
    }
    return found;
  }

  // The middle of each topic, as the median of its points: [x, y, how many].
  middles(count) {
    const own = Array.from({ length: count }, () => []);
    for (let i = 0; i < this.size; i += 1) if (this.topic[i]) own[this.topic[i] - 1]?.push(i);
    const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    return own.map((points) => points.length
      ? [median(points.map((i) => this.x[i])), median(points.map((i) => this.y[i])), points.length] : null);
  }
};
