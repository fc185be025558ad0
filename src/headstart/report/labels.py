"""Labels beside points, placed one by one where they cover least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation

from headstart.report.style import INK, PAPER, drawable, text
from headstart.shapes import Float

# Where a label may stand: right, left, above, below and the corners, near first, in points from its own.
_PLACES = tuple(
    (x * reach, y * reach)
    for reach in (7.0, 16.0, 28.0)
    for x, y in ((1, 0), (-1, 0), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7), (-0.7, -0.7), (0, 1), (0, -1))
)


def place_labels(
    figure: Figure, axes: Axes, points: Float[np.ndarray, "n 2"], labels: Sequence[tuple[int, str, bool]]
) -> None:
    """Write labels beside some of the points, the first with the first choice.

    Args:
        figure: with its layout done and its limits set.
        axes: where the points are.
        points: all of them: labels keep off those that have none, too.
        labels: which point, its text, and whether it is bold.
    """
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    renderer = canvas.get_renderer()
    dots = axes.transData.transform(points)
    frame = axes.get_window_extent(renderer)
    taken: list[tuple[float, float, float, float]] = []
    for place, label, bold in labels:
        note = axes.annotate(
            drawable(label, longest=26),
            tuple(points[place]),
            xytext=_PLACES[0],
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.4, "shrinkA": 1, "shrinkB": 2},
            fontweight="bold" if bold else "normal",
            path_effects=[withStroke(linewidth=2.2, foreground=PAPER)],
            zorder=6,
            **text(size=8.0),
        )
        boxes = [_moved(note, where, renderer) for where in _PLACES]
        costs = [_cost(box, taken, dots, (frame.x0, frame.y0, frame.x1, frame.y1)) for box in boxes]
        chosen = int(np.argmin(costs))
        taken.append(_moved(note, _PLACES[chosen], renderer))
        if chosen < 8 and note.arrow_patch is not None:  # beside its point: no line needed
            note.arrow_patch.set_visible(False)


def _moved(note: Annotation, where: tuple[float, float], renderer: RendererBase) -> tuple[float, float, float, float]:
    """The box of a label's text, once moved there."""
    x, y = where
    note.set_position(where)
    note.set_horizontalalignment("left" if x > 0 else "right" if x < 0 else "center")
    note.set_verticalalignment("bottom" if y > 0 else "top" if y < 0 else "center")
    note.update_positions(renderer)
    box = super(Annotation, note).get_window_extent(renderer)
    return box.x0, box.y0, box.x1, box.y1


def _cost(
    box: tuple[float, float, float, float],
    taken: Sequence[tuple[float, float, float, float]],
    dots: Float[np.ndarray, "n 2"],
    frame: tuple[float, float, float, float],
) -> float:
    """Area over other labels, dots covered, and a label cut off at the frame is worst."""
    x0, y0, x1, y1 = box
    overlap = sum(
        max(min(x1, other[2]) - max(x0, other[0]) + 4, 0.0) * max(min(y1, other[3]) - max(y0, other[1]) + 2, 0.0)
        for other in taken
    )
    within = (dots[:, 0] > x0 - 4) & (dots[:, 0] < x1 + 4) & (dots[:, 1] > y0 - 4) & (dots[:, 1] < y1 + 4)
    outside = max(frame[0] - x0, 0.0) + max(x1 - frame[2], 0.0) + max(frame[1] - y0, 0.0) + max(y1 - frame[3], 0.0)
    return overlap + 400.0 * float(within.sum()) + 1000.0 * outside
