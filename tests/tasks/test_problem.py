"""A problem is stated well or not at all."""

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError, ProblemError
from headstart.tasks import Problem

STATED: dict[str, Any] = {
    "inputs": {"temperature": (700, 900), "flow": None},
    "general": ["catalyst"],
    "objective": "yield",
}


finite = st.floats(-1e6, 1e6)


@st.composite
def statements(draw: st.DrawFn) -> dict[str, Any]:
    texts = st.text(min_size=1).filter(str.strip)
    names = draw(st.lists(texts, min_size=3, max_size=8, unique=True))
    split = draw(st.integers(1, len(names) - 2))
    bounds = st.none() | st.tuples(finite, st.floats(1, 1e6)).map(lambda b: (b[0], b[0] + b[1]))
    return {
        "inputs": {name: draw(bounds) for name in names[:split]},
        "general": names[split:-1],
        "objective": names[-1],
        "goal": draw(st.sampled_from(["maximize", "minimize"])),
    }


def test_normalises_what_is_given() -> None:
    problem = Problem(inputs=["flow", "speed"], general="pump", objective="head", goal="minimize")
    assert dict(problem.inputs) == {"flow": None, "speed": None}
    assert problem.general == ("pump",)
    assert problem.sign == -1
    assert Problem(inputs="flow", general=("a", "b"), objective="y").general == ("a", "b")
    columns = pd.Index(["flow", "speed"])
    assert list(Problem(inputs=columns, general="pump", objective="y").inputs) == list(columns)


@pytest.mark.parametrize("bounds", [(0, 1), [0, 1], np.array([0, 1]), (np.float32(0), True)])
def test_bounds_become_floats(bounds: Any) -> None:
    problem = Problem(inputs={"x": bounds}, general="g", objective="y")
    assert problem.inputs["x"] == (0.0, 1.0)
    assert all(type(edge) is float for edge in problem.inputs["x"])


def test_is_immutable() -> None:
    problem = Problem(**STATED)
    with pytest.raises(FrozenInstanceError):
        problem.goal = "minimize"
    with pytest.raises(TypeError):
        problem.inputs["flow"] = (0, 1)


def test_later_changes_to_what_was_given_do_not_reach_it() -> None:
    inputs = {"flow": (0, 1)}
    problem = Problem(inputs=inputs, general="pump", objective="head")
    inputs["speed"] = (0, 1)
    assert list(problem.inputs) == ["flow"]


def test_equality_respects_the_order_of_inputs() -> None:
    a = Problem(inputs=["u", "v"], general="g", objective="y")
    assert a == Problem(inputs={"u": None, "v": None}, general=["g"], objective="y")
    assert a != Problem(inputs=["v", "u"], general="g", objective="y")
    assert a != "a problem"
    assert replace(a, goal="minimize") != a


@given(statements())
def test_round_trips(stated: dict[str, Any]) -> None:
    problem = Problem(**stated)
    through_json = Problem.from_dict(json.loads(json.dumps(problem.to_dict(), sort_keys=True)))
    for same in (
        through_json,
        pickle.loads(pickle.dumps(problem)),
        copy.deepcopy(problem),
        eval(repr(problem)),
    ):
        assert same == problem
        assert hash(same) == hash(problem)


