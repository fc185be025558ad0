"""The bound: below the evidence and close to it."""

import math

import pytest
import torch
from problems import toy_archive

from headstart.models import BEGP, LBFGS, Adam
from headstart.models.inference import Objective, draws_for


def objective_of(model: BEGP, seed: int = 0) -> Objective:
    return Objective(model.structure, model._layout, model._data, (seed,))


def importance_sampled_evidence(model: BEGP, samples: int = 40_000) -> float:
    """log E_q[p(y | Z) p(Z) / q(Z)] + log p(hyperparameters), with q = N(m, diag s^2) by independent draws."""
    data, h = model._data, model.hyperparameters()
    mean, sd = h["embedding.0.mean"], h["embedding.0.log_sd"].exp()
    # Half as wide again as q, so that the weights have a finite variance.
    wide = torch.distributions.Normal(mean, 1.5 * sd)
    generator = torch.Generator().manual_seed(1)
    log_weights = []
    for _ in range(samples // 4000):
        noise = torch.randn(4000, *mean.shape, generator=generator, dtype=mean.dtype)
        Z = mean + 1.5 * sd * noise
        rows = torch.cat([data.x.expand(4000, *data.x.shape), Z[:, data.positions[:, 0]]], -1)
        kernel = {k.removeprefix("kernel."): v for k, v in h.items() if k.startswith("kernel.")}
        K = model.structure.kernel.covariance(kernel, rows, rows)
        K = K + h["log_noise"].exp() * torch.eye(len(data.y), dtype=mean.dtype)
        likelihood = torch.distributions.MultivariateNormal(h["mean"].expand(4000, len(data.y)), K).log_prob(data.y)
        prior = torch.distributions.Normal(0.0, 1.0).log_prob(Z).sum((-2, -1))
        log_weights.append(likelihood + prior - wide.log_prob(Z).sum((-2, -1)))
    pooled = torch.cat(log_weights)
    evidence = torch.logsumexp(pooled, 0) - math.log(len(pooled))
    return float(evidence + model._layout.log_prior(model.vector))


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("seed", [0, 1])
def test_elbo_is_below_and_close_to_the_evidence(kernel, seed):
    X, Y, _ = toy_archive(seed=seed, tasks=3, rows=4)
    model = BEGP(X, Y, {1: 3}, kernel=kernel, latent_dim=1).fit(seed=0)
    objective = objective_of(model, seed=123)
    with torch.no_grad():
        elbo = float(objective.value(model.vector.unsqueeze(0), objective.draws(4096)))
    evidence = importance_sampled_evidence(model)
    assert elbo <= evidence + 0.05
    assert elbo >= evidence - 3.0


def test_gradient_of_the_objective_matches_finite_differences():
    X, Y, _ = toy_archive(tasks=2, rows=3)
    model = BEGP(X, Y, {1: 2}, latent_dim=2)
    objective = objective_of(model)
    eps = objective.draws(4)
    start = objective.layout.starts(2, seed=0).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: objective.value(v, eps), (start,), atol=1e-5)


def test_enough_draws_leave_little_to_overfit():
    X, Y, _ = toy_archive()
    gaps = []
    for draws in (8, draws_for(len(X))):
        model = BEGP(X, Y, {1: 6}, kernel="rbf").fit(seed=0, inference=LBFGS(draws=draws))
        objective = objective_of(model, seed=99)
        with torch.no_grad():
            honest = float(objective.value(model.vector.unsqueeze(0), objective.draws(2048)))
        gaps.append(model.elbo - honest)
    assert gaps[1] < 0.5 * gaps[0]


def test_restarts_never_hurt_what_is_reported():
    X, Y, _ = toy_archive(seed=2)
    model = BEGP(X, Y, {1: 6})
    objective = objective_of(model)
    with torch.no_grad():
        at_start = objective.value(objective.layout.starts(1, seed=0), objective.draws(64))
    assert model.fit(seed=0).elbo > float(at_start)


def test_one_sample_adam_reaches_a_similar_bound():
    X, Y, _ = toy_archive(tasks=4, rows=4)

    def honest(model):
        objective = objective_of(model, seed=7)
        with torch.no_grad():
            return float(objective.value(model.vector.unsqueeze(0), objective.draws(1024)))

    lbfgs = BEGP(X, Y, {1: 4}).fit(seed=0)
    adam = BEGP(X, Y, {1: 4}).fit(seed=0, inference=Adam(steps=1500, restarts=2))
    assert honest(adam) > honest(lbfgs) - 3.0


def test_same_seed_same_answer_and_another_seed_another():
    X, Y, _ = toy_archive()
    first, again, other = (BEGP(X, Y, {1: 6}).fit(seed=s) for s in (3, 3, 4))
    torch.testing.assert_close(first.vector, again.vector, rtol=0, atol=0)
    assert not torch.equal(first.vector, other.vector)


@pytest.mark.parametrize("inference", [LBFGS(), Adam(steps=20)])
def test_progress_counts_every_evaluation(inference):
    X, Y, _ = toy_archive(tasks=2, rows=3)
    seen = []
    model = BEGP(X, Y, {1: 2}).fit(inference=inference, progress=lambda count, elbo: seen.append((count, elbo)))
    counts, values = zip(*seen, strict=True)
    assert list(counts) == list(range(1, model.evaluations + 1))
    assert max(values) >= values[0]
