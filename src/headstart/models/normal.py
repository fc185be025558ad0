"""Normal distributions and mixtures of them, for outputs on any scale."""

from __future__ import annotations

from botorch.posteriors.fully_bayesian import MCMC_DIM, GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal
from linear_operator import to_linear_operator
from torch import Tensor

from headstart.shapes import Float


class AnyScaleNormal(MultivariateNormal):
    """GPyTorch's normal without its floor of 1e-10 on variances, which would swamp outputs of scale 1e-9."""

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        diagonal = self.lazy_covariance_matrix.diagonal(dim1=-1, dim2=-2)
        return diagonal.expand(self._batch_shape + self._event_shape).clamp_min(0.0)


class EnsemblePosterior(GaussianMixturePosterior):
    """BoTorch's mixture, with a variance that does not cancel when the outputs' offset is large."""

    @property
    def mixture_variance(self) -> Tensor:
        """E[v] + E[(m - E[m])^2] over the ensemble."""
        deviation = self.mean - self.mixture_mean.unsqueeze(MCMC_DIM)
        return (self.variance + deviation.square()).mean(MCMC_DIM)


def normal(mean: Float[Tensor, "*b q"], covariance: Float[Tensor, "*b q q"]) -> AnyScaleNormal:
    """The covariance is wrapped: torch's own normal would factorise it, though most callers want its diagonal."""
    return AnyScaleNormal(mean, to_linear_operator(covariance))
