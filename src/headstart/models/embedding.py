r"""The embedding layer: what we believe about the latent of each level (eq. qz).

The prior is p(Z) = prod_ij N(z_ij | 0, sigma_w^2) with sigma_w = 1 (eq. pz), and q(Z) factorises over levels.
A family says how one level's q(z) is parameterised:

| family | q(z_i) | model |
| --- | --- | --- |
| `PointEmbedding` | a delta at m_i | EGP |
| `MeanFieldEmbedding` | N(m_i, diag s_i^2) | BEGP, the default |
| `FullCovarianceEmbedding` | N(m_i, C_i C_i^T), C_i lower triangular | BEGP |

To add a family, subclass `Embedding` and pass an instance as `BEGP(..., embedding=...)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from headstart.errors import ProblemError
from headstart.models.parameters import Parameter, Parameters
from headstart.shapes import Float

# Bounds that no posterior under the N(0, 1) prior reaches: they keep a wild line search finite.
_MEAN_BOUND = 6.0
_LOG_SD_BOUNDS = (-7.0, 1.0)
_START_LOG_SD = -1.6


class Embedding(ABC):
    """A family of variational posteriors q(Z) over the latents of one general input.

    Parameters have the level as their first dimension, and all zeros is the prior: so a level that has no data
    yet joins by appending zeros.
    """

    name: str
    is_random = True

    @abstractmethod
    def parameters(self, levels: int, dim: int) -> dict[str, Parameter]:
        """The family's parameters for that many levels."""

    @abstractmethod
    def latents(self, parameters: Parameters, eps: Float[Tensor, "*#batch s l z"]) -> Float[Tensor, "*batch s l z"]:
        """Z as a differentiable function of the parameters and standard normal draws."""

    @abstractmethod
    def kl(self, parameters: Parameters) -> Float[Tensor, "*batch"]:
        """KL(q(Z) || p(Z)), in closed form."""

    @abstractmethod
    def sd(self, parameters: Parameters) -> Float[Tensor, "*batch l z"]:
        """Standard deviation of each latent coordinate."""

    def unseen(self, eps: Float[Tensor, "s l z"]) -> Float[Tensor, "s l z"]:
        """Latents of levels without data: the prior."""
        return eps


def _mean_parameter(levels: int, dim: int) -> Parameter:
    return Parameter((levels, dim), -_MEAN_BOUND, _MEAN_BOUND, start=0.0, spread=0.5)


class PointEmbedding(Embedding):
    """A delta at the maximum a posteriori: the paper's EGP.

    A level without data sits at the mode of the prior, z = 0, as if that were known: this is where
    EGP's overconfidence comes from.
    """

    name = "point"
    is_random = False

    def parameters(self, levels: int, dim: int) -> dict[str, Parameter]:
        """The point m of each level."""
        return {"mean": _mean_parameter(levels, dim)}

    def latents(self, parameters: Parameters, eps: Float[Tensor, "*#batch s l z"]) -> Float[Tensor, "*batch s l z"]:
        """z = m, whatever the draw."""
        mean = parameters["mean"].unsqueeze(-3)
        return mean.expand(*mean.shape[:-3], eps.shape[-3], *mean.shape[-2:])

    def kl(self, parameters: Parameters) -> Float[Tensor, "*batch"]:
        """-log p(M) up to a constant: the penalty that makes the point a posterior mode."""
        return 0.5 * parameters["mean"].square().sum((-2, -1))

    def sd(self, parameters: Parameters) -> Float[Tensor, "*batch l z"]:
        """Zero."""
        return torch.zeros_like(parameters["mean"])

    def unseen(self, eps: Float[Tensor, "s l z"]) -> Float[Tensor, "s l z"]:
        """The prior's mode."""
        return torch.zeros_like(eps)


