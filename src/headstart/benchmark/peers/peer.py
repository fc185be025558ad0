"""What adapters share: a peer is fitted anew for each trial and number of rows, on one thread."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.models.transforms import Standardize
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from headstart.benchmark.beliefs import ImprovingBelief, PeerBelief
from headstart.benchmark.contenders import Beliefs, Contender, Rows
from headstart.benchmark.systems import Trial
from headstart.models.mixture import Mixture
from headstart.shapes import Float

# L-BFGS iterations of a peer's fit. To their own ends some take a minute a fit, without doing better here.
ITERATIONS = 200


@dataclass(frozen=True, kw_only=True)
class Peer(Contender):
    """A method that believes something of a trial and the current rows so far."""

    @abstractmethod
    def believe(self, trial: Trial, rows: Rows, seed: int) -> PeerBelief:
        """What it believes after these rows of the current task."""

    def begin(self, trials: Sequence[Trial], seeds: Sequence[int], *, device: str) -> Beliefs:
        """Legacy rows alone. Peers compute on the CPU."""
        none = [(trial.x[:0], trial.y[:0]) for trial in trials]
        return self._all(trials, none, seeds)

    def learn(
        self, beliefs: Beliefs, trials: Sequence[Trial], seeds: Sequence[int], rows: Sequence[Rows], new: int
    ) -> Beliefs:
        """Fitted anew."""
        return self._all(trials, rows, seeds)

    def _all(self, trials: Sequence[Trial], rows: Sequence[Rows], seeds: Sequence[int]) -> Beliefs:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # their business
                return [self.believe(*each) for each in zip(trials, rows, seeds, strict=True)]
        finally:
            torch.set_num_threads(threads)


@dataclass(frozen=True, eq=False)
class GPBelief(ImprovingBelief):
    """A BoTorch model of [x, further columns], fitted to the outcomes as they are."""

    model: Model
    further: tuple[float, ...] = ()

    def predict(self, x: Float[np.ndarray, "t d"], *, noise: bool = True) -> Mixture:
        """Its posterior, a mixture if it has draws."""
        columns = np.column_stack([x, np.tile(self.further, (len(x), 1))]) if self.further else x
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            posterior = self.model.posterior(torch.from_numpy(columns), observation_noise=noise)
            mean, variance = (part.squeeze(-1).reshape(-1, len(x)) for part in (posterior.mean, posterior.variance))
        return Mixture(mean.detach().numpy(), variance.detach().clamp_min(1e-16).sqrt().numpy())


def all_rows(trial: Trial, rows: Rows) -> tuple[Float[Tensor, "n d+1"], Float[Tensor, "n 1"]]:
    """Legacy and current rows, the task's code last."""
    x, y = rows
    codes = np.concatenate([trial.legacy_task, np.full(len(y), trial.tasks)])
    X = np.column_stack([np.concatenate([trial.legacy_x, x]), codes])
    return torch.from_numpy(X), torch.from_numpy(np.concatenate([trial.legacy_y, y])[:, None])


def fitted(model: Model) -> Model:
    """The model at the maximum of its marginal likelihood."""
    fit_gpytorch_mll(
        ExactMarginalLogLikelihood(model.likelihood, model),
        optimizer_kwargs={"options": {"maxiter": ITERATIONS}},
    )
    return model


def fitted_gp(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> Model:
    """BoTorch's standard GP of these rows."""
    X, Y = torch.from_numpy(x), torch.from_numpy(y[:, None])
    # BoTorch starts a failed fit again at a random place.
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return fitted(SingleTaskGP(X, Y, outcome_transform=Standardize(1) if len(y) > 1 else None))


@lru_cache(maxsize=1)
def legacy_gps(trial: Trial) -> list[tuple[Model, float, float]]:
    """A GP a legacy task, and the mean and standard deviation of its outcomes. They are the same at every step."""
    found = []
    for task in range(trial.tasks):
        of_task = trial.legacy_task == task
        y = trial.legacy_y[of_task]
        found.append((fitted_gp(trial.legacy_x[of_task], y), float(y.mean()), float(y.std()) or 1.0))
    return found
