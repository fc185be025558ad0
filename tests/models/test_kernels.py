"""Kernels against GPyTorch's, and any GPyTorch kernel inside the model."""

import gpytorch
import pytest
import torch
from gpytorch.kernels import LinearKernel, MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel
from gpytorch.priors import GammaPrior
from problems import grid_of, toy_archive

from headstart.errors import ProblemError
from headstart.models import BEGP
from headstart.models.kernels import RBF, GPyTorchKernel, Matern52
from headstart.models.known_kernels import resolve_kernel


def random_parameters(*batch):
    return {
        "log_lengthscale": torch.randn(*batch, 2, dtype=torch.float64) * 0.3,
        "log_latent_lengthscale": torch.randn(*batch, 1, dtype=torch.float64) * 0.3,
        "log_outputscale": torch.randn(batch, dtype=torch.float64) * 0.3,
    }


@pytest.mark.parametrize(
    ("ours", "base"),
    [(Matern52(), MaternKernel(2.5, ard_num_dims=3)), (RBF(), RBFKernel(ard_num_dims=3))],
)
def test_covariance_and_variance_match_gpytorch(ours, base):
    p = random_parameters()
    theirs = ScaleKernel(base).double()
    theirs.base_kernel.lengthscale = torch.cat([p["log_lengthscale"], p["log_latent_lengthscale"]]).exp()
    theirs.outputscale = p["log_outputscale"].exp()
    left, right = torch.rand(2, 5, 3).double(), torch.rand(2, 4, 3).double()
    torch.testing.assert_close(ours.covariance(p, left, right), theirs(left, right).to_dense())
    torch.testing.assert_close(ours.variance(p, left), theirs(left, diag=True))


@pytest.mark.parametrize("kernel", [Matern52(), RBF()])
def test_covariance_is_differentiable_where_points_coincide(kernel):
    p = random_parameters()
    right = torch.rand(4, 3).double()
    left = right[:2].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: kernel.covariance(p, x, right), (left + 0.3,), eps=1e-6)
    (gradient,) = torch.autograd.grad(kernel.covariance(p, left, right).sum(), left)
    assert torch.isfinite(gradient).all()


def test_a_wrapped_kernel_gives_the_same_as_ours():
    ours, wrapped = Matern52(), GPyTorchKernel(ScaleKernel(MaternKernel(2.5, ard_num_dims=3)))
    p = random_parameters(2, 1)
    softplus_inverse = lambda value: value + torch.log(-torch.expm1(-value))  # noqa: E731
    lengths = torch.cat([p["log_lengthscale"], p["log_latent_lengthscale"]], -1).exp()
    raw = {
        "raw_outputscale": softplus_inverse(p["log_outputscale"].exp()),
        "base_kernel.raw_lengthscale": softplus_inverse(lengths).unsqueeze(-2),
    }
    X = torch.rand(2, 7, 6, 3).double()
    residual, noise = torch.randn(2, 7, 6).double(), torch.full((2, 1, 6), 0.1).double()
    torch.testing.assert_close(wrapped.covariance(raw, X, X), ours.covariance(p, X, X))
    torch.testing.assert_close(wrapped.variance(raw, X), ours.variance(p, X))
    torch.testing.assert_close(wrapped.log_density(raw, X, noise, residual), ours.log_density(p, X, noise, residual))


def test_a_wrapped_kernels_priors_count_once_a_restart():
    kernel = ScaleKernel(
        RBFKernel(ard_num_dims=2, lengthscale_prior=GammaPrior(3.0, 6.0)),
        outputscale_prior=GammaPrior(2.0, 0.15),
    )
    wrapped = GPyTorchKernel(kernel)
    raw = {name: torch.randn(3, *p.shape).double() for name, p in wrapped.parameters(1, 1).items()}
    values = wrapped.log_prior(raw)
    assert values.shape == (3,)
    for restart in range(3):
        single = GPyTorchKernel(kernel).log_prior({n: v[restart] for n, v in raw.items()})
        assert values[restart].item() == pytest.approx(float(single))


@pytest.mark.parametrize(
    "kernel",
    [
        ScaleKernel(MaternKernel(1.5, ard_num_dims=4)),
        ScaleKernel(RBFKernel(ard_num_dims=4)) + LinearKernel(active_dims=[1, 2, 3]),
        ScaleKernel(PeriodicKernel(active_dims=[0]) * RBFKernel(active_dims=[1, 2, 3])),
    ],
    ids=["matern32", "sum", "product"],
)
def test_any_gpytorch_kernel_fits_and_predicts(kernel):
    X, Y, _ = toy_archive()
    model = BEGP(X, Y, {1: 6}, kernel=kernel).fit(seed=0)
    at_data = model.posterior(X.unsqueeze(-2)).mixture_mean.flatten()
    assert torch.isfinite(at_data).all()
    assert (at_data - Y.flatten()).square().mean() < 0.5 * Y.var()
    unseen = model.posterior(grid_of(5))
    assert (unseen.mixture_variance > 0).all()


def test_unknown_and_unusable_kernels_are_named():
    with pytest.raises(ProblemError, match="matern52"):
        resolve_kernel("cubic")
    with pytest.raises(ProblemError, match="batch shape"):
        resolve_kernel(gpytorch.kernels.RBFKernel(batch_shape=torch.Size([2])))
