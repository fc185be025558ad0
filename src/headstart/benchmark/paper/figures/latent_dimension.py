"""Does the number of latent dimensions matter? (ours; the paper says that BEGP is robust to it, without a figure)

Above, the regret of the best so far after some evaluations; below, the median negative log density of predictions
after some rows; both on the synthetic systems, by the latent dimension of BEGP. Points are medians over seeds, bars
hold the middle 80 % of them, lower is better. A level line says that the dimension does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headstart.benchmark.paper.figures.curves import curve_of
from headstart.benchmark.paper.figures.regrets import FLOOR, end_at_floor
from headstart.benchmark.paper.figures.selection import rows_of
from headstart.benchmark.paper.plan import BEGP, LATENT_DIMS
from headstart.report.style import BLUE, INK, PAPER, SKY, SMALL, dress, new_figure, settled, text
from headstart.report.words import counted

DIMENSIONS = {BEGP.label: BEGP.latent_dim, **{f"BEGP, {dim} dimensions": dim for dim in LATENT_DIMS}}
_SHADES = (SKY, BLUE, INK)  # the more is known, the darker
_EVALUATIONS, _ROWS = (1, 3, 10), (0, 3, 10)
_APART = 0.12  # of a dimension, so that bars stand side by side


def draw(regression: pd.DataFrame, optimization: pd.DataFrame, variant: str = "fresh") -> Figure:
    """Both systems as the paper describes them (`fresh`), or as the authors' code ran them (`paper`)."""
    figure = new_figure(9.0, 5.4, label="Regret and log density of BEGP on the synthetic systems, by latent dimension.")
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    systems = {"toy": f"toy-{variant}", "Forrester": f"forrester-{variant}"}
    for (above, below), (name, system) in zip(panels.T, systems.items(), strict=True):
        runs = rows_of(optimization, system, ("model", "evaluation", "regret"))
        runs = runs.assign(regret=runs["regret"].clip(lower=FLOOR))
        stages = {counted(n, "evaluation"): runs[runs["evaluation"] == n] for n in _EVALUATIONS}
        _draw(above, stages, "regret")
        runs = rows_of(regression, system, ("model", "rows", "median_nlpd"))
        _draw(below, {counted(n, "row"): runs[runs["rows"] == n] for n in _ROWS}, "median_nlpd")
        above.set_title(name, loc="left", **text())
        below.set_xlabel("latent dimension", **text())
        below.set_xticks(sorted(DIMENSIONS.values()))
        below.set_xlim(1.5, 11.4)  # room for the names
    end_at_floor(panels[0, 0])
    panels[1, 0].yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    panels[0, 0].set_ylabel("simple regret\n(units of the function)", **text())
    panels[1, 0].set_ylabel("median negative\nlog density (nats)", **text())
    figure.align_ylabels()
    return settled(figure)


def _draw(axes: Axes, stages: Mapping[str, pd.DataFrame], score: str) -> None:
    """A line a stage that was reached, named at its end."""
    dress(axes)
    for place, (name, runs) in enumerate(stages.items()):
        curve = curve_of(runs.assign(dimension=runs["model"].map(DIMENSIONS)), by="dimension", score=score)
        if not len(curve.at):
            continue
        at, color = curve.at + _APART * (place - 1), _SHADES[place]
        axes.vlines(at, curve.low, curve.high, color=color, alpha=0.5, linewidth=2.0)
        axes.plot(at, curve.median, "-o", color=color, linewidth=1.2, markeredgecolor=PAPER, markersize=5.5, label=name)
        end = (at[-1], curve.median[-1])
        axes.annotate(f"after {name}", end, (6, -3), textcoords="offset points", **text(size=SMALL))
