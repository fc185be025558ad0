"""Systems: formulas and recipes written again here, tables of which a task is held out, and families that mislead."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from scipy.spatial.distance import pdist

from headstart.benchmark import datasets
from headstart.benchmark.systems import (
    FunctionSystem,
    GeneratedSystem,
    TableSystem,
    Trial,
    get_system,
    system_names,
)
from headstart.benchmark.systems.tables import sampled
from headstart.errors import DataError
from headstart.tasks import Problem

FUNCTIONS = ["toy-paper", "toy-fresh", "forrester-paper", "forrester-fresh"]
GENERATED = ["unrelated", "inverted", "outlier", "offset-scale", "noisy"]
TABLES = [name for name in system_names() if name not in [*FUNCTIONS, *GENERATED]]
SEVERAL = {"suzuki": 12, "cn-coupling": 8, "arylation": 1, "electrolytes": 1}  # rows of the least task held out
LOW_FIDELITY = [0.5, 10.0, -5.0]

each_function = pytest.mark.parametrize("name", FUNCTIONS)
each_table = pytest.mark.parametrize("name", TABLES)
each_generated = pytest.mark.parametrize("name", GENERATED)
each_with_several = pytest.mark.parametrize("name", SEVERAL)


# The families, as the paper writes them (section "Systems")


def paper_toy(x: float, theta: np.ndarray) -> float:
    z = theta[0] + 4 * x - 4
    return 0.1 * math.pow(z, 4) - z * z + (2.0 + theta[1]) * math.sin(2 * z)


def paper_forrester(x: float, theta: np.ndarray) -> float:
    return theta[0] * forrester_2007(x) + theta[1] * (x - 0.5) + theta[2]


def forrester_2007(x: float) -> float:
    return math.pow(6 * x - 2, 2) * math.sin(12 * x - 4)


def expected_thetas(name: str, seed: int) -> np.ndarray:
    """The recipe of the published comparisons, row 0 the current task."""
    if name == "toy-paper":
        return np.random.RandomState(42).rand(1000, 2)[:6]
    if name == "forrester-paper":
        drawn = [0, 0, -5] + np.array([1, 10, 5]) * np.random.RandomState(42).rand(998, 3)
        return np.vstack([[1, 0, 0], LOW_FIDELITY, drawn])[:6]
    random = np.random.RandomState(10_000 + seed)
    if name == "toy-fresh":
        return random.rand(6, 2)
    thetas = [0, 0, -5] + np.array([1, 10, 10]) * random.rand(6, 3)
    return np.vstack([[1, 0, 0], LOW_FIDELITY, thetas[2:]])


def family_of(name: str):
    return paper_toy if name.startswith("toy") else paper_forrester


def values(name: str, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.array([family_of(name)(float(each), theta) for each in x])


@pytest.mark.parametrize("seed", [0, 1, 7])
@each_function
def test_legacy_rows_follow_the_recipe(name: str, seed: int) -> None:
    trial = get_system(name).trial("current", seed)
    thetas = expected_thetas(name, seed)
    random = np.random.RandomState(seed)
    assert trial.legacy_task.tolist() == [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5 + [4] * 5
    assert trial.tasks == 5
    for task in range(5):
        x = trial.legacy_x[trial.legacy_task == task]
        assert np.array_equal(x, random.rand(5, 1))
        expected = values(name, x[:, 0], thetas[task + 1])
        np.testing.assert_allclose(trial.legacy_y[trial.legacy_task == task], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 3])
@each_function
def test_the_current_task_is_judged_on_its_function(name: str, seed: int) -> None:
    trial = get_system(name).trial("current", seed)
    theta = expected_thetas(name, seed)[0]
    assert np.array_equal(trial.x, np.linspace(0, 1, 401)[:, None])
    np.testing.assert_allclose(trial.y, values(name, trial.x[:, 0], theta), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(trial.order_y, values(name, trial.order_x[:, 0], theta), rtol=1e-12, atol=1e-12)
    assert trial.function is not None
    points = np.random.default_rng(0).random((50, 1))
    np.testing.assert_allclose(trial.function(points), values(name, points[:, 0], theta), rtol=1e-12, atol=1e-12)
    assert (trial.order_x >= 0).all()
    assert (trial.order_x <= 1).all()
    assert trial.sign == -1
    assert trial.spread == pytest.approx(max(trial.y) - min(trial.y))


@pytest.mark.parametrize("seed", range(12))
@each_function
def test_no_value_is_below_the_optimum_which_is_attained(name: str, seed: int) -> None:
    trial = get_system(name).trial("current", seed)
    theta = expected_thetas(name, seed)[0]
    assert trial.function is not None
    fine = trial.function(np.linspace(0, 1, 100_001)[:, None])
    assert fine.min() >= trial.optimum - 1e-12
    # Between two points 1e-5 apart, a second derivative below 2000 makes a difference below 1e-7.
    assert fine.min() - trial.optimum < 1e-7
    found = optimize.differential_evolution(lambda x: family_of(name)(x[0], theta), [(0, 1)], rng=0, tol=1e-10)
    assert trial.optimum == pytest.approx(found.fun, abs=1e-8)


@pytest.mark.parametrize("variant", ["paper", "fresh"])
def test_the_current_forrester_task_is_the_published_one(variant: str) -> None:
    trial = get_system(f"forrester-{variant}").trial("current", 5)
    assert trial.optimum == pytest.approx(-6.0207, abs=5e-5)
    assert trial.x[trial.y.argmin(), 0] == pytest.approx(0.7572, abs=1 / 800)
    np.testing.assert_allclose(trial.y, [forrester_2007(x) for x in trial.x[:, 0]], rtol=1e-12, atol=1e-12)


def solved_thetas(seed: int, variant: str) -> np.ndarray:
    """Parameters of the legacy tasks of Forrester, read off the rows, in which they are linear."""
    trial = get_system(f"forrester-{variant}").trial("current", seed)
    found = []
    for task in range(5):
        x = trial.legacy_x[trial.legacy_task == task, 0]
        basis = np.column_stack([[forrester_2007(each) for each in x], x - 0.5, np.ones(5)])
        found.append(np.linalg.lstsq(basis, trial.legacy_y[trial.legacy_task == task], rcond=None)[0])
    return np.array(found)


@pytest.mark.parametrize("variant", ["paper", "fresh"])
def test_the_low_fidelity_function_is_always_a_legacy_task(variant: str) -> None:
    for seed in range(20):
        np.testing.assert_allclose(solved_thetas(seed, variant)[0], LOW_FIDELITY, atol=1e-6)


def test_fresh_tasks_fill_the_box_of_the_text_and_the_papers_code_half_of_it() -> None:
    fresh = np.concatenate([solved_thetas(seed, "fresh")[1:] for seed in range(50)])
    low, high = fresh.min(0), fresh.max(0)
    assert (low >= np.array([0, 0, -5]) - 1e-6).all()
    assert (high <= np.array([1, 10, 5]) + 1e-6).all()
    np.testing.assert_allclose(low, [0, 0, -5], atol=0.3)
    np.testing.assert_allclose(high, [1, 10, 5], atol=0.3)
    paper = solved_thetas(0, "paper")
    assert (paper[:, 2] <= 0).all()
    for seed in range(1, 5):  # the same tasks for all seeds, at other inputs
        np.testing.assert_allclose(solved_thetas(seed, "paper"), paper, atol=1e-6)


@each_function
def test_a_seed_draws_the_same_trial_again_and_another_seed_another(name: str) -> None:
    system = get_system(name)
    first, again, other = (system.trial("current", seed) for seed in (4, 4, 5))
    assert np.array_equal(first.legacy_y, again.legacy_y)
    assert np.array_equal(first.order_x, again.order_x)
    assert not np.array_equal(first.legacy_x, other.legacy_x)
    assert not np.array_equal(first.order_x, other.order_x)


@pytest.mark.parametrize(("family", "variant"), [("toy", "new"), ("branin", "fresh")])
def test_an_unknown_family_or_variant_is_refused(family: str, variant: str) -> None:
    with pytest.raises(DataError, match=rf"{family}-{variant}.*toy or forrester, and paper or fresh"):
        FunctionSystem(family, variant)


# Tables


@cache
def expected_rows(name: str) -> pd.DataFrame:
    """The system's rows as columns task, g0, ..., x0, ..., y: complete, and the first that has these inputs."""
    system = get_system(name)
    assert isinstance(system, TableSystem)
    general, inputs = [*system.problem.general], [*system.problem.inputs]
    table = system.table[[*general, *inputs, system.problem.objective]]
    seen, rows = set(), []
    for row in table.itertuples(index=False):
        if not any(pd.isna(cell) for cell in row) and tuple(row[:-1]) not in seen:
            seen.add(tuple(row[:-1]))
            rows.append(row)
    frame = pd.DataFrame(rows)
    levels = [f"g{i}" for i in range(len(general))]
    frame.columns = [*levels, *(f"x{i}" for i in range(len(inputs))), "y"]
    frame.insert(0, "task", [" + ".join(map(str, row)) for row in frame[levels].itertuples(index=False)])
    return frame


