"""Cholesky factors and inverses that do not fail where a small jitter helps, batched."""

from __future__ import annotations

import torch
from torch import Tensor

from headstart.errors import ModelError
from headstart.shapes import Float

_JITTERS = (1e-10, 1e-8, 1e-6, 1e-4)


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
    scale = matrix.diagonal(dim1=-2, dim2=-1).mean(-1, keepdim=True)
    for jitter in _JITTERS:
        added = torch.where(info.unsqueeze(-1) > 0, jitter * scale, torch.zeros_like(scale))
        factor, info = torch.linalg.cholesky_ex(matrix + torch.diag_embed(added.expand(matrix.shape[:-1])))
        if not info.any():
            return factor
    raise ModelError(
        f"The covariance matrix is not positive definite even with a jitter of {_JITTERS[-1]:g} of its "
        "diagonal. Use a valid kernel, or allow more noise."
    )


def triangular_inverse(factor: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """L^-1 of a lower triangular L."""
    identity = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return torch.linalg.solve_triangular(factor, identity.expand_as(factor), upper=False)


def cholesky_inverse(factor: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """K^-1 from K = L L^T, by the faster way of each device."""
    if factor.is_cuda:
        inverse = triangular_inverse(factor)
        return inverse.mT @ inverse
    return torch.cholesky_inverse(factor)
