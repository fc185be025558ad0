r"""Kernels of the surrogate layer, over the concatenated inputs [x, z_1, ..., z_G].

`Matern52` and `RBF` have one length scale a dimension and a closed-form gradient; `GPyTorchKernel` wraps any GPyTorch
kernel; `residual.TaskResidual` adds a term for each task, and `task_kernel.TaskKernel` amplitudes. Lengths are in units
of the scaled inputs: x in [0, 1], z standard normal, y standardised.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import Any

import gpytorch
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from headstart.errors import ProblemError
from headstart.models.marginal_likelihood import (
    gaussian_log_density,
    squared_distance,
    stationary_log_density,
)
from headstart.models.parameters import Parameter, Parameters
from headstart.shapes import Float

_SQRT5 = math.sqrt(5.0)


class Kernel(ABC):
    """A covariance function with named parameters.

    The batch dimensions of the parameters broadcast against those of the inputs.
    """

    name: str
    # Whether inputs are [x, z] or [x, z, levels], the positions of the levels of each general input.
    knows_tasks = False
    # The prior probability that a task has nothing in common with the others, see `apart`.
    share_apart = 0.0

    @abstractmethod
    def parameters(self, inputs: int, latents: int) -> dict[str, Parameter]:
        """The kernel's parameters on that many real and latent dimensions."""

    @abstractmethod
    def covariance(
        self,
        parameters: Parameters,
        left: Float[Tensor, "*#b m d"],
        right: Float[Tensor, "*#b n d"],
    ) -> Float[Tensor, "*b m n"]:
        """k(left, right), differentiable in both."""

    @abstractmethod
    def variance(self, parameters: Parameters, inputs: Float[Tensor, "*b m d"]) -> Float[Tensor, "*b m"]:
        """The diagonal of `covariance(inputs, inputs)`."""

    def log_density(
        self,
        parameters: Parameters,
        inputs: Float[Tensor, "*b n d"],
        noise: Float[Tensor, "*#b n"],
        residual: Float[Tensor, "*#b n"],
    ) -> Float[Tensor, "*b"]:
        """The log marginal likelihood of the residuals."""
        K = self.covariance(parameters, inputs, inputs)
        return gaussian_log_density(K + torch.diag_embed(noise.expand(K.shape[:-1])), residual)

    def log_prior(self, parameters: Parameters) -> Tensor | float:
        """Priors beyond the Gaussian ones listed in `parameters`."""
        return 0.0


