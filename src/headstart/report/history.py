"""Every experiment of a campaign as a plain record, which JSON takes; the other summaries count these."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headstart.campaign import Campaign
from headstart.campaign.records import PREDICTION, Snapshot
from headstart.campaign.tables import history_rows
from headstart.tasks import Levels, Problem, Task, task_codes

_KEPT = ("suggestion", "observation", "status", "score", "score_is", "author", "version", "reason")
_TIMES = ("suggested_at", "observed_at")


def experiments(campaign: Campaign) -> list[dict[str, Any]]:
    """Every experiment since the archive, in the order of its first record, with what was expected of it.

    The prediction is the one that was stored before the outcome was known. An experiment that nobody suggested has one
    as soon as a surrogate was brought up to date after it, see `headstart.Campaign.surrogate`.
    """
    problem, snapshot = campaign.problem, campaign.snapshot()
    return [_record(row, problem) for row in history_rows(snapshot.suggestions, snapshot.observations, problem)]


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


def _record(row: dict[str, Any], problem: Problem) -> dict[str, Any]:
    return {
        **{name: row.get(name) for name in _KEPT},
        **{name: _moment(row.get(name)) for name in _TIMES},
        "task": {name: row[name] for name in problem.general},
        "inputs": {name: row[name] for name in problem.inputs},
        "outcome": row.get(problem.objective),
        "prediction": None if row["mean"] is None else {name: row[name] for name in PREDICTION},
    }


def _moment(value: datetime | None) -> str | None:
    """A time as text that sorts as times do."""
    return None if value is None else value.isoformat(timespec="microseconds")