def test_from_dict_also_takes_bounds_by_name() -> None:
    assert Problem.from_dict(STATED) == Problem(**STATED)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {**STATED, "inputs": 3},
        {**STATED, "inputs": ["flow"]},
        {**STATED, "colour": "red"},
        {"inputs": {}, "general": ["g"], "objective": "y"},
        {"inputs": {"x": None}, "objective": "y"},
    ],
)
def test_from_dict_refuses_what_is_no_problem(stored: dict[str, Any]) -> None:
    with pytest.raises(ProblemError):
        Problem.from_dict(stored)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": []}, "no inputs"),
        ({"inputs": {}}, "no inputs"),
        ({"inputs": {"a", "b"}}, "fixed order"),
        ({"inputs": None}, "must be a list"),
        ({"inputs": [1, 2]}, "by text, not 1"),
        ({"inputs": {3: (0, 1)}}, "by text, not 3"),
        ({"inputs": ["flow", "flow"]}, "'flow' is twice in inputs"),
        ({"inputs": ["flow", "yield"]}, "'yield' is in inputs and objective"),
        ({"inputs": ["catalyst"]}, "'catalyst' is in inputs and general"),
        ({"general": []}, r"general=\['catalyst'\]"),
        ({"general": {"catalyst": 3}}, "must be a list"),
        ({"general": ["catalyst", None]}, "by text, not None"),
        ({"general": ["catalyst", "yield"]}, "'yield' is in general and objective"),
        ({"objective": " "}, "objective must name"),
        ({"goal": "max"}, "not 'max'. Did you mean 'maximize'"),
        ({"goal": "minimise"}, "Did you mean 'minimize'"),
        ({"goal": "best"}, "'maximize' or 'minimize', not 'best'"),
        ({"inputs": {"flow": (2, 1)}}, r"'flow' must be finite with low < high, not \(2.0, 1.0\)"),
        ({"inputs": {"flow": (1, 1)}}, "low < high"),
        ({"inputs": {"flow": (0, float("nan"))}}, "finite"),
        ({"inputs": {"flow": (float("-inf"), 0)}}, "finite"),
        ({"inputs": {"flow": (-1.7e308, 1.7e308)}}, "finite"),
        ({"inputs": {"flow": 3}}, "'flow' must be two numbers"),
        ({"inputs": {"flow": "12"}}, "two numbers"),
        ({"inputs": {"flow": (1, 2, 3, 4)}}, "two numbers"),
        ({"inputs": {"flow": (1, "high")}}, "two numbers"),
        ({"inputs": {"flow": (1, None)}}, "two numbers"),
        ({"inputs": {"flow": {1, 2}}}, "two numbers"),
    ],
)
def test_says_what_is_wrong(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Problem(**{**STATED, **change})


def test_resolved_fills_only_the_missing_bounds() -> None:
    problem = Problem(**STATED)
    resolved = problem.resolved(pd.DataFrame({"temperature": [0, 1], "flow": ["3", "7.5"]}))
    assert dict(resolved.inputs) == {"temperature": (700.0, 900.0), "flow": (3.0, 7.5)}
    assert resolved.bounds.tolist() == [[700.0, 3.0], [900.0, 7.5]]
    assert resolved.resolved(pd.DataFrame()) is resolved


@given(st.lists(finite, min_size=1))
def test_resolved_bounds_hold_the_data_and_leave_room(values: list[float]) -> None:
    problem = Problem(inputs=["x"], general="g", objective="y").resolved({"x": values})
    low, high = problem.inputs["x"]
    assert low <= min(values) <= max(values) <= high
    assert low < high


@pytest.mark.parametrize(("value", "bounds"), [(0, (-0.5, 0.5)), (-40, (-60, -20)), (1e9, None)])
def test_constant_column_is_widened(value: float, bounds: tuple[float, float] | None) -> None:
    problem = Problem(inputs=["x"], general="g", objective="y").resolved({"x": [value, value]})
    assert problem.inputs["x"] == (bounds or (0.5e9, 1.5e9))


def test_bounds_that_are_not_known() -> None:
    problem = Problem(**STATED)
    with pytest.raises(ProblemError, match=r"bounds of 'flow' are not known yet.*resolved"):
        _ = problem.bounds
    with pytest.raises(DataError, match=r"no rows to take the bounds of 'flow' from"):
        problem.resolved(pd.DataFrame({"flow": []}))
    with pytest.raises(DataError, match="no column 'flow'"):
        problem.resolved({"temperature": [1]})
