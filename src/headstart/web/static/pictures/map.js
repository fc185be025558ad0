// The map of a general input: which of its levels are believed to be alike.

import { dressed, faded, line, lines, percent, points, short, text } from "./marks.js";
import { ellipse, placed, squared } from "./places.js";

const MANY = 12; // of more levels, only the current one and the nearest get a name and an ellipse
const OUTERMOST = 6; // which stand in for the nearest where there is no current one

export function embeddingMap(summary, theme) {
  const { levels, label, general } = summary;
  if (!levels.length) return [];
  const far = [...levels].sort((a, b) => Math.hypot(b.x, b.y) - Math.hypot(a.x, a.y)).map((level) => level.label);
  const near = new Set(summary.nearest.length ? summary.nearest.map((each) => each.label) : far.slice(0, OUTERMOST));
  const isNear = (level) => near.has(level.label) && !level.is_current;
  const isNamed = (level) => levels.length <= MANY || level.is_current || isNear(level);
  const radius = Math.sqrt(-2 * Math.log(1 - summary.interval)); // holds that share of a two-dimensional Gaussian
  const outlines = new Map(levels.filter(isNamed).map((level) => [level, ellipse(level, radius)]));
  const trail = summary.trail ?? [];
  const now = levels.filter((level) => level.is_current);

  // All ellipses of one look are one trace, with gaps between them.
  const ring = (chosen, colour, { alpha = 1, width = 1.2, hasRows, ...others }) => {
    const found = [...outlines].filter(([level]) => chosen(level) && level.rows > 0 === hasRows);
    return (
      found.length && {
        ...line(faded(colour, alpha), { width, dash: hasRows ? "solid" : "dash" }),
        ...others,
        name: "dashed: no data yet",
        showlegend: !hasRows,
        x: found.flatMap(([, path]) => [...path.map((at) => at[0]), null]),
        y: found.flatMap(([, path]) => [...path.map((at) => at[1]), null]),
      }
    );
  };
  const rings = (chosen, colour, look) => [true, false].map((hasRows) => ring(chosen, colour, { ...look, hasRows }));
  const marks = (chosen, name, trace) => {
    const found = levels.filter(chosen);
    return (
      found.length && {
        ...trace,
        name,
        x: found.map((level) => level.x),
        y: found.map((level) => level.y),
        hovertext: found.map((level) =>
          lines(
            `${text(level.label)}`,
            level.rows ? `${level.rows} row${level.rows === 1 ? "" : "s"}` : "no data yet",
            level.similarity == null ? "" : `${percent(level.similarity)} alike`,
          ),
        ),
      }
    );
  };
  const isOther = (level) => !level.is_current && !isNear(level);
  const traces = [
    ...rings(isOther, theme.muted, { alpha: 0.45, width: 1 }),
    ...rings(isNear, theme.blue, { alpha: 0.8 }),
    ...rings((level) => level.is_current, theme.vermillion, {
      width: 2,
      fill: "toself",
      fillcolor: faded(theme.vermillion, 0.13),
    }),
    trail.length && {
      ...line(theme.vermillion, { width: 1 }),
      showlegend: false,
      x: [...trail, ...now].map((step) => step.x),
      y: [...trail, ...now].map((step) => step.y),
    },
    marks(isOther, "other levels", points(theme, theme.muted, { size: levels.length > MANY ? 7 : 9 })),
    marks(isNear, label == null ? "outermost" : "most alike", points(theme, theme.blue, { size: 9, symbol: "square" })),
    trail.length && {
      ...points(theme, theme.paper, { symbol: "diamond", size: 7, line: { color: theme.vermillion, width: 1.3 } }),
      name: "where it was before",
      x: trail.map((step) => step.x),
      y: trail.map((step) => step.y),
      hovertext: trail.map((step) => `with ${step.rows} row${step.rows === 1 ? "" : "s"}`),
    },
    marks(
      (level) => level.is_current,
      short(label ?? "", 30),
      points(theme, theme.vermillion, { symbol: "diamond", size: 13 }),
    ),
  ].filter(Boolean);
  const [first, second] = summary.explained.map(percent);
  const bare = { showgrid: false, showticklabels: false, showline: true, mirror: true };
  return [
    (width) => {
      const height = Math.min(480, 90 + 0.85 * width);
      const frame = squared(
        [
          ...levels.map((level) => [level.x, level.y]),
          ...trail.map((step) => [step.x, step.y]),
          ...[...outlines.values()].flat(),
        ],
        width - 45,
        height - 95,
      );
      const order = [...now, ...levels.filter(isNear), ...levels.filter((level) => isOther(level) && isNamed(level))];
      const longest = width < 480 ? 18 : 26;
      const names = placed(
        order.map((level) => ({ x: level.x, y: level.y, label: short(level.label, longest) })),
        levels,
        frame,
      );
      const annotations = names.map(({ x, y, label: name, ax, ay, xanchor, yanchor }, place) => ({
        x,
        y,
        text: name,
        ax,
        ay,
        xanchor,
        yanchor,
        showarrow: true,
        arrowhead: 0,
        arrowwidth: 0.7,
        arrowcolor: Math.hypot(ax, ay) > 14 ? theme.muted : "rgba(0,0,0,0)",
        standoff: 4,
        font: { size: 11, color: theme.ink, weight: order[place].is_current ? "bold" : "normal" },
        bgcolor: faded(theme.paper, 0.65),
        borderpad: 0,
        captureevents: false,
      }));
      const layout = dressed(theme, {
        x: { ...bare, title: `main direction (${first} of the differences)`, range: frame.x },
        y: { ...bare, title: `second direction (${second})`, range: frame.y, scaleanchor: "x", constrain: "domain" },
        height,
        annotations,
        revision: general,
      });
      layout.xaxis.constrain = "domain";
      return { traces, layout };
    },
  ];
}
