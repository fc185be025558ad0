"""Amplitudes of tasks: the covariance entry by entry, and what they are for: tasks that differ in size."""

import math

import numpy as np
import pytest
import torch

from headstart.models import BEGP
from headstart.models.kernels import RBF, Matern52
from headstart.models.known_kernels import has_name
from headstart.models.residual import TaskResidual
from headstart.models.task_kernel import TaskKernel


@pytest.mark.parametrize("shared", [RBF(), Matern52()], ids=lambda kernel: kernel.name)
def test_the_covariance_is_the_one_without_amplitudes_times_both_sizes(shared):
    kernel, generator = TaskKernel(shared), torch.Generator().manual_seed(0)
    p = {
        name: 0.3 * torch.randn(entry.shape, generator=generator, dtype=torch.float64)
        for name, entry in kernel.parameters(2, 3).items()
    }
    left, right = (torch.rand(n, 6, generator=generator, dtype=torch.float64).round(decimals=1) for n in (4, 5))
    plain, found = TaskResidual(shared).covariance(p, left, right), kernel.covariance(p, left, right)
    for i in range(4):
        for j in range(5):
            size = math.exp(sum(float(p["amplitude_slope"][d] * (left[i, 2 + d] + right[j, 2 + d])) for d in range(3)))
            assert float(found[i, j]) == pytest.approx(size * float(plain[i, j]), rel=1e-12)
    torch.testing.assert_close(kernel.variance(p, left), kernel.covariance(p, left, left).diagonal())


def test_a_flat_slope_is_no_amplitude():
    kernel = TaskKernel(RBF())
    p = {name: torch.zeros(entry.shape, dtype=torch.float64) for name, entry in kernel.parameters(1, 2).items()}
    rows = torch.rand(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(kernel.covariance(p, rows, rows), TaskResidual(RBF()).covariance(p, rows, rows))


@pytest.mark.parametrize("inference", ["lbfgs", "hmc"])
def test_tasks_that_differ_in_size_are_predicted_better(inference):
    """One shape in six sizes; two rows of a seventh task, the largest, tell the rest of it."""
    random = np.random.default_rng(0)
    sizes = [0.2, 0.4, 0.7, 1.0, 1.5, 2.2, 3.0]
    x = random.random((7, 8))
    y = np.array(sizes)[:, None] * np.sin(6 * x)
    X = np.stack([x.ravel(), np.repeat(np.arange(7.0), 8)], -1)
    known = np.r_[0:50]  # six tasks of eight rows, and two rows of the last
    X, Y = torch.from_numpy(X), torch.from_numpy(y.reshape(-1, 1))
    grid = torch.stack([torch.linspace(0, 1, 50), torch.full((50,), 6.0)], -1).double()
    truth = 3.0 * torch.sin(6 * grid[:, 0])
    densities = {}
    for kernel in ("rbf+residual", "rbf+tasks"):
        model = BEGP(X[known], Y[known], {1: 7}, kernel=kernel).fit(seed=0, inference=inference)
        posterior = model.posterior(grid.unsqueeze(-2), observation_noise=True)
        normal = torch.distributions.Normal(posterior.mean.squeeze(-1), posterior.variance.squeeze(-1).sqrt())
        log_density = normal.log_prob(truth[:, None, None]).logsumexp(1) - math.log(posterior.mean.shape[1])
        densities[kernel] = float(log_density.mean())
    assert densities["rbf+tasks"] > densities["rbf+residual"] + 0.3


def test_its_name_says_all_about_it():
    assert has_name(TaskKernel(RBF()))
    assert TaskKernel(RBF()).name != TaskResidual(RBF()).name
