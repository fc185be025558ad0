"""The same answers on a GPU as on a CPU."""

import numpy as np
import pandas as pd
import pytest
import torch
from problems import grid_of, toy_archive

import headstart as hs
from headstart.benchmark.contenders import EmbeddingGP
from headstart.benchmark.experiments import Optimization
from headstart.benchmark.jobs import Study, run_batch
from headstart.models import BEGP, EGP, LBFGS
from headstart.models.together import fit_together, observe_together

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


def test_models_fitted_together_agree_with_the_cpu():
    archives = [toy_archive(seed=seed)[:2] for seed in range(4)]
    archives[1] = tuple(part[:-2] for part in archives[1])  # padded
    fitted = {}
    for device in ("cpu", "cuda"):
        models = [BEGP(X, Y, {1: 6}, device=device) for X, Y in archives]
        fit_together(models, seeds=range(4))
        x, y = torch.tensor([[0.3, 5.0]]).double(), torch.tensor([[0.5]]).double()
        fitted[device] = observe_together(models, [x] * 4, [y] * 4)
    for ours, theirs in zip(fitted["cpu"], fitted["cuda"], strict=True):
        assert theirs.elbo == pytest.approx(ours.elbo, abs=0.05)
        expected, found = ours.posterior(grid_of(5)), theirs.posterior(grid_of(5).cuda())
        sd = expected.mixture_variance.sqrt()
        assert ((found.mixture_mean.cpu() - expected.mixture_mean) / sd).abs().max() < 0.1


def test_a_batch_of_jobs_agrees_with_jobs_one_by_one():
    study = Study(Optimization(2), "additive-small", EmbeddingGP())
    jobs = study.jobs(seeds=range(2))
    together = run_batch(jobs, device="cuda")
    for frame, job in zip(together, jobs, strict=True):
        [alone] = run_batch([job], device="cuda")
        pd.testing.assert_series_equal(frame["outcome"], alone["outcome"])
