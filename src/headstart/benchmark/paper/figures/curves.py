"""How a model looks, in all figures, and how its runs become a curve: the median, in a band of 80 % of the runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from headstart.report.style import BLUE, GREEN, MUTED, PAPER, PURPLE, VERMILLION
from headstart.shapes import Float

LOOKS = {
    "BEGP": (BLUE, "o"),
    "EGP": (VERMILLION, "s"),
    "BGP": (GREEN, "^"),
    "GP": (PURPLE, "D"),
    "random": (MUTED, "X"),
}
"""Colour and marker by model, the paper's own first."""

QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, eq=False)
class Curve:
    """Median and band of a score, wherever there is one."""

    at: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    median: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]


def curve_of(rows: pd.DataFrame, *, by: str, score: str) -> Curve:
    """The quantiles of a score over all runs that have it.

    >>> runs = pd.DataFrame({"rows": [0, 1, 1, 1], "mae": [None, 1.0, 2.0, 6.0]})
    >>> curve = curve_of(runs, by="rows", score="mae")
    >>> curve.at, curve.median
    (array([1.]), array([2.]))
    """
    found = rows.dropna(subset=[score]).groupby(by)[score]
    low, median, high = (found.quantile(q).to_numpy(dtype=float) for q in QUANTILES)
    return Curve(np.array(list(found.groups), dtype=float), low, median, high)


def draw_models(axes: Axes, rows: pd.DataFrame, *, by: str, score: str, models: Iterable[str]) -> dict[str, Curve]:
    """A curve a model that has rows, the first of them on top."""
    present = [model for model in models if (rows["model"] == model).any()]
    curves = {model: curve_of(rows[rows["model"] == model], by=by, score=score) for model in present}
    for depth, (model, curve) in enumerate(curves.items()):
        color, marker = LOOKS[model]
        edges = np.column_stack([curve.low, curve.high])
        axes.fill_between(curve.at, *edges.T, color=color, alpha=0.09, linewidth=0, zorder=2 - 0.1 * depth)
        axes.plot(curve.at, edges, color=color, alpha=0.4, linewidth=0.7, zorder=2 - 0.1 * depth)
        axes.plot(
            curve.at,
            curve.median,
            marker=marker,
            color=color,
            linewidth=1.6,
            markersize=4.5,
            markeredgecolor=PAPER,
            markeredgewidth=0.6,
            label=model,
            zorder=4 - 0.1 * depth,
        )
    axes.fill_between([], [], [], color=MUTED, alpha=0.25, linewidth=0, label="80 % of the runs")
    return curves
