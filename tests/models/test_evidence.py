"""The kernel by evidence: it finds the one that predicts better, and is otherwise a fit like any other."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.gaussian_process.kernels import RBF, Matern

import headstart as hs
from headstart import validation
from headstart.errors import ModelError, ProblemError
from headstart.models import BEGP, EGP, HMC, LBFGS, NUTS, evidence
from headstart.models.evidence import fit_likeliest, kernels_to_try, likeliest
from headstart.models.known_kernels import AUTO_KERNELS
from tests.problems import toy_archive

PRIORS = {"rbf+tasks": RBF, "matern52+tasks": partial(Matern, nu=2.5)}


def family(name, *, rows=24, tasks=5):
    """Rows [x, task] and outcomes of tasks drawn from the prior of scikit-learn's kernel; as many again to judge by."""
    random = np.random.default_rng(1)
    codes, x = np.repeat(np.arange(tasks), 2 * rows), random.random(2 * rows * tasks)
    latents = random.normal(size=tasks)
    K = PRIORS[name](length_scale=[0.2, 2.0])(np.stack([x, latents[codes]], -1)) + 1e-4 * np.eye(len(x))
    X, Y = np.stack([x, codes], -1), np.linalg.cholesky(K) @ random.normal(size=(len(x), 1))
    known = np.arange(len(x)) % 2 == 0
    return [torch.from_numpy(part[which]) for which in (known, ~known) for part in (X, Y)]


def builder(X, Y, levels):
    return lambda kernel, some: BEGP(X[some], Y[some], {1: levels}, kernel=kernel, latent_dim=2)


def log_density(model, X, Y):
    """Mean log density of new rows under the mixture of draws."""
    posterior = model.posterior(X.unsqueeze(-2), observation_noise=True)
    normal = torch.distributions.Normal(posterior.mean.squeeze(-1), posterior.variance.squeeze(-1).sqrt())
    each = normal.log_prob(Y.unsqueeze(-2)).squeeze(-1)
    return float((each.logsumexp(1) - math.log(each.shape[1])).mean())


@pytest.mark.parametrize("name", PRIORS)
def test_the_likeliest_kernel_is_the_one_the_data_came_from_and_predicts_unseen_rows_better(name):
    X, Y, *unseen = family(name)
    build = builder(X, Y, 5)
    found = fit_likeliest(build, AUTO_KERNELS, len(X), seed=0, inference="lbfgs")
    assert found.structure.kernel.name == name
    density = {kernel: log_density(build(kernel, torch.arange(len(X))).fit(seed=0), *unseen) for kernel in AUTO_KERNELS}
    assert density[name] == max(density.values())
    assert log_density(found, *unseen) == pytest.approx(density[name])


@pytest.mark.parametrize("inference", [LBFGS(), HMC(iterations=3), NUTS(warmup=4, samples=4, thinning=1)])
def test_after_the_choice_the_model_is_that_of_an_ordinary_fit(inference):
    X, Y, _ = toy_archive(tasks=3)
    build, grid = builder(X, Y, 3), torch.linspace(0, 1, 6, dtype=torch.float64)
    found = fit_likeliest(build, AUTO_KERNELS, len(X), seed=3, inference=inference)
    alone = build(found.structure.kernel, torch.arange(len(X))).fit(seed=3, inference=inference)
    points = torch.stack([grid, torch.full_like(grid, 1.0)], -1).unsqueeze(-2)
    for part in ("mean", "variance"):
        torch.testing.assert_close(getattr(found.posterior(points), part), getattr(alone.posterior(points), part))


def test_of_many_rows_a_sample_decides_and_all_are_fitted(monkeypatch):
    monkeypatch.setattr(evidence, "_MOST_COMPARED", 20)
    X, Y, *_ = family("matern52+tasks", rows=12)
    sizes = []

    def build(kernel, some):
        sizes.append(len(some))
        return builder(X, Y, 5)(kernel, some)

    found = fit_likeliest(build, AUTO_KERNELS, len(X), seed=0, inference="lbfgs")
    assert sizes == [20, 20, 60]
    assert len(found.train_X) == 60
    again = fit_likeliest(build, AUTO_KERNELS, len(X), seed=0, inference="lbfgs")
    assert again.elbo == found.elbo


