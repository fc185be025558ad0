"""Panels of the best so far, as regret: how far it is from the best there is, evaluation by evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from headstart.benchmark.paper.figures.curves import LOOKS, draw_models
from headstart.benchmark.tables import carried_on
from headstart.report.style import dress, legend, new_figure, settled, text
from headstart.report.words import counted

FLOOR = 1e-4
COLUMNS = ("task", "seed", "model", "evaluation")


def draw_regrets(systems: Mapping[str, pd.DataFrame], *, score: str, name: str, log: bool, label: str) -> Figure:
    """A panel for each of the named systems, on one scale; a log scale ends at a floor."""
    figure = new_figure(9.0, 3.7, label=label)
    panels = figure.subplots(1, len(systems), sharey=True, squeeze=False)[0]
    for axes, (system, rows) in zip(panels, systems.items(), strict=True):
        dress(axes, x="evaluations of the current task", y=name if axes is panels[0] else "")
        lasting = carried_on(rows, score)
        if log:
            lasting[score] = lasting[score].clip(lower=FLOOR)
        draw_models(axes, lasting, by="evaluation", score=score, models=LOOKS)
        count = int(rows["evaluation"].max())
        axes.set_xticks(range(1, count + 1, math.ceil(count / 12)))
        runs = len(rows[["task", "seed"]].drop_duplicates())
        axes.set_title(f"{system}, {counted(runs, 'run')}", loc="left", **text())
    if log:
        end_at_floor(panels[0])
    else:
        panels[0].set_ylim(bottom=-0.02 * panels[0].get_ylim()[1])
    legend(figure, panels[0])
    return settled(figure)


def end_at_floor(axes: Axes) -> None:
    """A log axis that ends at the floor, in plain numbers."""
    axes.set_yscale("log")
    axes.set_ylim(bottom=FLOOR / 1.5)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{'≤ ' if value <= FLOOR else ''}{value:g}"))
