"""Where suggestions may lie: stepped and fixed inputs, no repeats, Thompson sampling."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

import headstart as hs
from headstart.acquisition.candidates import thompson, winners
from headstart.acquisition.criteria import criterion_for
from headstart.acquisition.space import Space, is_taken, maximise_over_space
from headstart.errors import ProblemError

NEW = {"pump": "new"}


def efficiency(blades, flow, shift=0.0):
    return np.cos(0.9 * (blades - 6.3 - shift)) + np.sin(3 * flow + shift)


def archive(seed=0, tasks=4, rows=8) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"pump": np.repeat([f"pump {t}" for t in range(tasks)], rows)})
    frame["blades"] = random.integers(4, 10, len(frame))
    frame["flow"] = random.random(len(frame))
    frame["efficiency"] = efficiency(frame["blades"], frame["flow"], 0.1 * np.repeat(np.arange(tasks), rows))
    return frame


def fitted(inputs, new=None) -> hs.Surrogate:
    problem = hs.Problem(inputs=inputs, general=["pump"], objective="efficiency")
    rows = archive() if new is None else pd.concat([archive(), new.assign(pump="new")])
    return hs.fit(rows, problem, seed=0)


@pytest.fixture(scope="module")
def mixed() -> hs.Surrogate:
    return fitted({"blades": (4, 9, 1), "flow": (0, 1)})


@pytest.fixture(scope="module")
def lattice() -> hs.Surrogate:
    return fitted({"blades": (4, 9, 1), "flow": (0, 1, 0.25)})


def test_stepped_inputs_are_on_their_steps(mixed):
    batch = mixed.suggest(NEW, n=4)
    assert set(batch["blades"]) <= {4.0, 5.0, 6.0, 7.0, 8.0, 9.0}
    assert batch["flow"].between(0, 1).all()
    assert (batch["flow"] % 0.25 != 0).any()


def test_the_best_mixed_point_is_as_good_as_a_dense_grid(mixed):
    grid = pd.DataFrame(itertools.product(range(4, 10), np.linspace(0, 1, 201)), columns=["blades", "flow"])
    best = mixed.predict(grid, task=NEW)["mean"].max()
    assert mixed.suggest(NEW)["mean"].item() >= best - 1e-3


@pytest.mark.parametrize("pump", range(4))
def test_the_search_is_that_of_the_task_that_was_asked_for(pump):
    """Each pump has its best speed elsewhere, and is worse than the one before it."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"pump": np.repeat(np.arange(4), 12), "speed": random.integers(0, 13, 48)})
    rows["flow"] = random.random(48)
    rows["efficiency"] = -rows["pump"] - np.abs(rows["speed"] - 4 * rows["pump"]) / 12 - (rows["flow"] - 0.4) ** 2
    problem = hs.Problem(inputs={"speed": (0, 12, 1), "flow": (0, 1)}, general=["pump"], objective="efficiency")
    surrogate = hs.fit(rows, problem, seed=0, inference="lbfgs")
    code = torch.tensor([float(pump)], dtype=torch.float64)
    none = surrogate._measured(code)[:0]
    mean = criterion_for(surrogate.model, none, none, seed=0)
    found, value = maximise_over_space(mean, surrogate._space(code, {}), none, none, seed=0)
    grid = torch.cartesian_prod(*(torch.linspace(0, 1, count, dtype=torch.float64) for count in (13, 101)), code)
    with torch.no_grad():
        best = mean.function(grid.unsqueeze(1)).max().item()
        assert mean.function(found.reshape(1, 1, -1)).item() == pytest.approx(value)
    assert value >= best - 1e-3


def test_the_best_point_of_a_lattice_is_the_best_of_all(lattice):
    grid = pd.DataFrame(itertools.product(range(4, 10), np.arange(0, 1.1, 0.25)), columns=["blades", "flow"])
    predicted = lattice.predict(grid, task=NEW)["mean"]
    point = lattice.suggest(NEW)
    assert point[["blades", "flow"]].iloc[0].tolist() == grid.loc[predicted.idxmax()].tolist()
    assert point["score"].item() == pytest.approx(predicted.max())


def test_a_step_that_does_not_meet_the_upper_bound_stays_below_it():
    problem = hs.Problem(inputs={"x": (0, 1, 0.3)}, general=["task"], objective="y")
    np.testing.assert_allclose(problem.grids["x"], [0, 0.3, 0.6, 0.9])
    assert hs.Problem(inputs={"x": (0, 0.3, 0.1)}, general=["task"], objective="y").grids["x"][-1] == 0.3


