"""The variational posterior against Markov chain Monte Carlo over Z, with the same hyperparameters.

q(Z) is a product of Gaussians, the true posterior is not: so the two agree up to a fraction of a standard deviation.
"""

import numpy as np
import pytest
import torch
from problems import grid_of, toy_archive

from headstart.models import BEGP, NUTS


def shifted_tasks():
    """Tasks that differ by an offset alone: the easy case."""
    random = np.random.RandomState(3)
    codes = np.repeat(np.arange(4), 4)
    x = random.rand(16)
    y = np.sin(5 * x) + np.array([-1.0, 0.0, 0.5, 1.5])[codes]
    X = torch.from_numpy(np.column_stack([x, codes]))
    return X, torch.from_numpy(y).unsqueeze(-1), {1: 4}, [grid_of(task, 9) for task in (0, 2, 4)]


def toy_tasks():
    """The paper's toy system."""
    X, Y, _ = toy_archive(seed=1, tasks=4, rows=5)
    return X, Y, {1: 4}, [grid_of(task, 9) for task in (0, 2, 4)]


def two_general_inputs():
    """A shift by machine and a tilt by operator, with noise."""
    random = np.random.RandomState(5)
    machine, operator = np.arange(18) % 3, np.arange(18) // 6 % 2
    x = random.rand(18)
    y = np.cos(4 * x) + 0.7 * machine + x * operator + 0.1 * random.randn(18)
    X = torch.from_numpy(np.column_stack([x, machine, operator]))
    points = torch.rand(9, 1, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    grids = []
    for levels in ((0, 0), (2, 1), (3, 1)):
        grid = points.clone()
        grid[..., 1:] = torch.tensor(levels)
        grids.append(grid)
    return X, torch.from_numpy(y).unsqueeze(-1), {1: 3, 2: 2}, grids


@pytest.mark.parametrize("problem", [shifted_tasks, toy_tasks, two_general_inputs])
def test_predictive_mean_and_sd_agree(problem):
    X, Y, general, grids = problem()
    settings = {"latent_dim": 1, "posterior_draws": 256}
    variational = BEGP(X, Y, general, **settings).fit(seed=0)
    sampled = BEGP(X, Y, general, **settings).fit(
        seed=0, inference=NUTS(warmup=300, samples=300, thinning=3, hyperparameters=False)
    )
    torch.testing.assert_close(  # the same hyperparameters
        sampled.hyperparameters()["kernel.log_lengthscale"][0],
        variational.hyperparameters()["kernel.log_lengthscale"],
    )
    for grid in grids:
        q, mcmc = (model.posterior(grid, observation_noise=True) for model in (variational, sampled))
        sd = mcmc.mixture_variance.sqrt()
        assert ((q.mixture_mean - mcmc.mixture_mean) / sd).abs().max() < 0.5
        ratio = q.mixture_variance.sqrt() / sd
        assert ratio.min() > 0.7
        assert ratio.max() < 1.5
