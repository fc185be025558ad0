r"""The current task as a linear combination of legacy models, after Ghosh et al. (2018).

A GP a legacy task, with means m_i(x), and y = c + sum_i w_i m_i(x) + noise. All m_i, c and the noise are in units of
the legacy outcomes. The weights have the prior N(1/T, 1/T) and c has N(0, 1), so that without rows the prediction is
the average task; the noise, which also holds what no combination can express, is the one of greatest evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from botorch.models.model import Model
from scipy import stats

from headstart.benchmark.beliefs import ImprovingBelief
from headstart.benchmark.contenders import Rows
from headstart.benchmark.peers.peer import Peer, legacy_gps
from headstart.benchmark.systems import Trial
from headstart.models.mixture import Mixture
from headstart.shapes import Float

# Noise variances among which the evidence chooses, and the one without rows.
_NOISES = np.geomspace(1e-4, 1.0, 13)
_UNKNOWN = 0.1


@dataclass(frozen=True, kw_only=True)
class LegacyCombination(Peer):
    """Bayesian linear regression on the legacy models' means."""

    label: str = "legacy combination"

    def believe(self, trial: Trial, rows: Rows, seed: int) -> CombinationBelief:
        """The posterior of the weights."""
        x, y = rows
        centre, spread = float(trial.legacy_y.mean()), float(trial.legacy_y.std()) or 1.0
        models = [model for model, _, _ in legacy_gps(trial)]
        prior_mean = np.append(np.full(trial.tasks, 1 / trial.tasks), 0.0)
        prior = np.append(np.full(trial.tasks, 1 / trial.tasks), 1.0)
        features, told = _features(models, x, centre, spread), (y - centre) / spread
        noise = _UNKNOWN
        if len(y):
            covariance = (features * prior) @ features.T
            evidence = [
                stats.multivariate_normal.logpdf(told, features @ prior_mean, covariance + n * np.eye(len(y)))
                for n in _NOISES
            ]
            noise = float(_NOISES[int(np.argmax(evidence))])
        posterior = np.linalg.inv(np.diag(1 / prior) + features.T @ features / noise)
        weights = posterior @ (prior_mean / prior + features.T @ told / noise)
        return CombinationBelief(trial.sign, y, models, weights, posterior, noise, centre, spread)


@dataclass(frozen=True, eq=False)
class CombinationBelief(ImprovingBelief):
    """Weights with their covariance."""

    models: list[Model]
    weights: Float[np.ndarray, " w"]
    covariance: Float[np.ndarray, "w w"]
    noise: float
    centre: float
    spread: float

    def predict(self, x: Float[np.ndarray, "t d"], *, noise: bool = True) -> Mixture:
        """One normal. What no combination can express is part of the response, so the noise always counts."""
        features = _features(self.models, x, self.centre, self.spread)
        variance = np.einsum("tw,wv,tv->t", features, self.covariance, features) + self.noise
        mean = self.centre + self.spread * features @ self.weights
        return Mixture(mean[None], self.spread * np.sqrt(variance)[None])


def _features(
    models: list[Model], x: Float[np.ndarray, "t d"], centre: float, spread: float
) -> Float[np.ndarray, "t w"]:
    """The means of all models, in units of all legacy outcomes, and a constant."""
    if len(x) == 0:
        return np.empty((0, len(models) + 1))
    with torch.no_grad():
        means = [model.posterior(torch.from_numpy(x)).mean.detach().flatten().numpy() for model in models]
    return np.column_stack([*((mean - centre) / spread for mean in means), np.ones(len(x))])
