r"""Tasks that differ in size, and tasks unlike any other: the kernel that surrogates of tables use.

    k'([x, z], [x', z']) = a(z) a(z') k([x, z], [x', z']),     log a(z) = b^T z

with k the kernel of `residual.TaskResidual`. A stationary kernel expects every task to vary as much as any other. But
one alloy's melt pools are ten times as deep as another's, and one catalyst hardly reacts: then the variation of the
liveliest tasks is expected of all, or that of the dullest. Here b, with prior N(0, s_b^2 I), says how far sizes differ,
and a task's latent which size it has; without rows its size is log-normal. And with a small probability a task has
nothing in common with the others: see `apart`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headstart.models.kernels import StationaryKernel
from headstart.models.parameters import Parameter, Parameters
from headstart.models.residual import TaskResidual
from headstart.shapes import Float

# With three latent dimensions, sizes of tasks differ by a factor of 1.7 to either side.
_SLOPE_SD = 0.3


class TaskKernel(TaskResidual):
    """The kernel with a residual of each task, times the amplitudes of the rows' tasks.

    >>> from headstart.models.kernels import RBF
    >>> TaskKernel(RBF()).name
    'rbf+tasks'
    """

    share_apart = 0.05  # three of 64 draws

    def __init__(self, shared: StationaryKernel) -> None:
        super().__init__(shared)
        self.name = f"{shared.name}+tasks"

    def parameters(self, inputs: int, latents: int) -> dict[str, Parameter]:
        """Those of the kernel without amplitudes, and b."""
        slope = Parameter((latents,), -2.0, 2.0, 0.0, _SLOPE_SD, start=0.0, spread=0.15)
        return super().parameters(inputs, latents) | {"amplitude_slope": slope}

    def covariance(
        self,
        parameters: Parameters,
        left: Float[Tensor, "*#b m d"],
        right: Float[Tensor, "*#b n d"],
    ) -> Float[Tensor, "*b m n"]:
        """a a'^T times both terms. A row whose levels are negative is of a task apart, which shares nothing.

        (While a model is trained no task is apart, so `log_density` takes levels as they are.)
        """
        shared, own, same = self._terms(parameters, left, right)
        rows, columns = (self.log_amplitude(parameters, side).exp() for side in (left, right))
        is_apart = (left[..., -1:] < 0) | (right[..., -1] < 0).unsqueeze(-2)
        shared = torch.where(same | ~is_apart, shared, 0.0)
        return rows.unsqueeze(-1) * (shared + own) * columns.unsqueeze(-2)

    def variance(self, parameters: Parameters, inputs: Float[Tensor, "*b m d"]) -> Float[Tensor, "*b m"]:
        """a^2 (sigma_k^2 + sigma_r^2)."""
        return super().variance(parameters, inputs) * (2.0 * self.log_amplitude(parameters, inputs)).exp()

    def log_amplitude(self, parameters: Parameters, inputs: Float[Tensor, "*b n d"]) -> Float[Tensor, "*b n"]:
        """b^T z of every row; 0 of a task apart, whose latents, and so whose size, the others do not tell."""
        x, slope = parameters["log_lengthscale"].shape[-1], parameters["amplitude_slope"]
        told = (inputs[..., x : x + slope.shape[-1]] * slope.unsqueeze(-2)).sum(-1)
        return torch.where(inputs[..., -1] < 0, 0.0, told)
