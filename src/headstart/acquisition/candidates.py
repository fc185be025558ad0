"""Candidates that can be listed: the probability of being best (eq. prob-best), and Thompson sampling.

Both look at joint samples of the mixture over all candidates: how often each wins, or who wins once.
"""

from __future__ import annotations

import torch
from botorch.models.model import Model
from torch import Tensor

from headstart.models.linalg import safe_cholesky
from headstart.models.threads import threads_for
from headstart.shapes import Float, Int

# Joint samples need a covariance matrix a draw of Z; candidates that cannot win are left out of it.
_CONTENDERS = 512
_ROWS_AT_ONCE = 1024


def winners(model: Model, candidates: Float[Tensor, "m d"], *, seed: int, samples: int = 4096) -> Int[Tensor, " w"]:
    """The candidate that is highest in each joint sample of f over all of them, in random order.

    Samples are spread evenly over the draws of Z. Of more than 512 candidates the 512 with the highest upper
    quantile contend; the others never win.
    """
    contenders = _contenders(model, candidates)
    with torch.no_grad(), threads_for(model.posterior_draws * len(contenders) ** 2):
        posterior = model.posterior(candidates[contenders])
        mean = posterior.mean.squeeze(-1)
        factor = safe_cholesky(posterior.distribution.covariance_matrix)
        per_draw = max(samples // len(mean), 1)
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(len(mean), mean.shape[-1], per_draw, generator=generator, dtype=mean.dtype).to(mean.device)
        values = mean.unsqueeze(-1) + factor @ noise
    won = contenders[values.argmax(-2).flatten()]
    return won[torch.randperm(len(won), generator=generator).to(won.device)]


def probability_of_best(won: Int[Tensor, " w"], candidates: int) -> Float[Tensor, " {candidates}"]:
    """How often each candidate won."""
    return torch.bincount(won, minlength=candidates).double() / len(won)


def thompson(won: Int[Tensor, " w"], candidates: int, n: int) -> Int[Tensor, " {n}"]:
    """The first `n` different winners; where fewer than `n` ever won, others follow in their own order."""
    return torch.tensor(list(dict.fromkeys([*won.tolist(), *range(candidates)]))[:n], device=won.device)


def _contenders(model: Model, candidates: Tensor) -> Int[Tensor, " c"]:
    """The candidates with the highest mean + 3 sd."""
    if len(candidates) <= _CONTENDERS:
        return torch.arange(len(candidates), device=candidates.device)
    upper = []
    with torch.no_grad():
        for rows in candidates.split(_ROWS_AT_ONCE):
            posterior = model.posterior(rows.unsqueeze(-2))
            upper.append(posterior.mixture_mean + 3 * posterior.mixture_variance.sqrt())
    return torch.cat(upper).flatten().topk(_CONTENDERS).indices
