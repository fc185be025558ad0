// What all pictures are made of: numbers and labels as text, points and lines, and a layout in the page's colours.
//
// Labels of users are text, never markup. Bold text in markup and Plotly's colour bars would need inline styles, which
// the content security policy forbids.

const rounded = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, useGrouping: false });
export const number = (value) => (value == null ? "unknown" : rounded.format(value));
export const percent = (share) => `${Math.round(100 * share)} %`;
// Plotly reads a little HTML in texts.
export const text = (label) => String(label).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
export const short = (label, longest) =>
  text(label.length > longest ? `${label.slice(0, longest - 1).trimEnd()}…` : label);
// Names of tasks often differ at their ends.
export function abridged(label, longest) {
  if (label.length <= longest) return text(label);
  const half = Math.floor(longest / 2);
  return text(`${label.slice(0, half - 1).trimEnd()}…${label.slice(-half).trimStart()}`);
}
export const lines = (...parts) => parts.filter(Boolean).join("<br>");
export const listed = (values) =>
  lines(
    ...Object.entries(values).map(
      ([name, value]) => `${text(name)}: ${typeof value === "number" ? number(value) : text(value)}`,
    ),
  );
export const expectation = ({ mean, lower, upper }) =>
  mean == null ? "" : `expected ${number(mean)} (${number(lower)} to ${number(upper)})`;
export const faded = (hex, alpha) =>
  `rgba(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(",")},${alpha})`;
export const strength = (distances) =>
  distances.map((distance) => 0.2 + 0.8 * Math.min(Math.max(1 - 2 * distance, 0), 1));

// A layout in the page's colours, with little around the data; `revision` is what zoom belongs to.
export function dressed(theme, { x = {}, y = {}, height, revision = "same", ...others }) {
  const axis = {
    automargin: true,
    gridcolor: theme.rule,
    linecolor: theme.rule,
    zeroline: false,
    fixedrange: theme.isTouch,
    tickfont: { color: theme.muted, size: 11 },
    ticks: "",
    nticks: 6,
  };
  const title = (name) => ({ text: name ?? "", font: { color: theme.ink, size: 12 }, standoff: 8 });
  return {
    height,
    uirevision: revision,
    font: { family: theme.font, size: 12, color: theme.ink },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 10, t: 10, b: 8 },
    hovermode: "closest",
    hoverlabel: {
      bgcolor: theme.paper,
      bordercolor: theme.rule,
      font: { color: theme.ink },
      align: "left",
      namelength: 0,
    },
    dragmode: theme.isTouch ? false : "zoom", // on a touch screen a finger scrolls the page
    showlegend: true,
    legend: {
      orientation: "h",
      x: 0,
      y: 0,
      yref: "container",
      yanchor: "bottom",
      font: { size: 11 },
      itemclick: false,
      itemdoubleclick: false,
      bgcolor: "rgba(0,0,0,0)",
    },
    ...others,
    xaxis: { ...axis, showgrid: false, ...x, title: title(x.title) },
    yaxis: { ...axis, ...y, title: title(y.title) },
  };
}

export const points = (theme, colour, { symbol = "circle", size = 8, ...others } = {}) => ({
  type: "scatter",
  mode: "markers",
  hoverinfo: "text",
  marker: { color: colour, symbol, size, line: { color: theme.paper, width: 1 }, ...others },
});

export const line = (colour, { width = 2, dash = "solid", ...others } = {}) => ({
  type: "scatter",
  mode: "lines",
  hoverinfo: "skip",
  line: { color: colour, width, dash, ...others },
});
