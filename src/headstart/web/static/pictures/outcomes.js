// What happened: convergence, honesty and trust.

import {
  abridged,
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
  text,
} from "./marks.js";

const SHOTS = [
  ["circle", "●"],
  ["square", "■"],
  ["triangle-up", "▲"],
  ["diamond", "◆"],
  ["cross", "✚"],
  ["star", "★"],
];

export function convergence(summary, theme) {
  const { evaluations: done, pending, start, objective } = summary;
  if (!done.length && !pending.length) return [];
  const ahead = pending.map((each, place) => ({ ...each, evaluation: done.length + place + 1 }));
  const bars = (rows, name, marker) => ({
    type: "bar",
    name,
    marker,
    width: 0.5,
    hoverinfo: "text",
    x: rows.map((each) => each.evaluation),
    y: rows.map((each) => each.upper - each.lower),
    base: rows.map((each) => each.lower),
    hovertext: rows.map((each) => lines(`evaluation ${each.evaluation}`, expectation(each), listed(each.inputs))),
  });
  const means = (rows, colour) => ({
    ...points(theme, colour, { symbol: "line-ew-open", size: 14, line: { color: colour, width: 2 } }),
    x: rows.map((each) => each.evaluation),
    y: rows.map((each) => each.mean),
    hoverinfo: "skip",
    showlegend: false,
  });
  const judged = done.filter((each) => each.mean != null);
  const from = start == null ? done : [{ evaluation: 0, best: start }, ...done];
  const traces = [
    judged.length && bars(judged, `${percent(summary.interval)} interval`, { color: faded(theme.sky, 0.35) }),
    judged.length && means(judged, theme.sky),
    ahead.length &&
      bars(ahead, "pending", {
        color: theme.green,
        line: { color: theme.green, width: 1 },
        pattern: {
          shape: "/",
          fillmode: "replace",
          bgcolor: "rgba(0,0,0,0)",
          fgcolor: theme.green,
          size: 6,
          solidity: 0.15,
        },
      }),
    ahead.length && means(ahead, theme.green),
    from.length && {
      ...line(theme.blue, { shape: "hv" }),
      name: "best so far",
      x: [...from.map((each) => each.evaluation), done.length + 0.4],
      y: [...from.map((each) => each.best), from.at(-1).best],
    },
    done.length && {
      ...points(theme, theme.ink),
      name: "measured",
      x: done.map((each) => each.evaluation),
      y: done.map((each) => each.outcome),
      hovertext: done.map((each) =>
        lines(`evaluation ${each.evaluation}: ${number(each.outcome)}`, expectation(each), listed(each.inputs)),
      ),
    },
  ].filter(Boolean);
  const last = done.length + ahead.length;
  const x = {
    title: "evaluation",
    range: [start == null ? 0.4 : -0.3, last + 0.6],
    tick0: 0,
    dtick: Math.ceil(last / 12),
  };
  return [
    () => ({
      traces,
      layout: dressed(theme, { x, y: { title: short(objective, 32) }, height: 340, barmode: "overlay" }),
    }),
  ];
}

export function honesty(summary, theme) {
  const rows = summary.predictions;
  if (!rows.length) return [];
  const seen = rows.flatMap((row) => [row.outcome, row.lower, row.upper]);
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  const room = 0.05 * (high - low || Math.abs(high) || 1);
  const range = [low - room, high + room];
  const kind = (inside, name, colour, symbol) => {
    const found = rows.filter((row) => row.inside === inside);
    return (
      found.length && {
        ...points(theme, colour, { symbol, size: 9 }),
        name,
        x: found.map((row) => row.outcome),
        y: found.map((row) => row.mean),
        error_y: {
          type: "data",
          symmetric: false,
          array: found.map((row) => row.upper - row.mean),
          color: faded(colour, 0.5),
          arrayminus: found.map((row) => row.mean - row.lower),
          width: 0,
          thickness: 2,
        },
        hovertext: found.map((row) =>
          lines(`${number(row.outcome)}`, expectation(row), listed(row.task), listed(row.inputs)),
        ),
      }
    );
  };
  const traces = [
    { ...line(theme.muted, { width: 1.3, dash: "dash" }), name: "prediction = outcome", x: range, y: range },
    kind(true, "inside its interval", theme.blue, "circle"),
    kind(false, "outside", theme.vermillion, "x"),
  ].filter(Boolean);
  const x = { title: `observed ${short(summary.objective, 26)}`, range };
  const y = { title: "predicted before", range };
  return [(width) => ({ traces, layout: dressed(theme, { x, y, height: Math.min(460, width + 50) }) })];
}

const shotCounts = ({ tasks }) =>
  [...new Set(tasks.flatMap((each) => each.shots.map(({ shots }) => shots)))].sort((a, b) => a - b);
const gainOf = ({ log_density: ours, alone_log_density: alone }) =>
  ours == null || alone == null ? null : ours - alone;

export const trustKeys = (summary) =>
  shotCounts(summary).map((count, place) => [
    "sign",
    `${SHOTS[place % SHOTS.length][1]} ${count === 0 ? "before any row of the task" : `after ${count}`}`,
  ]);

export function trust(summary, theme) {
  const tasks = [...summary.tasks].sort((a, b) => (a.gain ?? 0) - (b.gain ?? 0));
  if (!tasks.length) return [];
  const names = tasks.map((each) => Object.values(each.task).join(", "));
  const range = [-0.7, tasks.length - 0.3];
  const panel = (title, measure, said, edge, look) => (width) => {
    const traces = shotCounts(summary).map((count, place) => {
      const found = tasks.flatMap((each, row) =>
        each.shots.filter((shot) => shot.shots === count && measure(shot) != null).map((shot) => ({ each, shot, row })),
      );
      const colours = found.map(({ shot }) => (edge.isBad(measure(shot)) ? theme.vermillion : theme.blue));
      return {
        ...points(theme, colours, { symbol: SHOTS[place % SHOTS.length][0], size: 9 }),
        x: found.map(({ shot }) => measure(shot)),
        y: found.map(({ row }) => row),
        hovertext: found.map(({ each, shot, row }) =>
          lines(
            text(names[row]),
            said(shot),
            count === 0 ? "before any row of it" : `after ${count} of its rows`,
            each.verdict && text(each.verdict),
          ),
        ),
      };
    });
    const layout = dressed(theme, {
      x: { title, showgrid: true, nticks: 5, ...look },
      y: {
        range,
        tickvals: tasks.map((_, row) => row),
        ticktext: names.map((name) => abridged(name, Math.round(width / 18))),
      },
      height: 70 + 22 * Math.max(tasks.length, 3),
      showlegend: false,
      revision: title,
    });
    return {
      traces: [{ ...line(theme.muted, { width: 1.5, dash: "dash" }), x: [edge.at, edge.at], y: range }, ...traces],
      layout,
    };
  };
  const share = { range: [-0.04, 1.04], tickformat: ".0%" };
  return [
    panel(
      "gain over learning alone",
      gainOf,
      (shot) => `gain ${number(gainOf(shot))} in log density`,
      { at: 0, isBad: (gain) => gain < 0 },
      {},
    ),
    panel(
      `inside the ${percent(summary.interval)} interval`,
      ({ coverage }) => coverage,
      ({ coverage }) => `${percent(coverage)} inside`,
      { at: summary.interval, isBad: () => false },
      share,
    ),
  ];
}
