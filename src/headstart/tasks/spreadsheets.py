"""Workbooks: one sheet of an Excel file to a grid of cells."""

from __future__ import annotations

import io
import warnings
import zipfile
from typing import Any

import pandas as pd

from headstart.errors import DataError, FileFormatError, HeadstartError, did_you_mean
from headstart.tasks.grids import Grid

_RESAVE = "Open it in the spreadsheet program and save it as .xlsx or as 'CSV UTF-8'."


def grid_of_workbook(data: bytes, *, sheet: str | None = None) -> Grid:
    """The cells of the named sheet, or of the first that is not empty; formulas count by the value last computed."""
    _check_is_workbook(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles and extensions that hold no data
        try:
            # pandas imports openpyxl when it is needed; its own parser would turn errors such as #DIV/0! into blanks.
            with pd.ExcelFile(io.BytesIO(data), engine="openpyxl") as file:
                name, grid = _grid_of_sheet(file.book, sheet)
            if _has_formulas(data):
                with pd.ExcelFile(io.BytesIO(data), engine="openpyxl", engine_kwargs={"data_only": False}) as file:
                    _check_computed(grid, file.book[name])
            return grid
        except ImportError as error:
            raise FileFormatError("A workbook needs the package openpyxl. Run: pip install openpyxl") from error
        except (HeadstartError, MemoryError):
            raise
        except Exception as error:  # openpyxl lets through whatever a damaged part of the archive causes
            raise FileFormatError(
                f"The workbook is damaged ({type(error).__name__}: {error}). {_RESAVE} If that fails, take a backup."
            ) from error


def _check_is_workbook(data: bytes) -> None:
    """Tell a workbook from the other files that are zip archives."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = set(archive.namelist())
    except Exception as error:  # a damaged archive raises more than BadZipFile
        raise FileFormatError(
            f"The workbook is damaged or cut short ({error}). Copy or download it again. {_RESAVE}"
        ) from error
    if "xl/workbook.xml" not in parts:
        what = "an OpenDocument file" if "content.xml" in parts else "a zip archive that is no .xlsx workbook"
        raise FileFormatError(f"It is {what}. Unpack it if it holds tables; else: {_RESAVE}")


def _has_formulas(data: bytes) -> bool:
    """Whether it is worth reading the workbook once more for its formulas."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = [part for part in archive.namelist() if part.startswith("xl/worksheets/") and part.endswith(".xml")]
        return any(b"<f>" in sheet or b"<f " in sheet for sheet in map(archive.read, sheets))


def _check_computed(grid: Grid, formulas: Any) -> None:
    """Refuse a sheet none of whose formulas has a value: a program wrote it, and no spreadsheet ever computed it."""
    first = None
    for cells, values in zip(formulas.iter_rows(), grid, strict=False):
        for cell, value in zip(cells, values, strict=False):
            if cell.data_type == "f":
                if value is not None:
                    return
                first = first or cell
    if first is not None:
        raise DataError(
            f"The formulas were never computed, as {first.value!r} in cell {first.coordinate}. "
            f"Open the file in a spreadsheet program and save it."
        )


def _grid_of_sheet(book: Any, name: str | None) -> tuple[str, Grid]:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name is not None:
        if name not in sheets:
            raise DataError(
                f"There is no sheet {name!r}.{did_you_mean(name, sheets)} The sheets are: "
                f"{', '.join(map(repr, sheets))} (sheet=, --sheet)."
            )
        return name, _rows(sheets[name])
    for title, sheet in sheets.items():
        grid = _rows(sheet)
        if grid:
            return title, grid
    raise DataError(f"All sheets are empty: {', '.join(map(repr, sheets))}. Give a file with at least one experiment.")


def _rows(sheet: Any) -> Grid:
    sheet.reset_dimensions()  # what the file says of its own size is often wrong
    rows: Grid = list(sheet.iter_rows(values_only=True))
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    return rows