def unit(frame: pd.DataFrame, whole: pd.DataFrame) -> np.ndarray:
    """The inputs, from 0 at the smallest of the whole table to 1 at the largest."""
    x, everything = (each[[c for c in whole if c.startswith("x")]].to_numpy(float) for each in (frame, whole))
    low, high = everything.min(0), everything.max(0)
    return (x - low) / np.where(high > low, high - low, 1)


def is_row_of(x: np.ndarray, others: np.ndarray) -> np.ndarray:
    return (x[:, None] == others[None]).all(-1).any(-1)


@each_table
def test_every_task_is_held_out_of_the_others(name: str) -> None:
    system, whole = get_system(name), expected_rows(name)
    tasks = [*whole["task"].unique()]
    counts, kinds = whole["task"].value_counts(), whole.groupby("task")["y"].nunique()
    assert [*system.tasks] == [task for task in tasks if counts[task] >= SEVERAL.get(name, 1) and kinds[task] > 1]
    sign = 1 if system.problem.goal == "maximize" else -1
    rows = {task: (unit(frame, whole), frame["y"]) for task, frame in whole.groupby("task")}
    for held_out in system.tasks:
        trial = system.trial(held_out, seed=0)
        x, y = rows[held_out]
        np.testing.assert_allclose(trial.x, x, atol=1e-12)
        assert trial.y.tolist() == y.tolist()
        assert trial.optimum == (max(y) if sign > 0 else min(y))
        assert trial.sign == sign
        assert trial.spread == pytest.approx(max(y) - min(y))
        assert (trial.spread > 0) == (y.nunique() > 1)
        assert trial.function is None
        # The legacy rows are all rows of the other tasks, in codes without gaps.
        others = [task for task in tasks if task != held_out]
        assert trial.tasks == len(others)
        assert len(trial.legacy_y) + len(trial.y) == len(whole)
        assert np.array_equal(np.unique(trial.legacy_task), np.arange(len(others)))
        for code, task in enumerate(others):
            x, y = rows[task]
            is_its = trial.legacy_task == code
            assert np.allclose(trial.legacy_x[is_its], x, rtol=0, atol=1e-12)
            assert np.array_equal(trial.legacy_y[is_its], y)


