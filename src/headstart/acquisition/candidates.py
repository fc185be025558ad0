r"""Candidates that can be listed: the expected gain, the probability of being best (eq. prob-best), Thompson sampling.

All three look at joint samples f of the mixture over the points of a task. With R = max f - min f the task's range and
b the best of f over the points that are measured, running or chosen already (min f while there are none), a candidate's
expected gain is

    a(x) = E[max(f(x) - b, 0) / R],

by how much one more experiment is expected to lower the regret, as a share of the range. Each sample counts in its own
range, so those in which the task is thought to be lively do not decide alone.
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

    Args:
        candidates: not among them what is known.
        known: points of the task that are measured or running.
        value: what f is worth, for models that count outcomes by a bent scale.
    """
    places = _contenders(model, candidates, max(n, _CONTENDERS))
    known = known[_contenders(model, known, _CONTENDERS)]
    generator = torch.Generator().manual_seed(seed)
    values = joint_samples(model, torch.cat([candidates[places], known]), samples, generator)
    if value is not None:
        values = value(values)
    low, high = values.aminmax(dim=-1, keepdim=True)
    share = (values - low) / (high - low).clamp_min(torch.finfo(values.dtype).tiny)
    share, of_known = share.split([len(places), len(known)], dim=-1)
    best = of_known.amax(-1, keepdim=True) if len(known) else torch.zeros_like(low)
    tie, chosen, gains = _TIE * share.mean(0), list[int](), list[Tensor]()
    for _ in range(n):
        gain = (share - best).clamp_min(0.0).mean(0)
        rank = gain + tie
        rank[chosen] = -torch.inf
        chosen.append(int(rank.argmax()))
        gains.append(gain[chosen[-1]])
        best = torch.maximum(best, share[:, chosen[-1:]])
    return places[chosen], torch.stack(gains)


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


def _contenders(model: Model, points: Float[Tensor, "m d"], most: int) -> Int[Tensor, " c"]:
    """The points with the highest mean + 3 sd, and some of the others, evenly spaced; all where they are few."""
    if len(points) <= most:
        return torch.arange(len(points), device=points.device)
    upper = []
    with torch.no_grad():
        for rows in points.split(_ROWS_AT_ONCE):
            posterior = model.posterior(rows.unsqueeze(-2))
            upper.append(posterior.mixture_mean + 3 * posterior.mixture_variance.sqrt())
    order = torch.cat(upper).flatten().argsort(descending=True)
    first, rest = order.split([most - _OTHERS, len(order) - most + _OTHERS])
    spaced = torch.linspace(0, len(rest) - 1, _OTHERS, dtype=torch.float64).round().long()
    return torch.cat([first, rest[spaced.to(rest.device)]]).sort().values
