"""Who is first, over all problems: the mean of the rank as a share of the field, in regret and in log density.

To read it: 0 is first on every problem, 1 last on every problem. A method has a dot for each number of evaluations or
rows, the more the darker; methods stand in the order of the mean of their dots.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headstart.benchmark.leaderboard.plan import HEADSTART
from headstart.benchmark.leaderboard.scores import RANKED_AT, standings
from headstart.errors import DataError
from headstart.report.style import BLUE, INK, PAPER, RULE, SKY, SMALL, dress, fonts, legend, new_figure, settled, text

_SHADES = ("#c6e4f7", SKY, BLUE, INK)
_APART = 0.17  # of a line, so that dots of one method do not hide each other


def draw(regret: pd.DataFrame, density: pd.DataFrame) -> Figure:
    """A panel for each of the two that has methods to rank."""
    scores = {"regret, by evaluations": standings(regret), "negative log density, by rows": standings(density)}
    scores = {name: table for name, table in scores.items() if len(table)}
    if not scores:
        raise DataError("No two methods have results to be ranked by: run more of them.")
    most = max(table.index.get_level_values("model").nunique() for table in scores.values())
    figure = new_figure(9.0, 1.2 + 0.33 * most, label="Mean rank of methods over all problems, by evaluations or rows.")
    panels = figure.subplots(1, len(scores), sharex=True, squeeze=False)[0]
    for axes, (name, table) in zip(panels, scores.items(), strict=True):
        dress(axes, x="mean rank: 0 is first, 1 is last")
        axes.set_title(name, loc="left", **text())
        _dots(axes, table["share"])
    legend(figure, panels[0])
    return settled(figure)


def _dots(axes: Axes, share: pd.Series[float]) -> None:
    order = list(share.groupby("model").mean().sort_values().index)
    counts = [at for at in RANKED_AT if at in share.index.get_level_values("at")]
    axes.grid(False)
    axes.hlines(range(len(order)), 0, 1, color=RULE, linewidth=0.6, zorder=1)
    for place, at in enumerate(counts):
        own = share.xs(at, level="at").reindex(order)
        lift = _APART * (place - (len(counts) - 1) / 2)
        axes.scatter(
            own.to_numpy(dtype=float),
            [line + lift for line in range(len(order))],
            s=26,
            color=_SHADES[RANKED_AT.index(at)],
            edgecolor=PAPER,
            linewidth=0.4,
            label=f"at {at}",
            zorder=3,
        )
    axes.set_yticks(range(len(order)), order)
    for tick in axes.get_yticklabels():
        weight = "bold" if tick.get_text() == HEADSTART.label else "normal"
        tick.set(color=INK, fontsize=SMALL, fontfamily=fonts(), fontweight=weight)
    axes.invert_yaxis()
    axes.set_xlim(-0.03, 1.03)
