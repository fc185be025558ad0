"""One GP of all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.benchmark.contenders import Rows
from headstart.benchmark.peers.peer import GPBelief, Peer, fitted_gp
from headstart.benchmark.systems import Trial


@dataclass(frozen=True, kw_only=True)
class PooledGP(Peer):
    """As if all tasks were one."""

    label: str = "pooled GP"

    def believe(self, trial: Trial, rows: Rows, seed: int) -> GPBelief:
        """All rows, without their task."""
        x, y = rows
        model = fitted_gp(np.concatenate([trial.legacy_x, x]), np.concatenate([trial.legacy_y, y]))
        return GPBelief(trial.sign, y, model)
