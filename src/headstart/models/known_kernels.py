"""Kernels by name."""

from __future__ import annotations

import gpytorch

from headstart.errors import ProblemError
from headstart.models.kernels import RBF, GPyTorchKernel, Kernel, Matern52
from headstart.models.residual import TaskResidual
from headstart.models.task_kernel import TaskKernel

_MATERN52, _RBF = Matern52(), RBF()
KERNELS: dict[str, Kernel] = {
    kernel.name: kernel for shared in (_MATERN52, _RBF) for kernel in (shared, TaskResidual(shared), TaskKernel(shared))
}
# What the benchmark favours for tables, see docs/decisions: "auto" leaves the choice to the evidence, see `evidence`.
AUTO, AUTO_KERNELS = "auto", ("rbf+tasks", "matern52+tasks")
DEFAULT_KERNEL = AUTO


def resolve_kernel(kernel: str | Kernel | gpytorch.kernels.Kernel) -> Kernel:
    """The kernel of that name, one of ours, or a GPyTorch kernel, wrapped.

    >>> resolve_kernel("rbf").name
    'rbf'
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, gpytorch.kernels.Kernel):
        return GPyTorchKernel(kernel)
    if kernel == AUTO:
        raise ProblemError("kernel='auto' compares fits, which headstart.fit does: a model has one kernel. Name it.")
    if kernel not in KERNELS:
        raise ProblemError(f"Unknown kernel {kernel!r}: choose one of {sorted(KERNELS)} or pass a GPyTorch kernel.")
    return KERNELS[kernel]


def has_name(kernel: Kernel) -> bool:
    """Whether the kernel's name says all about it."""
    known = KERNELS.get(kernel.name)
    if isinstance(kernel, TaskResidual) and isinstance(known, TaskResidual):
        return (type(kernel), type(kernel.shared)) == (type(known), type(known.shared))
    return type(kernel) is type(known)
