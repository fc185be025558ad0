r"""How a model is fitted: strategies that turn an objective into parameters.

| strategy | what it does |
| --- | --- |
| `LBFGS` (default) | many restarts with few draws as one batch, then the best with all draws, by L-BFGS-B |
| `Adam` | the paper's way: fresh draws at each step (one by default), stochastic gradient |
| `HMC` | the same, then draws of Z and the hyperparameters by short chains of Hamiltonian Monte Carlo |
| `NUTS` | the same, then one long chain that tunes itself: the gold standard (extra `nuts`) |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from torch import Tensor

from headstart.errors import ModelError, ProblemError, checked_whole
from headstart.models.elbo import Structure, TrainingData, elbo
from headstart.models.parameters import Layout
from headstart.models.threads import threads_for
from headstart.shapes import Float

Progress = Callable[[int, float], None]
"""Called during a fit with the evaluations so far and the ELBO of the last one, the best restart's."""


@dataclass(frozen=True)
class LBFGS:
    """L-BFGS-B on the ELBO with fixed draws.

    `restarts` starting points are first improved for `screening` iterations with `screening_draws` draws each, as
    one batch; the best then continues with all `draws` until `tolerance`, the relative change of the ELBO.
    `draws = None` chooses by the number of rows, see `draws_for`.
    """

    draws: int | None = None
    restarts: int = 4
    screening: int = 25
    screening_draws: int = 8
    iterations: int = 100
    tolerance: float = 1e-4


# From a previous posterior few iterations are left to do; more of them would only fit the draws.
WARM = LBFGS(restarts=3, screening=6, iterations=16)


@dataclass(frozen=True)
class Adam:
    """The paper's training: a fresh sample of Z at each step.

    `draws` samples a step (the paper finds one enough), `restarts` runs side by side, the best by the ELBO with
    `evaluation_draws` fixed draws is kept.
    """

    steps: int = 1000
    learning_rate: float = 0.03
    draws: int = 1
    restarts: int = 1
    evaluation_draws: int = 16


@dataclass(frozen=True)
class NUTS:
    """The No-U-Turn sampler over Z and, unless `hyperparameters` is False, mean, kernel and noise as well.

    Starts from a variational fit. `samples` draws are kept of `chains` chains.
    """

    warmup: int = 256
    samples: int = 256
    thinning: int = 4
    chains: int = 1
    hyperparameters: bool = True


@dataclass(frozen=True)
class HMC:
    """Hamiltonian Monte Carlo over Z, mean, kernel and noise after a variational fit, see `headstart.models.hmc`.

    Each chain makes `iterations` proposals of `leapfrogs` gradients; the first step is `step` scales long.
    """

    iterations: int = 12
    leapfrogs: int = 6
    step: float = 0.15

    def __post_init__(self) -> None:
        # Plain numbers, which a saved file can hold.
        object.__setattr__(self, "iterations", checked_whole("iterations", self.iterations, low=1))
        object.__setattr__(self, "leapfrogs", checked_whole("leapfrogs", self.leapfrogs, low=1))
        object.__setattr__(self, "step", float(self.step))
        if not 0 < self.step < math.inf:
            raise ProblemError(f"step={self.step} must be above 0, and finite.")


Inference = LBFGS | Adam | NUTS | HMC

_BY_NAME: dict[str, Inference] = {"lbfgs": LBFGS(), "adam": Adam(), "nuts": NUTS(), "hmc": HMC()}


def resolve_inference(inference: str | Inference) -> Inference:
    """The strategy of that name with its defaults, or the instance itself.

    >>> resolve_inference("adam").draws
    1
    """
    if isinstance(inference, str):
        if inference not in _BY_NAME:
            raise ProblemError(f"Unknown inference {inference!r}: choose one of {sorted(_BY_NAME)} or pass a strategy.")
        return _BY_NAME[inference]
    return inference


