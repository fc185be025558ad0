// Where things of the map go: its frame, the ellipses and, beside the points, their names.

// The contour of a level's Gaussian at that Mahalanobis distance: centre + radius L (cos t, sin t), with L Lᵀ = Σ.
export function ellipse({ x, y, covariance: [[xx, xy], [, yy]] }, radius, corners = 60) {
  const a = Math.sqrt(Math.max(xx, 0));
  const b = a > 0 ? xy / a : 0;
  const c = Math.sqrt(Math.max(yy - b * b, 0));
  return Array.from({ length: corners + 1 }, (_, corner) => {
    const angle = (2 * Math.PI * corner) / corners;
    return [x + radius * a * Math.cos(angle), y + radius * (b * Math.cos(angle) + c * Math.sin(angle))];
  });
}

// Ranges around all points, of which a unit is as long across as it is up, for a frame of that many pixels.
export function squared(points, width, height) {
  const [left, right, bottom, top] = [0, 0, 1, 1].map((axis, place) =>
    (place % 2 ? Math.max : Math.min)(...points.map((point) => point[axis])),
  );
  const unit = 1.12 * Math.max((right - left) / width, (top - bottom) / height) || 1 / width;
  const around = (low, high, pixels) => [(low + high - unit * pixels) / 2, (low + high + unit * pixels) / 2];
  return { x: around(left, right, width), y: around(bottom, top, height), unit };
}

const REACHES = [9, 20, 34];
const SIDES = [
  [1, 0],
  [-1, 0],
  [0.7, -0.7],
  [0.7, 0.7],
  [-0.7, -0.7],
  [-0.7, 0.7],
  [0, -1],
  [0, 1],
];

// Each name where it covers least, the first with the first choice; in pixels, downwards, as Plotly's annotations are.
export function placed(names, dots, { x: [left, right], y: [bottom, top], unit }) {
  const pixels = ({ x, y }) => [(x - left) / unit, (top - y) / unit];
  const [width, height] = [(right - left) / unit, (top - bottom) / unit];
  const marks = dots.map(pixels);
  const taken = [];
  return names.map((name) => {
    const [px, py] = pixels(name);
    const size = [6.4 * name.label.length + 4, 14];
    const choices = REACHES.flatMap((reach) =>
      SIDES.map(([across, down]) => {
        const [ax, ay] = [across * reach, down * reach];
        const x0 = px + ax - (across > 0 ? 0 : across < 0 ? size[0] : size[0] / 2);
        const y0 = py + ay - (down > 0 ? 0 : down < 0 ? size[1] : size[1] / 2);
        const box = [x0, y0, x0 + size[0], y0 + size[1]];
        return { ax, ay, box, cost: cost(box, taken, marks, width, height) + reach / 10 };
      }),
    );
    const best = choices.reduce((a, b) => (b.cost < a.cost ? b : a));
    taken.push(best.box);
    const anchor = (offset, before, after) => (offset > 0 ? after : offset < 0 ? before : null);
    return {
      ...name,
      ax: best.ax,
      ay: best.ay,
      xanchor: anchor(best.ax, "right", "left") ?? "center",
      yanchor: anchor(best.ay, "bottom", "top") ?? "middle",
    };
  });
}

function cost([x0, y0, x1, y1], taken, marks, width, height) {
  const overlap = taken.reduce(
    (sum, other) =>
      sum +
      Math.max(Math.min(x1, other[2]) - Math.max(x0, other[0]) + 4, 0) *
        Math.max(Math.min(y1, other[3]) - Math.max(y0, other[1]) + 2, 0),
    0,
  );
  const covered = marks.filter(([x, y]) => x > x0 - 4 && x < x1 + 4 && y > y0 - 4 && y < y1 + 4).length;
  const outside = Math.max(-x0, 0) + Math.max(x1 - width, 0) + Math.max(-y0, 0) + Math.max(y1 - height, 0);
  return overlap + 400 * covered + 1000 * outside;
}
