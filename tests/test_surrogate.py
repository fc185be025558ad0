"""The data-frame interface: fit, predict, suggest, observe, embedding, save and load."""

import inspect
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from problems import toy
from safetensors.torch import load_file, save_file

import headstart as hs
from headstart.cli.app import FitOptions
from headstart.errors import DataError, FileFormatError, ProblemError
from headstart.limits import check_fit, default_inference
from headstart.models import BEGP, EGP, HMC, LBFGS, NUTS
from headstart.models.known_kernels import DEFAULT_KERNEL
from headstart.persistence import checksum

THETA = np.random.RandomState(0).rand(6, 2)
PROBLEM = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal="minimize")
NEW = {"task": "new"}


def toy_frame(tasks=5, rows=5, seed=1) -> pd.DataFrame:
    random = np.random.RandomState(seed)
    return pd.concat(
        [
            pd.DataFrame({"task": f"legacy {t}", "x": x, "y": toy(x, THETA[t])})
            for t in range(tasks)
            for x in [random.rand(rows)]
        ],
        ignore_index=True,
    )


@pytest.fixture(scope="module")
def surrogate() -> hs.Surrogate:
    return hs.fit(toy_frame(), PROBLEM, seed=0)


def outcome(points: pd.DataFrame, task="new") -> pd.DataFrame:
    x = points["x"].to_numpy()
    return pd.DataFrame({"task": task, "x": x, "y": toy(x, THETA[5])})


def test_predictions_interpolate_the_archive(surrogate):
    archive = toy_frame()
    predicted = surrogate.predict(archive)
    assert list(predicted.columns) == ["mean", "sd", "lower", "upper"]
    assert (predicted["lower"] < predicted["mean"]).all()
    assert (predicted["mean"] < predicted["upper"]).all()
    assert np.abs(predicted["mean"] - archive["y"]).max() < 0.2 * archive["y"].std()


@pytest.mark.parametrize("goal", ["minimize", "maximize"])
def test_the_chance_to_beat_a_quantile_is_its_tail(goal):
    """Quantiles come from another computation, by bisection."""
    fitted = hs.fit(toy_frame(), hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal=goal))
    rows = pd.DataFrame({"x": [0.1, 0.4, 0.9]})
    expected = fitted.predict(rows, task=NEW, interval=0.8, noise=False)
    better, worse = ("lower", "upper") if goal == "minimize" else ("upper", "lower")
    for place in range(len(rows)):
        row = rows.iloc[[place]]
        assert fitted.chance_to_beat(expected[better].iloc[place], row, task=NEW).item() == pytest.approx(0.1, abs=1e-4)
        assert fitted.chance_to_beat(expected[worse].iloc[place], row, task=NEW).item() == pytest.approx(0.9, abs=1e-4)


def test_predictions_keep_the_callers_index(surrogate):
    rows = toy_frame().iloc[[3, 9]].set_axis(["a", "b"])
    assert list(surrogate.predict(rows).index) == ["a", "b"]


def test_intervals_have_the_probability_they_claim(surrogate):
    """Against samples of the mixture, which know nothing of quantiles."""
    rows = pd.DataFrame({"task": "new", "x": [0.2, 0.7]})
    predicted = surrogate.predict(rows, interval=0.5)
    points = torch.tensor([[[0.2, 5.0]], [[0.7, 5.0]]]).double()
    posterior = surrogate.model.posterior(points, observation_noise=True)
    samples = posterior.distribution.rsample(torch.Size([4000]))[..., 0].numpy()
    samples = surrogate.outcomes.outside(samples.transpose(1, 0, 2).reshape(2, -1))
    lower, upper = np.quantile(samples, [0.25, 0.75], axis=1)
    np.testing.assert_allclose(predicted["lower"], lower, atol=0.03)
    np.testing.assert_allclose(predicted["upper"], upper, atol=0.03)
    np.testing.assert_allclose(predicted["mean"], samples.mean(1), atol=0.03)
    np.testing.assert_allclose(predicted["sd"], samples.std(1), rtol=0.03)


def test_the_noise_free_response_is_surer(surrogate):
    rows = toy_frame().head(3)
    with_noise, without = (surrogate.predict(rows, noise=noise)["sd"] for noise in (True, False))
    assert (without < with_noise).all()


