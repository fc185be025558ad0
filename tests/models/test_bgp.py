"""BGP: its prior, its sampler and its predictions against independent oracles, and its manners."""

import importlib
import math
import sys

import gpytorch
import numpy as np
import pytest
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.models import ModelListGP
from botorch.optim import optimize_acqf
from problems import grid_of, toy, toy_archive
from scipy import optimize, stats

from headstart.errors import DataError, MissingExtraError, NotFittedError, ProblemError
from headstart.models.bgp import BGP, PRIOR_SD_FLOOR
from headstart.models.kernels import GPyTorchKernel
from headstart.models.legacy import fit_tasks

NEW = 5  # the task of `toy_archive` that has no row


@pytest.fixture(scope="module")
def archive():
    return toy_archive()


@pytest.fixture(scope="module")
def with_rows(archive):
    """Five legacy tasks and three rows of the current one."""
    X, Y, theta = archive
    x = np.array([0.15, 0.5, 0.85])
    new = torch.from_numpy(np.column_stack([x, np.full(3, NEW)]))
    return torch.cat([X, new]), torch.cat([Y, torch.from_numpy(toy(x, theta[NEW]))[:, None]])


@pytest.fixture(scope="module")
def fitted(with_rows):
    return BGP(*with_rows, {1: 6}, task=NEW).fit(seed=0)


# ---------------------------------------------------------------------- the prior


def negative_log_posterior(vector, x, y, layout, kernel):
    """In plain numpy: -log p(y | theta) - log p(theta), theta in the layout's order."""
    d = x.shape[1]
    mean, log_noise, log_l, log_v = vector[0], vector[1], vector[2 : 2 + d], vector[2 + d]
    r = np.sqrt((((x[:, None] - x[None]) / np.exp(log_l)) ** 2).sum(-1))
    t = math.sqrt(5) * r
    k = np.exp(-0.5 * r**2) if kernel == "rbf" else (1 + t + t**2 / 3) * np.exp(-t)
    normal = stats.multivariate_normal(np.full(len(y), mean), np.exp(log_v) * k + np.exp(log_noise) * np.eye(len(y)))
    prior_mean, prior_precision = (moment.numpy() for moment in layout.prior)
    return -normal.logpdf(y) + 0.5 * (prior_precision * (vector - prior_mean) ** 2).sum()


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
def test_prior_has_the_moments_of_fits_of_each_legacy_task(kernel):
    random = np.random.default_rng(0)
    sizes = [1, 2, 5, 8, 4]
    codes = np.repeat(np.arange(len(sizes)), sizes)
    x = random.random((len(codes), 2))
    y = np.sin(5 * x[:, 0] + codes) + 0.5 * codes * x[:, 1]
    X = torch.from_numpy(np.column_stack([x, codes]))
    bounds = torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 9.0]])
    Y = torch.from_numpy(y)
    model = BGP(X, Y, {2: 6}, task=5, kernel=kernel, bounds=bounds).fit(seed=0)
    standard, layout = (y - y.mean()) / y.std(), model._layout
    low, high = layout.bounds.T
    estimates = []
    for task in range(len(sizes)):
        rows = codes == task
        runs = [
            optimize.minimize(
                negative_log_posterior,
                np.clip(start, low, high),
                args=(x[rows], standard[rows], layout, kernel),
                method="L-BFGS-B",
                bounds=layout.bounds,
                options={"ftol": 1e-13, "gtol": 1e-7},
            )
            for start in random.normal(layout.prior[0].numpy(), 1.0, (6, layout.size))
        ]
        estimates.append(min(runs, key=lambda run: run.fun).x)
    estimates = np.stack(estimates)
    found = fit_tasks(model.kernel, [model._data(model._codes[:, 0] == t) for t in range(5)])
    np.testing.assert_allclose(found, estimates, atol=5e-3)
    np.testing.assert_allclose(model.prior_mean, estimates.mean(0), atol=5e-3)
    sd = np.maximum(estimates.std(0, ddof=1), PRIOR_SD_FLOOR)
    np.testing.assert_allclose(model.prior_sd, sd, atol=5e-3)


