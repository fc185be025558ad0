"""BoTorch's multi-task GPs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from botorch.fit import fit_fully_bayesian_model_nuts
from botorch.models import MultiTaskGP
from botorch.models.fully_bayesian_multitask import SaasFullyBayesianMultiTaskGP
from botorch.models.transforms import Standardize

from headstart.benchmark.contenders import Rows
from headstart.benchmark.peers.peer import GPBelief, Peer, all_rows, fitted
from headstart.benchmark.systems import Trial


@dataclass(frozen=True, kw_only=True)
class MultiTask(Peer):
    """An intrinsic model of coregionalisation, with BoTorch's defaults; the current task is known from the start."""

    label: str = "MultiTaskGP"

    def believe(self, trial: Trial, rows: Rows, seed: int) -> GPBelief:
        """All rows."""
        X, Y = all_rows(trial, rows)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = MultiTaskGP(
                X, Y, task_feature=-1, all_tasks=list(range(trial.tasks + 1)), outcome_transform=Standardize(1)
            )
            return GPBelief(trial.sign, rows[1], fitted(model), (float(trial.tasks),))


@dataclass(frozen=True, kw_only=True)
class SaasMultiTask(Peer):
    """A fully Bayesian multi-task GP with sparse length scales and latent task features, at BoTorch's defaults."""

    label: str = "SAAS multi-task"
    warmup: int = 512
    samples: int = 256
    thinning: int = 16

    def believe(self, trial: Trial, rows: Rows, seed: int) -> GPBelief:
        """All rows, by NUTS."""
        X, Y = all_rows(trial, rows)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = SaasFullyBayesianMultiTaskGP(
                X, Y, task_feature=-1, all_tasks=list(range(trial.tasks + 1)), outcome_transform=Standardize(1)
            )
            fit_fully_bayesian_model_nuts(
                model,
                warmup_steps=self.warmup,
                num_samples=self.samples,
                thinning=self.thinning,
                disable_progbar=True,
            )
        return GPBelief(trial.sign, rows[1], model, (float(trial.tasks),))
