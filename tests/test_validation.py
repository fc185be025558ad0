"""Leaving one task out, against the same done by hand."""

import math

import gpytorch
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import special, stats

import headstart as hs
from headstart.errors import DataError, ProblemError
from headstart.models.alone import task_alone
from headstart.models.mixture import measurements
from headstart.validation import COLUMNS, verdict_of

PROBLEM = hs.Problem(inputs={"x": (0, 10)}, general=["machine"], objective="loss", goal="minimize")


def family(tasks: int = 4, rows: int = 7, *, last: float = 1.0, more: int = 3) -> pd.DataFrame:
    """Waves that differ a little, in a large unit; the last one, which has more rows, is turned over by -1."""
    random = np.random.default_rng(0)
    frames = []
    for task in range(tasks):
        sign, count = (last, rows + more) if task == tasks - 1 else (1.0, rows)
        x = random.uniform(0, 10, count).round(3)
        y = sign * (np.sin(0.8 * x + 0.1 * task) + 0.1 * task) + 0.02 * random.standard_normal(count)
        frames.append(pd.DataFrame({"machine": f"m{task}", "x": x, "loss": 100 * y}))
    return pd.concat(frames, ignore_index=True).sample(frac=1.0, random_state=1)


def fitted(frame: pd.DataFrame, problem: hs.Problem = PROBLEM, **settings) -> hs.Surrogate:
    return hs.fit(frame, problem, **({"kernel": "rbf", "inference": "lbfgs"} | settings))


@pytest.fixture(scope="module")
def alike() -> hs.Surrogate:
    return fitted(family())


@pytest.fixture(scope="module")
def helped(alike) -> pd.DataFrame:
    return alike.validate(tasks=2, repeats=2)


