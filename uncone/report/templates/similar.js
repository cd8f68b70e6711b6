"use strict";
(() => {
  // Texts stand in the page once; a chart knows them by their place. They are only ever set as text, never as markup.
  const store = JSON.parse(document.getElementById("rows").textContent);
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const place = (id) => document.getElementById("chart-" + id);
  const tip = document.getElementById("tip");
  const line = (name, text) => {
    const made = document.createElement(name === "b" ? "b" : "p");
    made.textContent = text;
    return made;
  };
  const textOf = (at) => {
    const label = store.labels && store.labels[at] ? "[" + store.labels[at] + "] " : "";
    return label + (store.texts ? store.texts[at] : "row " + store.numbers[at].toLocaleString("en"));
  };
  const show = (parts, event) => {
    tip.replaceChildren(...parts);
    tip.hidden = false;
    const source = event && event.touches && event.touches[0] ? event.touches[0] : event;
    const x = source && Number.isFinite(source.clientX) ? source.clientX : innerWidth / 2;
    const y = source && Number.isFinite(source.clientY) ? source.clientY : innerHeight / 2;
    const wide = tip.offsetWidth, tall = tip.offsetHeight;
    tip.style.left = Math.max(8, Math.min(x + 16, innerWidth - wide - 8)) + "px";
    tip.style.top = (y + 18 + tall < innerHeight ? y + 18 : Math.max(8, y - tall - 14)) + "px";
  };
  const hide = () => { tip.hidden = true; };
  addEventListener("scroll", hide, { passive: true });

  const kinds = { i2: Int16Array, f4: Float32Array };
  const grids = new Map();
  const cell = (id, row, column) => {
    if (!grids.has(id)) {
      const z = charts.find((chart) => chart.id === id).data[0].z;
      const bytes = Uint8Array.from(atob(z.bdata), (letter) => letter.charCodeAt(0));
      grids.set(id, { values: new kinds[z.dtype](bytes.buffer), scale: z.dtype === "i2" ? 10000 : 1, size: +z.shape.split(",")[0] });
    }
    const grid = grids.get(id);
    return grid.values[row * grid.size + column] / grid.scale;
  };
  const percent = (share) => (share >= 1 ? "100 %" : (100 * share).toFixed(share > 0.99 ? 2 : 1) + " %");

  // page.js has drawn a chart when its place has listeners; those that wait are looked for again.
  const when = (id, then) => {
    const found = place(id);
    if (found.on && found.data) then(found); else setTimeout(() => when(id, then), 120);
  };
  let passing = false;
  const siblings = (id) => Object.keys(store.heatmaps).filter((other) => other !== id && store.heatmaps[other].picture === store.heatmaps[id].picture);
  Object.entries(store.heatmaps).forEach(([id, held]) => when(id, (chart) => {
    chart.on("plotly_hover", (event) => {
      const point = event.points.find((one) => one.curveNumber === 0);
      if (!point) return hide();
      const [row, column] = [Math.round(point.y), Math.round(point.x)];
      const raw = cell("heat-" + held.picture + "-cosine", row, column);
      const share = cell("heat-" + held.picture + "-percentile", row, column);
      const head = row === column ? "the same text" : "cosine " + raw.toFixed(3) + ", higher than " + percent(share) + " of unrelated pairs";
      const texts = row === column ? [line("p", textOf(held.rows[row]))] : [line("p", textOf(held.rows[row])), line("p", textOf(held.rows[column]))];
      show([line("b", head), ...texts], event.event);
    });
    chart.on("plotly_unhover", hide);
    // Raw and percentile are the same cells: to zoom into one is to zoom into both.
    chart.on("plotly_relayout", (change) => {
      if (passing || !Object.keys(change).some((key) => key.startsWith("xaxis") || key.startsWith("yaxis"))) return;
      const size = held.rows.length;
      const whole = change["xaxis.autorange"] || change["yaxis.autorange"];
      const ranges = whole ? { "xaxis.range": [-0.5, size - 0.5], "yaxis.range": [size - 0.5, -0.5] }
        : { "xaxis.range": [...chart.layout.xaxis.range], "yaxis.range": [...chart.layout.yaxis.range] };
      passing = true;
      Promise.all([...siblings(id), ...(whole ? [id] : [])].map((other) => Plotly.relayout(place(other), ranges))).finally(() => { passing = false; });
    });
  }));

  Object.entries(store.walks).forEach(([id, rows]) => when(id, (chart) => {
    chart.on("plotly_hover", (event) => {
      const [row, column] = [Math.round(event.points[0].y), Math.round(event.points[0].x)];
      const texts = [...new Set([row, column])].map((at) => line("p", textOf(rows[at])));
      show([line("b", cell(id, row, column).toFixed(3)), ...texts], event.event);
    });
    chart.on("plotly_unhover", hide);
  }));

  // The colours of a raw heatmap span the data, or the whole of the scale.
  const spans = document.querySelectorAll("[name=span]");
  const span = () => {
    const whole = [...spans].some((one) => one.checked && one.value === "whole");
    Object.keys(store.heatmaps).filter((id) => store.heatmaps[id].kind === "cosine").forEach((id) => when(id, (chart) => {
      const data = charts.find((one) => one.id === id).data[0];
      const scale = data.z.dtype === "i2" ? 10000 : 1;
      const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1];
      const given = whole
        ? { zmin: 0, zmax: scale, "colorbar.tickvals": [ticks.map((one) => one * scale)], "colorbar.ticktext": [ticks.map((one) => one.toFixed(1))] }
        : { zmin: data.zmin, zmax: data.zmax, "colorbar.tickvals": [data.colorbar.tickvals], "colorbar.ticktext": [data.colorbar.ticktext] };
      Plotly.restyle(chart, given, [0]);
    }));
  };
  spans.forEach((one) => one.addEventListener("change", span));

  const choices = document.querySelectorAll("[name=palette]");
  const colour = () => {
    const chosen = Math.max([...choices].findIndex((one) => one.checked), 0);
    const palette = store.palettes[chosen];
    if (!palette) return;
    document.querySelectorAll(".swatches").forEach((one, at) => { one.hidden = at !== chosen; });
    const colours = palette.members.map((member) => palette.colours[member]);
    store.maps.forEach((id) => when(id, (chart) => Plotly.restyle(chart, { "marker.color": [colours] }, [0])));
  };
  choices.forEach((one) => one.addEventListener("change", colour));
  store.maps.forEach((id) => when(id, (chart) => {
    chart.on("plotly_hover", (event) => {
      const at = event.points[0].pointNumber;
      const chosen = Math.max([...choices].findIndex((one) => one.checked), 0);
      const palette = store.palettes[chosen];
      const head = palette ? palette.names[palette.members[at]] : "row " + store.numbers[store.points[at]].toLocaleString("en");
      show([line("b", head), line("p", textOf(store.points[at]))], event.event);
    });
    chart.on("plotly_unhover", hide);
  }));
  // page.js draws everything anew in the other colours of the page: what was chosen here is chosen again.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTimeout(() => { span(); colour(); }, 50));
})();
