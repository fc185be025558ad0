r"""Hamiltonian Monte Carlo over latents and hyperparameters: short chains side by side, from a variational fit on.

Variational inference gives Z a Gaussian and the hyperparameters theta a point. With few rows that is too sure of
itself: other length scales, or another noise, would explain the rows as well. Here draws come from the posterior,

    log p(Z, theta | y) = log p(y | Z, theta) + log N(Z | 0, I) + log p(theta) + const.

All chains, of one model or of many, move in step: a leapfrog step is one batched gradient, the closed form that
training uses. They start between the centre of q and draws of it, so they have no search to do, and end after some
ten iterations. Each coordinate moves on its own scale: its standard deviation in q(Z) or, of theta, the one that the
curvature gives, and later what the chains show. The step's size follows the share that is accepted. Bounds of theta,
such as the floor of the noise, reflect a chain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from headstart.errors import ModelError
from headstart.models.elbo import Structure, section
from headstart.models.embedding import PointEmbedding
from headstart.models.inference import HMC, Objective
from headstart.models.kernels import GPyTorchKernel
from headstart.models.threads import threads_for
from headstart.shapes import Float

# Where chains start: this share of the way from the centre of q to a draw of it.
_SPREAD = 0.5
# Theta is moved so far to either side to measure the curvature.
_PROBE = 0.05
# The share of accepted proposals that the step's size is to lead to, and how fast it follows.
_ACCEPTED, _EAGERNESS = 0.8, 0.8
# The iterations, as shares of all, after which scales are taken from the chains.
_ADAPTATIONS = (0.25, 0.5)

Evaluate = Callable[[Tensor], tuple[Tensor, Tensor]]
"""The log density `p x c` at points `p x c x P`, and its gradient."""


@dataclass(frozen=True)
class _Beginning:
    """For each of p models: the centre of q in the coordinates (theta, Z), c deviations from it, and scales."""

    density: Objective
    centre: Float[Tensor, "p P"]
    deviations: Float[Tensor, "p c P"]
    scale: Float[Tensor, "p P"]


class _Chance:
    """Random numbers for p models, each from a seed of its own: a model's draws do not depend on its company."""

    def __init__(self, seeds: Sequence[int], *, like: Tensor) -> None:
        self._generators = [torch.Generator().manual_seed(int(seed)) for seed in seeds]
        self._like = like

    def normal(self, *shape: int) -> Float[Tensor, "p ..."]:
        return torch.stack([torch.randn(shape, generator=g, dtype=torch.float64) for g in self._generators]).to(
            self._like
        )

    def uniform(self, *shape: int) -> Float[Tensor, "p ..."]:
        return torch.stack([torch.rand(shape, generator=g, dtype=torch.float64) for g in self._generators]).to(
            self._like
        )


def check_can_sample(structure: Structure) -> None:
    """Refuse what has no posterior, or none that is known here."""
    if not structure.is_random:
        raise ModelError("A point embedding has no posterior to draw from: use BEGP, or fit with inference='lbfgs'.")
    if isinstance(structure.kernel, GPyTorchKernel):
        # Its parameters are raw: flat where it has no priors, and without the Jacobian where it has some.
        raise ModelError("HMC does not know the prior of a GPyTorch kernel's parameters: fit with inference='lbfgs'.")


