"""How a method looks, in all figures: Headstart in front, its strongest peers in colours, the others in grey."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headstart.benchmark.leaderboard.plan import BAYBE, COMBINED, HEADSTART, METHODS, MULTITASK, SAAS
from headstart.errors import DataError
from headstart.report.style import BLUE, GREEN, PAPER, PURPLE, SKY, VERMILLION, legend
from headstart.shapes import Float

Dash: TypeAlias = str | tuple[int, tuple[float, float]]
"""A line style of matplotlib."""

_GREYS = ("#5b6774", "#8a95a1", "#aab3bc")
_DASHES: tuple[Dash, ...] = ("solid", (0, (4, 1.5)), (0, (1, 1)))
_LEGEND_COLUMNS = 6


class Look(NamedTuple):
    """Colour, marker, width and dashes of a line, and how far in front it is."""

    color: str
    marker: str
    width: float
    front: float
    dash: Dash = "solid"

    def artist(self) -> dict[str, Any]:
        """As matplotlib takes it."""
        return {
            "color": self.color,
            "marker": self.marker,
            "linewidth": self.width,
            "linestyle": self.dash,
            "markersize": 2.8 + 0.8 * self.width,
            "markeredgecolor": PAPER,
            "markeredgewidth": 0.3,
            "zorder": self.front,
        }


_COLOURED = {
    HEADSTART.label: Look(BLUE, "o", 2.4, 5.0),
    COMBINED.label: Look(SKY, "o", 1.4, 4.5),
    BAYBE.label: Look(VERMILLION, "s", 1.5, 4.4),
    SAAS.label: Look(GREEN, "^", 1.5, 4.3),
    MULTITASK.label: Look(PURPLE, "D", 1.5, 4.2),
}
_OTHERS = [method.label for method in METHODS if method.label not in _COLOURED]
LOOKS = _COLOURED | {
    label: Look(_GREYS[place % 3], marker, 0.9, 3.0, _DASHES[place // 3])
    for place, (label, marker) in enumerate(zip(_OTHERS, "vPX<>p*", strict=True))
}
"""In the order of the plan, each different from all others."""


def present(summary: pd.DataFrame) -> list[str]:
    """The methods of a summary, in the order of the plan; without any there is nothing to draw."""
    if summary.empty:
        raise DataError("No two methods have results to draw: run more of them.")
    return [label for label in LOOKS if (summary["model"] == label).any()]


def draw_line(axes: Axes, label: str, x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> None:
    """The line of a method. The legend is not its business: it names methods once, also those of other panels."""
    axes.plot(x, y, label=f"_{label}", **LOOKS[label].artist())


def name_methods(figure: Figure, axes: Axes, labels: list[str]) -> None:
    """A legend of these methods above the figure."""
    for label in labels:
        axes.plot([], [], label=label, **LOOKS[label].artist())
    legend(figure, axes, columns=_LEGEND_COLUMNS)
