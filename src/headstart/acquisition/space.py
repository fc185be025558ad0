"""The best point of a box: gradient search from many starts, all of them one batch."""

from __future__ import annotations

import warnings

from botorch.exceptions.warnings import BadInitialCandidatesWarning, OptimizationWarning
from botorch.optim import optimize_acqf
from botorch.utils.sampling import manual_seed
from torch import Tensor

from headstart.acquisition.criteria import Criterion
from headstart.models.threads import threads_for
from headstart.shapes import Float


def maximise_over_box(
    criterion: Criterion,
    bounds: Float[Tensor, "2 d"],
    fixed: dict[int, float],
    *,
    seed: int,
    restarts: int = 8,
    raw_samples: int = 256,
) -> tuple[Float[Tensor, " d"], float]:
    """The point of the box with the highest value, and that value; `fixed` columns keep theirs."""
    model = criterion.function.model
    work = raw_samples * model.posterior_draws * len(model.train_X)
    # A flat criterion (a one-row archive, a constant objective) is legal: any point is then as good.
    with warnings.catch_warnings(), threads_for(work), manual_seed(seed):
        warnings.simplefilter("ignore", BadInitialCandidatesWarning)
        warnings.simplefilter("ignore", OptimizationWarning)
        point, value = optimize_acqf(
            criterion.function,
            bounds=bounds,
            q=1,
            num_restarts=restarts,
            raw_samples=raw_samples,
            fixed_features=fixed,
            options={"seed": seed, "maxiter": 100},
            # A line search that stops early at a maximum of tiny values is no failure to start again from.
            retry_on_optimization_warning=False,
        )
    return point.squeeze(0).detach(), float(value)
