"""Bayesian optimization of the synthetic systems (paper: fig. examples:optimization:synthetic:running_best).

The paper's figure shows the best design so far by the number of evaluations of the current task, for the toy system and
the Forrester function.

Ours shows it as simple regret, the distance of the best so far from the optimum, on a log scale: every seed of the
`fresh` systems has an optimum of its own, and on a linear scale all that happens after the first evaluations is one
line. Lines are medians over seeds, bands hold the middle 80 % of them, lower is better; what is below 0.0001 has found
the optimum and is drawn there.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from headstart.benchmark.paper.figures.regrets import COLUMNS, draw_regrets
from headstart.benchmark.paper.figures.selection import rows_of


def draw(optimization: pd.DataFrame, variant: str = "fresh") -> Figure:
    """Both systems as the paper describes them (`fresh`), or as the authors' code ran them (`paper`)."""
    systems = {"toy": f"toy-{variant}", "Forrester": f"forrester-{variant}"}
    return draw_regrets(
        {name: rows_of(optimization, system, (*COLUMNS, "regret")) for name, system in systems.items()},
        score="regret",
        name="simple regret (units of the function)",
        log=True,
        label="Regret of the best so far on the toy and the Forrester system, by evaluations of the current task.",
    )
