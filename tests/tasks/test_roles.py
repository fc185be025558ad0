"""Roles are taken from the user, else from the table, and each choice is told with its reason."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headstart.errors import DataError, ProblemError
from headstart.tasks import Levels, Problem, infer_roles, rows_from_frame

ARCHIVE = pd.DataFrame(
    {
        "run": [1, 2, 3, 4],
        "pump": ["A", "A", "B", "B"],
        "diameter": [30, 30, 40, 40],
        "flow": [10, 12.5, 8, 11],
        "blades": [4, 9, 5, 4],
        "gap": [1.0, np.nan, 2.0, np.nan],
        "site": ["north"] * 4,
        "sample": ["s1", "s2", "s3", "s4"],
        "pressure": [1.0] * 4,
        "day": ["2024-05-01", "2024-05-02", "2024-05-02", "2024-05-03"],
        "unnamed K": [3, 1, 4, 1],
        "note": [None] * 4,
        "head": [4.9, 5.5, 4.25, 5.0],
    }
)
STATED: dict[str, Any] = {"objective": "head", "goal": "maximize"}


def test_all_from_the_table() -> None:
    roles = infer_roles(ARCHIVE, **STATED)
    assert roles.problem == Problem(inputs={"flow": (8, 12.5), "blades": (4, 9, 1)}, general="pump", **STATED)
    assert dict(roles.ignored) == {
        "run": "numbers the rows",
        "diameter": "has one value within each task: it describes the task and was not chosen",
        "gap": "has 2 empty cells (rows 1, 3)",
        "site": "has the same label in every row",
        "sample": "has another label in every row",
        "pressure": "has the same value 1 in every row",
        "day": "holds dates",
        "unnamed K": "has no name",
        "note": "is empty",
    }
    assert roles.inferred == (
        "'pump' names the task: the only column of labels that can.",
        "'flow' is an input from 8 to 12.5, as in the table.",
        "'blades' is an input from 4 to 9 in whole numbers, as in the table.",
    )


def test_every_column_has_a_role_or_a_reason() -> None:
    roles = infer_roles(ARCHIVE, **STATED)
    used = {*roles.problem.inputs, *roles.problem.general, roles.problem.objective}
    assert used | set(roles.ignored) == set(ARCHIVE.columns)
    assert not used & set(roles.ignored)


def test_result_is_frozen_and_fits_the_table() -> None:
    roles = infer_roles(ARCHIVE, **STATED)
    with pytest.raises(FrozenInstanceError):
        roles.inferred = ()
    with pytest.raises(TypeError):
        roles.ignored["run"] = "why not"
    rows, _ = rows_from_frame(ARCHIVE, roles.problem, Levels.none(roles.problem), with_objective=True)
    assert rows.inputs.shape == (4, 2)


def test_what_the_user_says_is_taken() -> None:
    roles = infer_roles(
        ARCHIVE,
        objective="head",
        goal="minimize",
        inputs={"flow": (0, 20), "blades": None, "run": (0, 8, 2), "diameter": None},
        general=["site", "sample"],
    )
    assert dict(roles.problem.inputs) == {
        "flow": (0, 20),
        "blades": (4, 9, 1),
        "run": (0, 8, 2),
        "diameter": (30, 40, 1),
    }
    assert (roles.problem.general, roles.problem.goal) == (("site", "sample"), "minimize")
    assert roles.ignored["pump"] == "has no role given to it"
    assert [line.split()[0] for line in roles.inferred] == ["'blades'", "'diameter'"]


def test_names_may_come_one_at_a_time() -> None:
    table = ARCHIVE.assign(low=[1, 2, 3, 5])
    roles = infer_roles(table, inputs="flow", general=iter(["pump"]), ignore=iter(["run"]), **STATED)
    assert (list(roles.problem.inputs), roles.problem.general) == (["flow"], ("pump",))
    assert {"low", "run"} < set(roles.ignored)


def test_a_number_of_the_run_that_was_copied_once_names_no_task() -> None:
    table = pd.DataFrame(
        {
            "run": [f"R{row}" for row in range(11)] + ["R3"],
            "Machine no": np.repeat(["A", "B", "C"], 4),
            "flow": np.tile([0.5, 1.5, 3.0], 4),
            "head": np.arange(12.0) ** 2,
        }
    )
    roles = infer_roles(table, objective="head", goal="maximize")
    assert roles.problem.general == ("Machine no",)
    assert roles.ignored["run"] == "has another label in nearly every row"
    with pytest.raises(DataError, match=r"--general 'Machine no'\)"):  # the one with fewer labels, as a shell takes it
        infer_roles(table.assign(who=np.tile([*"vwxyz", "x"], 2)), objective="head", goal="maximize")


def test_ignored_columns_are_no_candidates() -> None:
    table = ARCHIVE.assign(operator=["x", "y", "x", "y"])
    with pytest.raises(
        DataError, match=r"'pump', 'operator'\. Say which do, as in general=\['pump'\] \(--general pump"
    ):
        infer_roles(table, **STATED)
    roles = infer_roles(table, ignore=["operator", "flow"], **STATED)
    assert list(roles.problem.inputs) == ["blades"]
    assert roles.ignored["operator"] == roles.ignored["flow"] == "was to be ignored"
    roles = infer_roles(table, ignore="pump", **STATED)
    assert roles.problem.general == ("operator",)
    assert "diameter" in roles.problem.inputs


def test_column_of_one_label_is_better_than_none() -> None:
    roles = infer_roles(ARCHIVE.drop(columns="pump"), **STATED)
    assert roles.problem.general == ("site",)
    assert "diameter" in roles.problem.inputs  # with one task nothing can be told about it


def test_two_rows_are_too_few_to_call_labels_unique_or_rows_numbered() -> None:
    roles = infer_roles({"pump": ["A", "B"], "x": [1, 2], "head": [3.0, 4.0]}, **STATED)
    assert roles.problem == Problem(inputs={"x": (1, 2, 1)}, general="pump", **STATED)


def test_whole_numbers_out_of_order_do_not_number_the_rows() -> None:
    table = {"pump": ["A", "A", "B", "B"], "x": [1, 3, 2, 4], "head": [3, 4, 5, 6]}
    assert infer_roles(table, **STATED).problem.inputs["x"] == (1, 4, 1)


def test_one_row_a_task_describes_nothing() -> None:
    table = {"pump": ["A", "B", "C", "A"], "x": [1.5, 2, 3, 4], "head": [3, 4, 5, 6]}
    assert list(infer_roles(table, **STATED).problem.inputs) == ["x"]


def test_whole_numbers_over_a_wide_range_are_continuous() -> None:
    table = {"pump": ["A", "A", "B"], "pascal": [100_000, 300_000, 200_000], "head": [3.0, 4.0, 5.0]}
    assert infer_roles(table, **STATED).problem.inputs["pascal"] == (100_000, 300_000)


def test_constant_column_asked_for_is_widened() -> None:
    roles = infer_roles(ARCHIVE, inputs=["pressure"], **STATED)
    assert roles.problem.inputs["pressure"] == (0.5, 1.5)


def test_numbers_stored_as_text_are_inputs() -> None:
    roles = infer_roles(ARCHIVE.assign(flow=["10", "12.5", "8", "11"]), **STATED)
    assert roles.problem.inputs["flow"] == (8, 12.5)


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        ({}, {"objective": "heat"}, DataError, ["no column 'heat'", "Did you mean 'head'?"]),
        ({}, {"objective": "pump"}, DataError, ["Column 'pump' must hold finite numbers", "'A' in row 0"]),
        ({"head": [1, None, 2, 3]}, {}, DataError, ["'head'", "an empty cell in row 1"]),
        ({}, {"goal": "max"}, ProblemError, ["goal must be", "Did you mean 'maximize'?"]),
        ({}, {"inputs": ["flaw"]}, DataError, ["no column 'flaw'", "Did you mean 'flow'?"]),
        ({}, {"inputs": ["pump"], "general": ["site"]}, DataError, ["Column 'pump' must hold finite", "'A' in row 0"]),
        ({}, {"inputs": ["gap"]}, DataError, ["Column 'gap'", "an empty cell in row 1"]),
        ({}, {"inputs": ["flow", "head"]}, ProblemError, ["'head' is in inputs and objective"]),
        ({}, {"general": ["pumps"]}, DataError, ["no column 'pumps'", "Did you mean 'pump'?"]),
        ({}, {"general": []}, ProblemError, ["no general inputs"]),
        ({}, {"ignore": ["flow"], "inputs": "flow"}, ProblemError, ["'flow' is to be used and to be ignored"]),
        ({}, {"ignore": ["flaw"]}, DataError, ["no column 'flaw'", "Did you mean 'flow'?"]),
        ({"flow": [1, 2, "x", 3]}, {}, DataError, ["Column 'flow'", "'x' in row 2", "ignore=['flow'] (--ignore)"]),
        ({"flow": [1, 2, np.inf, 3]}, {}, DataError, ["Column 'flow'", "inf in row 2"]),
        ({"pump": ["A", None, "B", "B"]}, {}, DataError, ["'pump'", "an empty cell in row 1"]),
        ({"pump": 1, "site": 2}, {}, DataError, ["'flow' holds numbers", "'day' holds dates", "--general"]),
        ({"flow": 1, "blades": 2}, {}, DataError, ["'flow' has the same value 1", "'gap' has 2 empty", "inputs="]),
    ],
)
def test_errors_say_what_to_do(
    change: dict[str, Any], options: dict[str, Any], error: type[Exception], words: list[str]
) -> None:
    with pytest.raises(error) as raised:
        infer_roles(ARCHIVE.assign(**change), **{**STATED, **options})
    for word in words:
        assert word in str(raised.value)


def test_names_that_are_there_twice() -> None:
    table = ARCHIVE.rename(columns={"run": "flow"})
    with pytest.raises(DataError, match="2 columns called 'flow'"):
        infer_roles(table, **STATED)
    assert list(infer_roles(table, ignore=["flow"], **STATED).problem.inputs) == ["blades"]
    with pytest.raises(DataError, match="no rows"):
        infer_roles(ARCHIVE.iloc[:0], **STATED)


def test_names_that_are_no_text() -> None:
    roles = infer_roles(ARCHIVE.rename(columns={"run": 0, "site": 1}), **STATED)
    assert (roles.ignored["0"], roles.ignored["1"]) == ("has no name", "has no name")


HOLES = pd.DataFrame(
    {
        "run": [1, 2, 3, 4, 5, 6, 7, 8],
        "pump": ["A", "A", "B", "B", "A", None, "B", "A"],
        "flow": [10, 12.5, np.nan, 11, 9, 30, 14, 8],
        "blades": [4, np.nan, 5, 4, 9, 4, 6, 5],
        "diameter": [30, 30, 40, np.nan, 30, 30, 40, 30],
        "pressure": [1, 1, 1, np.nan, 1, 1, 1, 2],
        "sample": ["s1", None, "s3", "s4", "s5", "s6", "s7", "s8"],
        "site": ["north", "north", " ", "north", "north", "north", "north", "north"],
        "note": None,
        "head": [4.9, 5.5, 4.25, 5.0, 4.8, 5.1, 4.4, None],
    },
    index=pd.RangeIndex(2, 10, name="row"),
)


def test_rows_are_the_whole_table_by_default() -> None:
    assert infer_roles(ARCHIVE, **STATED).rows is ARCHIVE
    complete = infer_roles(ARCHIVE, inputs=["flow"], drop_incomplete=True, **STATED)
    assert complete.rows is ARCHIVE
    assert complete.inferred == infer_roles(ARCHIVE, inputs=["flow"], **STATED).inferred


def test_incomplete_rows_are_left_out() -> None:
    before = HOLES.copy()
    roles = infer_roles(HOLES, drop_incomplete=True, **STATED)
    assert roles.problem == Problem(inputs={"flow": (9, 14, 1), "blades": (4, 9, 1)}, general="pump", **STATED)
    pd.testing.assert_frame_equal(roles.rows, HOLES.loc[[2, 5, 6, 8]])
    pd.testing.assert_frame_equal(HOLES, before)
    assert roles.inferred[-1] == "4 rows with an empty cell are left out: rows 3, 4, 7 and 9."
    assert dict(roles.ignored) == {
        "run": "numbers the rows",
        "diameter": "has one value within each task: it describes the task and was not chosen",
        "pressure": "has the same value 1 in every row",
        "sample": "has another label in every row",
        "site": "has the same label in every row",
        "note": "is empty",
    }
    rows, _ = rows_from_frame(roles.rows, roles.problem, Levels.none(roles.problem), with_objective=True)
    assert rows.inputs.tolist() == [[10, 4], [11, 4], [9, 9], [14, 6]]


@pytest.mark.parametrize("run", [[1, 2, None, 4, 5, 6, 7, 8], [None, 1, None, 2, 3, None, 4, 5], range(8)])
def test_numbered_rows_are_numbered_despite_gaps(run: Any) -> None:
    assert infer_roles(HOLES.assign(run=run), drop_incomplete=True, **STATED).ignored["run"] == "numbers the rows"


def test_only_columns_with_a_role_leave_rows_out() -> None:
    roles = infer_roles(HOLES, inputs=["blades"], general="site", ignore="flow", drop_incomplete=True, **STATED)
    assert roles.inferred[-1] == "3 rows with an empty cell are left out: rows 3, 4 and 9."
    roles = infer_roles(HOLES, inputs={"run": (0, 9)}, general="sample", drop_incomplete=True, **STATED)
    assert roles.inferred == ("2 rows with an empty cell are left out: rows 3 and 9.",)
    roles = infer_roles(HOLES.iloc[:7], inputs=["run"], general="pump", drop_incomplete=True, **STATED)
    assert roles.inferred[-1] == "1 row with an empty cell is left out: row 7."


def test_many_rows_left_out_are_counted() -> None:
    table = {"pump": ["A", "B"] * 10, "x": [None] * 9 + list(range(11)), "head": range(20)}
    roles = infer_roles(table, inputs="x", drop_incomplete=True, **STATED)
    assert roles.inferred[-1] == "9 rows with an empty cell are left out: rows 0, 1, 2, 3, 4 and 4 more."
    assert roles.problem.inputs["x"] == (0, 10, 1)


def test_text_where_rows_are_left_out_is_no_error_and_elsewhere_it_is() -> None:
    table = HOLES.assign(flow=[10, 12.5, 8, 11, 9, 30, 14, "leak"])
    assert "flow" in infer_roles(table, drop_incomplete=True, **STATED).problem.inputs
    with pytest.raises(DataError, match=r"Column 'flow' should hold numbers, but .*'leak' in row 9"):
        infer_roles(table.assign(head=1.0), drop_incomplete=True, **STATED)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"head": None}, {}, ["'head' in every row", "Fill them in"]),
        ({}, {"inputs": ["flow", "note"]}, ["'note' in every row", "'flow' in row 4;", "'head' in row 9;", "--ignore"]),
        (
            {"pump": ["A", "A", "B", *[None] * 5], "head": [*[None] * 3, 1, 2, 3, 4, 5]},
            {"general": "pump"},
            ["'head' in rows 2, 3 and 4; 'pump' in rows 5, 6, 7, 8 and 9."],
        ),
        (
            {"blades": [4, 9, *[None] * 6], "flow": [None, None, 1.5, 2, 3, 4, 5, 6]},
            {},
            ["'flow' in rows 2 and 3", "'blades' in rows 4, 5, 6, 7, 8 and 1 more"],
        ),
    ],
)
def test_no_row_is_left(change: dict[str, Any], options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(DataError, match="No row is left") as raised:
        infer_roles(HOLES.assign(**change), drop_incomplete=True, **STATED, **options)
    for word in words:
        assert word in str(raised.value)
