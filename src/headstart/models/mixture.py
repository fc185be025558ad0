r"""Predictions that are mixtures of normals, and their scores.

A mixture of s normals with means m_i and standard deviations s_i, all of one weight, holds every method here: s = 1 for
a plain GP, one normal a draw for sampled models. Its scores are in closed form. With A(m, s) = E|N(m, s^2)|
= 2 s phi(m / s) + m (2 Phi(m / s) - 1), the continuous ranked probability score of an outcome y is

    CRPS = 1/s sum_i A(y - m_i, s_i) - 1/(2 s^2) sum_ij A(m_i - m_j, sqrt(s_i^2 + s_j^2)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import special, stats
from torch import Tensor

from headstart.models.ensemble_model import EnsembleModel
from headstart.shapes import Float

# Points whose pairs of normals are held at once.
_POINTS_AT_ONCE = 128
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

    @property
    def moments(self) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
        """Mean and standard deviation: the paper's moment-matched normal."""
        centre = self.mean.mean(0)
        return centre, np.sqrt((self.sd**2 + (self.mean - centre) ** 2).mean(0))

    def log_density(self, y: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """log p(y)."""
        return special.logsumexp(stats.norm.logpdf(y, self.mean, self.sd), axis=0) - np.log(len(self.mean))

    def cdf(self, y: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """The probability of less than y. Of believable predictions it is uniform over outcomes."""
        return stats.norm.cdf(y, self.mean, self.sd).mean(0)

    def crps(self, y: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """The continuous ranked probability score, in the units of y: the absolute error of a point."""
        spread = []
        for start in range(0, self.mean.shape[-1], _POINTS_AT_ONCE):
            mean, sd = (part[:, start : start + _POINTS_AT_ONCE] for part in (self.mean, self.sd))
            spread.append(_absolute(mean[:, None] - mean, np.hypot(sd[:, None], sd)).mean((0, 1)))
        return _absolute(y - self.mean, self.sd).mean(0) - 0.5 * np.concatenate(spread)


def measurements(model: EnsembleModel, X: Float[Tensor, "t d"]) -> Mixture:
    """What a model expects of a measurement, noise included, at each row: one normal a draw."""
    per_row = model.posterior_draws * len(model.train_X)
    pieces = []
    with torch.no_grad():
        for rows in X.to(model.train_X).split(max(_PREDICTION_SIZE // per_row, 1)):
            posterior = model.posterior(rows.unsqueeze(-2), observation_noise=True)
            pieces.append(torch.stack([posterior.mean, posterior.variance.sqrt()]).reshape(2, len(rows), -1))
    mean, sd = torch.cat(pieces, 1).transpose(1, 2).cpu().numpy()
    return Mixture(mean, sd)


def _absolute(mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """E|N(mean, sd^2)|."""
    u = mean / sd
    return 2 * sd * stats.norm.pdf(u) + mean * (2 * stats.norm.cdf(u) - 1)
