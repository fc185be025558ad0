"""Experiments: scores against brute force, predictions against a GP by hand, and the laws of every optimization."""

from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import headstart
from headstart.benchmark.contenders import (
    BayesianGP,
    Contender,
    Counted,
    EmbeddingGP,
    Headstart,
    LoneGP,
    RandomChoice,
    SampledEmbeddingGP,
    current_rows,
    general_columns,
    legacy_rows,
    unit_cube,
)
from headstart.benchmark.experiments import Optimization, Regression
from headstart.benchmark.experiments.optimization import choose, history, measure
from headstart.benchmark.experiments.regression import GAUSSIAN_SCORES, SCORES, all_scores, predict, scores_of
from headstart.benchmark.systems import TableSystem, Trial, get_system
from headstart.errors import ProblemError
from headstart.models import BEGP, EGP, HMC
from headstart.models.mixture import Mixture
from headstart.tasks import Problem

SIZES = {"a": 4, "b": 7, "c": 6, "d": 6}

QUICK_BGP = BayesianGP(draws=8, warmup=16)
POINT = EmbeddingGP(label="EGP", embedding="point", latent_dim=2)
MODELS: list[Contender] = [EmbeddingGP(latent_dim=2), POINT, QUICK_BGP, LoneGP()]
each_model = pytest.mark.parametrize("contender", MODELS, ids=lambda contender: contender.label)
everyone = pytest.mark.parametrize("contender", [*MODELS, RandomChoice()], ids=lambda contender: contender.label)


def table(goal: str = "maximize") -> TableSystem:
    """Four related tasks of two inputs, each row with an outcome of its own; `minimize` is the same upside down."""
    random = np.random.default_rng(0)
    rows = []
    for shift, (task, size) in enumerate(SIZES.items()):
        x = random.random((size, 2))
        y = np.sin(5 * x[:, 0] + 0.4 * shift) - (x[:, 1] - 0.2 * shift) ** 2
        rows.append(pd.DataFrame({"task": task, "u": x[:, 0], "v": x[:, 1], "y": y if goal == "maximize" else -y}))
    return TableSystem("small", pd.concat(rows), Problem(inputs=["u", "v"], general="task", objective="y", goal=goal))


def trial_of(task: str, seed: int = 0, goal: str = "maximize") -> Trial:
    return table(goal).trial(task, seed)


def toy(seed: int = 0) -> Trial:
    return get_system("toy-fresh").trial("current", seed)


def without_seconds(frames: list[pd.DataFrame]) -> list[pd.DataFrame]:
    return [frame.drop(columns="seconds") for frame in frames]


# Scores


def test_scores_are_those_computed_one_by_one() -> None:
    random = np.random.default_rng(1)
    y, mean, sd = random.normal(size=201), random.normal(size=201), np.exp(random.normal(size=201))
    surprise, inside = [], 0
    for each, centre, width in zip(y, mean, sd, strict=True):
        belief = NormalDist(centre, width)
        surprise.append(-np.log(belief.pdf(each)))
        inside += belief.inv_cdf(0.1) <= each <= belief.inv_cdf(0.9)
    scores = scores_of(y, mean, sd)
    assert scores["rmse"] == pytest.approx(sum((a - b) ** 2 for a, b in zip(y, mean, strict=True)) ** 0.5 / 201**0.5)
    assert scores["mae"] == pytest.approx(sum(abs(a - b) for a, b in zip(y, mean, strict=True)) / 201)
    assert scores["nlpd"] == pytest.approx(sum(surprise) / 201)
    assert scores["median_nlpd"] == pytest.approx(sorted(surprise)[100])
    assert scores["coverage"] == pytest.approx(inside / 201)
    assert 0 < inside < 201
    assert tuple(scores) == GAUSSIAN_SCORES


