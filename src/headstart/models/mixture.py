r"""Predictions that are mixtures of normals, and their scores.

A mixture of s normals with means m_i and standard deviations s_i, all of one weight, holds every method here: s = 1 for
a plain GP, one normal a draw for sampled models. Its scores are in closed form. With A(m, s) = E|N(m, s^2)|
= 2 s phi(m / s) + m (2 Phi(m / s) - 1), the continuous ranked probability score of an outcome y is

    CRPS = 1/s sum_i A(y - m_i, s_i) - 1/(2 s^2) sum_ij A(m_i - m_j, sqrt(s_i^2 + s_j^2)).

Where a model counts outcomes by a bent scale, see `outcomes`, densities gain its slope, probabilities stay as they are,
and moments and the CRPS are sums over the same quantiles of every normal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import special, stats
from torch import Tensor

from headstart.models.ensemble_model import EnsembleModel
from headstart.models.outcomes import Outcomes
from headstart.shapes import Float

_AS_THEY_ARE = Outcomes()
# Points whose pairs of normals are held at once.
_POINTS_AT_ONCE = 128
# Nodes of the quadrature over each normal where outcomes are bent, and quantiles of each for the CRPS.
_NODES, _QUANTILES = 32, 25
# Entries of the largest array in a prediction: rows x draws x training rows.
_PREDICTION_SIZE = 2**24


@dataclass(frozen=True, eq=False)
class Mixture:
    """Predictions at t points, each a mixture of s normals.

    >>> tossed = Mixture(np.array([[-1.0], [1.0]]), np.full((2, 1), 0.1))
    >>> tossed.moments[0], tossed.cdf(np.array([0.0]))
    (array([0.]), array([0.5]))
    """

    mean: Float[np.ndarray, "s t"]
    sd: Float[np.ndarray, "s t"]
    outcomes: Outcomes = _AS_THEY_ARE

    @property
    def moments(self) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
        """Mean and standard deviation: the paper's moment-matched normal."""
        if self.outcomes.is_straight:
            centre = self.mean.mean(0)
            sd = np.sqrt((self.sd**2 + (self.mean - centre) ** 2).mean(0))
            return self.outcomes.outside(centre), sd * self.outcomes.scale
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        mean, sd = self._summed(nodes, weights / weights.sum(), _moments)
        return mean, sd

    def log_density(self, y: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """log p(y)."""
        each = stats.norm.logpdf(self.outcomes.inside(y), self.mean, self.sd)
        return special.logsumexp(each, axis=0) - np.log(len(self.mean)) + self.outcomes.log_slope(y)

    def cdf(self, y: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """The probability of less than y. Of believable predictions it is uniform over outcomes."""
        below = stats.norm.cdf(self.outcomes.inside(y), self.mean, self.sd).mean(0)
        return below if self.outcomes.sign > 0 else 1.0 - below

    def crps(self, y: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """The continuous ranked probability score, in the units of y: the absolute error of a point."""
        if not self.outcomes.is_straight:
            nodes = stats.norm.ppf((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
            return self._summed(nodes, np.full(_QUANTILES, 1.0 / _QUANTILES), _crps, np.asarray(y))
        y, spread = self.outcomes.inside(y), []
        for start in range(0, self.mean.shape[-1], _POINTS_AT_ONCE):
            mean, sd = (part[:, start : start + _POINTS_AT_ONCE] for part in (self.mean, self.sd))
            spread.append(_absolute(mean[:, None] - mean, np.hypot(sd[:, None], sd)).mean((0, 1)))
        return self.outcomes.scale * (_absolute(y - self.mean, self.sd).mean(0) - 0.5 * np.concatenate(spread))

    def _summed(
        self,
        nodes: Float[np.ndarray, " k"],
        weights: Float[np.ndarray, " k"],
        of: Callable[..., Any],
        *rows: np.ndarray,
    ) -> Any:
        """A function of outcomes at the nodes of all normals, `t x (s k)`, and their weights; some points at once."""
        pieces = []
        for start in range(0, self.mean.shape[-1], _POINTS_AT_ONCE):
            some = slice(start, start + _POINTS_AT_ONCE)
            mean, sd = self.mean[:, some].T[..., None], self.sd[:, some].T[..., None]
            values = self.outcomes.outside(mean + sd * nodes).reshape(len(mean), -1)
            pieces.append(of(values, np.tile(weights, len(self.mean)) / len(self.mean), *(part[some] for part in rows)))
        return np.concatenate(pieces, axis=-1)


def measurements(model: EnsembleModel, X: Float[Tensor, "t d"], outcomes: Outcomes = _AS_THEY_ARE) -> Mixture:
    """What a model that counts outcomes so expects of a measurement, noise included, at each row: one normal a draw."""
    per_row = model.posterior_draws * len(model.train_X)
    pieces = []
    with torch.no_grad():
        for rows in X.to(model.train_X).split(max(_PREDICTION_SIZE // per_row, 1)):
            posterior = model.posterior(rows.unsqueeze(-2), observation_noise=True)
            pieces.append(torch.stack([posterior.mean, posterior.variance.sqrt()]).reshape(2, len(rows), -1))
    mean, sd = torch.cat(pieces, 1).transpose(1, 2).cpu().numpy()
    return Mixture(mean, sd, outcomes)


def _moments(values: Float[np.ndarray, "t k"], weights: Float[np.ndarray, " k"]) -> Float[np.ndarray, "2 t"]:
    mean = values @ weights
    return np.stack([mean, np.sqrt((values - mean[:, None]) ** 2 @ weights)])


def _crps(
    values: Float[np.ndarray, "t k"], weights: Float[np.ndarray, " k"], y: Float[np.ndarray, " t"]
) -> Float[np.ndarray, " t"]:
    """E|Y - y| - 1/2 E|Y - Y'| of values of one weight, the second term from their order."""
    ordered, count = np.sort(values, axis=-1), values.shape[-1]
    ranks = 2.0 * np.arange(count) - count + 1.0
    return np.abs(values - y[:, None]) @ weights - ordered @ ranks / count**2


def _absolute(mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """E|N(mean, sd^2)|."""
    u = mean / sd
    return 2 * sd * stats.norm.pdf(u) + mean * (2 * stats.norm.cdf(u) - 1)
