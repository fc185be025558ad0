"""Files to frames and back; the odd ones are in test_malformed.py, the arbitrary ones in test_files_fuzz.py."""

import json
import re
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from headstart.errors import DataError, FileFormatError, ProblemError
from headstart.tasks import naming, read_table, write_table

FRAME = pd.DataFrame({"pump": ["A", "B"], "flow": [10, 12], "head": [4.9, 5.5]})
FORMATS = [".csv", ".tsv", ".xlsx", ".parquet"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_index_is_the_row_of_the_spreadsheet(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"archive{suffix}"
    write_table(FRAME.set_axis([7, 7]), path)
    frame = read_table(str(path))
    assert (frame.index.tolist(), frame.index.name) == ([2, 3], "row")
    pd.testing.assert_frame_equal(frame.reset_index(drop=True), FRAME)


def test_types_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "archive.csv"
    path.write_text("whole,real,gap,label,padded,none\n1,1.5,1,NA,007,\n2,2,n/a,x,012,\n", encoding="utf-8")
    frame = read_table(path)
    assert [frame[name].dtype.kind for name in ("whole", "real", "gap")] == ["i", "f", "f"]
    assert frame["label"].tolist() == ["NA", "x"]
    assert frame["padded"].tolist() == ["007", "012"]
    assert frame["none"].isna().all()
    assert frame["gap"].isna().tolist() == [False, True]


def test_row_numbers_stay_true_when_rows_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "archive.csv"
    path.write_text('\npump,x\n"A\nold",1\n\n,\nB,2\n', encoding="utf-8")
    assert read_table(path).index.tolist() == [3, 6]


def test_unnamed_columns_go_by_their_letter_and_names_may_repeat(tmp_path: Path) -> None:
    path = tmp_path / "archive.csv"
    path.write_text("pump,,x,x,,\nA,1,2,3,,4\n", encoding="utf-8")
    assert list(read_table(path).columns) == ["pump", "unnamed B", "x", "x", "unnamed F"]


def test_saved_index_is_dropped_only_if_it_counts_the_rows(tmp_path: Path) -> None:
    for suffix in (".csv", ".xlsx"):
        path = tmp_path / f"archive{suffix}"
        getattr(FRAME, {".csv": "to_csv", ".xlsx": "to_excel"}[suffix])(path)
        assert list(read_table(path).columns) == list(FRAME.columns)
        getattr(FRAME.set_axis([5, 9]), {".csv": "to_csv", ".xlsx": "to_excel"}[suffix])(path)
        assert read_table(path)["unnamed A"].tolist() == [5, 9]


def test_index_of_parquet_is_kept_if_it_has_a_name(tmp_path: Path) -> None:
    path = tmp_path / "archive.parquet"
    FRAME.set_index("pump").to_parquet(path)
    assert list(read_table(path).columns) == ["pump", "flow", "head"]
    FRAME.set_axis([5, 9]).to_parquet(path)
    assert list(read_table(path).columns) == ["pump", "flow", "head"]


def test_index_of_parquet_without_a_name_is_kept_if_it_says_something(tmp_path: Path) -> None:
    path = tmp_path / "archive.parquet"
    FRAME.set_axis(["Ti", "Al"]).to_parquet(path)
    frame = read_table(path)
    assert (frame["index"].tolist(), frame.index.tolist()) == (["Ti", "Al"], [2, 3])
    FRAME.assign(index=1).set_axis([0.5, 1.5]).to_parquet(path)
    assert read_table(path)["unnamed index"].tolist() == [0.5, 1.5]
    FRAME.set_axis(pd.MultiIndex.from_tuples([("Ti", 1), ("Al", 2)])).to_parquet(path)
    assert list(read_table(path).columns) == ["level_0", "level_1", *FRAME.columns]
    for whole in (pd.RangeIndex(3, 9, 3), pd.Index([9, 5], dtype="uint8")):
        FRAME.set_axis(whole).to_parquet(path)
        assert list(read_table(path).columns) == list(FRAME.columns)


def test_index_of_parquet_may_be_called_as_a_column_is(tmp_path: Path) -> None:
    path = tmp_path / "archive.parquet"
    FRAME.set_axis(pd.Index(["Ti", "Al"], name="pump")).to_parquet(path)
    assert list(read_table(path).columns) == ["pump", *FRAME.columns]


def test_decimals_of_parquet_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "archive.parquet"
    exact = FRAME.assign(
        head=[Decimal("4.90"), Decimal("5.50")],
        gap=[Decimal("1.5"), None],
        whole=[Decimal(2**53 + 1), Decimal(7)],
        none=None,
    )
    exact.set_index("head").to_parquet(path)
    frame = read_table(path)
    assert [frame[name].dtype.kind for name in ("head", "gap", "whole")] == ["f", "f", "i"]
    assert (frame["head"].tolist(), frame["gap"].tolist()[0]) == ([4.9, 5.5], 1.5)
    assert frame["gap"].isna().tolist() == [False, True]
    assert frame["whole"].tolist() == [2**53 + 1, 7]
    assert frame["none"].isna().all()


def test_total_in_several_rows_is_a_label_however_it_is_spelt(tmp_path: Path) -> None:
    path = tmp_path / "archive.csv"
    path.write_text("pump,x\nTotal,1\nB,2\nTOTAL:,3\n", encoding="utf-8")
    assert read_table(path)["pump"].tolist() == ["Total", "B", "TOTAL:"]


def test_sheet_by_name_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "archive.xlsx"
    with pd.ExcelWriter(path) as writer:
        FRAME.to_excel(writer, sheet_name="first", index=False)
        FRAME.assign(day=datetime(2024, 5, 1), ok=True).to_excel(writer, sheet_name="second", index=False)
    assert "day" not in read_table(path)
    second = read_table(path, sheet="second")
    assert second["day"].dtype.kind == "M"
    assert second["ok"].tolist() == [True, True]


def test_text_that_begins_with_an_equals_sign_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "next.xlsx"
    write_table(pd.DataFrame({"=name": ["=1+1", "#N/A!", "=A1"], "x": [1, 2, 3]}), path)
    sheet = openpyxl.load_workbook(path).active
    assert {cell.data_type for row in sheet.iter_rows(max_col=1) for cell in row} == {"s"}
    assert read_table(path)["=name"].tolist() == ["=1+1", "#N/A!", "=A1"]


def test_excel_is_told_of_the_encoding_where_it_matters(tmp_path: Path) -> None:
    path = tmp_path / "next.csv"
    write_table(FRAME, path)
    assert path.read_bytes() == b"pump,flow,head\nA,10,4.9\nB,12,5.5\n"
    write_table(FRAME.rename(columns={"head": "Höhe"}), path)
    assert path.read_bytes().startswith(b"\xef\xbb\xbfpump")


def test_json_has_a_record_a_row(tmp_path: Path) -> None:
    path = tmp_path / "next.JSON"
    frame = FRAME.assign(day=[datetime(2024, 5, 1), None], head=[0.1 + 0.2, np.nan])
    write_table(frame, path)
    assert json.loads(path.read_text(encoding="utf-8")) == [
        {"pump": "A", "flow": 10, "head": 0.1 + 0.2, "day": "2024-05-01T00:00:00"},
        {"pump": "B", "flow": 12, "head": None, "day": None},
    ]


labels = st.text(st.characters(exclude_categories=["C"], codec="utf-8"), min_size=1, max_size=5).filter(
    lambda text: re.search(r"[^\W\d_]", text) and not re.search("(?i)nan|null|inf|sum|avg|std|mean|<na>|#n/a", text)
)


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    count = draw(st.integers(1, 5))

    def column(cells: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(cells, min_size=count, max_size=count))

    whole, real = st.integers(-(2**53), 2**53), st.floats(-1e300, 1e300)
    return pd.DataFrame({"pump": column(labels), "n": column(whole), "y": column(real), "z": column(real | st.none())})


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=50, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # to shrink a workbook takes minutes
@given(frame=frames())
def test_round_trip(suffix: str, frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"round{suffix}"
    write_table(frame, path)
    # A column of whole numbers comes back as integers, and a decimal point is said: "1.234" alone might be 1234.
    back = read_table(path, decimal=".")
    assert list(back.columns) == list(frame.columns)
    assert back["pump"].tolist() == frame["pump"].tolist()
    for name in ("n", "y", "z"):
        exact = 1e-15 if suffix == ".xlsx" else 0  # a workbook holds 16 digits
        np.testing.assert_allclose(back[name].to_numpy(float), frame[name].to_numpy(float), rtol=exact, atol=0)


@pytest.mark.parametrize(
    ("frame", "name", "words"),
    [
        (FRAME, "next.doc", ["'.doc'", ".csv, .tsv, .xlsx, .parquet or .json"]),
        (FRAME, "next", ["no format ''"]),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "next.json", ["same name", "write .csv"]),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "next.parquet", ["x", "write .csv"]),
        (pd.DataFrame({"x": [np.inf]}), "next.json", ["write .csv"]),
        (pd.DataFrame({"x": ["\x01"]}), "next.xlsx", ["cannot be written as .xlsx"]),
    ],
)
def test_what_cannot_be_written(frame: pd.DataFrame, name: str, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        write_table(frame, tmp_path / name)
    assert str(raised.value).startswith(f"{name}: ")
    for word in words:
        assert word in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "next.csv"
    path.write_text("precious", encoding="utf-8")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match=r"^next.csv: Cannot be written to .*: No space left"):
        write_table(FRAME, path)
    assert path.read_text(encoding="utf-8") == "precious"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match=r"^next.csv: There is no folder .*missing"):
        write_table(FRAME, tmp_path / "missing" / "next.csv")