class StationaryKernel(Kernel):
    """sigma_k^2 k(r^2) with r^2 = sum_i ((x_i - x'_i) / l_i)^2, one length scale a dimension.

    The prior of the length scales of x is the dimension-scaled one of BoTorch's defaults, log l ~ N(sqrt 2 +
    log(d)/2, 3) as a density of l, whose mode in log l is at sqrt 2 + log(d)/2 - 3. That of z says that tasks are
    related: the
    latents of two tasks are sqrt(2 d_z) apart on average, and l_z is around 1.5 sqrt(d_z). Left to the data alone, or
    to the prior of x, the ELBO of few tasks often explains each by itself: short l_z, q(Z) at the prior, no transfer.
    """

    @abstractmethod
    def profile(self, r2: Tensor) -> tuple[Tensor, Tensor]:
        """k and dk/dr^2 at squared distances."""

    @abstractmethod
    def curvature(self, r2: Tensor) -> Tensor:
        """The second derivative of k in r^2."""

    def parameters(self, inputs: int, latents: int) -> dict[str, Parameter]:
        """Log length scales of x and of z, and the log output scale log sigma_k^2."""
        x_centre = math.sqrt(2.0) - 3.0 + 0.5 * math.log(max(inputs, 1))
        z_centre = math.log(1.5) + 0.5 * math.log(max(latents, 1))
        return {
            "log_lengthscale": Parameter((inputs,), -4.6, 6.0, x_centre, math.sqrt(3.0), start=x_centre, spread=0.5),
            "log_latent_lengthscale": Parameter((latents,), -4.6, 6.0, z_centre, 0.7, start=z_centre, spread=0.5),
            "log_outputscale": Parameter((), -6.0, 6.0, 0.0, 1.0, start=0.0, spread=0.3),
        }

    @staticmethod
    def inverse_lengthscale(parameters: Parameters) -> Float[Tensor, "*b 1 d"]:
        """1 / l of every dimension of [x, z]."""
        both = [parameters["log_lengthscale"], parameters["log_latent_lengthscale"]]
        return torch.cat(both, dim=-1).neg().exp().unsqueeze(-2)

    def covariance(
        self,
        parameters: Parameters,
        left: Float[Tensor, "*#b m d"],
        right: Float[Tensor, "*#b n d"],
    ) -> Float[Tensor, "*b m n"]:
        """sigma_k^2 k(r^2)."""
        scale = self.inverse_lengthscale(parameters)
        k = self.correlation(squared_distance(left * scale, right * scale))
        return parameters["log_outputscale"].exp()[..., None, None] * k

    def correlation(self, r2: Float[Tensor, "*b m n"]) -> Float[Tensor, "*b m n"]:
        """k(r^2), differentiable twice."""
        return _ProfileFunction.apply(r2, self)

    def variance(self, parameters: Parameters, inputs: Float[Tensor, "*b m d"]) -> Float[Tensor, "*b m"]:
        """sigma_k^2."""
        return parameters["log_outputscale"].exp().unsqueeze(-1).expand(inputs.shape[:-1])

    def log_density(
        self,
        parameters: Parameters,
        inputs: Float[Tensor, "*b n d"],
        noise: Float[Tensor, "*#b n"],
        residual: Float[Tensor, "*#b n"],
    ) -> Float[Tensor, "*b"]:
        """The log marginal likelihood, with the gradient in closed form down to the inputs."""
        scaled = inputs * self.inverse_lengthscale(parameters)
        variance = parameters["log_outputscale"].exp()
        return stationary_log_density(scaled, variance, noise, residual, self.profile)


class _ProfileFunction(torch.autograd.Function):
    """k(r^2) as one differentiable step: autograd through sqrt would fail at r = 0."""

    @staticmethod
    def forward(ctx: Any, r2: Tensor, kernel: StationaryKernel) -> Tensor:
        k, dk = kernel.profile(r2)
        ctx.save_for_backward(r2, dk)
        ctx.kernel = kernel
        return k

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:
        r2, dk = ctx.saved_tensors
        slope = _SlopeFunction.apply(r2, dk, ctx.kernel) if torch.is_grad_enabled() else dk
        return upstream[0] * slope, None


class _SlopeFunction(torch.autograd.Function):
    """k'(r^2), known already, with k'' for those who want second derivatives."""

    @staticmethod
    def forward(ctx: Any, r2: Tensor, dk: Tensor, kernel: StationaryKernel) -> Tensor:
        ctx.save_for_backward(r2)
        ctx.kernel = kernel
        return dk.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        return upstream[0] * ctx.kernel.curvature(ctx.saved_tensors[0]), None, None


class Matern52(StationaryKernel):
    """(1 + t + t^2/3) exp(-t) with t = sqrt(5 r^2)."""

    name = "matern52"

    def profile(self, r2: Tensor) -> tuple[Tensor, Tensor]:
        """k, and k' = -5/6 (1 + t) exp(-t)."""
        t = r2.sqrt().mul_(_SQRT5)
        decay = t.neg().exp_()
        t.add_(1.0).mul_(decay)
        return torch.addcmul(t, r2, decay, value=5.0 / 3.0), t * (-5.0 / 6.0)

    def curvature(self, r2: Tensor) -> Tensor:
        """25/12 exp(-t)."""
        return 25.0 / 12.0 * (-_SQRT5 * r2.sqrt()).exp()


