"""The design space of one task, and the best point of it.

Continuous inputs are searched by gradient from many starts, all of them one batch; stepped ones by alternating local
search, or one by one where they can be listed. BoTorch does each of these.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from botorch.exceptions.warnings import BadInitialCandidatesWarning, OptimizationWarning
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating
from botorch.utils.sampling import draw_sobol_samples, manual_seed
from torch import Tensor

from headstart.acquisition.criteria import Criterion
from headstart.errors import ExhaustedError
from headstart.models.threads import threads_for
from headstart.shapes import Bool, Float

# Points of a lattice that are listed and looked at one by one.
_LISTED = 10_000
# Steps of one input that are searched as such.
_COARSE = 256
# Nearer than this, as a share of every input's range, two experiments are one.
_SAME = 1e-6
# So near to an experiment that failed another would fail as well.
_NEAR = 0.05


@dataclass(frozen=True, eq=False)
class Space:
    """Where the next point may lie.

    Attributes:
        bounds: the box, one column an input or general input.
        fixed: columns that keep a value: the task's level codes, and inputs that are not free.
        grids: the values of columns that are stepped, evenly and from bound to bound.
    """

    bounds: Float[Tensor, "2 d"]
    fixed: Mapping[int, float]
    grids: Mapping[int, Float[Tensor, " k"]] = field(default_factory=dict)

    @property
    def box(self) -> Float[Tensor, "2 d"]:
        """The bounds, as narrow as a value where a column keeps one: the local search clamps all columns to them."""
        box = self.bounds.clone()
        for column, value in self.fixed.items():
            box[:, column] = value
        return box

    @property
    def free_grids(self) -> dict[int, Float[Tensor, " k"]]:
        """The grids of columns that are to be chosen."""
        return {column: grid for column, grid in self.grids.items() if column not in self.fixed}

    @property
    def size(self) -> float | int:
        """How many points there are, infinity in a continuous space."""
        free = self.bounds.shape[-1] - len(self.fixed)
        grids = self.free_grids
        return math.prod(map(len, grids.values())) if len(grids) == free else math.inf

    def snapped(self, points: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """The points with stepped columns on their nearest step and fixed ones at their value."""
        points = points.clone()
        for column, grid in self.free_grids.items():
            step = (grid[-1] - grid[0]) / (len(grid) - 1)
            nearest = ((points[:, column] - grid[0]) / step).round().long().clamp(0, len(grid) - 1)
            points[:, column] = grid[nearest]
        for column, value in self.fixed.items():
            points[:, column] = value
        return points

    def sample(self, count: int, *, seed: int) -> Float[Tensor, "{count} d"]:
        """Evenly spread points."""
        return self.snapped(draw_sobol_samples(self.bounds, n=count, q=1, seed=seed).squeeze(1))

    def points(self) -> Float[Tensor, "n d"]:
        """All points of a space of finite size, in order."""
        grids = self.free_grids
        listed = [
            grids[column] if column in grids else self.bounds.new_tensor([self.fixed.get(column, 0.0)])
            for column in range(self.bounds.shape[-1])
        ]
        return torch.cartesian_prod(*listed).reshape(-1, len(listed))


def is_taken(points: Float[Tensor, "n d"], taken: Float[Tensor, "m d"], *, within: float = _SAME) -> Bool[Tensor, " n"]:
    """Which points are, but for rounding, among those taken, or so near in every input."""
    if len(taken) == 0:
        return torch.zeros(len(points), dtype=torch.bool, device=points.device)
    return torch.cdist(points, taken, p=math.inf).amin(-1) < within


def maximise_over_space(
    criterion: Criterion,
    space: Space,
    taken: Float[Tensor, "m d"],
    avoided: Float[Tensor, "a d"],
    *,
    seed: int,
    restarts: int = 8,
    raw_samples: int = 256,
) -> tuple[Float[Tensor, " d"], float]:
    """The point with the highest value that is not taken yet, nor near one that is avoided, and that value.

    Where steps can be listed, an avoided point is itself avoided and no other.
    """
    model = criterion.function.model
    work = raw_samples * model.posterior_draws * len(model.train_X)
    # A flat criterion (a one-row archive, a constant objective) is legal: any point is then as good.
    with warnings.catch_warnings(), threads_for(work), manual_seed(seed):
        warnings.simplefilter("ignore", BadInitialCandidatesWarning)
        warnings.simplefilter("ignore", OptimizationWarning)
        # Near a maximum of a function known almost without noise, rounding ends the line search.
        warnings.filterwarnings("ignore", "Optimization failed in", RuntimeWarning)
        if space.size <= _LISTED:
            points = space.points()
            return _best_of(criterion, points[~is_taken(points, torch.cat([taken, avoided]))], space)
        # BoTorch compares every point with every step, so fine steps are left to rounding.
        coarse = {column: grid.tolist() for column, grid in space.free_grids.items() if len(grid) <= _COARSE}
        common = {
            "bounds": space.box,
            "q": 1,
            "num_restarts": restarts,
            "raw_samples": raw_samples,
            "fixed_features": dict(space.fixed),
        }
        if coarse:
            point, value = optimize_acqf_mixed_alternating(criterion.function, discrete_dims=coarse, **common)
        else:
            # A line search that stops early at a maximum of tiny values is no failure to start again from.
            options = {"seed": seed, "maxiter": 100}
            point, value = optimize_acqf(
                criterion.function, options=options, retry_on_optimization_warning=False, **common
            )
        point = space.snapped(point.detach())
        if is_taken(point, taken).any() or is_taken(point, avoided, within=_NEAR).any():
            points = space.sample(4 * raw_samples, seed=seed)
            free = ~(is_taken(points, taken) | is_taken(points, avoided, within=_NEAR))
            return _best_of(criterion, points[free], space)
    return point.squeeze(0), float(value)


def _best_of(criterion: Criterion, points: Float[Tensor, "n d"], space: Space) -> tuple[Float[Tensor, " d"], float]:
    if len(points) == 0:
        settings = "settings" if math.isinf(space.size) else f"{space.size} settings"
        raise ExhaustedError(
            f"All {settings} of the inputs have been measured, are pending or were withdrawn on this task. "
            "Widen the bounds, take smaller steps or fix fewer inputs."
        )
    with torch.no_grad():
        point, value = optimize_acqf_discrete(criterion.function, q=1, choices=points)
    return point.squeeze(0), float(value)
