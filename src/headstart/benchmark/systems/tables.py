"""Systems that are tables of finished experiments: each task in turn is the current one, its rows the design set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from headstart.benchmark.systems.trial import System, Trial
from headstart.errors import DataError
from headstart.shapes import Float
from headstart.tasks import Problem


@dataclass(frozen=True, eq=False)
class TableSystem(System):
    """A table with one or several general inputs and a problem that says what its columns are.

    A task is one combination of levels. Those of fewer than `least` rows, or whose rows all have one outcome, are
    never held out: there is nothing to find. Rows of a task that repeat its inputs are left out but for the first: a
    design set has no doubles. A seed draws the order in which regression learns the current rows.

    >>> table = pd.DataFrame({"pump": [*"aaabbb"], "d": [1, 2, 3, 1, 2, 4], "eta": [0.5, 0.7, 0.6, 0.4, 0.6, 0.8]})
    >>> system = TableSystem("pumps", table, Problem(inputs=["d"], general="pump", objective="eta"))
    >>> trial = system.trial("b", seed=0)
    >>> trial.legacy_y.tolist(), trial.optimum
    ([0.5, 0.7, 0.6], 0.8)
    """

    name: str
    table: pd.DataFrame
    problem: Problem
    least: int = 1

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks that are held out, in order of first appearance."""
        outcomes = self._rows[self.problem.objective].groupby(self._labels, sort=False)
        is_flat = (outcomes.size() > 1) & (outcomes.nunique() == 1)
        is_held_out = (outcomes.size() >= self.least) & ~is_flat
        return tuple(str(task) for task in is_held_out.index[is_held_out])

    @cached_property
    def _rows(self) -> pd.DataFrame:
        general, inputs = [*self.problem.general], [*self.problem.inputs]
        rows = self.table[[*general, *inputs, self.problem.objective]].dropna()
        return rows.drop_duplicates([*general, *inputs]).reset_index(drop=True)

    @cached_property
    def _labels(self) -> pd.Series[str]:
        first, *others = (self._rows[name].astype(str) for name in self.problem.general)
        return first.str.cat(pd.concat(others, axis="columns"), sep=" + ") if others else first

    @cached_property
    def _x(self) -> Float[np.ndarray, "n d"]:
        low, high = self.problem.resolved(self._rows).bounds
        x = self._rows[[*self.problem.inputs]].to_numpy(dtype=float)
        return (x - low) / np.where(high > low, high - low, 1.0)

    def trial(self, task: str, seed: int) -> Trial:
        """The task's rows against those of all others."""
        if task not in self.tasks:
            raise DataError(f"{self.name} has no task {task!r}: choose one of {', '.join(self.tasks)}.")
        is_current = (self._labels == task).to_numpy()
        y = self._rows[self.problem.objective].to_numpy(dtype=float)
        current_x, current_y = self._x[is_current], y[is_current]
        order = np.random.default_rng(seed).permutation(len(current_y))
        sign = self.problem.sign
        return Trial(
            legacy_x=self._x[~is_current],
            legacy_task=pd.factorize(self._labels[~is_current])[0].astype(np.int64),
            legacy_y=y[~is_current],
            order_x=current_x[order],
            order_y=current_y[order],
            x=current_x,
            y=current_y,
            function=None,
            optimum=float(sign * (sign * current_y).max()),
            spread=float(np.ptp(current_y)),
            sign=sign,
            **self._levels(is_current),
        )

    def _levels(self, is_current: np.ndarray) -> dict[str, Any]:
        if len(self.problem.general) == 1:
            return {}
        # Levels without a legacy row come last, as new ones do.
        order = np.argsort(is_current, kind="stable")
        codes = np.empty((len(order), len(self.problem.general)), dtype=np.int64)
        for g, name in enumerate(self.problem.general):
            codes[order, g] = pd.factorize(self._rows[name].to_numpy()[order])[0]
        return {"legacy_levels": codes[~is_current], "current_levels": tuple(codes[is_current][0].tolist())}


def sampled(table: pd.DataFrame, task: str, rows: int, *, needed: Sequence[str], seed: int = 0) -> pd.DataFrame:
    """That many rows of each task that has them, complete in the needed columns and with different inputs."""
    complete = table.dropna(subset=[*needed])
    complete = complete.drop_duplicates([task, *needed[:-1]])
    large = complete.groupby(task)[task].transform("size") >= rows
    return complete[large].groupby(task).sample(rows, random_state=seed).sort_index().reset_index(drop=True)
