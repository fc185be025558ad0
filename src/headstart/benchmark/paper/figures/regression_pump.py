"""Regression on the pump families (paper: fig. examples:regression:pump).

The paper's figure has a row of panels for each held-out pump family: root mean squared error, mean absolute error and
median negative log density (MNLP) of the predictions, as rows of the family are learned.

Ours is read like that of the synthetic systems. The pumps are simulated ones, and the outcome is the efficiency, a
number between 0 and 1.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from headstart.benchmark.paper.figures.scores import COLUMNS, draw_scores
from headstart.benchmark.paper.figures.selection import rows_by_task, rows_of


def draw(regression: pd.DataFrame) -> Figure:
    """A row of panels for each family that has results."""
    families = rows_by_task(rows_of(regression, "pump", COLUMNS), "pump")
    label = "Errors and log densities of predictions for held-out pump families, by rows of the family."
    return draw_scores(
        {name.replace("_", " "): rows for name, rows in families.items()}, unit="efficiency, 0 to 1", label=label
    )