@each_table
def test_inputs_fill_the_unit_cube(name: str) -> None:
    system = get_system(name)
    trial = system.trial(system.tasks[0], seed=0)
    x = np.concatenate([trial.legacy_x, trial.x])
    assert np.array_equal(x.min(0), np.zeros(x.shape[1]))
    assert np.array_equal(x.max(0), np.ones(x.shape[1]))


@each_table
def test_no_two_rows_of_a_task_are_one_design(name: str) -> None:
    """Designs that are equal to the eye of a search, which takes 1e-6 for rounding, would end a trial too early."""
    system = get_system(name)
    for task in system.tasks:
        assert pdist(system.trial(task, seed=0).x, "chebyshev").min() > 1e-6


@pytest.mark.parametrize("name", system_names())
def test_rows_that_were_learned_are_not_judged(name: str) -> None:
    system = get_system(name)
    for task in system.tasks[:6]:
        trial = system.trial(task, seed=3)
        for count in (0, 1, 5, 7):
            x, y = trial.judged(count)
            assert len(x) == len(y) > 0
            assert not is_row_of(x, trial.order_x[:count]).any()
            if trial.function is None:
                together = np.concatenate([trial.order_y[:count], y])
                assert sorted(together) == sorted(trial.y)


@each_table
def test_a_seed_shuffles_the_order_of_learning_alone(name: str) -> None:
    system = get_system(name)
    task = system.tasks[-1]
    first, again, other = (system.trial(task, seed) for seed in (0, 0, 1))
    assert np.array_equal(first.order_y, again.order_y)
    assert not np.array_equal(first.order_x, other.order_x)
    assert np.array_equal(first.x, other.x)
    assert np.array_equal(first.legacy_y, other.legacy_y)
    outcome = {tuple(x): y for x, y in zip(first.x, first.y, strict=True)}
    assert [outcome[tuple(x)] for x in other.order_x] == other.order_y.tolist()