def by_hand(surrogate: hs.Surrogate, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Log densities in the user's units, and which outcomes lie inside their intervals."""
    x = torch.tensor(rows["x"].to_numpy() / 10)
    known = surrogate.levels["machine"]  # the first model does not know the task
    name = rows["machine"].iloc[0]
    code = torch.full_like(x, known.index(name) if name in known else len(known))
    with torch.no_grad():
        posterior = surrogate.model.posterior(torch.stack([x, code], -1).unsqueeze(-2), observation_noise=True)
    mean, sd = (part.reshape(len(rows), -1).numpy() for part in (posterior.mean, posterior.variance.sqrt()))
    y = rows["loss"].to_numpy()[:, None]
    each = stats.norm.logpdf(y, surrogate.outcomes.outside(mean), surrogate.outcomes.scale * sd)
    predicted = surrogate.predict(rows, interval=0.8)
    inside = (predicted["lower"] <= rows["loss"]) & (rows["loss"] <= predicted["upper"])
    return special.logsumexp(each, axis=1) - math.log(each.shape[1]), inside.to_numpy()


# The frame


def test_one_row_a_task_and_number_of_shots(helped):
    assert helped.columns.tolist() == ["machine", *COLUMNS]
    # The largest task, and of the equal others the one that appears first; both in the order in which they appear.
    frame = family()
    others = [name for name in frame["machine"] if name != "m3"]
    expected = [name for name in frame["machine"].unique() if name in ("m3", others[0])]
    assert helped["machine"].tolist() == np.repeat(expected, 3).tolist()
    assert helped["shots"].tolist() == [0, 1, 3] * 2
    sizes = frame.groupby("machine").size()
    assert (helped["rows"] == helped["machine"].map(sizes) - helped["shots"]).all()
    assert helped.attrs == {"interval": 0.8, "repeats": 2, "seed": 0, "archive_tasks": 4}
    assert np.isfinite(helped.drop(columns=["machine", "verdict"]).to_numpy(dtype=float)).all()
    np.testing.assert_allclose(helped["gain"], helped["log_density"] - helped["alone_log_density"], rtol=1e-9)


def test_legacy_data_of_like_tasks_help(helped):
    assert set(helped["verdict"]) == {"helps"}
    assert (helped["rmse"] < 0.6 * helped["alone_rmse"]).all()


def test_legacy_data_of_unlike_tasks_hurt():
    found = fitted(family(last=-1.0, more=9)).validate(tasks=1, shots=[0, 1], repeats=2)
    assert found["machine"].tolist() == ["m3", "m3"]
    assert found["verdict"].tolist() == ["hurts", "hurts"]
    assert (found["gain"] < -0.5).all()
    assert (found["rmse"] > found["alone_rmse"]).all()


def test_the_same_seed_gives_the_same_frame_and_another_learns_other_rows(alike):
    first, again, other = (alike.validate(tasks=1, shots=[1], repeats=1, seed=seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert first["alone_rmse"].item() != other["alone_rmse"].item()


# The numbers


def test_scores_are_those_of_surrogates_fitted_by_hand(alike, helped):
    found = helped[helped["machine"] == "m3"].set_index("shots")
    frame = family().reset_index(drop=True)
    own, others = frame[frame["machine"] == "m3"].reset_index(drop=True), frame[frame["machine"] != "m3"]
    first = fitted(others, alike.problem)
    density, inside = by_hand(first, own)
    assert found.at[0, "log_density"] == pytest.approx(density.mean(), rel=1e-3)
    assert found.at[0, "coverage"] == pytest.approx(inside.mean())
    error = first.predict(own)["mean"] - own["loss"]
    assert found.at[0, "rmse"] == pytest.approx(math.sqrt((error**2).mean()), rel=1e-3)
    assert found.at[0, "gain_error"] == pytest.approx(
        np.std(density - stats.norm.logpdf(own["loss"], others["loss"].mean(), others["loss"].std(ddof=0)), ddof=1)
        / math.sqrt(len(own)),
        rel=1e-2,
    )

    random = np.random.default_rng((0, frame["machine"].unique().tolist().index("m3")))
    collected = {1: [], 3: []}
    for order in [random.permutation(len(own)) for _ in range(2)]:
        surrogate = first.observe(own.iloc[order[:1]])
        collected[1].append(by_hand(surrogate, own.iloc[order[1:]]))
        surrogate = surrogate.observe(own.iloc[order[1:3]])
        collected[3].append(by_hand(surrogate, own.iloc[order[3:]]))
    for shots, repeats in collected.items():
        assert found.at[shots, "log_density"] == pytest.approx(np.mean([each[0] for each in repeats]), abs=0.02)
        assert found.at[shots, "coverage"] == pytest.approx(np.mean([each[1] for each in repeats]), abs=0.08)


def test_without_a_row_the_opponent_is_the_mean_and_spread_of_the_others(helped):
    frame = family()
    for name, row in helped[helped["shots"] == 0].set_index("machine").iterrows():
        own, others = (frame.loc[mask, "loss"] for mask in (frame["machine"] == name, frame["machine"] != name))
        mean, sd = others.mean(), others.std(ddof=0)
        assert row["alone_rmse"] == pytest.approx(math.sqrt(((own - mean) ** 2).mean()))
        assert row["alone_log_density"] == pytest.approx(stats.norm.logpdf(own, mean, sd).mean())
        assert row["alone_coverage"] == pytest.approx((abs(own - mean) < stats.norm.ppf(0.9) * sd).mean())


@pytest.mark.parametrize("count", [1, 3])
def test_the_task_alone_is_a_gp_in_the_units_of_the_others(alike, count):
    legacy = alike.model
    X = torch.tensor([[0.1, 9.0], [0.4, 9.0], [0.7, 9.0]], dtype=torch.float64)[:count]
    Y = torch.tensor([[2.0], [-1.0], [0.5]], dtype=torch.float64)[:count]
    model = task_alone(legacy, X, Y, seed=3)
    at = torch.tensor([[0.25, 9.0], [0.95, 9.0]], dtype=torch.float64)
    predicted = measurements(model, at)

    drawn = {name: value.numpy() for name, value in model.hyperparameters().items()}
    assert len(drawn["mean"]) == model.posterior_draws > 32
    centre, scale = float(legacy.train_Y.mean()), float(legacy.train_Y.std(correction=0))
    x, y, new = X[:, 0].numpy(), (Y[:, 0].numpy() - centre) / scale, at[:, 0].numpy()
    for s in range(0, model.posterior_draws, 7):

        def k(a, b, s=s):
            distance = (a[:, None] - b) / np.exp(drawn["kernel.log_lengthscale"][s, 0])
            return np.exp(drawn["kernel.log_outputscale"][s] - 0.5 * distance**2)

        noise, mu = np.exp(drawn["log_noise"][s]), drawn["mean"][s]
        weights = np.linalg.solve(k(x, x) + noise * np.eye(count), k(x, new)).T
        variance = np.diag(k(new, new) - weights @ k(x, new)) + noise
        np.testing.assert_allclose(predicted.mean[s], centre + scale * (mu + weights @ (y - mu)), rtol=1e-5)
        np.testing.assert_allclose(predicted.sd[s], scale * np.sqrt(variance), rtol=1e-4)


# Verdicts


def test_a_verdict_needs_a_difference_that_is_clear_and_large_enough():
    sure = np.random.default_rng(0).normal(0.0, 0.01, (2, 3, 10))
    assert verdict_of(sure + 0.5) == "helps"
    assert verdict_of(sure - 0.5) == "hurts"
    assert verdict_of(sure + 0.05) == "no clear difference"  # clear, and worth nothing
    assert verdict_of(100 * sure + 0.2) == "no clear difference"
    sure[:, :, 0] = np.nan  # a row that was always learned
    sure[:, 0, 1] = np.nan
    assert verdict_of(sure + 0.5) == "helps"
    assert verdict_of(np.full((1, 3, 1), 5.0)) == "no clear difference"  # one row proves nothing


def test_verdicts_without_a_difference_are_rare():
    random = np.random.default_rng(0)
    alarms = 0
    for _ in range(400):
        rows, repeats, rest = (random.normal(0, sd, shape) for sd, shape in ((3, 12), (1, (3, 1)), (2, (2, 3, 12))))
        alarms += verdict_of(rows + repeats + rest) != "no clear difference"
    assert alarms / 400 < 0.06


# What there may be


def test_tasks_with_too_few_rows_are_judged_as_far_as_they_go():
    frame = pd.concat(
        [
            family(tasks=2, rows=4),
            pd.DataFrame({"machine": "pair", "x": [1.0, 5.0], "loss": [70.0, -80.0]}),
            pd.DataFrame({"machine": "single", "x": [2.0], "loss": [90.0]}),
        ]
    )
    found = fitted(frame).validate(repeats=1)
    counts = found.groupby("machine")["shots"].agg(list)
    assert counts["pair"] == [0, 1]
    assert counts["single"] == [0]
    assert counts["m1"] == [0, 1, 3]
    single = found[found["machine"] == "single"].iloc[0]
    assert (single["rows"], single["verdict"]) == (1, "no clear difference")
    assert math.isnan(single["gain_error"])
    none = fitted(frame[frame["machine"].isin(["pair", "single"])]).validate(shots=[2])
    assert none.empty
    assert none.columns.tolist() == ["machine", *COLUMNS]


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "egp"},
        {"kernel": gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=2)), "latent_dim": 1},
        {"kernel": "matern52+tasks", "inference": "hmc"},
    ],
    ids=["point", "gpytorch", "sampled"],
)
def test_refits_have_the_settings_of_the_surrogate(settings, monkeypatch):
    surrogate = fitted(family(tasks=3, rows=3), **settings)
    made = []
    kind = type(surrogate.model)
    fit = kind.fit
    monkeypatch.setattr(kind, "fit", lambda model, **options: made.append((model, options)) or fit(model, **options))
    found = surrogate.validate(tasks=1, shots=[0, 1], repeats=1)
    assert np.isfinite(found[["log_density", "alone_log_density"]].to_numpy()).all()
    model, options = made[0]
    assert type(model) is kind
    assert model.structure.kernel is surrogate.model.structure.kernel
    assert model.structure.latent_dims == surrogate.model.structure.latent_dims
    assert model.variational_draws == surrogate.model.variational_draws
    assert type(options["inference"]).__name__ == ("HMC" if settings.get("inference") == "hmc" else "LBFGS")


