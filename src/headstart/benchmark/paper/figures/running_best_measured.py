"""Bayesian optimization of the measured systems (paper: fig. examples:optimization:real:running_best).

The paper's figure shows the best so far relative to the best design of the current task, by the number of evaluations,
for the pump and the additive data.

To read ours: 0 is the best row of the task and 1 its worst (normalised regret). Lines are medians over all held-out
tasks and seeds, bands hold the middle 80 % of them, lower is better. A task with fewer rows than evaluations stays at
its best once all rows are measured.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from headstart.benchmark.paper.figures.regrets import COLUMNS, draw_regrets
from headstart.benchmark.paper.figures.selection import rows_of


def draw(optimization: pd.DataFrame) -> Figure:
    """Both systems, over all their tasks."""
    return draw_regrets(
        {name: rows_of(optimization, name, (*COLUMNS, "normalised_regret")) for name in ("pump", "additive")},
        score="normalised_regret",
        name="regret (share of the task's range)",
        log=False,
        label="Regret of the best so far on the pump and the additive data, by evaluations of the current task.",
    )