def test_without_rows_draws_are_the_prior_and_predictions_flat(archive):
    X, Y, _ = archive
    model = BGP(X, Y, {1: 6}, task=NEW, posterior_draws=512).fit(seed=0)
    low, high = model._layout.bounds.T
    mean, sd = model.prior_mean.numpy(), model.prior_sd.numpy()
    prior = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    np.testing.assert_allclose(model.vector.mean(0), prior.mean(), atol=0.02)
    np.testing.assert_allclose(model.vector.std(0), prior.std(), rtol=0.05)
    h = model.hyperparameters()
    scale, centre = Y.std(correction=0), Y.mean()
    expected_mean = h["mean"].mean() * scale + centre
    expected_variance = (h["kernel.log_outputscale"].exp().mean() + h["mean"].var(correction=0)) * scale**2
    points = torch.tensor([[[0.1, NEW], [0.6, NEW]], [[0.3, NEW], [0.9, NEW]]]).double()
    posterior = model.posterior(points)
    torch.testing.assert_close(posterior.mixture_mean, expected_mean.expand(2, 2, 1))
    torch.testing.assert_close(posterior.mixture_variance, expected_variance.expand(2, 2, 1), rtol=1e-6, atol=1e-6)
    noisy = model.posterior(points, observation_noise=True).mixture_variance
    noise = (h["log_noise"].exp().mean() * scale**2).expand(2, 2, 1)
    torch.testing.assert_close(noisy - posterior.mixture_variance, noise)
    assert model.train_inputs[0].shape == (0, 2)


def test_one_legacy_task_gives_a_prior_of_the_smallest_width(archive):
    X, Y, _ = archive
    model = BGP(X[:5], Y[:5], {1: 6}, task=NEW).fit(seed=0)
    assert (model.prior_sd == PRIOR_SD_FLOOR).all()


def test_without_legacy_tasks_the_prior_is_that_of_the_kernel(archive):
    X, Y, _ = archive
    model = BGP(X[:4], Y[:4], {1: 6}, task=0).fit(seed=0)
    mean, precision = model._layout.prior
    torch.testing.assert_close(model.prior_mean, mean)
    torch.testing.assert_close(model.prior_sd, precision**-0.5)
    assert torch.isfinite(model.posterior(grid_of(0)).mixture_variance).all()


# ---------------------------------------------------------------------- the posterior


