"""Tables become arrays once, here, and tasks become codes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError, ProblemError
from headstart.tasks import Levels, Problem, Rows, rows_from_frame, task_codes

PROBLEM = Problem(inputs={"flow": (0, 30), "speed": (0, 1)}, general=["pump", "fluid"], objective="head")
NONE = Levels.none(PROBLEM)
ARCHIVE = pd.DataFrame(
    {
        "remark": ["", None, "leaks"],
        "head": [4.9, 4.7, 5.0],
        "speed": [1, 2, 3],
        "fluid": ["water", "oil", "oil"],
        "pump": ["B", "A", "B"],
        "flow": ["10", "20", "99"],
    }
)


def test_arrays_are_in_the_problems_order() -> None:
    rows, levels = rows_from_frame(ARCHIVE, PROBLEM, NONE, with_objective=True)
    assert len(rows) == 3
    assert rows.inputs.tolist() == [[10, 1], [20, 2], [99, 3]]
    assert rows.codes.tolist() == [[0, 0], [1, 1], [0, 1]]
    assert rows.objective.tolist() == [4.9, 4.7, 5.0]
    assert (rows.inputs.dtype, rows.codes.dtype) == (np.float64, np.int64)
    assert levels.labels == (("B", "A"), ("water", "oil"))


def test_arrays_can_become_tensors() -> None:
    rows, _ = rows_from_frame(ARCHIVE, PROBLEM, NONE, with_objective=True)
    for array in (rows.inputs, rows.codes, rows.objective):
        torch.from_numpy(array)  # warns, and so fails here, of an array that is read-only


def test_objective_is_neither_needed_nor_read_for_candidates() -> None:
    table = ARCHIVE.assign(head="not measured")
    for candidates in (table, table.drop(columns="head")):
        rows, _ = rows_from_frame(candidates, PROBLEM, NONE, with_objective=False)
        assert rows.objective is None
    with pytest.raises(DataError, match="'not measured' in row 0"):
        rows_from_frame(table, PROBLEM, NONE, with_objective=True)
    with pytest.raises(DataError, match="no column 'head'"):
        rows_from_frame(table.drop(columns="head"), PROBLEM, NONE, with_objective=True)


def test_frame_is_left_as_it_was() -> None:
    before = ARCHIVE.copy(deep=True)
    task = {"pump": "new", "fluid": "oil"}
    table = ARCHIVE.drop(columns=["pump", "fluid"])
    rows_from_frame(ARCHIVE, PROBLEM, NONE, with_objective=True)
    rows_from_frame(table, PROBLEM, NONE, with_objective=True, task=task)
    pd.testing.assert_frame_equal(ARCHIVE, before)
    assert "pump" not in table


@given(st.permutations(range(3)), st.permutations(list(ARCHIVE.columns)))
def test_order_of_rows_and_columns(order: list[int], columns: list[str]) -> None:
    rows, _ = rows_from_frame(ARCHIVE, PROBLEM, NONE, with_objective=True)
    shuffled, levels = rows_from_frame(ARCHIVE.iloc[order][columns], PROBLEM, NONE, with_objective=True)
    np.testing.assert_array_equal(shuffled.inputs, rows.inputs[order])
    assert levels["pump"] == tuple(dict.fromkeys(ARCHIVE["pump"].iloc[order]))


def test_constant_columns_and_repeated_rows_are_fine() -> None:
    table = pd.concat([ARCHIVE.iloc[[0]]] * 4)
    rows, _ = rows_from_frame(table, PROBLEM, NONE, with_objective=True)
    assert np.unique(rows.inputs, axis=0).shape == (1, 2)


@pytest.mark.parametrize("empty", [[], {}, ARCHIVE.iloc[:0], pd.DataFrame()])
@pytest.mark.parametrize("task", [None, {"pump": "A", "fluid": "oil"}])
def test_empty_table(empty: Any, task: dict[str, str] | None) -> None:
    with pytest.raises(DataError, match="no rows"):
        rows_from_frame(empty, PROBLEM, NONE, with_objective=True, task=task)
    rows, levels = rows_from_frame(empty, PROBLEM, NONE, with_objective=True, task=task, allow_empty=True)
    assert rows.inputs.shape == rows.codes.shape == (0, 2)
    assert rows.objective.shape == (0,)
    assert levels == NONE


def test_empty_table_with_other_columns_is_still_an_error() -> None:
    with pytest.raises(DataError, match="no column 'flow'"):
        rows_from_frame({"flaw": []}, PROBLEM, NONE, with_objective=True, allow_empty=True)


@pytest.mark.parametrize("name", ["flow", "speed", "pump", "fluid", "head"])
def test_each_column_is_checked(name: str) -> None:
    table = ARCHIVE.astype({name: object})
    table.loc[1, name] = None
    with pytest.raises(DataError, match=f"Column '{name}' .*an empty cell in row 1"):
        rows_from_frame(table, PROBLEM, NONE, with_objective=True)
    with pytest.raises(DataError, match=f"no column '{name}'"):
        rows_from_frame(ARCHIVE.drop(columns=name), PROBLEM, NONE, with_objective=True)


def test_shapes_must_agree() -> None:
    with pytest.raises(TypeError):
        Rows(np.zeros((3, 2)), np.zeros((2, 1), dtype=np.int64))


def test_task_fills_the_general_columns_that_are_missing() -> None:
    _, levels = rows_from_frame(ARCHIVE, PROBLEM, NONE, with_objective=True)
    candidates = [{"flow": 1, "speed": 2, "fluid": "oil"}, {"flow": 3, "speed": 4, "fluid": "oil"}]
    rows, extended = rows_from_frame(
        candidates, PROBLEM, levels, with_objective=False, task={"pump": "new", "fluid": "oil"}
    )
    assert rows.codes.tolist() == [[2, 1], [2, 1]]
    assert extended["pump"] == ("B", "A", "new")


def test_table_that_contradicts_the_task() -> None:
    task = {"pump": "B", "fluid": "oil"}
    with pytest.raises(DataError, match=r"task's label 'B' .* 1 of its 3 rows .*'A' in row 1\."):
        rows_from_frame(ARCHIVE, PROBLEM, NONE, with_objective=True, task=task)
    rows, _ = rows_from_frame(ARCHIVE.iloc[2:], PROBLEM, NONE, with_objective=True, task=task)
    assert rows.codes.tolist() == [[0, 0]]


def test_numbered_task_agrees_with_a_numbered_column() -> None:
    problem = Problem(inputs=["x"], general="batch", objective="y")
    table = {"x": [1, 2], "batch": [7.0, 7.0]}
    rows, levels = rows_from_frame(table, problem, Levels.none(problem), with_objective=False, task={"batch": 7})
    assert (rows.codes.tolist(), levels["batch"]) == ([[0], [0]], ("7",))


def test_task_codes() -> None:
    _, levels = rows_from_frame(ARCHIVE, PROBLEM, NONE, with_objective=True)
    codes, same = task_codes({"fluid": "oil", "pump": "A"}, PROBLEM, levels)
    assert codes.tolist() == [1, 1]
    assert same == levels
    codes, extended = task_codes({"fluid": 7.0, "pump": "C"}, PROBLEM, levels)
    assert codes.tolist() == [2, 2]
    assert extended.labels == (("B", "A", "C"), ("water", "oil", "7"))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"pumps": "A", "fluid": "oil"}, "'pumps', which is not a general input. Did you mean 'p"),
        ({"pump": "A", "fluid": "oil", "flow": 3}, "'flow', which is not a general input"),
        ({"pump": "A"}, "does not say which 'fluid' it is of. Write task={'pump': ..., 'fluid'"),
        ({"pump": None, "fluid": "oil"}, "'pump' must be a label, text or a number, not None"),
        ({"pump": "A", "fluid": ["oil"]}, "'fluid' must be a label, text or a number, not ['oil']"),
        ({"pump": " ", "fluid": "oil"}, "not ' '"),
        ("A", "not 'A'"),
    ],
)
def test_badly_stated_task(task: Any, words: str) -> None:
    with pytest.raises(ProblemError) as raised:
        task_codes(task, PROBLEM, NONE)
    assert words in str(raised.value)
    with pytest.raises(ProblemError):
        rows_from_frame(ARCHIVE, PROBLEM, NONE, with_objective=True, task=task)
