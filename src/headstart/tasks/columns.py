"""One column at a time: cells of a table to finite numbers, or to labels, or to a clear error.

The good path is vectorised. Rows are looked at one by one only to word an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from headstart.errors import DataError, did_you_mean
from headstart.shapes import Bool, Float, Int

if TYPE_CHECKING:
    Table: TypeAlias = pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]]
else:  # what a caller gives is checked at run time by `as_frame`, which says what to do about it
    Table = object

_SHOWN = 3  # offending rows named in a message; the rest are counted


def as_frame(table: Table) -> pd.DataFrame:
    """The table as a DataFrame; a DataFrame is returned as it is.

    >>> as_frame([{"flow": 10, "catalyst": "A"}, {"flow": 20, "catalyst": "B"}]).shape
    (2, 2)
    """
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping) and table and all(np.isscalar(value) for value in table.values()):
        return pd.DataFrame([dict(table)])
    rows = isinstance(table, list | tuple) and all(isinstance(row, Mapping) for row in table)
    if not rows and not isinstance(table, Mapping):
        raise DataError(
            f"A table must be a pandas.DataFrame, a mapping from names to columns or a list of "
            f"mappings, one a row, not {_show(table)} of type {type(table).__name__}. "
            f"Read a file with headstart.read_table first; a row of a frame stays a table as "
            f"frame.loc[[label]]."
        )
    try:
        return pd.DataFrame(table)
    except ValueError as error:
        raise DataError(
            f"The mapping cannot be read as a table of columns: {error}. Give columns of equal "
            f"length, or a list of mappings, one a row."
        ) from error


def require_columns(frame: pd.DataFrame, names: Iterable[str]) -> None:
    """Check that each of the named columns is there, and there once.

    >>> require_columns(pd.DataFrame({"flow_ml_min": [10]}), ["flow"])
    Traceback (most recent call last):
    headstart.errors.DataError: The table has no column 'flow'. Did you mean 'flow_ml_min'? \
Its columns are: 'flow_ml_min'.
    """
    present = list(frame.columns)
    for name in names:
        count = present.count(name)
        if count == 0:
            listed = ", ".join(repr(column) for column in present[:30]) or "none"
            listed += ", ..." if len(present) > 30 else ""
            raise DataError(
                f"The table has no column {name!r}.{did_you_mean(name, present)} Its columns are: {listed}."
            )
        if count > 1:
            raise DataError(f"The table has {count} columns called {name!r}. Rename or drop all but one.")


def numbers(frame: pd.DataFrame, name: str) -> Float[np.ndarray, " n"]:
    """The column as finite floats; numbers written as text are converted.

    >>> numbers(pd.DataFrame({"flow": ["12.5", "20"]}), "flow")
    array([12.5, 20. ])
    >>> numbers(pd.DataFrame({"flow": ["12,5", "20"]}), "flow")
    Traceback (most recent call last):
    headstart.errors.DataError: Column 'flow' must hold finite numbers, but 1 of its 2 rows does \
