"""headstart.optimize: Algorithm BO of the paper for a callable objective."""

import math
import sys

import numpy as np
import pandas as pd
import pytest
from problems import toy

import headstart as hs
from headstart.errors import ObjectiveError, ProblemError

THETA = np.random.RandomState(0).rand(6, 2)
PROBLEM = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal="minimize")
NEW = {"task": "new"}
GRID = toy(np.linspace(0, 1, 2001), THETA[5])


def legacy() -> pd.DataFrame:
    random = np.random.RandomState(1)
    tasks = [pd.DataFrame({"task": str(t), "x": x, "y": toy(x, THETA[t])}) for t in range(5) for x in [random.rand(5)]]
    return pd.concat(tasks, ignore_index=True)


def objective(x):
    return toy(x, THETA[5])


def test_the_minimum_is_found_in_few_evaluations():
    seen = []
    optimum = hs.optimize(objective, legacy(), PROBLEM, NEW, budget=5, progress=lambda h: seen.append(len(h)))
    assert optimum.value - GRID.min() < 0.01 * np.ptp(GRID)
    assert objective(optimum.inputs["x"]) == optimum.value == optimum.history["y"].min()
    assert seen == [1, 2, 3, 4, 5]
    assert list(optimum.history.columns) == ["x", "mean", "sd", "lower", "upper", "score", "y"]
    assert len(optimum.surrogate.model.train_X) == 30


def test_it_is_the_loop_of_suggest_and_observe():
    optimum = hs.optimize(objective, legacy(), PROBLEM, NEW, budget=3, seed=3)
    surrogate = hs.fit(legacy(), PROBLEM, seed=3)
    for step in range(3):
        point = surrogate.suggest(NEW, seed=3 + step)
        assert optimum.history["x"][step] == point["x"].item()
        surrogate = surrogate.observe(point.assign(y=objective(point["x"].item())), task=NEW)


def test_maximising_takes_the_largest():
    problem = hs.Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal="maximize")
    optimum = hs.optimize(objective, legacy(), problem, NEW, budget=2)
    assert optimum.value == optimum.history["y"].max()


def with_two(temperature, flow, alloy="none"):
    return (temperature, flow, alloy)


@pytest.mark.parametrize(
    ("function", "received"),
    [
        (lambda temperature, flow: (temperature, flow), (1, 2)),
        (lambda flow, temperature: (temperature, flow), (1, 2)),
        (with_two, (1, 2, "Ti")),
        (lambda flow: flow, 2),
        (lambda flow, alloy: (flow, alloy), (2, "Ti")),
        (lambda **experiment: experiment, {"temperature": 1, "flow": 2, "alloy": "Ti"}),
        (lambda row: row, {"temperature": 1, "flow": 2, "alloy": "Ti"}),
        (lambda row, /: row, {"temperature": 1, "flow": 2, "alloy": "Ti"}),
        (dict, {"temperature": 1, "flow": 2, "alloy": "Ti"}),
    ],
)
def test_how_a_function_is_called(function, received):
    from headstart.loop import _caller

    problem = hs.Problem(inputs=["temperature", "flow"], general=["alloy"], objective="y")
    assert _caller(function, problem)({"temperature": 1, "flow": 2, "alloy": "Ti"}) == received


def test_a_function_of_other_parameters():
    with pytest.raises(ProblemError, match="takes a, b, but the inputs are x"):
        hs.optimize(lambda a, b: 0.0, legacy(), PROBLEM, NEW, budget=2)


@pytest.mark.parametrize("failure", [math.nan, None, math.inf])
def test_a_failed_experiment_is_not_repeated(failure):
    values = iter([failure, 1.0, failure, 0.5])
    optimum = hs.optimize(lambda x: next(values), legacy(), PROBLEM, NEW, budget=4)
    assert optimum.history["y"].isna().tolist() == [True, False, True, False]
    assert optimum.value == 0.5
    assert optimum.history["x"].nunique() == 4


def test_nothing_but_failures():
    with pytest.raises(ProblemError, match="None of the 2"):
        hs.optimize(lambda x: math.nan, legacy(), PROBLEM, NEW, budget=2)


def test_an_exception_keeps_what_was_evaluated():
    def breaks(x, calls=[]):  # noqa: B006 - counts its calls
        calls.append(x)
        if len(calls) == 3:
            raise ConnectionError("the furnace does not answer")
        return objective(x)

    with pytest.raises(ObjectiveError, match="furnace") as error:
        hs.optimize(breaks, legacy(), PROBLEM, NEW, budget=5)
    assert len(error.value.history) == 2
    assert isinstance(error.value.__cause__, ConnectionError)


def test_it_ends_when_every_setting_was_evaluated():
    frame = legacy().assign(x=(legacy()["x"] * 5).round())
    problem = hs.Problem(inputs={"x": (0, 5, 1)}, general=["task"], objective="y", goal="minimize")
    seen = []
    optimum = hs.optimize(lambda x: seen.append(x) or float(x), frame, problem, NEW, budget=8)
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]
    assert all(type(x) is int for x in seen)
    assert optimum.value == 0.0


@pytest.mark.parametrize("budget", [0, -1])
def test_an_impossible_budget(budget):
    with pytest.raises(ProblemError, match="budget"):
        hs.optimize(objective, legacy(), PROBLEM, NEW, budget=budget)


def test_fixed_inputs_stay():
    frame = legacy().assign(pressure=np.linspace(1, 2, 25))
    problem = hs.Problem(inputs=["x", "pressure"], general=["task"], objective="y", goal="minimize")
    optimum = hs.optimize(lambda x, pressure: objective(x), frame, problem, NEW, budget=2, fixed={"pressure": 1.5})
    np.testing.assert_allclose(optimum.history["pressure"], 1.5)


def test_a_terminal_sees_progress_and_a_pipe_does_not(capsys, monkeypatch):
    hs.optimize(objective, legacy(), PROBLEM, NEW, budget=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    hs.optimize(objective, legacy(), PROBLEM, NEW, budget=1)
    assert "1/1 evaluations, best y" in capsys.readouterr().err
