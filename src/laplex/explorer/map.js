// A map of words: dots by WebGL, and words on a canvas above them. All texts are drawn or set as text: words are data.
const MARKUP = `<div class="time" hidden><button aria-label="Play">▶</button><label></label><input type="range" step="any" min="0"><output></output></div>
  <div class="frame"><canvas class="dots"></canvas><canvas class="words" tabindex="0" role="application"></canvas>
  <div class="legend"></div><div class="zoom"><button aria-label="Zoom in">+</button><button aria-label="Zoom out">−</button>
  <button aria-label="The whole map">⤢</button></div></div>`;
const VERTEX = `#version 300 es
in vec2 place; in vec4 color; in float size; uniform vec2 center, factor; uniform float grow; out vec4 tint;
void main() { gl_Position = vec4((place - center) * factor, 0, 1); gl_PointSize = size * grow; tint = color; }`;
const FRAGMENT = `#version 300 es
precision mediump float; in vec4 tint; out vec4 shown;
void main() {
  float alpha = tint.a * (1.0 - smoothstep(0.38, 0.5, length(gl_PointCoord - 0.5)));
  shown = vec4(tint.rgb * alpha, alpha);
}`;
const MIN_ZOOM = -0.5, MAX_ZOOM = 9; // powers of two
const LABEL_STEP = 0.5; // of the zoom, at which words are chosen anew
const LEVEL_ENDS = [1, 2.5, 4]; // the zoom to which names of regions of each level are shown
const NONE = 255; // the color of a word that has none
const FADED = 0.1; // the opacity of words that a slice does not use
const SECONDS_PER_VALUE = 1.4, SECONDS_OF_FLIGHT = 0.6;
const HIT = 12; // pixels

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const numbers = (text, Type) => new Type(bytes(text).buffer);
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const mix = (one, two, share) => one + (two - one) * share;
const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

class WordMap {
  constructor(root) {
    root.innerHTML = MARKUP; // without any data
    const find = (selector) => root.querySelector(selector);
    Object.assign(this, { root, frame: find(".frame"), dots: find(".dots"), canvas: find(".words"), legend: find(".legend"),
      time: find(".time"), slider: find(".time input"), output: find(".time output"), play: find(".time button") });
    Object.assign(this, { zoom: 0, center: [0, 0], moment: 0, hovered: -1, selected: -1, near: [], labels: new Map(), drawn: [], motions: {} });
    this.context = this.canvas.getContext("2d");
    this.startDots();
    this.listen(root.querySelectorAll(".zoom button"));
    new ResizeObserver(() => this.resize()).observe(this.frame);
    this.dots.addEventListener("webglcontextrestored", () => { this.startDots(); this.recolor(); this.move(); });
    this.dots.addEventListener("webglcontextlost", (event) => event.preventDefault());
  }

