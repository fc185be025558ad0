"""What a column holds, whatever it is stored as: numbers, labels, dates, or numbers with something else among them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from headstart.shapes import Bool
from headstart.tasks.cells import Cells

Kind: TypeAlias = Literal["number", "text", "date", "empty", "mixed"]

_DATE = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:[ T].*)?|\d{1,2}:\d{2}(?::\d{2}.*)?",
    re.ASCII | re.DOTALL,
)
_WITH_UNIT = re.compile(r"[+-]?\d[\d.,]*\s*([^\d\s.,:]\D{0,9})", re.ASCII)


def kind_of(column: pd.Series) -> Kind:
    """What a column holds; "mixed" is mostly numbers, or dates, with something else among them, or "5 %" and "7 %".

    Digits with leading zeros are names, and so are the other digits of their column.

    >>> [kind_of(pd.Series(cells)) for cells in ([1, 2], ["1", "2.5"], ["007", "100"], ["1", "2", "x"], ["x", "1"])]
    ['number', 'number', 'text', 'mixed', 'text']
    >>> kind_of(pd.Series(["2024-05-01", "2024-05-02"])), kind_of(pd.Series([None, " "]))
    ('date', 'empty')
    """
    empty = gaps(column)
    if empty.all():
        return "empty"
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    if dtype.kind in "mM":
        return "date"
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return "number"
    cells = Cells.of(column[~empty].to_numpy(dtype=object))
    if cells.numeric.all():
        return "number"
    if (cells.padded | cells.numeric).all():
        return "text"
    if cells.numeric.sum() * 2 > len(cells.numeric) or _share_a_unit(cells):
        return "mixed"
    dates = cells.where([_DATE.fullmatch(text.strip()) is not None for text in cells.texts])
    dates[cells.places < 0] = [hasattr(value, "tzinfo") for value in cells.values[cells.places < 0]]
    return "date" if dates.all() else "mixed" if dates.sum() * 2 > len(dates) else "text"


def _share_a_unit(cells: Cells) -> bool:
    """Whether most cells are a number with the same few letters or signs after it."""
    units = Counter(found.group(1).strip() for text in cells.texts if (found := _WITH_UNIT.fullmatch(text.strip())))
    return bool(units) and max(units.values()) * 2 > len(cells.texts) > 1


def gaps(column: pd.Series) -> Bool[np.ndarray, " n"]:
    """Which cells are missing, or blank text."""
    if column.dtype.kind in "biufcmM":
        return column.isna().to_numpy(dtype=bool)
    return Cells.of(column.to_numpy(dtype=object)).blank


def no_numbers(column: pd.Series) -> Bool[np.ndarray, " n"]:
    """Which cells hold something that is no number; a gap is nothing, and an infinity a number."""
    if column.dtype.kind in "iuf":
        return np.zeros(len(column), dtype=bool)
    cells = Cells.of(column.to_numpy(dtype=object))
    return ~(cells.numeric | cells.blank)
