"""Parameters by name, and the flat vector an optimiser sees.

A model's parameters are a plain dictionary of tensors, each with any number of leading batch dimensions:
restarts while fitting, draws when hyperparameters were sampled, none when fitted. A `Layout` lists them
with their shapes, bounds and priors and packs them into vectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from headstart.shapes import Float

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Parameter:
    """One named parameter in the coordinate it is optimised in (positive ones in their logarithm).

    `prior_mean` and `prior_sd` give a Gaussian prior on that coordinate; `prior_sd = inf` is flat.
    `start` is where optimisation begins and `spread` how far restarts scatter around it.
    """

    shape: tuple[int, ...] = ()
    lower: float = -math.inf
    upper: float = math.inf
    prior_mean: float = 0.0
    prior_sd: float = math.inf
    start: float | Tensor = 0.0
    spread: float = 0.0

    @property
    def size(self) -> int:
        """Number of scalars."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """The order in which named parameters fill a vector of length P."""

    entries: Mapping[str, Parameter]

    @property
    def size(self) -> int:
        """The length P of the vector."""
        return sum(parameter.size for parameter in self.entries.values())

    def unpack(self, vector: Float[Tensor, "*batch P"]) -> Parameters:
        """Views of a vector (or a batch of them) by name."""
        pieces = vector.split([p.size for p in self.entries.values()], dim=-1)
        return {
            name: piece.reshape(vector.shape[:-1] + parameter.shape)
            for (name, parameter), piece in zip(self.entries.items(), pieces, strict=True)
        }

    def pack(self, parameters: Parameters) -> Float[Tensor, "*batch P"]:
        """The inverse of `unpack`."""
        return torch.cat(
            [parameters[name].reshape((*self._batch(parameters[name], p), p.size)) for name, p in self.entries.items()],
            dim=-1,
        )

    @cached_property
    def bounds(self) -> Float[np.ndarray, "P 2"]:
        """Lower and upper bounds, as L-BFGS-B wants them."""
        return np.stack([self._spread_out("lower"), self._spread_out("upper")], axis=-1)

    def starts(self, restarts: int, *, seed: int) -> Float[Tensor, "{restarts} P"]:
        """Starting vectors: the first at each parameter's start, the others scattered around it."""
        noise = np.random.default_rng(seed).standard_normal((restarts, self.size))
        noise[0] = 0.0
        centre = np.concatenate(
            [np.broadcast_to(np.asarray(p.start, dtype=float), p.shape).ravel() for p in self.entries.values()]
        )
        low, high = self.bounds.T
        scattered = centre + noise * self._spread_out("spread")
        return torch.from_numpy(np.clip(scattered, low, high))

    def log_prior(self, vector: Float[Tensor, "*batch P"]) -> Float[Tensor, "*batch"]:
        """Sum of the Gaussian log densities, without their constants."""
        mean, precision = (prior.to(vector.device) for prior in self.prior)
        return (vector - mean).square() @ (-0.5 * precision)

    @cached_property
    def prior(self) -> tuple[Float[Tensor, " P"], Float[Tensor, " P"]]:
        """Mean and precision of every scalar."""
        precision = self._spread_out("prior_sd") ** -2.0
        return torch.from_numpy(self._spread_out("prior_mean")), torch.from_numpy(precision)

    def _spread_out(self, field: str) -> Float[np.ndarray, " P"]:
        return np.repeat(
            [float(getattr(p, field)) for p in self.entries.values()],
            [p.size for p in self.entries.values()],
        )

    @staticmethod
    def _batch(tensor: Tensor, parameter: Parameter) -> torch.Size:
        return tensor.shape[: tensor.dim() - len(parameter.shape)]