def sample_chains(
    objective: Objective,
    vectors: Float[Tensor, "p P"],
    strategy: HMC,
    *,
    chains: int,
    draws: int,
    report: Callable[[int], None] = lambda gradients: None,
) -> Float[Tensor, "p {draws} P2"]:
    """Draws of (theta, Z) for each model of the objective, from its variational solution on.

    Of each chain the last state is kept, and as many before it as are needed, spread over the second half. Draws follow
    the layout in which every embedding is a point. `report` is told of the gradients so far, after each iteration.
    """
    check_can_sample(objective.structure)
    rows = objective.data.y.shape[-1]
    with torch.no_grad(), threads_for(len(vectors) * chains * rows**2):
        beginning = _beginning(objective, vectors, chains)
        late = _run(beginning, strategy, report)[strategy.iterations // 2 :]
        each = math.ceil(draws / chains)
        # The last states first; where chains are too short for so many, states come again.
        kept = [late[round(place)] for place in np.linspace(len(late) - 1, 0, each)]
        return torch.cat(kept, dim=1)[:, :draws]


def _run(beginning: _Beginning, strategy: HMC, report: Callable[[int], None]) -> list[Float[Tensor, "p c P"]]:
    """The state of every chain after each iteration."""
    density, scale = beginning.density, beginning.scale
    low, high = (torch.from_numpy(bound).to(scale) for bound in density.layout.bounds.T)
    evaluate = _evaluation(density, beginning.deviations.shape[1])
    chance = _Chance(density.seeds, like=scale)
    q, value, gradient = _start(beginning, evaluate, low, high)
    step = torch.full_like(scale[:, None, :1], strategy.step)
    adaptations = {int(share * strategy.iterations) for share in _ADAPTATIONS}
    states = []
    for iteration in range(strategy.iterations):
        p = chance.normal(*q.shape[1:])
        before = value - 0.5 * p.square().sum(-1)
        move = step * (0.8 + 0.4 * chance.uniform(q.shape[1], 1)) * scale.unsqueeze(1)
        x, v, g = q, value, gradient
        p = p + 0.5 * move * g
        try:
            for leap in range(strategy.leapfrogs):
                x = x + move * p
                p = torch.where((x < low) | (x > high), -p, p)
                x = torch.where(x < low, 2 * low - x, torch.where(x > high, 2 * high - x, x)).clamp(low, high)
                v, g = evaluate(x)
                p = p + (move if leap < strategy.leapfrogs - 1 else 0.5 * move) * g
            accepted = (v - 0.5 * p.square().sum(-1) - before).exp().clamp_max(1.0).nan_to_num(0.0)
        except ModelError:  # some chain left the matrices that can be factorised: smaller steps stay among them
            accepted = torch.zeros_like(value)
        moves = chance.uniform(q.shape[1], 1) < accepted.unsqueeze(-1)
        q, gradient = torch.where(moves, x, q), torch.where(moves, g, gradient)
        value = torch.where(moves.squeeze(-1), v, value)
        step = step * (_EAGERNESS * (accepted.mean(-1)[:, None, None] - _ACCEPTED)).exp()
        if iteration in adaptations and q.shape[1] > 1:
            scale = (scale * q.std(1).clamp_min(1e-3 * scale)).sqrt()
        states.append(q)
        report((iteration + 1) * strategy.leapfrogs)
    return states


def _start(beginning: _Beginning, evaluate: Evaluate, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The first states with their densities and gradients: as far from the centre as they can be evaluated."""
    for spread in (_SPREAD, 0.1 * _SPREAD):
        q = (beginning.centre.unsqueeze(1) + spread * beginning.deviations).clamp(low, high)
        with suppress(ModelError):
            return q, *evaluate(q)
    q = beginning.centre.unsqueeze(1).expand_as(beginning.deviations).clone()
    return q, *evaluate(q)


def _beginning(objective: Objective, vectors: Float[Tensor, "p P"], chains: int) -> _Beginning:
    structure, data = objective.structure, objective.data
    points = replace(structure, embeddings=(PointEmbedding(),) * len(structure.embeddings))
    density = replace(objective, structure=points, layout=points.layout(data))
    centre = objective.layout.unpack(vectors.to(data.x))
    scale = {name: torch.ones_like(value) for name, value in centre.items()}
    deviations = {name: torch.zeros_like(value).unsqueeze(1) for name, value in centre.items()}
    # Chains do not begin where the draws are that training used.
    eps = [structure.draws(chains, data.levels, seed=seed + 1) for seed in objective.seeds]
    for g, family in enumerate(structure.embeddings):
        q, name = section(centre, f"embedding.{g}"), f"embedding.{g}.mean"
        drawn = torch.stack([each[g] for each in eps]).to(data.x)
        middle = family.latents(q, torch.zeros_like(drawn[:, :1]))
        deviations[name] = family.latents(q, drawn) - middle
        scale[name] = family.sd(q)
        centre[name] = middle.squeeze(1)
    pack, entries = density.layout.pack, density.layout.entries
    expanded = {name: value.expand(-1, chains, *value.shape[2:]) for name, value in deviations.items()}
    is_latent = torch.cat([torch.full((e.size,), name.startswith("embedding.")) for name, e in entries.items()])
    is_latent = is_latent.to(data.x.device)
    packed, scales = pack(centre), pack(scale)
    scales[:, ~is_latent] = _scale_of_theta(density, packed, (~is_latent).nonzero().squeeze(-1))
    noise = _Chance([seed + 1 for seed in objective.seeds], like=packed).normal(chains, packed.shape[-1])
    moved = torch.where(is_latent, pack(expanded), scales.unsqueeze(1) * noise)
    return _Beginning(density, packed, moved, scales)


def _scale_of_theta(density: Objective, centre: Float[Tensor, "p P"], places: Tensor) -> Float[Tensor, "p t"]:
    """The standard deviation that the curvature at the centre gives each hyperparameter, at most the prior's."""
    count = len(places)
    offsets = centre.new_zeros(count, centre.shape[-1])
    offsets[torch.arange(count), places] = _PROBE
    _, gradient = _evaluation(density, 2 * count)(centre.unsqueeze(1) + torch.cat([offsets, -offsets]))
    above, below = (side[:, torch.arange(count), places] for side in gradient.split(count, dim=1))
    precision = density.layout.prior[1].to(centre)[places].clamp_min(1e-2)
    return torch.maximum((below - above) / (2 * _PROBE), precision).rsqrt()


def _evaluation(density: Objective, chains: int) -> Evaluate:
    """The log density of points, `chains` of them a model."""
    repeated = density.repeated(chains)
    eps = repeated.draws(1)

    def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
        flat = points.reshape(-1, points.shape[-1]).detach().clone().requires_grad_()
        with torch.enable_grad():
            value = repeated.value(flat, eps)
            (gradient,) = torch.autograd.grad(value.sum(), flat)
        return value.detach().reshape(points.shape[:-1]), gradient.reshape(points.shape)

    return evaluate
