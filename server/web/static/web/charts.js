// Draws the charts of a page from the JSON that stands in it.
"use strict";

const style = getComputedStyle(document.documentElement);
const layout = {
  paper_bgcolor: "transparent", plot_bgcolor: "transparent", margin: { l: 55, r: 15, t: 10, b: 45 },
  font: { color: style.getPropertyValue("--text").trim() }, hovermode: "closest", legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
};
const axis = { gridcolor: style.getPropertyValue("--line").trim(), zeroline: false };

const kinds = {
  ratings(data) {
    const groups = new Map();
    for (const net of data.networks) groups.set(net.state, [...(groups.get(net.state) || []), net]);
    const traces = [...groups].map(([state, nets]) => ({
      name: state, mode: "markers", type: "scatter",
      x: nets.map((net) => net.rows), y: nets.map((net) => net.elo), text: nets.map((net) => net.name),
      error_y: { type: "data", array: nets.map((net) => net.error), thickness: 1, width: 2 },
      marker: { size: 8 },
    }));
    return [traces, { ...layout, xaxis: { ...axis, title: { text: data.x_title } }, yaxis: { ...axis, title: { text: "Elo" } } }];
  },
  losses(data) {
    const traces = data.lines.map((line) => ({
      name: line.name, mode: line.values.length < 50 ? "lines+markers" : "lines", type: "scatter", x: line.samples, y: line.values,
      visible: line.shown ? true : "legendonly",
    }));
    return [traces, { ...layout, xaxis: { ...axis, title: { text: data.x_title } }, yaxis: axis }];
  },
};

for (const place of document.querySelectorAll("[data-chart]")) {
  const data = JSON.parse(document.getElementById(place.dataset.source).textContent);
  const [traces, shape] = kinds[place.dataset.chart](data);
  // without the tool bar, which would lie on the legend: dragging zooms, a double click shows everything again
  Plotly.newPlot(place, traces, shape, { responsive: true, displayModeBar: false });
}