def test_a_calibrated_prediction_covers_eighty_percent_and_costs_the_entropy() -> None:
    y = stats.norm.rvs(3.0, 2.0, size=20_000, random_state=0)
    scores = scores_of(y, np.full_like(y, 3.0), np.full_like(y, 2.0))
    assert scores["coverage"] == pytest.approx(0.8, abs=0.01)
    assert scores["nlpd"] == pytest.approx(stats.norm(3.0, 2.0).entropy(), abs=0.02)
    assert scores["rmse"] == pytest.approx(2.0, rel=0.02)


def mixture(points: int) -> Mixture:
    random = np.random.default_rng(2)
    return Mixture(random.normal(size=(3, points)), np.exp(random.normal(size=(3, points)) - 1))


def test_scores_of_a_mixture_are_those_computed_one_by_one() -> None:
    predicted, y = mixture(40), np.random.default_rng(3).normal(size=40)
    surprise, inside, distance = [], {50: 0, 80: 0, 95: 0}, []
    for t, each in enumerate(y):
        parts = [NormalDist(m, s) for m, s in zip(predicted.mean[:, t], predicted.sd[:, t], strict=True)]
        surprise.append(-np.log(np.mean([part.pdf(each) for part in parts])))
        for percent in inside:
            low, high = (
                optimize.brentq(lambda v, p=p, parts=parts: np.mean([part.cdf(v) for part in parts]) - p, -40, 40)
                for p in (0.5 - percent / 200, 0.5 + percent / 200)
            )
            inside[percent] += low <= each <= high
        # Both sides of the outcome, by the trapezoidal rule.
        v = np.concatenate([np.linspace(-15, each, 3001), np.linspace(each, 15, 3001)])
        below = np.mean([stats.norm.cdf(v, part.mean, part.stdev) for part in parts], axis=0)
        distance.append(np.trapezoid((below - (np.arange(6002) > 3000)) ** 2, v))
    scores = all_scores(y, predicted)
    assert tuple(scores) == SCORES
    assert scores["mixture_nlpd"] == pytest.approx(np.mean(surprise))
    assert scores["crps"] == pytest.approx(np.mean(distance), rel=1e-4)
    for percent, count in inside.items():
        assert scores[f"covered_{percent}"] == pytest.approx(count / 40)
    assert 0 < inside[50] < inside[80] < inside[95] < 40
    assert {name: scores[name] for name in GAUSSIAN_SCORES} == scores_of(y, *predicted.moments)


def test_of_one_normal_the_mixtures_scores_are_the_gaussians() -> None:
    random = np.random.default_rng(4)
    y, mean, sd = random.normal(size=300), random.normal(size=300), np.exp(random.normal(size=300))
    scores = all_scores(y, Mixture(mean[None], sd[None]))
    assert scores["mixture_nlpd"] == pytest.approx(scores["nlpd"])
    assert scores["covered_80"] == scores["coverage"]


def test_outcomes_of_the_mixture_are_covered_as_often_as_it_says() -> None:
    predicted, random = mixture(20_000), np.random.default_rng(5)
    which = random.integers(3, size=20_000), np.arange(20_000)
    y = predicted.mean[which] + predicted.sd[which] * random.standard_normal(20_000)
    scores = all_scores(y, predicted)
    for percent in (50, 80, 95):
        assert scores[f"covered_{percent}"] == pytest.approx(percent / 100, abs=0.01)
    # No normal costs less than the truth.
    assert scores["mixture_nlpd"] < scores["nlpd"]


# Regression


@each_model
@pytest.mark.parametrize("of", ["function", "table"])
def test_every_model_predicts_what_it_can(contender: Contender, of: str) -> None:
    trial = toy() if of == "function" else trial_of("b")
    [frame] = Regression((0, 2)).run([trial], contender, [0])
    assert frame.columns.tolist() == ["rows", *SCORES, "seconds"]
    assert frame["rows"].tolist() == [0, 2]
    assert (frame["seconds"] >= 0).all()
    if isinstance(contender, LoneGP):  # without a row it knows nothing
        assert frame.loc[0, [*SCORES]].isna().all()
        frame = frame[1:]
    assert np.isfinite(frame[[*SCORES]]).all(axis=None)
    assert (frame["mae"] <= frame["rmse"] + 1e-12).all()
    assert frame["coverage"].between(0, 1).all()


