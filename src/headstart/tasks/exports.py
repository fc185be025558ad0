"""Frames to files that a colleague can open, written whole or not at all."""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from headstart.errors import DataError
from headstart.tasks.cells import Cells
from headstart.tasks.files import naming
from headstart.tasks.text_tables import guarded, might_run
from headstart.writing import write_whole


def write_table(frame: pd.DataFrame, path: str | PathLike[str]) -> None:
    """Write the columns of a frame, without its index, in the format that the suffix names, as `table_bytes` does.

    >>> write_table(pd.DataFrame({"flow": [10]}), "next.doc")
    Traceback (most recent call last):
    headstart.errors.DataError: next.doc: There is no format '.doc'. Give a name that ends in .csv, .tsv, .xlsx, \
.parquet or .json.
    """
    path = Path(path)
    check_target(path)
    with naming(path.name):
        content = table_bytes(frame, path.suffix)
    try:
        write_whole(path, content)
    except OSError as error:
        raise DataError(
            f"{path.name}: Cannot be written to {path.parent.absolute()}: {error.strerror}. "
            f"Check the folder, and that no other program has the file open."
        ) from error


def table_bytes(frame: pd.DataFrame, suffix: str) -> bytes:
    """The columns of a frame, without its index, as the content of a file whose name ends so.

    Text stays text, in the cells and in the names of the columns: what a spreadsheet program might run as a formula is
    no formula in a workbook, and in delimited text an apostrophe comes before it, which `read_table` takes away again.

    >>> table_bytes(pd.DataFrame({"pump": ["=B", "C"], "flow": [-5.2, 10]}), ".csv")
    b"pump,flow\\n'=B,-5.2\\nC,10.0\\n"
    """
    suffix = suffix.lower()
    _check_format(suffix)
    try:
        return _FORMATS[suffix](frame)
    except ImportError as error:
        package = "openpyxl" if suffix == ".xlsx" else "pyarrow"
        raise DataError(f"{suffix} needs the package {package}. Run: pip install {package}") from error
    except Exception as error:  # each library has its own for a cell that its format cannot hold
        raise DataError(
            f"This table cannot be written as {suffix}: {error}. Correct the cells, or write .csv."
        ) from error


def check_target(path: Path) -> None:
    """Refuse a file that no table can be written to: of an unknown format, or in a folder that does not exist."""
    with naming(path.name):
        _check_format(path.suffix.lower())
        if not path.parent.is_dir():
            raise DataError(f"There is no folder {path.parent}. Make it, or give another.")


def _check_format(suffix: str) -> None:
    if suffix not in _FORMATS:
        *legal, last = _FORMATS
        raise DataError(f"There is no format {suffix!r}. Give a name that ends in {', '.join(legal)} or {last}.")


def _delimited(frame: pd.DataFrame, separator: str) -> bytes:
    frame = _without_formulas(frame)
    text = frame.to_csv(index=False, sep=separator, lineterminator="\n")
    # A blank that begins a cell survives only in quotes, and so does "\r", which else would begin a row.
    if "\r" in text or re.search(f"(?m)(?:^|{separator}) ", text):
        text = frame.to_csv(index=False, sep=separator, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    # Excel takes text without a byte-order mark for the encoding of the country; other programs prefer none.
    return text.encode("utf-8" if text.isascii() else "utf-8-sig")


def _without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with an apostrophe before what is no number and a spreadsheet program might run."""
    frame = frame.rename(columns=lambda name: guarded(name) if isinstance(name, str) else name)  # a copy
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind in "iufcbM":  # numbers, truth values and dates
            continue
        cells = Cells.of(frame.iloc[:, place].to_numpy(dtype=object))
        risky = cells.where([might_run(text) for text in cells.texts])
        others = np.flatnonzero((cells.places < 0) & ~cells.real)
        risky[others] = [might_run(str(value)) for value in cells.values[others]]  # such as fractions and durations
        if risky.any():
            cells.values[risky] = [f"'{value}" for value in cells.values[risky]]
            frame.isetitem(place, cells.values)
    return frame


def _workbook(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as writer:
        frame.to_excel(writer, index=False)
        for row in next(iter(writer.sheets.values())).iter_rows():
            for cell in row:
                if cell.data_type in "fe":  # formulas and error values, which are text here
                    cell.data_type = "s"
    return buffer.getvalue()


def _parquet(frame: pd.DataFrame) -> bytes:
    return bytes(frame.reset_index(drop=True).to_parquet())


def _json(frame: pd.DataFrame) -> bytes:
    """A list of objects, one a row, with null for what is missing."""
    if not frame.columns.is_unique:
        raise ValueError("two columns have the same name")
    columns = [str(name) for name in frame.columns]
    records = [dict(zip(columns, map(_json_cell, row), strict=True)) for row in frame.itertuples(index=False)]
    return json.dumps(records, allow_nan=False, ensure_ascii=False, indent=1).encode()


def _json_cell(value: Any) -> Any:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    if isinstance(value, np.generic):
        return value.item()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value


_FORMATS: Mapping[str, Callable[[pd.DataFrame], bytes]] = MappingProxyType(
    {
        ".csv": lambda frame: _delimited(frame, ","),
        ".tsv": lambda frame: _delimited(frame, "\t"),
        ".xlsx": _workbook,
        ".parquet": _parquet,
        ".json": _json,
    }
)
