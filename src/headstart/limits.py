"""What can be fitted, checked before any work is done."""

from __future__ import annotations

import warnings

import torch

from headstart.errors import DataError, DataWarning, ProblemError, checked_whole
from headstart.models import BEGP, HMC, LBFGS
from headstart.models.evidence import AnyKernel, kernels_to_try
from headstart.models.inference import Inference
from headstart.models.kernels import GPyTorchKernel
from headstart.models.known_kernels import DEFAULT_KERNEL
from headstart.models.state import model_class

# Rows of a fit whose covariance matrices, one a draw, still have room in 16 GB of memory, or on a large GPU.
_MOST_ROWS = {"cpu": 3_000, "cuda": 10_000}
# Rows up to which drawing hyperparameters takes hardly longer than fitting them; with more they are well known anyway.
_MOST_SAMPLED_ROWS = {"cpu": 500, "cuda": 2_000}


def default_inference(model: BEGP) -> Inference:
    """Draws by HMC where they are affordable and there is something to draw."""
    most = _MOST_SAMPLED_ROWS.get(model.train_X.device.type, _MOST_SAMPLED_ROWS["cpu"])
    can_sample = model.structure.is_random and not isinstance(model.structure.kernel, GPyTorchKernel)
    return HMC() if can_sample and len(model.train_X) <= most else LBFGS()


def check_fit(
    rows: int,
    *,
    seed: int = 0,
    model: str = "begp",
    kernel: AnyKernel = DEFAULT_KERNEL,
    latent_dim: int = 3,
    device: str | torch.device = "cpu",
) -> int:
    """Refuse, before any work is done, a fit that cannot be; the seed as a plain number."""
    model_class(model)
    kernels_to_try(kernel)
    checked_whole("latent_dim", latent_dim, low=1, high=64)
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise ProblemError(f"device={device!r} is not known: give 'cpu' or 'cuda'.") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise ProblemError("device='cuda' needs a GPU that torch can see; there is none. Leave it out to use the CPU.")
    check_size(rows, kind)
    return checked_whole("seed", seed)


def check_size(rows: int, device: str) -> None:
    """Exact Gaussian processes take memory as the square and time as the cube of the rows."""
    most = _MOST_ROWS[device] if device in _MOST_ROWS else _MOST_ROWS["cpu"]
    if rows > most:
        raise DataError(
            f"The archive has {rows} rows, more than the {most} that can be fitted at once on this device. "
            "Take a sample of some tasks or rows, as archive.sample(1000, random_state=0) (--sample 1000)."
        )
    # The fit, and before it those of 1,000 rows that choose the kernel.
    minutes = (rows / 1000) ** 3 + 2
    if device == "cpu" and minutes > 5:
        warnings.warn(
            f"A fit of {rows} rows may take about {minutes:.0f} minutes. A sample is quicker: "
            "archive.sample(1000, random_state=0) (--sample 1000).",
            DataWarning,
            stacklevel=4,
        )