# Several general inputs


@each_with_several
def test_codes_are_those_of_the_table(name: str) -> None:
    """Equal levels have equal codes, different ones different codes, in legacy and current rows alike."""
    system, whole = get_system(name), expected_rows(name)
    levels = [column for column in whole if column.startswith("g")]
    assert len(levels) > 1
    for held_out in system.tasks[:10]:
        trial = system.trial(held_out, seed=0)
        is_current = (whole["task"] == held_out).to_numpy()
        assert trial.legacy_levels is not None
        assert np.array_equal(trial.legacy_codes, trial.legacy_levels)
        assert trial.legacy_codes.shape == ((~is_current).sum(), len(levels))
        for g, column in enumerate(levels):
            legacy = whole.loc[~is_current, column]
            pairs = {*zip(legacy, trial.legacy_codes[:, g], strict=True)}
            assert len(pairs) == legacy.nunique() == len(np.unique(trial.legacy_codes[:, g]))
            # Codes have no gaps, and a level that no legacy row has is the next one.
            assert sorted(code for _, code in pairs) == [*range(len(pairs))]
            [current] = whole.loc[is_current, column].unique()
            assert trial.current_codes[g] == dict(pairs).get(current, len(pairs))


def several(least: int = 1) -> TableSystem:
    """Two machines and three materials; the third material is seen on machine b alone."""
    table = pd.DataFrame(
        {
            "machine": [*"aaabbbb"],
            "material": [1, 1, 2, 2, 3, 3, 1],
            "x": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.5],
            "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        }
    )
    problem = Problem(inputs=["x"], general=["machine", "material"], objective="y")
    return TableSystem("several", table, problem, least)


def test_a_task_is_a_combination_of_levels() -> None:
    system = several()
    assert system.tasks == ("a + 1", "a + 2", "b + 2", "b + 3", "b + 1")
    trial = system.trial("b + 1", seed=0)
    assert trial.y.tolist() == [7.0]
    assert trial.legacy_task.tolist() == [0, 0, 1, 2, 3, 3]
    assert trial.legacy_codes.tolist() == [[0, 0], [0, 0], [0, 1], [1, 1], [1, 2], [1, 2]]
    assert trial.current_codes == (1, 0)  # both levels are known, the combination is new


def test_a_level_without_legacy_rows_comes_last() -> None:
    trial = several().trial("b + 3", seed=0)
    assert trial.legacy_codes.tolist() == [[0, 0], [0, 0], [0, 1], [1, 1], [1, 0]]
    assert trial.current_codes == (1, 2)


def test_small_tasks_are_legacy_but_not_held_out() -> None:
    system = several(least=2)
    assert system.tasks == ("a + 1", "b + 3")
    assert system.trial("a + 1", seed=0).legacy_y.tolist() == [3.0, 4.0, 5.0, 6.0, 7.0]
    with pytest.raises(DataError, match=r"no task 'b \+ 1'"):
        system.trial("b + 1", seed=0)


