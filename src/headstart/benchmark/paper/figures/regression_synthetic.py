"""Regression on the synthetic systems (paper: fig. examples:regression:synthetic).

The paper's figure shows how well the current task is predicted as its rows are learned: Forrester above, the toy
system below; from left to right root mean squared error, mean absolute error and median negative log density (MNLP).

To read ours: lines are medians over seeds, bands hold the middle 80 % of them, and lower is better everywhere. At zero
rows only what was learned from legacy tasks predicts, so GP starts at one. The axis of the log density is cut to what
BEGP and BGP need, as in the paper; an arrow says how far the median of an overconfident model is above it.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from headstart.benchmark.paper.figures.scores import COLUMNS, draw_scores
from headstart.benchmark.paper.figures.selection import rows_of


def draw(regression: pd.DataFrame, variant: str = "fresh") -> Figure:
    """Both systems as the paper describes them (`fresh`), or as the authors' code ran them (`paper`)."""
    systems = {"Forrester": f"forrester-{variant}", "toy": f"toy-{variant}"}
    rows = {name: rows_of(regression, system, COLUMNS) for name, system in systems.items()}
    label = "Errors and log densities of predictions on the Forrester and the toy system, by rows of the current task."
    return draw_scores(rows, unit="units of the function", label=label)