@pytest.mark.slow
def test_adam_as_in_the_paper_learns_too() -> None:
    adam = EmbeddingGP(label="Adam", draws=1, latent_dim=1)
    [frame] = Regression((0, 3)).run([toy()], adam, [0])
    assert np.isfinite(frame[[*SCORES]].to_numpy()).all()
    assert frame["rmse"][1] < frame["rmse"][0]


def test_a_sampled_model_is_sampled_again_with_every_row() -> None:
    contender = SampledEmbeddingGP(latent_dim=1, iterations=3, leapfrogs=2)
    trial = toy()
    [before] = contender.begin([trial], [0], device="cpu")
    rows = trial.order_x[:2], trial.order_y[:2]
    [after] = contender.learn([before], [trial], [0], [rows], 2)
    for belief, count in ((before, 25), (after, 27)):
        assert isinstance(belief, BEGP)
        assert belief.sampler == HMC(iterations=3, leapfrogs=2)
        assert len(belief.train_X) == count
        assert belief.structure.kernel.name == "rbf+residual"
    with pytest.raises(ProblemError, match="leave draws out"):
        SampledEmbeddingGP(draws=1)


def test_random_choice_predicts_nothing() -> None:
    [frame] = Regression((0, 2)).run([toy()], RandomChoice(), [0])
    assert frame["rows"].tolist() == [0, 2]
    assert frame[[*SCORES]].isna().all(axis=None)


def test_predictions_of_a_model_are_the_mixture_of_its_draws() -> None:
    trial = toy()
    [model] = EmbeddingGP(latent_dim=2).begin([trial], [0], device="cpu")
    assert isinstance(model, BEGP)
    points = trial.x[::40]
    predicted = predict(model, trial, points)
    X, _ = current_rows(trial, (points, np.zeros(len(points))))
    posterior = model.posterior(X, observation_noise=True)
    assert predicted.mean.shape == (posterior.mean.shape[-3], len(points))
    assert len(predicted.mean) > 1
    mean, sd = predicted.moments
    # The model maximises what is to be minimised.
    np.testing.assert_allclose(mean, -posterior.mixture_mean.detach().flatten(), rtol=1e-6)
    np.testing.assert_allclose(sd**2, posterior.mixture_variance.detach().flatten(), rtol=1e-5)


@pytest.mark.parametrize("contender", [POINT, LoneGP()], ids=["EGP", "GP"])
def test_rows_teach(contender: Contender) -> None:
    """Ten rows of a smooth function leave a small part of its range to err by."""
    trial = toy(1)
    [frame] = Regression((1, 10)).run([trial], contender, [0])
    assert frame["rmse"][1] < min(0.1 * trial.spread, frame["rmse"][0])