def test_a_large_table_is_predicted_in_pieces(surrogate, monkeypatch):
    rows = pd.DataFrame({"task": "new", "x": np.linspace(0, 1, 50)})
    whole = surrogate.predict(rows)
    monkeypatch.setattr("headstart.surrogate._PREDICTION_SIZE", 64 * 25 * 7)
    # Quantiles are bisected until all rows of a piece are within 1e-6.
    pd.testing.assert_frame_equal(surrogate.predict(rows), whole, atol=1e-4)


def test_minimising_finds_the_minimum_in_few_steps():
    surrogate = hs.fit(toy_frame(), PROBLEM, seed=0)
    grid = toy(np.linspace(0, 1, 2001), THETA[5])
    outcomes = []
    for _ in range(5):
        point = surrogate.suggest(NEW)
        assert list(point.columns) == ["x", "mean", "sd", "lower", "upper", "score"]
        outcomes.append(outcome(point)["y"].item())
        surrogate = surrogate.observe(outcome(point))
    assert min(outcomes) - grid.min() < 0.01 * np.ptp(grid)


def test_the_first_suggestion_is_the_best_mean(surrogate):
    point = surrogate.suggest(NEW)
    grid = pd.DataFrame({"task": "new", "x": np.linspace(0, 1, 401)})
    assert point["mean"].item() <= surrogate.predict(grid)["mean"].min() + 1e-6
    assert point["score"].item() == pytest.approx(point["mean"].item())


def test_the_next_suggestion_has_the_highest_expected_improvement(surrogate):
    """Against EI computed with scipy over a grid, per draw, with the task's own best."""
    from scipy.stats import norm

    told = surrogate.observe(outcome(pd.DataFrame({"x": [0.9]})))
    point = told.suggest(NEW)
    x = np.linspace(0, 1, 401)
    points = torch.from_numpy(np.column_stack([x, np.full_like(x, 5)])).unsqueeze(1)
    posterior = told.model.posterior(points)
    mean, sd = posterior.mean[..., 0, 0].numpy(), posterior.variance[..., 0, 0].sqrt().numpy()
    best = told.model.posterior(torch.tensor([[0.9, 5.0]])).mixture_mean.item()
    u = (mean - best) / sd
    improvement = told.outcomes.scale * (sd * (u * norm.cdf(u) + norm.pdf(u))).mean(1)
    assert point["score"].item() >= improvement.max() * 0.999
    assert point["score"].item() == pytest.approx(improvement.max(), rel=0.02)


def test_maximising_is_minimising_the_negative():
    archive = toy_frame()
    flipped = archive.assign(y=-archive["y"])
    upwards = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal="maximize")
    down, up = hs.fit(archive, PROBLEM, seed=0), hs.fit(flipped, upwards, seed=0)
    a, b = down.suggest(NEW), up.suggest(NEW)
    assert a["x"].item() == pytest.approx(b["x"].item())
    assert a["mean"].item() == pytest.approx(-b["mean"].item())
    assert a["lower"].item() == pytest.approx(-b["upper"].item())


@pytest.mark.parametrize("measured", [False, True])
def test_a_batch_is_spread_out(surrogate, measured):
    if measured:
        surrogate = surrogate.observe(outcome(pd.DataFrame({"x": [0.9]})))
    batch = surrogate.suggest(NEW, n=3)
    assert len(batch) == 3
    assert np.diff(np.sort(batch["x"])).min() > 1e-4


def test_candidates_are_ranked_by_the_probability_of_being_best_if_one_likes(surrogate):
    candidates = pd.DataFrame({"x": np.linspace(0, 1, 30)}, index=[f"row {i}" for i in range(30)])
    chosen = surrogate.suggest(NEW, n=30, candidates=candidates, acquisition="probability of best")
    assert chosen.attrs["score"] == "probability of best"
    assert chosen["score"].sum() == pytest.approx(1.0)
    assert chosen["score"].is_monotonic_decreasing
    np.testing.assert_allclose(chosen["x"], candidates.loc[chosen.index, "x"])
    # Brute force: how often is each candidate the lowest in joint samples?
    points = torch.from_numpy(np.column_stack([candidates["x"], np.full(30, 5.0)]))
    samples = surrogate.model.posterior(points).distribution.rsample(torch.Size([500]))
    frequency = np.bincount(samples.argmax(-1).flatten().numpy(), minlength=30) / samples[..., 0].numel()
    np.testing.assert_allclose(chosen["score"].loc[candidates.index], frequency, atol=0.03)


