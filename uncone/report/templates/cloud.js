"use strict";
(() => {
  // Clouds of points. Points are drawn by one WebGL context for all pictures, and copied to each: a browser keeps few.
  const kinds = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
  const most = { u1: 255, u2: 65535, u4: 4294967295 };
  const unpacked = (packed) => {
    const code = atob(packed.bdata), bytes = new Uint8Array(code.length);
    for (let i = 0; i < code.length; i++) bytes[i] = code.charCodeAt(i);
    return new kinds[packed.dtype](bytes.buffer);
  };
  const once = (make) => { let made = null; return () => (made ??= make()); };
  const role = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const number = (value) => Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });

  // Colors.
  const anchors = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"].map(rgb);
  const viridis = (share) => {
    const at = Math.max(0, Math.min(1, share)) * (anchors.length - 1), low = Math.min(Math.floor(at), anchors.length - 2);
    return [0, 1, 2].map((k) => Math.round(anchors[low][k] + (at - low) * (anchors[low + 1][k] - anchors[low][k])));
  };
  const ramp = Array.from({ length: 256 }, (_, at) => viridis(at / 255));
  const unknown = "#8a949e", gray = rgb(unknown), plain = () => rgb(role("accent")), groups = [];
  const tip = document.body.appendChild(Object.assign(document.createElement("div"), { className: "cloud-tip", hidden: true }));
  tip.setAttribute("role", "status");
  const part = (name, ...inside) => { const made = document.createElement(name); made.append(...inside); return made; };
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  const rise = 14;
  const shape = (panel) => {
    const width = panel.plot.clientWidth || 1, height = panel.plot.clientHeight || 1, [sx, sy, sz] = panel.scene.sides, camera = panel.camera;
    // What is shown stays between the lines that are written above and below it.
    const size = panel.inSpace ? Math.min(width, height - 2 * rise) / (2.25 * Math.hypot(sx, sy, sz)) : Math.min(0.94 * width / (2 * sx), (height - 44) / (2 * sy));
    const s = size * camera.zoom;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const dot = Math.max(1.7, Math.min(6.5, 0.85 * Math.sqrt(width * height / Math.max(panel.scene.n, 1)))) * Math.min(camera.zoom ** 0.35, 3);
    if (!panel.inSpace) return { width, height, ratio, dot, turn: [1, 0, 0, 0, 1, 0, 0, 0, 1], s, shift: [-camera.x * s, -camera.y * s], bend: 0 };
    const [ca, sa, ce, se] = [Math.cos(camera.a), Math.sin(camera.a), Math.cos(camera.e), Math.sin(camera.e)];
    // Rows: to the right, up, towards the eye.
    return { width, height, ratio, dot, turn: [-sa, ca, 0, -se * ca, -se * sa, ce, ce * ca, ce * sa, se], s, shift: [0, rise], bend: 0.22 };
  };
  const placed = (view, x, y, z) => {
    const t = view.turn, depth = t[6] * x + t[7] * y + t[8] * z, weight = 1 - view.bend * depth;
    return [view.width / 2 + view.shift[0] + view.s * (t[0] * x + t[1] * y + t[2] * z) / weight,
      view.height / 2 - view.shift[1] - view.s * (t[3] * x + t[4] * y + t[5] * z) / weight, depth, weight];
  };
  const pointAt = (panel, view, i) => placed(view, panel.scene.points[3 * i], panel.scene.points[3 * i + 1], panel.scene.points[3 * i + 2]);
  const opacity = (panel) => panel.inSpace ? 0.92 : panel.scene.n > 50000 ? 0.6 : panel.scene.n > 5000 ? 0.72 : 0.86;

  // The painter of points: WebGL, or pixel by pixel where there is none.
  const surface = document.createElement("canvas");
  const vertex = `attribute vec3 p; attribute vec4 c; uniform mat3 turn; uniform vec2 scale, shift; uniform vec3 paper;
    uniform float bend, size, opacity, marked, fog, few; varying vec4 color; varying float dot_size, ringed;
    void main() {
      vec3 q = turn * p; float w = 1.0 - bend * q.z; float state = floor(c.a * 255.0 + 0.5);
      bool is_marked = state > 2.5; ringed = is_marked ? few : 0.0;
      if (state < 0.5 || w < 0.05 || is_marked != (marked > 0.5)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); gl_PointSize = 0.0; return; }
      gl_Position = vec4(q.xy * scale + shift * w, -q.z / (2.0 + abs(q.z)) * w, w);
      gl_PointSize = dot_size = max((is_marked ? (1.0 + 0.5 * few) * size + 1.0 + 2.0 * few : size) / w, 1.0);
      vec3 seen = mix(c.rgb, paper, is_marked ? 0.0 : fog * clamp(0.5 - 0.5 * q.z, 0.0, 1.0));
      color = vec4(seen, is_marked ? 1.0 : state < 1.5 ? 0.13 : opacity);
    }`;
  const fragment = `precision mediump float; varying vec4 color; varying float dot_size, ringed; uniform vec3 ink;
    void main() {
      float r = 2.0 * length(gl_PointCoord - 0.5), edge = clamp((1.0 - r) * dot_size * 0.5 + 0.25, 0.0, 1.0);
      float alpha = color.a * (dot_size < 2.5 ? 1.0 : edge);
      if (alpha < 0.03) discard;
      vec3 shown = ringed > 0.5 && r > 0.68 ? ink : color.rgb;
      gl_FragColor = vec4(shown * alpha, alpha);
    }`;
  let gl = surface.getContext("webgl", { antialias: false }), program = null, at = {};
  const begin = () => {
    program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) { gl = null; return; }
    gl.useProgram(program);
    for (const name of ["turn", "scale", "shift", "paper", "ink", "bend", "size", "opacity", "marked", "fog", "few"]) at[name] = gl.getUniformLocation(program, name);
    at.p = gl.getAttribLocation(program, "p"); at.c = gl.getAttribLocation(program, "c");
    gl.enableVertexAttribArray(at.p); gl.enableVertexAttribArray(at.c);
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA); gl.depthFunc(gl.LEQUAL);
  };
  if (gl) begin();
  surface.addEventListener("webglcontextlost", () => { gl = null; groups.forEach((redraw_all) => redraw_all()); });

  const fit = (canvas, view) => {
    const [wide, tall] = [Math.round(view.width * view.ratio), Math.round(view.height * view.ratio)];
    if (canvas.width !== wide || canvas.height !== tall) { canvas.width = wide; canvas.height = tall; }
  };
  // While it is moved, a picture that takes long shows only a part of its points; all of them when it rests.
  const stepOf = (panel) => (panel.moving ? Math.max(1, Math.min(12, Math.ceil((panel.scene.cost || 0) / 35))) : 1);
  const byGpu = (panel, view) => {
    fit(surface, view);
    if (!panel.scene.buffers) {
      panel.scene.buffers = { points: gl.createBuffer(), colors: gl.createBuffer() };
      gl.bindBuffer(gl.ARRAY_BUFFER, panel.scene.buffers.points); gl.bufferData(gl.ARRAY_BUFFER, panel.scene.points, gl.STATIC_DRAW);
    }
    const step = stepOf(panel);
    gl.bindBuffer(gl.ARRAY_BUFFER, panel.scene.buffers.points); gl.vertexAttribPointer(at.p, 3, gl.FLOAT, false, 12 * step, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, panel.scene.buffers.colors);
    if (!panel.scene.uploaded) { gl.bufferData(gl.ARRAY_BUFFER, panel.scene.colors, gl.DYNAMIC_DRAW); panel.scene.uploaded = true; }
    gl.vertexAttribPointer(at.c, 4, gl.UNSIGNED_BYTE, true, 4 * step, 0);
    gl.viewport(0, 0, surface.width, surface.height);
    gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const t = view.turn;
    gl.uniformMatrix3fv(at.turn, false, [t[0], t[3], t[6], t[1], t[4], t[7], t[2], t[5], t[8]]);
    gl.uniform2f(at.scale, 2 * view.s / view.width, 2 * view.s / view.height);
    gl.uniform2f(at.shift, 2 * view.shift[0] / view.width, 2 * view.shift[1] / view.height);
    gl.uniform3fv(at.paper, rgb(role("paper") + "").map((one) => one / 255)); gl.uniform3fv(at.ink, rgb(role("ink")).map((one) => one / 255));
    gl.uniform1f(at.bend, view.bend); gl.uniform1f(at.few, panel.scene.marked <= 600 ? 1 : 0); gl.uniform1f(at.size, view.dot * view.ratio); gl.uniform1f(at.opacity, opacity(panel)); gl.uniform1f(at.fog, panel.inSpace ? 0.36 : 0);
    for (const marked of panel.scene.marked ? [0, 1] : [0]) {
      if (panel.inSpace && !marked && !panel.group.matched) gl.enable(gl.DEPTH_TEST); else gl.disable(gl.DEPTH_TEST);
      gl.uniform1f(at.marked, marked); gl.drawArrays(gl.POINTS, 0, Math.ceil(panel.scene.n / step));
    }
    return surface;
  };
  const byHand = (panel, view) => {
    fit(surface2, view);
    const context = surface2.getContext("2d"), wide = surface2.width, tall = surface2.height, image = context.createImageData(wide, tall);
    const pixels = new Uint32Array(image.data.buffer), near = new Float32Array(panel.inSpace ? wide * tall : 0).fill(-1e9);
    for (const marked of [false, true]) for (let i = 0; i < panel.scene.n; i += stepOf(panel)) {
      const state = panel.scene.colors[4 * i + 3];
      if (!state || (state === 3) !== marked) continue;
      const [x, y, depth, weight] = pointAt(panel, view, i);
      if (weight < 0.05) continue;
      const half = Math.max(view.dot * (marked ? 2 : 1) * view.ratio / 2, 0.5), color = ((state === 1 ? 40 : 235) << 24 | panel.scene.colors[4 * i + 2] << 16 | panel.scene.colors[4 * i + 1] << 8 | panel.scene.colors[4 * i]) >>> 0;
      for (let v = Math.max(0, Math.round(y * view.ratio - half)); v < Math.min(tall, y * view.ratio + half); v++)
        for (let u = Math.max(0, Math.round(x * view.ratio - half)); u < Math.min(wide, x * view.ratio + half); u++) {
          const place = v * wide + u;
          if (panel.inSpace && !marked) { if (near[place] > depth) continue; near[place] = depth; }
          pixels[place] = color;
        }
    }
    context.putImageData(image, 0, 0);
    return surface2;
  };
  const surface2 = document.createElement("canvas");

  const start = (root) => {
  const held = JSON.parse(root.querySelector("script").textContent);
  const colorings = held.colorings.map((one) => ({
    ...one, isNumber: one.step !== undefined, hidden: new Set(), rgb: (one.colors || []).map(rgb),
    // One for all figures, or one for each.
    codes: one.codes.map((packed) => once(() => unpacked(packed))), limits: one.codes.map((packed) => most[packed.dtype]),
  }));
  // The category of a point, or the step of its number; -1 where it is not known.
  const codeAt = (coloring, panel, i) => {
    const own = coloring.codes.length > 1 ? panel.place : 0, code = coloring.codes[own]()[panel.scene.at(i)];
    return code === coloring.limits[own] ? -1 : code;
  };
  const said = (coloring, panel, i) => {
    const code = codeAt(coloring, panel, i);
    if (coloring.isNumber) return code < 0 ? "unknown" : number(coloring.least + code * coloring.step);
    return coloring.names[code < 0 ? coloring.names.length - 1 : code];
  };

  // Texts are only ever set as text, never as markup.
  const rows = held.rows && once(() => unpacked(held.rows));
  const sentenceOf = held.texts && once(() => unpacked(held.texts.sentence));
  const starts = held.texts && held.texts.starts && once(() => unpacked(held.texts.starts));
  const lengths = starts && once(() => unpacked(held.texts.lengths));
  const wordAt = (point) => {
    const text = held.texts.sentences[sentenceOf()[point]];
    return starts ? text.substr(starts()[point], lengths()[point]) : text;
  };
  const marks = held.marks && unpacked(held.marks), noMark = held.marks && most[held.marks.dtype];
  const words = once(() => {
    const places = new Map(), of = new Uint32Array(held.n);
    for (let i = 0; i < held.n; i++) {
      const word = wordAt(i).toLowerCase();
      if (!places.has(word)) places.set(word, places.size);
      of[i] = places.get(word);
    }
    return { of, all: [...places.keys()] };
  });

  // Pictures.
  const inSpace = held.dims === 3, group = { matched: null };
  const fresh = () => inSpace ? { a: -0.9, e: 0.42, zoom: 1 } : { x: 0, y: 0, zoom: 1 };
  const coordinates = (packed, n) => {
    const codes = unpacked(packed), reach = packed.reach, points = new Float32Array(3 * n);
    for (let i = 0; i < n; i++) for (let k = 0; k < held.dims; k++) {
      const value = codes[i * held.dims + k];
      points[3 * i + k] = reach === undefined ? value : (value / 32767.5 - 1) * reach;
    }
    return points;
  };
  const load = (given) => {
    const places = given.places && unpacked(given.places), n = given.n;
    const scene = { ...given, points: coordinates(given.points, n), path: given.path && coordinates(given.path, given.path.n), colors: new Uint8Array(4 * n), painted: false };
    scene.at = places ? (i) => places[i] : (i) => i;
    scene.find = once(() => {
      const where = new Int32Array(held.n).fill(-1);
      for (let i = 0; i < n; i++) where[scene.at(i)] = i;
      return where;
    });
    return scene;
  };
  const panels = held.figures.map((views, place) => {
    const plot = root.querySelectorAll(".plot")[place], [base, over] = plot.querySelectorAll("canvas");
    const scenes = views.map((view) => once(() => load(view)));
    // What is not looked at is not unpacked.
    return { place, plot, base, over, group, inSpace, camera: fresh(), dirty: true, seen: false, view: 0, get scene() { return scenes[this.view](); } };
  });
  let chosen = 0, hovered = -1;

  const paint = (panel) => {
    const coloring = colorings[chosen], out = panel.scene.colors, accent = plain();
    panel.scene.marked = 0;
    for (let i = 0; i < panel.scene.n; i++) {
      const point = panel.scene.at(i);
      let color = accent, shown = true;
      if (coloring) {
        const code = codeAt(coloring, panel, i);
        if (code < 0) { color = gray; shown = !coloring.hidden.has(-1); }
        else if (coloring.isNumber) {
          const value = coloring.least + code * coloring.step;
          const share = (value - coloring.low) / (coloring.high - coloring.low || 1);
          color = ramp[Math.round(255 * Math.max(0, Math.min(1, share)))];
        } else { color = coloring.rgb[code]; shown = !coloring.hidden.has(code); }
      }
      out[4 * i] = color[0]; out[4 * i + 1] = color[1]; out[4 * i + 2] = color[2];
      if (shown && (group.matched ? group.matched[point] : marks && marks[point] !== noMark)) panel.scene.marked++;
      // What becomes of it: 0 hidden, 1 faded, 2 as it is, 3 marked.
      out[4 * i + 3] = !shown ? 0 : group.matched ? (group.matched[point] ? 3 : 1) : marks && marks[point] !== noMark ? 3 : 2;
    }
    panel.scene.painted = true; panel.scene.uploaded = false; panel.scene.labels = null;
  };

  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => [k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1]);
  const box = (context, panel, view) => {
    const ends = corners.map((corner) => placed(view, ...corner.map((side, k) => side * panel.scene.sides[k])));
    context.strokeStyle = role("rule"); context.lineWidth = 1; context.beginPath();
    for (let k = 0; k < 8; k++) for (const bit of [1, 2, 4]) if (!(k & bit)) {
      context.moveTo(ends[k][0], ends[k][1]); context.lineTo(ends[k | bit][0], ends[k | bit][1]);
    }
    context.stroke();
    context.fillStyle = role("muted");
    held.axes.forEach((name, k) => { const end = ends[1 << k]; context.fillText(name, end[0] + 4, end[1] - 4); });
  };
  const trace = (context, panel, view) => {
    const path = panel.scene.path;
    if (!path) return;
    context.strokeStyle = role("ink"); context.lineWidth = 2; context.lineJoin = "round"; context.beginPath();
    for (let i = 0; i < path.length / 3; i++) {
      const [x, y] = placed(view, path[3 * i], path[3 * i + 1], path[3 * i + 2]);
      if (i) context.lineTo(x, y); else context.moveTo(x, y);
    }
    context.stroke();
  };
  const font = (size) => size + "px " + getComputedStyle(document.body).fontFamily;
  const draw = (panel) => {
    if (panel.repaint || !panel.scene.painted) { panel.repaint = false; paint(panel); }
    const view = shape(panel), context = panel.base.getContext("2d");
    fit(panel.base, view);
    context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    context.font = font(12);
    if (panel.inSpace) box(context, panel, view);
    const begun = performance.now();
    context.drawImage(gl ? byGpu(panel, view) : byHand(panel, view), 0, 0, view.width, view.height);
    if (gl && panel.scene.n > 20000 && !panel.moving) gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));  // waits, so that the clock is right
    if (!panel.moving) panel.scene.cost = performance.now() - begun;
    trace(context, panel, view);
    context.fillStyle = role("muted");
    context.strokeStyle = role("paper"); context.lineWidth = 3; context.lineJoin = "round";
    const write = (text, x, y) => { context.strokeText(text, x, y); context.fillText(text, x, y); };
    if (panel.scene.stamp) write(panel.scene.stamp, 10, view.height - 10);
    if (!panel.inSpace && held.axes.length) {
      write(held.axes[0] + " →", view.width - 12 - context.measureText(held.axes[0] + " →").width, view.height - 10);
      write("↑ " + held.axes[1], 10, 20);
    }
    panel.plot.dataset.drawn = Number(panel.plot.dataset.drawn || 0) + 1;
    annotate(panel, view);
  };
  // A label for every marked word at the dot in the middle of its own; for everything found, when it is little.
  const labels_of = (panel) => {
    const of = new Map();
    for (let i = 0; i < panel.scene.n; i++) {
      if (panel.scene.colors[4 * i + 3] !== 3) continue;
      const point = panel.scene.at(i), key = group.matched ? i : marks[point];
      if (!of.has(key)) of.set(key, []);
      of.get(key).push(i);
      if (group.matched && of.size > 14) return [];
    }
    return [...of].map(([key, all]) => {
      const middle = [0, 1, 2].map((k) => all.map((i) => panel.scene.points[3 * i + k]).sort((a, b) => a - b)[all.length >> 1]);
      const off = (i) => [0, 1, 2].reduce((sum, k) => sum + (panel.scene.points[3 * i + k] - middle[k]) ** 2, 0);
      const best = all.reduce((a, b) => (off(b) < off(a) ? b : a));
      const text = group.matched ? wordAt(panel.scene.at(best)) : held.words[key];
      return [best, text.length > 28 ? text.slice(0, 27) + "…" : text];
    });
  };
  const annotate = (panel, view = shape(panel)) => {
    const context = panel.over.getContext("2d");
    fit(panel.over, view);
    context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    context.font = "600 " + font(13); context.lineJoin = "round";
    const taken = [];
    for (const [i, text] of (panel.scene.labels ??= labels_of(panel))) {
      const [x, y] = pointAt(panel, view, i), wide = context.measureText(text).width;
      const free = [[8, -7], [-wide - 8, -7], [8, 16], [-wide - 8, 16], [8, -22], [8, 31]].map(([dx, dy]) => [x + dx, y + dy]).find(([u, v]) => u > 1 && u + wide < view.width - 1 && !taken.some(([a, b, w]) => u < a + w + 4 && a < u + wide + 4 && Math.abs(v - b) < 15));
      const [u, v] = free || [x + 8, y - 7];
      taken.push([u, v, wide]);
      context.strokeStyle = role("paper"); context.lineWidth = 4; context.strokeText(text, u, v);
      context.fillStyle = role("ink"); context.fillText(text, u, v);
    }
    const own = hovered < 0 ? -1 : panel.scene.find()[hovered];
    if (own < 0 || !panel.scene.colors[4 * own + 3]) return;
    const [x, y] = pointAt(panel, view, own);
    for (const [color, width] of [[role("paper"), 5], [role("ink"), 2]]) {
      context.strokeStyle = color; context.lineWidth = width;
      context.beginPath(); context.arc(x, y, view.dot / 2 + 5, 0, 7); context.stroke();
    }
  };

  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      panels.forEach((panel) => { if (panel.dirty && panel.seen) { panel.dirty = false; draw(panel); } });
    });
  };
  const redraw = (panel) => { panel.dirty = true; soon(); };
  const moved = (panel) => {
    panel.moving = true; redraw(panel);
    clearTimeout(panel.rest);
    panel.rest = setTimeout(() => { panel.moving = false; redraw(panel); }, 200);
  };
  const recolor = () => panels.forEach((panel) => { panel.repaint = true; redraw(panel); });

  // What stands under the pointer: the nearest dot, of several the one in front.
  const nearest = (panel, px, py) => {
    const view = shape(panel), reach = Math.max(12, view.dot) ** 2;
    let best = -1, least = Infinity;
    for (let i = 0; i < panel.scene.n; i++) {
      if (panel.scene.colors[4 * i + 3] < (group.matched ? 3 : 1)) continue;
      const [x, y, depth, weight] = pointAt(panel, view, i);
      const off = (x - px) ** 2 + (y - py) ** 2;
      if (off > reach || weight < 0.05) continue;
      const score = panel.inSpace ? off - 40 * depth : off;
      if (score < least) { least = score; best = i; }
    }
    return best;
  };
  const told = (panel, i) => {
    const point = panel.scene.at(i), lines = [];
    if (held.texts) {
      const text = held.texts.sentences[sentenceOf()[point]];
      if (starts) {
        const start = starts()[point], end = start + lengths()[point], reach = 110;
        lines.push(part("p", (start > reach ? "…" : "") + text.slice(Math.max(0, start - reach), start), part("mark", text.slice(start, end)), text.slice(end, end + reach) + (end + reach < text.length ? "…" : "")));
      } else lines.push(part("p", text));
    }
    const facts = colorings.map((one) => one.title + ": " + said(one, panel, i));
    if (rows) facts.push("row " + rows()[point].toLocaleString("en"));
    if (facts.length) lines.push(part("small", facts.join(" · ")));
    return lines;
  };
  const show = (panel, i, x, y) => {
    tip.replaceChildren(...told(panel, i));
    tip.hidden = false;
    tip.style.left = Math.max(8, Math.min(x + 16, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight < innerHeight ? y + 18 : Math.max(8, y - tip.offsetHeight - 14)) + "px";
  };
  const point = (panel, i, x, y) => {
    const now = i < 0 ? -1 : panel.scene.at(i);
    if (i < 0) tip.hidden = true; else show(panel, i, x, y);
    if (now === hovered) return;
    hovered = now;
    panels.forEach((one) => { if (one.seen && one.scene.painted) annotate(one); });
  };

  const zoom = (panel, by, x = panel.plot.clientWidth / 2, y = panel.plot.clientHeight / 2) => {
    const camera = panel.camera, before = shape(panel), was = camera.zoom;
    camera.zoom = Math.max(0.005, Math.min(400, camera.zoom * by));
    if (!panel.inSpace) {
      // What is under the pointer stays there.
      const grown = 1 - was / camera.zoom;
      camera.x += grown * (x - before.width / 2) / before.s; camera.y -= grown * (y - before.height / 2) / before.s;
    }
    moved(panel);
  };
  const move = (panel, dx, dy) => {
    const camera = panel.camera;
    if (panel.inSpace) { camera.a -= dx / 120; camera.e = Math.max(-1.57, Math.min(1.57, camera.e + dy / 120)); }
    else { const { s } = shape(panel); camera.x -= dx / s; camera.y += dy / s; }
    moved(panel);
  };
  panels.forEach((panel) => {
    const plot = panel.plot, place = (event) => { const frame = plot.getBoundingClientRect(); return [event.clientX - frame.left - plot.clientLeft, event.clientY - frame.top - plot.clientTop]; };
    let from = null, dragged = false, waiting = null;
    plot.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; dragged = false; plot.setPointerCapture(event.pointerId); });
    plot.addEventListener("pointermove", (event) => {
      if (from) {
        const dx = event.clientX - from[0], dy = event.clientY - from[1];
        if (!dragged && Math.hypot(dx, dy) < 4) return;
        dragged = true; from = [event.clientX, event.clientY];
        plot.classList.add("turning"); point(panel, -1); move(panel, dx, dy);
        return;
      }
      if (!waiting) requestAnimationFrame(() => { const last = waiting; waiting = null; if (last && panel.scene.painted) point(panel, nearest(panel, ...place(last)), last.clientX, last.clientY); });
      waiting = event;
    });
    const end = (event) => {
      plot.classList.remove("turning");
      if (from && !dragged && event.type === "pointerup") point(panel, nearest(panel, ...place(event)), event.clientX, event.clientY);
      from = null;
    };
    plot.addEventListener("pointerup", end); plot.addEventListener("pointercancel", end);
    plot.addEventListener("pointerleave", () => { waiting = null; if (!from) point(panel, -1); });
    plot.addEventListener("dblclick", () => { panel.camera = fresh(); redraw(panel); });
    // The wheel scrolls the page until a picture was clicked.
    plot.addEventListener("wheel", (event) => {
      if (document.activeElement !== plot && !event.ctrlKey) return;
      event.preventDefault(); point(panel, -1); zoom(panel, Math.exp(-event.deltaY / 400), ...place(event));
    }, { passive: false });
    const keys = { ArrowLeft: [-24, 0], ArrowRight: [24, 0], ArrowUp: [0, -24], ArrowDown: [0, 24] };
    plot.addEventListener("keydown", (event) => {
      if (keys[event.key]) move(panel, ...keys[event.key]);
      else if (event.key === "+" || event.key === "=") zoom(panel, 1.25);
      else if (event.key === "-") zoom(panel, 0.8);
      else if (event.key === "0") { panel.camera = fresh(); redraw(panel); }
      else return;
      event.preventDefault();
    });
    const save = () => {
      const sheet = document.createElement("canvas");
      sheet.width = panel.base.width; sheet.height = panel.base.height;
      const context = sheet.getContext("2d");
      context.fillStyle = role("paper"); context.fillRect(0, 0, sheet.width, sheet.height);
      context.drawImage(panel.base, 0, 0); context.drawImage(panel.over, 0, 0);
      sheet.toBlob((blob) => {
        const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: "uncone-" + plot.id.slice("cloud-".length) + ".png" });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      });
    };
    const does = {
      in: () => zoom(panel, 1.5), out: () => zoom(panel, 1 / 1.5), reset: () => { panel.camera = fresh(); redraw(panel); }, save,
      large: (button) => { const on = plot.closest("figure").classList.toggle("large"); button.setAttribute("aria-pressed", on); button.textContent = on ? "make small" : "enlarge"; },
    };
    plot.closest("figure").querySelectorAll("[data-view]").forEach((button, _, all) => button.addEventListener("click", () => {
      panel.view = Number(button.dataset.view); panel.scene.painted = false; point(panel, -1); redraw(panel);
      all.forEach((one) => one.setAttribute("aria-pressed", one === button));
    }));
    plot.closest("figure").querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", () => does[button.dataset.do](button)));
    new ResizeObserver(() => redraw(panel)).observe(plot);
    new IntersectionObserver((entries) => entries.forEach((entry) => { panel.seen = entry.isIntersecting; if (panel.seen) soon(); }), { rootMargin: "200px" }).observe(plot);
  });

  // The legend: a click hides or shows a category, two clicks show it alone.
  const legend = root.querySelector(".legend");
  const swatch = (coloring, code, name, n, color) => {
    const dot = part("i"); dot.style.background = color;
    const button = part("button", dot, name, ...(n === undefined || n === null ? [] : [" ", part("span", n.toLocaleString("en"))]));
    button.setAttribute("aria-pressed", !coloring.hidden.has(code));
    button.addEventListener("click", () => {
      if (!coloring.hidden.delete(code)) coloring.hidden.add(code);
      button.setAttribute("aria-pressed", !coloring.hidden.has(code));
      recolor();
    });
    button.addEventListener("dblclick", () => {
      const others = [-1, ...coloring.names.slice(0, -1).keys()].filter((one) => one !== code);
      const alone = others.every((one) => coloring.hidden.has(one)) && !coloring.hidden.has(code);
      coloring.hidden = new Set(alone ? [] : others);
      explain(); recolor();
    });
    return button;
  };
  const explain = () => {
    const coloring = colorings[chosen];
    if (!coloring || !legend) return;
    legend.replaceChildren();
    if (coloring.isNumber) {
      const bar = part("b"); bar.style.background = "linear-gradient(90deg, " + anchors.map((one) => "rgb(" + one.join(",") + ")").join(", ") + ")";
      const low = (coloring.low > coloring.least ? "≤ " : "") + number(coloring.low), high = (coloring.high < coloring.most ? "≥ " : "") + number(coloring.high);
      const title = colorings.length > 1 ? [] : [part("span", coloring.title)]; // else the field above has it
      legend.append(part("div", ...title, part("span", low), bar, part("span", high)));
      legend.lastChild.className = "bar";
      if (coloring.unknown) legend.append(swatch({ ...coloring, names: ["unknown"] }, -1, "unknown", coloring.unknown, unknown));
      return;
    }
    coloring.names.forEach((name, k) => {
      const last = k === coloring.names.length - 1, n = coloring.counts ? coloring.counts[k] : null;
      if (n === 0 || (n === null && last)) return;
      legend.append(swatch(coloring, last ? -1 : k, name, n, coloring.colors[k]));
    });
  };
  const select = root.querySelector("[data-coloring]");
  if (select) select.addEventListener("change", () => { chosen = Number(select.value); explain(); recolor(); });

  // What is typed is looked for in the words; where no word has it, in their sentences.
  const found = root.querySelector("output"), find = root.querySelector("input[type=search]");
  const look = () => {
    const query = find.value.trim().toLowerCase();
    group.matched = null; found.textContent = "";
    if (query) {
      const { of, all } = words(), hit = all.map((word) => word.includes(query));
      group.matched = new Uint8Array(held.n);
      let n = 0, place = starts ? "word" : "text";
      for (let i = 0; i < held.n; i++) if (hit[of[i]]) { group.matched[i] = 1; n++; }
      if (!n && starts) {
        const within = held.texts.sentences.map((text) => text.toLowerCase().includes(query));
        place = "sentence";
        for (let i = 0; i < held.n; i++) if (within[sentenceOf()[i]]) { group.matched[i] = 1; n++; }
      }
      found.textContent = n ? n.toLocaleString("en") + " of " + held.n.toLocaleString("en") + " points " + (n === 1 ? "has it in its " : "have it in their ") + place : "nothing found";
      if (!n) group.matched = null;
    }
    recolor();
  };
  let typing = 0;
  if (find) find.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(look, 150); });

  explain();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  // Only what has no picture yet: browsers print a canvas that was just drawn as it was before, or empty.
  addEventListener("beforeprint", () => panels.filter((panel) => !panel.plot.dataset.drawn).forEach(draw));
  // A reader who jumps past a picture should not find a hole on the way back: the others follow, one by one.
  const rest = () => {
    const next = panels.find((panel) => !panel.plot.dataset.drawn);
    if (next) { draw(next); setTimeout(rest, 30); }
  };
  addEventListener("load", () => setTimeout(rest, 800));
  groups.push(() => { panels.forEach((panel) => { panel.dirty = true; }); soon(); });
  };
  document.querySelectorAll("[data-cloud]").forEach(start);
  document.documentElement.dataset.painter = gl ? "webgl" : "canvas";
})();
