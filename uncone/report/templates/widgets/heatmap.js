"use strict";
(() => {
  // Heatmaps on canvases: cells, dendrogram, strip of labels, boundaries and color bar. Texts are only ever set as text.
  const UNKNOWN = -32768, SCALE = 10000;
  const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const mix = (stops) => Array.from({ length: 256 }, (_, k) => {
    const at = (k / 255) * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    return stops[low].map((value, part) => value + (at - low) * (stops[low + 1][part] - value));
  });
  const COLORS = {
    sequential: mix(VIRIDIS.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).concat(255))),
    // The middle lets the paper through, in light and in dark.
    diverging: mix([[30, 112, 190, 255], [128, 136, 144, 18], [214, 96, 6, 255]]),
  };
  const tip = Object.assign(document.createElement("div"), { id: "heat-tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  addEventListener("scroll", hide, { passive: true });
  const show = (head, texts, x, y) => {
    tip.replaceChildren(...[["b", head], ...texts.map((text) => ["p", text])].map(([name, text]) => Object.assign(document.createElement(name), { textContent: text })));
    tip.hidden = false;
    tip.style.left = Math.max(8, Math.min(x + 16, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight < innerHeight ? y + 18 : Math.max(8, y - tip.offsetHeight - 14)) + "px";
  };
  const percent = (share) => (share >= 1 ? "100 %" : (100 * share).toFixed(share > 0.99 ? 2 : 1) + " %");
  const ticksOf = (low, high) => {
    const rough = Math.max(high - low, 1e-6) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const times = [1, 2, 2.5, 5, 10].find((one) => one * power >= rough * (1 - 1e-9)), step = times * power;
    const places = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) places.push(k * step);
    const digits = Math.max(1, (times === 2.5 ? 1 : 0) - Math.floor(Math.log10(step) + 1e-9));
    return places.map((place) => [place, (Math.abs(place) < 1e-9 ? 0 : place).toFixed(digits)]);
  };
  const shorten = (ctx, text, room) => {
    let short = text;
    while (short.length > 1 && ctx.measureText(short).width > room) short = short.slice(0, -2) + "…";
    return short;
  };

  // Cells are symmetric: the upper triangle with the diagonal, row by row, all low bytes before all high ones.
  const cellsOf = (spec) => {
    const bytes = atob(spec.cells), high = bytes.length / 2, n = spec.size, cells = new Int16Array(n * n);
    for (let row = 0, at = 0; row < n; row++)
      for (let column = row; column < n; column++, at++)
        cells[row * n + column] = cells[column * n + row] = bytes.charCodeAt(at) | bytes.charCodeAt(high + at) << 8;
    return cells;
  };

  document.querySelectorAll(".heatmaps").forEach(async (root) => {
    const store = JSON.parse(await unpack(root.querySelector("script")));
    const textOf = (place) => (store.labels && store.labels[place] ? "[" + store.labels[place] + "] " : "")
      + (store.texts ? store.texts[place] : "row " + store.numbers[place].toLocaleString("en"));
    const figures = store.figures.map((spec) => {
      const place = document.getElementById(spec.id);
      const canvas = place.appendChild(document.createElement("canvas"));
      return { spec, place, canvas, cells: cellsOf(spec), image: document.createElement("canvas"), view: [0, 0, spec.size, spec.size], low: spec.low, high: spec.high };
    });
    const siblings = (figure) => figures.filter((one) => one.spec.group === figure.spec.group);

    const paint = (figure) => {
      const { spec, image, cells, low, high } = figure, colors = COLORS[spec.scale], n = spec.size;
      image.width = image.height = n;
      const pixels = new ImageData(n, n);
      cells.forEach((cell, at) => {
        if (cell === UNKNOWN) return;
        pixels.data.set(colors[Math.max(0, Math.min(255, Math.round(255 * (cell / SCALE - low) / (high - low))))], 4 * at);
      });
      image.getContext("2d").putImageData(pixels, 0, 0);
    };

    const draw = (figure) => {
      const { spec, canvas, place, image, view } = figure, [x0, y0, x1, y1] = view;
      const dense = devicePixelRatio || 1, width = place.clientWidth, height = place.clientHeight;
      if (!width) return;
      canvas.width = Math.round(width * dense);
      canvas.height = Math.round(height * dense);
      const ctx = canvas.getContext("2d");
      ctx.scale(dense, dense);
      ctx.font = "12px " + getComputedStyle(document.body).fontFamily;
      const ink = variable("ink"), muted = variable("muted"), names = spec.ticks;
      const labels = names.length ? Math.min(Math.max(...names.map(([, text]) => ctx.measureText(text).width)), width * 0.26) : 0;
      const tree = spec.tree ? Math.max(width * 0.13, 30) : 0, strip = spec.strip ? 12 : 0;
      const box = figure.box = { x: (labels ? labels + 8 : 0) + (tree ? tree + 4 : 0) + (strip ? strip + 4 : 0), y: 6 };
      box.w = width - box.x - 64;
      box.h = height - box.y - (names.length ? 24 : 8);
      const px = (x) => box.x + (x + 0.5 - x0) / (x1 - x0) * box.w, py = (y) => box.y + (y + 0.5 - y0) / (y1 - y0) * box.h;
      ctx.imageSmoothingEnabled = (x1 - x0) > box.w * dense;
      ctx.imageSmoothingQuality = "high";
      ctx.drawImage(image, x0, y0, x1 - x0, y1 - y0, box.x, box.y, box.w, box.h);
      const inside = (then) => { ctx.save(); ctx.beginPath(); ctx.rect(0, box.y, box.x + box.w, box.h); ctx.clip(); then(); ctx.restore(); };
      inside(() => {
        ctx.fillStyle = variable("paper");
        const thick = spec.edges.length < 12 ? 1.5 : 0.75;
        spec.edges.forEach((edge) => {
          if (edge > x0 - 0.5 && edge < x1 - 0.5) ctx.fillRect(px(edge) - thick / 2, box.y, thick, box.h);
          if (edge > y0 - 0.5 && edge < y1 - 0.5) ctx.fillRect(box.x, py(edge) - thick / 2, box.w, thick);
        });
        (spec.strip || []).forEach((color, row) => {
          ctx.fillStyle = color;
          ctx.fillRect(box.x - strip - 4, py(row - 0.5), strip, py(row + 0.5) - py(row - 0.5) + 0.5);
        });
        if (spec.tree) {
          const right = box.x - (strip ? strip + 8 : 4), top = Math.max(...spec.tree.map((one) => one[4])) || 1;
          const hx = (value) => right - value / top * (tree - 2);
          ctx.strokeStyle = muted;
          ctx.lineWidth = spec.size > 150 ? 0.6 : 1;
          ctx.beginPath();
          spec.tree.forEach(([a, b, low, high, joint]) => {
            ctx.moveTo(hx(a), py(low)); ctx.lineTo(hx(joint), py(low)); ctx.lineTo(hx(joint), py(high)); ctx.lineTo(hx(b), py(high));
          });
          ctx.stroke();
        }
      });
      ctx.fillStyle = ink;
      ctx.textBaseline = "middle";
      ctx.textAlign = "right";
      let last = -99;
      names.forEach(([at, text]) => {
        const y = py(at);
        if (y < box.y || y > box.y + box.h || y - last < 11) return;
        last = y;
        ctx.fillText(shorten(ctx, text, labels), labels, y);
      });
      ctx.textAlign = "center";
      let used = box.x - 4;
      if (spec.edges.length) names.forEach(([at, text]) => {
        const x = px(at), short = shorten(ctx, text, 90), half = ctx.measureText(short).width / 2;
        if (x - half < used + 4 || x + half > box.x + box.w + 8) return;
        used = x + half;
        ctx.fillText(short, x, box.y + box.h + 14);
      });
      bar(ctx, figure, box, ink);
      place.dataset.view = view.join(" ");
      place.dataset.range = figure.low + " " + figure.high;
    };

    const bar = (ctx, figure, box, ink) => {
      const { spec, low, high } = figure, x = box.x + box.w + 10, colors = COLORS[spec.scale];
      const blend = ctx.createLinearGradient(0, box.y + box.h, 0, box.y);
      for (let k = 0; k < 256; k += 15) blend.addColorStop(k / 255, `rgba(${colors[k].slice(0, 3).join()},${colors[k][3] / 255})`);
      ctx.fillStyle = blend;
      ctx.fillRect(x, box.y, 10, box.h);
      ctx.fillStyle = ink;
      ctx.textAlign = "left";
      const ticks = spec.kind === "percentile" ? [0, 0.25, 0.5, 0.75, 1].map((one) => [one, 100 * one + " %"]) : ticksOf(low, high);
      ticks.forEach(([value, text]) => ctx.fillText(text, x + 14, Math.max(box.y + 5, Math.min(box.y + box.h - 5, box.y + box.h * (1 - (value - low) / (high - low))))));
    };

    const cellAt = (figure, event) => {
      const frame = figure.canvas.getBoundingClientRect(), { box, view } = figure;
      const x = (event.clientX - frame.left - box.x) / box.w, y = (event.clientY - frame.top - box.y) / box.h;
      return [x, y, Math.floor(view[0] + x * (view[2] - view[0])), Math.floor(view[1] + y * (view[3] - view[1]))];
    };
    const point = (figure, event) => {
      const [x, y, column, row] = cellAt(figure, event), { spec } = figure;
      if (x < 0 || x >= 1 || y < 0 || y >= 1) return hide();
      const value = (kind) => {
        const one = siblings(figure).find((other) => other.spec.kind === kind), cell = one && one.cells[row * spec.size + column];
        return one && cell !== UNKNOWN ? cell / SCALE : null;
      };
      const raw = value("cosine"), share = value("percentile"), above = value("difference");
      const score = above !== null ? (above > 0 ? "+" : "") + above.toFixed(3) + " to unrelated pairs" : raw === null ? "not known"
        : "cosine " + raw.toFixed(3) + (share === null ? "" : ", higher than " + percent(share) + " of unrelated pairs");
      const texts = spec.places.length ? [...new Set([row, column])].map((at) => textOf(spec.places[at])) : [];
      show(row === column ? "the same text" : score, texts, event.clientX, event.clientY);
    };
    const look = (figure, view) => siblings(figure).forEach((one) => { one.view = view; draw(one); });

    figures.forEach((figure) => {
      const { canvas, place, spec } = figure;
      let start = null, area = null;
      canvas.addEventListener("pointerdown", (event) => {
        if (event.pointerType !== "mouse") return point(figure, event);
        const [x, y] = cellAt(figure, event);
        if (event.button || x < 0 || x > 1 || y < 0 || y > 1) return;
        start = event;
        area = place.appendChild(Object.assign(document.createElement("div"), { className: "area", hidden: true }));
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointermove", (event) => {
        if (!start) return point(figure, event);
        hide();
        const frame = canvas.getBoundingClientRect();
        area.hidden = false;
        area.style.left = Math.min(start.clientX, event.clientX) - frame.left + "px";
        area.style.top = Math.min(start.clientY, event.clientY) - frame.top + "px";
        area.style.width = Math.abs(event.clientX - start.clientX) + "px";
        area.style.height = Math.abs(event.clientY - start.clientY) + "px";
      });
      canvas.addEventListener("pointerup", (event) => {
        if (!start) return;
        area.remove();
        const from = cellAt(figure, start), to = cellAt(figure, event), limit = (value) => Math.max(0, Math.min(spec.size - 1, value));
        const moved = Math.abs(event.clientX - start.clientX) > 6 && Math.abs(event.clientY - start.clientY) > 6;
        start = null;
        if (moved) look(figure, [...[2, 3].map((at) => limit(Math.min(from[at], to[at]))), ...[2, 3].map((at) => limit(Math.max(from[at], to[at])) + 1)]);
      });
      canvas.addEventListener("pointerleave", hide);
      canvas.addEventListener("dblclick", () => look(figure, [0, 0, spec.size, spec.size]));
      paint(figure);
      new ResizeObserver(() => draw(figure)).observe(place);
    });
    root.querySelectorAll("[name=span]").forEach((choice) => choice.addEventListener("change", () => {
      figures.filter((figure) => figure.spec.kind === "cosine").forEach((figure) => {
        [figure.low, figure.high] = choice.value === "whole" ? [0, 1] : [figure.spec.low, figure.spec.high];
        paint(figure);
        draw(figure);
      });
    }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTimeout(() => figures.forEach(draw), 50));
  });
})();