def test_combined_levels_are_one_general_input() -> None:
    trial = several().trial("b + 1", seed=0)
    combined = trial.combined()
    assert combined.legacy_codes.tolist() == [[0], [0], [1], [2], [3], [3]]
    assert combined.current_codes == (4,)
    assert combined.legacy_levels is None
    for name in ("legacy_x", "legacy_task", "legacy_y", "order_x", "order_y", "x", "y"):
        assert getattr(combined, name) is getattr(trial, name)


def test_of_one_general_input_the_task_is_the_level() -> None:
    trial = get_system("pump").trial("double_suction", seed=0)
    assert trial.legacy_codes[:, 0].tolist() == trial.legacy_task.tolist()
    assert trial.current_codes == (trial.tasks,)


# Generated families


GRID = np.linspace(0, 1, 401)


def functions(name: str, seed: int) -> list[np.ndarray]:
    """The current task and its legacy tasks on the grid, without noise."""
    random = np.random.default_rng([seed, GENERATED.index(name)])
    return [f(GRID) for f in GeneratedSystem(name)._functions(random)]


def correlations(name: str, seeds: range = range(20)) -> np.ndarray:
    """Of legacy tasks with the current one, a row a seed."""
    return np.array([np.corrcoef(functions(name, seed))[0, 1:] for seed in seeds])


@each_generated
def test_a_generated_trial_is_of_its_functions(name: str) -> None:
    for seed in range(3):
        trial = get_system(name).trial("current", seed)
        current, *legacy = functions(name, seed)
        assert trial.x[:, 0].tolist() == GRID.tolist()
        np.testing.assert_allclose(trial.y, current, atol=1e-12)
        assert trial.function is not None
        np.testing.assert_allclose(trial.function(trial.x), current, atol=1e-12)
        assert trial.legacy_task.tolist() == [t for t in range(5) for _ in range(8)]
        assert (trial.sign, len(trial.order_y)) == (-1, 10)
        assert ((trial.legacy_x >= 0) & (trial.legacy_x <= 1)).all()
        if name != "noisy":
            for task, values in enumerate(legacy):
                is_its = trial.legacy_task == task
                between = np.interp(trial.legacy_x[is_its, 0], GRID, values)
                np.testing.assert_allclose(trial.legacy_y[is_its], between, atol=2e-3)
            np.testing.assert_allclose(trial.order_y, trial.function(trial.order_x), atol=1e-12)
            assert np.array_equal(trial.judged(3)[1], trial.y)


@each_generated
def test_the_optimum_of_a_generated_task_is_its_least_value(name: str) -> None:
    for seed in range(4):
        trial = get_system(name).trial("current", seed)
        assert trial.function is not None
        fine = trial.function(np.linspace(0, 1, 20_001)[:, None])
        assert 0 <= fine.min() - trial.optimum + 1e-12 < 1e-5
        assert trial.spread == pytest.approx(max(trial.y) - min(trial.y))


@each_generated
def test_a_seed_draws_the_same_generated_trial_again_and_another_seed_another(name: str) -> None:
    first, again, other = (get_system(name).trial("current", seed) for seed in (4, 4, 5))
    for part in ("legacy_x", "legacy_y", "order_y", "y", "judged_y"):
        assert np.array_equal(getattr(first, part), getattr(again, part))
        assert not np.array_equal(getattr(first, part), getattr(other, part))


def test_generated_functions_are_draws_of_a_smooth_gp() -> None:
    """Mean 0, variance 1, and the covariance of an RBF kernel of length scale 0.2."""
    drawn = np.array([f for seed in range(150) for f in functions("unrelated", seed)])
    assert drawn.mean() == pytest.approx(0, abs=0.08)
    assert drawn.var() == pytest.approx(1, abs=0.08)
    for lag in (40, 80, 160):  # 0.1, 0.2, 0.4
        expected = np.exp(-((lag / 400 / 0.2) ** 2) / 2)
        assert np.mean(drawn[:, lag:] * drawn[:, :-lag]) == pytest.approx(expected, abs=0.08)


