"""Hamiltonian Monte Carlo: its draws against NUTS and the prior, and a model that has them."""

import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from problems import grid_of, negative_log_density, toy, toy_archive
from scipy import stats

from headstart.errors import ModelError, ProblemError
from headstart.limits import default_inference
from headstart.models import BEGP, EGP, HMC, LBFGS, NUTS
from headstart.models.elbo import Structure, TrainingData
from headstart.models.embedding import MeanFieldEmbedding
from headstart.models.hmc import sample_chains
from headstart.models.inference import Objective
from headstart.models.known_kernels import resolve_kernel

LONG = HMC(iterations=360, leapfrogs=12)


def three_tasks(**options):
    X, Y, _ = toy_archive(seed=1, tasks=3, rows=5)
    return BEGP(X, Y, {1: 3}, latent_dim=1, posterior_draws=256, **options)


@pytest.mark.parametrize("kernel", ["matern52", "rbf+residual"])
def test_draws_are_those_of_nuts(kernel):
    """Predictions integrate over everything, so they tell whether both sample one distribution."""
    ours = three_tasks(kernel=kernel).fit(seed=0, inference=LONG)
    gold = three_tasks(kernel=kernel).fit(seed=0, inference=NUTS(warmup=500, samples=512, thinning=6, chains=2))
    for task in (0, 2, 3):
        a, b = (model.posterior(grid_of(task, 9), observation_noise=True) for model in (ours, gold))
        sd = b.mixture_variance.sqrt()
        assert ((a.mixture_mean - b.mixture_mean) / sd).abs().max() < 0.25
        assert (a.mixture_variance.sqrt() / sd).log().abs().max() < 0.35  # two runs of NUTS differ by 0.1
    for name in ("log_noise", "kernel.log_lengthscale", "kernel.log_outputscale"):
        a, b = (model.hyperparameters()[name].flatten().numpy() for model in (ours, gold))
        assert abs(a.mean() - b.mean()) < 0.35 * b.std()
        assert 0.7 < stats.iqr(a) / stats.iqr(b) < 1.4  # of 32 chains one may sit in a tail, by chance


def test_without_data_chains_draw_the_prior_cut_off_at_the_bounds():
    data = TrainingData(
        torch.zeros(1, 2).double(),
        torch.zeros(1, 1).long(),
        torch.zeros(1).double(),
        torch.full((1,), 1e8).double(),
        (1,),
    )
    structure = Structure(resolve_kernel("matern52"), (MeanFieldEmbedding(),), (2,))
    objective = Objective(structure, structure.layout(data), data, (0,))
    start = objective.layout.starts(1, seed=0)
    [drawn] = sample_chains(objective, start, HMC(iterations=60, leapfrogs=10), chains=400, draws=1200)
    names = [
        name for name, entry in objective.layout.entries.items() if "log_sd" not in name for _ in range(entry.size)
    ]
    assert drawn.shape == (1200, len(names))
    for column, name in enumerate(names):
        entry = objective.layout.entries[name]
        mean, sd = (0.0, 1.0) if name.startswith("embedding") else (entry.prior_mean, entry.prior_sd)
        cut = stats.truncnorm((entry.lower - mean) / sd, (entry.upper - mean) / sd, mean, sd)
        values = drawn[:, column].numpy()
        assert abs(values.mean() - cut.mean()) < 0.15 * cut.std(), name
        assert 0.85 < values.std() / cut.std() < 1.15, name


def test_bounds_reflect():
    """Most of this posterior lies against the floor of the noise: the outputs have none."""
    x = torch.linspace(0, 1, 12, dtype=torch.float64)
    X = torch.stack([x, (torch.arange(12) % 2).double()], -1)
    model = BEGP(X, torch.sin(4 * x).unsqueeze(-1), {1: 2}, kernel="rbf").fit(seed=0, inference="hmc")
    noise = model.hyperparameters()["log_noise"]
    assert (noise >= np.log(1e-6)).all()
    assert noise.std() > 0.05


def test_it_is_less_sure_than_the_variational_fit_and_right_to_be():
    """Mean over ten toy archives of the log density of a task with two rows."""
    scores = {"lbfgs": [], "hmc": []}
    for seed in range(10):
        X, Y, theta = toy_archive(seed=seed)
        x = np.random.RandomState(100 + seed).rand(2)
        X = torch.cat([X, torch.from_numpy(np.column_stack([x, [5, 5]]))])
        Y = torch.cat([Y, torch.from_numpy(toy(x, theta[5])).unsqueeze(-1)])
        truth = torch.from_numpy(toy(grid_of(5)[:, 0, 0].numpy(), theta[5]))
        for inference, found in scores.items():
            model = BEGP(X, Y, {1: 6}, kernel="rbf").fit(seed=seed, inference=inference)
            found.append(negative_log_density(model.posterior(grid_of(5), observation_noise=True), truth))
    assert np.mean(scores["hmc"]) < np.mean(scores["lbfgs"]) - 0.1