def test_a_single_kernel_is_fitted_once():
    X, Y, _ = toy_archive(tasks=3)
    built = []

    def build(kernel, some):
        built.append(kernel)
        return builder(X, Y, 3)(kernel, some)

    assert fit_likeliest(build, ("rbf",), len(X), seed=0, inference="lbfgs").structure.kernel.name == "rbf"
    assert built == ["rbf"]


@pytest.mark.parametrize("inference", ["lbfgs", "hmc"])
def test_progress_goes_on_from_one_fit_to_the_next(inference):
    X, Y, _ = toy_archive(tasks=3)
    seen = []
    found = fit_likeliest(
        builder(X, Y, 3), AUTO_KERNELS, len(X), seed=0, inference=inference, progress=lambda n, value: seen.append(n)
    )
    assert seen == sorted(set(seen))
    assert seen[0] == 1
    assert seen[-1] > found.evaluations


def test_a_model_that_was_not_fitted_is_never_the_likeliest():
    X, Y, _ = toy_archive(tasks=3)
    unfitted, fitted = (builder(X, Y, 3)("rbf", torch.arange(len(X))) for _ in range(2))
    assert likeliest([unfitted, fitted.fit(seed=0)]) is fitted


def test_names_of_no_kernel_are_refused():
    with pytest.raises(ProblemError, match=r"'mattern'.*'auto', .*Did you mean 'matern52'"):
        kernels_to_try("mattern")


def test_a_model_has_one_kernel():
    X, Y, _ = toy_archive(tasks=3)
    with pytest.raises(ProblemError, match=r"headstart\.fit"):
        BEGP(X, Y, {1: 3}, kernel="auto")


def test_what_cannot_be_sampled_is_refused_before_any_work():
    X, Y, _ = toy_archive(tasks=3)
    seen = []
    with pytest.raises(ModelError, match="point embedding"):
        fit_likeliest(
            lambda kernel, some: EGP(X[some], Y[some], {1: 3}, kernel=kernel),
            AUTO_KERNELS,
            len(X),
            seed=0,
            inference="hmc",
            progress=lambda n, value: seen.append(n),
        )
    assert seen == []


def archive_of(X, Y):
    return pd.DataFrame({"task": [f"t{code:.0f}" for code in X[:, 1]], "x": X[:, 0], "y": Y[:, 0]})


PROBLEM = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y")


@pytest.mark.parametrize("kernel", ["auto", "rbf+tasks"])
def test_a_task_that_is_held_out_does_not_choose_its_kernel(kernel, monkeypatch, tmp_path):
    """Validation chooses anew for each task where the surrogate's own kernel was chosen, also when loaded."""
    X, Y, *_ = (part.numpy() for part in family("matern52+tasks", rows=8, tasks=3))
    surrogate = hs.fit(archive_of(X, Y), PROBLEM, seed=0, kernel=kernel, inference="lbfgs")
    surrogate.save(tmp_path / "one")
    tried = []

    def counted(build, kernels, rows, **options):
        tried.append((tuple(kernels), rows))
        return fit_likeliest(build, kernels, rows, **options)

    monkeypatch.setattr(validation, "fit_likeliest", counted)
    hs.load(tmp_path / "one").validate(shots=(0,), repeats=1)
    assert [rows for _, rows in tried] == [16, 16, 16]
    names = [tuple(each if isinstance(each, str) else each.name for each in kernels) for kernels, _ in tried]
    assert names == [AUTO_KERNELS if kernel == "auto" else (kernel,)] * 3


@pytest.mark.parametrize("name", PRIORS)
def test_a_surrogate_keeps_its_kernel_when_it_learns_and_when_it_is_saved(name, tmp_path):
    X, Y, *_ = (part.numpy() for part in family(name))
    surrogate = hs.fit(archive_of(X, Y), PROBLEM, seed=0)
    surrogate = surrogate.observe(pd.DataFrame({"task": ["new"], "x": [0.5], "y": [0.7]}))
    surrogate.save(tmp_path / "one")
    for each in (surrogate, hs.load(tmp_path / "one")):
        assert each.kernel == name
        assert name in repr(each)
