r"""The training objective: the evidence lower bound (eq. elbo), sampled with fixed draws.

    ELBO = E_q(Z)[log p(y | Z)] - KL(q(Z) || p(Z)) + log p(hyperparameters)

The expectation is an average over the draws of `headstart.models.draws`. Everything is batched: a vector of
parameters a restart, a covariance matrix a restart and draw. Data sets may be stacked as well, so that many models are
trained as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.models.draws import normal_draws
from headstart.models.embedding import Embedding
from headstart.models.kernels import Kernel
from headstart.models.parameters import Layout, Parameter, Parameters
from headstart.shapes import Bool, Float, Int

# In standardised units. The floor keeps covariance matrices of duplicate rows well conditioned.
NOISE_FLOOR = 1e-6
# Rows that pad a data set have residual 0 and a noise that makes them independent of the others.
_PADDING_NOISE = 1e10


@dataclass(frozen=True)
class TrainingData:
    """What the surrogate layer sees: inputs in [0, 1], levels by position, standardised outputs.

    Several data sets may be stacked, the shorter ones padded: `mask` says which rows are real.
    """

    x: Float[Tensor, "*p n x"]
    positions: Int[Tensor, "*p n g"]
    y: Float[Tensor, "*p n"]
    noise: Float[Tensor, "*p n"] | None
    levels: tuple[int, ...]
    mask: Bool[Tensor, "*p n"] | None = None

    @classmethod
    def stack(cls, sets: Sequence[TrainingData], *, device: torch.device | None = None) -> TrainingData:
        """Data sets with the same number of levels, of any numbers of rows, as one."""

        def padded(parts: list[Tensor]) -> Tensor:
            return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True).to(device)

        known = [part.noise for part in sets if part.noise is not None]
        is_ragged = len({len(part.y) for part in sets}) > 1
        return cls(
            padded([part.x for part in sets]),
            padded([part.positions for part in sets]),
            padded([part.y for part in sets]),
            padded(known) if known else None,
            sets[0].levels,
            padded([torch.ones_like(part.y, dtype=torch.bool) for part in sets]) if is_ragged else None,
        )

    def select(self, which: Int[Tensor, " b"]) -> TrainingData:
        """Some of the stacked data sets, any of them repeatedly."""
        return TrainingData(
            self.x[which],
            self.positions[which],
            self.y[which],
            None if self.noise is None else self.noise[which],
            self.levels,
            None if self.mask is None else self.mask[which],
        )


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
    x: Float[Tensor, "*p n x"],
    positions: Int[Tensor, "*p n g"],
    latents: tuple[Float[Tensor, "*batch s _ _"], ...],
    *,
    with_levels: bool = False,
) -> Float[Tensor, "*batch s n d"]:
    """[x, z_1, ..., z_G] of every row and draw; `p`, if there, is the batch of the latents.

    For kernels that know tasks, `with_levels` appends the levels' positions.
    """
    rows = [_rows_of(z, positions[..., g]) for g, z in enumerate(latents)]
    batch = rows[0].shape[:-1] if rows else x.unsqueeze(-3).shape[:-1]
    shared = [x, positions.to(x)] if with_levels else [x]
    first, *last = (part.unsqueeze(-3).expand(*batch, part.shape[-1]) for part in shared)
    return torch.cat([first, *rows, *last], dim=-1)


def _rows_of(z: Float[Tensor, "*batch s l z"], positions: Int[Tensor, "*p n"]) -> Float[Tensor, "*batch s n z"]:
    """The latent of each row's level."""
    if positions.dim() == 1:
        return z.index_select(-2, positions)
    # As a product with an indicator matrix: on a GPU, a gather's gradient would add in any order.
    indicator = torch.nn.functional.one_hot(positions, z.shape[-2]).to(z)
    return indicator.unsqueeze(-3) @ z


def elbo(
    structure: Structure,
    layout: Layout,
    data: TrainingData,
    eps: tuple[Float[Tensor, "*r s _ _"], ...],
    vector: Float[Tensor, "r P"],
) -> Float[Tensor, " r"]:
    """The ELBO plus the log prior of the hyperparameters, one value a restart.

    All vectors see the same data and draws, or each its own where those are stacked.
    """
    parameters = layout.unpack(vector)
    q = [section(parameters, f"embedding.{g}") for g in range(len(structure.embeddings))]
    latents = tuple(family.latents(part, e) for family, part, e in zip(structure.embeddings, q, eps, strict=True))
    inputs = joint_inputs(data.x, data.positions, latents, with_levels=structure.kernel.knows_tasks)
    kernel = {n: v.unsqueeze(1) for n, v in section(parameters, "kernel").items()}
    residual = data.y.unsqueeze(-2) - parameters["mean"][:, None, None]
    if data.mask is not None:
        residual = torch.where(data.mask.unsqueeze(-2), residual, 0.0)
    noise = observation_noise(parameters, data).unsqueeze(1)
    fit = structure.kernel.log_density(kernel, inputs, noise, residual).mean(-1) + _density_of_padding(data)
    kl = sum(family.kl(part) for family, part in zip(structure.embeddings, q, strict=True))
    extra = structure.kernel.log_prior(section(parameters, "kernel"))
    return fit - kl + layout.log_prior(vector) + extra


def observation_noise(parameters: Parameters, data: TrainingData) -> Float[Tensor, "*batch n"]:
    """sigma_y^2 of every row, learned or known."""
    batch = parameters["mean"].shape
    noise = parameters["log_noise"].exp().unsqueeze(-1) if data.noise is None else data.noise
    noise = noise.expand(*batch, data.y.shape[-1])
    return noise if data.mask is None else torch.where(data.mask, noise, _PADDING_NOISE)


def _density_of_padding(data: TrainingData) -> Tensor | float:
    """What padding takes from the log density: L-BFGS-B's tolerance is relative to the value."""
    if data.mask is None:
        return 0.0
    return 0.5 * math.log(2 * math.pi * _PADDING_NOISE) * (~data.mask).sum(-1)