  startDots() {
    const gl = (this.gl = this.dots.getContext("webgl2", { premultipliedAlpha: true, antialias: false }));
    if (!gl) return; // words can be read and clicked without dots
    const program = (this.program = gl.createProgram());
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.buffers = { place: [2, gl.FLOAT, false], color: [4, gl.UNSIGNED_BYTE, true], size: [1, gl.FLOAT, false] };
    for (const [name, layout] of Object.entries(this.buffers)) {
      const location = gl.getAttribLocation(program, name), buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, ...layout, 0, 0);
      this.buffers[name] = buffer;
    }
    this.order = gl.createBuffer();
  }

  fill(name, values) {
    if (!this.gl) return;
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.DYNAMIC_DRAW);
  }

  // ---- what the page says

  update(data, pick, slice) {
    Object.assign(this, { data, pick, slice });
    if (data.id !== this.id) this.open(data);
    const moved = data.moved.id !== this.movedId;
    if (moved) this.openMoved(data.moved);
    this.recolor();
    const moment = data.moved.values.indexOf(data.moved.value) + 1;
    if (moved) { this.moment = this.asked = moment; this.move(); }
    else if (moment !== this.asked) { this.asked = moment; this.animate("moment", moment, SECONDS_PER_VALUE / 2); }
    this.near = data.near;
    if (data.selected !== this.selected) {
      this.selected = data.selected;
      if (this.selected >= 0 && this.selected !== this.clicked) this.fly(this.selected);
    }
    this.clicked = -1;
    this.drawLegend(data.color);
    this.draw();
  }

  open(data) {
    this.id = data.id;
    this.size = data.words.length;
    this.home = numbers(data.points, Int16Array);
    this.counts = numbers(data.counts, Uint32Array);
    this.places = new Float32Array(2 * this.size);
    this.widths = new Float32Array(this.size);
    const content = bytes(data.content), isContent = (id) => (content[id >> 3] >> (7 - (id & 7))) & 1;
    const ids = data.words.map((_, id) => id);
    this.ranked = [...ids.filter(isContent), ...ids.filter((id) => !isContent(id))]; // who gets a label first
    const largest = Math.log(Math.max(2, ...this.counts.slice(0, 50)));
    this.shares = Float32Array.from(this.counts, (count) => clamp(Math.log(count + 1) / largest, 0, 1));
    Object.assign(this, { zoom: 0, center: [0, 0], selected: -1 });
    this.canvas.setAttribute("aria-label", `A map of ${this.size} words. Arrow keys move it, plus and minus zoom, ` +
      "0 shows all of it, Enter chooses the word in the middle.");
    this.movedId = undefined;
    this.resize();
  }

  openMoved(moved) {
    this.movedId = moved.id;
    this.ids = numbers(moved.ids, Uint32Array);
    this.stops = moved.points.map((text) => numbers(text, Int16Array));
    this.used = moved.used.map(bytes); // a bit for each word
    this.time.hidden = moved.values.length === 0;
    this.time.querySelector("label").textContent = moved.title;
    this.slider.max = moved.values.length;
    this.slider.setAttribute("aria-label", moved.title);
    this.moment = 0;
  }

  usedAt(stop, id) {
    return stop < 0 || (this.used[stop][id >> 3] >> (7 - (id & 7))) & 1;
  }

  // Where words are at this moment: between their places at two values; the first is that of all text.
  move() {
    const low = Math.floor(this.moment), share = this.moment - low, eased = share * share * (3 - 2 * share);
    const from = this.stops[low - 1], to = this.stops[Math.min(low, this.stops.length - 1)], { home, places, ids } = this;
    for (let i = 0; i < places.length; i++) places[i] = home[i] / 32767;
    for (let i = 0; to && i < 2 * ids.length; i++) {
      const at = 2 * ids[i >> 1] + (i & 1);
      places[at] = mix(from ? from[i] : home[at], to[i], eased) / 32767;
    }
    this.labels.clear();
    this.fill("place", this.places);
    this.opacity();
    const nearest = Math.round(this.moment);
    this.output.textContent = nearest ? this.data.moved.values[nearest - 1] : "all text";
    this.slider.setAttribute("aria-valuetext", this.output.textContent);
    this.slider.value = this.moment;
    this.draw();
  }

  recolor() {
    const { values, palette, ramp } = this.data.color;
    const shades = bytes(values), known = palette.map(channels);
    const muted = this.data.dark ? [116, 126, 136] : [140, 146, 152];
    this.colors = new Uint8Array(4 * this.size);
    for (let i = 0; i < this.size; i++) {
      let color = known[shades[i]];
      if (ramp) {
        const place = (shades[i] / (NONE - 1)) * (known.length - 1), first = Math.min(Math.floor(place), known.length - 2);
        color = [0, 1, 2].map((c) => mix(known[first][c], known[first + 1]?.[c], place - first));
      }
      this.colors.set(shades[i] === NONE ? muted : color, 4 * i);
    }
    const sizes = this.shares.map((share) => 2.6 + 10 * share ** 4);
    this.fill("size", sizes);
    if (this.gl) { // the most frequent words on top
      this.gl.bindBuffer(this.gl.ELEMENT_ARRAY_BUFFER, this.order);
      this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from(this.counts, (_, i) => this.size - 1 - i), this.gl.STATIC_DRAW);
    }
    this.opacity();
  }

  opacity() {
    const low = Math.floor(this.moment), high = Math.min(low + 1, this.stops?.length ?? 0), share = this.moment - low;
    for (let i = 0; i < this.size; i++) {
      const one = this.usedAt(low - 1, i), two = this.usedAt(high - 1, i);
      this.colors[4 * i + 3] = one && two ? 200 : 200 * mix(one ? 1 : FADED, two ? 1 : FADED, share);
    }
    this.fill("color", this.colors);
  }

  drawLegend({ legend, palette, ramp }) {
    this.legend.replaceChildren(...legend.map((name, place) => {
      const item = document.createElement("span");
      item.textContent = name;
      item.style.setProperty("--color", ramp ? `linear-gradient(to right, ${palette.join()})` : palette[place % palette.length]);
      if (ramp) item.className = "ramp";
      return item;
    }));
  }

  // ---- where things are

  get fit() { return 0.47 * Math.min(this.width / this.data.extent[0], this.height / this.data.extent[1]); } // pixels a unit
  get scale() { return this.fit * 2 ** this.zoom; }
  screen(id) { return this.toScreen(this.places[2 * id], this.places[2 * id + 1]); }
  toScreen(x, y) { return [this.width / 2 + (x - this.center[0]) * this.scale, this.height / 2 - (y - this.center[1]) * this.scale]; }
  radius(id) { return 0.5 * (2.6 + 10 * this.shares[id] ** 4) * this.grow; }
  get grow() { return clamp(2 ** (0.4 * this.zoom), 0.8, 3); }

  resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    [this.width, this.height] = [this.frame.clientWidth, this.frame.clientHeight];
    if (!this.width) return;
    for (const canvas of [this.dots, this.canvas]) {
      canvas.width = this.width * ratio;
      canvas.height = this.height * ratio;
    }
    this.ratio = ratio;
    this.labels.clear();
    this.draw();
  }

  animate(name, goal, seconds, after = () => {}) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) seconds = 0;
    const start = name === "view" ? [...this.center, this.zoom] : this.moment, begun = performance.now();
    this.motions[name] = (now) => {
      const share = seconds ? clamp((now - begun) / 1000 / seconds, 0, 1) : 1, eased = share * (2 - share);
      if (name === "view") this.look(goal.map((value, i) => mix(start[i], value, eased)));
      else { this.moment = mix(start, goal, share); this.move(); }
      if (share === 1) { delete this.motions[name]; after(); }
    };
    this.draw();
  }

  look([x, y, zoom]) {
    this.center = [clamp(x, -1, 1), clamp(y, -1, 1)];
    this.zoom = clamp(zoom, MIN_ZOOM, MAX_ZOOM);
    this.draw();
  }

  // To a word, so near that its path is seen too.
  fly(id) {
    const stops = this.path(id), xs = stops.map(([x]) => x), ys = stops.map(([, y]) => y);
    const [x, y] = [this.places[2 * id], this.places[2 * id + 1]];
    const far = (one, values) => Math.max(1e-9, ...values.map((value) => Math.abs(value - one)));
    const room = 0.4 * Math.min(this.width / far(x, xs), this.height / far(y, ys));
    this.animate("view", [x, y, clamp(Math.log2(room / this.fit), 0, Math.max(this.zoom, 3))], SECONDS_OF_FLIGHT);
  }

  // Where a word is at each value of the column at which it is used: x, y, and the number of the value.
  path(id) {
    const row = this.ids.indexOf(id);
    const all = row < 0 ? [] : this.stops.map((stop, place) => [stop[2 * row] / 32767, stop[2 * row + 1] / 32767, place]);
    return all.filter(([, , place]) => this.usedAt(place, id));
  }

  zoomAt(change, x = this.width / 2, y = this.height / 2) {
    delete this.motions.view;
    const before = this.scale, zoom = clamp(this.zoom + change, MIN_ZOOM, MAX_ZOOM), after = before * 2 ** (zoom - this.zoom);
    const shift = 1 / before - 1 / after;
    this.look([this.center[0] + (x - this.width / 2) * shift, this.center[1] - (y - this.height / 2) * shift, zoom]);
  }

  pan(x, y) {
    delete this.motions.view;
    this.look([this.center[0] - x / this.scale, this.center[1] + y / this.scale, this.zoom]);
  }

  // ---- drawing

  draw() {
    if (this.waiting || !this.width || !this.id) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      for (const motion of Object.values(this.motions)) motion(now);
      this.drawDots();
      this.drawWords();
    });
  }

  drawDots() {
    const gl = this.gl;
    if (!gl) return;
    gl.viewport(0, 0, this.dots.width, this.dots.height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const set = (name) => gl.getUniformLocation(this.program, name);
    gl.uniform2f(set("center"), ...this.center);
    gl.uniform2f(set("factor"), (2 * this.scale) / this.width, (2 * this.scale) / this.height);
    gl.uniform1f(set("grow"), this.grow * this.ratio);
    gl.drawElements(gl.POINTS, this.size, gl.UNSIGNED_INT, 0);
  }

  font(id) { return `${Math.round(11 + 4 * this.shares[id] ** 3)}px`; }

  textWidth(id) {
    if (!this.widths[id]) {
      this.context.font = `${this.font(id)} ${this.family}`;
      this.widths[id] = this.context.measureText(this.data.words[id]).width;
    }
    return this.widths[id];
  }

  // Whether a box (its middle and its size) has room among those before it; it then takes its place.
  room() {
    const bins = new Map(), wide = 160, high = 32;
    return (x, y, width, height) => {
      const [left, right, top, bottom] = [x - width / 2, x + width / 2, y - height / 2, y + height / 2];
      const cells = [];
      for (let a = Math.floor(left / wide); a <= Math.floor(right / wide); a++)
        for (let b = Math.floor(top / high); b <= Math.floor(bottom / high); b++) cells.push(a * 1e6 + b);
      for (const cell of cells)
        for (const box of bins.get(cell) ?? [])
          if (box[0] < right && left < box[1] && box[2] < bottom && top < box[3]) return false;
      for (const cell of cells) {
        if (!bins.has(cell)) bins.set(cell, []);
        bins.get(cell).push([left, right, top, bottom]);
      }
      return true;
    };
  }

  // The words and names of regions that have room at a step of the zoom, wherever the map is moved; the first come first.
  placed() {
    const step = Math.floor(this.zoom / LABEL_STEP), key = `${step} ${Math.round(this.moment)}`;
    if (this.labels.has(key)) return this.labels.get(key);
    const zoom = step * LABEL_STEP, scale = this.fit * 2 ** zoom;
    const free = this.room();
    const found = { regions: [], words: [] };
    const last = Math.max(-1, ...this.data.regions.map((region) => region.level));
    const level = LEVEL_ENDS.findIndex((end) => zoom < end);
    this.context.font = `650 14px ${this.family}`;
    if (level >= 0 && level <= last)
      for (const region of this.data.regions)
        if (region.level === level) {
          const [x, y] = [region.place[0] / 32767, region.place[1] / 32767];
          const width = this.context.measureText(region.name).width;
          if (free(x * scale, -y * scale, width + 16, 24)) found.regions.push({ x, y, name: region.name });
        }
    const tries = Math.min(this.size, 1500 * 4 ** Math.max(zoom, 0)), stop = Math.round(this.moment) - 1;
    for (const id of this.ranked.slice(0, tries)) {
      if (!this.usedAt(stop, id)) continue;
      const x = this.places[2 * id] * scale, y = -this.places[2 * id + 1] * scale;
      if (free(x, y - this.radius(id) - 7, this.textWidth(id) + 14, 19)) found.words.push(id);
    }
    this.labels.set(key, found);
    return found;
  }

  text(text, x, y, font, alpha = 1, color = this.ink) {
    const context = this.context;
    context.font = `${font} ${this.family}`;
    context.globalAlpha = alpha;
    context.strokeText(text, x, y);
    context.fillStyle = color;
    context.fillText(text, x, y);
  }

  drawWords() {
    const context = this.context, style = getComputedStyle(this.root);
    const [ink, paper, accent] = ["text", "background", "primary"].map((name) => style.getPropertyValue(`--st-${name}-color`));
    Object.assign(this, { ink, family: style.fontFamily });
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    Object.assign(context, { textAlign: "center", textBaseline: "middle", lineJoin: "round", strokeStyle: paper, lineWidth: 3 });
    const inside = ([x, y]) => x > -80 && y > -20 && x < this.width + 80 && y < this.height + 20;
    const { regions, words } = this.moment % 1 && this.shown ? this.shown : (this.shown = this.placed()); // kept while words move
    this.drawn = [];
    const word = (id, weight, alpha, color) => {
      const [x, y] = this.screen(id);
      if (!inside([x, y])) return;
      const above = y - this.radius(id) - 7;
      this.text(this.data.words[id], x, above, `${weight} ${this.font(id)}`, alpha, color);
      this.drawn.push([id, x, above, this.textWidth(id) / 2]);
    };
    const special = new Set([this.selected, this.hovered, ...this.near]);
    const quiet = this.selected >= 0 && this.near.length ? 0.45 : 0.85;
    for (const id of words) if (!special.has(id)) word(id, 400, quiet);
    for (const region of regions) {
      const at = this.toScreen(region.x, region.y);
      if (inside(at)) this.text(region.name, ...at, "650 14px");
    }
    this.drawPath(accent, paper);
    const free = this.room();
    for (const id of [this.selected, ...this.near]) {
      if (id < 0) continue;
      const [x, y] = this.screen(id);
      if (free(x, y - this.radius(id) - 7, this.textWidth(id) + 4, 15) && id !== this.selected) word(id, 600, 1, accent);
    }
    for (const id of [this.selected, this.hovered]) {
      if (id < 0) continue;
      const [x, y] = this.screen(id);
      context.globalAlpha = 1;
      context.beginPath();
      context.arc(x, y, this.radius(id) + 3, 0, 7);
      Object.assign(context, { strokeStyle: accent, lineWidth: 2 });
      context.stroke();
      Object.assign(context, { strokeStyle: paper, lineWidth: 3 });
      word(id, 700, 1, ink);
      if (id === this.hovered) this.text(`${this.counts[id].toLocaleString("en")} uses`, x, y + this.radius(id) + 10, "400 11px");
    }
  }

  drawPath(accent, paper) {
    const context = this.context;
    const stops = (this.selected < 0 ? [] : this.path(this.selected)).map(([x, y, place]) => [...this.toScreen(x, y), place]);
    if (!stops.some(([x, y]) => Math.hypot(x - stops[0][0], y - stops[0][1]) > HIT)) return; // it stays where it is
    Object.assign(context, { globalAlpha: 0.6, strokeStyle: accent, lineWidth: 1.5 });
    context.beginPath();
    stops.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    Object.assign(context, { globalAlpha: 1, fillStyle: accent });
    for (const [x, y] of stops) { context.beginPath(); context.arc(x, y, 3, 0, 7); context.fill(); }
    Object.assign(context, { strokeStyle: paper, lineWidth: 3 });
    const free = this.room();
    for (const [x, y, place] of stops)
      if (free(x, y + 12, 40, 14)) this.text(this.data.moved.values[place], x, y + 12, "600 11px", 1, accent);
  }

  // ---- hands

  at(x, y) {
    for (const [id, left, top, half] of this.drawn.slice().reverse())
      if (Math.abs(x - left) < half + 2 && Math.abs(y - top) < 9) return id;
    return this.closest(x, y, HIT);
  }

  closest(x, y, within) {
    let best = -1, least = within * within;
    const [cx, cy, scale] = [...this.center, this.scale], stop = Math.round(this.moment) - 1;
    const left = cx + (x - this.width / 2) / scale, up = cy - (y - this.height / 2) / scale;
    for (let id = 0; id < this.size; id++) {
      const distance = ((this.places[2 * id] - left) ** 2 + (this.places[2 * id + 1] - up) ** 2) * scale * scale;
      if (distance < least && this.usedAt(stop, id)) [best, least] = [id, distance];
    }
    return best;
  }

  choose(id) {
    if (id < 0) return;
    this.clicked = id; // it is where the reader looks: the map stays
    this.selected = id;
    this.near = [];
    this.draw();
    this.pick({ id });
  }

  listen(buttons) {
    const canvas = this.canvas, fingers = new Map();
    const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, place(event));
      if (fingers.size === 1) moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event), before = fingers.get(event.pointerId);
      if (!before) {
        const id = this.at(x, y);
        canvas.style.cursor = id < 0 ? "grab" : "pointer";
        if (id !== this.hovered) { this.hovered = id; this.draw(); }
        return;
      }
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      moved += Math.hypot(x - before[0], y - before[1]);
      if (other) {
        const [old, wide] = [before, [x, y]].map((one) => Math.hypot(one[0] - other[0], one[1] - other[1]));
        this.zoomAt(Math.log2(wide / old), (x + other[0]) / 2, (y + other[1]) / 2);
        this.pan((x - before[0]) / 2, (y - before[1]) / 2);
      } else if (moved > 3) this.pan(x - before[0], y - before[1]);
      fingers.set(event.pointerId, [x, y]);
    });
    const lift = (event) => {
      if (event.type === "pointerup" && fingers.size === 1 && moved <= 3) this.choose(this.at(...place(event)));
      fingers.delete(event.pointerId);
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", () => { this.hovered = -1; this.draw(); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      this.zoomAt(clamp(-event.deltaY * lines * 0.0025, -1, 1), ...place(event));
    }, { passive: false });
    const whole = () => this.animate("view", [0, 0, 0], SECONDS_OF_FLIGHT);
    const keys = {
      ArrowLeft: () => this.pan(60, 0), ArrowRight: () => this.pan(-60, 0), ArrowUp: () => this.pan(0, 60), ArrowDown: () => this.pan(0, -60),
      "+": () => this.zoomAt(0.5), "=": () => this.zoomAt(0.5), "-": () => this.zoomAt(-0.5), 0: whole,
      Enter: () => this.choose(this.closest(this.width / 2, this.height / 2, Infinity)),
    };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    [() => this.zoomAt(0.7), () => this.zoomAt(-0.7), whole].forEach((act, i) => (buttons[i].onclick = act));
    this.listenToTime();
  }

  listenToTime() {
    const last = () => this.data.moved.values.length;
    const settle = (moment) => {
      this.asked = moment;
      this.slice({ value: moment ? this.data.moved.values[moment - 1] : null });
    };
    const go = (moment) => this.animate("moment", moment, SECONDS_PER_VALUE / 2, () => settle(moment));
    this.slider.addEventListener("input", () => { delete this.motions.moment; this.moment = Number(this.slider.value); this.move(); });
    this.slider.addEventListener("change", () => go(Math.round(Number(this.slider.value))));
    this.slider.addEventListener("keydown", (event) => {
      const now = Math.round(this.moment);
      const goal = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, Home: 0, End: last() }[event.key];
      if (goal === undefined) return;
      event.preventDefault();
      go(clamp(goal, 0, last()));
    });
    this.play.onclick = () => {
      if (this.motions.moment) { go(Math.round(this.moment)); return; }
      const start = this.moment >= last() ? 1 : Math.max(1, this.moment);
      this.moment = start;
      this.animate("moment", last(), SECONDS_PER_VALUE * Math.max(last() - start, 0.1), () => settle(last()));
    };
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".atlas");
  root.map ??= new WordMap(root);
  root.map.update(data, (word) => setTriggerValue("picked", word), (value) => setTriggerValue("sliced", value));
}