def test_measured_candidates_are_not_suggested_again(surrogate):
    candidates = pd.DataFrame({"x": [0.1, 0.5, 0.9]})
    told = surrogate.observe(outcome(candidates.iloc[[1]]))
    assert set(told.suggest(NEW, n=2, candidates=candidates).index) == {0, 2}
    with pytest.raises(DataError, match="2 of 3 candidates"):
        told.suggest(NEW, n=3, candidates=candidates)


def test_many_candidates(surrogate):
    candidates = pd.DataFrame({"x": np.linspace(0, 1, 3000)})
    chosen = surrogate.suggest(NEW, candidates=candidates, n=5)
    grid = surrogate.predict(candidates.assign(task="new"))["mean"]
    assert chosen["mean"].iloc[0] < grid.quantile(0.3)


def test_several_general_inputs():
    random = np.random.RandomState(0)
    archive = pd.DataFrame(
        {
            "machine": np.repeat(["m1", "m2", "m3"], 8),
            "operator": np.tile(["ann", "bob"], 12),
            "speed": random.uniform(100, 200, 24),
        }
    )
    archive["quality"] = np.sin(archive["speed"] / 20) + (archive["machine"] == "m2")
    problem = hs.Problem(inputs=["speed"], general=["machine", "operator"], objective="quality")
    surrogate = hs.fit(archive, problem, seed=0)
    point = surrogate.suggest({"machine": "m2", "operator": "cyd"})
    assert archive["speed"].min() <= point["speed"].item() <= archive["speed"].max()
    assert list(surrogate.embedding("operator")["level"]) == ["ann", "bob"]
    assert list(surrogate.embedding("machine").columns) == [
        "level",
        "mean_1",
        "mean_2",
        "mean_3",
        "sd_1",
        "sd_2",
        "sd_3",
    ]


def test_renaming_labels_changes_nothing(surrogate):
    renamed = toy_frame()
    renamed["task"] = renamed["task"].map(lambda label: f"z{9 - int(label[-1])}")
    other = hs.fit(renamed, PROBLEM, seed=0)
    pd.testing.assert_frame_equal(other.suggest(NEW), surrogate.suggest(NEW))


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_objectives_unit_does_not_matter(surrogate, scale):
    archive = toy_frame()
    other = hs.fit(archive.assign(y=archive["y"] * scale), PROBLEM, seed=0)
    ours = surrogate.observe(outcome(pd.DataFrame({"x": [0.9]})))
    told = outcome(pd.DataFrame({"x": [0.9]}))
    theirs = other.observe(told.assign(y=told["y"] * scale))
    a, b = ours.suggest(NEW), theirs.suggest(NEW)
    assert a["x"].item() == pytest.approx(b["x"].item(), abs=2e-3)
    assert a["sd"].item() == pytest.approx(b["sd"].item() / scale, rel=2e-2)


def test_observing_leaves_the_old_surrogate_alone(surrogate):
    before = surrogate.suggest(NEW)
    surrogate.observe(outcome(pd.DataFrame({"x": [0.2]})))
    pd.testing.assert_frame_equal(surrogate.suggest(NEW), before)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model": "egp"},
        {"kernel": "rbf", "latent_dim": 2},
        {"inference": NUTS(warmup=20, samples=8)},
    ],
    ids=["default", "egp", "rbf", "nuts"],
)
def test_saved_and_loaded_is_the_same(tmp_path, settings):
    surrogate = hs.fit(toy_frame(tasks=3), PROBLEM, seed=1, **settings)
    surrogate.save(tmp_path / "s.headstart")
    loaded = hs.load(tmp_path / "s.headstart")
    rows = pd.DataFrame({"task": ["legacy 0", "new"], "x": [0.3, 0.6]})
    pd.testing.assert_frame_equal(loaded.predict(rows), surrogate.predict(rows))
    pd.testing.assert_frame_equal(loaded.suggest(NEW), surrogate.suggest(NEW))
    pd.testing.assert_frame_equal(loaded.embedding("task"), surrogate.embedding("task"))
    assert loaded.problem == surrogate.problem


