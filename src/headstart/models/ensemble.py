r"""The posterior as an ensemble: S exact Gaussian processes, one a draw of Z (eqs. qf and qy).

Given the latents, everything is a Gaussian process in [x, z]. With K_yy = L L^T and a = K_yy^-1 (y - mu), kept,

    mean = mu + K_*f a,     covariance = K_** - V V^T,     V = K_*f L^-T,

so a second prediction costs two matrix products. All quantities are in standardised units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from headstart.models.kernels import Kernel
from headstart.models.linalg import safe_cholesky, triangular_inverse
from headstart.models.parameters import Parameters
from headstart.models.scaling import Scaling
from headstart.shapes import Float, Int


@dataclass(frozen=True)
class Members:
    """S Gaussian processes and the rows they are to be conditioned on; what all share has batch 1."""

    kernel: Kernel
    parameters: Parameters
    mean: Float[Tensor, " #s"]
    row_noise: Float[Tensor, "#s n"]
    inputs: Float[Tensor, "s n d"]
    y: Float[Tensor, "#s n"]

    def select(self, which: Int[Tensor, " k"]) -> Members:
        """Some of them."""

        def some(value: Tensor) -> Tensor:
            return value if len(value) == 1 else value[which]

        return Members(
            self.kernel,
            {name: some(value) for name, value in self.parameters.items()},
            some(self.mean),
            some(self.row_noise),
            self.inputs[which],
            some(self.y),
        )

    @classmethod
    def join(cls, parts: Sequence[Members]) -> Members:
        """The members of several ensembles with the same kernel and as many rows, as one."""

        def joined(values: Iterable[Tensor]) -> Tensor:
            each = zip(parts, values, strict=True)
            return torch.cat([value.expand(len(part.inputs), *value.shape[1:]) for part, value in each])

        return cls(
            parts[0].kernel,
            {name: joined(part.parameters[name] for part in parts) for name in parts[0].parameters},
            joined(part.mean for part in parts),
            joined(part.row_noise for part in parts),
            joined(part.inputs for part in parts),
            joined(part.y for part in parts),
        )


@dataclass(frozen=True)
class Ensemble:
    """S Gaussian processes with their factorisations; hyperparameters are shared (batch 1) or one set a draw."""

    kernel: Kernel
    parameters: Parameters
    mean: Float[Tensor, " #s"]
    noise: Float[Tensor, " #s"]
    inputs: Float[Tensor, "s n d"]
    weights: Float[Tensor, "s n"]
    whitener: Float[Tensor, "s n n"]

    @classmethod
    def condition(cls, members: Members) -> Ensemble:
        """Factorise once for all later predictions."""
        K = members.kernel.covariance(members.parameters, members.inputs, members.inputs)
        factor = safe_cholesky(K + torch.diag_embed(members.row_noise.expand(K.shape[:-1])))
        residual = (members.y - members.mean.unsqueeze(-1)).expand(K.shape[:-1])
        weights = torch.cholesky_solve(residual.unsqueeze(-1), factor).squeeze(-1)
        # A new measurement has the noise of a typical old one.
        noise = members.row_noise.mean(-1)
        whitener = triangular_inverse(factor)
        return cls(members.kernel, members.parameters, members.mean, noise, members.inputs, weights, whitener)

    def with_members(self, which: Int[Tensor, " k"], others: Ensemble) -> Ensemble:
        """The same with others in these places, which differ in their inputs alone."""

        inputs, weights, whitener = (
            old.index_copy(0, which, new)
            for old, new in (
                (self.inputs, others.inputs),
                (self.weights, others.weights),
                (self.whitener, others.whitener),
            )
        )
        return replace(self, inputs=inputs, weights=weights, whitener=whitener)

    def split(self, draws: int) -> list[Ensemble]:
        """Ensembles of so many members each, in order: the way back from `Members.join`."""
        names, values = self.parameters.keys(), zip(*(v.split(draws) for v in self.parameters.values()), strict=True)
        tensors = (t.split(draws) for t in (self.mean, self.noise, self.inputs, self.weights, self.whitener))
        return [
            Ensemble(self.kernel, dict(zip(names, value, strict=True)), *each)
            for value, *each in zip(values, *tensors, strict=True)
        ]

    def predict(self, inputs: Float[Tensor, "b s q d"]) -> tuple[Float[Tensor, "b s q"], Float[Tensor, "b s q q"]]:
        """Mean and covariance of f for each draw, jointly over q points; differentiable in the inputs."""
        b, s, q, d = inputs.shape
        # Draws first and points of all batches side by side: one matrix product a draw, nothing copied.
        flat = inputs.transpose(0, 1).reshape(s, b * q, d)
        cross = self.kernel.covariance(self.parameters, flat, self.inputs)
        mean = (cross @ self.weights.unsqueeze(-1)).squeeze(-1) + self.mean.unsqueeze(-1)
        V = (cross @ self.whitener.mT).reshape(s, b, q, cross.shape[-1]).transpose(0, 1)
        if q == 1:
            prior = self.kernel.variance(self.parameters, inputs)
            # Rounding must not leave a variance at or below zero.
            variance = (prior - V.square().sum(-1)).clamp_min(1e-12)
            covariance = variance.unsqueeze(-1)
        else:
            prior = self.kernel.covariance(self.parameters, inputs, inputs)
            covariance = prior - V @ V.mT
            covariance = with_jitter(covariance, prior)
        return mean.reshape(s, b, q).transpose(0, 1), covariance

    def in_user_units(
        self,
        mean: Float[Tensor, "b s q"],
        covariance: Float[Tensor, "b s q q"],
        scaling: Scaling,
        noise: bool | Float[Tensor, "b 1 q"],
    ) -> tuple[Float[Tensor, "b s q"], Float[Tensor, "b s q q"]]:
        """From standardised units, with the model's noise (True), given variances (a tensor) or none."""
        mean, covariance = mean * scaling.scale + scaling.centre, covariance * scaling.scale**2
        if isinstance(noise, Tensor):
            rows = noise
        elif noise:
            rows = (self.noise * scaling.scale**2).unsqueeze(-1)
        else:
            return mean, covariance
        return mean, covariance + torch.diag_embed(rows.expand(mean.shape))


def with_jitter(covariance: Float[Tensor, "*b q q"], prior: Float[Tensor, "*#b q q"]) -> Float[Tensor, "*b q q"]:
    """A little on the diagonal, so that rounding leaves a covariance that can be sampled from."""
    jitter = 1e-10 * prior.diagonal(dim1=-2, dim2=-1).mean(-1, keepdim=True)
    return covariance + torch.diag_embed(jitter.expand(covariance.shape[:-1]))
