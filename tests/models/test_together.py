"""Models fitted as one batch are those fitted one by one."""

import copy

import pytest
import torch
from problems import grid_of, toy_archive

from headstart.errors import ModelError
from headstart.models import BEGP, EGP, HMC, LBFGS, Adam
from headstart.models.elbo import TrainingData
from headstart.models.inference import Objective, maximise
from headstart.models.together import fit_together, observe_together, sample_together


def archives(count: int, rows: int = 5) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Toy archives; every second one is shorter."""
    made = [toy_archive(seed=seed, rows=rows)[:2] for seed in range(count)]
    return [(X[: len(X) - 2 * (i % 2)], Y[: len(Y) - 2 * (i % 2)]) for i, (X, Y) in enumerate(made)]


def models_of(kind: type[BEGP], count: int = 4, **options) -> list[BEGP]:
    return [kind(X, Y, {1: 6}, latent_dim=2, **options) for X, Y in archives(count)]


@pytest.mark.parametrize("kernel", ["rbf", "matern52", "rbf+residual"])
@pytest.mark.parametrize("kind", [BEGP, EGP])
def test_padding_changes_no_value_and_no_gradient(kind, kernel):
    models = models_of(kind, kernel=kernel)
    seeds = (3, 1, 2, 7)
    data = [model.begin(seed) for model, seed in zip(models, seeds, strict=True)]
    layout = models[0]._layout
    vectors = layout.starts(len(models), seed=0)
    stacked = Objective(models[0].structure, layout, TrainingData.stack(data), seeds)
    together = vectors.clone().requires_grad_()
    values = stacked.value(together, stacked.draws(8))
    (gradient,) = torch.autograd.grad(values.sum(), together)
    for i, (model, seed) in enumerate(zip(models, seeds, strict=True)):
        alone = Objective(model.structure, layout, data[i], (seed,))
        vector = vectors[[i]].clone().requires_grad_()
        value = alone.value(vector, alone.draws(8))
        (expected,) = torch.autograd.grad(value.sum(), vector)
        torch.testing.assert_close(values[[i]], value, rtol=1e-7, atol=1e-6)
        torch.testing.assert_close(gradient[[i]], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [BEGP, EGP])
def test_the_same_fits_as_one_by_one(kind):
    together, alone = models_of(kind), models_of(kind)
    seeds = [0, 1, 2, 3]
    fit_together(together, seeds=seeds)
    for model, other, seed in zip(together, alone, seeds, strict=True):
        other.fit(seed=seed)
        assert model.elbo == pytest.approx(other.elbo, abs=0.05)
        ours, theirs = model.posterior(grid_of(5)), other.posterior(grid_of(5))
        sd = theirs.mixture_variance.sqrt()
        assert ((ours.mixture_mean - theirs.mixture_mean) / sd).abs().max() < 0.1


def test_the_same_updates_as_one_by_one():
    models = models_of(BEGP)
    fit_together(models, seeds=[0] * 4)
    X, Y = torch.tensor([[0.3, 5.0]]).double(), torch.tensor([[0.5]]).double()
    updated = observe_together(models, [X] * 4, [Y] * 4)
    for model, old in zip(updated, models, strict=True):
        other = old.observe(X, Y)
        assert len(model.train_X) == len(old.train_X) + 1
        assert model.elbo == pytest.approx(other.elbo, abs=0.05)
        ours, theirs = model.posterior(grid_of(5)), other.posterior(grid_of(5))
        sd = theirs.mixture_variance.sqrt()
        assert ((ours.mixture_mean - theirs.mixture_mean) / sd).abs().max() < 0.1


def test_an_answer_does_not_depend_on_the_company():
    few, many = models_of(BEGP, 2), models_of(BEGP, 4)
    fit_together(few, seeds=[0, 1])
    fit_together(many, seeds=[0, 1, 2, 3])
    for one, other in zip(few, many, strict=False):
        torch.testing.assert_close(one.vector, other.vector, rtol=1e-4, atol=1e-4)


def test_known_noise_is_stacked():
    made = [(X, Y, torch.full_like(Y, 0.01)) for X, Y in archives(2)]
    models = [BEGP(X, Y, {1: 6}, train_Yvar=noise) for X, Y, noise in made]
    fit_together(models, seeds=[0, 0])
    alone = BEGP(*made[1][:2], {1: 6}, train_Yvar=made[1][2]).fit(seed=0)
    assert models[1].elbo == pytest.approx(alone.elbo, abs=0.05)


def test_models_that_do_not_belong_together_are_refused():
    X, Y, _ = toy_archive()
    with pytest.raises(ModelError, match="number of levels"):
        fit_together([BEGP(X, Y, {1: 6}), BEGP(X[X[:, 1] > 0], Y[X[:, 1] > 0], {1: 6})], seeds=[0, 0])
    with pytest.raises(ModelError, match="one kernel"):
        fit_together([BEGP(X, Y, {1: 6}), BEGP(X, Y, {1: 6}, kernel="rbf")], seeds=[0, 0])
    models = models_of(BEGP, 2)
    data = TrainingData.stack([model.begin(0) for model in models])
    objective = Objective(models[0].structure, models[0]._layout, data, (0, 0))
    with pytest.raises(ModelError, match="one model at a time"):
        maximise(objective, objective.layout.starts(2, seed=0).unsqueeze(1), Adam())


def test_restarts_of_every_model_are_screened():
    models = models_of(BEGP, 3)
    fit_together(models, seeds=[0, 1, 2], inference=LBFGS(restarts=3, iterations=5))
    assert all(model.elbo is not None for model in models)


def test_the_same_draws_as_one_by_one():
    """Each model has its own random numbers, and rounding has no time to grow in a few leapfrog steps."""
    together = models_of(BEGP, kernel="rbf+residual", posterior_draws=32)
    fit_together(together, seeds=[0, 1, 2, 3])
    alone = copy.deepcopy(together)
    strategy = HMC(iterations=2, leapfrogs=2)
    sample_together(together, strategy)
    for model, other in zip(together, alone, strict=True):
        other.sample(strategy)
        torch.testing.assert_close(model.vector, other.vector, rtol=1e-5, atol=1e-5)
        assert model.sampler == other.sampler == strategy
    # One that is updated goes on from its variational solution.
    grown = together[0].observe(torch.tensor([[0.5, 5.0]]), torch.tensor([[1.0]]))
    assert grown.sampler == strategy


def test_models_of_any_length_keep_their_own_draws_units_and_sampler():
    X, Y = archives(1)[0]
    long = torch.cat([X] * 12), torch.cat([Y] * 12) + 0.01 * torch.randn(12 * len(Y), 1, dtype=torch.float64)
    short, plain = (BEGP(X, Y, {1: 6}, latent_dim=2).fit(seed=0) for _ in range(2))
    models = [short, BEGP(*long, {1: 6}, latent_dim=2).fit(seed=0)]
    far = torch.tensor([[0.5, 0.0]]), torch.tensor([[100.0]])
    models = [models[0].condition_on_observations(*far), models[1]]  # whose units are still those of the fit
    scales = [model.scaling.scale.item() for model in models]
    sample_together(models, HMC(iterations=2, leapfrogs=1))
    assert [model.posterior_draws for model in models] == [64, 42] == [model.variational_draws for model in models]
    assert [model.scaling.scale.item() for model in models] == scales
    both = observe_together([plain, models[0]], [far[0], far[0]], [far[1], far[1]])
    assert [model.sampler for model in both] == [None, HMC(iterations=2, leapfrogs=1)]
