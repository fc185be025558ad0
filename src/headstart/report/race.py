"""Several ways to choose, side by side: the best so far of each, run by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from headstart.report.style import BLUE, GREEN, MUTED, VERMILLION, drawable, dress, new_figure, settled, text

_LOOKS = ((BLUE, "-", "o"), (VERMILLION, "--", "s"), (GREEN, ":", "^"))


def race(best: Mapping[str, Sequence[float]], *, optimum: float, objective: str) -> Figure:
    """One line a way to choose, named at its end, and the optimum that none can pass."""
    figure = new_figure(6.4, 3.6, label=f"Best {objective} so far of {', '.join(best)}, run by run.")
    axes = figure.add_subplot()
    dress(axes, x="run", y=f"best {objective} so far")
    runs = max(map(len, best.values()))
    axes.plot([0.7, runs], [optimum, optimum], color=MUTED, linewidth=0.8)
    axes.annotate("best possible", (1, optimum), (0, 5), textcoords="offset points", **text(color=MUTED, size=8))
    last = 0.0
    for (name, values), (color, line, marker) in zip(best.items(), _LOOKS, strict=False):
        axes.plot(range(1, len(values) + 1), values, line, marker=marker, color=color, markersize=4, linewidth=1.8)
        # Names of lines that end together are kept apart, in the order of the lines.
        lift = 7 if abs(values[-1] - last) < 0.04 * abs(optimum) else 0
        last = values[-1]
        end = (len(values), values[-1])
        axes.annotate(
            drawable(name), end, (8, -3 - lift), textcoords="offset points", annotation_clip=False, **text(color=color)
        )
    axes.set_xlim(0.7, 1.15 * runs + 0.6)  # room for the names
    axes.set_xticks(range(1, runs + 1, math.ceil(runs / 12)))
    return settled(figure)
