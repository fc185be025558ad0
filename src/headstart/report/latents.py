r"""The map of a general input: which of its levels are believed to behave alike, and how sure that is.

The kernel sees latents divided by their length scales, w = z / l, so that is where distances mean something. With
q(z) = N(m, diag s^2) and V the first two principal directions of the levels' means m / l,

    centre = V^T (m / l - average),     covariance = V^T diag(s / l)^2 V.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.stats import qmc

from headstart.campaign import Campaign
from headstart.report.history import task_labels
from headstart.shapes import Float
from headstart.surrogate import Surrogate
from headstart.tasks import Task

_DRAWS = 4096
_NEAREST = 5
_INTERVAL = 0.5  # larger ellipses of many levels hide each other


def embedding_map(
    campaign: Campaign, general: str, task: Task | None = None, *, nearest: int = _NEAREST
) -> dict[str, Any]:
    """A two-dimensional picture of q(z) of each level of a general input, and the levels most similar to the task's.

    The unit is a length scale of the kernel: levels much less than 1 apart behave alike. A level without data is the
    prior N(0, I). `similarity` is the expected correlation under q of two levels' responses at equal inputs, all else
    equal: 1 is the same response, 0 nothing in common. `explained` is the share of the levels' differences that each
    direction shows. `separation` is the share of the latents' whole variance that lies between levels: at 0 the data do
    not tell the levels apart, at 1 each is known for sure.
    """
    surrogate = campaign.surrogate()
    label = None if task is None else task_labels(campaign.problem, task)[general]
    levels, mean, sd = _latents(surrogate, general, label)
    lengthscale = _lengthscales(surrogate, general)
    rows = campaign.data()[general].value_counts()

    scaled = mean / lengthscale
    seen = scaled[: len(surrogate.embedding(general))]
    average = seen.mean(axis=0)
    between = (seen - average).T @ (seen - average) / len(seen)
    within = np.diag(((sd / lengthscale)[: len(seen)] ** 2).mean(axis=0))
    directions, explained = _principal_directions(between, within)
    centres = (scaled - average) @ directions
    spread = (sd / lengthscale)[:, :, None] * directions
    covariances = np.swapaxes(spread, 1, 2) @ spread

    similarity: list[float | None] = [None] * len(levels)
    if label is not None:
        place = levels.index(label)
        similarity = _similarities(surrogate, general, mean, sd, place).tolist()
        similarity[place] = None
    shown = [
        {
            "label": level,
            "x": float(centre[0]),
            "y": float(centre[1]),
            "covariance": covariance.tolist(),
            "rows": int(rows.get(level, 0)),
            "is_current": level == label,
            "similarity": alike,
        }
        for level, centre, covariance, alike in zip(levels, centres, covariances, similarity, strict=True)
    ]
    others = [each for each in shown if each["similarity"] is not None]
    others.sort(key=lambda each: -each["similarity"])
    return {
        "general": general,
        "label": label,
        "interval": _INTERVAL,
        "explained": explained,
        "separation": float(np.trace(between) / max(np.trace(between + within), np.finfo(float).tiny)),
        "levels": shown,
        "nearest": [{name: each[name] for name in ("label", "similarity", "rows")} for each in others[:nearest]],
    }


def _latents(
    surrogate: Surrogate, general: str, label: str | None
) -> tuple[list[str], Float[np.ndarray, "l z"], Float[np.ndarray, "l z"]]:
    """Mean and sd of q(z) of the levels with data, and of the task's level if it has none: the prior."""
    frame = surrogate.embedding(general)
    levels = frame["level"].tolist()
    mean, sd = np.split(frame.drop(columns="level").to_numpy(), 2, axis=1)
    if label is not None and label not in levels:
        levels = [*levels, label]
        mean = np.vstack([mean, np.zeros_like(mean[:1])])
        sd = np.vstack([sd, np.full_like(sd[:1], float(surrogate.model.structure.is_random))])
    return levels, mean, sd


def _block(surrogate: Surrogate, general: str) -> slice:
    """Where the latents of a general input lie among all latents."""
    dims = surrogate.model.structure.latent_dims
    g = surrogate.problem.general.index(general)
    return slice(sum(dims[:g]), sum(dims[: g + 1]))


def _lengthscales(surrogate: Surrogate, general: str) -> Float[np.ndarray, " z"]:
    scales = surrogate.model.variational_parameters()["kernel.log_latent_lengthscale"].exp()
    return scales[_block(surrogate, general)].detach().cpu().numpy()


def _principal_directions(
    between: Float[np.ndarray, "z z"], within: Float[np.ndarray, "z z"]
) -> tuple[Float[np.ndarray, "z 2"], list[float]]:
    """The two directions along which levels differ most, and the share of their differences along each.

    Two levels differ along one direction only: what they leave open is decided by where they are least known.
    """
    _, vectors = np.linalg.eigh(between + 1e-9 * within)
    # The sign of a direction is arbitrary: its largest entry is made positive, so that the map does not flip.
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    ordered = (vectors * np.where(largest < 0, -1.0, 1.0))[:, ::-1]
    directions = np.zeros((len(between), 2))  # one latent has no second direction
    directions[:, : min(len(between), 2)] = ordered[:, :2]
    shares = np.einsum("zi,zy,yi->i", directions, between, directions)
    return directions, (shares / max(float(np.trace(between)), np.finfo(float).tiny)).tolist()


def _similarities(
    surrogate: Surrogate, general: str, mean: Float[np.ndarray, "l z"], sd: Float[np.ndarray, "l z"], place: int
) -> Float[np.ndarray, " l"]:
    """E_q[k(z_task, z_level)] / k(z, z) with the residual of each task, by quasi-Monte Carlo.

    Every level has the same draws.
    """
    model = surrogate.model
    dim = mean.shape[1]
    # The difference of two independent Gaussians is one: d ~ N(m_l - m_t, s_l^2 + s_t^2).
    eps = qmc.MultivariateNormalQMC(np.zeros(dim), rng=np.random.default_rng(0)).random(_DRAWS)
    difference = (mean - mean[place]) + np.sqrt(sd**2 + sd[place] ** 2) * eps[:, None, :]
    block = _block(surrogate, general)
    offset = len(surrogate.problem.inputs)
    size = offset + sum(model.structure.latent_dims)
    joint = torch.zeros(*difference.shape[:2], size, dtype=torch.float64)
    joint[..., offset + block.start : offset + block.stop] = torch.from_numpy(difference)
    prefix = "kernel."
    parameters = {
        name.removeprefix(prefix): value.detach().cpu()
        for name, value in model.variational_parameters().items()
        if name.startswith(prefix)
    }
    kernel, origin = model.structure.kernel, torch.zeros_like(joint[:, :1])
    if kernel.knows_tasks:  # the other levels are other tasks, so their residuals have nothing in common
        joint = torch.cat([joint, torch.ones_like(joint[..., : len(surrogate.problem.general)])], dim=-1)
        origin = torch.cat([origin, torch.zeros_like(origin[..., : len(surrogate.problem.general)])], dim=-1)
    squared = kernel.variance(parameters, origin).unsqueeze(-1) * kernel.variance(parameters, joint).unsqueeze(-2)
    correlation = kernel.covariance(parameters, origin, joint) / squared.sqrt()
    return correlation.mean(0).squeeze(0).numpy()