def test_an_observed_surrogate_survives_saving(tmp_path, surrogate):
    told = surrogate.observe(outcome(pd.DataFrame({"x": [0.2]})))
    told.save(tmp_path / "s.headstart")
    pd.testing.assert_frame_equal(hs.load(tmp_path / "s.headstart").suggest(NEW), told.suggest(NEW))


def test_a_loaded_surrogate_learns_as_the_saved_one_would(tmp_path, surrogate):
    """Draws are saved with the solution that they began from, which an update continues from."""
    surrogate.save(tmp_path / "s.headstart")
    new = outcome(pd.DataFrame({"x": [0.2]}))
    loaded = hs.load(tmp_path / "s.headstart").observe(new)
    assert loaded.model.sampler is not None
    pd.testing.assert_frame_equal(loaded.suggest(NEW), surrogate.observe(new).suggest(NEW))


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_older_format_is_read(tmp_path, version):
    path = tmp_path / "s.headstart"
    surrogate = hs.fit(toy_frame(tasks=3), PROBLEM, kernel="matern52", inference="lbfgs")
    surrogate.save(path)
    centre, scale = surrogate.outcomes.centre, surrogate.outcomes.scale

    def older(header):
        header["format"] = version
        del header["outcomes"]
        header |= {"unit": scale, "checksum": checksum(tensors)}
        if version == 1:
            del header["model"]["sampler"]

    tensors = load_file(path)
    tensors["train_Y"] -= centre / scale  # minimised, so of the other sign
    rewrite(path, change_tensors=lambda t: t.update(tensors), change_header=older)
    pd.testing.assert_frame_equal(hs.load(path).suggest(NEW), surrogate.suggest(NEW))


@pytest.mark.parametrize(("rows", "kind", "expected"), [(500, BEGP, HMC()), (501, BEGP, LBFGS()), (5, EGP, LBFGS())])
def test_few_rows_are_sampled_and_many_are_not(rows, kind, expected):
    X = torch.zeros(rows, 2, dtype=torch.float64)
    assert default_inference(kind(X, torch.ones(rows, 1), {1: 1})) == expected


def test_every_door_has_the_same_default_kernel():
    doors = [hs.fit, hs.Campaign.create, check_fit]
    assert {inspect.signature(door).parameters["kernel"].default for door in doors} == {DEFAULT_KERNEL}
    assert FitOptions().kernel == DEFAULT_KERNEL


def flipped(data: bytes) -> bytes:
    """One bit of the last tensor."""
    return data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]


def rewrite(path, change_tensors=None, change_header=None):
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["headstart"])
    tensors = load_file(path)
    if change_tensors:
        change_tensors(tensors)
    if change_header:
        change_header(header)
    save_file(tensors, path, metadata={"headstart": json.dumps(header)})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.write_bytes(b""), "damaged"),
        (lambda p: p.write_bytes(p.read_bytes()[:300]), "damaged"),
        (lambda p: p.write_bytes(os.urandom(500)), "damaged"),
        (lambda p: p.unlink(), "no file"),
        (lambda p: save_file({"a": torch.zeros(1)}, p), "not a saved surrogate"),
        (lambda p: p.write_bytes(flipped(p.read_bytes())), "damaged"),
        (lambda p: rewrite(p, change_header=lambda h: h.update(format=99)), "upgrade"),
        (lambda p: rewrite(p, change_header=lambda h: h.pop("problem")), "damaged"),
        (lambda p: rewrite(p, change_header=lambda h: h["model"].update(kernel="x")), "damaged"),
        (lambda p: rewrite(p, change_tensors=lambda t: t.pop("vector")), "damaged"),
        (
            lambda p: rewrite(p, change_tensors=lambda t: t.update(vector=t["vector"][:3])),
            "damaged",
        ),
        (lambda p: rewrite(p, change_tensors=lambda t: t["vector"].fill_(float("nan"))), "damaged"),
    ],
)
def test_a_damaged_file_is_a_clear_error(tmp_path, surrogate, damage, message):
    path = tmp_path / "s.headstart"
    surrogate.save(path)
    damage(path)
    with pytest.raises(FileFormatError, match=message):
        hs.load(path)


