"""A score against evaluations or rows: a panel a problem, a line a method.

To read them: lines are means over trials, lower is better, and the band is the 90 % interval of Headstart's mean. In
the log densities of overconfident methods there is no bound, so a panel holds what Headstart and the better half of the
methods need; words say how many others rise above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from headstart.benchmark.leaderboard.figures.looks import LOOKS, draw_line, name_methods, present
from headstart.benchmark.leaderboard.plan import HEADSTART
from headstart.report.style import MUTED, SMALL, drawable, dress, new_figure, settled, text
from headstart.report.words import number

FLOOR = 1e-3
_COLUMNS, _WIDTH, _HEIGHT = 4, 9.0, 1.75


def draw_regret(regret: pd.DataFrame) -> Figure:
    """Normalised regret on one log scale for all problems; it ends at a floor."""
    figure = _draw(
        regret.assign(**{name: regret[name].clip(lower=FLOOR) for name in ("mean", "low", "high")}),
        label="Mean regret of the best so far by evaluations of the current task, a panel a problem.",
        x="evaluations",
        y="regret (share of range)",
        is_same=True,
        finish=lambda axes, rows: None,
    )
    axes = figure.axes[0]
    axes.set_yscale("log")
    axes.set_ylim(FLOOR / 1.3, 1.0)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{'≤ ' if value <= FLOOR else ''}{value:g}"))
    return settled(figure)


def draw_density(density: pd.DataFrame) -> Figure:
    """Mean negative log density, each problem on a scale of its own."""
    figure = _draw(
        density,
        label="Mean negative log density of predictions by rows of the current task, a panel a problem.",
        x="rows",
        y="neg. log density (nats)",
        is_same=False,
        finish=_frame,
    )
    return settled(figure)


def _draw(
    summary: pd.DataFrame, *, label: str, x: str, y: str, is_same: bool, finish: Callable[[Axes, pd.DataFrame], None]
) -> Figure:
    methods = present(summary)
    problems = list(dict.fromkeys(summary["system"]))
    lines = math.ceil(len(problems) / _COLUMNS)
    figure = new_figure(_WIDTH, 0.9 + _HEIGHT * lines, label=label)
    panels = figure.subplots(lines, _COLUMNS, sharex=True, sharey=is_same, squeeze=False)
    for place, axes in enumerate(panels.flat):
        if place >= len(problems):
            axes.remove()
            continue
        rows = summary[summary["system"] == problems[place]]
        is_last = place + _COLUMNS >= len(problems)
        dress(axes, x=x if is_last else "", y=y if place % _COLUMNS == 0 else "")
        axes.tick_params(labelbottom=is_last)
        _lines(axes, rows, methods)
        axes.set_xticks([at for at in (0, 1, 2, 3, 5, 10) if at in set(summary["at"])])
        axes.set_title(drawable(problems[place]), loc="left", **text())
        finish(axes, rows)
    name_methods(figure, panels[0, 0], methods)
    figure.align_ylabels()
    return figure


def _lines(axes: Axes, rows: pd.DataFrame, methods: list[str]) -> None:
    for method in methods:
        own = rows[rows["model"] == method].sort_values("at")
        at, mean, low, high = (own[name].to_numpy(dtype=float) for name in ("at", "mean", "low", "high"))
        draw_line(axes, method, at, mean)
        if method == HEADSTART.label:
            axes.fill_between(at, low, high, color=LOOKS[method].color, alpha=0.15, linewidth=0, zorder=2.5)


def _frame(axes: Axes, rows: pd.DataFrame) -> None:
    """As much of the axis as Headstart and the better half need."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    highest = rows.groupby("model")["mean"].max()
    high = max([highest.quantile(interpolation="lower"), *rows.loc[rows["model"] == HEADSTART.label, "high"]])
    low = rows["mean"].min()
    room = (high - low) or 1.0
    top = high + 0.15 * room
    axes.set_ylim(low - 0.06 * room, top)
    above = int(np.sum(highest > top))
    if above:
        axes.set_title(f"↑ {above} above", loc="right", **text(color=MUTED, size=SMALL))
