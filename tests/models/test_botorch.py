"""BoTorch's acquisition functions and model lists work on the models unchanged."""

import math

import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
from botorch.generation import MaxPosteriorSampling
from botorch.models import ModelListGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning
from problems import toy_archive

from headstart.models import BEGP, EGP

TASK = 5.0
BOUNDS = torch.tensor([[0.0, TASK], [1.0, TASK]], dtype=torch.float64)


@pytest.fixture(scope="module", params=[BEGP, EGP], ids=["BEGP", "EGP"])
def model(request):
    X, Y, _ = toy_archive()
    model = request.param(X, -Y, {1: 6}).fit(seed=0)
    return model.observe(torch.tensor([[0.1, TASK]]), torch.tensor([[-1.0]]))


def sampler():
    return SobolQMCNormalSampler(torch.Size([32]), seed=0)


def acquisitions(model):
    baseline = torch.tensor([[0.1, TASK]]).double()
    return {
        "logei": LogExpectedImprovement(model, best_f=-1.0),
        "pi": ProbabilityOfImprovement(model, best_f=-1.0),
        "mean": PosteriorMean(model),
        "ucb": UpperConfidenceBound(model, beta=4.0),
        "qlogei": qLogExpectedImprovement(model, best_f=-1.0, sampler=sampler()),
        "qlognei": qLogNoisyExpectedImprovement(model, baseline, sampler=sampler()),
        "qucb": qUpperConfidenceBound(model, beta=4.0, sampler=sampler()),
    }


@pytest.mark.parametrize("name", ["logei", "pi", "mean", "ucb", "qlogei", "qlognei", "qucb"])
def test_optimize_acqf_finds_a_better_point_than_a_grid_corner(model, name):
    acquisition = acquisitions(model)[name]
    point, value = optimize_acqf(
        acquisition,
        BOUNDS,
        q=1,
        num_restarts=4,
        raw_samples=32,
        fixed_features={1: TASK},
        options={"seed": 0},
    )
    assert point.shape == (1, 2)
    assert point[0, 1] == TASK
    x = torch.linspace(0, 1, 21).double()
    grid = torch.stack([x, torch.full_like(x, TASK)], -1).unsqueeze(1)
    with torch.no_grad():
        assert value >= acquisition(grid).max() - 1e-6 * abs(float(value)) - 1e-9


@pytest.mark.parametrize("name", ["qlogei", "qlognei", "qucb"])
def test_batches_of_points(model, name):
    points, _ = optimize_acqf(
        acquisitions(model)[name],
        BOUNDS,
        q=2,
        num_restarts=2,
        raw_samples=16,
        fixed_features={1: TASK},
        options={"seed": 0, "maxiter": 20},
    )
    assert points.shape == (2, 2)
    assert (points[0] - points[1]).abs().max() > 1e-6


def test_expected_improvement_is_averaged_over_the_draws(model):
    """LogEI of the ensemble = log of the mean over draws of each Gaussian's EI, by scipy's normal."""
    from scipy.stats import norm

    x = torch.tensor([[[0.6, TASK]]]).double()
    posterior = model.posterior(x)
    mean, sd = posterior.mean[0, :, 0, 0].numpy(), posterior.variance[0, :, 0, 0].sqrt().numpy()
    u = (mean + 1.0) / sd
    expected = math.log((sd * (u * norm.cdf(u) + norm.pdf(u))).mean())
    assert LogExpectedImprovement(model, best_f=-1.0)(x).item() == pytest.approx(expected, rel=1e-6)


def test_q_expected_improvement_matches_brute_force():
    X, Y, _ = toy_archive()
    model = BEGP(X, -Y, {1: 6}, posterior_draws=16).fit(seed=0)
    points = torch.tensor([[[0.3, TASK], [0.6, TASK]]]).double()
    posterior = model.posterior(points)
    samples = posterior.distribution.rsample(torch.Size([20_000]))
    expected = (samples.max(-1).values - 0.5).clamp_min(0).mean().item()
    acquisition = qLogExpectedImprovement(model, best_f=0.5, sampler=SobolQMCNormalSampler(torch.Size([4096]), seed=0))
    assert acquisition(points).exp().item() == pytest.approx(expected, rel=0.03)


def test_thompson_sampling(model):
    """One function a draw of Z and sample; its best candidate is the choice."""
    candidates = torch.rand(50, 2).double()
    candidates[:, 1] = TASK
    chosen = MaxPosteriorSampling(model)(candidates, num_samples=3)
    assert chosen.shape == (model.posterior_draws, 3, 2)
    is_candidate = (chosen.unsqueeze(-2) == candidates).all(-1).any(-1)
    assert is_candidate.all()


def test_multi_output_model_list():
    X, Y, _ = toy_archive()
    models = ModelListGP(BEGP(X, Y, {1: 6}).fit(seed=0), BEGP(X, -Y.cos(), {1: 6}).fit(seed=0))
    points = torch.rand(3, 2, 2).double()
    points[..., 1] = TASK
    posterior = models.posterior(points)
    assert posterior.mean.shape == (3, 64, 2, 2)
    reference = torch.tensor([-10.0, -2.0]).double()
    outcomes = torch.cat([Y, -Y.cos()], -1)
    acquisition = qLogExpectedHypervolumeImprovement(
        models, reference, NondominatedPartitioning(reference, outcomes), sampler=sampler()
    )
    assert torch.isfinite(acquisition(points)).all()
    point, _ = optimize_acqf(
        acquisition,
        BOUNDS,
        q=1,
        num_restarts=2,
        raw_samples=8,
        fixed_features={1: TASK},
        options={"seed": 0, "maxiter": 10},
    )
    assert point.shape == (1, 2)


def test_likelihood_holds_the_noise_in_the_users_units():
    X, Y, _ = toy_archive()
    noisy = Y + 0.5 * torch.randn(Y.shape, generator=torch.Generator().manual_seed(0)).double()
    model = BEGP(X, noisy * 100, {1: 6}).fit(seed=0)
    at = X[:1]
    added = model.posterior(at, observation_noise=True).variance - model.posterior(at).variance
    assert model.likelihood.noise.item() == pytest.approx(added.mean().item(), rel=1e-6)
