"""Peers: laws that hold for all of them, and each against its library used directly or its formulas written again."""

import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from functools import partial

import botorch
import numpy as np
import pandas as pd
import pytest
import torch
from botorch.models import MultiTaskGP, SingleTaskGP
from botorch.models.transforms import Standardize
from scipy import stats
from sklearn.ensemble import RandomForestRegressor

from headstart.benchmark.beliefs import PeerBelief
from headstart.benchmark.contenders import Rows
from headstart.benchmark.experiments import Optimization, Regression
from headstart.benchmark.experiments.regression import SCORES
from headstart.benchmark.peers import (
    BayBE,
    Forest,
    LegacyCombination,
    MultiTask,
    PooledGP,
    RankedEnsemble,
    SaasMultiTask,
)
from headstart.benchmark.peers import baybe as baybe_module
from headstart.benchmark.peers import peer as peer_module
from headstart.benchmark.peers.baybe import BayBEBelief
from headstart.benchmark.peers.combination import CombinationBelief
from headstart.benchmark.peers.multitask import GPBelief
from headstart.benchmark.peers.peer import Peer, fitted, fitted_gp, legacy_gps
from headstart.benchmark.peers.ranked import RankedBelief, _left_out
from headstart.benchmark.systems import Trial, get_system
from headstart.errors import MissingExtraError
from headstart.models.mixture import Mixture

QUICK: list[Peer] = [
    PooledGP(),
    MultiTask(),
    BayBE(iterations=20),
    RankedEnsemble(samples=64),
    LegacyCombination(),
    Forest(trees=20),
]
SAAS = SaasMultiTask(warmup=8, samples=4, thinning=1)
# A program of NUTS takes a while to compile, however short its chain.
ALL = [*QUICK, pytest.param(SAAS, marks=pytest.mark.slow)]
each_peer = pytest.mark.parametrize("peer", ALL, ids=lambda peer: peer.label)


