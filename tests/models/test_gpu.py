"""The same answers on a GPU as on a CPU."""

import numpy as np
import pandas as pd
import pytest
import torch
from problems import grid_of, toy_archive

import headstart as hs
from headstart.models import BEGP, EGP, LBFGS

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
def test_fit_and_prediction_agree_with_the_cpu(kernel):
    X, Y, _ = toy_archive()
    cpu, gpu = (BEGP(X, Y, {1: 6}, kernel=kernel, device=d).fit(seed=0) for d in ("cpu", "cuda"))
    assert gpu.vector.is_cuda
    assert gpu.elbo == pytest.approx(cpu.elbo, abs=0.05)
    ours = cpu.posterior(grid_of(5))
    theirs = gpu.posterior(grid_of(5).cuda())
    sd = ours.mixture_variance.sqrt()
    assert ((theirs.mixture_mean.cpu() - ours.mixture_mean) / sd).abs().max() < 0.05


@pytest.mark.parametrize("kind", [BEGP, EGP])
def test_the_same_parameters_predict_the_same(kind):
    X, Y, _ = toy_archive(tasks=10, rows=20)  # large enough for the blocked inverse
    cpu = kind(X, Y, {1: 11}).fit(seed=0, inference=LBFGS(iterations=10))
    gpu = kind(X, Y, {1: 11}, device="cuda")
    gpu.adopt(cpu.vector)
    for task in (0, 10):
        ours, theirs = cpu.posterior(grid_of(task)), gpu.posterior(grid_of(task))
        torch.testing.assert_close(theirs.mean.cpu(), ours.mean, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(theirs.variance.cpu(), ours.variance, rtol=1e-4, atol=1e-7)


def test_moving_a_model():
    X, Y, _ = toy_archive()
    model = BEGP(X, Y, {1: 6}).fit(seed=0)
    before = model.posterior(grid_of(5)).mixture_mean
    after = model.to("cuda").posterior(grid_of(5)).mixture_mean
    assert after.is_cuda
    torch.testing.assert_close(after.cpu(), before, rtol=1e-6, atol=1e-8)


def test_the_loop_on_a_frame():
    X, Y, _ = toy_archive()
    archive = pd.DataFrame({"x": X[:, 0], "task": X[:, 1].int(), "y": Y[:, 0]})
    problem = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal="minimize")
    surrogate = hs.fit(archive, problem, device="cuda")
    for _ in range(2):
        point = surrogate.suggest({"task": "new"})
        assert np.isfinite(point.to_numpy()).all()
        surrogate = surrogate.observe(point[["x"]].assign(task="new", y=-1.0))
    candidates = pd.DataFrame({"x": np.linspace(0, 1, 20)})
    assert surrogate.suggest({"task": "new"}, candidates=candidates, n=20)["score"].sum() == pytest.approx(1.0)
