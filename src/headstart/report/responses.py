"""The response of a task as it is believed to be: one slice along each input, through the best point so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headstart.campaign import Campaign
from headstart.report.history import best, measured, task_labels
from headstart.report.summaries import INTERVAL
from headstart.shapes import Float
from headstart.tasks import Problem, Task


def slices(campaign: Campaign, task: Task, *, points: int = 61) -> dict[str, Any]:
    """For each input the predicted mean and 80 % interval along it, with the other inputs held at the anchor.

    The interval is that of a measurement, noise included, as everywhere else in Headstart: it can be held against the
    measured points. The anchor is the best measured point; without one the latest pending suggestion; without that the
    point with the best predicted mean. An input with few steps is shown at these.

    Measured points rarely lie on a slice. Each has its `distance` from it: the largest difference in another input, as
    a share of that input's bounds.
    """
    problem, labels = campaign.problem, task_labels(campaign.problem, task)
    rows = measured(campaign.snapshot(), labels, campaign.problem)
    anchor = anchor_of(campaign, labels, rows)
    centre = np.array([anchor["inputs"][name] for name in problem.inputs])
    axes = axes_of(problem, points)
    lengths = [len(axis) for axis in axes]
    # All slices under each other: the anchor in every row, then each slice's own column.
    table = np.tile(centre, (sum(lengths), 1))
    for column, (start, axis) in enumerate(zip(np.cumsum([0, *lengths]), axes, strict=False)):
        table[start : start + len(axis), column] = axis
    frame = pd.DataFrame(table, columns=[*problem.inputs])
    expected = campaign.surrogate().predict(frame, task=labels, interval=INTERVAL)
    pieces = np.split(expected[["mean", "lower", "upper"]].to_numpy(), np.cumsum(lengths)[:-1])

    there = np.array([list(row["inputs"].values()) for row in rows]).reshape(len(rows), len(axes))
    outcomes = [row["outcome"] for row in rows]
    low, high = problem.bounds
    shown = np.concatenate([expected[["lower", "upper"]].to_numpy().ravel(), outcomes])
    return {
        "task": labels,
        "objective": problem.objective,
        "goal": problem.goal,
        "interval": INTERVAL,
        "anchor": anchor,
        "range": [float(shown.min()), float(shown.max())],
        "inputs": [
            {
                "name": name,
                "low": float(low[column]),
                "high": float(high[column]),
                "is_stepped": name in problem.grids and len(axes[column]) <= points,
                "x": axes[column].tolist(),
                **dict(zip(("mean", "lower", "upper"), pieces[column].T.tolist(), strict=True)),
                "measured": {
                    "x": there[:, column].tolist(),
                    "outcome": outcomes,
                    "distance": distance_from(centre, there, problem, free=[column]).tolist(),
                },
            }
            for column, name in enumerate(problem.inputs)
        ],
    }


def anchor_of(campaign: Campaign, labels: dict[str, str], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The point that slices and surfaces of a task go through, given what was measured of it."""
    problem, found = campaign.problem, best(rows, campaign.problem)
    if found is not None:
        return {"is": "best measured", "inputs": found["inputs"], "outcome": found["outcome"]}
    pending = [each for each in campaign.suggestions() if each.task == labels and each.state == "pending"]
    if pending:
        inputs = {name: pending[-1].inputs[name] for name in problem.inputs}
        return {"is": "next suggestion", "inputs": inputs, "outcome": None}
    # Of a task without data the surrogate suggests the best mean; nothing is stored.
    point = campaign.surrogate().suggest(labels, seed=int(campaign.settings["seed"])).iloc[0]
    return {"is": "best predicted", "inputs": {name: float(point[name]) for name in problem.inputs}, "outcome": None}


def axes_of(problem: Problem, points: int) -> list[Float[np.ndarray, " k"]]:
    """For each input the values it is shown at: its steps if they are few, evenly spaced ones otherwise."""
    grids = {name: grid for name, grid in problem.grids.items() if len(grid) <= points}
    return [
        grids.get(name, np.linspace(low, high, points))
        for name, (low, high) in zip(problem.inputs, problem.bounds.T, strict=True)
    ]


def distance_from(
    centre: Float[np.ndarray, " d"], there: Float[np.ndarray, "n d"], problem: Problem, *, free: Sequence[int]
) -> Float[np.ndarray, " n"]:
    """The largest scaled difference in the inputs other than the free ones."""
    low, high = problem.bounds
    away = np.abs(there - centre) / (high - low)
    return np.delete(away, list(free), axis=1).max(axis=1, initial=0.0)
