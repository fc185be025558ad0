r"""Outcomes as the model counts them: larger is better, near 1 in size, and not lopsided.

A Gaussian process expects deviations to either side alike. Yields that are mostly small and sometimes large, or
accuracies that crowd below 1, are not like that. So outcomes y are standardised, v = (y - c) / s with the sign of the
goal, and passed through the Yeo-Johnson transform

    g(v) = ((1 + v)^p - 1) / p  for v >= 0,     -((1 - v)^(2 - p) - 1) / (2 - p)  for v < 0,

with logarithms where a power is 0. The power p in [0, 2] is the most likely one if g(v) were normal over the whole
archive; p = 1 changes nothing, and is kept unless another is clearly more likely. Beyond the archive's outcomes g goes
on as a straight line: no prediction is blown up by a power that nothing there speaks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from scipy import optimize, special
from torch import Tensor

from headstart.shapes import Float

# A power must be so much more likely than 1, in nats. Lists of a few dozen rows show less than that by chance.
_CLEARLY = 5.0
_POWERS = (0.0, 2.0)
# Outcomes all but equal have no shape.
_CONSTANT = 1e-12


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """Maps between the user's outcomes and the model's.

    >>> skewed = np.exp(np.linspace(-2, 3, 60))
    >>> scale = Outcomes.of(skewed, sign=1)
    >>> round(scale.power, 2) < 0.3, np.allclose(scale.outside(scale.inside(skewed)), skewed)
    (True, True)
    """

    sign: int = 1
    centre: float = 0.0
    scale: float = 1.0
    power: float = 1.0
    low: float = 0.0
    high: float = 0.0

    @classmethod
    def of(cls, y: Float[np.ndarray, " n"], *, sign: int) -> Outcomes:
        """Those that suit an archive's outcomes."""
        y = np.asarray(y, dtype=float)
        centre, scale, size = float(y.mean()), float(y.std()), float(np.abs(y).max())
        if scale <= _CONSTANT * size:
            return cls(sign=sign, scale=size or 1.0)
        v = sign * (y - centre) / scale
        return cls(sign=sign, centre=centre, scale=scale, power=_power(v), low=float(v.min()), high=float(v.max()))

    @property
    def is_straight(self) -> bool:
        """Whether g is the identity."""
        return self.power == 1.0

    def inside(self, y: Float[np.ndarray, "*b"]) -> Float[np.ndarray, "*b"]:
        """g(v), as the model sees outcomes."""
        v = self.sign * (y - self.centre) / self.scale
        return v if self.is_straight else self._bent(v)

    def outside(self, u: Float[np.ndarray, "*b"]) -> Float[np.ndarray, "*b"]:
        """Back to the user's units."""
        return self.of_value(self.straightened(u))

    def of_value(self, v: Float[np.ndarray, "*b"]) -> Float[np.ndarray, "*b"]:
        """The user's outcomes of v."""
        return self.centre + self.sign * self.scale * v

    def value(self, u: Tensor) -> Tensor:
        """`straightened` of a tensor."""
        return u if self.is_straight else torch.from_numpy(self.straightened(u.cpu().numpy())).to(u)

    def straightened(self, u: Float[np.ndarray, "*b"]) -> Float[np.ndarray, "*b"]:
        """The v of g(v): larger is still better, in standard deviations of the archive's outcomes."""
        if self.is_straight:
            return u
        low, high = self._ends
        within = np.clip(u, low, high)
        up = special.inv_boxcox1p(np.maximum(within, 0.0), self.power)
        down = special.inv_boxcox1p(np.maximum(-within, 0.0), 2.0 - self.power)
        v = np.where(within >= 0, up, -down)
        return v + (u - within) * np.exp(-self._log_bend(v))

    def log_slope(self, y: Float[np.ndarray, "*b"]) -> Float[np.ndarray, "*b"]:
        """log |d inside / dy|: what a density in the model's units gains in the user's."""
        v = self.sign * (y - self.centre) / self.scale
        return self._log_bend(v) - np.log(self.scale)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)

    @classmethod
    def from_dict(cls, numbers: Mapping[str, Any]) -> Outcomes:
        """What `to_dict` gave."""
        named = {name: float(numbers[name]) for name in ("centre", "scale", "power", "low", "high")}
        return cls(sign=int(numbers["sign"]), **named)

    @property
    def _ends(self) -> tuple[float, float]:
        """g of the archive's extremes."""
        low, high = self._bent(np.array([self.low, self.high]))
        return float(low), float(high)

    def _bent(self, v: np.ndarray) -> np.ndarray:
        within = np.clip(v, self.low, self.high)
        return _bent(within, self.power) + (v - within) * np.exp(self._log_bend(within))

    def _log_bend(self, v: np.ndarray) -> np.ndarray:
        """log g'(v)."""
        within = np.clip(v, self.low, self.high) if not self.is_straight else v
        return (self.power - 1.0) * np.sign(within) * np.log1p(np.abs(within))


def _power(v: Float[np.ndarray, " n"]) -> float:
    """The most likely power, 1 unless it is clearly more likely."""

    def log_likelihood(p: float) -> float:
        return float((p - 1.0) * (np.sign(v) * np.log1p(np.abs(v))).sum() - 0.5 * len(v) * np.log(_bent(v, p).var()))

    found = optimize.minimize_scalar(lambda p: -log_likelihood(p), bounds=_POWERS, method="bounded")
    # The search stops short of the bounds, and very small powers are none to compute with.
    best = max((round(float(found.x), 3), *_POWERS), key=log_likelihood)
    return best if log_likelihood(best) - log_likelihood(1.0) > _CLEARLY else 1.0


def _bent(v: Float[np.ndarray, "*b"], p: float) -> Float[np.ndarray, "*b"]:
    """g(v)."""
    up, down = special.boxcox1p(np.maximum(v, 0.0), p), special.boxcox1p(np.maximum(-v, 0.0), 2.0 - p)
    return np.where(v >= 0, up, -down)
