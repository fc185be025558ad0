"""A random forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from headstart.benchmark.beliefs import ImprovingBelief
from headstart.benchmark.contenders import Rows
from headstart.benchmark.peers.peer import Peer, all_rows
from headstart.benchmark.systems import Trial
from headstart.models.mixture import Mixture
from headstart.shapes import Float

# The least standard deviation, as a share of all outcomes': trees may agree to the last digit.
_LEAST = 1e-3


@dataclass(frozen=True, kw_only=True)
class Forest(Peer):
    """scikit-learn's, of inputs and an indicator a legacy or current task, all zero for a task without rows."""

    label: str = "random forest"
    trees: int = 100

    def believe(self, trial: Trial, rows: Rows, seed: int) -> ForestBelief:
        """All rows."""
        X, Y = (part.numpy() for part in all_rows(trial, rows))
        tasks = np.eye(trial.tasks + 1)
        forest = RandomForestRegressor(self.trees, min_samples_leaf=2, random_state=seed)
        forest.fit(np.column_stack([X[:, :-1], tasks[X[:, -1].astype(int)]]), Y[:, 0])
        task = tasks[trial.tasks] if len(rows[1]) else 0 * tasks[0]
        return ForestBelief(trial.sign, rows[1], forest, task, _LEAST * float(Y.std()))


@dataclass(frozen=True, eq=False)
class ForestBelief(ImprovingBelief):
    """The normal with the mean and standard deviation of the trees."""

    forest: RandomForestRegressor
    task: Float[np.ndarray, " t"]
    least: float

    def predict(self, x: Float[np.ndarray, "t d"], *, noise: bool = True) -> Mixture:
        """Trees tell no noise from ignorance: both are in their spread."""
        columns = np.column_stack([x, np.tile(self.task, (len(x), 1))])
        each = np.stack([tree.predict(columns) for tree in self.forest.estimators_])
        return Mixture(each.mean(0)[None], np.hypot(each.std(0), self.least)[None])
