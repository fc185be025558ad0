"""Criteria: how promising is a point of the current task? Higher is better; BoTorch does the work."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from botorch.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    PosteriorMean,
    qLogNoisyExpectedImprovement,
    qSimpleRegret,
)
from botorch.models.model import Model
from botorch.sampling import SobolQMCNormalSampler
from torch import Tensor

from headstart.models.threads import threads_for
from headstart.shapes import Float

_SAMPLES = 128


@dataclass(frozen=True)
class Criterion:
    """An acquisition function and what its value is called; `is_log` values are shown exponentiated."""

    name: str
    function: AcquisitionFunction
    is_log: bool

    def score(self, value: float) -> float:
        """The value in the objective's units."""
        return math.exp(value) if self.is_log else value


def criterion_for(
    model: Model,
    measured: Float[Tensor, "m d"],
    pending: Float[Tensor, "p d"],
    *,
    seed: int,
) -> Criterion:
    """The criterion for the next point, given the current task's measured and pending ones.

    | measured | pending | criterion |
    | --- | --- | --- |
    | none | none | posterior mean: the best bet |
    | none | some | expected best of pending and new: qSimpleRegret |
    | some | none | log expected improvement over the best posterior mean so far |
    | some | some | the same with pending outcomes integrated out: qLogNoisyExpectedImprovement |

    Each is averaged over the draws of Z. Only the current task's own points count as measured: the best of another task
    is not an improvement to beat.
    """
    if len(measured) == 0:
        if len(pending) == 0:
            return Criterion("mean", PosteriorMean(model), is_log=False)
        function = qSimpleRegret(model, sampler=_sampler(seed), X_pending=pending)
        return Criterion("expected best", function, is_log=False)
    if len(pending) == 0:
        with torch.no_grad(), threads_for(model.posterior_draws * len(model.train_X) ** 2):
            best = model.posterior(measured.unsqueeze(-2)).mixture_mean.max()
        function = LogExpectedImprovement(model, best_f=best)
        return Criterion("expected improvement", function, is_log=True)
    function = qLogNoisyExpectedImprovement(
        model, X_baseline=measured, sampler=_sampler(seed), X_pending=pending, prune_baseline=False
    )
    return Criterion("expected improvement", function, is_log=True)


def _sampler(seed: int) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([_SAMPLES]), seed=seed)