not: '12,5' in row 0. Write decimals with a point and no thousands separators \
(headstart.read_table(..., decimal=',') reads decimal commas).
    """
    column = frame[name]
    values = _floats(column)
    bad = ~np.isfinite(values)
    if bad.any():
        first = column.iloc[int(bad.argmax())]
        raise DataError(f"Column {name!r} must hold finite numbers, but {offenders(column, bad)}. {_fix(first, name)}")
    return values


def label(value: object) -> str | None:
    """The canonical text of a level's label, or None where the value cannot be one.

    Whole numbers are written alike however they are stored. Nothing is stripped or folded, but
    what is empty or blank is no label.

    >>> label(1), label(1.0), label("1"), label(True), label(0.5), label("Ti-6Al-4V")
    ('1', '1', '1', 'True', '0.5', 'Ti-6Al-4V')
    >>> label(None), label(float("nan")), label("  "), label(["a", "b"])
    (None, None, None, None)
    """
    if isinstance(value, str):
        return str(value) if value.strip() else None
    if not pd.api.types.is_scalar(value) or _is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral) or (isinstance(value, float | np.floating) and value.is_integer()):
        return str(int(value))
    return str(value)


def labels(frame: pd.DataFrame, name: str) -> tuple[Int[np.ndarray, " n"], list[str]]:
    """Each row's place in a list of the column's labels, which is in order of first appearance.

    A label is there twice if it was written as text and as a number.

    >>> labels(pd.DataFrame({"batch": [7.0, 3.0, 7.0]}), "batch")
    (array([0, 1, 0]), ['7', '3'])
    """
    column = frame[name]
    try:
        places, values = pd.factorize(column)
    except TypeError:  # an unhashable cell, such as a list
        places, values = np.arange(len(column)), column.array
    texts = [label(value) for value in values]
    # A missing cell has place -1, which finds the None put last.
    bad = np.array([text is None for text in [*texts, None]])[places]
    if bad.any():
        raise DataError(
            f"Column {name!r} must hold a label (text or a number) in every row, but "
            f"{offenders(column, bad)}. Fill it in or leave the row out."
        )
    return places, [str(text) for text in texts]


def _floats(column: pd.Series) -> Float[np.ndarray, " n"]:
    """The column as floats, with nan wherever a cell is no real number."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    if dtype.kind in "mM":  # dates and durations, which to_numeric would turn into nanoseconds
        return np.full(len(column), np.nan)
    try:
        values = pd.to_numeric(column, errors="coerce")
    except OverflowError:  # a Python integer beyond the largest float; its text becomes inf
        values = pd.to_numeric(column.astype(str), errors="coerce")
    if values.dtype.kind == "c":
        complex_values = values.to_numpy()
        return np.where(complex_values.imag == 0, complex_values.real, np.nan)
    # A copy: a view of the frame would be read-only, or change with it.
    return values.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)


def offenders(column: pd.Series, bad: Bool[np.ndarray, " n"]) -> str:
    """Which rows are bad and what they hold: the first few, and how many in all.

    A row goes by its label in the frame's index, and also by its position, counted from 0, where
    the two differ. An index called "row", as of a table read from a file, says it all.
    """
    positions = np.flatnonzero(bad)
    places = []
    for position in positions[:_SHOWN].tolist():
        row = column.index[position]
        place = f"row {_show(row)}"
        if row != position and column.index.name != "row":
            place += f" (position {position})"
        places.append(f"{_show(column.iloc[position])} in {place}")
    more = f", and {len(positions) - _SHOWN} more" if len(positions) > _SHOWN else ""
    does = "does" if len(positions) == 1 else "do"
    return f"{len(positions)} of its {len(column)} row{'s' * (len(column) != 1)} {does} not: {', '.join(places)}{more}"


def _is_missing(value: Any) -> bool:
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _show(value: object) -> str:
    """A cell as a message shows it."""
    if _is_missing(value):
        return "an empty cell"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fix(value: object, name: str) -> str:
    """What to do about a cell that is no finite number."""
    if isinstance(value, str) and re.search(r"\d,\d", value):
        return (
            "Write decimals with a point and no thousands separators "
            "(headstart.read_table(..., decimal=',') reads decimal commas)."
        )
    if isinstance(value, str) and value.strip():
        return (
            "Write the number alone, without a unit or a remark, or leave the row out. "
            "A column of names is a general input, not a number."
        )
    if isinstance(value, str) or _is_missing(value):
        return f"Fill it in or leave the row out, with frame.dropna(subset=[{name!r}]) (--drop-incomplete)."
    if isinstance(value, int | float | np.number) and not np.iscomplexobj(value):
        return "Give a finite value or leave the row out."
    return "Turn it into a number first, such as hours since the start for a date."
