"""An archive whose outcomes are mostly small and sometimes large: predictions and scores in the user's units."""

import numpy as np
import pandas as pd
import pytest
import torch

import headstart as hs

NEW = {"task": "new"}


def response(x, task):
    return np.exp(3 * np.sin(5 * x + 0.3 * task) + 0.2 * task)


def archive(sign=1) -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"task": np.repeat(np.arange(5), 8), "x": random.random(40)})
    y = sign * response(frame["x"], frame["task"])
    return frame.assign(task=[f"t{task}" for task in frame["task"]], y=y)


@pytest.fixture(scope="module", params=["maximize", "minimize"])
def surrogate(request) -> hs.Surrogate:
    sign = 1 if request.param == "maximize" else -1
    problem = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal=request.param)
    return hs.fit(archive(sign), problem, seed=0)


@pytest.fixture(scope="module")
def told(surrogate) -> hs.Surrogate:
    rows = pd.DataFrame({"x": [0.1, 0.6]})
    return surrogate.observe(rows.assign(y=surrogate.problem.sign * response(rows["x"], 5)), task=NEW)


def samples(surrogate, x, *, noise=False) -> np.ndarray:
    """Outcomes at points of the new task, drawn from the model and taken back to the user's units."""
    points = torch.tensor([[each, 5.0] for each in x], dtype=torch.float64)
    torch.manual_seed(0)
    drawn = surrogate.model.posterior(points, observation_noise=noise).distribution.rsample(torch.Size([4000]))
    return surrogate.outcomes.outside(drawn.flatten(0, 1).numpy())


def test_its_outcomes_are_bent(surrogate):
    assert surrogate.outcomes.power < 0.5


def test_predictions_are_those_of_samples(told):
    x = [0.2, 0.35, 0.9]
    predicted = told.predict(pd.DataFrame({"x": x}), task=NEW)
    drawn = samples(told, x, noise=True)
    np.testing.assert_allclose(predicted["mean"], drawn.mean(0), rtol=0.05)
    np.testing.assert_allclose(predicted["sd"], drawn.std(0), rtol=0.1)
    for name, share in (("lower", 0.1), ("upper", 0.9)):
        assert np.abs((drawn < predicted[name].to_numpy()).mean(0) - share).max() < 0.01


def test_intervals_are_lopsided_as_outcomes_are(surrogate):
    predicted = surrogate.predict(pd.DataFrame({"x": np.linspace(0, 1, 21)}), task=NEW)
    above, below = predicted["upper"] - predicted["mean"], predicted["mean"] - predicted["lower"]
    longer, shorter = (above, below) if surrogate.problem.goal == "maximize" else (below, above)
    assert longer.sum() > shorter.sum()
    # Nothing in the archive is on the wrong side of zero, and little is expected there.
    beyond = (surrogate.problem.sign * predicted[["lower", "upper"]]).min(axis=1)
    assert beyond.min() > -0.25 * archive()["y"].std()


def test_scores_are_in_the_users_units(surrogate, told):
    first = surrogate.suggest(NEW)
    assert first["score"].item() == pytest.approx(first["mean"].item())
    batch = surrogate.suggest(NEW, n=2)
    assert batch.attrs["score"] == "expected best"
    sign = surrogate.problem.sign
    expected = (sign * samples(surrogate, batch["x"])).max(1).mean()
    assert sign * batch["score"].iloc[1] == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("x", [0.1, 0.6])  # already good, and poor
def test_the_expected_improvement_is_in_the_users_units(surrogate, x):
    sign = surrogate.problem.sign
    told = surrogate.observe(pd.DataFrame({"x": [x], "y": [sign * response(x, 5)]}), task=NEW)
    batch = told.suggest(NEW, n=2)
    assert batch.attrs["score"] == "expected improvement"
    f = sign * samples(told, batch["x"])
    best = told.model.posterior(torch.tensor([[x, 5.0]], dtype=torch.float64)).mixture_mean.item()
    best = sign * told.outcomes.outside(np.array([best])).item()
    first = np.maximum(f[:, 0] - best, 0)
    assert batch["score"].iloc[0] == pytest.approx(first.mean(), rel=0.1)
    both = np.maximum(f.max(1) - best, 0)
    assert batch["score"].iloc[1] == pytest.approx((both - first).mean(), rel=0.2, abs=0.02 * both.mean())


def test_the_gain_of_candidates_is_a_share_of_the_users_range(told):
    listed = pd.DataFrame({"x": np.linspace(0.05, 0.95, 12)})
    chosen = told.suggest(NEW, candidates=listed)
    f = told.problem.sign * samples(told, [*listed["x"], 0.1, 0.6])
    span = np.ptp(f, axis=1)
    gain = np.maximum(f[:, :12] - f[:, 12:].max(1, keepdims=True), 0) / span[:, None]
    assert chosen.index[0] == gain.mean(0).argmax()
    assert chosen["score"].item() == pytest.approx(gain.mean(0).max(), abs=0.02)


def test_it_finds_the_best_of_the_new_task(surrogate):
    grid = response(np.linspace(0, 1, 2001), 5)
    outcomes, current = [], surrogate
    for _ in range(4):
        point = current.suggest(NEW)
        outcomes.append(response(point["x"], 5).item())
        current = current.observe(point.assign(y=surrogate.problem.sign * outcomes[-1]), task=NEW)
    assert max(outcomes) > 0.95 * grid.max()


def test_the_chance_to_beat_a_quantile_is_its_tail(told):
    row = pd.DataFrame({"x": [0.35]})
    predicted = told.predict(row, task=NEW, noise=False)
    better = predicted["upper" if told.problem.goal == "maximize" else "lower"].item()
    assert told.chance_to_beat(better, row, task=NEW).item() == pytest.approx(0.1, abs=1e-3)


def test_the_chance_to_be_the_best_is_that_of_samples(told):
    grid, rows = np.linspace(0, 1, 257), pd.DataFrame({"x": [0.15, 0.4]})
    f = told.problem.sign * samples(told, [*rows["x"], 0.1, 0.6, *grid])
    near = f[:, :2] >= f.max(1, keepdims=True) - 0.05 * np.ptp(f, axis=1)[:, None]
    chance = told.chance_of_best(rows, NEW)
    np.testing.assert_allclose(chance, near.mean(0), atol=0.03)
    assert chance.max() > 0.05


def test_a_saved_one_predicts_the_same(told, tmp_path):
    told.save(tmp_path / "s.headstart")
    again, rows = hs.load(tmp_path / "s.headstart"), pd.DataFrame({"x": [0.3, 0.8]})
    assert again.outcomes == told.outcomes
    pd.testing.assert_frame_equal(again.predict(rows, task=NEW), told.predict(rows, task=NEW))


def test_validation_is_that_of_a_surrogate_of_the_other_tasks(surrogate):
    """Which counts outcomes as these suggest: the held-out task has no say in it."""
    table = archive(surrogate.problem.sign)
    frame = surrogate.validate(tasks=1, shots=(0,)).iloc[0]
    own = table["task"] == frame["task"]
    others = hs.fit(table[~own], surrogate.problem, seed=0)
    assert others.outcomes != surrogate.outcomes
    predicted, y = others.predict(table[own]), table.loc[own, "y"]
    assert frame["rmse"] == pytest.approx(np.sqrt(((predicted["mean"] - y) ** 2).mean()), rel=1e-6)
    assert frame["coverage"] == y.between(predicted["lower"], predicted["upper"]).mean()
