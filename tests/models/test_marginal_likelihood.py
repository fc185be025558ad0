"""The closed-form log marginal likelihood against GPyTorch, autograd and finite differences."""

import gpytorch
import pytest
import torch

from headstart.errors import ModelError
from headstart.models.kernels import RBF, Matern52
from headstart.models.known_kernels import resolve_kernel
from headstart.models.linalg import (
    _blocked_inverse,
    inverse_and_solution,
    safe_cholesky,
    triangular_inverse,
)
from headstart.models.marginal_likelihood import gaussian_log_density, squared_distance

N, D = 12, 3


@pytest.fixture
def data() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    X = torch.rand(N, D, generator=generator, dtype=torch.float64)
    return X, torch.sin(5 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2


def parameters(*batch: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    normal = torch.randn(*batch, D + 1, generator=generator, dtype=torch.float64) * 0.3
    return {
        "log_lengthscale": normal[..., :2],
        "log_latent_lengthscale": normal[..., 2:3],
        "log_outputscale": normal[..., 3],
    }


def gpytorch_log_density(name, X, y, p, mean, noise):
    base = gpytorch.kernels.RBFKernel if name == "rbf" else gpytorch.kernels.MaternKernel
    kernel = gpytorch.kernels.ScaleKernel(base(ard_num_dims=D)).double()
    lengths = torch.cat([p["log_lengthscale"], p["log_latent_lengthscale"]], -1).exp()
    kernel.base_kernel.lengthscale = lengths
    kernel.outputscale = p["log_outputscale"].exp()

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean().double()
            self.covar_module = kernel

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = noise
    model = Exact(likelihood)
    model.mean_module.constant.data.fill_(mean)
    log_density = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(X), y) * N
    log_density.backward()
    # d/d log l = l d/dl, through the raw parameter's softplus.
    raw = kernel.base_kernel.raw_lengthscale
    slope = raw.grad / torch.sigmoid(raw) * lengths
    return float(log_density.detach()), slope.flatten()


@pytest.mark.parametrize("name", ["matern52", "rbf"])
def test_value_and_lengthscale_gradient_match_gpytorch(name, data):
    X, y = data
    p = {k: v.requires_grad_() for k, v in parameters().items()}
    noise, mean = 0.01, 0.3
    ours = resolve_kernel(name).log_density(p, X, torch.full((N,), noise, dtype=torch.float64), y - mean)
    ours.backward()
    theirs, slope = gpytorch_log_density(name, X, y, {k: v.detach() for k, v in p.items()}, mean, noise)
    assert ours.item() == pytest.approx(theirs, rel=1e-8)
    gradient = torch.cat([p["log_lengthscale"].grad, p["log_latent_lengthscale"].grad])
    torch.testing.assert_close(gradient, slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", [Matern52(), RBF()], ids=["matern52", "rbf"])
def test_gradient_matches_finite_differences_in_everything(kernel, data):
    X, y = data

    def log_density(inputs, log_length, log_latent, log_scale, log_noise, residual):
        p = {
            "log_lengthscale": log_length,
            "log_latent_lengthscale": log_latent,
            "log_outputscale": log_scale,
        }
        return kernel.log_density(p, inputs, log_noise.exp().expand(2, N), residual)

    p = parameters(2)
    inputs = (
        X.expand(2, N, D).clone(),
        *p.values(),
        torch.tensor([-3.0, -4.0], dtype=torch.float64).unsqueeze(-1),
        (y - 0.2).expand(2, N).clone(),
    )
    assert torch.autograd.gradcheck(log_density, tuple(v.requires_grad_() for v in inputs))


def test_any_covariance_matches_torch_distributions(data):
    X, y = data
    K = torch.exp(-squared_distance(X, X)) + 0.1 * torch.eye(N, dtype=torch.float64)
    K.requires_grad_()
    residual = (y - y.mean()).requires_grad_()
    ours = gaussian_log_density(K, residual)
    theirs = torch.distributions.MultivariateNormal(torch.zeros_like(residual), K).log_prob(residual)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-10)
    mine, reference = (torch.autograd.grad(v, (K, residual)) for v in (ours, theirs))
    # Torch's gradient in a symmetric matrix is not symmetrised.
    torch.testing.assert_close(mine[0], 0.5 * (reference[0] + reference[0].mT), rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(mine[1], reference[1], rtol=1e-7, atol=1e-9)


def test_squared_distance_survives_a_large_offset():
    X = torch.rand(6, 2, dtype=torch.float64) + 1e6
    expected = (X.unsqueeze(0) - X.unsqueeze(1)).square().sum(-1)
    torch.testing.assert_close(squared_distance(X, X), expected, atol=1e-8, rtol=1e-6)


def test_cholesky_mends_only_what_needs_it():
    """One matrix is fine, one needs a little jitter, one a hundred thousand times more."""
    good = torch.eye(3, dtype=torch.float64)
    singular = torch.ones(3, 3, dtype=torch.float64)
    indefinite = singular - 1e-5 * good
    factors = safe_cholesky(torch.stack([good, singular, indefinite]))
    torch.testing.assert_close(factors[0], good)
    for factor, matrix in zip(factors[1:], (singular, indefinite), strict=True):
        torch.testing.assert_close(factor @ factor.mT, matrix, atol=1e-3, rtol=0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_broken_covariance_is_a_clear_error(value):
    with pytest.raises(ModelError, match="NaN or infinity"):
        safe_cholesky(torch.full((2, 2), value, dtype=torch.float64))
    with pytest.raises(ModelError, match="not positive definite"):
        safe_cholesky(-torch.eye(2, dtype=torch.float64))


def test_inverses():
    A = torch.randn(2, 5, 5, dtype=torch.float64)
    K = A @ A.mT + torch.eye(5, dtype=torch.float64)
    factor, right = safe_cholesky(K), torch.randn(2, 5, dtype=torch.float64)
    inverse, solution = inverse_and_solution(factor, right)
    torch.testing.assert_close(inverse, torch.linalg.inv(K))
    torch.testing.assert_close(solution, torch.linalg.solve(K, right))
    torch.testing.assert_close(triangular_inverse(factor), torch.linalg.inv(factor))


@pytest.mark.parametrize("n", [8, 13, 64, 131])
def test_blocked_inverse_is_the_inverse(n):
    factor = torch.randn(3, 2, n, n, dtype=torch.float64).tril(-1) / n + torch.eye(n)
    torch.testing.assert_close(_blocked_inverse(factor), torch.linalg.inv(factor))
