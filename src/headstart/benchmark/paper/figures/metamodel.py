"""The metamodel as a probabilistic graphical model (paper: fig. egp).

The paper's figure shows how a general input x^(g), such as the name of a task, becomes a latent z through a Gaussian
process with a white noise kernel; how z and the real inputs x^(r) together are the input x of a second Gaussian
process, f; and how y is f with noise.

To read ours: large nodes have a distribution, points are deterministic, that is given or computed; shaded nodes are
observed, white ones are not. What stands in a frame is there once for each of what the frame says: rows of one task
share its latent. Parameters of means, kernels and noise are left out, as in the paper.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from headstart.report.style import INK, MUTED, PAPER, SMALL, new_figure, settled, text

_LARGE, _POINT = 0.3, 0.09
_SHADE = "#c3ccd5"


class Node(NamedTuple):
    """A variable: its symbol and name, where it stands, and which kind it is."""

    symbol: str
    name: str
    x: float
    y: float
    is_random: bool
    is_observed: bool

    @property
    def radius(self) -> float:
        """Large if it has a distribution, else a point."""
        return _LARGE if self.is_random else _POINT


_GENERAL = Node(r"$\mathbf{x}^{(g)}$", "general input", -0.1, 1.5, False, True)
_LATENT = Node(r"$\mathbf{z}$", "latent", 2.1, 1.5, True, False)
_REAL = Node(r"$\mathbf{x}^{(r)}$", "real inputs", 4.0, 0.5, False, True)
_FULL = Node(r"$\mathbf{x}$", "all inputs", 4.0, 1.5, False, False)
_FUNCTION = Node(r"$f$", "function", 6.1, 1.5, True, False)
_OUTCOME = Node(r"$y$", "outcome", 8.0, 1.5, True, True)
NODES = (_GENERAL, _LATENT, _REAL, _FULL, _FUNCTION, _OUTCOME)
EDGES = (
    (_GENERAL, _LATENT, "GP with\nwhite noise kernel"),
    (_LATENT, _FULL, ""),
    (_REAL, _FULL, ""),
    (_FULL, _FUNCTION, "GP with constant\nmean and kernel $k$"),
    (_FUNCTION, _OUTCOME, "Gaussian\nnoise"),
)


def draw() -> Figure:
    """The nodes, the edges between them, and two frames."""
    figure = new_figure(
        9.0, 3.1, label="Graphical model of BEGP: general input to latent, with real inputs to outcome."
    )
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set(xlim=(-0.85, 8.85), ylim=(-0.75, 2.45), aspect="equal")
    _frame(axes, (-0.8, -0.28), (8.8, 2.4), "for each of $n_g$ levels of the general input")
    _frame(axes, (3.25, 0.1), (8.65, 2.25), "for each row of the level")
    for start, end, words in EDGES:
        _arrow(axes, start, end, words)
    for node in NODES:
        _node(axes, node)
    _key(axes)
    return settled(figure)


def _node(axes: Axes, node: Node) -> None:
    axes.add_patch(_circle((node.x, node.y), node.radius, node.is_observed))
    words = text(color=MUTED, size=SMALL)
    if node.is_random:
        axes.text(node.x, node.y, node.symbol, ha="center", va="center", **_math(size=14.0))
        axes.text(node.x, node.y - 0.38, node.name, ha="center", va="top", **words)
    else:
        axes.text(node.x - 0.07, node.y + 0.1, node.symbol, ha="right", va="bottom", **_math(size=14.0))
        axes.text(node.x + 0.1, node.y - 0.13, node.name, ha="left", va="top", **words)


def _circle(place: tuple[float, float], radius: float, is_observed: bool) -> Circle:
    face = _SHADE if is_observed else PAPER
    return Circle(place, radius, facecolor=face, edgecolor=INK, linewidth=1.2, zorder=3)


def _arrow(axes: Axes, start: Node, end: Node, words: str) -> None:
    length = ((end.x - start.x) ** 2 + (end.y - start.y) ** 2) ** 0.5
    across, up = (end.x - start.x) / length, (end.y - start.y) / length
    tail = (start.x + start.radius * across, start.y + start.radius * up)
    head = (end.x - end.radius * across, end.y - end.radius * up)
    look = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11}
    axes.annotate("", head, tail, arrowprops=look)
    middle = ((tail[0] + head[0]) / 2, (tail[1] + head[1]) / 2 + 0.1)
    axes.text(*middle, words, ha="center", va="bottom", **_math(size=SMALL))


def _frame(axes: Axes, low: tuple[float, float], high: tuple[float, float], words: str) -> None:
    box = FancyBboxPatch(low, high[0] - low[0], high[1] - low[1], boxstyle="round,pad=0,rounding_size=0.12")
    box.set(facecolor="none", edgecolor=MUTED, linewidth=0.9, zorder=1)
    axes.add_patch(box)
    axes.text(high[0] - 0.12, low[1] + 0.08, words, ha="right", va="bottom", **_math(size=SMALL, color=MUTED))


def _key(axes: Axes) -> None:
    kinds = (("observed", 0.13, True), ("not observed", 0.13, False), ("deterministic", 0.06, False))
    for x, (words, radius, is_observed) in zip((-0.65, 0.45, 1.85), kinds, strict=True):
        axes.add_patch(_circle((x, -0.55), radius, is_observed))
        axes.text(x + 0.22, -0.55, words, ha="left", va="center", **text(size=SMALL))


def _math(*, size: float, color: str = INK) -> dict[str, Any]:
    return text(color=color, size=size) | {"parse_math": True, "math_fontfamily": "stix"}
