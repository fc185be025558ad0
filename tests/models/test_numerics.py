"""Data that break models: right answers or a clear error, never NaN, never a raw LinAlgError."""

import pytest
import torch
from problems import grid_of, toy_archive

from headstart.models import BEGP, EGP


def check_finite(model, task=0, width=2):
    points = grid_of(task, points=9)
    if width > 2:
        points = torch.cat([points[..., :1].expand(9, 1, width - 1), points[..., 1:]], -1)
    for noise in (False, True):
        posterior = model.posterior(points, observation_noise=noise)
        assert torch.isfinite(posterior.mean).all()
        assert torch.isfinite(posterior.variance).all()
        assert (posterior.mixture_variance > 0).all()
    return model.posterior(points)


@pytest.mark.parametrize("kind", [BEGP, EGP])
def test_duplicate_rows(kind):
    X, Y, _ = toy_archive()
    doubled = kind(torch.cat([X, X, X]), torch.cat([Y, Y, Y]), {1: 6}).fit(seed=0)
    check_finite(doubled)
    residual = doubled.posterior(X.unsqueeze(-2)).mixture_mean.flatten() - Y.flatten()
    assert residual.abs().max() < 0.3 * Y.std()


def test_contradicting_duplicates_are_averaged():
    X = torch.tensor([[0.5, 0.0], [0.5, 0.0], [0.1, 0.0], [0.9, 0.0]]).double()
    Y = torch.tensor([[1.0], [3.0], [0.0], [0.0]]).double()
    model = BEGP(X, Y, {1: 1}).fit(seed=0)
    check_finite(model)
    assert 0.5 < model.posterior(X[:1]).mixture_mean.item() < 3.0


@pytest.mark.parametrize("value", [0.0, 3.2, -1e9, 1e-12])
def test_constant_outputs(value):
    X, Y, _ = toy_archive(tasks=2, rows=3)
    model = BEGP(X, torch.full_like(Y, value), {1: 2}).fit(seed=0)
    posterior = check_finite(model, task=2)
    scale = max(abs(value), 1e-300) if value else 1.0
    assert ((posterior.mixture_mean - value).abs() / scale).max() < 0.05


def test_one_row_in_all():
    model = BEGP(torch.tensor([[0.3, 0.0]]), torch.tensor([[7.0]]), {1: 1}).fit(seed=0)
    check_finite(model)
    assert model.posterior(torch.tensor([[0.3, 0.0]])).mixture_mean.item() == pytest.approx(7.0, abs=1.0)


def test_one_row_per_task():
    X, Y, _ = toy_archive(tasks=8, rows=1)
    model = BEGP(X, Y, {1: 8}).fit(seed=0)
    check_finite(model, task=8)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_tiny_and_huge_outputs(scale):
    X, Y, _ = toy_archive()
    model = BEGP(X, Y * scale, {1: 6}).fit(seed=0)
    check_finite(model, task=5)
    residual = model.posterior(X.unsqueeze(-2)).mixture_mean.flatten() / scale - Y.flatten()
    assert residual.abs().max() < 0.3 * Y.std()


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_tiny_and_huge_inputs(scale):
    X, Y, _ = toy_archive()
    X = X * torch.tensor([scale, 1.0])
    model = BEGP(X, Y, {1: 6}).fit(seed=0)
    residual = model.posterior(X.unsqueeze(-2)).mixture_mean.flatten() - Y.flatten()
    assert residual.abs().max() < 0.3 * Y.std()


def test_inputs_far_outside_the_bounds_return_to_the_prior():
    X, Y, _ = toy_archive()
    bounds = torch.tensor([[0.0, 0.0], [1.0, 5.0]])
    model = BEGP(X, Y, {1: 6}, bounds=bounds).fit(seed=0)
    far = model.posterior(torch.tensor([[1e6, 0.0], [-1e6, 1.0]]))
    outputscale = model.hyperparameters()["kernel.log_outputscale"].exp() * Y.var(correction=0)
    torch.testing.assert_close(far.mixture_variance.flatten(), outputscale.expand(2), rtol=1e-6, atol=1e-9)


def test_near_singular_kernel():
    generator = torch.Generator().manual_seed(0)
    x = 0.5 + 1e-9 * torch.rand(30, 1, generator=generator, dtype=torch.float64)
    X = torch.cat([x, (torch.arange(30) % 3).double().unsqueeze(-1)], -1)
    Y = torch.randn(30, 1, generator=generator, dtype=torch.float64)
    model = BEGP(X, Y, {1: 3}, bounds=torch.tensor([[0.0, 0.0], [1.0, 2.0]])).fit(seed=0)
    check_finite(model)


def test_constant_input_column():
    X, Y, _ = toy_archive()
    X = torch.cat([X[:, :1], torch.full_like(X[:, :1], 4.0), X[:, 1:]], -1)
    model = BEGP(X, Y, {2: 6}).fit(seed=0)
    check_finite(model, width=3)


def test_zero_known_noise():
    X, Y, _ = toy_archive()
    X, Y = torch.cat([X, X[:3]]), torch.cat([Y, Y[:3]])
    model = BEGP(X, Y, {1: 6}, train_Yvar=torch.zeros_like(Y)).fit(seed=0)
    check_finite(model)


def test_only_general_inputs():
    """A model without a real-valued input is a random-effects model."""
    codes = torch.tensor([[0.0], [0.0], [1.0], [1.0], [2.0]])
    Y = torch.tensor([[1.0], [1.2], [3.0], [3.1], [-1.0]])
    model = BEGP(codes, Y, {0: 3}).fit(seed=0)
    mean = model.posterior(torch.tensor([[[0.0]], [[1.0]], [[3.0]]])).mixture_mean.flatten()
    assert mean[0] < mean[1]
    assert torch.isfinite(mean).all()