class MeanFieldEmbedding(Embedding):
    """Independent Gaussians, eq. qz: the paper's BEGP."""

    name = "mean-field"

    def parameters(self, levels: int, dim: int) -> dict[str, Parameter]:
        """Mean m and log standard deviation log s of each coordinate."""
        return {
            "mean": _mean_parameter(levels, dim),
            "log_sd": Parameter((levels, dim), *_LOG_SD_BOUNDS, start=_START_LOG_SD),
        }

    def latents(self, parameters: Parameters, eps: Float[Tensor, "*#batch s l z"]) -> Float[Tensor, "*batch s l z"]:
        """z = m + s * eps."""
        sd = parameters["log_sd"].exp().unsqueeze(-3)
        return torch.addcmul(parameters["mean"].unsqueeze(-3), sd, eps)

    def kl(self, parameters: Parameters) -> Float[Tensor, "*batch"]:
        """sum_ij (s_ij^2 + m_ij^2 - 1) / 2 - log s_ij."""
        log_sd = parameters["log_sd"]
        terms = 0.5 * ((2 * log_sd).exp() + parameters["mean"].square() - 1) - log_sd
        return terms.sum((-2, -1))

    def sd(self, parameters: Parameters) -> Float[Tensor, "*batch l z"]:
        """s."""
        return parameters["log_sd"].exp()


class FullCovarianceEmbedding(Embedding):
    """One Gaussian with a full covariance matrix a level."""

    name = "full"

    def parameters(self, levels: int, dim: int) -> dict[str, Parameter]:
        """Mean m, log diagonal of C and its strictly lower part, row by row."""
        return {
            "mean": _mean_parameter(levels, dim),
            "log_sd": Parameter((levels, dim), *_LOG_SD_BOUNDS, start=_START_LOG_SD),
            "lower": Parameter((levels, dim * (dim - 1) // 2), -_MEAN_BOUND, _MEAN_BOUND),
        }

    def latents(self, parameters: Parameters, eps: Float[Tensor, "*#batch s l z"]) -> Float[Tensor, "*batch s l z"]:
        """z = m + C eps."""
        factor = self._factor(parameters).unsqueeze(-4)
        return parameters["mean"].unsqueeze(-3) + (factor @ eps.unsqueeze(-1)).squeeze(-1)

    def kl(self, parameters: Parameters) -> Float[Tensor, "*batch"]:
        """sum_i (tr C_i C_i^T + m_i^T m_i - d_z) / 2 - log det C_i."""
        log_sd = parameters["log_sd"]
        diagonal = 0.5 * ((2 * log_sd).exp() + parameters["mean"].square() - 1) - log_sd
        return diagonal.sum((-2, -1)) + 0.5 * parameters["lower"].square().sum((-2, -1))

    def sd(self, parameters: Parameters) -> Float[Tensor, "*batch l z"]:
        """Square roots of the diagonal of C C^T."""
        return self._factor(parameters).square().sum(-1).sqrt()

    def _factor(self, parameters: Parameters) -> Float[Tensor, "*batch l z z"]:
        dim = parameters["mean"].shape[-1]
        rows, columns = torch.tril_indices(dim, dim, offset=-1, device=parameters["mean"].device)
        factor = torch.diag_embed(parameters["log_sd"].exp())
        strict = torch.zeros_like(factor)
        strict[..., rows, columns] = parameters["lower"]
        return factor + strict


class SampledEmbedding(PointEmbedding):
    """Draws of Z from Markov chain Monte Carlo: one parameter set a draw, each a point."""

    name = "sampled"
    is_random = True

    def latents(self, parameters: Parameters, eps: Float[Tensor, "*#batch s l z"]) -> Float[Tensor, "*batch s l z"]:
        """The drawn latents."""
        return parameters["mean"]

    def unseen(self, eps: Float[Tensor, "s l z"]) -> Float[Tensor, "s l z"]:
        """The prior."""
        return eps


_FAMILIES = {family.name: family() for family in (PointEmbedding, MeanFieldEmbedding, FullCovarianceEmbedding)}


def embedding_family(embedding: str | Embedding) -> Embedding:
    """The family of that name, or the instance itself.

    >>> embedding_family("mean-field").name
    'mean-field'
    """
    if isinstance(embedding, Embedding):
        return embedding
    if embedding not in _FAMILIES:
        raise ProblemError(f"Unknown embedding {embedding!r}: choose one of {sorted(_FAMILIES)} or pass an Embedding.")
    return _FAMILIES[embedding]