def test_saving_where_nothing_can_be_saved_loses_nothing(tmp_path, surrogate):
    with pytest.raises(FileFormatError, match="No such file or directory"):
        surrogate.save(tmp_path / "nowhere" / "s.headstart")
    with pytest.raises(FileFormatError, match="directory"):
        surrogate.save(tmp_path)
    with pytest.raises(FileFormatError, match="is a folder"):
        hs.load(tmp_path)
    path = tmp_path / "s.headstart"
    surrogate.save(path)
    before = path.read_bytes()
    surrogate.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.headstart"]


def test_a_custom_kernel_cannot_be_saved(tmp_path):
    import gpytorch

    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=4))
    surrogate = hs.fit(toy_frame(tasks=2), PROBLEM, kernel=kernel)
    with pytest.raises(ProblemError, match="cannot be saved"):
        surrogate.save(tmp_path / "s.headstart")


def test_bad_calls_are_clear_errors(surrogate):
    archive = toy_frame()
    with pytest.raises(DataError, match="no rows"):
        hs.fit(archive.head(0), PROBLEM)
    with pytest.raises(DataError, match="'y'"):
        hs.fit(archive.drop(columns="y"), PROBLEM)
    bad = hs.Problem(inputs={"sd": (0, 1)}, general=["task"], objective="y")
    with pytest.raises(ProblemError, match="name of a prediction"):
        hs.fit(archive.rename(columns={"x": "sd"}), bad)
    with pytest.raises(ProblemError, match="Unknown model"):
        hs.fit(archive, PROBLEM, model="gp")
    with pytest.raises(ProblemError, match="interval"):
        surrogate.predict(archive, interval=1.5)
    with pytest.raises(ProblemError, match="at least one"):
        surrogate.suggest(NEW, n=0)
    with pytest.raises(ProblemError, match="tsk"):
        surrogate.suggest({"tsk": "new"})
    with pytest.raises(ProblemError, match="not a general input"):
        surrogate.embedding("x")
    with pytest.raises(DataError, match="row 1"):
        surrogate.observe(pd.DataFrame({"task": "new", "x": [0.1, 0.2], "y": [1.0, None]}))


def test_one_row_archive():
    surrogate = hs.fit(pd.DataFrame({"task": ["a"], "x": [0.3], "y": [2.0]}), PROBLEM)
    point = surrogate.suggest(NEW)
    assert np.isfinite(point.to_numpy()).all()


