r"""A residual of each task: what it does that no latent explains.

    k([x, z], [x', z']) = sigma_k^2 k(r^2) + [same task] sigma_r^2 k(r_r^2),     r_r^2 = sum_i ((x_i - x'_i) / l_ri)^2

Without it, a task that lies off the shared surface has to be explained by a latent far away or by noise. sigma_r and
l_r are learned from the legacy tasks: how far any task may be from the surface, and over which distances in x. Where
tasks have little in common the residual explains each by itself, and their data do no harm.

Inputs are [x, z, levels]; two rows are of one task if they agree in all levels. The gradient of the log density is in
closed form: each term contributes as the one term in `marginal_likelihood` does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headstart.models.kernels import Kernel, StationaryKernel
from headstart.models.marginal_likelihood import (
    Profile,
    in_blocks,
    log_density_and_slope,
    pulled_back,
    refuse_second_derivatives,
    squared_distance,
)
from headstart.models.parameters import Parameter, Parameters
from headstart.shapes import Bool, Float

# log sigma_r^2 in units of the variance of all outputs: tasks are mostly alike, a tenth is no surprise.
_SCALE, _SCALE_SD = -3.0, 1.5


class TaskResidual(Kernel):
    """A stationary kernel over [x, z], and one of the same form over x within each task.

    >>> from headstart.models.kernels import RBF
    >>> TaskResidual(RBF()).name
    'rbf+residual'
    """

    knows_tasks = True

    def __init__(self, shared: StationaryKernel) -> None:
        self.shared = shared
        self.name = f"{shared.name}+residual"

    def parameters(self, inputs: int, latents: int) -> dict[str, Parameter]:
        """Those of the shared kernel, log l_r and log sigma_r^2."""
        shared = self.shared.parameters(inputs, latents)
        return shared | {
            "log_residual_lengthscale": shared["log_lengthscale"],
            "log_residual_scale": Parameter((), -12.0, 6.0, _SCALE, _SCALE_SD, start=_SCALE, spread=0.5),
        }

    def covariance(
        self,
        parameters: Parameters,
        left: Float[Tensor, "*#b m d"],
        right: Float[Tensor, "*#b n d"],
    ) -> Float[Tensor, "*b m n"]:
        """Both terms."""
        shared, own, _ = self._terms(parameters, left, right)
        return shared + own

    def _terms(self, parameters: Parameters, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The shared term, the residual's, and which pairs are of one task."""
        left, left_own, left_levels = self._parts(parameters, left)
        right, right_own, right_levels = self._parts(parameters, right)
        same = _same_task(left_levels, right_levels)
        own = self.shared.correlation(squared_distance(left_own, right_own))
        own = parameters["log_residual_scale"].exp()[..., None, None] * own
        return self.shared.covariance(parameters, left, right), torch.where(same, own, 0.0), same

    def variance(self, parameters: Parameters, inputs: Float[Tensor, "*b m d"]) -> Float[Tensor, "*b m"]:
        """sigma_k^2 + sigma_r^2."""
        return self.shared.variance(parameters, inputs) + parameters["log_residual_scale"].exp().unsqueeze(-1)

    def log_density(
        self,
        parameters: Parameters,
        inputs: Float[Tensor, "*b n d"],
        noise: Float[Tensor, "*#b n"],
        residual: Float[Tensor, "*#b n"],
    ) -> Float[Tensor, "*b"]:
        """The log marginal likelihood, with the gradient in closed form."""
        joint, own, levels = self._parts(parameters, inputs)
        batch, rows = inputs.shape[:-2], inputs.shape[:-1]
        return _ResidualLogDensity.apply(
            joint * self.shared.inverse_lengthscale(parameters),
            parameters["log_outputscale"].exp().expand(batch),
            own,
            parameters["log_residual_scale"].exp().expand(batch),
            levels,
            self.log_amplitude(parameters, inputs).expand(rows),
            noise.expand(rows),
            residual.expand(rows),
            self.shared.profile,
        )

    def log_amplitude(self, parameters: Parameters, inputs: Float[Tensor, "*b n d"]) -> Float[Tensor, "*b n"]:
        """log a of every row: the covariance of two rows is a a' times the two terms. Here it is 0."""
        return inputs.new_zeros(()).expand(inputs.shape[:-1])

    @staticmethod
    def _parts(parameters: Parameters, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[x, z], x in units of l_r, and the levels."""
        x, z = (parameters[name].shape[-1] for name in ("log_lengthscale", "log_latent_lengthscale"))
        own = inputs[..., :x] * parameters["log_residual_lengthscale"].neg().exp().unsqueeze(-2)
        return inputs[..., : x + z], own, inputs[..., x + z :]


def _same_task(left: Float[Tensor, "*b m g"], right: Float[Tensor, "*b n g"]) -> Bool[Tensor, "*b m n"]:
    return (left.unsqueeze(-2) == right.unsqueeze(-3)).all(-1)


class _ResidualLogDensity(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        U: Tensor,
        variance: Tensor,
        own: Tensor,
        own_variance: Tensor,
        levels: Tensor,
        log_amplitude: Tensor,
        noise: Tensor,
        residual: Tensor,
        profile: Profile,
    ) -> Tensor:
        tensors = (U, variance, own, own_variance, levels, log_amplitude, noise, residual)
        value, *gradients = in_blocks(lambda *block: _block(*block, profile=profile), tensors, U.shape[:-2])
        ctx.save_for_backward(*gradients)
        return value

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        U, variance, own, own_variance, log_amplitude, noise, residual = ctx.saved_tensors
        scale = upstream[0]
        row = scale[..., None]
        matrix = row[..., None]
        of_terms = matrix * U, scale * variance, matrix * own, scale * own_variance
        return *of_terms, None, row * log_amplitude, row * noise, row * residual, None


def _block(
    U: Float[Tensor, "m n d"],
    variance: Float[Tensor, " m"],
    own: Float[Tensor, "m n x"],
    own_variance: Float[Tensor, " m"],
    levels: Float[Tensor, "m n g"],
    log_amplitude: Float[Tensor, "m n"],
    noise: Float[Tensor, "m n"],
    residual: Float[Tensor, "m n"],
    *,
    profile: Profile,
) -> tuple[Tensor, ...]:
    """log p and its gradient in everything but the levels."""
    same = _same_task(levels, levels)
    k, dk = profile(squared_distance(U, U))
    own_k, own_dk = (torch.where(same, part, 0.0) for part in profile(squared_distance(own, own)))
    v, w = variance[:, None, None], own_variance[:, None, None]
    amplitude = log_amplitude.exp()
    # K = a a^T * (v k + w k_r) + noise
    K = torch.addcmul(v * k, w, own_k).mul_(amplitude[:, :, None]).mul_(amplitude[:, None, :])
    K.diagonal(dim1=-2, dim2=-1).add_(noise)
    value, slope, weights = log_density_and_slope(K, residual)
    grad_noise = slope.diagonal(dim1=-2, dim2=-1).clone()
    # 2 sum_j S_ij (K - noise)_ij, where the diagonal of S K is (K^-1 r * r - 1) / 2
    grad_log_amplitude = weights * residual - 1.0 - 2.0 * grad_noise * noise
    slope.mul_(amplitude[:, :, None]).mul_(amplitude[:, None, :])
    grad_variance, grad_own_variance = (torch.linalg.vecdot(slope.flatten(1), part.flatten(1)) for part in (k, own_k))
    grad_own = pulled_back(own_dk.mul_(slope), own, w)
    grad_U = pulled_back(slope.mul_(dk), U, v)
    return value, grad_U, grad_variance, grad_own, grad_own_variance, grad_log_amplitude, grad_noise, -weights
