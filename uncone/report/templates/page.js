"use strict";
// Large parts of a page are base64 of gzip.
const unpack = (element) => {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const solid = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim() || name;
  // "accent 20%" is the same, seen through: two more digits behind #rrggbb.
  const color = (name) => {
    const [role, percent] = name.split(" ");
    return percent ? solid(role) + Math.round(2.55 * parseInt(percent, 10)).toString(16).padStart(2, "0") : solid(role);
  };
  // Roles become colors wherever a figure says "color", "fillcolor" and the like.
  const withColors = (value, key) => {
    if (key && key.endsWith("color") && typeof value === "string") return color(value);
    if (Array.isArray(value)) return value.length && typeof value[0] === "object" ? value.map((one) => withColors(one)) : value;
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withColors(v, k)]));
    return value;
  };
  const axis = (given) => ({
    gridcolor: color("rule"), zerolinecolor: color("muted"), linecolor: color("rule"), automargin: true, ...withColors(given),
  });
  const layoutOf = (chart) => ({
    ...withColors(chart.layout),
    xaxis: axis(chart.layout.xaxis), yaxis: axis(chart.layout.yaxis),
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: color("ink") },
    margin: { l: 56, r: 14, t: 18, b: 46, ...chart.layout.margin },
    legend: { orientation: "h", y: 1.12, x: 0 },
    hoverlabel: { bgcolor: color("raised"), bordercolor: color("rule"), font: { color: color("ink") }, align: "left" },
  });
  const draw = (chart) => {
    const place = document.getElementById("chart-" + chart.id);
    Plotly.react(place, withColors(chart.data), layoutOf(chart), { displayModeBar: false, responsive: true });
  };
  const redraw = () => { if (window.Plotly) charts.forEach(draw); };

  // The verdict is on the screen before the first chart.
  if (charts.length) unpack(document.getElementById("plotly")).then((code) => {
    document.head.append(Object.assign(document.createElement("script"), { textContent: code }));
    setTimeout(redraw, 0);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
    redraw();
  });
  addEventListener("afterprint", redraw);

  document.querySelectorAll(".tabs").forEach((tabs) => {
    const panels = tabs.querySelectorAll(":scope > .panel");
    tabs.querySelectorAll(":scope > .switch input").forEach((input, place) => input.addEventListener("change", () => {
      panels.forEach((panel, at) => panel.classList.toggle("shown", at === place));
      dispatchEvent(new Event("resize"));  // charts that were hidden had no width
    }));
  });
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
    const text = button.dataset.copy;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    button.textContent = "copied";
  }));
  document.getElementById("download").addEventListener("click", async () => {
    const blob = new Blob([await unpack(document.getElementById("summary"))], { type: "application/json" });
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: "uncone-report.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
})();
