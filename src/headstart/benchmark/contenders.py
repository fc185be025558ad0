"""The methods that are compared: the paper's three models, a GP without legacy data, and random choice.

A contender turns trials into models, all trials of a batch together, and each model is a BoTorch model of the current
task: what it believes and what it would try next are read off in one way for all. (`peers` has other systems.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from headstart.benchmark.beliefs import PeerBelief
from headstart.benchmark.systems import Trial
from headstart.errors import ProblemError
from headstart.limits import default_inference
from headstart.models import BEGP, BGP, EGP
from headstart.models.ensemble_model import EnsembleModel
from headstart.models.evidence import AnyKernel, kernels_to_try, likeliest
from headstart.models.inference import HMC, LBFGS, Adam
from headstart.models.known_kernels import DEFAULT_KERNEL
from headstart.models.outcomes import Outcomes
from headstart.models.together import fit_together, observe_together, sample_together
from headstart.shapes import Float

Rows: TypeAlias = tuple[Float[np.ndarray, "k d"], Float[np.ndarray, " k"]]
"""Inputs and outcomes of current rows, in the order they were learned."""


@dataclass(frozen=True, eq=False)
class Counted:
    """A model that counts outcomes by a scale of its own."""

    model: EnsembleModel
    outcomes: Outcomes


Belief: TypeAlias = EnsembleModel | Counted | PeerBelief | None
"""A model of the current task; None where there is nothing to predict with."""

Beliefs: TypeAlias = list[Belief]
"""One a trial."""


@dataclass(frozen=True, kw_only=True)
class Contender(ABC):
    """A method with its settings, which are part of a result's key."""

    label: str

    @property
    def listed(self) -> str:
        """How it chooses from finite sets: as the paper does."""
        return "probability of best"

    @property
    def settings(self) -> dict[str, Any]:
        """What was set, by name."""
        return {"kind": type(self).__name__, **asdict(self)}

    def sees(self, trial: Trial) -> Trial:
        """The trial as this method knows it: of several general inputs, most make one."""
        return trial.combined()

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
        rivals = [[self._model(trial, kernel, device) for trial in trials] for kernel in kernels_to_try(self.kernel)]
        for models in rivals:
            if self.draws is None:
                for alike in _alike([seen_levels(trial) for trial in trials]):
                    fit_together([models[i] for i in alike], seeds=[seeds[i] for i in alike], inference=LBFGS())
            else:
                for model, seed in zip(models, seeds, strict=True):
                    model.fit(seed=seed, inference=Adam(draws=self.draws))
        return [likeliest(each) for each in zip(*rivals, strict=True)]

    def learn(
        self, beliefs: Beliefs, trials: Sequence[Trial], seeds: Sequence[int], rows: Sequence[Rows], new: int
    ) -> Beliefs:
        """One batch of warm fits; Adam, which has no restarts to leave a bad place with, starts anew."""
        added = [current_rows(trial, (x[-new:], y[-new:])) for trial, (x, y) in zip(trials, rows, strict=True)]
        models = [model for model in beliefs if isinstance(model, BEGP)]
        if self.draws is None:
            # Now the current task's levels have rows.
            levels = [tuple(general_columns(trial).values()) for trial in trials]
            for alike in _alike([(*key, kernel_of(model)) for key, model in zip(levels, models, strict=True)]):
                X, Y = ([added[i][part] for i in alike] for part in (0, 1))
                for i, model in zip(alike, observe_together([models[i] for i in alike], X, Y), strict=True):
                    models[i] = model
            return list(models)
        grown = [model.condition_on_observations(X, Y) for model, (X, Y) in zip(models, added, strict=True)]
        for model, seed in zip(grown, seeds, strict=True):
            model.fit(seed=seed, inference=Adam(draws=self.draws))
        return list(grown)

    def sees(self, trial: Trial) -> Trial:
        """Each general input gets an embedding of its own."""
        return trial

    def _model(self, trial: Trial, kernel: AnyKernel, device: str) -> BEGP:
        X, Y = legacy_rows(trial)
        kind = EGP if self.embedding == "point" else BEGP
        return kind(
            X,
            Y,
            general_columns(trial),
            latent_dim=self.latent_dim,
            kernel=kernel,
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
class Headstart(EmbeddingGP):
    """What `headstart.fit` does by default: sampled where that is affordable, fitted otherwise.

    With `is_separate` each of several general inputs has an embedding of its own; without, their combinations have one.
    """

    label: str = "Headstart"
    kernel: str = DEFAULT_KERNEL
    is_separate: bool = True
    listed: str = "auto"

    def sees(self, trial: Trial) -> Trial:
        """All general inputs, or one that combines them."""
        return trial if self.is_separate else trial.combined()

    def begin(self, trials: Sequence[Trial], seeds: Sequence[int], *, device: str) -> Beliefs:
        """One batch of cold fits, and chains for those that are to be sampled."""
        scales = [Outcomes.of(trial.legacy_y, sign=trial.sign) for trial in trials]
        counted = [
            replace(trial, legacy_y=scale.inside(trial.legacy_y), sign=1)
            for trial, scale in zip(trials, scales, strict=True)
        ]
        beliefs = super().begin(counted, seeds, device=device)
        fitted = [belief for belief in beliefs if isinstance(belief, BEGP)]
        for alike in _alike([(*seen_levels(trial), kernel_of(m)) for trial, m in zip(trials, fitted, strict=True)]):
            models = [fitted[i] for i in alike]
            sampled = [model for model in models if default_inference(model) == HMC()]
            if sampled:
                sample_together(sampled, HMC())
        return _counted(beliefs, scales)

    def learn(
        self, beliefs: Beliefs, trials: Sequence[Trial], seeds: Sequence[int], rows: Sequence[Rows], new: int
    ) -> Beliefs:
        """Outcomes are counted as before the first row."""
        known = [belief for belief in beliefs if isinstance(belief, Counted)]
        counted = [
            (x, trial.sign * each.outcomes.inside(y)) for each, trial, (x, y) in zip(known, trials, rows, strict=True)
        ]
        models = super().learn([each.model for each in known], trials, seeds, counted, new)
        return _counted(models, [each.outcomes for each in known])


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
            general_columns(trial),
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
            general = general_columns(trial)
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


def _counted(models: Beliefs, scales: Sequence[Outcomes]) -> Beliefs:
    return [
        Counted(model, scale) for model, scale in zip(models, scales, strict=True) if isinstance(model, EnsembleModel)
    ]


def legacy_rows(trial: Trial) -> tuple[Float[Tensor, "n c"], Float[Tensor, "n 1"]]:
    """Legacy rows as models take them: the codes of general inputs last, outcomes such that large is good."""
    return _tensors(trial.legacy_x, trial.legacy_codes, trial.sign * trial.legacy_y)


def current_rows(trial: Trial, rows: Rows) -> tuple[Float[Tensor, "k c"], Float[Tensor, "k 1"]]:
    """Current rows likewise."""
    x, y = rows
    return _tensors(x, np.tile(trial.current_codes, (len(x), 1)), trial.sign * y)


def general_columns(trial: Trial) -> dict[int, int]:
    """The columns of general inputs, and how many levels each has, the current task's included."""
    largest = np.vstack([trial.legacy_codes, trial.current_codes]).max(0)
    return {trial.x.shape[-1] + g: int(code) + 1 for g, code in enumerate(largest)}


def seen_levels(trial: Trial) -> tuple[int, ...]:
    """How many levels of each general input have legacy rows."""
    return tuple(len(np.unique(codes)) for codes in trial.legacy_codes.T)


def kernel_of(model: BEGP) -> str:
    """The name of a model's kernel: models of one batch share it."""
    return model.structure.kernel.name


def _alike(keys: Sequence[tuple[int | str, ...]]) -> list[list[int]]:
    """The places of equal keys: models with as many levels, and one kernel, can be trained as one batch."""
    places: dict[tuple[int | str, ...], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())


def unit_cube(trial: Trial) -> Float[Tensor, "2 c"]:
    """Bounds of [x, general inputs]."""
    bounds = torch.zeros(2, trial.x.shape[-1] + len(trial.current_codes), dtype=torch.float64)
    bounds[1] = 1.0
    return bounds


def _tensors(x: np.ndarray, codes: np.ndarray, y: np.ndarray) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(np.column_stack([x, codes])), torch.from_numpy(y).unsqueeze(-1)
