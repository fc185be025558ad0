"""The probability of being best, for candidates that can be listed (eq. prob-best)."""

from __future__ import annotations

import torch
from botorch.models.model import Model
from torch import Tensor

from headstart.models.linalg import safe_cholesky
from headstart.shapes import Float

# Joint samples need a covariance matrix a draw of Z; candidates that cannot win are left out of it.
_CONTENDERS = 512
_ROWS_AT_ONCE = 1024


def probability_of_best(
    model: Model, candidates: Float[Tensor, "m d"], *, seed: int, samples: int = 4096
) -> Float[Tensor, " m"]:
    """How often each candidate is the highest in joint samples of f over all of them.

    Samples are spread evenly over the draws of Z. Of more than 512 candidates the 512 with the highest upper
    quantile contend; the others have probability 0.
    """
    contenders = _contenders(model, candidates)
    with torch.no_grad():
        posterior = model.posterior(candidates[contenders])
    mean = posterior.mean.squeeze(-1)
    factor = safe_cholesky(posterior.distribution.covariance_matrix)
    per_draw = max(samples // len(mean), 1)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(len(mean), mean.shape[-1], per_draw, generator=generator, dtype=mean.dtype).to(mean.device)
    values = mean.unsqueeze(-1) + factor @ noise
    wins = torch.bincount(values.argmax(-2).flatten(), minlength=mean.shape[-1])
    probability = candidates.new_zeros(len(candidates))
    probability[contenders] = wins.to(probability) / wins.sum()
    return probability


def _contenders(model: Model, candidates: Tensor) -> Tensor:
    """The candidates with the highest mean + 3 sd."""
    if len(candidates) <= _CONTENDERS:
        return torch.arange(len(candidates), device=candidates.device)
    upper = []
    with torch.no_grad():
        for rows in candidates.split(_ROWS_AT_ONCE):
            posterior = model.posterior(rows.unsqueeze(-2))
            upper.append(posterior.mixture_mean + 3 * posterior.mixture_variance.sqrt())
    return torch.cat(upper).flatten().topk(_CONTENDERS).indices