@pytest.mark.parametrize(
    ("bounds", "words"),
    [((0, 1, 0), "positive"), ((0, 1, -1), "positive"), ((0, 1, 2), "at most 1"), ((0, 1, 1e-9), "continuous")],
)
def test_impossible_steps(bounds, words):
    with pytest.raises(ProblemError, match=words) as error:
        hs.Problem(inputs={"x": bounds}, general=["task"], objective="y")
    assert "'x'" in str(error.value)


def test_fine_steps_are_searched_as_if_continuous():
    surrogate = fitted({"blades": (4, 9, 1), "flow": (0, 1, 0.001)})
    point = surrogate.suggest(NEW)
    assert point["flow"].item() == pytest.approx(round(point["flow"].item(), 3))


@pytest.mark.parametrize("acquisition", ["auto", "thompson"])
def test_fixed_inputs_keep_their_value(mixed, acquisition):
    batch = mixed.suggest(NEW, n=2, fixed={"flow": 0.37}, acquisition=acquisition)
    np.testing.assert_allclose(batch["flow"], 0.37)
    assert len(set(batch["blades"])) == 2


def test_a_fixed_input_is_predicted_where_it_is_fixed(mixed):
    batch = mixed.suggest(NEW, fixed={"blades": np.int64(7)})
    assert batch["blades"].item() == 7
    assert batch["mean"].item() == pytest.approx(mixed.predict(batch, task=NEW)["mean"].item())
    with pytest.raises(ProblemError, match=r"'blades' cannot be fixed at 7\.4.*nearest is 7"):
        mixed.suggest(NEW, fixed={"blades": 7.4})


@pytest.mark.parametrize("fixed", [{"speed": 1}, {"flow": 2.0}, {"flow": "fast"}, {"flow": float("nan")}])
def test_what_cannot_be_fixed(mixed, fixed):
    with pytest.raises(ProblemError, match=next(iter(fixed))):
        mixed.suggest(NEW, fixed=fixed)


def test_fixed_and_candidates_exclude_each_other(mixed):
    with pytest.raises(ProblemError, match="not both"):
        mixed.suggest(NEW, fixed={"flow": 0.5}, candidates=archive().head(3))


def test_a_lattice_is_never_repeated_and_runs_out():
    """15 settings: each is suggested once, whatever came of it, and then there are none left."""
    inputs = {"blades": (4, 8, 1), "flow": (0, 1, 0.5)}
    surrogate = fitted(inputs)
    seen = []
    for _ in range(3):
        batch = surrogate.suggest(NEW, n=5)
        seen += batch[["blades", "flow"]].apply(tuple, axis=1).tolist()
        outcomes = efficiency(batch["blades"], batch["flow"])
        surrogate = surrogate.observe(batch.assign(efficiency=outcomes), task=NEW)
    assert len(set(seen)) == 15
    with pytest.raises(ProblemError, match="All 15 settings"):
        surrogate.suggest(NEW)


def test_a_noisy_optimum_is_not_measured_twice():
    """The best setting is known and at a corner, so that improvement is expected there alone."""
    x = np.tile(np.linspace(0, 1, 9), 3)
    noise = np.random.default_rng(0).normal(0, 0.3, len(x))
    frame = pd.DataFrame({"task": np.repeat(["a", "b", "c"], 9), "x": x, "y": 2 * x + noise})
    told = pd.concat([frame, pd.DataFrame({"task": "new", "x": [1.0, 0.0], "y": [2.0, 0.0]})])
    problem = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y")
    surrogate = hs.fit(told, problem, seed=0, kernel="matern52", inference="lbfgs")
    model, task = surrogate.model, torch.tensor([3.0], dtype=torch.float64)
    measured = surrogate._measured(task)
    box = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    free, _ = maximise_over_space(
        criterion_for(model, measured, measured[:0], seed=0), Space(box, {1: 3.0}), measured[:0], measured[:0], seed=0
    )
    assert free[0] == 1.0  # what would be suggested if repeats were allowed
    assert surrogate.suggest({"task": "new"})["x"].item() < 1.0


