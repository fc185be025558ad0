r"""RGPE, the ranking-weighted Gaussian process ensemble (Feurer, Letham, Bakshy 2018), of BoTorch's GPs.

A GP a legacy task, on that task's standardised outcomes, and one of the current rows. Each gets the share of joint
posterior samples in which it misranks the fewest pairs of current rows (the current one judged by leaving a row out):

    mean = sum_i w_i mean_i,     variance = sum_i w_i^2 variance_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from botorch.models.model import Model
from torch import Tensor

from headstart.benchmark.beliefs import ImprovingBelief
from headstart.benchmark.contenders import Rows
from headstart.benchmark.peers.peer import Peer, fitted_gp, legacy_gps
from headstart.benchmark.systems import Trial
from headstart.models.mixture import Mixture
from headstart.shapes import Float


@dataclass(frozen=True, kw_only=True)
class RankedEnsemble(Peer):
    """RGPE. Without two current rows to rank, all legacy models weigh the same."""

    label: str = "RGPE"
    samples: int = 256

    def believe(self, trial: Trial, rows: Rows, seed: int) -> RankedBelief:
        """Each model in units of its own task; the ensemble in those of the current rows, or of all legacy ones."""
        x, y = rows
        models = [Standardised(*each) for each in legacy_gps(trial)]
        scale = y if len(y) > 1 else trial.legacy_y
        centre, spread = float(scale.mean()), float(scale.std()) or 1.0
        if len(y) == 0:
            weights = np.full(len(models), 1 / len(models))
        else:
            models = [*models, Standardised(fitted_gp(x, y), centre, spread)]
            weights = self._weights(models, x, y, seed)
        return RankedBelief(trial.sign, y, models, weights, centre, spread)

    def _weights(self, models: list[Standardised], x: np.ndarray, y: np.ndarray, seed: int) -> Float[np.ndarray, " m"]:
        if len(y) < 2:
            return np.array([1 / (len(models) - 1)] * (len(models) - 1) + [0.0])
        X = torch.from_numpy(x)
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(seed)
            # Ranks do not depend on units.
            drawn = [each.model.posterior(X).rsample(torch.Size([self.samples])).squeeze(-1) for each in models[:-1]]
            left_out = _left_out(models[-1].model, X, torch.from_numpy(y), self.samples).numpy()
        order = y[:, None] < y
        of_legacy = [((f[:, :, None] < f[:, None]) != order).sum((1, 2)) for f in map(Tensor.numpy, drawn)]
        # The model that knows all rows but one: the others are what was measured.
        of_own = ((left_out[:, :, None] < y) != order)[:, ~np.eye(len(y), dtype=bool)].sum(1)
        losses = np.array([*of_legacy, of_own])
        is_best = losses == losses.min(0)
        # Of equally good ones the current task's own model wins; legacy models share.
        is_best[:-1] &= ~is_best[-1]
        return (is_best / is_best.sum(0)).mean(1)


@dataclass(frozen=True, eq=False)
class Standardised:
    """A GP of a task, and the units in which its outcomes have mean 0 and standard deviation 1."""

    model: Model
    centre: float
    spread: float

    def moments(self, x: Float[np.ndarray, "t d"], noise: bool) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance."""
        with torch.no_grad():
            posterior = self.model.posterior(torch.from_numpy(x), observation_noise=noise)
        mean, variance = (part.detach().flatten().numpy() for part in (posterior.mean, posterior.variance))
        return (mean - self.centre) / self.spread, variance / self.spread**2


@dataclass(frozen=True, eq=False)
class RankedBelief(ImprovingBelief):
    """The ensemble."""

    models: list[Standardised]
    weights: Float[np.ndarray, " m"]
    centre: float
    spread: float

    def predict(self, x: Float[np.ndarray, "t d"], *, noise: bool = True) -> Mixture:
        """One normal."""
        means, variances = zip(*(model.moments(x, noise) for model in self.models), strict=True)
        mean, variance = self.weights @ np.array(means), self.weights**2 @ np.array(variances)
        return Mixture(self.centre + self.spread * mean[None], self.spread * np.sqrt(np.maximum(variance, 1e-12))[None])


def _left_out(model: Model, X: Tensor, y: Tensor, samples: int) -> Tensor:
    """Samples of f at each row by the model without that row, its hyperparameters kept, in closed form."""
    with torch.no_grad():
        model.eval()
        prior = model.forward(model.transform_inputs(X))
        noise = model.likelihood.noise.mean()
        precision = torch.linalg.inv(prior.covariance_matrix + noise * torch.eye(len(y), dtype=y.dtype))
        transform = getattr(model, "outcome_transform", None)
        units = y if transform is None else transform(y.unsqueeze(-1))[0].squeeze(-1)
        variance = 1 / precision.diagonal()
        mean = units - variance * (precision @ (units - prior.mean))
        drawn = mean + (variance - noise).clamp_min(0.0).sqrt() * torch.randn(samples, len(y), dtype=y.dtype)
        return drawn if transform is None else transform.untransform(drawn.unsqueeze(-1))[0].squeeze(-1)
