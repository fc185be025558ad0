"""Cells become finite numbers or labels, or an error that names row, column, value and fix."""

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.tasks.columns import as_frame, label, labels, numbers, require_columns


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pd.Series([1, 2]), [1, 2]),
        (pd.Series([1.5, 2], dtype="float32"), [1.5, 2]),
        (pd.Series([True, False]), [1, 0]),
        (pd.Series([1, 2], dtype="Int64"), [1, 2]),
        (pd.Series([1.5, 2], dtype="Float64"), [1.5, 2]),
        (pd.Series([True, False], dtype="boolean"), [1, 0]),
        (pd.Series(["1", " 2.5 "]), [1, 2.5]),
        (pd.Series(["1", "2e3"], dtype="string"), [1, 2000]),
        (pd.Series(["1", 2, Decimal("0.5"), True], dtype=object), [1, 2, 0.5, 1]),
        (pd.Series([3, 1, 3], dtype="category"), [3, 1, 3]),
        (pd.Series(["3", "1"], dtype="category"), [3, 1]),
        (pd.Series([2**53 + 1, 2**63 - 1]), [2.0**53, 2.0**63]),
        (pd.Series([10**30, 1], dtype=object), [1e30, 1]),
        (pd.Series([1e300, 5e-324, -0.0]), [1e300, 5e-324, 0]),
        (pd.Series([], dtype=object), []),
    ],
)
def test_numbers(cells: pd.Series, expected: list[float]) -> None:
    values = numbers(pd.DataFrame({"x": cells}), "x")
    assert values.dtype == np.float64
    assert values.tolist() == expected


def test_numbers_do_not_share_memory_with_the_frame() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    numbers(frame, "x")[0] = 9
    assert frame["x"].tolist() == [1, 2]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_as_text_are_the_same_numbers(values: list[float]) -> None:
    as_text = pd.DataFrame({"x": [repr(value) for value in values]}, dtype=object)
    np.testing.assert_allclose(numbers(as_text, "x"), values, rtol=1e-14)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1", "12,5"], ["'12,5' in row 1", "decimal=','"]),
        (["1", "1,234.5"], ["'1,234.5' in row 1", "thousands"]),
        ([1, "fast"], ["'fast' in row 1", "without a unit", "general input"]),
        (["700 C", "1"], ["'700 C' in row 0", "without a unit"]),
        ([1, ""], ["'' in row 1", "dropna(subset=['x'])"]),
        ([1.0, None], ["an empty cell in row 1", "dropna(subset=['x'])"]),
        (pd.Series([1, pd.NA], dtype="Int64"), ["an empty cell in row 1", "dropna"]),
        (pd.Series(["1", pd.NA], dtype="string"), ["an empty cell in row 1", "dropna"]),
        (pd.Series([1, None], dtype="category"), ["an empty cell in row 1", "dropna"]),
        ([1.0, float("-inf")], ["-inf in row 1", "finite value"]),
        (["1", "inf"], ["'inf' in row 1"]),
        (pd.Series([10**400, 1], dtype=object), ["1000000", "... in row 0", "finite value"]),
        ([1, 1j], ["1j in row 1", "number first"]),
        (pd.Series([1, 1j], dtype=object), ["1j in row 1", "number first"]),
        (pd.to_datetime(["2024-01-01"]), ["Timestamp('2024-01-01 00:00:00')", "for a date"]),
        (pd.to_datetime(["2024-01-01"]).astype("category"), ["Timestamp(", "for a date"]),
        (pd.to_timedelta(["1h"]), ["Timedelta(", "number first"]),
        ([date(2024, 1, 1)], ["datetime.date(2024, 1, 1) in row 0", "for a date"]),
        ([[1], [2]], ["[1] in row 0, [2] in row 1", "number first"]),
    ],
)
def test_no_number_is_named(cells: Any, words: list[str]) -> None:
    with pytest.raises(DataError) as raised:
        numbers(pd.DataFrame({"x": cells}), "x")
    for word in ["Column 'x' must hold finite numbers", *words]:
        assert word in str(raised.value)


def test_first_offenders_are_listed_and_all_counted() -> None:
    frame = pd.DataFrame({"x": [1.0, *[np.nan] * 5]}, index=list("abcdef"))
    with pytest.raises(DataError) as raised:
        numbers(frame, "x")
    assert "5 of its 6 rows do not: an empty cell in row 'b' (position 1)" in str(raised.value)
    assert "row 'd' (position 3), and 2 more." in str(raised.value)
    assert "row 'e'" not in str(raised.value)


def test_index_labels_that_repeat_or_are_shifted() -> None:
    frame = pd.DataFrame({"x": [1, 2, np.nan]}, index=[7, 7, 7])
    with pytest.raises(DataError, match=r"row 7 \(position 2\)"):
        numbers(frame, "x")