def draws_for(rows: int) -> int:
    """How many fixed draws a data set needs: 64 up to 50 rows, falling to 8 from 400 on.

    With too few, the latents arrange themselves around the draws, and the bound is worth less than it says. Many rows
    pin the latents down, so that log p(y | Z) is nearly quadratic over q(Z), and matched draws integrate that exactly.

    >>> [draws_for(rows) for rows in (25, 200, 840)]
    [64, 16, 8]
    """
    return min(max(1600 // rows, 4), 32) * 2


@dataclass(frozen=True)
class Fit:
    """What a fit found: the parameter vector, its ELBO and the evaluations it took."""

    vector: Float[Tensor, " P"]
    elbo: float
    evaluations: int


@dataclass(frozen=True)
class Objective:
    """The ELBO of one model on one data set as a function of a batch of parameter vectors.

    Or of several models of one structure: then the data are stacked. There is a seed for each model.
    """

    structure: Structure
    layout: Layout
    data: TrainingData
    seeds: tuple[int, ...]

    @property
    def is_stacked(self) -> bool:
        """Whether each vector has data and draws of its own."""
        return self.data.y.dim() == 2

    def repeated(self, times: int) -> Objective:
        """With each of several models so many times in a row. A single one serves any number of vectors as it is."""
        if not self.is_stacked:
            return self
        which = torch.arange(len(self.seeds)).repeat_interleave(times)
        seeds = tuple(self.seeds[int(i)] for i in which)
        return replace(self, data=self.data.select(which.to(self.data.x.device)), seeds=seeds)

    def draws(self, count: int) -> tuple[Tensor, ...]:
        """Fixed draws on the data's device, stacked where the data are; a point embedding needs just one."""
        count = count if self.structure.is_random else 1
        each = [self.structure.draws(count, self.data.levels, seed=seed) for seed in self.seeds]
        drawn = [torch.stack(parts) if self.is_stacked else parts[0] for parts in zip(*each, strict=True)]
        return tuple(eps.to(self.data.x.device) for eps in drawn)

    def value(self, vector: Tensor, eps: tuple[Tensor, ...], which: np.ndarray | None = None) -> Tensor:
        """The ELBO of each vector, of the model that `which` says."""
        data = self.data
        if self.is_stacked and which is not None and not np.array_equal(which, range(len(self.seeds))):
            index = torch.from_numpy(which).to(vector.device)
            data, eps = data.select(index), tuple(e[index] for e in eps)
        return elbo(self.structure, self.layout, data, eps, vector)

    def negated(self, points: np.ndarray, eps: tuple[Tensor, ...], which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-ELBO and its gradient in numpy, for L-BFGS-B."""
        vector = torch.from_numpy(points).to(self.data.x.device).requires_grad_()
        value = self.value(vector, eps, which)
        (gradient,) = torch.autograd.grad(value.sum(), vector)
        both = torch.cat([value.detach()[:, None], gradient], dim=-1).neg().cpu().numpy()
        return both[:, 0], np.ascontiguousarray(both[:, 1:])


def maximise(
    objective: Objective,
    starts: Float[Tensor, "p r P"],
    strategy: LBFGS | Adam,
    progress: Progress | None = None,
) -> list[Fit]:
    """Fit every model from the given starting vectors, r of them a model."""
    report = progress or (lambda evaluations, value: None)
    rows = objective.data.y.shape[-1]
    with threads_for(len(objective.seeds) * draws_for(rows) * rows**2):
        if isinstance(strategy, LBFGS):
            return _lbfgs(objective, starts, strategy, report)
        if len(objective.seeds) > 1:
            raise ModelError("Adam fits one model at a time.")
        return [_adam(objective, starts[0], strategy, report)]


def _lbfgs(objective: Objective, starts: Tensor, strategy: LBFGS, report: Progress) -> list[Fit]:
    problems, restarts, size = starts.shape
    evaluations = 0

    def minimise(points: np.ndarray, draws: int, iterations: int) -> tuple[np.ndarray, np.ndarray]:
        """All vectors side by side; those that have converged drop out."""
        eps, owner = objective.draws(draws), np.arange(len(points)) // (len(points) // problems)

        def counted(batch: np.ndarray, batch_indices: list[int]) -> tuple[np.ndarray, np.ndarray]:
            nonlocal evaluations
            values, gradients = objective.negated(batch, eps, owner[batch_indices])
            evaluations += 1
            report(evaluations, -float(values.min()))
            return values, gradients

        found, values, _ = fmin_l_bfgs_b_batched(
            counted,
            points,
            bounds=objective.layout.bounds,
            maxiter=iterations,
            factr=None,
            ftol=strategy.tolerance,
            pass_batch_indices=True,
        )
        return found, values

    draws = strategy.draws or draws_for(objective.data.y.shape[-1])
    points = starts.reshape(-1, size).cpu().numpy()
    if restarts > 1:
        # All restarts together take no more draws than the fit itself.
        few = min(strategy.screening_draws, max(draws // restarts // 2 * 2, 2))
        points, values = minimise(points, few, strategy.screening)
        best = [_best(of_one, problem) for problem, of_one in enumerate(values.reshape(problems, restarts))]
        points = points.reshape(problems, restarts, size)[np.arange(problems), best]
    points, values = minimise(points, draws, strategy.iterations)
    return [
        Fit(torch.from_numpy(point), -float(of_one[_best(of_one, problem)]), evaluations)
        for problem, (point, of_one) in enumerate(zip(points, values.reshape(problems, 1), strict=True))
    ]


def _adam(objective: Objective, starts: Tensor, strategy: Adam, report: Progress) -> Fit:
    low, high = (torch.from_numpy(b).to(objective.data.x) for b in objective.layout.bounds.T)
    vector = starts.to(objective.data.x).clone().requires_grad_()
    optimiser = torch.optim.Adam([vector], lr=strategy.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, strategy.steps)
    generator = torch.Generator().manual_seed(objective.seeds[0])
    shapes = [eps.shape[1:] for eps in objective.draws(1)]
    for step in range(strategy.steps):
        eps = tuple(
            torch.randn(strategy.draws, *shape, generator=generator, dtype=vector.dtype).to(vector.device)
            for shape in shapes
        )
        optimiser.zero_grad()
        value = objective.value(vector, eps)
        (-value.sum()).backward()
        optimiser.step()
        schedule.step()
        report(step + 1, float(value.detach().max()))
        with torch.no_grad():
            vector.clamp_(low, high)
    with torch.no_grad():
        values = objective.value(vector, objective.draws(strategy.evaluation_draws)).cpu().numpy()
    best = _best(-values)
    return Fit(vector[best].detach().cpu(), float(values[best]), strategy.steps)


def _best(values: np.ndarray, problem: int = 0) -> int:
    if not np.isfinite(values).any():
        raise ModelError(
            f"No restart of data set {problem}, counted from 0, reached a finite ELBO. Look for extreme values in the "
            "data, or a custom kernel that is undefined on them."
        )
    return int(np.nanargmin(values))
