"""A GP of each legacy task, all tasks fitted as one batch: where BGP's prior comes from."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headstart.models.elbo import Structure, TrainingData
from headstart.models.inference import LBFGS, Objective, maximise
from headstart.models.kernels import Kernel
from headstart.shapes import Float

# Every restart is converged, then the best of each task once more.
_CONVERGED = LBFGS(restarts=4, screening=500, iterations=500, tolerance=1e-10)


def fit_tasks(kernel: Kernel, tasks: Sequence[TrainingData]) -> Float[Tensor, "t P"]:
    """The maximum a posteriori of a GP of each task, in the order of the layout; nothing is embedded."""
    structure = Structure(kernel, (), ())
    layout = structure.layout(tasks[0])
    objective = Objective(structure, layout, TrainingData.stack(tasks, device=tasks[0].y.device), (0,) * len(tasks))
    starts = layout.starts(_CONVERGED.restarts, seed=0).expand(len(tasks), -1, -1)
    found = maximise(objective, starts, _CONVERGED)
    return torch.stack([fit.vector for fit in found]).to(tasks[0].y)
