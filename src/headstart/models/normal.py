"""A multivariate normal for outputs on any scale."""

from __future__ import annotations

from gpytorch.distributions import MultivariateNormal
from torch import Tensor


class AnyScaleNormal(MultivariateNormal):
    """GPyTorch's normal without its floor of 1e-10 on variances, which would swamp outputs of scale 1e-9."""

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        diagonal = self.lazy_covariance_matrix.diagonal(dim1=-1, dim2=-2)
        return diagonal.expand(self._batch_shape + self._event_shape).clamp_min(0.0)
