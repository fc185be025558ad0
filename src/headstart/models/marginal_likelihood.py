r"""The log marginal likelihood (eq. gp:marginal_likelihood), batched over draws and restarts.

    log p(y | X, Z) = -1/2 r^T K^-1 r - 1/2 log det K - n/2 log 2 pi,     r = y - mu,  K = K_yy

Its gradient is known, so nothing is recorded through the Cholesky factorisation:

    d log p / dK = (a a^T - K^-1) / 2,     a = K^-1 r.

`gaussian_log_density` uses that for any K. `stationary_log_density` goes one step further for kernels that
depend on the squared distance of scaled inputs U alone, K = v k(|u_i - u_j|^2) + diag(noise): with
H = (d log p / dK) * v k'(.), elementwise and symmetric,

    d log p / du_i = 4 sum_j H_ij (u_i - u_j) = 4 (sum_j H_ij) u_i - 4 (H U)_i,

one matrix product for all inputs, latents and length scales together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from headstart.errors import ModelError
from headstart.models.linalg import inverse_and_solution, safe_cholesky
from headstart.shapes import Float

Profile = Callable[[Tensor], tuple[Tensor, Tensor]]
"""k and k' as functions of the squared distance."""


def squared_distance(
    left: Float[Tensor, "*#batch m d"], right: Float[Tensor, "*#batch n d"]
) -> Float[Tensor, "*batch m n"]:
    """|u_i - u_j|^2, from one matrix product."""
    # Centred, because the expansion loses digits to a common offset. (A mean of no rows would be NaN.)
    centre = right.sum(-2, keepdim=True).detach() / max(right.shape[-2], 1)
    left, right = left - centre, right - centre
    # |u|^2 - 2 u.v + |v|^2 = [-2 u, |u|^2, 1] . [v, 1, |v|^2]
    left = torch.cat([-2.0 * left, left.square().sum(-1, keepdim=True), torch.ones_like(left[..., :1])], -1)
    right = torch.cat([right, torch.ones_like(right[..., :1]), right.square().sum(-1, keepdim=True)], -1)
    return (left @ right.mT).clamp_min_(0.0)


def log_density_and_slope(
    K: Float[Tensor, "*batch n n"], residual: Float[Tensor, "*batch n"]
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch n n"], Float[Tensor, "*batch n"]]:
    """log N(r | 0, K), d/dK and a = K^-1 r."""
    factor = safe_cholesky(K)
    inverse, weights = inverse_and_solution(factor, residual)
    log_det_half = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    constant = 0.5 * residual.shape[-1] * math.log(2 * math.pi)
    value = -0.5 * (residual * weights).sum(-1) - log_det_half - constant
    slope = inverse.neg_()
    slope.addcmul_(weights.unsqueeze(-1), weights.unsqueeze(-2)).mul_(0.5)
    return value, slope, weights


def refuse_second_derivatives() -> None:
    """The gradient was computed in numbers; differentiating it again would silently give zero."""
    if torch.is_grad_enabled():
        raise ModelError("The log marginal likelihood has first derivatives only: leave create_graph=True out.")


class _GaussianLogDensity(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, K: Tensor, residual: Tensor) -> Tensor:
        value, slope, weights = log_density_and_slope(K, residual)
        ctx.save_for_backward(slope, weights)
        return value

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor]:
        refuse_second_derivatives()
        slope, weights = ctx.saved_tensors
        scale = upstream[0]
        return scale[..., None, None] * slope, -scale[..., None] * weights


class _StationaryLogDensity(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, U: Tensor, variance: Tensor, noise: Tensor, residual: Tensor, profile: Profile) -> Tensor:
        tensors = (U, variance, noise, residual)
        value, *gradients = in_blocks(lambda *block: _stationary_block(*block, profile=profile), tensors, U.shape[:-2])
        ctx.save_for_backward(*gradients)
        return value

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        refuse_second_derivatives()
        grad_U, grad_variance, grad_noise, grad_residual = ctx.saved_tensors
        scale = upstream[0]
        row = scale[..., None]
        return row[..., None] * grad_U, scale * grad_variance, row * grad_noise, row * grad_residual, None


def _stationary_block(
    U: Float[Tensor, "m n d"],
    variance: Float[Tensor, " m"],
    noise: Float[Tensor, "m n"],
    residual: Float[Tensor, "m n"],
    *,
    profile: Profile,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """log p and its gradient in U, v, the noise and the residual."""
    k, dk = profile(squared_distance(U, U))
    v = variance[:, None, None]
    K = v * k
    K.diagonal(dim1=-2, dim2=-1).add_(noise)
    value, slope, weights = log_density_and_slope(K, residual)
    grad_variance = torch.linalg.vecdot(slope.flatten(1), k.flatten(1))
    grad_noise = slope.diagonal(dim1=-2, dim2=-1).clone()
    return value, pulled_back(slope.mul_(dk), U, v), grad_variance, grad_noise, -weights


def pulled_back(H: Float[Tensor, "m n n"], U: Float[Tensor, "m n d"], v: Float[Tensor, "m 1 1"]) -> Tensor:
    """4 v ((sum_j H_ij) u_i - (H U)_i), where H is still without its factor v: passes over n x n entries count."""
    products = H @ torch.nn.functional.pad(U, (0, 1), value=1.0)
    return 4.0 * v * (products[..., -1:] * U - products[..., :-1])


def in_blocks(
    function: Callable[..., tuple[Tensor, ...]], tensors: Sequence[Tensor], batch: torch.Size
) -> list[Tensor]:
    """The function of tensors that share a batch, some matrices at a time; the first tensor has rows and columns."""
    size = _matrices_at_once(tensors[0].shape[-2], tensors[0].device)
    flat = (tensor.reshape(batch.numel(), *tensor.shape[len(batch) :]).split(size) for tensor in tensors)
    blocks = [function(*block) for block in zip(*flat, strict=True)]
    return [torch.cat(parts).reshape(batch + parts[0].shape[1:]) for parts in zip(*blocks, strict=True)]


def _matrices_at_once(rows: int, device: torch.device) -> int:
    """On a CPU, blocks of a megabyte stay in its cache: 1.6 times faster than one pass over all.

    A GPU wants as many as its memory holds: each entry needs some 60 bytes on the way.
    """
    entries = 2**29 if device.type == "cuda" else 2**17
    return max(entries // max(rows, 1) ** 2, 1)


def gaussian_log_density(
    K: Float[Tensor, "*batch n n"], residual: Float[Tensor, "*#batch n"]
) -> Float[Tensor, "*batch"]:
    """log N(r | 0, K) with its closed-form gradient in K and r."""
    return _GaussianLogDensity.apply(K, residual.expand(K.shape[:-1]))


def stationary_log_density(
    U: Float[Tensor, "*batch n d"],
    variance: Float[Tensor, "*#batch"],
    noise: Float[Tensor, "*#batch n"],
    residual: Float[Tensor, "*#batch n"],
    profile: Profile,
) -> Float[Tensor, "*batch"]:
    """log N(r | 0, v k(|u_i - u_j|^2) + diag(noise)) with its closed-form gradient in all four."""
    batch, rows = U.shape[:-2], U.shape[:-1]
    return _StationaryLogDensity.apply(U, variance.expand(batch), noise.expand(rows), residual.expand(rows), profile)