def test_the_core_needs_neither_numpyro_nor_safetensors():
    """On a machine with torch, GPyTorch, BoTorch, NumPy, SciPy and pandas alone."""
    code = (
        "import sys\n"
        "for name in ('numpyro', 'jax', 'safetensors', 'jaxtyping', 'beartype'): sys.modules[name] = None\n"
        "import headstart as hs, pandas as pd\n"
        "f = pd.DataFrame({'t': ['a', 'a', 'b'], 'x': [0.1, 0.9, 0.5], 'y': [1.0, 2.0, 3.0]})\n"
        "p = hs.Problem(inputs={'x': (0, 1)}, general=['t'], objective='y')\n"
        "print(len(hs.fit(f, p).suggest({'t': 'c'})))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "1"


def test_a_rows_prediction_does_not_depend_on_its_companions(surrogate):
    rows = pd.DataFrame({"task": ["new", "other", "third"], "x": 0.3})
    together = surrogate.predict(rows)
    alone = pd.concat([surrogate.predict(rows.iloc[[i]]) for i in range(3)])
    pd.testing.assert_frame_equal(together, alone, atol=1e-5)
    assert together["mean"].nunique() == 1  # levels without data are alike
    np.testing.assert_allclose(
        together["mean"].iloc[0], surrogate.predict(pd.DataFrame({"task": ["x"], "x": 0.3})).iloc[0, 0]
    )


def test_an_offset_of_the_objective_does_not_matter():
    """But for rounding, which chains would answer with other draws; so it is the variational fit here."""
    archive = toy_frame()
    plain, moved = (hs.fit(archive.assign(y=archive["y"] + by), PROBLEM, inference="lbfgs") for by in (0.0, 1e8))
    rows = pd.DataFrame({"task": ["legacy 0", "new"], "x": [0.3, 0.6]})
    ours, theirs = plain.predict(rows), moved.predict(rows)
    np.testing.assert_allclose(theirs["sd"], ours["sd"], rtol=1e-3)
    np.testing.assert_allclose(theirs["mean"] - 1e8, ours["mean"], atol=1e-3)


def test_equal_candidates_count_once(surrogate):
    single = pd.DataFrame({"x": [0.1, 0.3, 0.5, 0.7, 0.9]})
    doubled = pd.concat([single, single.iloc[[3, 3, 3]]], ignore_index=True)
    a, b = (surrogate.suggest(NEW, n=5, candidates=table) for table in (single, doubled))
    pd.testing.assert_frame_equal(a, b)
    with pytest.raises(DataError, match="5 of 8"):
        surrogate.suggest(NEW, n=6, candidates=doubled)


def test_candidates_come_back_as_they_were_given(surrogate):
    values = [0.1, 1 / 3, 0.7]
    chosen = surrogate.suggest(NEW, n=3, candidates=pd.DataFrame({"x": values}))
    assert chosen["x"].loc[[0, 1, 2]].tolist() == values


def test_pending_experiments_are_respected(surrogate):
    first = surrogate.suggest(NEW)
    assert first.attrs["score"] == "mean"
    second = surrogate.suggest(NEW, pending=first[["x"]])
    assert second.attrs["score"] == "expected best"
    batch = surrogate.suggest(NEW, n=2)
    assert abs(second["x"].item() - first["x"].item()) > 1e-3
    assert second["x"].item() == pytest.approx(batch["x"].iloc[1], abs=1e-3)
    nothing_runs = surrogate.suggest(NEW, pending=first[["x"]].iloc[:0])
    pd.testing.assert_frame_equal(nothing_runs, first)
    candidates = pd.DataFrame({"x": [0.2, 0.5, 0.8]})
    left = surrogate.suggest(NEW, n=2, candidates=candidates, pending=candidates.iloc[[1]])
    assert set(left.index) == {0, 2}
    assert left.attrs["score"] == "expected gain"


def test_a_suggestion_depends_on_its_seed_alone(surrogate):
    answers = []
    for global_seed in (1, 2):
        torch.manual_seed(global_seed)
        expected = torch.rand(1, generator=torch.Generator().manual_seed(global_seed))
        answers.append(surrogate.suggest(NEW, n=2))
        assert torch.rand(1) == expected  # the caller's random numbers are as they were
    pd.testing.assert_frame_equal(*answers, check_exact=True)


def test_a_saved_file_is_readable_by_others(tmp_path, surrogate):
    surrogate.save(tmp_path / "s.headstart")
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "s.headstart").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_task_may_stand_beside_the_table(surrogate):
    rows = pd.DataFrame({"x": [0.2, 0.4], "y": [1.0, 2.0]})
    beside, inside = surrogate.observe(rows, task=NEW), surrogate.observe(rows.assign(**NEW))
    pd.testing.assert_frame_equal(beside.predict(rows, task=NEW), inside.predict(rows.assign(**NEW)))
    one = surrogate.observe({"x": 0.2, "y": 1.0}, task=NEW)  # a single experiment
    assert len(one.model.train_X) == len(surrogate.model.train_X) + 1
    with pytest.raises(DataError, match=r"assign\(\*\*task\)"):
        surrogate.predict(rows)
    with pytest.raises(DataError, match="Series"):
        surrogate.predict(rows.iloc[0])


def test_slips_are_warned_of(surrogate):
    with pytest.warns(hs.errors.DataWarning, match=r"row 1: 'x' is 40 and its bounds are 0 and 1"):
        surrogate.predict(pd.DataFrame({"task": "new", "x": [0.2, 40.0]}))
    with pytest.warns(hs.errors.DataWarning, match="'legacy 0' and 'Legacy 0 '"):
        surrogate.suggest({"task": "Legacy 0 "})


def test_what_cannot_be_computed_is_refused():
    archive = toy_frame(tasks=2)
    with pytest.raises(DataError, match="too large"):
        hs.fit(archive.assign(y=[1e200] + [1.0] * 9), PROBLEM)
    with pytest.raises(ProblemError, match="seed"):
        hs.fit(archive, PROBLEM, seed=-1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_a_clear_error():
    with pytest.raises(ProblemError, match="needs a GPU"):
        hs.fit(toy_frame(tasks=2), PROBLEM, device="cuda")


def test_a_surrogate_says_what_it_is(surrogate):
    assert repr(surrogate) == "Surrogate(minimize y over x; 25 rows, 5 of task; BEGP, rbf+tasks)"
