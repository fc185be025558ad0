"""What BEGP and BGP share: a BoTorch model whose posterior is an ensemble of exact GPs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import Model
from botorch.posteriors.posterior import Posterior
from torch import Tensor

from headstart.errors import NotFittedError
from headstart.models.checks import checked_noise
from headstart.models.ensemble import Ensemble
from headstart.models.normal import EnsemblePosterior, normal
from headstart.models.scaling import Scaling
from headstart.shapes import Float


class EnsembleModel(Model):
    """A model with one output and S draws, which BoTorch's acquisition functions average over.

    A subclass says what its ensemble is (`_ensemble`, a cached property) and how test points enter it.
    """

    train_X: Tensor
    train_Y: Tensor
    train_Yvar: Tensor | None
    bounds: Tensor | None
    # The fitted parameters in the order of the layout: P of them, or S x P where each draw has its own.
    vector: Tensor | None
    scaling: Scaling
    posterior_draws: int

    _is_ensemble = True
    # Names of what is computed once and must be forgotten when parameters or device change.
    _derived: tuple[str, ...] = ("_ensemble",)

    @cached_property
    @abstractmethod
    def _ensemble(self) -> Ensemble:
        """The S factorised Gaussian processes."""

    @abstractmethod
    def _joint_inputs(self, X: Float[Tensor, "*b q d"]) -> Float[Tensor, "b s q d2"]:
        """Test points as every member of the ensemble sees them."""

    def _hold(self, X: Tensor, Y: Tensor, Yvar: Tensor | None, bounds: Tensor | None) -> None:
        """Keep the rows, which a state dict leaves out, and room for the fitted parameters, which it holds."""
        self.register_buffer("train_X", X, persistent=False)
        self.register_buffer("train_Y", Y, persistent=False)
        self.register_buffer("train_Yvar", Yvar, persistent=False)
        self.register_buffer("bounds", bounds, persistent=False)
        self.register_buffer("vector", None)

    @property
    def num_outputs(self) -> int:
        """One output."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """The ensemble's dimension."""
        return torch.Size([self.posterior_draws])

    def posterior(
        self,
        X: Float[Tensor, "*b q d"],
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """The ensemble's posterior at `batch_shape x q x d` points, of shape `batch_shape x S x q x 1`.

        Args:
            X: points; general columns hold level codes.
            output_indices: there is one output, so nothing to choose.
            observation_noise: predict y (True) or f (False); a tensor is used as the noise variance.
            posterior_transform: applied last.
        """
        noise = checked_noise(observation_noise, X)
        mean, covariance = self._ensemble.predict(self._joint_inputs(X))
        mean, covariance = self._ensemble.in_user_units(mean, covariance, self.scaling, noise)
        shape = X.shape[:-2] + mean.shape[1:]
        posterior = EnsemblePosterior(normal(mean.reshape(shape), covariance.reshape(*shape, shape[-1])))
        return posterior if posterior_transform is None else posterior_transform(posterior)

    @property
    def _fitted_vector(self) -> Tensor:
        if self.vector is None:
            raise NotFittedError("The model is not fitted: call model.fit(seed=0) first.")
        return self.vector

    @abstractmethod
    def adopt(self, vector: Float[Tensor, "*s P"]) -> None:
        """Take parameters fitted elsewhere, and forget what was computed with others."""

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *arguments: Any) -> None:
        """A state holds the fitted parameters, not the rows: as in GPyTorch, it can move to a model with other rows."""
        if prefix + "vector" in state_dict:
            self.adopt(state_dict[prefix + "vector"])
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    def forget(self) -> None:
        """Drop what can be computed again."""
        for name in self._derived:
            self.__dict__.pop(name, None)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> EnsembleModel:
        """Move to another device; the precision stays.

        BoTorch's acquisition functions call `.to(X)` at every evaluation, so staying must cost nothing.
        """
        device = fn(self.train_X[:0]).device
        if device != self.train_X.device:
            super()._apply(lambda tensor: tensor.to(device), recurse)
            self.scaling = self.scaling.moved(device)
            self.forget()
        return self