@pytest.fixture(autouse=True)
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested here does not depend on how far a fit goes."""
    monkeypatch.setattr(peer_module, "ITERATIONS", 40)


def waves(x: np.ndarray, shift: float) -> np.ndarray:
    return np.sin(5 * x[:, 0] + shift) - (x[:, 1] - 0.3) ** 2


def trial_of(sign: int = 1, *, units: float = 1.0, offset: float = 0.0) -> Trial:
    """A table: three legacy tasks of eight rows and a current one of twelve, all alike."""
    random = np.random.default_rng(0)
    legacy, x = random.random((24, 2)), random.random((12, 2))
    task = np.repeat(np.arange(3), 8)
    legacy_y = offset + units * sign * np.concatenate([waves(legacy[task == t], 0.2 * t) for t in range(3)])
    y = offset + units * sign * waves(x, 0.3)
    order = random.permutation(12)
    best = y.max() if sign > 0 else y.min()
    return Trial(legacy, task, legacy_y, x[order], y[order], x, y, None, float(best), float(np.ptp(y)), sign)


def toy() -> Trial:
    """A function, on a coarse grid."""
    trial = get_system("toy-fresh").trial("current", 0)
    return replace(trial, x=trial.x[::20], y=trial.y[::20])


def told(trial: Trial, count: int) -> Rows:
    return trial.order_x[:count], trial.order_y[:count]


def believed(peer: Peer, trial: Trial, count: int, seed: int = 0) -> PeerBelief:
    if count == 0:
        [belief] = peer.begin([trial], [seed], device="cpu")
    else:
        [belief] = peer.learn([None], [trial], [seed], [told(trial, count)], count)
    assert isinstance(belief, PeerBelief)
    return belief


# What all peers have in common


@each_peer
@pytest.mark.parametrize("of", ["function", "table"])
def test_a_peer_predicts_and_chooses_with_and_without_rows(peer: Peer, of: str) -> None:
    trial = toy() if of == "function" else trial_of()
    for count in (0, 3):
        belief = believed(peer, trial, count)
        measured, response = belief.predict(trial.x), belief.predict(trial.x, noise=False)
        for predicted in (measured, response):
            assert predicted.mean.shape == predicted.sd.shape
            assert predicted.mean.shape[-1] == len(trial.x)
            assert np.isfinite(predicted.mean).all()
            assert (predicted.sd > 0).all()
        np.testing.assert_allclose(measured.mean, response.mean, atol=1e-6 * trial.spread)
        assert (measured.sd >= response.sd - 1e-9).all()
        assert belief.choose(trial.x) in range(len(trial.x))


@pytest.mark.parametrize("peer", QUICK, ids=lambda peer: peer.label)
def test_experiments_run_peers_as_they_do_models(peer: Peer) -> None:
    trial = trial_of()
    [frame] = Regression((0, 2)).run([trial], peer, [0])
    assert np.isfinite(frame[[*SCORES]]).all(axis=None)
    [frame] = Optimization(3).run([trial], peer, [0])
    assert frame["outcome"].isin(trial.y).all()
    assert frame["outcome"].nunique() == 3  # no row is tried twice


@each_peer
def test_a_seed_repeats_itself_whatever_was_drawn_before(peer: Peer) -> None:
    trial = trial_of()
    first = believed(peer, trial, 3, seed=4)
    state = torch.manual_seed(99).get_state()
    legacy_gps.cache_clear()
    again = believed(peer, trial, 3, seed=4)
    assert torch.equal(torch.get_rng_state(), state)  # nor does it touch what others draw
    for one, two in zip(
        (first.predict(trial.x).mean, first.predict(trial.x).sd),
        (again.predict(trial.x).mean, again.predict(trial.x).sd),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    assert first.choose(trial.x) == again.choose(trial.x)


def twins(sign: int) -> Trial:
    """Two legacy tasks and the current one, which are the same 25 rows."""
    x = np.random.default_rng(3).random((25, 2))
    y = sign * waves(x, 0.0)
    return replace(
        trial_of(sign),
        legacy_x=np.concatenate([x, x]),
        legacy_task=np.repeat([0, 1], 25),
        legacy_y=np.concatenate([y, y]),
        x=x,
        y=y,
        optimum=float(sign * (sign * y).max()),
        spread=float(np.ptp(y)),
    )


@each_peer
@pytest.mark.parametrize("sign", [1, -1])
def test_a_peer_that_was_shown_the_best_row_begins_there(peer: Peer, sign: int) -> None:
    trial = twins(sign)
    choice = believed(peer, trial, 0).choose(trial.x)
    regret = sign * (trial.optimum - trial.y[choice]) / trial.spread
    # A forest's leaves hold neighbours too, and a short chain has not found its way.
    assert regret <= (0.2 if isinstance(peer, Forest | SaasMultiTask) else 0.0)


@pytest.mark.parametrize("peer", QUICK, ids=lambda peer: peer.label)
@pytest.mark.parametrize("count", [0, 4])
def test_units_do_not_matter(peer: Peer, count: int) -> None:
    plain, scaled, moved = trial_of(), trial_of(units=1024.0), trial_of(units=1e3, offset=-7e3)
    one, two, three = (believed(peer, trial, count) for trial in (plain, scaled, moved))
    # A power of two rounds nothing; other units may turn a fit or a split elsewhere, but hardly the choice.
    predicted, likewise = one.predict(plain.x), two.predict(scaled.x)
    np.testing.assert_allclose(likewise.mean / 1024, predicted.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(likewise.sd / 1024, predicted.sd, rtol=1e-4)
    assert one.choose(plain.x) == two.choose(scaled.x) == three.choose(moved.x)


@pytest.mark.parametrize("peer", QUICK, ids=lambda peer: peer.label)
def test_the_smallest_is_sought_like_the_largest_of_the_negative(peer: Peer) -> None:
    up, down = trial_of(1), trial_of(-1)
    assert believed(peer, up, 4).choose(up.x) == believed(peer, down, 4).choose(down.x)


@dataclass(frozen=True, kw_only=True)
class Rude(Peer):
    """A library that warns and looks at the threads it has."""

    label: str = "rude"

    def believe(self, trial: Trial, rows: Rows, seed: int) -> PeerBelief:
        warnings.warn("I am old", DeprecationWarning, stacklevel=1)
        if torch.get_num_threads() != 1 or len(rows[1]) == 2:
            raise RuntimeError("two is too many")
        return believed(Forest(trees=1), trial, 0)


@pytest.mark.filterwarnings("error")
def test_peers_may_warn_and_have_one_thread() -> None:
    threads = torch.get_num_threads()
    assert isinstance(believed(Rude(), trial_of(), 1), PeerBelief)
    with pytest.raises(RuntimeError, match="too many"):
        believed(Rude(), trial_of(), 2)
    assert torch.get_num_threads() == threads


def test_legacy_models_are_fitted_once_a_trial() -> None:
    trial, other = trial_of(), trial_of()
    first = legacy_gps(trial)
    assert legacy_gps(trial) is first
    assert legacy_gps(other) is not first
    of_task = trial.legacy_task == 1
    for model, centre, spread in first[1:2]:
        assert torch.equal(model.train_inputs[0], torch.from_numpy(trial.legacy_x[of_task]))
        assert centre == trial.legacy_y[of_task].mean()
        assert spread == trial.legacy_y[of_task].std()


# BoTorch's models


def close(predicted: Mixture, mean: torch.Tensor, variance: torch.Tensor) -> None:
    [found], [sd] = predicted.mean, predicted.sd
    np.testing.assert_allclose(found, mean.detach().flatten(), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(sd**2, variance.detach().flatten(), rtol=1e-5)


@pytest.mark.parametrize("noise", [True, False])
def test_the_pooled_gp_is_botorchs_of_all_rows(noise: bool) -> None:
    trial = trial_of()
    x, y = told(trial, 4)
    X = torch.from_numpy(np.concatenate([trial.legacy_x, x]))
    Y = torch.from_numpy(np.concatenate([trial.legacy_y, y])).unsqueeze(-1)
    posterior = fitted(SingleTaskGP(X, Y, outcome_transform=Standardize(1))).posterior(
        torch.from_numpy(trial.x), observation_noise=noise
    )
    close(believed(PooledGP(), trial, 4).predict(trial.x, noise=noise), posterior.mean, posterior.variance)


@pytest.mark.parametrize("count", [0, 4])
def test_the_multi_task_gp_is_botorchs(count: int) -> None:
    trial = trial_of()
    x, y = told(trial, count)
    X = np.concatenate([np.column_stack([trial.legacy_x, trial.legacy_task]), np.column_stack([x, np.full(count, 3)])])
    Y = np.concatenate([trial.legacy_y, y])
    torch.manual_seed(7)
    model = MultiTaskGP(
        torch.from_numpy(X),
        torch.from_numpy(Y[:, None]),
        task_feature=2,
        all_tasks=[0, 1, 2, 3],
        outcome_transform=Standardize(1),
    )
    points = torch.from_numpy(np.column_stack([trial.x, np.full(len(trial.x), 3)]))
    posterior = fitted(model).posterior(points, observation_noise=True)
    close(believed(MultiTask(), trial, count, seed=7).predict(trial.x), posterior.mean, posterior.variance)


@pytest.mark.slow
def test_a_sampled_multi_task_gp_is_a_mixture_of_its_draws() -> None:
    trial = trial_of()
    belief = believed(SAAS, trial, 3)
    assert isinstance(belief, GPBelief)
    predicted = belief.predict(trial.x, noise=False)
    assert predicted.mean.shape == (4, len(trial.x))
    points = torch.from_numpy(np.column_stack([trial.x, np.full(len(trial.x), 3.0)]))
    with torch.no_grad():
        posterior = belief.model.posterior(points)
    mean, sd = predicted.moments
    np.testing.assert_allclose(mean, posterior.mixture_mean.flatten(), rtol=1e-6)
    np.testing.assert_allclose(sd**2, posterior.mixture_variance.flatten(), rtol=1e-5)


# BayBE


def test_baybe_recommends_what_a_baybe_campaign_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from baybe import Campaign
    from baybe.parameters import NumericalDiscreteParameter, TaskParameter
    from baybe.recommenders import BotorchRecommender
    from baybe.searchspace import SearchSpace
    from baybe.targets import NumericalTarget

    trial = trial_of()
    candidates = pd.DataFrame(trial.x, columns=["u", "v"]).assign(task="new")
    parameters = [
        NumericalDiscreteParameter("u", values=sorted({*trial.x[:, 0], *trial.legacy_x[:, 0]})),
        NumericalDiscreteParameter("v", values=sorted({*trial.x[:, 1], *trial.legacy_x[:, 1]})),
        TaskParameter("task", values=["0", "1", "2", "new"], active_values=["new"]),
    ]
    campaign = Campaign(
        SearchSpace.from_dataframe(candidates, parameters),
        NumericalTarget("y").to_objective(),
        BotorchRecommender(),
        allow_recommending_already_measured=True,
    )
    x, y = told(trial, 3)
    rows = pd.DataFrame(np.concatenate([trial.legacy_x, x]), columns=["u", "v"]).assign(
        task=[*trial.legacy_task.astype(str), *["new"] * 3], y=np.concatenate([trial.legacy_y, y])
    )
    campaign.add_measurements(rows, numerical_measurements_must_be_within_tolerance=False)
    capped = partial(botorch.fit.fit_gpytorch_mll, optimizer_kwargs={"options": {"maxiter": 20}})
    monkeypatch.setattr(botorch.fit, "fit_gpytorch_mll", capped)
    torch.manual_seed(0)
    stats_of = campaign.posterior_stats(candidates)
    recommended = campaign.recommend(1)

    belief = believed(BayBE(iterations=20), trial, 3)
    predicted = belief.predict(trial.x, noise=False)
    np.testing.assert_allclose(predicted.mean[0], stats_of["y_mean"], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(predicted.sd[0], stats_of["y_std"], rtol=0.02, atol=1e-3)
    np.testing.assert_allclose(trial.x[belief.choose(trial.x)], recommended[["u", "v"]].to_numpy()[0])


@pytest.mark.parametrize(("iterations", "expected"), [(1, {"maxiter": 1}), (None, {})])
def test_baybes_fits_stop_at_the_cap(
    iterations: int | None, expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, fit = [], baybe_module.fit_gpytorch_mll

    def recorded(mll, optimizer_kwargs):
        asked.append(optimizer_kwargs["options"])
        return fit(mll, optimizer_kwargs={"options": {"maxiter": 1}})

    monkeypatch.setattr(baybe_module, "fit_gpytorch_mll", recorded)
    believed(BayBE(iterations=iterations), trial_of(), 2)
    assert asked == [expected]
    assert botorch.fit.fit_gpytorch_mll is fit  # as it was


@pytest.mark.parametrize("varies", [True, False])
def test_only_an_input_that_is_constant_everywhere_is_left_out(varies: bool) -> None:
    trial = trial_of()
    constant = np.column_stack([trial.x, np.full(12, 0.5)])
    with_constant = replace(
        trial,
        legacy_x=np.column_stack([trial.legacy_x, np.linspace(0, 1, 24) if varies else np.full(24, 0.5)]),
        order_x=np.column_stack([trial.order_x, np.full(12, 0.5)]),
        x=constant,
    )
    belief, without = believed(BayBE(iterations=20), with_constant, 2), believed(BayBE(iterations=20), trial, 2)
    assert isinstance(belief, BayBEBelief)
    assert belief.measured.columns.tolist() == ["x0", "x1", *(["x2"] if varies else []), "task", "y"]
    if varies:
        assert np.isfinite(belief.predict(constant).mean).all()
        return
    np.testing.assert_allclose(belief.predict(constant).mean, without.predict(trial.x).mean)
    assert belief.choose(constant) == without.choose(trial.x)


def test_baybe_asks_for_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "baybe.parameters", None)
    with pytest.raises(MissingExtraError, match=r'BayBE needs .*pip install "headstart\[peers\]"'):
        believed(BayBE(), trial_of(), 0)


def test_baybe_is_imported_when_it_is_needed_and_not_before() -> None:
    program = "import sys, headstart.benchmark.peers; sys.exit('baybe' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# RGPE


def numpy_posterior(model: SingleTaskGP, is_known: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the response given some of the rows, in the model's own units and by NumPy alone."""
    x, y = model.train_inputs[0].numpy()[is_known], model.train_targets.numpy()[is_known]

    def k(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model.covar_module(torch.from_numpy(left), torch.from_numpy(right)).to_dense().numpy()

    centre = model.mean_module.constant.item()
    K, cross = k(x, x) + model.likelihood.noise.item() * np.eye(len(x)), k(points, x)
    mean = centre + cross @ np.linalg.solve(K, y - centre)
    return mean, k(points, points) - cross @ np.linalg.solve(K, cross.T)


def left_out_by_hand(model: SingleTaskGP) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of f at each row by the model without it, in the model's own units."""
    x, means, sds = model.train_inputs[0].numpy(), [], []
    for i in range(len(x)):
        mean, covariance = numpy_posterior(model, np.arange(len(x)) != i, x[[i]])
        means.append(mean.item())
        sds.append(np.sqrt(covariance.item()))
    return np.array(means), np.array(sds)


def test_rows_are_left_out_as_if_the_model_had_never_seen_them() -> None:
    trial = trial_of(units=5.0, offset=3.0)
    x, y = told(trial, 6)
    model = fitted_gp(x, y)
    drawn = _left_out(model, torch.from_numpy(x), torch.from_numpy(y), 100_000).numpy()
    mean, sd = left_out_by_hand(model)
    np.testing.assert_allclose(drawn.mean(0), y.mean() + y.std(ddof=1) * mean, atol=0.02 * y.std())
    np.testing.assert_allclose(drawn.std(0), y.std(ddof=1) * sd, rtol=0.02)


def test_weights_are_the_shares_of_samples_that_rank_best() -> None:
    """Counted sample by sample, pair by pair."""
    trial, random = trial_of(), np.random.default_rng(5)
    x, y = told(trial, 4)
    belief = believed(RankedEnsemble(samples=4000), trial, 4)
    assert isinstance(belief, RankedBelief)
    samples = 1500
    drawn = []
    for standardised in belief.models[:-1]:
        mean, covariance = numpy_posterior(standardised.model, np.full(8, True), x)
        drawn.append(random.multivariate_normal(mean, covariance, samples, method="eigh"))
    mean, sd = left_out_by_hand(belief.models[-1].model)
    drawn.append(mean + sd * random.standard_normal((samples, 4)))
    units = (y - y.mean()) / y.std(ddof=1)
    wins = np.zeros(4)
    for s in range(samples):
        pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
        losses = [sum((f[s, i] < f[s, j]) != (y[i] < y[j]) for i, j in pairs) for f in drawn[:-1]]
        losses.append(sum((drawn[-1][s, i] < units[j]) != (y[i] < y[j]) for i, j in pairs))
        best = [i for i in range(4) if losses[i] == min(losses)]
        best = [3] if 3 in best else best  # the current task's model is the last one
        wins[best] += 1 / len(best)
    assert belief.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(belief.weights, wins / samples, atol=0.05)


@pytest.mark.parametrize("count", [0, 1])
def test_without_rows_to_rank_all_legacy_models_weigh_the_same(count: int) -> None:
    trial = trial_of(units=3.0)
    belief = believed(RankedEnsemble(), trial, count)
    assert isinstance(belief, RankedBelief)
    assert belief.weights[:3].tolist() == [1 / 3] * 3
    assert belief.weights[3:].tolist() == [0.0] * count
    means, variances = [], []
    for task in range(3):
        of_task = trial.legacy_task == task
        y = trial.legacy_y[of_task]
        posterior = fitted_gp(trial.legacy_x[of_task], y).posterior(torch.from_numpy(trial.x))
        means.append((posterior.mean.detach().numpy()[:, 0] - y.mean()) / y.std())
        variances.append(posterior.variance.detach().numpy()[:, 0] / y.var())
    predicted = belief.predict(trial.x, noise=False)
    everything = trial.legacy_y
    np.testing.assert_allclose(predicted.mean[0], everything.mean() + everything.std() * np.mean(means, axis=0))
    np.testing.assert_allclose(predicted.sd[0], everything.std() * np.sqrt(np.sum(variances, axis=0)) / 3)


def test_a_legacy_task_that_ranks_rows_upside_down_has_no_say() -> None:
    trial = trial_of()
    upside_down = replace(trial, legacy_y=np.where(trial.legacy_task == 0, -trial.legacy_y, trial.legacy_y))
    belief = believed(RankedEnsemble(), upside_down, 6)
    assert isinstance(belief, RankedBelief)
    assert belief.weights[0] < 0.01


# The linear combination


def features_of(trial: Trial, x: np.ndarray) -> np.ndarray:
    """Means of the legacy models and a constant, in units of all legacy outcomes."""
    columns = []
    for task in range(3):
        of_task = trial.legacy_task == task
        model = fitted_gp(trial.legacy_x[of_task], trial.legacy_y[of_task])
        mean = model.posterior(torch.from_numpy(x)).mean.detach().numpy()[:, 0]
        columns.append((mean - trial.legacy_y.mean()) / trial.legacy_y.std())
    return np.column_stack([*columns, np.ones(len(x))])


@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_combination_is_a_gp_with_a_linear_kernel(count: int) -> None:
    """Prior mean the average task, covariance of tasks a third each and of the constant one; noise of best evidence."""
    trial = trial_of(units=4.0, offset=20.0)
    belief = believed(LegacyCombination(), trial, count)
    assert isinstance(belief, CombinationBelief)
    x, y = told(trial, count)
    centre, spread = trial.legacy_y.mean(), trial.legacy_y.std()
    at, new = features_of(trial, x) if count else np.empty((0, 4)), features_of(trial, trial.x)
    average, prior = np.array([1, 1, 1, 0]) / 3, np.diag([1 / 3, 1 / 3, 1 / 3, 1])
    residual = (y - centre) / spread - at @ average

    noise = 0.1
    if count:

        def evidence(noise: float) -> float:
            K = at @ prior @ at.T + noise * np.eye(count)
            return -residual @ np.linalg.solve(K, residual) / 2 - np.linalg.slogdet(K)[1] / 2

        noise = max(np.geomspace(1e-4, 1, 13), key=evidence)
    assert belief.noise == pytest.approx(noise)

    K, cross = at @ prior @ at.T + noise * np.eye(count), new @ prior @ at.T
    mean = new @ average + cross @ np.linalg.solve(K, residual)
    variance = np.diag(new @ prior @ new.T - cross @ np.linalg.solve(K, cross.T)) + noise
    for is_noisy in (True, False):
        predicted = belief.predict(trial.x, noise=is_noisy)
        np.testing.assert_allclose(predicted.mean[0], centre + spread * mean, rtol=1e-6)
        np.testing.assert_allclose(predicted.sd[0], spread * np.sqrt(variance), rtol=1e-6)


def test_a_combination_of_tasks_is_found() -> None:
    """The current task is the second legacy task less the third: ten rows say so."""
    trial = trial_of()
    at = features_of(trial, trial.order_x)
    y = trial.legacy_y.mean() + trial.legacy_y.std() * (at[:, 1] - at[:, 2])
    belief = believed(LegacyCombination(), replace(trial, order_y=y), 10)
    predicted = belief.predict(trial.order_x[10:])
    np.testing.assert_allclose(predicted.mean[0], y[10:], atol=0.1 * np.ptp(y))
    assert stats.norm.cdf(y[10:], predicted.mean[0], predicted.sd[0]).min() > 1e-3


# The forest


@pytest.mark.parametrize("count", [0, 3])
def test_the_forest_is_scikit_learns_with_an_indicator_a_task(count: int) -> None:
    trial = trial_of()
    x, y = told(trial, count)
    tasks = [*trial.legacy_task, *[3] * count]
    rows = np.column_stack([np.concatenate([trial.legacy_x, x]), np.eye(4)[tasks]])
    forest = RandomForestRegressor(20, min_samples_leaf=2, random_state=1)
    forest.fit(rows, np.concatenate([trial.legacy_y, y]))
    columns = np.column_stack([trial.x, np.tile([0, 0, 0, 1 if count else 0], (12, 1))])
    predicted = believed(Forest(trees=20), trial, count, seed=1).predict(trial.x)
    np.testing.assert_allclose(predicted.mean[0], forest.predict(columns))
    spread = np.std([tree.predict(columns) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(predicted.sd[0], spread, atol=0.01)
