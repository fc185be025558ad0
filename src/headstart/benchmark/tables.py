"""The results of both experiments, as figures and pages take them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False)
class Tables:
    """The results of both experiments, as `Results.load` gives them."""

    regression: pd.DataFrame
    optimization: pd.DataFrame


def carried_on(rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """The score of every run at every evaluation: a run that has used up its design set keeps its best.

    >>> runs = pd.DataFrame({"model": "GP", "task": [*"aab"], "seed": 0, "evaluation": [1, 2, 1], "regret": [3, 1, 0]})
    >>> carried_on(runs, "regret")["regret"].tolist()
    [3.0, 1.0, 0.0, 0.0]
    """
    wide = rows.pivot(index="evaluation", columns=["model", "task", "seed"], values=score)
    return pd.DataFrame({score: wide.ffill().unstack()}).reset_index()
