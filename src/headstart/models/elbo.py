r"""The training objective: the evidence lower bound (eq. elbo), sampled with fixed draws.

    ELBO = E_q(Z)[log p(y | Z)] - KL(q(Z) || p(Z)) + log p(hyperparameters)

The expectation is an average over the draws of `headstart.models.draws`. Everything is batched: a vector of
parameters a restart, a covariance matrix a restart and draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.models.draws import normal_draws
from headstart.models.embedding import Embedding
from headstart.models.kernels import Kernel
from headstart.models.parameters import Layout, Parameter, Parameters
from headstart.shapes import Float, Int

# In standardised units. The floor keeps covariance matrices of duplicate rows well conditioned.
NOISE_FLOOR = 1e-6


@dataclass(frozen=True)
class TrainingData:
    """What the surrogate layer sees: inputs in [0, 1], levels by position, standardised outputs."""

    x: Float[Tensor, "n x"]
    positions: Int[Tensor, "n g"]
    y: Float[Tensor, " n"]
    noise: Float[Tensor, " n"] | None
    levels: tuple[int, ...]


@dataclass(frozen=True)
class Structure:
    """The choices that make a model: kernel, and family and dimension of each embedding."""

    kernel: Kernel
    embeddings: tuple[Embedding, ...]
    latent_dims: tuple[int, ...]

    @property
    def is_random(self) -> bool:
        """Whether any latent is uncertain."""
        return any(embedding.is_random for embedding in self.embeddings)

    def layout(self, data: TrainingData) -> Layout:
        """Every parameter of the model on these data."""
        entries = {"mean": Parameter((), -10.0, 10.0, 0.0, 1.0, spread=0.1)}
        if data.noise is None:
            entries["log_noise"] = Parameter((), math.log(NOISE_FLOOR), 2.0, -6.0, 2.5, start=-5.0, spread=1.0)
        kernel = self.kernel.parameters(data.x.shape[-1], sum(self.latent_dims))
        for name, parameter in kernel.items():
            entries[f"kernel.{name}"] = parameter
        for g, (embedding, levels, latent_dim) in enumerate(
            zip(self.embeddings, data.levels, self.latent_dims, strict=True)
        ):
            for name, parameter in embedding.parameters(levels, latent_dim).items():
                entries[f"embedding.{g}.{name}"] = parameter
        return Layout(entries)

    def draws(self, draws: int, levels: tuple[int, ...], *, seed: int) -> tuple[Float[Tensor, "s _ _"], ...]:
        """The fixed standard normal numbers of each general input."""
        return tuple(
            normal_draws(draws, count, dim, seed=seed, stream=g)
            for g, (count, dim) in enumerate(zip(levels, self.latent_dims, strict=True))
        )


def section(parameters: Parameters, prefix: str) -> Parameters:
    """The parameters below a prefix, without it.

    >>> section({"kernel.a": torch.zeros(()), "mean": torch.zeros(())}, "kernel").keys()
    dict_keys(['a'])
    """
    start = prefix + "."
    return {name.removeprefix(start): value for name, value in parameters.items() if name.startswith(start)}


def joint_inputs(
    x: Float[Tensor, "n x"],
    positions: Int[Tensor, "n g"],
    latents: tuple[Float[Tensor, "*batch _ _"], ...],
) -> Float[Tensor, "*batch n d"]:
    """[x, z_1, ..., z_G] of every row."""
    rows = [z.index_select(-2, positions[:, g]) for g, z in enumerate(latents)]
    return torch.cat([x.expand(*rows[0].shape[:-2], *x.shape), *rows], dim=-1)


def elbo(
    structure: Structure,
    layout: Layout,
    data: TrainingData,
    eps: tuple[Float[Tensor, "s _ _"], ...],
    vector: Float[Tensor, "r P"],
) -> Float[Tensor, " r"]:
    """The ELBO plus the log prior of the hyperparameters, one value a restart."""
    parameters = layout.unpack(vector)
    q = [section(parameters, f"embedding.{g}") for g in range(len(structure.embeddings))]
    latents = tuple(family.latents(part, e) for family, part, e in zip(structure.embeddings, q, eps, strict=True))
    inputs = joint_inputs(data.x, data.positions, latents)
    kernel = {n: v.unsqueeze(1) for n, v in section(parameters, "kernel").items()}
    residual = data.y - parameters["mean"][:, None, None]
    fit = structure.kernel.log_density(kernel, inputs, observation_noise(parameters, data).unsqueeze(1), residual).mean(
        -1
    )
    kl = sum(family.kl(part) for family, part in zip(structure.embeddings, q, strict=True))
    extra = structure.kernel.log_prior(section(parameters, "kernel"))
    return fit - kl + layout.log_prior(vector) + extra


def observation_noise(parameters: Parameters, data: TrainingData) -> Float[Tensor, "*batch n"]:
    """sigma_y^2 of every row, learned or known."""
    batch = parameters["mean"].shape
    if data.noise is not None:
        return data.noise.expand(*batch, -1)
    return parameters["log_noise"].exp().unsqueeze(-1).expand(*batch, len(data.y))
