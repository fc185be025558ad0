r"""The kernel by evidence: several are fitted, and the one that makes the data most likely is kept.

Some responses are smooth, others rough, and which is which the legacy tasks know better than their owner. All kernels
being equally likely before, the likelier one after has the higher evidence,

    p(y | kernel) = integral p(y | Z, theta) p(Z) p(theta) dZ dtheta.

That integral over theta is not known. What is compared is the ELBO at the best theta plus log p(theta) there, without
its constants (for a point embedding, at the best Z as well). It bounds nothing; but the kernels have the same
parameters with the same priors and fixed draws, so all that is left out is about the same for each, and the difference
stands in for that of the log evidences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import gpytorch
import torch

from headstart.errors import ProblemError, did_you_mean
from headstart.models.begp import BEGP
from headstart.models.hmc import check_can_sample
from headstart.models.inference import HMC, LBFGS, NUTS, Adam, Inference, Progress, resolve_inference
from headstart.models.kernels import Kernel
from headstart.models.known_kernels import AUTO, AUTO_KERNELS, KERNELS

AnyKernel: TypeAlias = str | Kernel | gpytorch.kernels.Kernel

Build: TypeAlias = Callable[[AnyKernel, torch.Tensor], BEGP]
"""A model with this kernel of the rows at these places."""

# Of more rows a sample of so many decides between kernels: that is clear enough.
_MOST_COMPARED = 1_000


def kernels_to_try(kernel: AnyKernel) -> tuple[AnyKernel, ...]:
    """Those among which the evidence is to choose: for "auto" several, else the kernel itself.

    >>> kernels_to_try("auto"), kernels_to_try("rbf")
    (('rbf+tasks', 'matern52+tasks'), ('rbf',))
    """
    if isinstance(kernel, str) and kernel == AUTO:
        return AUTO_KERNELS
    if isinstance(kernel, str) and kernel not in KERNELS:
        names = [AUTO, *sorted(KERNELS)]
        raise ProblemError(
            f"Unknown kernel {kernel!r}: choose one of {names} or pass a GPyTorch kernel.{did_you_mean(kernel, names)}"
        )
    return (kernel,)


def likeliest(models: Sequence[BEGP]) -> BEGP:
    """The fitted model with the highest ELBO; of equal ones, the first."""
    return max(models, key=lambda model: -math.inf if model.elbo is None else model.elbo)


def fit_likeliest(
    build: Build,
    kernels: Sequence[AnyKernel],
    rows: int,
    *,
    seed: int,
    inference: str | Inference,
    progress: Progress | None = None,
) -> BEGP:
    """The model of all rows with the likeliest of the kernels, fitted as `BEGP.fit` would."""
    strategy, everything = resolve_inference(inference), torch.arange(rows)
    if len(kernels) == 1:
        return build(kernels[0], everything).fit(seed=seed, inference=strategy, progress=progress)
    generator = torch.Generator().manual_seed(seed)
    is_sample = rows > _MOST_COMPARED
    some = torch.randperm(rows, generator=generator)[:_MOST_COMPARED].sort().values if is_sample else everything
    optimiser = strategy if isinstance(strategy, LBFGS | Adam) else LBFGS()
    done, models = 0, list[BEGP]()
    for kernel in kernels:
        model = build(kernel, some)
        if isinstance(strategy, HMC):
            check_can_sample(model.structure)
        models.append(model.fit(seed=seed, inference=optimiser, progress=_onwards(progress, done)))
        done += model.evaluations
    best = likeliest(models)
    if is_sample or isinstance(strategy, NUTS):
        kernel = kernels[models.index(best)]
        return build(kernel, everything).fit(seed=seed, inference=strategy, progress=_onwards(progress, done))
    if isinstance(strategy, HMC):
        best.sample(strategy, _onwards(progress, done - best.evaluations))
    return best


def _onwards(progress: Progress | None, done: int) -> Progress | None:
    """Progress of one fit among several: evaluations go on where those before ended."""
    return None if progress is None else lambda evaluations, value: progress(done + evaluations, value)
