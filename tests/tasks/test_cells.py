"""Numbers are read in the notation that they are written in, or not at all."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.tasks.cells import Cells, typed
from headstart.tasks.kinds import gaps, kind_of, no_numbers
from headstart.tasks.notations import MISSING_NUMBERS, parse, quick


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("12", 12, 12),
        (" -12 ", -12, -12),
        ("12.5", 12.5, np.nan),
        ("12,5", np.nan, 12.5),
        (".5", 0.5, np.nan),
        (",5", np.nan, 0.5),
        ("5.", 5, np.nan),
        ("1,234", 1234, 1.234),
        ("1.234", 1.234, 1234),
        ("0,125", np.nan, 0.125),
        ("1234,567", np.nan, 1234.567),
        ("1,234.5", 1234.5, np.nan),
        ("1.234,5", np.nan, 1234.5),
        ("1,234,567", 1234567, np.nan),
        ("1.234.567", np.nan, 1234567),
        ("1,23,456", np.nan, np.nan),
        ("1 234 567", 1234567, 1234567),
        ("1\u202f234,5", np.nan, 1234.5),
        ("1'234.5", 1234.5, np.nan),
        ("\u22121e\u22123", -0.001, -0.001),
        ("1.5E+3", 1500, np.nan),
        ("-Inf", -np.inf, -np.inf),
        *[
            (text, np.nan, np.nan)
            for text in ("", "007", "5 %", "1e", "1_000", "0x10", "٣", "nan", "--1", "1.2.3", "e5")
        ],
    ],
)
def test_parse(text: str, point: float, comma: float) -> None:
    np.testing.assert_array_equal([parse(text, "."), parse(text, ",")], [point, comma])


written = st.from_regex(r"[+-]?[0-9]{0,5}[.,]?[0-9]{0,4}([eE]-?[0-9]{1,2})?", fullmatch=True)


@given(st.lists(written | st.sampled_from(sorted(MISSING_NUMBERS)), min_size=1, max_size=4))
def test_quick_path_reads_what_the_careful_one_reads(texts: list[str]) -> None:
    found = quick(texts)
    if found is not None:
        mark, numbers = found
        np.testing.assert_array_equal(numbers, [parse(text, mark or ".") for text in texts])
        if mark:  # the other notation does not fit
            assert any(np.isnan(parse(t, ",."[mark == ","])) for t in texts if t not in MISSING_NUMBERS)


@pytest.mark.parametrize("texts", [["12.5", "3"], ["0,5", "NA"], ["7", "8"], ["1e5", "-", "2"]])
def test_quick_path_is_taken(texts: list[str]) -> None:
    assert quick(texts) is not None


def read(*columns: list[object], **options: Any) -> list[list[object]]:
    names = [f"c{place}" for place in range(len(columns))]
    rows = np.arange(len(columns[0])) + 2
    cells = list(map(Cells.of, columns))
    return [column.tolist() for column in typed(cells, names, rows, **{"decimal": None, **options})]


def test_other_columns_settle_what_a_column_leaves_open() -> None:
    assert read(["1,234"], ["12,5"]) == [[1.234], [12.5]]
    assert read(["1,234"], ["12.5"]) == [[1234], [12.5]]
    assert read(["1.234"], ["12.5"]) == [[1.234], [12.5]]
    assert read(["1.234"], ["7"]) == [[1.234], [7]]
    for columns in ([["1,234"]], [["1,234"], ["12.5"], ["12,5"]], [["1.234"], ["12,5"]], [["1,234", "1.234"]]):
        with pytest.raises(DataError, match=r"Column 'c0': '1.234' in row 2 .* --decimal ,"):
            read(*columns)
    assert read(["1.234"], ["12,5"], decimal=",") == [[1234], [12.5]]


def test_points_need_a_witness_where_decimal_commas_are_likely() -> None:
    for columns in ([["1.450", "2.900"]], [["1.450", "950"], ["7", "8"]], [["1.450", ""], ["12,5", "3"]]):
        with pytest.raises(DataError, match=r"Column 'c0': '1.450' in row 2 is 1.45 with .* 1450 with .* --decimal ,"):
            read(*columns, commas_likely=True)
    assert read(["1.450"], ["12.5"], commas_likely=True) == [[1.45], [12.5]]
    assert read(["1.450"], ["12.5"], ["12,5"], decimal=".", commas_likely=True)[:2] == [[1.45], [12.5]]
    assert read(["1.450"], decimal=",", commas_likely=True) == [[1450]]
    assert read(["0.450"], ["1.450"], commas_likely=True) == [[0.45], [1.45]]


def test_bad_cells_among_numbers_leave_the_others_readable() -> None:
    assert read(["12,5", "13,5", "leak"], ["0,5", "1", "2"])[0] == ["12.5", "13.5", "leak"]
    assert read(["a,5", "13,5", "leak"], ["0,5", "1", "2"])[0] == ["a,5", "13,5", "leak"]


def test_what_is_missing_among_numbers_is_a_label_among_labels() -> None:
    (numbers,), (labels,) = read(["1", "None", "-"]), read(["a", "None", "-"])
    assert numbers[0] == 1
    assert np.isnan(numbers[1:]).all()
    assert labels == ["a", "None", "-"]
    assert read(["None", "None"]) == [["None", "None"]]
    assert pd.isna(read(["a", " ", "null"])[0]).tolist() == [False, True, True]


def test_cells_of_a_spreadsheet() -> None:
    assert read([1, "2,5", None])[0][:2] == [1, 2.5]
    assert read([1, 2.0, "3"]) == [[1, 2, 3]]
    assert read([1, "#DIV/0!", True]) == [[1, "#DIV/0!", True]]
    assert read([10**400, 2, "1"]) == [[np.inf, 2, 1]]
    assert read([2**53 + 1, 2**62]) == [[2**53 + 1, 2**62]]
    assert read([Decimal("1.50"), 2, "3"]) == [[1.5, 2, 3]]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2.5], "number"),
        (["1", "2,5"], "number"),
        (["1", None, " "], "number"),
        ([1, "2"], "number"),
        ([Decimal("1.50"), None, Decimal("NaN")], "number"),
        (["007", "100", "200"], "text"),
        (["1", "2", "x"], "mixed"),
        ([1, 2, "#REF!"], "mixed"),
        (["316", "Ti64", "304L"], "text"),
        (["10 %", "20 %", "5 %"], "mixed"),
        (["1,5mm", "2mm", "x"], "mixed"),
        (["1A", "2A", "1B", "2B"], "text"),
        ([True, False], "text"),
        (["2024-05-01", "1.5.24", "08:30"], "date"),
        ([pd.Timestamp("2024-05-01"), None], "date"),
        ([pd.Timestamp("2024-05-01"), pd.Timestamp("2024-05-02"), "later"], "mixed"),
        ([None, " ", np.nan], "empty"),
        ([], "empty"),
        (pd.Series(["a", "b"], dtype="category"), "text"),
        (pd.Series([3, 4], dtype="category"), "number"),
        (pd.Series([3, None], dtype="Int64"), "number"),
    ],
)
def test_kind_of(cells: object, kind: str) -> None:
    assert kind_of(pd.Series(cells, dtype=None if len(cells) else object)) == kind


def test_gaps_and_what_is_no_number() -> None:
    column = pd.Series(["1", " ", None, "x", "inf"])
    assert gaps(column).tolist() == [False, True, True, False, False]
    assert no_numbers(column).tolist() == [False, False, False, True, False]