def test_a_task_is_a_combination_of_general_inputs():
    frame = family(tasks=2, rows=6).assign(lab=["north", "south"] * 7 + ["north"])
    problem = hs.Problem(inputs={"x": (0, 10)}, general=["machine", "lab"], objective="loss")
    found = fitted(frame, problem).validate(shots=[0, 1], repeats=1)
    assert len(found[["machine", "lab"]].drop_duplicates()) == 4
    assert len(found) == 8


def test_progress_is_told_and_may_cancel(alike):
    told = []
    alike.validate(tasks=1, shots=[0], progress=lambda *report: told.append(report))
    assert told == [(0, 1, "machine = m3"), (1, 1, "done")]

    def cancel(done, total, text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alike.validate(progress=cancel)


def test_what_cannot_be_validated_is_refused_with_the_fix(alike):
    one = family(tasks=1, rows=4)
    with pytest.raises(DataError, match=r"one task only in 'machine'.*Add experiments of another task"):
        fitted(one).validate()
    with pytest.raises(ProblemError, match="shots"):
        alike.validate(shots=())
    with pytest.raises(ProblemError, match="shots=-1"):
        alike.validate(shots=[-1])
    with pytest.raises(ProblemError, match="tasks=0"):
        alike.validate(tasks=0)
    with pytest.raises(ProblemError, match="repeats=0"):
        alike.validate(repeats=0)
    problem = hs.Problem(inputs={"x": (0, 10)}, general=["rows"], objective="loss")
    with pytest.raises(ProblemError, match="name of a score"):
        fitted(family(tasks=2, rows=2).rename(columns={"machine": "rows"}), problem).validate()
