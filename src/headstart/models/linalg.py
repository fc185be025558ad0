"""Cholesky factors and inverses that do not fail where a small jitter helps, batched."""

from __future__ import annotations

import torch
from torch import Tensor

from headstart.errors import ModelError
from headstart.shapes import Float

_JITTERS = (1e-10, 1e-8, 1e-6, 1e-4)
_BLOCKS = 8
_SMALLEST_BLOCKED = 128


def safe_cholesky(matrix: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """The lower Cholesky factor; jitter relative to the mean diagonal is added only to matrices that need it.

    Raises `ModelError`, never a raw `LinAlgError`.
    """
    factor, info = torch.linalg.cholesky_ex(matrix)
    if not info.any():
        return factor
    if not torch.isfinite(matrix).all():
        raise ModelError(
            "The covariance matrix holds NaN or infinity: the kernel cannot be evaluated on these inputs. "
            "Check the inputs for extreme values and a custom kernel's parameters."
        )
    scale = matrix.diagonal(dim1=-2, dim2=-1).mean(-1)
    for jitter in _JITTERS:
        added = torch.where(info > 0, jitter * scale, 0.0)
        mended, still = torch.linalg.cholesky_ex(
            matrix + torch.diag_embed(added.unsqueeze(-1).expand(matrix.shape[:-1]))
        )
        if not still.any():
            return mended
    raise ModelError(
        f"The covariance matrix is not positive definite even with a jitter of {_JITTERS[-1]:g} of its "
        "diagonal. Use a valid kernel, or allow more noise."
    )


def triangular_inverse(factor: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """L^-1 of a lower triangular L."""
    if factor.is_cuda and factor.shape[-1] >= _SMALLEST_BLOCKED:
        return _blocked_inverse(factor)
    identity = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return torch.linalg.solve_triangular(factor, identity.expand_as(factor), upper=False)


def inverse_and_solution(
    factor: Float[Tensor, "*batch n n"], right: Float[Tensor, "*batch n"]
) -> tuple[Float[Tensor, "*batch n n"], Float[Tensor, "*batch n"]]:
    """K^-1 and K^-1 r from K = L L^T, by the faster way of each device."""
    if factor.is_cuda:
        inverse = triangular_inverse(factor)
        solution = inverse.mT @ (inverse @ right.unsqueeze(-1))
        return inverse.mT @ inverse, solution.squeeze(-1)
    solution = torch.cholesky_solve(right.unsqueeze(-1), factor).squeeze(-1)
    return torch.cholesky_inverse(factor), solution


def _blocked_inverse(factor: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    r"""L^-1 by halves, for GPUs: triangular solves are slow there and matrix products fast.

        L = [[A, 0], [B, C]],     L^-1 = [[A^-1, 0], [-C^-1 B A^-1, C^-1]]

    Eight diagonal blocks are inverted as one batch, then joined two by two.
    """
    batch, n = factor.shape[:-2], factor.shape[-1]
    block = -(-n // _BLOCKS)
    size = block * _BLOCKS
    padded = factor
    if size > n:
        padded = torch.eye(size, dtype=factor.dtype, device=factor.device).repeat(*batch, 1, 1)
        padded[..., :n, :n] = factor
    diagonal = _diagonal_blocks(padded, block)
    identity = torch.eye(block, dtype=factor.dtype, device=factor.device)
    inverse = torch.linalg.solve_triangular(diagonal, identity.expand_as(diagonal), upper=False)
    while block < size:
        B = _diagonal_blocks(padded, 2 * block)[..., block:, :block]
        upper, lower = inverse[..., 0::2, :, :], inverse[..., 1::2, :, :]
        top = torch.nn.functional.pad(upper, (0, block))
        inverse = torch.cat([top, torch.cat([-(lower @ (B @ upper)), lower], -1)], -2)
        block *= 2
    return inverse.squeeze(-3)[..., :n, :n]


def _diagonal_blocks(matrix: Float[Tensor, "*batch n n"], block: int) -> Float[Tensor, "*batch m b b"]:
    count = matrix.shape[-1] // block
    tiles = matrix.reshape(*matrix.shape[:-2], count, block, count, block)
    return tiles.diagonal(dim1=-4, dim2=-2).movedim(-1, -3)
