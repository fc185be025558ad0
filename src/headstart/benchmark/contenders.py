"""The methods that are compared: the paper's three models, a GP without legacy data, and random choice.

A contender turns trials into models, all trials of a batch together, and each model is a BoTorch model of the current
task: what it believes and what it would try next are read off in one way for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from headstart.benchmark.systems import Trial
from headstart.errors import ProblemError
from headstart.models import BEGP, BGP, EGP
from headstart.models.ensemble_model import EnsembleModel
from headstart.models.inference import HMC, LBFGS, WARM, Adam
from headstart.models.together import fit_together, observe_together, sample_together
from headstart.shapes import Float

Rows: TypeAlias = tuple[Float[np.ndarray, "k d"], Float[np.ndarray, " k"]]
"""Inputs and outcomes of current rows, in the order they were learned."""

Beliefs: TypeAlias = list[EnsembleModel | None]
"""A model a trial; None where there is nothing to predict with."""


@dataclass(frozen=True, kw_only=True)
class Contender(ABC):
    """A method with its settings, which are part of a result's key."""

    label: str

    @property
    def settings(self) -> dict[str, Any]:
        """What was set, by name."""
        return {"kind": type(self).__name__, **asdict(self)}

    @abstractmethod
    def begin(self, trials: Sequence[Trial], seeds: Sequence[int], *, device: str) -> Beliefs:
        """What is believed before the current task has a row."""

    @abstractmethod
    def learn(
        self, beliefs: Beliefs, trials: Sequence[Trial], seeds: Sequence[int], rows: Sequence[Rows], new: int
    ) -> Beliefs:
        """What is believed after all `rows`, of which the last `new` are new."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingGP(Contender):
    """BEGP, or with a point embedding EGP, at the paper's settings: RBF kernel.

    `draws` samples of Z a step of Adam train it as the paper does; without, it is L-BFGS-B with fixed draws.
    """

    label: str = "BEGP"
    embedding: str = "mean-field"
    kernel: str = "rbf"
    latent_dim: int = 3
    draws: int | None = None

    def begin(self, trials: Sequence[Trial], seeds: Sequence[int], *, device: str) -> Beliefs:
        """One batch of cold fits to the legacy rows."""
        models = [self._model(trial, device) for trial in trials]
        if self.draws is None:
            fit_together(models, seeds=seeds, inference=LBFGS())
        else:
            for model, seed in zip(models, seeds, strict=True):
                model.fit(seed=seed, inference=Adam(draws=self.draws))
        return list(models)

    def learn(
        self, beliefs: Beliefs, trials: Sequence[Trial], seeds: Sequence[int], rows: Sequence[Rows], new: int
    ) -> Beliefs:
        """One batch of warm fits; Adam, which has no restarts to leave a bad place with, starts anew."""
        added = [current_rows(trial, (x[-new:], y[-new:])) for trial, (x, y) in zip(trials, rows, strict=True)]
        models = [model for model in beliefs if isinstance(model, BEGP)]
        if self.draws is None:
            return list(observe_together(models, [X for X, _ in added], [Y for _, Y in added], inference=WARM))
        grown = [model.condition_on_observations(X, Y) for model, (X, Y) in zip(models, added, strict=True)]
        for model, seed in zip(grown, seeds, strict=True):
            model.fit(seed=seed, inference=Adam(draws=self.draws))
        return list(grown)

    def _model(self, trial: Trial, device: str) -> BEGP:
        X, Y = legacy_rows(trial)
        kind = EGP if self.embedding == "point" else BEGP
        return kind(
            X,
            Y,
            {X.shape[-1] - 1: trial.tasks + 1},
            latent_dim=self.latent_dim,
            kernel=self.kernel,
            embedding=self.embedding,
            bounds=unit_cube(trial),
            device=device,
        )


@dataclass(frozen=True, kw_only=True)
class SampledEmbeddingGP(EmbeddingGP):
    """BEGP with latents and hyperparameters drawn by Hamiltonian Monte Carlo after each fit."""

    label: str = "BEGP, HMC"
    kernel: str = "rbf+residual"
    iterations: int = 12
    leapfrogs: int = 6

    def __post_init__(self) -> None:
        if self.draws is not None:
            raise ProblemError("Chains begin from a fit by L-BFGS-B: leave draws out.")

    def begin(self, trials: Sequence[Trial], seeds: Sequence[int], *, device: str) -> Beliefs:
        """One batch of cold fits, then one of chains; what is learned later samples again by itself."""
        beliefs = super().begin(trials, seeds, device=device)
        strategy = HMC(iterations=self.iterations, leapfrogs=self.leapfrogs)
        sample_together([model for model in beliefs if isinstance(model, BEGP)], strategy)
        return beliefs


@dataclass(frozen=True, kw_only=True)
class BayesianGP(Contender):
    """BGP: NUTS over the hyperparameters of a GP of the current task, with a prior from converged legacy fits."""

    label: str = "BGP"
    kernel: str = "rbf"
    draws: int = 128
    warmup: int = 256
    thinning: int = 2

    def begin(self, trials: Sequence[Trial], seeds: Sequence[int], *, device: str) -> Beliefs:
        """The prior. NUTS runs on the CPU, so the model stays there."""
        return [self._model(trial).fit(seed=seed) for trial, seed in zip(trials, seeds, strict=True)]

    def learn(
        self, beliefs: Beliefs, trials: Sequence[Trial], seeds: Sequence[int], rows: Sequence[Rows], new: int
    ) -> Beliefs:
        """Another run of the sampler for each trial."""
        models = [model for model in beliefs if isinstance(model, BGP)]
        return [
            model.observe(*current_rows(trial, (x[-new:], y[-new:])))
            for model, trial, (x, y) in zip(models, trials, rows, strict=True)
        ]

    def _model(self, trial: Trial) -> BGP:
        X, Y = legacy_rows(trial)
        return BGP(
            X,
            Y,
            {X.shape[-1] - 1: trial.tasks + 1},
            task=trial.tasks,
            kernel=self.kernel,
            bounds=unit_cube(trial),
            posterior_draws=self.draws,
            warmup=self.warmup,
            thinning=self.thinning,
        )


@dataclass(frozen=True, kw_only=True)
class LoneGP(Contender):
    """A GP of the current rows alone, hyperparameters at their maximum a posteriori: an EGP with a single level."""

    label: str = "GP"
    kernel: str = "rbf"

    def begin(self, trials: Sequence[Trial], seeds: Sequence[int], *, device: str) -> Beliefs:
        """Nothing: there is no row."""
        return [None] * len(trials)

    def learn(
        self, beliefs: Beliefs, trials: Sequence[Trial], seeds: Sequence[int], rows: Sequence[Rows], new: int
    ) -> Beliefs:
        """One batch of cold fits to the current rows."""
        models = []
        for trial, told in zip(trials, rows, strict=True):
            X, Y = current_rows(trial, told)
            general = {X.shape[-1] - 1: trial.tasks + 1}
            models.append(EGP(X, Y, general, latent_dim=1, kernel=self.kernel, bounds=unit_cube(trial)))
        fit_together(models, seeds=seeds)
        return list(models)


@dataclass(frozen=True, kw_only=True)
class RandomChoice(Contender):
    """No model at all."""

    label: str = "random"

    def begin(self, trials: Sequence[Trial], seeds: Sequence[int], *, device: str) -> Beliefs:
        """Nothing."""
        return [None] * len(trials)

    def learn(
        self, beliefs: Beliefs, trials: Sequence[Trial], seeds: Sequence[int], rows: Sequence[Rows], new: int
    ) -> Beliefs:
        """Nothing."""
        return beliefs


def legacy_rows(trial: Trial) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n 1"]]:
    """Legacy rows as models take them: the task's code last, outcomes such that large is good."""
    return _tensors(trial.legacy_x, trial.legacy_task, trial.sign * trial.legacy_y)


def current_rows(trial: Trial, rows: Rows) -> tuple[Float[Tensor, "k d+1"], Float[Tensor, "k 1"]]:
    """Current rows likewise."""
    x, y = rows
    return _tensors(x, np.full(len(x), trial.tasks), trial.sign * y)


def unit_cube(trial: Trial) -> Float[Tensor, "2 d"]:
    """Bounds of [x, task]."""
    bounds = torch.zeros(2, trial.x.shape[-1] + 1, dtype=torch.float64)
    bounds[1] = 1.0
    return bounds


def _tensors(x: np.ndarray, task: np.ndarray, y: np.ndarray) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(np.column_stack([x, task])), torch.from_numpy(y).unsqueeze(-1)
