"""What happened in a campaign, as plain dicts: what there is, how it went, and how well predictions held."""

from __future__ import annotations

import math
from datetime import UTC
from statistics import NormalDist, fmean
from typing import Any

from headstart.campaign import Campaign
from headstart.report.history import best, experiments, measured, task_labels
from headstart.tasks import Task

INTERVAL = 0.8
"""The probability that a stored interval promises."""

_STATES = ("observed", "pending", "withdrawn", "retracted")


def overview(campaign: Campaign, *, known: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """What the campaign is about and how far it is; `known` are its `experiments`, where they are at hand.

    `tasks` lists every task: those with experiments since the archive first, the most recently active of them on top,
    then those of the archive alone. `current` is the first kind, each with its best experiment so far, for which rows
    of the archive count too if they are of the same task.
    """
    problem, snapshot = campaign.problem, campaign.snapshot()
    history = experiments(campaign) if known is None else known
    archive = [each for each in snapshot.counting if each.is_archive]
    counts: dict[tuple[str, ...], dict[str, Any]] = {}

    def of(task: dict[str, str]) -> dict[str, Any]:
        labels = {name: task[name] for name in problem.general}
        empty = {"task": labels, "archive": 0, **dict.fromkeys(_STATES, 0), "last_activity": None}
        return counts.setdefault(tuple(labels.values()), empty)

    for row in archive:
        of(row.task)["archive"] += 1
    for each in history:
        entry = of(each["task"])
        entry[each["status"]] += 1
        moments = [entry["last_activity"], each["suggested_at"], each["observed_at"]]
        entry["last_activity"] = max(moment for moment in moments if moment)
    active = [entry for entry in counts.values() if entry["last_activity"]]
    active.sort(key=lambda entry: entry["last_activity"], reverse=True)
    return {
        "name": campaign.name,
        "problem": problem.to_dict(),
        "settings": dict(campaign.settings),
        "version": campaign.origin.version,
        "author": campaign.origin.author,
        "created": campaign.origin.made_at.astimezone(UTC).isoformat(timespec="microseconds"),
        "last_activity": active[0]["last_activity"] if active else None,
        "archive_rows": len(archive),
        **{state: sum(entry[state] for entry in counts.values()) for state in _STATES},
        "tasks": active + [entry for entry in counts.values() if not entry["last_activity"]],
        "current": [entry | {"best": best(measured(snapshot, entry["task"], problem), problem)} for entry in active],
    }


def convergence(campaign: Campaign, task: Task, *, known: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """The evaluations of a task in the order they were told, with the best so far and what was expected of each.

    `start` is the best row of the archive where the task has some: the best so far begins there. `pending` are the
    experiments still to be measured. `known` are the campaign's `experiments`, where they are at hand.
    """
    problem, labels = campaign.problem, task_labels(campaign.problem, task)
    history = [each for each in (experiments(campaign) if known is None else known) if each["task"] == labels]
    rows = measured(campaign.snapshot(), labels, problem)
    start = best([row for row in rows if row["is_archive"]], problem)
    so_far = None if start is None else start["outcome"]
    evaluations = []
    observed = (each for each in history if each["status"] == "observed")
    for number, each in enumerate(sorted(observed, key=lambda each: each["observation"]), start=1):
        better = max if problem.sign > 0 else min
        so_far = each["outcome"] if so_far is None else better(so_far, each["outcome"])
        evaluations.append({"evaluation": number, "best": so_far, **_shown(each), "outcome": each["outcome"]})
    return {
        "task": labels,
        "objective": problem.objective,
        "goal": problem.goal,
        "interval": INTERVAL,
        "start": None if start is None else start["outcome"],
        "evaluations": evaluations,
        "pending": [_shown(each) for each in history if each["status"] == "pending"],
    }


def honesty(campaign: Campaign) -> dict[str, Any]:
    """How well past predictions held, over all tasks: every outcome of which something was expected before.

    `share_inside` should be near `interval`; `share_range` is its 95 % Wilson interval, which takes outcomes to be
    independent. `chance` is the probability of so few, or so many, inside if the intervals are right: with two or three
    outcomes, hardly anything is proof. `rmse_of_archive_mean` is the error of always guessing the archive's mean.
    """
    expected = [each for each in experiments(campaign) if each["status"] == "observed" and each["prediction"]]
    archive = [each.outcome for each in campaign.observations() if each.is_archive and each.retracted_at is None]
    rows: list[dict[str, Any]] = []
    for each in expected:
        outcome, seen = each["outcome"], _shown(each)
        error, sd = outcome - seen["mean"], each["prediction"]["sd"]
        inside = seen["lower"] <= outcome <= seen["upper"]
        residual = error / sd if sd > 0 else None
        rows.append({"task": each["task"], **seen, "outcome": outcome, "inside": inside, "residual": residual})
    inside = sum(row["inside"] for row in rows)
    guess = fmean(archive) if archive else None
    return {
        "objective": campaign.problem.objective,
        "interval": INTERVAL,
        "predictions": rows,
        "count": len(rows),
        "inside": inside,
        "share_inside": inside / len(rows) if rows else None,
        "share_range": wilson(inside, len(rows)) if rows else None,
        "chance": _tail(inside, len(rows), INTERVAL) if rows else None,
        "rmse": _rmse([row["outcome"] - row["mean"] for row in rows]),
        "archive_mean": guess,
        "rmse_of_archive_mean": None if guess is None else _rmse([row["outcome"] - guess for row in rows]),
    }


def wilson(hits: int, count: int, *, confidence: float = 0.95) -> list[float]:
    """Wilson's interval of a share: unlike the textbook's, it is sensible at few trials and at 0 or 100 %.

    >>> [round(edge, 3) for edge in wilson(4, 5)]
    [0.376, 0.964]
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, weight = hits / count, z * z / count
    centre = share + weight / 2
    half = z * math.sqrt(share * (1 - share) / count + weight / (4 * count))
    return [max((centre - half) / (1 + weight), 0.0), min((centre + half) / (1 + weight), 1.0)]


def _tail(hits: int, count: int, share: float) -> float:
    """The smaller of P(at most so many) and P(at least so many) of a binomial."""
    from scipy.stats import binom  # slow to load, and a list of campaigns does not need it

    return float(min(binom.cdf(hits, count, share), binom.sf(hits - 1, count, share)))


def _shown(each: dict[str, Any]) -> dict[str, Any]:
    """Which experiment it is, its inputs and what was expected of it."""
    expected = each["prediction"] or {}
    return {
        "suggestion": each["suggestion"],
        "observation": each["observation"],
        "inputs": each["inputs"],
        **{name: expected.get(name) for name in ("mean", "lower", "upper")},
    }


def _rmse(errors: list[float]) -> float | None:
    return math.sqrt(fmean(error * error for error in errors)) if errors else None
