"""The data that are timed: tensors [x, task], outputs, and the rows of a task that has none yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headstart.benchmark import datasets


@dataclass(frozen=True)
class Timed:
    """Training tensors in [0, 1], and a stream of rows of the new task, whose code is the last."""

    X: Tensor
    Y: Tensor
    tasks: int
    new_X: Tensor
    new_Y: Tensor


def family(tasks: int, rows: int, *, seed: int = 0, new_rows: int = 10) -> Timed:
    """A smooth two-input family: tasks differ in phase, slope and interaction."""
    random = np.random.default_rng(seed)
    theta = random.random((tasks + 1, 3))
    counts = [rows] * tasks + [new_rows]
    codes = np.repeat(np.arange(tasks + 1), counts)
    x = random.random((len(codes), 2))
    phase, slope, interaction = theta[codes].T
    y = np.sin(4 * x[:, 0] + 2 * phase) + slope * x[:, 1] ** 2 + interaction * x[:, 0] * x[:, 1]
    return _split(x, codes, y, tasks)


def catalysts() -> Timed:
    """The paper's additive shape on measured data: 35 catalysts x 24 rows, 4 inputs; one row of a 36th at a time."""
    archive = datasets.additive_shape(seed=0)
    everything = datasets.load("ocm_catalysts")
    other = everything[~everything["catalyst"].isin(archive["catalyst"])].iloc[:10]
    inputs = ["temperature_c", "total_flow_ml_min", "ch4_o2_ratio", "ar_fraction"]
    low, high = archive[inputs].min(), archive[inputs].max()
    names = list(dict.fromkeys(archive["catalyst"]))
    codes = np.concatenate([archive["catalyst"].map(names.index), np.full(len(other), len(names))])
    x = np.concatenate([((frame[inputs] - low) / (high - low)).to_numpy() for frame in (archive, other)])
    y = np.concatenate([frame["c2_yield_pct"].to_numpy(dtype=float) for frame in (archive, other)])
    return _split(x, codes.astype(int), y, len(names))


def _split(x: np.ndarray, codes: np.ndarray, y: np.ndarray, tasks: int) -> Timed:
    X, Y = torch.from_numpy(np.column_stack([x, codes])), torch.from_numpy(y).unsqueeze(-1)
    old = torch.from_numpy(codes < tasks)
    return Timed(X[old], Y[old], tasks, X[~old], Y[~old])


def _first(timed: Timed, rows: int) -> Timed:
    return Timed(timed.X[:rows], timed.Y[:rows], timed.tasks, timed.new_X, timed.new_Y)


SIZES = {
    "25 rows, 5 tasks": lambda: family(5, 5),
    "96 rows, 8 tasks": lambda: family(8, 12),
    "200 rows, 6 tasks": lambda: _first(family(6, 34), 200),
    "840 rows, 35 tasks": catalysts,
}
