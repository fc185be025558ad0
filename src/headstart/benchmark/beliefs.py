"""What a method believes of the current task: predictions, as mixtures of normals, and a choice among candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from headstart.models.mixture import Mixture
from headstart.shapes import Float, Int


class PeerBelief(ABC):
    """What a method with a model of its own kind believes, knowing the rows it was given."""

    @abstractmethod
    def predict(self, x: Float[np.ndarray, "t d"], *, noise: bool = True) -> Mixture:
        """Measurements, or the response itself, in the units of the outcomes."""

    @abstractmethod
    def choose(self, candidates: Float[np.ndarray, "c d"]) -> int:
        """Which of the candidates to try next."""


@dataclass(frozen=True, eq=False)
class ImprovingBelief(PeerBelief):
    """One that takes the best mean first, then the greatest expected improvement over the best outcome so far."""

    sign: int
    measured: Float[np.ndarray, " k"]

    def choose(self, candidates: Float[np.ndarray, "c d"]) -> int:
        """In logarithms, which do not vanish."""
        response = self.predict(candidates, noise=False)
        if len(self.measured) == 0:
            return int((self.sign * response.moments[0]).argmax())
        best = (self.sign * self.measured).max()
        return int(log_expected_improvement(self.sign * response.mean, response.sd, best).argmax())


def log_expected_improvement(
    mean: Float[np.ndarray, "s t"], sd: Float[np.ndarray, "s t"], best: float
) -> Float[np.ndarray, " t"]:
    """log E[max(f - best, 0)] of a mixture; the formula cancels far below the best, where its limit takes over.

    >>> log_expected_improvement(np.zeros((1, 1)), np.ones((1, 1)), 0.0).round(4)  # log phi(0)
    array([-0.9189])
    """
    u = (mean - best) / sd
    near = np.maximum(u, -30.0)
    log_h = np.where(
        u > -30.0,
        np.log(stats.norm.pdf(near) + near * stats.norm.cdf(near)),
        stats.norm.logpdf(u) - 2 * np.log(np.maximum(-u, 1.0)),
    )
    return special.logsumexp(log_h + np.log(sd), axis=0) - np.log(len(mean))


def free_places(x: Float[np.ndarray, "m d"], measured: Float[np.ndarray, "k d"]) -> Int[np.ndarray, " f"]:
    """Which candidates have not been measured."""
    return np.flatnonzero((x[:, None] != measured).any(-1).all(-1))