def gp_by_hand(model: EGP, x: np.ndarray, y: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of noisy outcomes, with the model's hyperparameters and NumPy alone."""
    h = {name: value.numpy() for name, value in model.hyperparameters().items()}
    lengths, variance = np.exp(h["kernel.log_lengthscale"]), np.exp(h["kernel.log_outputscale"])

    def k(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        r2 = (((left[:, None] - right[None]) / lengths) ** 2).sum(-1)
        return variance * np.exp(-r2 / 2)

    centre, scale = y.mean(), y.std()
    noise = np.exp(h["log_noise"])
    K, cross = k(x, x) + noise * np.eye(len(x)), k(points, x)
    mean = h["mean"] + cross @ np.linalg.solve(K, (y - centre) / scale - h["mean"])
    spread = variance + noise - (cross * np.linalg.solve(K, cross.T).T).sum(-1)
    return mean * scale + centre, np.sqrt(spread) * scale


@pytest.mark.parametrize("trial", [toy(2), trial_of("b"), trial_of("b", goal="minimize")], ids=["toy", "up", "down"])
def test_the_lone_gp_is_a_gp_of_the_current_rows(trial: Trial) -> None:
    count = 5
    x, y = trial.order_x[:count], trial.order_y[:count]
    [model] = LoneGP().learn([None], [trial], [4], [(x, y)], count)
    assert isinstance(model, EGP)
    points, outcomes = trial.judged(count)
    mean, sd = predict(model, trial, points).moments
    # The model maximises: its units are those of -y where small outcomes are good, which changes no prediction.
    by_hand, sd_by_hand = gp_by_hand(model, x, trial.sign * y, points)
    np.testing.assert_allclose(mean, trial.sign * by_hand, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(sd, sd_by_hand, rtol=1e-4, atol=1e-8)
    # The experiment's frame scores the same predictions.
    [frame] = Regression((2, count)).run([trial], LoneGP(), [4])
    expected = all_scores(outcomes, Mixture(trial.sign * by_hand[None], sd_by_hand[None]))
    for score in SCORES:
        assert frame[score][1] == pytest.approx(expected[score], rel=1e-3), score


@pytest.mark.parametrize("contender", [POINT, LoneGP()], ids=["EGP", "GP"])
def test_a_table_upside_down_is_predicted_as_well(contender: Contender) -> None:
    up, down = (Regression((2, 4)).run([trial_of("c", goal=g)], contender, [0])[0] for g in ("maximize", "minimize"))
    np.testing.assert_allclose(up[[*SCORES]], down[[*SCORES]], rtol=1e-9)


@dataclass(frozen=True, kw_only=True)
class Watched(EmbeddingGP):
    """An EGP that keeps the numbers of current rows of its models, and of trials in a batch."""

    label: str = "watched"
    embedding: str = "point"
    latent_dim: int = 1
    seen: list[list[int]] = field(default_factory=list, compare=False)

    def learn(self, beliefs, trials, seeds, rows, new):
        learned = super().learn(beliefs, trials, seeds, rows, new)
        for model, trial, (x, _) in zip(learned, trials, rows, strict=True):
            # In the model are the legacy rows and each current row once.
            assert len(model.train_Y) == len(trial.legacy_y) + len(x)
            told, _ = current_rows(trial, (x, np.zeros(len(x))))
            assert np.array_equal(model.train_X[len(trial.legacy_y) :].numpy(), told.numpy())
        self.seen.append([len(x) for x, _ in rows])
        return learned


def test_a_task_that_has_no_more_rows_is_left_out() -> None:
    contender = Watched()
    frames = Regression((0, 2, 5, 10)).run([trial_of("a"), trial_of("b")], contender, [0, 0])
    assert [frame["rows"].tolist() for frame in frames] == [[0, 2, 5, 10]] * 2
    assert frames[0]["rmse"].notna().tolist() == [True, True, False, False]  # 4 rows
    assert frames[1]["rmse"].notna().tolist() == [True, True, True, False]  # 7 rows
    assert contender.seen == [[2, 2], [5]]


def test_a_task_with_nothing_left_to_judge_is_left_out() -> None:
    [frame] = Regression((3, 4)).run([trial_of("a")], LoneGP(), [0])
    assert frame["rmse"].notna().tolist() == [True, False]


def test_a_function_is_not_learned_beyond_its_rows() -> None:
    contender = Watched()
    [frame] = Regression((9, 10, 12)).run([toy()], contender, [0])
    assert frame["rmse"].notna().tolist() == [True, True, False]
    assert contender.seen == [[9], [10]]


@pytest.mark.parametrize("counts", [(), (2, 1), (1, 1), (-1, 2)])
def test_counts_must_rise(counts: tuple[int, ...]) -> None:
    with pytest.raises(ProblemError, match="counts="):
        Regression(counts)


# Optimization


@everyone
@pytest.mark.parametrize("of", ["function", "table"])
def test_the_laws_of_regret(contender: Contender, of: str) -> None:
    trial = toy(1) if of == "function" else trial_of("b")
    told: list[float] = []
    [frame] = Optimization(3).run([trial], contender, [1], progress=told.append)
    assert frame["evaluation"].tolist() == [1, 2, 3]
    better = frame["outcome"].cummax() if trial.sign > 0 else frame["outcome"].cummin()
    assert frame["best"].tolist() == better.tolist()
    np.testing.assert_allclose(frame["regret"], abs(trial.optimum - better), atol=1e-12)
    assert frame["regret"].is_monotonic_decreasing
    assert (trial.sign * (trial.optimum - frame["outcome"]) > -1e-9).all()
    np.testing.assert_allclose(frame["normalised_regret"] * trial.spread, frame["regret"], atol=1e-12)
    assert frame["normalised_regret"].max() <= 1 + 1e-9
    if trial.function is None:
        assert set(frame["outcome"]) <= set(trial.y)
    else:
        assert frame["outcome"].nunique() == 3
    assert told == [1 / 3, 2 / 3, 1.0]


@everyone
def test_a_finite_set_is_used_up_without_repeats(contender: Contender) -> None:
    """A ragged batch: one trial ends after 4 evaluations, the other after 7."""
    trials = [trial_of("a"), trial_of("b")]
    frames = Optimization(9).run(trials, contender, [0, 1])
    for frame, trial in zip(frames, trials, strict=True):
        assert sorted(frame["outcome"]) == sorted(trial.y)
        assert frame["regret"].iloc[-1] == 0
        assert frame["evaluation"].tolist() == [*range(1, len(trial.y) + 1)]


@everyone
def test_a_batch_gives_what_its_trials_give_one_by_one(contender: Contender) -> None:
    trials, seeds = [trial_of(task, seed) for seed, task in enumerate("abc")], [3, 0, 2]
    # Warm fits stop early, so after a few of them rounding decides between rows of about equal promise.
    experiment = Optimization(2 if isinstance(contender, EmbeddingGP) else 4)
    together = without_seconds(experiment.run(trials, contender, seeds))
    for frame, trial, seed in zip(together, trials, seeds, strict=True):
        [alone] = without_seconds(experiment.run([trial], contender, [seed]))
        pd.testing.assert_frame_equal(frame, alone)


@pytest.mark.parametrize("contender", [POINT, LoneGP()], ids=["EGP", "GP"])
def test_a_batch_of_regressions_gives_what_its_trials_give_one_by_one(contender: Contender) -> None:
    trials, seeds = [toy(seed) for seed in range(2)], [5, 6]
    together = Regression((1,)).run(trials, contender, seeds)
    for frame, trial, seed in zip(together, trials, seeds, strict=True):
        [alone] = Regression((1,)).run([trial], contender, [seed])
        np.testing.assert_allclose(frame[["rmse", "mae"]], alone[["rmse", "mae"]], rtol=0.02)


@pytest.mark.parametrize(
    ("contender", "trial"),
    [(POINT, trial_of("b")), (LoneGP(), toy()), (LoneGP(), trial_of("b")), (RandomChoice(), toy())],
    ids=["EGP, table", "GP, function", "GP, table", "random, function"],
)
def test_a_seed_repeats_itself(contender: Contender, trial: Trial) -> None:
    def run(seed: int) -> pd.DataFrame:
        return Optimization(3).run([trial], contender, [seed])[0].drop(columns="seconds")

    first = run(5)
    pd.testing.assert_frame_equal(first, run(5))
    if not isinstance(contender, EmbeddingGP):  # whose first choice is a belief, the same for most seeds
        assert first["outcome"].tolist() != run(6)["outcome"].tolist()


@pytest.mark.parametrize("contender", [POINT, LoneGP(), RandomChoice()], ids=lambda contender: contender.label)
def test_the_smallest_of_a_table_is_sought_like_the_largest_of_its_negative(contender: Contender) -> None:
    up, down = (Optimization(3).run([trial_of("d", goal=g)], contender, [0])[0] for g in ("maximize", "minimize"))
    assert up["outcome"].tolist() == (-down["outcome"]).tolist()
    assert up["regret"].tolist() == down["regret"].tolist()


def test_legacy_rows_tell_where_to_look_first() -> None:
    """Of 25 rows that repeat a legacy task but for a constant, the best one is found at once."""
    trial = trial_of("c")
    x = np.random.default_rng(3).random((25, 2))
    y = np.sin(5 * x[:, 0]) - (x[:, 1] - 0.3) ** 2
    twins = replace(
        trial,
        legacy_x=np.concatenate([x, x]),
        legacy_task=np.repeat([0, 1], 25),
        legacy_y=np.concatenate([y, y + 0.2]),
        x=x,
        y=y - 0.1,
        optimum=float(y.max() - 0.1),
        spread=float(np.ptp(y)),
    )
    [frame] = Optimization(1).run([twins], POINT, [0])
    assert frame["regret"].tolist() == [0.0]


def test_a_used_up_task_does_not_stop_the_others_from_learning() -> None:
    contender = Watched()
    Optimization(5).run([trial_of("a"), trial_of("b")], contender, [0, 0])
    assert contender.seen == [[1, 1], [2, 2], [3, 3], [4]]


@pytest.mark.parametrize("evaluations", [0, -1])
def test_an_optimization_evaluates_something(evaluations: int) -> None:
    with pytest.raises(ProblemError, match="evaluations="):
        Optimization(evaluations)


def test_history_counts_from_the_first_evaluation() -> None:
    trial = trial_of("a", goal="minimize")
    y = np.array([0.5, 0.7, 0.1, 0.2])
    frame = history(replace(trial, optimum=-1.0, spread=2.0), y, [0.1] * 4)
    assert frame["best"].tolist() == [0.5, 0.5, 0.1, 0.1]
    np.testing.assert_allclose(frame["regret"], [1.5, 1.5, 1.1, 1.1])
    np.testing.assert_allclose(frame["normalised_regret"], [0.75, 0.75, 0.55, 0.55])


def test_regret_has_no_unit_where_all_outcomes_are_the_same() -> None:
    frame = history(replace(trial_of("a"), optimum=0.0, spread=0.0), np.zeros(3), [0.1] * 3)
    assert frame["regret"].tolist() == [0.0] * 3
    assert frame["normalised_regret"].isna().all()


# Noise


def noisy(seed: int = 0) -> Trial:
    return get_system("noisy").trial("current", seed)


def test_measurements_scatter_and_a_seed_repeats_them() -> None:
    trial, truth = noisy(), np.full(4000, 2.0)
    first = measure(trial, truth, seed=1)
    assert np.array_equal(first, measure(trial, truth, seed=1))
    assert not np.array_equal(first, measure(trial, truth, seed=2))
    assert first.mean() == pytest.approx(2, abs=0.02)
    assert first.std() == pytest.approx(0.3, rel=0.05)
    assert np.array_equal(measure(toy(), truth, seed=1), truth)


@dataclass(frozen=True, kw_only=True)
class Listener(RandomChoice):
    """Chooses at random and keeps the rows it was told."""

    label: str = "listener"
    told: list = field(default_factory=list, compare=False)

    def learn(self, beliefs, trials, seeds, rows, new):
        self.told[:] = rows
        return beliefs


def test_methods_are_told_measurements_and_regret_counts_the_truth() -> None:
    trial, contender = noisy(), Listener()
    [frame] = Optimization(8).run([trial], contender, [3])
    [(x, y)] = contender.told  # before the last evaluation
    assert trial.function is not None
    np.testing.assert_allclose(frame["outcome"][:7], trial.function(x), atol=1e-12)
    errors = y - frame["outcome"][:7]
    assert (errors != 0).all()
    assert len(set(errors.round(9))) == 7
    assert 0.1 < errors.std() < 0.6
    np.testing.assert_allclose(frame["regret"], frame["outcome"].cummin() - trial.optimum, atol=1e-12)
    assert (frame["regret"] >= -1e-9).all()


def test_predictions_are_judged_by_noisy_measurements() -> None:
    trial = noisy()
    assert trial.judged_y is not None
    [frame] = Regression((10,)).run([trial], LoneGP(), [0])
    [model] = LoneGP().learn([None], [trial], [0], [(trial.order_x, trial.order_y)], 10)
    assert model is not None
    expected = all_scores(trial.judged_y, predict(model, trial, trial.x))
    for score in SCORES:
        assert frame[score][0] == pytest.approx(expected[score], rel=1e-6), score


# Several general inputs


def several() -> Trial:
    """Five combinations of two machines and three materials; that of b and 2 is held out."""
    random, rows = np.random.default_rng(1), []
    for machine, material in [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]:
        x = random.random(6)
        y = np.sin(4 * x) + 0.4 * material + (1.5 * x if machine == "b" else 0)
        rows.append(pd.DataFrame({"machine": machine, "material": material, "x": x, "y": y}))
    problem = Problem(inputs=["x"], general=["machine", "material"], objective="y")
    return TableSystem("several", pd.concat(rows), problem).trial("b + 2", seed=0)


def test_rows_have_the_codes_of_all_general_inputs() -> None:
    trial = several()
    X, Y = legacy_rows(trial)
    assert np.array_equal(X.numpy(), np.column_stack([trial.legacy_x, trial.legacy_codes]))
    assert np.array_equal(Y[:, 0].numpy(), trial.legacy_y)
    assert current_rows(trial, (trial.x, trial.y))[0][:, 1:].tolist() == [[1, 1]] * 6
    assert general_columns(trial) == {1: 2, 2: 3}
    assert unit_cube(trial).tolist() == [[0.0] * 3, [1.0] * 3]
    assert general_columns(trial.combined()) == {1: 5}
    assert unit_cube(trial.combined()).tolist() == [[0.0] * 2, [1.0] * 2]


@pytest.mark.parametrize(("is_separate", "levels"), [(True, (2, 3)), (False, (5,))])
def test_headstart_embeds_general_inputs_separately_or_as_one(is_separate: bool, levels: tuple[int, ...]) -> None:
    contender = Headstart(latent_dim=1, is_separate=is_separate)
    trial = contender.sees(several())
    [belief] = contender.begin([trial], [0], device="cpu")
    assert isinstance(belief, Counted)
    model = belief.model
    assert isinstance(model, BEGP)
    assert tuple(general_columns(trial).values()) == levels
    assert model.train_X.shape == (24, 1 + len(levels))
    assert model.sampler == HMC()  # as `headstart.fit` does with so few rows
    [after] = contender.learn([belief], [trial], [0], [(trial.order_x[:2], trial.order_y[:2])], 2)
    assert isinstance(after, Counted)
    assert after.outcomes == belief.outcomes
    grown = after.model
    assert isinstance(grown, BEGP)
    assert grown.train_X[24:, 1:].tolist() == [[float(code) for code in trial.current_codes]] * 2
    assert grown.sampler == HMC()


@pytest.mark.parametrize("contender", [POINT, LoneGP(), RandomChoice()], ids=lambda contender: contender.label)
def test_several_general_inputs_run_in_both_experiments(contender: Contender) -> None:
    trial = several()
    [frame] = Optimization(2).run([trial], contender, [0])
    assert frame["outcome"].isin(trial.y).all()
    [frame] = Regression((2,)).run([trial], contender, [0])
    assert np.isfinite(frame[[*SCORES]]).all(axis=None) or isinstance(contender, RandomChoice)


def test_of_several_general_inputs_most_methods_make_one() -> None:
    trial = several()
    for contender in (LoneGP(), RandomChoice(), QUICK_BGP, Headstart(is_separate=False)):
        assert contender.sees(trial).current_codes == (4,)
    for contender in (POINT, Headstart()):
        assert contender.sees(trial).current_codes == (1, 1)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_headstart_is_the_default_surrogate(goal: str) -> None:
    """It predicts and chooses as `headstart.fit`, `observe` and `suggest` do with the same rows."""
    trial = several()
    sign = 1 if goal == "maximize" else -1
    skewed = {name: sign * np.exp(4 * getattr(trial, name)) for name in ("legacy_y", "order_y", "y")}
    trial = replace(trial, **skewed, sign=sign, optimum=float(sign * (sign * skewed["y"]).max()))
    frame = pd.DataFrame({"x": trial.legacy_x[:, 0], "y": trial.legacy_y})
    frame = frame.assign(machine=[f"m{g}" for g in trial.legacy_codes[:, 0]], material=trial.legacy_codes[:, 1])
    problem = Problem(inputs={"x": (0, 1)}, general=["machine", "material"], objective="y", goal=goal)
    surrogate = headstart.fit(frame, problem, seed=0)
    assert surrogate.outcomes.power != 1.0
    contender = Headstart()
    [belief] = contender.begin([trial], [0], device="cpu")
    task = dict(zip(["machine", "material"], (f"m{trial.current_codes[0]}", trial.current_codes[1]), strict=True))
    listed = pd.DataFrame({"x": trial.x[:, 0]})
    for measured in (0, 2):
        if measured:
            told = trial.order_x[:measured], trial.order_y[:measured]
            [belief] = contender.learn([belief], [trial], [0], [told], measured)
            rows = pd.DataFrame({"x": told[0][:, 0], "y": told[1]})
            surrogate = surrogate.observe(rows, task=task)
        expected = surrogate.predict(listed, task=task)
        mean, sd = predict(belief, trial, trial.x).moments
        np.testing.assert_allclose(mean, expected["mean"], rtol=1e-6)
        np.testing.assert_allclose(sd, expected["sd"], rtol=1e-6)
        x, _ = choose(belief, trial, trial.order_x[:measured], listed=contender.listed, seed=0)
        assert x.item() == surrogate.suggest(task, candidates=listed, seed=0)["x"].item()


# Random choice


def test_random_pairs_of_a_finite_set_are_equally_likely() -> None:
    trial, seeds = trial_of("a"), range(1200)
    frames = Optimization(2).run([trial] * len(seeds), RandomChoice(), seeds)
    place = {y: i for i, y in enumerate(trial.y)}
    pairs = pd.Series([tuple(place[y] for y in frame["outcome"]) for frame in frames]).value_counts()
    assert len(pairs) == 4 * 3  # all ordered pairs, none of a row with itself
    assert stats.chisquare(pairs).pvalue > 1e-3


@pytest.mark.parametrize("step", [0, 1])
def test_random_points_of_a_function_are_uniform(step: int) -> None:
    trial = toy()
    points = np.array(
        [choose(None, trial, trial.x[:0], listed="auto", seed=seed + 1000 * step)[0].item() for seed in range(1000)]
    )
    assert stats.kstest(points, "uniform").pvalue > 1e-3
    assert len(set(points)) == 1000


def test_random_points_of_a_trial_are_independent() -> None:
    trial, seeds = toy(), range(500)
    frames = Optimization(2).run([trial] * len(seeds), RandomChoice(), seeds)
    outcomes = np.array([frame["outcome"] for frame in frames])
    assert stats.spearmanr(outcomes[:, 0], outcomes[:, 1]).pvalue > 1e-3
    # Nor is a trial's second point another one's first.
    assert not set(outcomes[:, 0]) & set(outcomes[:, 1])