def test_unrelated_tasks_have_nothing_to_do_with_each_other() -> None:
    found = correlations("unrelated", range(60))
    assert abs(found.mean()) < 0.1
    assert found.std() > 0.2  # a short function correlates with any other by chance


def test_inverted_tasks_are_the_current_one_upside_down() -> None:
    assert (correlations("inverted") < -0.7).all()
    drawn = np.array([functions("inverted", seed) for seed in range(60)])
    assert np.var(drawn[:, 1:] + drawn[:, :1]) == pytest.approx(0.04, rel=0.15)


def test_one_of_the_tasks_is_an_outlier() -> None:
    drawn = np.array([functions("outlier", seed) for seed in range(60)])
    current, outlier, related = drawn[:, :1], drawn[:, 1], drawn[:, 2:]
    assert related.shape[1] == 4
    assert np.var(related - current) == pytest.approx(0.04, rel=0.15)
    assert np.var(outlier) == pytest.approx(4, rel=0.25)
    assert abs(correlations("outlier", range(60))[:, 0].mean()) < 0.2


def test_tasks_of_offset_and_scale_are_affine_maps_of_each_other() -> None:
    slopes, offsets = [], []
    for seed in range(60):
        current, *legacy = functions("offset-scale", seed)
        for task in legacy:
            slope, offset = np.polyfit(current, task, 1)
            np.testing.assert_allclose(task, slope * current + offset, atol=1e-9)
            assert 0.1 <= slope <= 10  # a ratio of two slopes from 0.3 to 3
            slopes.append(slope)
            offsets.append(offset)
    assert min(slopes) < 0.3
    assert max(slopes) > 3
    assert np.mean(np.log(slopes)) == pytest.approx(0, abs=0.4)
    assert np.ptp(offsets) > 10


def test_noisy_measurements_scatter_around_related_functions() -> None:
    assert (correlations("noisy") > 0.7).all()
    legacy, current, judged = [], [], []
    for seed in range(60):
        trial = get_system("noisy").trial("current", seed)
        truth, *others = functions("noisy", seed)
        assert trial.noise == 0.3
        np.testing.assert_allclose(trial.y, truth, atol=1e-12)  # regret counts the function itself
        x = trial.legacy_x[:, 0]
        legacy.append(trial.legacy_y - [np.interp(x[i], GRID, others[trial.legacy_task[i]]) for i in range(40)])
        current.append(trial.order_y - np.interp(trial.order_x[:, 0], GRID, truth))
        x, y = trial.judged(5)
        assert x is trial.x
        judged.append(y - truth)
    for noise in (legacy, current, judged):
        assert np.mean(noise) == pytest.approx(0, abs=0.05)
        assert np.var(noise) == pytest.approx(0.09, rel=0.15)
    assert abs(np.corrcoef(np.ravel(judged)[:-1], np.ravel(judged)[1:])[0, 1]) < 0.05


def test_an_unknown_generated_system_is_refused() -> None:
    with pytest.raises(DataError, match=r"'hopeless'.*unrelated, inverted"):
        GeneratedSystem("hopeless")


def sizes(name: str) -> list[int]:
    system = get_system(name)
    return [len(system.trial(task, seed=0).y) for task in system.tasks]


@each_table
def test_no_task_that_is_held_out_is_flat(name: str) -> None:
    system = get_system(name)
    assert all(system.trial(task, seed=0).spread > 0 for task in system.tasks)


def test_the_shapes_of_other_systems() -> None:
    assert sizes("lpbf-sample") == [40] * 6
    assert sizes("arylation") == [9] * 40  # eight of 48 yield nothing, and are legacy alone
    assert sizes("electrolytes") == [20] * 14
    assert sizes("adaboost") == [20] * 20
    assert min(sizes("suzuki")) >= 12
    assert min(sizes("cn-coupling")) >= 8