def test_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "archive_2024.csv").touch()
    with pytest.raises(DataError, match=r"^archive2024.csv: There is no such file .*mean 'archive_2024.csv'\?"):
        read_table(tmp_path / "archive2024.csv")
    with pytest.raises(DataError, match=r"^a.csv: There is no such file in .*missing"):
        read_table(tmp_path / "missing" / "a.csv")
    with pytest.raises(DataError, match=r": It is a folder\. Give one of the files"):
        read_table(tmp_path)
    with pytest.raises(DataError, match="cannot be opened"):
        read_table(tmp_path / "a\0.csv")


def test_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", locked)
    with pytest.raises(DataError, match=r"^a.csv: It cannot be opened: Permission denied\. Check .* locked"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize(("package", "suffix"), [("openpyxl", ".xlsx"), ("pyarrow", ".parquet")])
def test_missing_package(package: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"archive{suffix}"
    write_table(FRAME, path)
    before = path.read_bytes()
    for module in (package, f"{package}.workbook"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FileFormatError, match=rf"^archive{suffix}: .* the package {package}\. Run: pip install"):
        read_table(path)
    with pytest.raises(DataError, match=rf"^archive{suffix}: .* the package {package}\. Run: pip install"):
        write_table(FRAME, path)
    assert path.read_bytes() == before


def test_naming_prefixes_once_and_keeps_the_type() -> None:
    with pytest.raises(FileFormatError, match=r"^a.csv: bad$"), naming("b/a.csv"), naming(Path("a.csv")):
        raise FileFormatError("bad")
    with pytest.raises(DataError, match=r"^a.csv: bad$"), naming("a.csv"):
        raise DataError("bad")
    with pytest.raises(ProblemError, match=r"^bad$"), naming("a.csv"):
        raise ProblemError("bad")
