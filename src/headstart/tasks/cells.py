"""The cells of a column as a file holds them, to numbers or to labels.

"12,5" is a number in one country and "1,234" another one in the next. So every notation that fits all cells of a column
is kept, and what is left undecided is settled by the other columns of the same file, or not at all: a guess here would
be wrong by a factor of a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import pandas as pd

from headstart.errors import DataError
from headstart.shapes import Bool, Int
from headstart.tasks.notations import MISSING_LABELS, MISSING_NUMBERS, NUMBER, PADDED, WHOLE, parse, plain, quick

_REAL = (int, float, np.number, Decimal)


@dataclass(frozen=True, eq=False)
class Cells:
    """A column's cells as they were read, each distinct text looked at once.

    Attributes:
        values: the cells: text, numbers, dates, truth values, None.
    """

    values: np.ndarray

    @classmethod
    def of(cls, values: Sequence[object] | np.ndarray) -> Cells:
        """The cells of a column."""
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        return cls(cells)

    @cached_property
    def quick(self) -> tuple[str, np.ndarray] | None:
        """Their decimal mark and numbers, where all are text and plainly numbers."""
        is_text = pd.api.types.infer_dtype(self.values, skipna=False) == "string"
        return quick(self.values.tolist()) if is_text else None

    @cached_property
    def _factored(self) -> tuple[Int[np.ndarray, " n"], tuple[str, ...]]:
        is_text = np.fromiter((isinstance(value, str) for value in self.values), dtype=bool, count=len(self.values))
        places = np.full(len(self.values), -1, dtype=np.int64)
        places[is_text], texts = pd.factorize(self.values[is_text])
        return places, tuple(map(str, texts))

    @property
    def places(self) -> Int[np.ndarray, " n"]:
        """For each cell of text its place in `texts`, else -1."""
        return self._factored[0]

    @property
    def texts(self) -> tuple[str, ...]:
        """The distinct texts."""
        return self._factored[1]

    def where(self, of_texts: Sequence[bool] | Bool[np.ndarray, " t"]) -> Bool[np.ndarray, " n"]:
        """Spread what holds of each distinct text to the cells; of those that are no text it does not."""
        return np.array([*of_texts, False], dtype=bool)[self.places]  # place -1 finds the last

    @cached_property
    def blank(self) -> Bool[np.ndarray, " n"]:
        """Which cells hold nothing, or blanks alone."""
        if self.quick is not None:
            return self.values == ""
        found = self.where([not text.strip() for text in self.texts])
        others = self.places < 0
        found[others] = pd.isna(self.values[others])
        return found

    @cached_property
    def real(self) -> Bool[np.ndarray, " n"]:
        """Which cells are numbers already, as a spreadsheet stores them; dates and truth values are none."""
        real = np.zeros(len(self.values), dtype=bool)
        others = np.flatnonzero((self.places < 0) & ~self.blank)
        real[others] = [isinstance(v, _REAL) and not isinstance(v, bool) for v in self.values[others]]
        return real

    @cached_property
    def readable(self) -> dict[str, Bool[np.ndarray, " t"]]:
        """For either decimal mark, which of the distinct texts are numbers."""
        stripped = [text.strip() for text in self.texts]
        return {
            mark: np.array([pattern.fullmatch(text) is not None for text in stripped], dtype=bool)
            for mark, pattern in NUMBER.items()
        }

    @cached_property
    def missing(self) -> Bool[np.ndarray, " t"]:
        """Which of the distinct texts stand for a missing number."""
        return np.array([text.strip() in MISSING_NUMBERS for text in self.texts], dtype=bool)

    @cached_property
    def numeric(self) -> Bool[np.ndarray, " n"]:
        """Which cells are a number, or a text that is one in some notation."""
        return self.where(self.readable["."] | self.readable[","]) | self.real

    @cached_property
    def padded(self) -> Bool[np.ndarray, " n"]:
        """Which cells are digits with leading zeros."""
        return self.where([PADDED.fullmatch(text.strip()) is not None for text in self.texts])

    def all_numbers(self, *, decimal: str | None = None) -> bool:
        """Whether all cells that are not missing are numbers, with that decimal mark or with any, and some are."""
        if self.quick is not None and (decimal is None or self.quick[0] in ("", decimal)):
            return True
        found = self.numeric if decimal is None else self.where(self.readable[decimal]) | self.real
        return bool((found | self.where(self.missing) | self.blank).all() and (found.any() or self.blank.all()))

    def numbers(self, decimal: str) -> np.ndarray:
        """The cells as integers where all are whole and none is missing, else as floats, nan where they are none."""
        if self.quick is not None and self.quick[0] in ("", decimal):
            return self.quick[1]
        texts = [plain(t, decimal) if r else "nan" for t, r in zip(self.texts, self.readable[decimal], strict=True)]
        real = self.values[self.real]
        whole = all(WHOLE.fullmatch(text) for text in texts) and all(
            isinstance(v, int) and abs(v) < 2**63 for v in real
        )
        if whole and (self.real | (self.places >= 0)).all():
            numbers = np.array([*map(int, texts), 0], dtype=np.int64)[self.places]
        else:
            numbers = np.array([*map(float, texts), np.nan])[self.places]
        numbers[self.real] = [value if abs(value) < 1e308 else float(str(value)) for value in real]
        return numbers


def typed(
    columns: Sequence[Cells],
    names: Sequence[str],
    rows: Int[np.ndarray, " n"],
    *,
    decimal: str | None,
    commas_likely: bool = False,
) -> list[pd.Series]:
    """The columns of one file as numbers where all of a column are, else as labels.

    Where decimal commas are likely, "1.450" needs another column to say that it is no thousand and more.

    >>> columns = [Cells.of(["1,234", "950"]), Cells.of(["12,5", "NA"])]
    >>> for column in typed(columns, ["rpm", "head"], np.array([2, 3]), decimal=None):
    ...     print(column.tolist())
    [1.234, 950.0]
    [12.5, nan]
    """
    evidence = [_evidence(column) for column in columns]
    settled = {decimal} if decimal else {mark for mark in evidence if mark in NUMBER}
    return [
        _typed(column, decimal or mark, settled, name, rows, commas_likely=commas_likely)
        for column, mark, name in zip(columns, evidence, names, strict=True)
    ]


def _evidence(cells: Cells) -> str:
    """The decimal mark that a column must have, or why it is not known: "text", "plain", "either" or "clash"."""
    if cells.quick is not None:
        return cells.quick[0] or "plain"
    if not cells.all_numbers():
        return "text"
    point, comma = (cells.readable[mark][~cells.missing].all() for mark in ".,")
    if point and comma:
        return "either" if _marked(cells).any() else "plain"
    return "." if point else "," if comma else "clash"


def _typed(
    cells: Cells, mark: str, settled: set[str], name: str, rows: Int[np.ndarray, " n"], *, commas_likely: bool
) -> pd.Series:
    usual = next(iter(settled)) if len(settled) == 1 else None
    if mark == "clash":
        raise _clash(cells, name, rows)
    if mark == "either":
        # "1.234" is taken for a decimal point unless the file has decimal commas, or may well; "1,234" needs a witness.
        commas = any("," in text for text in cells.texts)
        if usual is None if commas else "," in settled or (commas_likely and not settled):
            raise _ambiguous(cells, name, rows)
    if mark == "text" or (mark in NUMBER and not cells.all_numbers(decimal=mark)):
        return _labels(cells, usual)
    return pd.Series(cells.numbers(mark if mark in NUMBER else usual or "."))


def _labels(cells: Cells, decimal: str | None) -> pd.Series:
    """The cells as they are, less what stands for nothing.

    Where most are numbers and some are not, those that are get a decimal point, so that a later error names the others.
    """
    texts: list[str | None] = [None if text.strip() in MISSING_LABELS else text for text in cells.texts]
    if decimal and cells.numeric.sum() * 2 > len(cells.values):
        texts = [plain(t, decimal) if t and r else t for t, r in zip(texts, cells.readable[decimal], strict=True)]
    if (cells.places >= 0).all():
        return pd.Series(texts).take(cells.places).reset_index(drop=True)
    values = np.array([*texts, None], dtype=object)[cells.places]
    others = (cells.places < 0) & ~cells.blank
    values[others] = cells.values[others]
    return pd.Series(values.tolist())


def _marked(cells: Cells) -> Bool[np.ndarray, " t"]:
    return np.array(["," in text or "." in text for text in cells.texts], dtype=bool) & ~cells.missing


def _place(cells: Cells, of_texts: Bool[np.ndarray, " t"], rows: Int[np.ndarray, " n"]) -> str:
    """The first cell whose text is among those, as a message names it."""
    position = int(cells.where(of_texts).argmax())
    return f"{cells.values[position]!r} in row {rows[position]}"


def _ambiguous(cells: Cells, name: str, rows: Int[np.ndarray, " n"]) -> DataError:
    text = cells.texts[int(_marked(cells).argmax())]
    return DataError(
        f"Column {name!r}: {_place(cells, _marked(cells), rows)} is {parse(text, '.'):g} with a decimal point and "
        f"{parse(text, ','):g} with a decimal comma, and the file does not say which. "
        f"Say it: decimal='.' or decimal=',' (--decimal . or --decimal ,)."
    )


def _clash(cells: Cells, name: str, rows: Int[np.ndarray, " n"]) -> DataError:
    point, comma = cells.readable["."], cells.readable[","]
    return DataError(
        f"Column {name!r} has decimal points and decimal commas: {_place(cells, point & ~comma, rows)} and "
        f"{_place(cells, comma & ~point, rows)}. Write all of its numbers with the same decimal mark."
    )
