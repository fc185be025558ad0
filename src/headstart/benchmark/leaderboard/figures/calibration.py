"""Promised against observed coverage: a panel a number of rows, a line a method.

To read it: of central intervals that are to hold 50, 80 and 95 % of the outcomes, the share that they did hold,
averaged over problems. On the diagonal promises are kept; below it a method is overconfident.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from headstart.benchmark.leaderboard.figures.looks import draw_line, name_methods, present
from headstart.benchmark.leaderboard.scores import NOMINAL
from headstart.report.style import INK, dress, new_figure, settled, text
from headstart.report.words import counted, percent

ROWS = (0, 1, 5, 10)


def draw(coverage: pd.DataFrame) -> Figure:
    """Those numbers of rows that there are results of."""
    methods = present(coverage)
    counts = [count for count in ROWS if (coverage["at"] == count).any()]
    figure = new_figure(9.0, 3.3, label="Observed against promised coverage of predictive intervals, by rows learned.")
    panels = figure.subplots(1, len(counts), sharex=True, sharey=True, squeeze=False)[0]
    mean = coverage.groupby(["at", "model", "nominal"])["mean"].mean()
    for axes, count in zip(panels, counts, strict=True):
        dress(axes, x="promised", y="observed" if axes is panels[0] else "")
        axes.plot([0, 1], [0, 1], color=INK, linewidth=0.6, zorder=2)
        for method in methods:
            if (count, method) in mean.index:
                own = mean.loc[count, method]
                draw_line(axes, method, own.index.to_numpy(dtype=float), own.to_numpy(dtype=float))
        axes.set_title(counted(count, "row"), loc="left", **text())
        axes.set_xticks(NOMINAL, [percent(nominal) for nominal in NOMINAL])
        axes.set_yticks([0.0, *NOMINAL], [percent(share) for share in (0.0, *NOMINAL)])
        axes.set(xlim=(0.45, 1.0), ylim=(0.0, 1.02))
    name_methods(figure, panels[0], methods)
    return settled(figure)
