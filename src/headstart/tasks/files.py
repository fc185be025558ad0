"""Files to frames: what kind of file it is, by its content, and a clear word where it is none that we read.

A suffix is what somebody called a file. What a program wrote into it is in its first bytes, and "export.xls" is as
often a web page as a workbook.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from headstart.errors import DataError, FileFormatError, did_you_mean
from headstart.tasks.cells import Cells
from headstart.tasks.grids import frame_of_grid, header_place
from headstart.tasks.spreadsheets import grid_of_workbook
from headstart.tasks.text_tables import check_even, decoded, grid_of_text

_SAVE_AS = "Open it in the program that made it and save the table as .xlsx or as 'CSV UTF-8'."
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|meta|table|div|\?xml|!--)", re.IGNORECASE)


@contextmanager
def naming(source: str | PathLike[str]) -> Iterator[None]:
    """Begin the message of a `DataError` or `FileFormatError` raised inside with where the data came from.

    >>> with naming("pumps.csv"):
    ...     raise DataError("Column 'head' is empty.")
    Traceback (most recent call last):
    headstart.errors.DataError: pumps.csv: Column 'head' is empty.
    """
    try:
        yield
    except (DataError, FileFormatError) as error:
        if not str(error).startswith((f"{source}: ", f"{Path(source).name}: ")):
            error.args = (f"{source}: {error}",)
        raise


def read_table(
    path: str | PathLike[str],
    *,
    sheet: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header_row: int = 1,
) -> pd.DataFrame:
    """The table in a file: delimited text, also gzipped, an Excel workbook, or Parquet.

    The index is the row number that a spreadsheet program shows, so that later errors name rows as the user sees them.

    Args:
        path: the file.
        sheet: the sheet of a workbook; the first that is not empty by default.
        separator: what is between the cells of a text, found out by default.
        decimal: "." or "," in numbers written as text, found out where it can be.
        encoding: of a text; UTF-8, UTF-16 with its mark, or else cp1252 by default.
        header_row: the row that names the columns, counted from 1.
    """
    path = Path(path)
    with naming(path.name):
        if decimal not in (None, ".", ","):
            raise DataError(f"A decimal mark is '.' or ',', not {decimal!r}. Correct decimal= (--decimal).")
        if header_row < 1:
            raise DataError(f"Rows are counted from 1, and header_row is {header_row}. Correct it (--header-row).")
        data = _content(path)
        if data.startswith(b"PAR1"):
            return _frame_of_parquet(data)
        if data.startswith(b"PK\x03\x04"):
            grid = grid_of_workbook(data, sheet=sheet)
            header = header_place(grid, header_row)
            return frame_of_grid(grid, header=header, decimal=decimal)
        grid, separator = grid_of_text(decoded(data, encoding=encoding), separator=separator)
        header = header_place(grid, header_row)
        check_even(grid, header=header)
        # Spreadsheet programs separate by semicolons in the countries where the comma is taken.
        return frame_of_grid(grid, header=header, decimal=decimal, commas_likely=separator == ";")


def _content(path: Path) -> bytes:
    """The bytes of a file that may be a table, unpacked if they were gzipped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        siblings: list[str] = []
        with suppress(OSError):  # the folder may be missing, too, or not ours to list
            siblings = [sibling.name for sibling in path.parent.iterdir() if sibling.is_file()]
        raise DataError(
            f"There is no such file in {path.parent.absolute()}.{did_you_mean(path.name, siblings)} Check the path."
        ) from None
    except IsADirectoryError:
        raise DataError("It is a folder. Give one of the files in it.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(
            f"It cannot be opened: {getattr(error, 'strerror', None) or error}. "
            f"Check that you may read it and that no other program has locked it."
        ) from error
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise FileFormatError(f"The gzip file is damaged ({error}). Copy or download it again.") from error
    if not data.strip():
        raise DataError("The file is empty. Give a file with a row of column names and one row an experiment.")
    _check_is_table(data)
    return data


def _check_is_table(data: bytes) -> None:
    """Refuse by name the formats that are often taken for a table."""
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise FileFormatError("The workbook is encrypted. Remove its password in Excel and save it again.")
        raise FileFormatError("It is an old Excel workbook (.xls). Open it in Excel and save it as .xlsx.")
    if data.startswith(b"%PDF"):
        raise FileFormatError(f"It is a PDF document. {_SAVE_AS}")
    if _HTML.match(data):
        raise FileFormatError(f"It is a web page or XML, whatever its name says. {_SAVE_AS}")
    if data.lstrip()[:1] in (b"[", b"{"):
        try:
            json.loads(data)
        except (ValueError, RecursionError):
            return
        raise FileFormatError("It is JSON. Read it yourself and give the frame, or save the table as .csv.")


def _frame_of_parquet(data: bytes) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(io.BytesIO(data))
    except ImportError as error:
        raise FileFormatError("Parquet needs the package pyarrow. Run: pip install pyarrow") from error
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise FileFormatError(
            f"The Parquet file is damaged ({type(error).__name__}: {error}). Copy it or write it again."
        ) from error
    frame = _with_index(frame)
    if frame.empty:
        raise DataError("The table has no rows. Add at least one experiment.")
    names = [" ".join(str(name).split()) for name in frame.columns]
    columns = [_without_decimals(frame.iloc[:, place]) for place in range(len(names))]
    frame = pd.concat(columns, axis=1).set_axis(names, axis=1)
    return frame.set_axis(pd.Index(np.arange(len(frame)) + 2, name="row"), axis=0)


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its index as a column, unless it is whole numbers without a name, which count the rows."""
    index = frame.index
    if index.names == [None]:
        if pd.api.types.is_integer_dtype(index.dtype):
            return frame
        index = index.rename("unnamed index" if "index" in frame.columns else "index")
    return frame.set_axis(index, axis=0).reset_index(allow_duplicates=True)


def _without_decimals(column: pd.Series) -> pd.Series:
    """The column as floats, or integers if all are whole, where it holds exact decimals, as DECIMAL(10, 2) does."""
    if column.dtype.kind != "O" or pd.api.types.infer_dtype(column, skipna=True) != "decimal":
        return column
    cells = Cells.of(column.to_numpy(dtype=object))
    whole = cells.real.all() and all(cell == int(cell) and abs(cell) < 2**63 for cell in cells.values)
    if whole:
        return pd.Series([int(cell) for cell in cells.values], index=column.index)
    return pd.Series(cells.numbers("."), index=column.index)
