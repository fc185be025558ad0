"""Units of the model: inputs in [0, 1], outputs with mean 0 and standard deviation 1."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.shapes import Float


@dataclass(frozen=True)
class Scaling:
    """Affine maps of inputs and output. Outputs on any scale, 1e-9 or 1e9, give the same model."""

    low: Float[Tensor, " x"]
    width: Float[Tensor, " x"]
    centre: Float[Tensor, ""]
    scale: Float[Tensor, ""]

    @classmethod
    def of(
        cls,
        x: Float[Tensor, "n x"],
        y: Float[Tensor, " n"],
        bounds: Float[Tensor, "2 x"] | None = None,
    ) -> Scaling:
        """From bounds, or from the data where there are none."""
        low, high = (x.amin(0), x.amax(0)) if bounds is None else bounds
        width = high - low
        # A constant input carries no scale: any width will do.
        width = torch.where(width > 0, width, torch.ones_like(width))
        centre = y.mean()
        deviation = (y - centre).square().mean().sqrt()
        # A constant output carries no scale but its size: be unsure by about that much.
        size = y.abs().max()
        fallback = torch.where(size > 0, size, torch.ones_like(size))
        is_constant = deviation <= 1e-13 * size
        return cls(low, width, centre, torch.where(is_constant, fallback, deviation))

    def inputs(self, x: Float[Tensor, "*b x"]) -> Float[Tensor, "*b x"]:
        """To [0, 1]."""
        return (x - self.low) / self.width

    def outputs(self, y: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
        """To standard units."""
        return (y - self.centre) / self.scale

    def moved(self, device: torch.device) -> Scaling:
        """The same on a device."""
        return Scaling(
            self.low.to(device),
            self.width.to(device),
            self.centre.to(device),
            self.scale.to(device),
        )
