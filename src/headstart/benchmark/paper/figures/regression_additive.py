"""Regression on the additive data (paper: fig. examples:regression:additive).

The paper's figure has a row of panels for each of the first five held-out tasks: root mean squared error, mean absolute
error and median negative log density (MNLP) of the predictions, as rows of the task are learned.

Ours is read like that of the synthetic systems. The paper's data are not public; the stand-in of the same shape, 35
tasks of 24 rows, is the yield of catalysts.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from headstart.benchmark.paper.figures.scores import COLUMNS, draw_scores
from headstart.benchmark.paper.figures.selection import rows_by_task, rows_of

_SHOWN = 5


def draw(regression: pd.DataFrame) -> Figure:
    """A row of panels for each of the first five tasks that have results."""
    tasks = rows_by_task(rows_of(regression, "additive", COLUMNS), "additive", most=_SHOWN)
    label = "Errors and log densities of predictions for the first held-out tasks of the additive data, by rows."
    return draw_scores(tasks, unit="percentage points of yield", label=label)
