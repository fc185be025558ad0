r"""Candidates that can be listed: the expected gain, the probability of being best (eq. prob-best), Thompson sampling.

All three look at joint samples f of the mixture over the points of a task. With R = max f - min f its range over these
points, wherever they are, and b the best of f over those that are measured, running or chosen already (min f while
there are none), a candidate's expected gain is

    a(x) = E[max(f(x) - b, 0) / R],

by how much one more experiment is expected to lower the regret, as a share of the range; of the first one, how far up
the range it is expected to lie. Each sample counts in its own range, so those in which the task is thought to be lively
do not decide alone.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from botorch.models.model import Model
from torch import Tensor

from headstart.models.linalg import safe_cholesky
from headstart.models.threads import threads_for
from headstart.shapes import Float, Int

# Joint samples need a covariance matrix a draw of Z; candidates that cannot win are left out of it.
_CONTENDERS = 512
# So many of them are there for the range alone, whatever they promise.
_OTHERS = 64
# Of what is known, those that may be the best so far.
_KNOWN = 128
_ROWS_AT_ONCE = 1024
# Where no candidate gains anything in any sample, the higher mean is better; elsewhere this decides nothing.
_TIE = 1e-9

Value = Callable[[Tensor], Tensor]
"""A rising function of f."""


def joint_samples(
    model: Model, points: Float[Tensor, "m d"], samples: int, generator: torch.Generator
) -> Float[Tensor, "j m"]:
    """Samples of f over all points, as many a draw of Z."""
    with torch.no_grad(), threads_for(model.posterior_draws * len(points) ** 2):
        posterior = model.posterior(points)
        mean = posterior.mean.squeeze(-1)
        factor = safe_cholesky(posterior.distribution.covariance_matrix)
        per_draw = max(samples // len(mean), 1)
        noise = torch.randn(len(mean), mean.shape[-1], per_draw, generator=generator, dtype=mean.dtype).to(mean.device)
        return (mean.unsqueeze(-1) + factor @ noise).transpose(-1, -2).reshape(-1, len(points))


def best_by_gain(
    model: Model,
    candidates: Float[Tensor, "c d"],
    known: Float[Tensor, "k d"],
    n: int,
    *,
    seed: int,
    value: Value | None = None,
    samples: int = 4096,
) -> tuple[Int[Tensor, " n"], Float[Tensor, " n"]]:
    """Greedily n candidates by expected gain, each knowing those before it as running; and their gains.

    Of more than 512 candidates those with the highest upper quantile contend; the others follow by their means, as if
    they had nothing to gain.

    Args:
        candidates: not among them what is known.
        known: points of the task that are measured or running.
        value: what f is worth, for models that count outcomes by a bent scale.
    """
    places = _contenders(model, candidates, _CONTENDERS, others=_OTHERS)
    if len(known):
        known = torch.unique(known, dim=0)
        known = known[_contenders(model, known, _KNOWN)]
    generator = torch.Generator().manual_seed(seed)
    values = joint_samples(model, torch.cat([candidates[places], known]), samples, generator)
    if value is not None:
        values = value(values)
    low, high = values.aminmax(dim=-1, keepdim=True)
    # Where all are equal, each is the best.
    share = torch.where(high > low, (values - low) / (high - low), 1.0)
    share, of_known = share.split([len(places), len(known)], dim=-1)
    best = of_known.amax(-1, keepdim=True) if len(known) else torch.zeros_like(low)
    tie, chosen, gains = _TIE * share.mean(0), list[int](), list[Tensor]()
    for _ in range(min(n, len(places))):
        gain = (share - best).clamp_min(0.0).mean(0)
        rank = gain + tie
        rank[chosen] = -torch.inf
        chosen.append(int(rank.argmax()))
        gains.append(gain[chosen[-1]])
        best = torch.maximum(best, share[:, chosen[-1:]])
    found, gained = places[chosen], torch.stack(gains)
    if n > len(found):
        left = torch.ones(len(candidates), dtype=torch.bool, device=found.device)
        left[found] = False
        rest = left.nonzero().squeeze(-1)
        rest = rest[_moments_of(model, candidates[rest])[0].argsort(descending=True)][: n - len(found)]
        found, gained = torch.cat([found, rest]), torch.cat([gained, gained.new_zeros(len(rest))])
    return found, gained


def chance_of_best(
    model: Model,
    points: Float[Tensor, "p d"],
    others: Float[Tensor, "m d"],
    within: float,
    *,
    seed: int,
    value: Value,
    samples: int = 4096,
) -> Float[Tensor, " p"]:
    """How often each point is, of all of these, the best or within a share of their range of it."""
    generator = torch.Generator().manual_seed(seed)
    values = value(joint_samples(model, torch.cat([points, others]), samples, generator))
    low, high = values.aminmax(dim=-1, keepdim=True)
    return (values[:, : len(points)] >= high - within * (high - low)).double().mean(0)


def winners(model: Model, candidates: Float[Tensor, "m d"], *, seed: int, samples: int = 4096) -> Int[Tensor, " w"]:
    """The candidate that is highest in each joint sample of f over all of them, in random order.

    Samples are spread evenly over the draws of Z. Of more than 512 candidates those with the highest upper quantile
    contend; the others never win.
    """
    contenders = _contenders(model, candidates, _CONTENDERS)
    generator = torch.Generator().manual_seed(seed)
    won = contenders[joint_samples(model, candidates[contenders], samples, generator).argmax(-1)]
    return won[torch.randperm(len(won), generator=generator).to(won.device)]


def probability_of_best(won: Int[Tensor, " w"], candidates: int) -> Float[Tensor, " {candidates}"]:
    """How often each candidate won."""
    return torch.bincount(won, minlength=candidates).double() / len(won)


def thompson(won: Int[Tensor, " w"], candidates: int, n: int) -> Int[Tensor, " {n}"]:
    """The first `n` different winners; where fewer than `n` ever won, others follow in their own order."""
    return torch.tensor(list(dict.fromkeys([*won.tolist(), *range(candidates)]))[:n], device=won.device)


def _contenders(model: Model, points: Float[Tensor, "m d"], most: int, *, others: int = 0) -> Int[Tensor, " c"]:
    """At most so many points: those with the highest mean + 3 sd, and some of the others, evenly spaced."""
    if len(points) <= most:
        return torch.arange(len(points), device=points.device)
    mean, sd = _moments_of(model, points)
    first, rest = (mean + 3 * sd).argsort(descending=True).split([most - others, len(points) - most + others])
    spaced = torch.linspace(0, len(rest) - 1, others, dtype=torch.float64).round().long()
    return torch.cat([first, rest[spaced.to(rest.device)]]).sort().values


def _moments_of(model: Model, points: Float[Tensor, "m d"]) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
    """Mean and standard deviation of f at each point."""
    pieces = []
    with torch.no_grad():
        for rows in points.split(_ROWS_AT_ONCE):
            posterior = model.posterior(rows.unsqueeze(-2))
            pieces.append(torch.stack([posterior.mixture_mean.flatten(), posterior.mixture_variance.flatten().sqrt()]))
    mean, sd = torch.cat(pieces, dim=-1)
    return mean, sd
