"""The response of a task as it is believed to be: a surface over each pair of inputs, through the best point so far."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from headstart.campaign import Campaign
from headstart.errors import ProblemError, did_you_mean
from headstart.report.history import measured, task_labels
from headstart.report.responses import anchor_of, axes_of, distance_from
from headstart.report.summaries import INTERVAL
from headstart.shapes import Float
from headstart.tasks import Problem, Task

_MOST_PAIRS = 21  # of seven inputs
_MOST_PREDICTIONS = 4000  # some milliseconds each: a page should not wait a minute
_FEWEST_POINTS = 9


def surfaces(
    campaign: Campaign, task: Task, *, points: int = 25, pair: tuple[str, str] | None = None
) -> dict[str, Any]:
    """For each pair of inputs the predicted mean and its sd on a grid, with the other inputs held at the anchor.

    As for `slices`: the anchor is the same, the sd is that of a measurement, noise included, an input with few steps is
    shown at these, and each measured point has its `distance` from the plane. `mean` and `sd` have a row for each y and
    a column for each x. `range` and `sd_range` span all pairs, so that one colour means one value; one input alone has
    no pairs.

    Args:
        campaign: what to look at.
        task: the label of each general input.
        points: along each input, at most; of many pairs there are fewer, since each is a prediction.
        pair: the names of the only two inputs wanted; the first 21 pairs when left out.
    """
    problem, labels = campaign.problem, task_labels(campaign.problem, task)
    rows = measured(campaign.snapshot(), labels, problem)
    anchor = anchor_of(campaign, labels, rows)
    centre = np.array([anchor["inputs"][name] for name in problem.inputs])
    pairs = _columns(problem, pair)
    if len(pairs) > 1:
        points = min(points, max(math.isqrt(_MOST_PREDICTIONS // len(pairs)), _FEWEST_POINTS))
    axes = axes_of(problem, points)
    there = np.array([list(row["inputs"].values()) for row in rows]).reshape(len(rows), len(axes))
    names = [*problem.inputs]
    shown = []
    for (x, y), (mean, sd) in zip(pairs, _expected(campaign, labels, centre, axes, pairs), strict=True):
        shown.append(
            {
                "x_name": names[x],
                "y_name": names[y],
                "x": axes[x].tolist(),
                "y": axes[y].tolist(),
                "mean": mean.tolist(),
                "sd": sd.tolist(),
                "measured": {
                    "x": there[:, x].tolist(),
                    "y": there[:, y].tolist(),
                    "outcome": [row["outcome"] for row in rows],
                    "distance": distance_from(centre, there, problem, free=[x, y]).tolist(),
                },
            }
        )
    return {
        "task": labels,
        "objective": problem.objective,
        "goal": problem.goal,
        "interval": INTERVAL,
        "anchor": anchor,
        "range": _span([each["mean"] for each in shown]),
        "sd_range": _span([each["sd"] for each in shown]),
        "pairs": shown,
    }


def _columns(problem: Problem, pair: tuple[str, str] | None) -> list[tuple[int, int]]:
    """Which columns of the inputs each surface is over."""
    names = [*problem.inputs]
    if pair is None:
        return list(combinations(range(len(names)), 2))[:_MOST_PAIRS]
    for name in pair:
        if name not in names:
            raise ProblemError(
                f"{name!r} is not an input of this campaign.{did_you_mean(name, names)} Its inputs: {', '.join(names)}."
            )
    if pair[0] == pair[1]:
        raise ProblemError(f"A surface is over two different inputs, not {pair[0]!r} twice.")
    return [(names.index(pair[0]), names.index(pair[1]))]


def _expected(
    campaign: Campaign,
    labels: dict[str, str],
    centre: Float[np.ndarray, " d"],
    axes: list[Float[np.ndarray, " _"]],
    pairs: list[tuple[int, int]],
) -> list[Float[np.ndarray, "2 y x"]]:
    """Mean and sd of each surface, all of them in one prediction."""
    if not pairs:
        return []
    tables, shapes = [], []
    for x, y in pairs:
        across, up = np.meshgrid(axes[x], axes[y])
        table = np.tile(centre, (across.size, 1))
        table[:, x], table[:, y] = across.ravel(), up.ravel()
        tables.append(table)
        shapes.append(across.shape)
    frame = pd.DataFrame(np.vstack(tables), columns=[*campaign.problem.inputs])
    predicted = campaign.surrogate().predict(frame, task=labels, interval=INTERVAL)[["mean", "sd"]].to_numpy()
    pieces = np.split(predicted, np.cumsum([len(table) for table in tables])[:-1])
    return [piece.T.reshape(2, *shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _span(grids: list[list[list[float]]]) -> list[float] | None:
    values = [value for grid in grids for row in grid for value in row]
    return [min(values), max(values)] if values else None
