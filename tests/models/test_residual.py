"""The residual of each task: its covariance against GPyTorch, its gradient against autograd."""

import pytest
import torch
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

from headstart.models import BEGP
from headstart.models.kernels import RBF, Kernel, Matern52
from headstart.models.known_kernels import KERNELS, has_name, resolve_kernel
from headstart.models.residual import TaskResidual

BASES = {
    "matern52": (Matern52(), lambda dims: MaternKernel(2.5, ard_num_dims=dims)),
    "rbf": (RBF(), lambda dims: RBFKernel(ard_num_dims=dims)),
}


def parameters_of(kernel, *batch):
    generator = torch.Generator().manual_seed(0)
    return {
        name: 0.3 * torch.randn((*batch, *entry.shape), generator=generator, dtype=torch.float64)
        for name, entry in kernel.parameters(2, 3).items()
    }


def inputs_of(*shape, seed=0):
    """[x, z, levels] with two general inputs."""
    generator = torch.Generator().manual_seed(seed)
    levels = torch.randint(0, 2, (shape[-1], 2), generator=generator).double().expand(*shape, 2)
    return torch.cat([torch.rand(*shape, 5, generator=generator, dtype=torch.float64), levels], -1)


@pytest.mark.parametrize("name", BASES)
def test_covariance_and_variance_match_gpytorch(name):
    shared, base = BASES[name]
    kernel = TaskResidual(shared)
    p = parameters_of(kernel)
    over_all = ScaleKernel(base(5)).double()
    over_all.base_kernel.lengthscale = torch.cat([p["log_lengthscale"], p["log_latent_lengthscale"]]).exp()
    over_all.outputscale = p["log_outputscale"].exp()
    own = ScaleKernel(base(2)).double()
    own.base_kernel.lengthscale, own.outputscale = p["log_residual_lengthscale"].exp(), p["log_residual_scale"].exp()
    left, right = inputs_of(6), inputs_of(9, seed=1)
    tasks = [rows[:, 5:] @ torch.tensor([1.0, 2.0], dtype=torch.float64) for rows in (left, right)]
    expected = over_all(left[:, :5], right[:, :5]).to_dense()
    expected = expected + (tasks[0][:, None] == tasks[1]) * own(left[:, :2], right[:, :2]).to_dense()
    torch.testing.assert_close(kernel.covariance(p, left, right), expected)
    torch.testing.assert_close(kernel.variance(p, left), kernel.covariance(p, left, left).diagonal())


@pytest.mark.parametrize("name", [name for name in KERNELS if "residual" in name])
def test_log_density_and_gradient_are_those_of_autograd(name):
    kernel = resolve_kernel(name)
    p = {key: value.requires_grad_() for key, value in parameters_of(kernel, 3, 1).items()}
    inputs = inputs_of(3, 4, 9).requires_grad_()
    noise = torch.full((3, 1, 9), 0.1, dtype=torch.float64, requires_grad=True)
    residual = torch.randn(3, 1, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    wanted = [*p.values(), inputs, noise, residual]
    ours = kernel.log_density(p, inputs, noise, residual)
    plain = Kernel.log_density(kernel, p, inputs, noise, residual)
    torch.testing.assert_close(ours, plain)
    weights = torch.arange(1.0, 13.0, dtype=torch.float64).reshape(3, 4)
    for found, expected in zip(
        torch.autograd.grad((weights * ours).sum(), wanted),
        torch.autograd.grad((weights * plain).sum(), wanted),
        strict=True,
    ):
        torch.testing.assert_close(found, expected)


def test_tasks_without_data_differ_by_the_residual():
    """The prior of two unseen tasks: one latent each, and one residual each."""
    X = torch.rand(12, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    X[:, 1] = torch.arange(12) % 3
    Y = torch.sin(5 * X[:, :1]) + X[:, 1:]
    model = BEGP(X, Y, {1: 3}, kernel="rbf+residual").fit(seed=0)
    scale = model.hyperparameters()["kernel.log_residual_scale"].exp() * model.scaling.scale**2
    points = torch.tensor([[0.5, 7.0], [0.5, 7.0], [0.5, 8.0]])
    covariance = model.posterior(points).distribution.covariance_matrix
    own = covariance.diagonal(dim1=-2, dim2=-1) - scale
    assert (own > -1e-9).all()
    # The same task twice is one value; another one shares the surface alone.
    torch.testing.assert_close(covariance[:, 0, 1], covariance[:, 0, 0], rtol=1e-6, atol=1e-8)
    assert (covariance[:, 0, 2].square() <= own[:, 0] * own[:, 2] + 1e-9).all()


def test_it_needs_no_numeric_input():
    X = torch.tensor([[0.0], [0.0], [1.0], [2.0]])
    model = BEGP(X, torch.tensor([[0.0], [0.1], [1.0], [2.0]]), {0: 3}, kernel="rbf+residual").fit(seed=0)
    assert torch.isfinite(model.posterior(X).mixture_mean).all()


def test_a_residual_around_a_kernel_of_ones_own_has_no_name():
    class Own(RBF):
        pass

    assert has_name(TaskResidual(RBF()))
    assert not has_name(TaskResidual(Own()))
