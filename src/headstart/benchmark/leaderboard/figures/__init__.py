"""The figures of the benchmark, by the name of the file that each is saved as.

    looks        how a method looks, and the legend
    panels       small multiples, a panel a problem     regret, log_density
    calibration  promised against observed coverage
    mean_rank    who is first, over all problems

>>> list(FIGURES)
['mean_rank', 'regret', 'log_density', 'calibration']
"""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from headstart.benchmark.leaderboard.figures import calibration, mean_rank, panels
from headstart.benchmark.leaderboard.scores import Board

__all__ = ["FIGURES"]

FIGURES: dict[str, Callable[[Board], Figure]] = {
    "mean_rank": lambda board: mean_rank.draw(board.regret, board.density),
    "regret": lambda board: panels.draw_regret(board.regret),
    "log_density": lambda board: panels.draw_density(board.density),
    "calibration": lambda board: calibration.draw(board.coverage),
}
