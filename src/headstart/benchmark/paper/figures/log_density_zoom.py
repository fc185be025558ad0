"""Log density on one task of the additive data, zoomed out (paper: fig. examples:regression:additive:mnlp-no-zoom).

The paper's figure shows the median negative log density (MNLP) for held-out task 0 on an axis long enough for the
deterministic embedding, EGP, which is worse by orders of magnitude: it is wrong and certain.

To read ours: between -1 and 1 the axis is linear, beyond each tick is ten times the one before. Lines are medians over
seeds, bands hold the middle 80 % of them.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from headstart.benchmark.paper.figures.curves import draw_models
from headstart.benchmark.paper.figures.scores import COLUMNS, MODELS
from headstart.benchmark.paper.figures.selection import rows_by_task, rows_of
from headstart.report.style import drawable, dress, legend, new_figure, settled, text
from headstart.report.words import number


def draw(regression: pd.DataFrame) -> Figure:
    """The first task that has results."""
    tasks = rows_by_task(rows_of(regression, "additive", COLUMNS), "additive", most=1)
    (task, rows), *_ = tasks.items()
    figure = new_figure(5.6, 3.6, label=f"Negative log density of predictions for {task}, all models in the frame.")
    axes = figure.add_subplot()
    dress(axes, x="rows of the current task", y="median negative log density (nats)")
    axes.set_yscale("symlog", linthresh=1.0)
    draw_models(axes, rows, by="rows", score="median_nlpd", models=MODELS)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axes.minorticks_off()
    axes.set_xticks(sorted(rows["rows"].unique()))
    axes.set_title(drawable(task), loc="left", **text())
    legend(figure, axes)
    return settled(figure)
