"""The closed-form Gaussian of the RBF kernel against brute force."""

from dataclasses import replace

import pytest
import torch
from problems import grid_of, toy_archive

from headstart.models import BEGP
from headstart.models.moments import mixture_moments


def brute_force(model: BEGP, points: torch.Tensor, free: slice, draws: int):
    """Moments of f over `draws` latents z ~ N(0, I) for each draw of the training latents."""
    ensemble, joint = model._ensemble, model._joint_inputs(points)[0]
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(draws, 1, free.stop - free.start, generator=generator, dtype=torch.float64)
    means, covariances = [], []
    for s in range(len(joint)):
        one = replace(
            ensemble,
            inputs=ensemble.inputs[[s]],
            weights=ensemble.weights[[s]],
            whitener=ensemble.whitener[[s]],
        )
        inputs = joint[s].expand(draws, -1, -1).clone()
        inputs[..., free] = z
        mean, covariance = one.predict(inputs.unsqueeze(1))
        means.append(mean.squeeze(1))
        covariances.append(covariance.mean((0, 1)))
    pooled = torch.cat(means)
    covariance = torch.stack(covariances).mean(0) + torch.cov(pooled.T, correction=0)
    scale = model.scaling.scale
    return pooled.mean(0) * scale + model.scaling.centre, covariance * scale**2


def test_unseen_task_matches_a_hundred_thousand_draws():
    X, Y, _ = toy_archive()
    model = BEGP(X, Y, {1: 6}, kernel="rbf", posterior_draws=2).fit(seed=0)
    points = grid_of(5, points=7).squeeze(-2)
    mean, covariance = brute_force(model, points, slice(1, 4), draws=100_000)
    closed = model.moment_matched(points)
    sd = covariance.diagonal().sqrt()
    # The Monte Carlo error of a mean is sd / sqrt(1e5), of a variance about twice that.
    assert ((closed.mean.squeeze(-1) - mean) / sd).abs().max() < 0.015
    relative = (closed.distribution.covariance_matrix - covariance) / (sd.unsqueeze(-1) * sd)
    assert relative.abs().max() < 0.02


def test_half_unseen_task_integrates_only_the_unseen_input():
    generator = torch.Generator().manual_seed(3)
    rows = torch.rand(24, 3, generator=generator, dtype=torch.float64)
    rows[:, 1] = torch.arange(24) % 3
    rows[:, 2] = torch.arange(24) // 12
    y = torch.sin(5 * rows[:, 0]) + rows[:, 1] - rows[:, 2] * rows[:, 0]
    model = BEGP(rows, y.unsqueeze(-1), {1: 3, 2: 3}, kernel="rbf", latent_dim=2, posterior_draws=2)
    model.fit(seed=0)
    points = torch.tensor([[0.2, 1.0, 2.0], [0.8, 1.0, 2.0]], dtype=torch.float64)
    mean, covariance = brute_force(model, points, slice(3, 5), draws=50_000)
    closed = model.moment_matched(points)
    sd = covariance.diagonal().sqrt()
    assert ((closed.mean.squeeze(-1) - mean) / sd).abs().max() < 0.02
    assert ((closed.distribution.covariance_matrix - covariance) / (sd.unsqueeze(-1) * sd)).abs().max() < 0.03


@pytest.mark.parametrize(("kernel", "task"), [("rbf", 0), ("matern52", 5)])
def test_otherwise_the_moments_are_those_of_the_mixture(kernel, task):
    X, Y, _ = toy_archive()
    model = BEGP(X, Y, {1: 6}, kernel=kernel).fit(seed=0)
    points = grid_of(task, points=5).squeeze(-2)
    gaussian, mixture = (
        model.moment_matched(points, True),
        model.posterior(points, observation_noise=True),
    )
    torch.testing.assert_close(gaussian.mean, mixture.mixture_mean)
    torch.testing.assert_close(
        gaussian.distribution.covariance_matrix,
        mixture.mixture_covariance_matrix.to_dense(),
        atol=1e-9,
        rtol=1e-6,
    )


def test_mixture_moments_match_samples():
    mean = torch.tensor([[[0.0, 1.0], [2.0, -1.0]]], dtype=torch.float64)
    factor = torch.tensor([[1.0, 0.0], [0.5, 0.3]], dtype=torch.float64)
    covariance = (factor @ factor.mT).expand(1, 2, 2, 2)
    noise = torch.randn(2, 200_000, 2, generator=torch.Generator().manual_seed(0)).double()
    samples = (mean[0].unsqueeze(1) + noise @ factor.mT).reshape(-1, 2)
    centre, spread = mixture_moments(mean, covariance)
    torch.testing.assert_close(centre[0], samples.mean(0), atol=0.01, rtol=0)
    torch.testing.assert_close(spread[0], torch.cov(samples.T), atol=0.02, rtol=0.02)