class RBF(StationaryKernel):
    """exp(-r^2 / 2). The paper's eq. exponentiated-quadratic has no 1/2: its l is sqrt 2 times ours."""

    name = "rbf"

    def profile(self, r2: Tensor) -> tuple[Tensor, Tensor]:
        """k, and k' = -k/2."""
        k = r2.mul(-0.5).exp_()
        return k, k * -0.5

    def curvature(self, r2: Tensor) -> Tensor:
        """k/4."""
        return 0.25 * (-0.5 * r2).exp()


class GPyTorchKernel(Kernel):
    """Any GPyTorch kernel over [x, z_1, ..., z_G]: its parameters are fitted, its own priors respected.

    The kernel's batch dimensions are expanded, so restarts and draws are still one batch; its gradient is
    autograd's up to the covariance matrix and closed-form from there.
    """

    name = "gpytorch"

    def __init__(self, kernel: gpytorch.kernels.Kernel) -> None:
        if len(kernel.batch_shape):
            raise ProblemError(
                f"The kernel has batch shape {tuple(kernel.batch_shape)}: pass it without batch dimensions."
            )
        self._template = copy.deepcopy(kernel).double()
        self._copies: dict[tuple[torch.Size, torch.device], gpytorch.kernels.Kernel] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> GPyTorchKernel:
        return GPyTorchKernel(self._template)  # without the tensors of the last evaluation

    def parameters(self, inputs: int, latents: int) -> dict[str, Parameter]:
        """The kernel's raw parameters that may be fitted, starting from their present values."""
        return {
            name: Parameter(tuple(value.shape), start=value.detach().clone(), spread=0.3)
            for name, value in self._template.named_parameters()
            if value.requires_grad
        }

    def covariance(
        self,
        parameters: Parameters,
        left: Float[Tensor, "*#b m d"],
        right: Float[Tensor, "*#b n d"],
    ) -> Float[Tensor, "*b m n"]:
        """The kernel's dense matrix."""
        return self._bound(parameters, left)(left, right).to_dense()

    def variance(self, parameters: Parameters, inputs: Float[Tensor, "*b m d"]) -> Float[Tensor, "*b m"]:
        """The kernel's diagonal."""
        return self._bound(parameters, inputs)(inputs, diag=True)

    def log_prior(self, parameters: Parameters) -> Tensor | float:
        """The priors registered on the kernel, one value a restart."""
        some = next(iter(parameters.values()))
        kernel = self._bound(parameters, some)
        batch = kernel.batch_shape
        total: Tensor | float = 0.0
        for _, module, prior, closure, _ in kernel.named_priors():
            total = total + prior.log_prob(closure(module)).reshape((*batch, -1)).sum(-1)
        return total

    def _bound(self, parameters: Parameters, like: Tensor) -> gpytorch.kernels.Kernel:
        """The kernel, computing with these parameter tensors."""
        shapes = {name: p.shape for name, p in self._template.named_parameters()}
        batch = torch.broadcast_shapes(*(v.shape[: v.dim() - len(shapes[name])] for name, v in parameters.items()))
        kernel = self._copies.get((batch, like.device))
        if kernel is None:
            kernel = copy.deepcopy(self._template).to(like.device).expand_batch(batch)
            for name in parameters:  # a parameter makes room for a tensor that carries a gradient
                owner, leaf = _owner(kernel, name)
                del owner._parameters[leaf]
            self._copies[batch, like.device] = kernel
        for name, value in parameters.items():
            owner, leaf = _owner(kernel, name)
            setattr(owner, leaf, value.expand(batch + shapes[name]))
        return kernel


def _owner(kernel: gpytorch.kernels.Kernel, name: str) -> tuple[torch.nn.Module, str]:
    path, _, leaf = name.rpartition(".")
    return kernel.get_submodule(path), leaf
