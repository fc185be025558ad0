"""A survey finds what is odd, says where, and says nothing of what is right."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.tasks import Finding, Survey, survey

CLEAN = pd.DataFrame(
    {"pump": ["A", "A", "B", "B"], "flow": [10, 12.5, 8, 11], "head": [4.9, 5.5, 4.25, 5.0]},
    index=pd.Index([2, 3, 5, 6], name="row"),
)


def found(table: Any, **options: Any) -> list[tuple[str, int | None, str | None, str]]:
    return [(f.kind, f.row, f.column, f.message) for f in survey(table, **options).findings]


def test_clean_table() -> None:
    result = survey(CLEAN)
    assert result.findings == ()
    assert result.rows == 4
    assert result.tasks == ((("A",), 2), (("B",), 2))
    pump, flow, head = result.columns
    assert (pump.kind, pump.distinct, pump.low, pump.examples) == ("text", 2, None, ("A", "B"))
    assert (flow.name, flow.kind, flow.missing, flow.low, flow.high) == ("flow", "number", 0, 8, 12.5)
    assert head.examples == ("4.9", "5.5", "4.25")


def test_replicates_that_differ_are_nothing_to_report() -> None:
    assert found(CLEAN.assign(flow=10.0, speed=[1, 2, 1, 2])) == [
        ("warning", None, "flow", "The column holds '10.0' in every row.")
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"flow": ["10", "12.5", "x", "11"]}, ("error", 5, "flow", "'x' is no number.")),
        ({"flow": [10, 12.5, "#REF!", 11]}, ("error", 5, "flow", "'#REF!' is no number.")),
        ({"flow": [10, 12.5, np.inf, 11]}, ("error", 5, "flow", "inf is not finite.")),
        ({"flow": [10, 12.5, None, 11]}, ("warning", 5, "flow", "The cell is empty.")),
        ({"pump": ["A", "A", " ", "B"]}, ("warning", 5, "pump", "The cell is empty.")),
        ({"flow": 3}, ("warning", None, "flow", "The column holds '3' in every row.")),
        ({"flow": None}, ("warning", None, "flow", "The column is empty.")),
        ({"flow": ["1", "2", "3", "4"]}, ("warning", None, "flow", "The numbers are stored as text.")),
        ({"pump": ["A", "A", "b", "B"]}, ("warning", 6, "pump", "The labels 'b' and 'B' are two.")),
        ({"pump": ["A", "A", "A ", "B"]}, ("warning", 5, "pump", "The labels 'A' and 'A ' are two.")),
        ({"pump": "A"}, ("warning", None, "pump", "There is one task only, 'A'.")),
        ({"pump": ["A", "A", "A", "B"]}, ("warning", None, "pump", "The task 'B' has a single row.")),
        ({"day": pd.Timestamp("2024-05-01")}, ("warning", None, "day", "The column holds dates, which are not used.")),
        ({"day": ["1.5.24", "2.5.24", "3.5.24", "4.5.24"]}, ("warning", None, "day", "The column holds dates, which")),
        ({"unnamed D": [3, 1, 4, 1]}, ("warning", None, "unnamed D", "The column has no name and is not used.")),
        (
            {"flow": [10, 12.5, 8000.0 * 20, 11]},
            ("warning", 5, "flow", "160000.0 is over 1000 times as large as is usual in the column (11.75)."),
        ),
    ],
)
def test_finding(change: dict[str, Any], expected: tuple[str, int | None, str, str]) -> None:
    *place, message = expected
    findings = found(CLEAN.assign(**change))
    assert [tuple(place)] == [f[:3] for f in findings if f[3].startswith(message)]


def test_what_is_wrong_with_columns_and_rows_as_a_whole() -> None:
    table = pd.concat([CLEAN, CLEAN.iloc[[0]].set_axis([9])]).rename_axis("row")
    assert found(table) == [("warning", 9, None, "The row repeats an earlier one in every cell.")]
    table = CLEAN.assign(speed=[1, 2, 4, 3]).rename(columns={"speed": "flow"})
    result = survey(table)
    assert [(f.kind, f.column, f.message) for f in result.findings] == [
        ("error", "flow", "2 columns are called 'flow'.")
    ]
    assert [column.high for column in result.columns] == [None, 12.5, 5.5, 4]
    lists = pd.DataFrame({"pump": ["A", "A", "B"], "x": [[1], [1], [2]]})
    assert [(f.row, f.column) for f in survey(lists).findings if "repeats" in f.message] == [(1, None)]


def test_many_of_a_kind_are_counted_and_errors_come_first() -> None:
    table = pd.DataFrame({"pump": ["A", "B"] * 20, "x": [None] * 8 + list(range(32)), "y": [*range(30), *"abcdefghij"]})
    findings = survey(table).findings
    assert [f.kind for f in findings] == ["error"] * 6 + ["warning"] * 6
    assert [f.row for f in findings] == [30, 31, 32, 33, 34, None, 0, 1, 2, 3, 4, None]
    assert (findings[5].message, findings[11].message) == ("The same in 5 more rows.", "The same in 3 more rows.")


def test_tasks_are_those_of_the_general_columns() -> None:
    table = CLEAN.assign(fluid=["water", "oil", None, "oil"], batch=[7.0, 7.0, 3.0, 3.0])
    assert survey(table).tasks == ()  # two columns may name the task
    assert survey(table, general=["pump", "fluid"]).tasks == ((("A", "water"), 1), (("A", "oil"), 1), (("B", "oil"), 1))
    assert survey(table, general="batch").tasks == ((("7",), 2), (("3",), 2))
    with pytest.raises(DataError, match="no column 'pumps'"):
        survey(table, general=["pumps"])
    many = pd.DataFrame({"pump": [f"p{n}" for n in range(8)], "x": range(8)})
    messages = [f.message for f in survey(many, general="pump").findings]
    assert messages[-1] == "3 more tasks have a single row."
    assert len(messages) == 6


cells = st.none() | st.floats() | st.integers() | st.text(max_size=3) | st.booleans() | st.dates()


@given(st.lists(st.tuples(cells, cells, st.sampled_from(["A", "a", "B", None])), max_size=6))
def test_any_table_can_be_surveyed_and_sent(rows: list[tuple[Any, ...]]) -> None:
    result = survey(pd.DataFrame(rows, columns=["x", "y", "pump"], dtype=object), general="pump")
    sent = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert sent["rows"] == len(rows)
    assert [column["name"] for column in sent["columns"]] == ["x", "y", "pump"]
    assert [Finding(**finding) for finding in sent["findings"]] == list(result.findings)
    assert sum(task["rows"] for task in sent["tasks"]) == sum(row[2] is not None for row in rows)


def test_empty_tables() -> None:
    assert survey(pd.DataFrame()) == Survey(0, (), (), ())
    assert [column.kind for column in survey(CLEAN.iloc[:0]).columns] == ["empty"] * 3
