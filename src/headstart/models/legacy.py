"""A GP of each legacy task, all tasks fitted as one batch: where BGP's prior comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from torch import Tensor

from headstart.errors import ModelError
from headstart.models.elbo import TrainingData, section
from headstart.models.kernels import Kernel
from headstart.models.parameters import Layout
from headstart.models.threads import threads_for
from headstart.shapes import Bool, Float, Int

_RESTARTS = 4
_ITERATIONS = 500
_TOLERANCE = 1e-10
# Rows that pad a task have residual 0 and a noise that makes them independent of the others.
_PADDING_NOISE = 1e10


@dataclass(frozen=True)
class TaskBatch:
    """T tasks, padded to the rows of the largest."""

    x: Float[Tensor, "t n x"]
    y: Float[Tensor, "t n"]
    noise: Float[Tensor, "t n"] | None
    mask: Bool[Tensor, "t n"]

    @classmethod
    def of(cls, tasks: list[TrainingData]) -> TaskBatch:
        """Stack tasks of any sizes."""

        def stack(parts: list[Tensor]) -> Tensor:
            return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)

        known = [task.noise for task in tasks if task.noise is not None]
        return cls(
            stack([task.x for task in tasks]),
            stack([task.y for task in tasks]),
            stack(known) if known else None,
            stack([torch.ones_like(task.y, dtype=torch.bool) for task in tasks]),
        )

    def log_density(
        self,
        kernel: Kernel,
        layout: Layout,
        vector: Float[Tensor, "b P"],
        tasks: Int[Tensor, " b"],
    ) -> Float[Tensor, " b"]:
        """log p(y_t | theta) + log p(theta) of pairs of a task and a vector."""
        mask, parameters = self.mask[tasks], layout.unpack(vector)
        known = self.noise
        noise = parameters["log_noise"].exp().unsqueeze(-1) if known is None else known[tasks]
        residual = torch.where(mask, self.y[tasks] - parameters["mean"].unsqueeze(-1), 0.0)
        fit = kernel.log_density(
            section(parameters, "kernel"),
            self.x[tasks],
            torch.where(mask, noise, _PADDING_NOISE),
            residual,
        )
        # Less what the padding adds: L-BFGS-B's tolerance is relative to the value.
        padding = 0.5 * math.log(2 * math.pi * _PADDING_NOISE) * (~mask).sum(-1)
        return fit + padding + layout.log_prior(vector)


def fit_tasks(kernel: Kernel, layout: Layout, tasks: TaskBatch, *, restarts: int = _RESTARTS) -> Float[Tensor, "t P"]:
    """The maximum a posteriori of a GP of each task, all tasks and restarts as one batch."""
    count, rows = tasks.y.shape
    device = tasks.y.device

    def negated(points: np.ndarray, batch_indices: list[int]) -> tuple[np.ndarray, np.ndarray]:
        vector = torch.from_numpy(points).to(device).requires_grad_()
        which = torch.tensor(batch_indices, device=device) // restarts
        value = tasks.log_density(kernel, layout, vector, which)
        (gradient,) = torch.autograd.grad(value.sum(), vector)
        both = torch.cat([value.detach().unsqueeze(-1), gradient], dim=-1).neg().cpu().numpy()
        return both[:, 0], np.ascontiguousarray(both[:, 1:])

    starts = layout.starts(restarts, seed=0).numpy()
    with threads_for(count * restarts * rows**2):
        found, values, _ = fmin_l_bfgs_b_batched(
            negated,
            np.tile(starts, (count, 1)),
            bounds=layout.bounds,
            maxiter=_ITERATIONS,
            factr=None,
            ftol=_TOLERANCE,
            pass_batch_indices=True,
        )
    values = np.where(np.isfinite(values), values, np.inf).reshape(count, restarts)
    if not np.isfinite(values.min(1)).all():
        raise ModelError(
            f"No GP could be fitted to legacy task {int(values.min(1).argmax())}, counted from 0 "
            "in the order of codes. Look for extreme values in its rows."
        )
    best = found.reshape(count, restarts, -1)[np.arange(count), values.argmin(1)]
    return torch.from_numpy(best).to(device)
