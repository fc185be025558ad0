"""Small multiples of regression scores: a row of panels a task, a column a score, over the rows that were learned."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headstart.benchmark.paper.figures.curves import LOOKS, Curve, draw_models
from headstart.report.style import SMALL, drawable, dress, legend, new_figure, settled, text
from headstart.report.words import number

MODELS = ("BEGP", "EGP", "BGP", "GP")
SCORES = {
    "rmse": "Root mean squared error",
    "mae": "Mean absolute error",
    "median_nlpd": "Median negative log density",
}
COLUMNS = ("task", "model", "rows", *SCORES)

# Those that average over what they do not know. The others can be wrong and certain: their log densities know no bound.
_CREDIBLE = ("BEGP", "BGP")


def draw_scores(tasks: Mapping[str, pd.DataFrame], *, unit: str, label: str) -> Figure:
    """A row of three panels for each of the named tasks, whose errors are in that unit."""
    figure = new_figure(9.0, 0.9 + 1.7 * len(tasks), label=label)
    panels = figure.subplots(len(tasks), len(SCORES), sharex=True, squeeze=False)
    for line, (name, rows) in zip(panels, tasks.items(), strict=True):
        for axes, score in zip(line, SCORES, strict=True):
            dress(axes)
            curves = draw_models(axes, rows, by="rows", score=score, models=MODELS)
            if score == "median_nlpd":
                frame_densities(axes, curves)
            else:
                axes.set_ylim(bottom=0.0)
            axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
            axes.set_xticks(sorted(rows["rows"].unique()))
        line[0].set_ylabel(drawable(name, longest=24), **text())
    for axes, score in zip(panels[0], SCORES, strict=True):
        scale = "nats" if score == "median_nlpd" else unit
        axes.set_title(f"{SCORES[score]}\n({scale})", loc="left", **text())
    for axes in panels[-1]:
        axes.set_xlabel("rows of the current task", **text())
    legend(figure, panels[0, 0])
    figure.align_ylabels()
    return settled(figure)


def frame_densities(axes: Axes, curves: Mapping[str, Curve]) -> None:
    """As much of the axis as credible models need, and half as much again for the medians of others.

    Of medians that are still above it, words say how far.
    """
    credible = [curves[model] for model in _CREDIBLE if model in curves] or list(curves.values())
    low = min((value for curve in curves.values() for value in curve.low), default=0.0)
    high = max((value for curve in credible for value in curve.high), default=1.0)
    room = (high - low) or 1.0
    peaks = {model: max(curve.median, default=low) for model, curve in curves.items()}
    near = [peak for peak in peaks.values() if peak <= high + 0.5 * room]
    top = max([high, *near]) + 0.12 * room
    axes.set_ylim(low - 0.06 * room, top)
    above = {model: peak for model, peak in peaks.items() if peak > top}
    for place, (model, peak) in enumerate(above.items()):
        axes.annotate(
            f"↑ {model} up to {number(float(f'{peak:.2g}'))}",
            (1.0, 1.0),
            (-2, -2 - 10 * place),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="top",
            **text(color=LOOKS[model][0], size=SMALL),
        )