def test_the_same_seed_gives_the_same_draws():
    first, second, other = (three_tasks().fit(seed=seed, inference="hmc") for seed in (0, 0, 1))
    assert torch.equal(first.vector, second.vector)
    assert not torch.equal(first.vector, other.vector)


def test_progress_goes_on_while_chains_run():
    told = []
    model = three_tasks().fit(
        seed=0, inference=HMC(iterations=3, leapfrogs=2), progress=lambda n, value: told.append(n)
    )
    assert told == sorted(told)
    assert told[-3:] == [model.evaluations + gradients for gradients in (2, 4, 6)]


def test_every_draw_has_its_own_hyperparameters():
    model = three_tasks().fit(seed=0, inference="hmc")
    assert model.vector.shape[0] == model.posterior_draws == 256
    assert len(model.hyperparameters()["log_noise"].unique()) > 64
    mean, sd = model.embedding(1)
    assert mean.shape == sd.shape == (3, 1)


def test_observing_goes_on_from_the_solution_and_samples_again():
    X, Y, _ = toy_archive(seed=2)
    model = BEGP(X, Y, {1: 6}).fit(seed=0, inference="hmc")
    point = torch.tensor([[0.4, 5.0]], dtype=torch.float64)
    grown = model.observe(point, torch.tensor([[1.5]]))
    assert grown.sampler == model.sampler == HMC()
    assert grown.vector.dim() == 2
    assert grown.solution.shape == grown.variational_solution.shape
    before, after = (float(m.posterior(point.unsqueeze(0)).mixture_mean) for m in (model, grown))
    assert abs(after - 1.5) < abs(before - 1.5)
    # Conditioning alone leaves the draws behind; another fit starts afresh.
    assert model.condition_on_observations(point, torch.tensor([[1.5]])).sampler is None
    assert grown.fit(seed=0).sampler is None


def test_a_sampled_model_can_be_sampled_again():
    once, twice = (three_tasks().fit(seed=0, inference="hmc") for _ in range(2))
    twice.sample(HMC())
    assert torch.equal(once.vector, twice.vector)


def test_states_are_kept_from_the_second_half_of_the_chains():
    """More draws than chains: several states of each, and the same last ones whatever the number."""
    model = three_tasks().fit(seed=0)
    structure, data = model.structure, model._data
    objective = Objective(structure, structure.layout(data), data, (0,))
    one, many = (
        sample_chains(objective, model.vector[None], HMC(iterations=12), chains=8, draws=draws)[0] for draws in (8, 40)
    )
    assert torch.equal(many[:8], one)
    assert len(many) == 40
    assert len(many[:, 0].unique()) > 20


def test_a_refused_state_changes_nothing():
    model = three_tasks().fit(seed=0, inference="hmc")
    before = model.posterior(grid_of(0, 3)).mixture_mean
    with pytest.raises(ModelError, match="do not fit this model"):
        model.adopt(torch.zeros(3, dtype=torch.float64))
    assert model.sampler == HMC()
    assert torch.equal(model.posterior(grid_of(0, 3)).mixture_mean, before)


def test_a_state_dict_moves_the_draws_and_says_what_it_cannot():
    X, Y, _ = toy_archive(seed=1, tasks=3, rows=5)
    model, other = (BEGP(X, Y, {1: 3}, posterior_draws=16) for _ in range(2))
    other.load_state_dict(model.fit(seed=0, inference="hmc").state_dict())
    other.seed = model.seed
    torch.testing.assert_close(other.posterior(X[:2]).mean, model.posterior(X[:2]).mean)
    with pytest.raises(ModelError, match="without the solution they began from"):
        other.observe(X[:1], Y[:1])


def test_wrong_use_is_a_clear_error():
    X, Y, _ = toy_archive()
    custom = ScaleKernel(RBFKernel(ard_num_dims=4))
    with pytest.raises(ModelError, match="GPyTorch kernel"):
        BEGP(X, Y, {1: 5}, kernel=custom).fit(inference="hmc")
    assert default_inference(BEGP(X, Y, {1: 5}, kernel=custom)) == LBFGS()
    with pytest.raises(ModelError, match="point embedding has no posterior"):
        EGP(X, Y, {1: 5}).fit(inference="hmc")
    with pytest.raises(ModelError, match="HMC has no warm start"):
        BEGP(X, Y, {1: 5}).fit(seed=0).observe(X[:1], Y[:1], inference="hmc")
    for options in ({"iterations": 0}, {"leapfrogs": 0}, {"step": 0.0}, {"step": np.inf}):
        with pytest.raises(ProblemError, match=next(iter(options))):
            HMC(**options)