def test_the_shapes_are_the_papers() -> None:
    assert sizes("additive") == [24] * 35
    assert get_system("additive").trial(get_system("additive").tasks[0], 0).x.shape[1] == 4
    assert sizes("pump") == [55, 11, 24, 37, 18, 45]
    assert get_system("pump").trial("double_suction", 0).x.shape[1] == 7


def test_meltpool_has_every_alloy_with_enough_rows() -> None:
    table = datasets.load("meltpool_geometry")
    inputs = ["power_w", "velocity_mm_s", "beam_diameter_um", "layer_thickness_um"]
    complete = table.dropna(subset=[*inputs, "melt_pool_depth_um"])
    enough = {alloy for alloy, rows in complete.groupby("alloy") if len(rows[inputs].drop_duplicates()) >= 24}
    assert set(get_system("meltpool").tasks) == enough
    assert sizes("meltpool") == [24] * len(enough)


def small_table() -> pd.DataFrame:
    """Task 7 has a row that repeats another's inputs, one without outcome and one without input."""
    return pd.DataFrame(
        {
            "task": [9, 7, 7, 7, 7, 7, 9, 8, 8],
            "x": [10.0, 10.0, 20.0, 20.0, 30.0, np.nan, 30.0, 20.0, 25.0],
            "constant": 3.0,
            "y": [1.0, 2.0, 3.0, -9.0, np.nan, 4.0, 5.0, 6.0, 7.0],
        }
    )


@pytest.mark.parametrize(("goal", "sign", "optimum"), [("maximize", 1, 3.0), ("minimize", -1, 2.0)])
def test_of_repeated_designs_the_first_counts(goal: str, sign: int, optimum: float) -> None:
    system = TableSystem(
        "small", small_table(), Problem(inputs=["x", "constant"], general="task", objective="y", goal=goal)
    )
    assert system.tasks == ("9", "7", "8")
    trial = system.trial("7", seed=0)
    assert trial.y.tolist() == [2.0, 3.0]
    assert trial.x[:, 0].tolist() == [0.0, 0.5]
    assert trial.x[0, 1] == trial.x[1, 1]  # a constant input says nothing, but is in the cube
    assert 0 <= trial.x[0, 1] <= 1
    assert trial.legacy_y.tolist() == [1.0, 5.0, 6.0, 7.0]
    assert trial.legacy_task.tolist() == [0, 0, 1, 1]
    assert (trial.sign, trial.optimum, trial.spread) == (sign, optimum, 1.0)


def test_sampling_takes_different_complete_rows_of_tasks_that_have_enough() -> None:
    table = small_table().assign(row=range(9))
    drawn = sampled(table, "task", 2, needed=["x", "constant", "y"])
    assert drawn.groupby("task").size().to_dict() == {7: 2, 8: 2, 9: 2}
    assert drawn.loc[drawn["task"] == 7, "y"].tolist() == [2.0, 3.0]
    assert drawn["row"].is_monotonic_increasing
    many = pd.DataFrame({"task": "a", "x": np.arange(100.0), "y": 0.0})
    first, again, other = (sampled(many, "task", 10, needed=["x", "y"], seed=seed) for seed in (0, 0, 1))
    assert first.equals(again)
    assert not first.equals(other)
    assert sampled(many, "task", 101, needed=["x", "y"]).empty


# Names


@pytest.mark.parametrize("name", system_names())
def test_every_name_loads_its_system(name: str) -> None:
    system = get_system(name)
    assert system.name == name
    assert isinstance(system.trial(system.tasks[-1], seed=0), Trial)


def test_an_unknown_system_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DataError, match=r"'toy_fresh'.*Did you mean 'toy-fresh'") as caught:
        get_system("toy_fresh")
    assert all(name in str(caught.value) for name in system_names())


@pytest.mark.parametrize("name", system_names())
def test_an_unknown_task_is_refused_with_the_known_ones(name: str) -> None:
    system = get_system(name)
    with pytest.raises(DataError, match=f"{name} has no task 'nonsense'") as caught:
        system.trial("nonsense", seed=0)
    assert all(task in str(caught.value) for task in system.tasks)
