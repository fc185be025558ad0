"""Small many-task problems that the tests share."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def toy(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The paper's toy system."""
    z = theta[0] + 4 * x - 4
    return 0.1 * z**4 - z**2 + (2 + theta[1]) * np.sin(2 * z)


def toy_archive(seed: int = 0, tasks: int = 5, rows: int = 5) -> tuple[Tensor, Tensor, np.ndarray]:
    """Rows [x, task], outputs, and the parameters of the tasks, the last of which has no row."""
    random = np.random.RandomState(seed)
    theta = random.rand(tasks + 1, 2)
    x = random.rand(tasks, rows)
    codes = np.repeat(np.arange(tasks), rows)
    y = np.concatenate([toy(x[task], theta[task]) for task in range(tasks)])
    X = torch.from_numpy(np.column_stack([x.ravel(), codes]))
    return X, torch.from_numpy(y).unsqueeze(-1), theta


def grid_of(task: int, points: int = 41) -> Tensor:
    """Evenly spaced points of one task, each a batch of its own: points x 1 x 2."""
    x = torch.linspace(0, 1, points, dtype=torch.float64)
    return torch.stack([x, torch.full_like(x, task)], -1).unsqueeze(-2)


def negative_log_density(posterior, truth: Tensor) -> float:
    """Mean over points of -log of the mixture's density at the truth."""
    mean, variance = posterior.mean[..., 0, 0], posterior.variance[..., 0, 0]
    log_density = torch.distributions.Normal(mean, variance.sqrt()).log_prob(truth.unsqueeze(-1))
    return -float((torch.logsumexp(log_density, -1) - math.log(mean.shape[-1])).mean())
