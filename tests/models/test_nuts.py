"""NUTS: its density against the one that is optimised, its draws against brute force."""

import importlib
import math
import sys

import gpytorch
import jax
import numpy as np
import pytest
import torch
from scipy import stats

from headstart.errors import MissingExtraError, ModelError, ProblemError
from headstart.models import BEGP
from headstart.models import nuts as nuts_module
from headstart.models.elbo import Structure, TrainingData, elbo
from headstart.models.embedding import PointEmbedding
from headstart.models.inference import NUTS, Objective
from headstart.models.known_kernels import KERNELS, resolve_kernel
from headstart.models.nuts import (
    log_density,
    padded_rows,
    posterior_of,
    sample_hyperparameters,
    sample_posterior,
)


def some_data(rows=9, levels=(3,), known_noise=False, seed=0) -> TrainingData:
    random = np.random.default_rng(seed)
    return TrainingData(
        torch.from_numpy(random.random((rows, 2))),
        torch.from_numpy(np.stack([random.integers(0, c, rows) for c in levels], -1)),
        torch.from_numpy(random.standard_normal(rows)),
        torch.from_numpy(random.random(rows)) if known_noise else None,
        levels,
    )


@pytest.mark.parametrize("kernel", [*KERNELS])
@pytest.mark.parametrize(("levels", "known_noise"), [((3,), False), ((3, 4), True)])
def test_density_and_gradient_are_those_that_torch_optimises(kernel, levels, known_noise):
    """With a point embedding the ELBO is the log joint density."""
    data, dims = some_data(levels=levels, known_noise=known_noise), (2, 1)[: len(levels)]
    structure = Structure(resolve_kernel(kernel), (PointEmbedding(),) * len(dims), dims)
    layout, target, given = posterior_of(structure, data)
    vector = layout.starts(3, seed=1)
    vector = (vector + 0.3 * torch.randn_like(vector)).requires_grad_()
    eps = structure.draws(1, levels, seed=0)
    expected = elbo(structure, layout, data, eps, vector)
    (slope,) = torch.autograd.grad(expected.sum(), vector)
    with jax.enable_x64(True):
        function = jax.jit(jax.value_and_grad(lambda v: log_density(target, given, v)))
        found = [function(v) for v in vector.detach().numpy()]
    np.testing.assert_allclose([float(v) for v, _ in found], expected.detach(), rtol=1e-10)
    np.testing.assert_allclose(np.stack([g for _, g in found]), slope, rtol=1e-6, atol=1e-8)


def test_padding_changes_nothing():
    data = some_data()
    _, target, given = posterior_of(Structure(resolve_kernel("rbf"), (PointEmbedding(),), (2,)), data)
    rows = padded_rows(len(data.y)) - len(data.y)
    padded = given._replace(
        **{
            name: np.concatenate([array, np.ones((rows, *array.shape[1:]), array.dtype)])
            for name, array in given._asdict().items()
            if name in ("x", "positions", "y", "noise")
        },
        mask=np.concatenate([given.mask, np.zeros(rows, bool)]),
    )
    vector = np.random.default_rng(0).standard_normal(len(given.low))
    with jax.enable_x64(True):
        function = jax.jit(jax.value_and_grad(log_density, argnums=2), static_argnums=0)
        (short, short_slope), (long, long_slope) = (function(target, g, vector) for g in (given, padded))
    np.testing.assert_allclose(long, short, rtol=1e-12)
    np.testing.assert_allclose(long_slope, short_slope, rtol=1e-9, atol=1e-12)


def test_without_data_it_draws_the_prior_cut_off_at_the_bounds():
    """The map to bounded parameters has its Jacobian: the noise's prior is half a Gaussian."""
    data = TrainingData(torch.zeros(0, 2).double(), torch.zeros(0, 0).long(), torch.zeros(0).double(), None, ())
    kernel = resolve_kernel("matern52")
    layout = Structure(kernel, (), ()).layout(data)
    low, high = layout.bounds.T
    names = [name for name, entry in layout.entries.items() for _ in range(entry.size)]
    mean, sd = np.linspace(-0.4, 0.4, layout.size), np.full(layout.size, 0.5)
    mean[names.index("log_noise")] = low[names.index("log_noise")]
    mean[names.index("kernel.log_outputscale")] = high[names.index("kernel.log_outputscale")] - 0.2
    strategy = NUTS(warmup=500, samples=2000, thinning=3, chains=2)
    moments = torch.from_numpy(mean), torch.from_numpy(sd)
    drawn = sample_hyperparameters(kernel, layout, data, *moments, strategy, seed=0).numpy()
    prior = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    assert drawn.shape == (2000, layout.size)
    assert ((drawn > low) & (drawn < high)).all()
    np.testing.assert_allclose(drawn.mean(0), prior.mean(), atol=0.05)
    np.testing.assert_allclose(drawn.std(0), prior.std(), atol=0.04)