def test_each_draw_is_the_exact_gp_of_gpytorch(fitted, with_rows):
    X, Y = with_rows
    h = {name: value[7] for name, value in fitted.hyperparameters().items()}
    scale, centre = Y.std(correction=0), Y.mean()
    low, width = X[:, 0].min(), X[:, 0].max() - X[:, 0].min()

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    positive = gpytorch.constraints.Positive()
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=positive)
    exact = Exact((X[-3:, :1] - low) / width, ((Y[-3:] - centre) / scale)[:, 0], likelihood).double()
    exact.mean_module.constant.data.copy_(h["mean"])
    exact.covar_module.outputscale = h["kernel.log_outputscale"].exp()
    exact.covar_module.base_kernel.lengthscale = h["kernel.log_lengthscale"].exp()
    exact.likelihood.noise = h["log_noise"].exp()
    points = torch.stack([torch.linspace(0, 1, 7), torch.full((7,), float(NEW))], -1).double()
    with torch.no_grad():
        f = exact.eval()((points[:, :1] - low) / width)
        y = exact.likelihood.eval()(f)
    found, noisy = fitted.posterior(points), fitted.posterior(points, observation_noise=True)
    torch.testing.assert_close(found.mean[7, :, 0], f.mean * scale + centre, atol=1e-7, rtol=1e-5)
    covariance = found.distribution.covariance_matrix[7]
    torch.testing.assert_close(covariance, f.covariance_matrix * scale**2, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(noisy.variance[7, :, 0], y.variance * scale**2, atol=1e-6, rtol=1e-5)


def test_nuts_agrees_with_importance_sampling(with_rows):
    """100,000 draws of the prior, weighted by the likelihood of three rows."""
    X, Y = with_rows
    model = BGP(X, Y, {1: 6}, task=NEW, posterior_draws=2000, thinning=3, warmup=500).fit(seed=0)
    points = grid_of(NEW, points=6)
    found = model.posterior(points, observation_noise=True)
    data, layout = model._data(model._is_current), model._layout

    low, high = layout.bounds.T
    mean, sd = model.prior_mean.numpy(), model.prior_sd.numpy()
    prior = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    sample = prior.rvs((100_000, layout.size), random_state=np.random.default_rng(0))
    theta = layout.unpack(torch.from_numpy(sample))
    x, x_new = data.x[:, 0], model.scaling.inputs(points[:, 0, :1])[:, 0]
    length = theta["kernel.log_lengthscale"].exp().unsqueeze(-1)
    variance = theta["kernel.log_outputscale"].exp()[:, None, None]
    noise = theta["log_noise"].exp()

    def covariance(left, right):
        t = math.sqrt(5) * (left[:, None] - right[None]).abs() / length
        return variance * (1 + t + t**2 / 3) * (-t).exp()

    K = covariance(x, x) + noise[:, None, None] * torch.eye(3).double()
    residual = (data.y - theta["mean"].unsqueeze(-1)).unsqueeze(-1)
    weights = torch.linalg.solve(K, residual)
    log_weight = -0.5 * (residual * weights).sum((-2, -1)) - 0.5 * torch.logdet(K)
    share = torch.softmax(log_weight, 0)
    assert 1 / share.square().sum() > 2000  # effective size

    cross = covariance(x_new, x)
    mean_f = theta["mean"].unsqueeze(-1) + (cross @ weights).squeeze(-1)
    reduction = (cross * torch.linalg.solve(K, cross.mT).mT).sum(-1)
    variance_y = variance.squeeze(-1) - reduction + noise.unsqueeze(-1)
    expected = share @ mean_f
    expected_sd = (share @ (variance_y + mean_f.square()) - expected.square()).sqrt()
    scale, centre = model.scaling.scale, model.scaling.centre
    error = found.mixture_mean[:, 0, 0] - (expected * scale + centre)
    assert (error.abs() < 0.1 * expected_sd * scale).all()
    found_sd = found.mixture_variance[:, 0, 0].sqrt()
    torch.testing.assert_close(found_sd, expected_sd * scale, rtol=0.06, atol=0.0)
    first = share @ torch.from_numpy(sample)
    spread = (share @ torch.from_numpy(sample).square() - first.square()).sqrt()
    assert ((model.vector.mean(0) - first).abs() < 0.12 * spread).all()
    assert ((model.vector.std(0) / spread - 1).abs() < 0.1).all()


def test_known_noise_is_used(with_rows):
    X, Y = with_rows
    Yvar = torch.full_like(Y, 0.04)
    model = BGP(X, Y, {1: 6}, task=NEW, train_Yvar=Yvar, posterior_draws=16).fit(seed=0)
    assert "log_noise" not in model.hyperparameters()
    points = grid_of(NEW, points=3)
    added = model.posterior(points, observation_noise=True).variance - model.posterior(points).variance
    torch.testing.assert_close(added, torch.full_like(added, 0.04))
    given = model.posterior(points, observation_noise=torch.full((3, 1, 1), 0.5))
    torch.testing.assert_close(given.variance - model.posterior(points).variance, 0.5 + 0 * added)
    more = model.observe(X[-1:], Y[-1:], Yvar[-1:])
    assert more.train_targets.shape == (4,)
    with pytest.raises(DataError, match="exactly when"):
        model.observe(X[-1:], Y[-1:])


# ---------------------------------------------------------------------- campaigns


def test_one_more_row_compiles_nothing(archive, monkeypatch):
    X, Y, theta = archive
    nuts_module = importlib.import_module("headstart.models.nuts")
    density = nuts_module.log_density
    traced = []

    def counted(*arguments):
        traced.append(1)
        return density(*arguments)

    monkeypatch.setattr(nuts_module, "log_density", counted)
    # A schedule that no other test has compiled.
    model = BGP(X, Y, {1: 6}, task=NEW, posterior_draws=9, warmup=11, thinning=1).fit(seed=0)
    assert not traced
    counts = []
    for x in np.linspace(0.1, 0.9, 16):
        rows = torch.tensor([[x, NEW]]).double()
        model = model.observe(rows, torch.from_numpy(toy(np.array([x]), theta[NEW])))
        counts.append(len(traced))
    assert counts[0] > 0
    assert set(counts) == {counts[0]}


def test_observe_keeps_the_legacy_prior_for_rows_of_the_current_task(fitted, archive):
    X, Y, _ = archive
    more = fitted.observe(torch.tensor([[0.3, float(NEW)]]), torch.tensor([[0.1]]))
    assert more.prior_mean is fitted.prior_mean
    assert more.scaling is fitted.scaling
    assert more.train_inputs[0].shape == (4, 2)
    assert fitted.train_inputs[0].shape == (3, 2)
    other = fitted.observe(X[:1], Y[:1] + 0.5)
    assert not torch.equal(other.prior_mean, fitted.prior_mean)
    far = fitted.observe(torch.tensor([[0.3, float(NEW)]]), torch.tensor([[1e3]]))
    assert far.scaling.scale > 10 * fitted.scaling.scale
    assert torch.isfinite(far.posterior(grid_of(NEW)).mean).all()


def test_measurements_are_believed(fitted, with_rows):
    X, Y = with_rows
    posterior = fitted.posterior(X[-3:].unsqueeze(1))
    away = fitted.posterior(torch.tensor([[0.3, float(NEW)]])).mixture_variance
    assert (posterior.mixture_mean[:, 0] - Y[-3:]).abs().max() < 0.2 * Y.std()
    assert posterior.mixture_variance.max() < away.min()


def test_same_seed_same_model(with_rows, fitted):
    again = BGP(*with_rows, {1: 6}, task=NEW).fit(seed=0)
    other = BGP(*with_rows, {1: 6}, task={-1: NEW}).fit(seed=1)
    assert torch.equal(again.vector, fitted.vector)
    assert not torch.equal(other.vector, fitted.vector)
    assert torch.equal(other.prior_mean, fitted.prior_mean)


def test_units_do_not_matter(archive):
    X, Y, _ = archive
    points = grid_of(NEW, points=3)
    plain = BGP(X, Y, {1: 6}, task=NEW).fit(seed=0).posterior(points).mixture_mean
    scaled = BGP(X, 1e7 * Y - 3e8, {1: 6}, task=NEW).fit(seed=0).posterior(points).mixture_mean
    torch.testing.assert_close(scaled, 1e7 * plain - 3e8, rtol=1e-4, atol=0.0)


def test_several_general_inputs():
    random = np.random.default_rng(0)
    codes = random.integers(0, 2, (30, 2))
    x = random.random(30)
    X = torch.from_numpy(np.column_stack([codes[:, 0], x, codes[:, 1]]))
    Y = torch.from_numpy(np.sin(4 * x) + codes.sum(-1))
    general = {0: 2, -1: 2}
    model = BGP(X, Y, general, task={2: 1, 0: 0}).fit(seed=0)
    current = (codes == [0, 1]).all(-1)
    assert model.task == {0: 0, 2: 1}
    torch.testing.assert_close(model.train_targets, Y[current])
    assert model.posterior(X[current]).mean.shape == (128, current.sum(), 1)


# ---------------------------------------------------------------------- BoTorch


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
@pytest.mark.parametrize("q", [1, 3])
def test_shapes(fitted, batch, q):
    X = torch.rand(*batch, q, 2).double()
    X[..., 1] = NEW
    posterior = fitted.posterior(X.requires_grad_())
    assert posterior.mean.shape == (*batch, 128, q, 1)
    assert posterior.mixture_variance.shape == (*batch, q, 1)
    assert posterior.rsample(torch.Size([5])).shape == (5, *batch, 128, q, 1)
    (gradient,) = torch.autograd.grad(posterior.mean.sum(), X)
    assert torch.isfinite(gradient).all()
    assert fitted.batch_shape == (128,)
    assert fitted.num_outputs == 1


# Without rows the prediction is flat, and BoTorch says so.
@pytest.mark.filterwarnings("ignore:All acquisition values for raw samples points are the same")
@pytest.mark.parametrize("rows", [0, 3])
def test_expected_improvement_can_be_maximised(with_rows, rows):
    X, Y = (tensor[: 25 + rows] for tensor in with_rows)
    model = BGP(X, Y, {1: 6}, task=NEW).fit(seed=0)
    candidate, value = optimize_acqf(
        LogExpectedImprovement(model, best_f=Y.min()),
        bounds=torch.tensor([[0.0, NEW], [1.0, NEW]]).double(),
        q=1,
        num_restarts=2,
        raw_samples=16,
        fixed_features={1: NEW},
    )
    assert candidate.shape == (1, 2)
    assert torch.isfinite(value)


def test_joins_a_model_list(fitted):
    pair = ModelListGP(fitted, fitted)
    points = grid_of(NEW, points=4).transpose(0, 1)
    assert pair.num_outputs == 2
    assert pair.posterior(points).mean.shape == (1, 128, 4, 2)


@pytest.mark.gpu
def test_on_the_gpu(archive):
    X, Y, _ = archive
    points = grid_of(NEW, points=3)
    on_cpu = BGP(X, Y, {1: 6}, task=NEW).fit(seed=0)
    on_gpu = BGP(X, Y, {1: 6}, task=NEW, device="cuda").fit(seed=0)
    expected = on_cpu.posterior(points).mixture_mean
    # The legacy fits are two optimisations, which stop where their tolerance says.
    torch.testing.assert_close(on_gpu.posterior(points).mixture_mean.cpu(), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(on_gpu.cpu().posterior(points).mixture_mean, expected, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------------- errors


def test_other_tasks_are_unknown(fitted):
    with pytest.raises(DataError, match=r"Point 1 belongs to task \{1: 2\}.*only task \{1: 5\}"):
        fitted.posterior(torch.tensor([[0.1, 5.0], [0.1, 2.0]]))


def test_a_model_that_is_not_fitted_says_so(archive):
    X, Y, _ = archive
    with pytest.raises(NotFittedError, match="fit"):
        BGP(X, Y, {1: 6}, task=NEW).posterior(grid_of(NEW))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": {0: 1}}, "each of the general columns"),
        ({"task": -1}, "negative code"),
        ({"task": 5, "kernel": GPyTorchKernel(gpytorch.kernels.RQKernel())}, "'matern52' and 'rbf'"),
        ({"task": 5, "warmup": 0}, "at least 1"),
    ],
)
def test_impossible_problems_are_refused(archive, options, words):
    X, Y, _ = archive
    with pytest.raises(ProblemError, match=words):
        BGP(X, Y, {1: 6}, **options)


def test_several_general_inputs_need_a_code_each():
    X = torch.zeros(4, 3)
    with pytest.raises(ProblemError, match="column -> code"):
        BGP(X, torch.rand(4), {1: 2, 2: 2}, task=0)


def test_numpyro_is_needed_only_for_rows_of_the_current_task(archive, with_rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpyro.infer.hmc", None)
    monkeypatch.delitem(sys.modules, "headstart.models.nuts", raising=False)
    X, Y, _ = archive
    BGP(X, Y, {1: 6}, task=NEW).fit(seed=0)
    with pytest.raises(MissingExtraError, match=r"headstart\[nuts\]"):
        BGP(*with_rows, {1: 6}, task=NEW).fit(seed=0)