def test_what_failed_is_avoided_with_its_neighbourhood_but_promises_nothing(mixed):
    """Unlike a pending experiment, it will never have an outcome that others could add to."""
    first = mixed.suggest(NEW)
    second = mixed.suggest(NEW, avoid=first)
    assert second.attrs["score"] == "mean"
    assert second["score"].item() == pytest.approx(mixed.predict(second, task=NEW)["mean"].item())
    assert second["blades"].item() != first["blades"].item() or abs(second["flow"] - first["flow"]).item() >= 0.05
    grid = pd.DataFrame(itertools.product(range(4, 10), np.linspace(0, 1, 201)), columns=["blades", "flow"])
    near = (grid["blades"] == first["blades"].item()) & (np.abs(grid["flow"] - first["flow"].item()) < 0.05)
    best = mixed.predict(grid[~near], task=NEW)["mean"].max()
    assert second["mean"].item() > best - 0.05 * (best - archive()["efficiency"].mean())


def test_the_score_of_a_batch_is_named_for_all_of_it(mixed):
    batch = mixed.suggest(NEW, n=3)
    assert batch.attrs["score"] == "expected best"
    assert batch["score"].is_monotonic_increasing  # each adds to the best of those before
    assert batch["score"].iloc[0] == pytest.approx(batch["mean"].iloc[0])


def test_very_fine_steps_need_no_more_memory_than_their_values():
    surrogate = fitted({"blades": (4, 9, 1), "flow": (0, 1, 0.000001)})
    for acquisition in ("auto", "thompson"):
        point = surrogate.suggest(NEW, acquisition=acquisition)
        assert point["flow"].item() == pytest.approx(round(point["flow"].item(), 6), abs=1e-12)
        predicted = surrogate.predict(point, task=NEW)["mean"].item()
        assert point["mean"].item() == pytest.approx(predicted, rel=1e-9)


@pytest.mark.parametrize("options", [{"n": 0}, {"n": 1.5}, {"seed": -1}, {"seed": 2**70}, {"seed": "one"}, {"n": True}])
def test_numbers_that_are_none(mixed, options):
    with pytest.raises(ProblemError, match="whole number"):
        mixed.suggest.__wrapped__(mixed, NEW, **options)


def test_points_are_taken_up_to_rounding():
    points = torch.tensor([[0.5, 1.0], [0.5, 2.0], [0.501, 1.0]], dtype=torch.float64)
    taken = torch.tensor([[0.5 + 1e-9, 1.0]], dtype=torch.float64)
    assert is_taken(points, taken).tolist() == [True, False, False]
    assert not is_taken(points, taken[:0]).any()


def test_thompson_samples_follow_the_probability_of_being_best(mixed):
    """Winners of many single draws, against the frequency of winning in samples drawn by torch."""
    candidates = torch.tensor([[b / 5, f, 4.0] for b in range(6) for f in (0.1, 0.5, 0.9)], dtype=torch.float64)
    firsts = [int(thompson(winners(mixed.model, candidates, seed=seed, samples=64), 18, 1)) for seed in range(400)]
    frequency = np.bincount(firsts, minlength=len(candidates)) / len(firsts)
    samples = mixed.model.posterior(candidates).distribution.rsample(torch.Size([400]))
    truth = np.bincount(samples.argmax(-1).flatten().numpy(), minlength=len(candidates)) / samples[..., 0].numel()
    assert 0.5 * np.abs(frequency - truth).sum() < 0.1


def test_thompson_batches_differ_and_depend_on_the_seed(mixed):
    batches = [mixed.suggest(NEW, n=3, acquisition="thompson", seed=seed) for seed in (0, 0, 1)]
    pd.testing.assert_frame_equal(batches[0], batches[1])
    assert not batches[0][["blades", "flow"]].equals(batches[2][["blades", "flow"]])
    assert len(batches[0][["blades", "flow"]].drop_duplicates()) == 3
    assert set(batches[0]["blades"]) <= set(range(4, 10))


def test_thompson_over_candidates_keeps_their_index(mixed):
    candidates = pd.DataFrame({"blades": [5, 6, 7], "flow": [0.3, 0.5, 0.7]}, index=["a", "b", "c"])
    chosen = mixed.suggest(NEW, n=3, candidates=candidates, acquisition="thompson")
    assert sorted(chosen.index) == ["a", "b", "c"]


def test_an_unknown_acquisition(mixed):
    with pytest.raises(ProblemError, match="thompson"):
        mixed.suggest(NEW, acquisition="tompson")
    with pytest.raises(ProblemError, match="give candidates"):
        mixed.suggest(NEW, acquisition="probability of best")


LISTED = pd.DataFrame(itertools.product(range(4, 10), (0.1, 0.5, 0.9)), columns=["blades", "flow"])