@pytest.fixture(scope="module")
def two_tasks():
    """Two tasks of one input, three rows each, sampled with the hyperparameters of the fit."""
    x = torch.tensor([0.1, 0.5, 0.8, 0.2, 0.6, 0.9]).double()
    code = torch.tensor([0, 0, 0, 1, 1, 1]).double()
    Y = (torch.sin(5 * x) + 0.7 * code * (1 - x)).unsqueeze(-1)
    model = BEGP(torch.stack([x, code], -1), Y, {1: 2}, latent_dim=1, kernel="rbf")
    strategy = NUTS(warmup=300, samples=1000, thinning=4, hyperparameters=False)
    return model.fit(seed=0, inference=strategy)


def test_hyperparameters_can_stay_where_they_are(two_tasks):
    h = two_tasks.hyperparameters()
    assert h["embedding.0.mean"].std(0).min() > 0.1
    for name, value in h.items():
        if not name.startswith("embedding."):
            assert (value == value[0]).all()


def test_predictions_are_those_of_integration_over_a_grid(two_tasks):
    """z of two levels and of an unseen third on a grid: the exact posterior, in plain numpy."""
    model = two_tasks
    h = {name: value[0].numpy() for name, value in model.hyperparameters().items()}
    data = model._data
    x, y, task = data.x[:, 0].numpy(), data.y.numpy(), data.positions[:, 0].numpy()
    l_x, l_z = np.exp(h["kernel.log_lengthscale"][0]), np.exp(h["kernel.log_latent_lengthscale"][0])
    v, noise = np.exp(h["kernel.log_outputscale"]), np.exp(h["log_noise"])

    def k(x1, z1, x2, z2):
        squared = ((x1[..., :, None] - x2[..., None, :]) / l_x) ** 2
        return v * np.exp(-0.5 * (squared + ((z1[..., :, None] - z2[..., None, :]) / l_z) ** 2))

    axis = np.linspace(-5, 5, 121)
    Z = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    z = Z[:, task]
    xs = np.broadcast_to(x, z.shape)
    K = k(xs, z, xs, z) + noise * np.eye(len(y))
    L = np.linalg.cholesky(K)
    w = np.linalg.solve(K, np.broadcast_to((y - h["mean"])[:, None], (len(K), len(y), 1)))[..., 0]
    log_weight = -0.5 * (w * (y - h["mean"])).sum(-1)
    log_weight -= np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(-1) + 0.5 * (Z**2).sum(-1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(15)
    node_weights = node_weights / node_weights.sum()

    points = torch.tensor([[0.35, 0.0], [0.3, 1.0], [0.4, 2.0]]).double()
    scale, centre = float(model.scaling.scale), float(model.scaling.centre)
    found = model.posterior(points.unsqueeze(1))
    scaled = model.scaling.inputs(points[:, :1]).numpy()[:, 0]
    for i, (point, level) in enumerate(zip(scaled, (0, 1, 2), strict=True)):
        first = second = 0.0
        for z_new, share in zip(nodes, node_weights, strict=True):
            z_star = Z[:, [level]] if level < 2 else np.full((len(Z), 1), z_new)
            cross = k(np.full((len(Z), 1), point), z_star, xs, z)[:, 0]
            mean = h["mean"] + (cross * w).sum(-1)
            variance = v - (cross * np.linalg.solve(K, cross[..., None])[..., 0]).sum(-1)
            first += share * (weight * mean).sum()
            second += share * (weight * (variance + mean**2)).sum()
        sd = math.sqrt(second - first**2) * scale
        assert abs(float(found.mixture_mean[i]) - (first * scale + centre)) < 0.1 * sd
        assert float(found.mixture_variance[i].sqrt()) == pytest.approx(sd, rel=0.1)


def test_several_general_inputs_known_noise_and_chains():
    X = torch.cat([torch.rand(14, 1), torch.randint(0, 3, (14, 2))], -1).double()
    Y = torch.sin(4 * X[:, :1]) + 0.3 * X[:, 1:2]
    strategy = NUTS(warmup=30, samples=8, thinning=1, chains=2)

    def fit(seed):
        model = BEGP(X, Y, {1: 3, 2: 3}, train_Yvar=torch.full_like(Y, 0.01), latent_dim=2)
        return model.fit(seed=seed, inference=strategy)

    model, again, other = fit(0), fit(0), fit(1)
    assert model.batch_shape == (8,)
    assert model.posterior(X[:5]).mean.shape == (8, 5, 1)
    assert model.embedding(2)[0].shape == (3, 2)
    assert torch.equal(model.vector, again.vector)
    assert not torch.equal(model.vector, other.vector)
    assert len(model.vector.unique(dim=0)) == 8


def test_settings_of_jax_stay_as_they_are(two_tasks):
    assert jax.numpy.zeros(1).dtype == np.float32
    assert not jax.config.jax_enable_x64
    assert two_tasks.vector.dtype == torch.float64


def objective_of(kernel):
    data = some_data()
    structure = Structure(resolve_kernel(kernel), (PointEmbedding(),), (2,))
    objective = Objective(structure, structure.layout(data), data, (0,))
    return objective, objective.layout.starts(1, seed=0)[0]


def test_other_kernels_are_refused():
    with pytest.raises(ModelError, match=r"'matern52', .*'rbf', .*lbfgs"):
        sample_posterior(*objective_of(gpytorch.kernels.RQKernel(ard_num_dims=4)), NUTS())


@pytest.mark.parametrize("strategy", [NUTS(samples=10, chains=3), NUTS(warmup=0), NUTS(thinning=0)])
def test_impossible_schedules_are_refused(strategy):
    with pytest.raises(ProblemError):
        sample_posterior(*objective_of("rbf"), strategy)


def test_a_density_that_is_not_finite_is_an_error():
    objective, start = objective_of("rbf")
    objective.data.y[0] = math.inf
    with pytest.raises(ModelError, match="not finite"):
        sample_posterior(objective, start, NUTS(warmup=1, samples=1, thinning=1))


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpyro.infer.hmc", None)
    monkeypatch.delitem(sys.modules, nuts_module.__name__)
    with pytest.raises(MissingExtraError, match=r"headstart\[nuts\]"):
        importlib.import_module(nuts_module.__name__)


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform():
    """Simulation-based calibration: for data from the prior, the truth is like any draw."""
    replications, draws = 100, 63
    random = np.random.default_rng(0)
    structure = Structure(resolve_kernel("matern52"), (PointEmbedding(),), (1,))
    template = some_data(rows=12, levels=(3,))
    layout, _, given = posterior_of(structure, template)
    sd = given.prior_precision**-0.5
    prior = stats.truncnorm(
        (given.low - given.prior_mean) / sd,
        (given.high - given.prior_mean) / sd,
        given.prior_mean,
        sd,
    )
    strategy = NUTS(warmup=300, samples=draws, thinning=10)

    def summaries(vector):
        # Neither depends on the sign of z, which no data can tell.
        p = layout.unpack(torch.from_numpy(vector))
        z = p.pop("embedding.0.mean")[..., 0]
        spread = torch.stack([(z[..., 0] - z[..., 1]).abs(), z.square().sum(-1)], -1)
        flat = [value.reshape(*z.shape[:-1], -1) for value in p.values()]
        return torch.cat([*flat, spread], -1).numpy()

    ranks = []
    for seed in range(replications):
        truth = prior.rvs(random_state=random)
        p = layout.unpack(torch.from_numpy(truth))
        inputs = torch.cat([template.x, p["embedding.0.mean"][template.positions[:, 0]]], -1)
        parameters = {n.removeprefix("kernel."): v for n, v in p.items() if n.startswith("kernel.")}
        K = structure.kernel.covariance(parameters, inputs, inputs).numpy()
        K += np.exp(p["log_noise"].item()) * np.eye(len(K))
        y = p["mean"].item() + np.linalg.cholesky(K) @ random.standard_normal(len(K))
        data = TrainingData(template.x, template.positions, torch.from_numpy(y), None, (3,))
        objective = Objective(structure, layout, data, (seed,))
        drawn = sample_posterior(objective, torch.from_numpy(truth), strategy)
        ranks.append((summaries(drawn.numpy()) < summaries(truth)).sum(0))
    for rank in np.stack(ranks).T:
        shifted = (rank + random.random(replications)) / (draws + 1)
        assert stats.kstest(shifted, "uniform").pvalue > 1e-3
