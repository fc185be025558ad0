"""A Gaussian process of one task alone: what the other tasks' rows are compared with.

A GP without legacy data has no scale to begin with: one row can be neither centred nor standardised. So it counts in
the units of the other tasks, their mean as 0 and their standard deviation as 1, and has there the priors that every
model here has: mean N(0, 1), log output scale N(0, 1), BoTorch's length scales, little noise. All it takes from the
archive is how outcomes are distributed; nothing of where they are large. Its hyperparameters are drawn by HMC, for a
point of them fitted to three rows is far too sure of itself and would be easy to beat.
"""

from __future__ import annotations

from torch import Tensor

from headstart.models.begp import BEGP
from headstart.models.inference import HMC, LBFGS, Objective, maximise
from headstart.models.kernels import GPyTorchKernel
from headstart.models.residual import TaskResidual
from headstart.shapes import Float


def task_alone(legacy: BEGP, X: Float[Tensor, "k d"], Y: Float[Tensor, "k 1"], *, seed: int = 0) -> BEGP:
    """A GP of these rows, all of one task, in the units of a model of the others.

    It is a BEGP with a single level: latents that all rows share cancel. Of a kernel with terms for tasks it has what
    remains without them. A GPyTorch kernel, whose priors HMC does not know, is fitted by L-BFGS-B.
    """
    kernel = legacy.structure.kernel
    kernel = kernel.shared if isinstance(kernel, TaskResidual) else kernel
    is_known = not isinstance(kernel, GPyTorchKernel)
    dims = [1 if is_known else dim for dim in legacy.structure.latent_dims]
    model = BEGP(
        X,
        Y,
        legacy.general,
        latent_dim=dict(zip(legacy.general, dims, strict=True)),
        kernel=kernel,
        bounds=legacy.bounds,
        device="cpu",  # a few rows
    )
    model.seed, model.scaling = seed, legacy.scaling.moved(model.train_X.device)
    data, strategy = model.resume(), LBFGS()
    layout = model.structure.layout(data)
    starts = layout.starts(strategy.restarts, seed=seed).unsqueeze(0)
    [found] = maximise(Objective(model.structure, layout, data, (seed,)), starts, strategy)
    model.end(found)
    if is_known:
        model.sample(HMC())
    return model
