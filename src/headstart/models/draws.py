"""Fixed draws of the latents: what makes the sampled ELBO a smooth function.

Every expectation over q(Z) in this package is an average over the same standard normal numbers eps,
with z = m + s * eps. They are drawn once, so two evaluations differ only through their parameters
(common random numbers), and they are drawn evenly, so that few are enough:

- *quasi-random*: each level gets a randomly shifted copy of one Sobol net, in a random order, so that
  the levels are independent of each other;
- *antithetic*: the second half is the mirror image of the first, so every odd moment is exact;
- *matched*: scaled to unit second moment in every coordinate, so quadratic functions are integrated
  exactly along every axis.

The numbers of level i do not depend on how many levels there are. A new level therefore leaves the draws
of the others alone, and a warm start really continues the same objective.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from scipy.special import ndtri
from scipy.stats import qmc
from torch import Tensor

from headstart.shapes import Float


@lru_cache(maxsize=256)
def normal_draws(
    draws: int, levels: int, dim: int, *, seed: int, stream: int = 0
) -> Float[Tensor, "{draws} {levels} {dim}"]:
    """Standard normal draws for `levels` latents of dimension `dim`.

    `stream` separates the general inputs of one model, which share a seed. The tensor is shared by all who ask for the
    same: it must not be changed.

    >>> eps = normal_draws(8, levels=3, dim=2, seed=0)
    >>> eps.shape
    torch.Size([8, 3, 2])
    >>> bool(eps.mean(0).abs().max() < 1e-12), bool((eps.square().mean(0) - 1).abs().max() < 1e-12)
    (True, True)
    """
    half = draws // 2
    net = _sobol_net(half, dim)
    # One generator a quantity, filled level by level: level i's numbers come from the i-th block
    # whatever `levels` is.
    shift = np.random.default_rng([seed, stream, 0]).random((levels, 1, dim))
    order = np.random.default_rng([seed, stream, 1]).random((levels, half)).argsort(axis=-1)
    uniform = (net[order] + shift) % 1.0
    eps = ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12))
    # An odd draw is the mean itself; the others make up for it.
    middle = np.zeros((levels, draws % 2, dim))
    if half:
        eps *= np.sqrt(draws / (2 * half) / np.mean(eps**2, axis=1, keepdims=True))
    mirrored = np.concatenate([eps, middle, -eps], axis=1)
    return torch.from_numpy(np.ascontiguousarray(mirrored.swapaxes(0, 1)))


def _sobol_net(points: int, dim: int) -> Float[np.ndarray, "{points} {dim}"]:
    """The first points of the Sobol sequence, rounded up to the power of two that makes it a net."""
    sequence = qmc.Sobol(dim, scramble=False)
    return sequence.random_base2(max(points - 1, 0).bit_length())[:points]