def test_rows_of_a_file_go_by_their_number_alone() -> None:
    frame = pd.DataFrame({"x": [1, np.nan]}, index=pd.Index([2, 17], name="row"))
    with pytest.raises(DataError, match=r"an empty cell in row 17\. "):
        numbers(frame, "x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (" a ", " a "),
        ("1", "1"),
        ("1.0", "1.0"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (np.int8(1), "1"),
        (np.float32(0.1), "0.1"),
        (0.1, "0.1"),
        (1e22, "1" + "0" * 22),
        (10**400, "1" + "0" * 400),
        (float("inf"), "inf"),
        (True, "True"),
        (np.bool_(False), "False"),
        (pd.Timestamp("2024-01-01"), "2024-01-01 00:00:00"),
        ("", None),
        (" \t", None),
        (None, None),
        (np.nan, None),
        (pd.NA, None),
        (pd.NaT, None),
        ([1], None),
        ({"a": 1}, None),
        (np.array([1, 2]), None),
    ],
)
def test_label(value: object, text: str | None) -> None:
    assert label(value) == text


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pd.Series(["b", "a", "b"]), ["b", "a", "b"]),
        (pd.Series(["b", "a", "b"], dtype=object), ["b", "a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="string"), ["b", "a", "b"]),
        (pd.Series(["b", "a", "b"], dtype=pd.CategoricalDtype(["a", "b", "c"])), ["b", "a", "b"]),
        (pd.Series([2.0, 1.0, 0.5]), ["2", "1", "0.5"]),
        (pd.Series([2, 1], dtype="Int64"), ["2", "1"]),
        (pd.Series([True, False]), ["True", "False"]),
        (pd.Series(["1", 1, 1.0], dtype=object), ["1", "1", "1"]),
        (pd.Series([], dtype=object), []),
    ],
)
def test_labels(cells: pd.Series, expected: list[str]) -> None:
    places, texts = labels(pd.DataFrame({"g": cells}), "g")
    assert [texts[place] for place in places] == expected
    assert list(dict.fromkeys(texts)) == list(dict.fromkeys(expected))


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["a", None], "1 of its 2 rows does not: an empty cell in row 1"),
        (["a", " ", "a", ""], "2 of its 4 rows do not: ' ' in row 1, '' in row 3"),
        ([1.0, np.nan], "an empty cell in row 1"),
        (pd.Series(["a", None], dtype="category"), "an empty cell in row 1"),
        (["a", ["b"], "a"], "1 of its 3 rows does not: ['b'] in row 1"),
    ],
)
def test_missing_labels_are_named(cells: Any, words: str) -> None:
    with pytest.raises(DataError) as raised:
        labels(pd.DataFrame({"machine": cells}), "machine")
    assert "Column 'machine' must hold a label" in str(raised.value)
    assert words in str(raised.value)


def test_as_frame() -> None:
    frame = pd.DataFrame({"x": [1]})
    assert as_frame(frame) is frame
    assert as_frame({"x": [1]}).equals(frame)
    assert as_frame([{"x": 1}]).equals(frame)
    assert as_frame({"x": 1}).equals(frame)  # a single row
    assert len(as_frame([])) == 0


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("archive.csv", "'archive.csv' of type str"),
        (None, "type NoneType"),
        ([[1, 2]], "[[1, 2]] of type list"),
        (pd.Series([1]), "of type Series"),
        (np.eye(2), "of type ndarray"),
        ({"x": [1, 2], "y": [1]}, "list of mappings"),
        ({"x": [1], "y": [1, 2]}, "equal length"),
    ],
)
def test_what_is_no_table(table: Any, words: str) -> None:
    with pytest.raises(DataError) as raised:
        as_frame(table)
    assert words in str(raised.value)


def test_columns_that_are_missing_or_there_twice() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["Flow ", "head", "head"])
    require_columns(frame, ["Flow "])
    with pytest.raises(DataError, match=r"'flow'\. Did you mean 'Flow '"):
        require_columns(frame, ["flow"])
    with pytest.raises(DataError, match="Its columns are: 'Flow ', 'head', 'head'"):
        require_columns(frame, ["zzz"])
    with pytest.raises(DataError, match="2 columns called 'head'"):
        require_columns(frame, ["head"])
    with pytest.raises(DataError, match="Did you mean 0"):
        require_columns(pd.DataFrame([[1, 2]]), ["0"])
    with pytest.raises(DataError, match=r"29, \.\.\.\.$"):
        require_columns(pd.DataFrame([range(50)]), ["x"])
    with pytest.raises(DataError, match="Its columns are: none"):
        require_columns(pd.DataFrame(), ["x"])