def gains(surrogate, known, draws=4000) -> np.ndarray:
    """The expected gain of every row of LISTED by its definition, one sample at a time."""
    rows = pd.concat([LISTED, known])[["blades", "flow"]].to_numpy()
    points = torch.tensor(np.column_stack([(rows[:, 0] - 4) / 5, rows[:, 1], np.full(len(rows), 4.0)]))
    torch.manual_seed(1)
    samples = surrogate.model.posterior(points).distribution.rsample(torch.Size([draws // 64])).flatten(0, 1)
    total = np.zeros(len(LISTED))
    for f in samples.numpy():
        best = f[len(LISTED) :].max() if len(known) else f.min()
        total += np.maximum(f[: len(LISTED)] - best, 0) / (f.max() - f.min())
    return total / len(samples)


@pytest.mark.parametrize("known", ["nothing", "measured", "running"])
def test_candidates_are_ranked_by_expected_gain(mixed, known):
    some = LISTED.iloc[[4, 13]]
    surrogate, options = mixed, {}
    if known == "measured":
        surrogate = mixed.observe(some.assign(efficiency=efficiency(some["blades"], some["flow"])), task=NEW)
    if known == "running":
        options = {"pending": some}
    chosen = surrogate.suggest(NEW, candidates=LISTED, n=3, **options)
    truth = gains(surrogate, LISTED.iloc[:0] if known == "nothing" else some)
    if known != "nothing":
        truth[[4, 13]] = 0.0
        assert not {4, 13} & {*chosen.index}
    assert truth[chosen.index[0]] >= truth.max() - 0.02
    assert chosen["score"].iloc[0] == pytest.approx(truth[chosen.index[0]], abs=0.03)
    assert chosen["score"].is_monotonic_decreasing
    # The second is chosen as if the first were running.
    second = surrogate.suggest(NEW, candidates=LISTED, pending=pd.concat([options.get("pending"), chosen.iloc[[0]]]))
    if known != "nothing":
        assert second["score"].item() == pytest.approx(chosen["score"].iloc[1], abs=0.03)
        truth = gains(surrogate, pd.concat([some, LISTED.loc[chosen.index[:1]]]))
        for place in (second.index[0], chosen.index[1]):  # alike where little is left to gain
            assert truth[place] >= truth.max() - 0.02


def test_alike_candidates_do_not_take_from_each_other(mixed):
    """Sixty good ones share the probability of being best, so that a single worse one gets most of it."""
    crowd = pd.DataFrame({"blades": 5, "flow": np.linspace(0.3, 0.8, 60)})
    table = pd.concat([crowd, pd.DataFrame({"blades": [8], "flow": [0.5]})], ignore_index=True)
    by_gain = mixed.suggest(NEW, candidates=table)
    by_chance = mixed.suggest(NEW, candidates=table, acquisition="probability of best")
    assert by_chance.index[0] == 60
    assert by_gain.index[0] < 60
    assert by_gain["mean"].item() > by_chance["mean"].item()


def test_what_cannot_gain_is_ranked_by_its_mean(mixed):
    rows = LISTED.assign(efficiency=efficiency(LISTED["blades"], LISTED["flow"]))
    known = mixed.observe(rows.assign(pump="new"))
    nearly = LISTED.assign(flow=LISTED["flow"] + 1e-5)
    chosen = known.suggest(NEW, candidates=nearly, n=len(nearly))
    assert sorted(chosen.index) == [*range(len(nearly))]
    assert chosen["score"].is_monotonic_decreasing
    assert rows["efficiency"].loc[chosen.index[0]] > rows["efficiency"].quantile(0.8)


def test_more_candidates_than_can_be_compared(mixed):
    flows = pd.DataFrame({"blades": 6, "flow": np.linspace(0, 1, 3001)})
    few = mixed.suggest(NEW, candidates=flows.iloc[::10])
    many = mixed.suggest(NEW, candidates=flows)
    assert many["score"].item() == pytest.approx(few["score"].item(), abs=0.03)
    assert abs(many["flow"].item() - few["flow"].item()) < 0.1
    assert len(mixed.suggest(NEW, candidates=flows, n=600)) == 600


def test_pending_points_of_a_lattice_are_left_alone(lattice):
    first = lattice.suggest(NEW)
    second = lattice.suggest(NEW, pending=first)
    assert second[["blades", "flow"]].iloc[0].tolist() != first[["blades", "flow"]].iloc[0].tolist()


def test_steps_survive_saving(lattice, tmp_path):
    lattice.save(tmp_path / "s.headstart")
    loaded = hs.load(tmp_path / "s.headstart")
    assert loaded.problem == lattice.problem
    pd.testing.assert_frame_equal(loaded.suggest(NEW), lattice.suggest(NEW))
