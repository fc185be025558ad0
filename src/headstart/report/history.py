"""Every experiment of a campaign as a plain record, which JSON takes; the other summaries count these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from headstart.campaign import Campaign
from headstart.campaign.records import PREDICTION, Snapshot
from headstart.tasks import Levels, Problem, Task, task_codes

_KEPT = ("suggestion", "observation", "status", "score", "score_is", "author", "version", "reason")
_TIMES = ("suggested_at", "observed_at")


def experiments(campaign: Campaign) -> list[dict[str, Any]]:
    """Every experiment since the archive, in the order of its first record, with what was expected of it.

    The prediction is the one that was stored before the outcome was known. An experiment that nobody suggested has one
    as soon as a surrogate was brought up to date after it, see `headstart.Campaign.surrogate`.
    """
    problem = campaign.problem
    return [_record(row, problem) for row in campaign.history().to_dict("records")]


def task_labels(problem: Problem, task: Task) -> dict[str, str]:
    """The task with its labels written as a campaign stores them, which may be new ones."""
    _, levels = task_codes(task, problem, Levels.none(problem))
    return {name: levels[name][0] for name in problem.general}


def measured(snapshot: Snapshot, task: Task, problem: Problem) -> list[dict[str, Any]]:
    """All that was measured of a task and counts, rows of the archive first, in the order it came."""
    labels = task_labels(problem, task)
    return [
        {
            "observation": each.id,
            "inputs": {name: each.inputs[name] for name in problem.inputs},
            "outcome": each.outcome,
            "is_archive": each.is_archive,
        }
        for each in snapshot.counting
        if each.task == labels
    ]


def best(rows: list[dict[str, Any]], problem: Problem) -> dict[str, Any] | None:
    """The row with the best outcome, the first of equal ones; None if there is no row."""
    return max(rows, key=lambda row: problem.sign * row["outcome"], default=None)


def _record(row: dict[Any, Any], problem: Problem) -> dict[str, Any]:
    expected = {name: _plain(row[name]) for name in PREDICTION}
    return {
        **{name: _plain(row[name]) for name in _KEPT},
        **{name: _moment(row[name]) for name in _TIMES},
        "task": {name: row[name] for name in problem.general},
        "inputs": {name: float(row[name]) for name in problem.inputs},
        "outcome": _plain(row[problem.objective]),
        "prediction": None if expected["mean"] is None else expected,
    }


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _moment(value: Any) -> str | None:
    """A time as text that sorts as times do."""
    return None if pd.isna(value) else value.isoformat(timespec="microseconds")
