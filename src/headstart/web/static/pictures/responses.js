// What is believed of a task's response: slices along each input and surfaces over each pair.

import {
  dressed,
  expectation,
  faded,
  line,
  lines,
  listed,
  number,
  percent,
  points,
  short,
  strength,
  text,
} from "./marks.js";

export function slices(summary, theme) {
  const {
    anchor,
    objective,
    range: [low, high],
  } = summary;
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  return summary.inputs.map((input) => () => {
    const at = anchor.inputs[input.name];
    const { measured } = input;
    const edge = { ...line(theme.sky, { width: 0 }), x: input.x };
    const traces = [
      { ...edge, y: input.lower },
      { ...edge, y: input.upper, fill: "tonexty", fillcolor: faded(theme.sky, 0.3) },
      { ...line(theme.vermillion, { width: 1.5, dash: "dash" }), x: [at, at], y: [low - room, high + room] },
      {
        ...line(theme.blue),
        x: input.x,
        y: input.mean,
        mode: input.is_stepped ? "lines+markers" : "lines",
        marker: { color: theme.blue, size: 6 },
        hoverinfo: "text",
        hovertext: input.x.map((x, place) =>
          lines(
            `${text(input.name)} = ${number(x)}`,
            expectation({ mean: input.mean[place], lower: input.lower[place], upper: input.upper[place] }),
          ),
        ),
      },
      {
        ...points(theme, theme.ink, { size: 7, opacity: strength(measured.distance) }),
        x: measured.x,
        y: measured.outcome,
        hovertext: measured.x.map((x, place) =>
          lines(
            `measured ${number(measured.outcome[place])}`,
            `${text(input.name)} = ${number(x)}`,
            `${percent(measured.distance[place])} away from this slice`,
          ),
        ),
      },
      anchor.outcome != null && {
        ...points(theme, theme.vermillion, { symbol: "diamond", size: 10 }),
        x: [at],
        y: [anchor.outcome],
        hovertext: [lines(`${anchor.is}: ${number(anchor.outcome)}`, listed(anchor.inputs))],
      },
    ].filter(Boolean);
    const x = { title: short(input.name, 34), nticks: 5 };
    const y = { title: short(objective, 28), range: [low - room, high + room] };
    return { traces, layout: dressed(theme, { x, y, height: 240, showlegend: false, revision: input.name }) };
  });
}

export const sliceKeys = (summary) => [
  ["line", "expected"],
  ["band", `${percent(summary.interval)} interval`],
  ["cut", summary.anchor.is],
  ["dot", "measured; the paler, the farther from the slice"],
];

const pairName = (pair) => `${pair.x_name} × ${pair.y_name}`;
const pairOf = ({ pairs }, { pair }) => pairs.find((each) => pairName(each) === pair) ?? pairs[0];

export const surfaceControls = (summary, choice) =>
  summary.pairs.length
    ? [
        {
          name: "pair",
          label: "inputs",
          isSelect: true,
          chosen: pairName(pairOf(summary, choice)),
          options: summary.pairs.map((pair) => [pairName(pair), pairName(pair)]),
        },
        {
          name: "shown",
          label: "show",
          chosen: choice.shown ?? "mean",
          options: [
            ["mean", "expected"],
            ["sd", "uncertainty"],
          ],
        },
      ]
    : null;

// A flat surface needs a scale too.
const spread = ([low, high]) =>
  high > low ? [low, high] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];

export function surfaces(summary, theme, choice) {
  const pair = pairOf(summary, choice);
  if (!pair) return [];
  const { anchor, objective } = summary;
  const isMean = (choice.shown ?? "mean") === "mean";
  const [low, high] = spread(isMean ? summary.range : summary.sd_range);
  const { measured } = pair;
  const here = [anchor.inputs[pair.x_name], anchor.inputs[pair.y_name]];
  const colours = { zmin: low, zmax: high, colorscale: isMean ? "Viridis" : "Cividis", showscale: false };
  const scale = Array.from({ length: 65 }, (_, step) => low + ((high - low) * step) / 64);
  const traces = [
    {
      type: "heatmap",
      ...colours,
      x: scale,
      y: [0, 1],
      z: [scale, scale],
      zsmooth: "best",
      xaxis: "x2",
      yaxis: "y2",
      hoverinfo: "skip",
    },
    {
      type: "contour",
      ...colours,
      x: pair.x,
      y: pair.y,
      z: isMean ? pair.mean : pair.sd,
      autocontour: true,
      ncontours: 12,
      line: { color: "rgba(255,255,255,0.55)", width: 0.7 },
      contours: { coloring: "heatmap", showlabels: true, labelfont: { color: "#ffffff", size: 10 } },
      hoverinfo: "text",
      hovertext: pair.y.map((y, row) =>
        pair.x.map((x, column) =>
          lines(
            `expected ${number(pair.mean[row][column])} ± ${number(pair.sd[row][column])}`,
            `${text(pair.x_name)} = ${number(x)}`,
            `${text(pair.y_name)} = ${number(y)}`,
          ),
        ),
      ),
    },
    measured.x.length && {
      ...points(theme, "#1f2933", {
        size: 9,
        opacity: strength(measured.distance),
        line: { color: "#ffffff", width: 1.5 },
      }),
      name: "measured; the paler, the farther off",
      x: measured.x,
      y: measured.y,
      hovertext: measured.x.map((x, place) =>
        lines(
          `measured ${number(measured.outcome[place])}`,
          `${text(pair.x_name)} = ${number(x)}`,
          `${text(pair.y_name)} = ${number(measured.y[place])}`,
          `${percent(measured.distance[place])} away from this plane`,
        ),
      ),
    },
    {
      ...points(theme, "#d55e00", { symbol: "diamond", size: 12, line: { color: "#ffffff", width: 1.5 } }),
      name: anchor.is,
      x: [here[0]],
      y: [here[1]],
      hovertext: [lines(anchor.is, listed(anchor.inputs))],
      cliponaxis: false,
    },
  ].filter(Boolean);
  const x = { title: short(pair.x_name, 40), showgrid: false, range: [pair.x[0], pair.x.at(-1)] };
  const y = { title: short(pair.y_name, 32), showgrid: false, range: [pair.y[0], pair.y.at(-1)], domain: [0, 0.84] };
  const said = isMean ? `expected ${short(objective, 40)}` : `uncertainty of ${short(objective, 30)} (sd)`;
  const layout = dressed(theme, { x, y, height: 450, revision: pairName(pair) });
  layout.xaxis2 = {
    ...layout.xaxis,
    domain: [0, 1],
    anchor: "y2",
    side: "top",
    range: [low, high],
    fixedrange: true,
    title: { ...layout.xaxis.title, text: said },
  };
  layout.yaxis2 = { domain: [0.87, 0.9], anchor: "x2", visible: false, fixedrange: true };
  return [() => ({ traces, layout })];
}
