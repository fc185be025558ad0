"""A grid of cells as a spreadsheet shows it, to a frame: which row names the columns, and which rows are experiments.

Whatever is around the table (titles, units, totals, the header once more) would become a column of text, or worse an
experiment that never was, so it is an error here, while the row numbers that the user sees are still known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from headstart.errors import DataError
from headstart.shapes import Int
from headstart.tasks.cells import Cells, typed
from headstart.tasks.notations import MISSING_NUMBERS, parse

Grid = list[Sequence[object]]  # grid[0] is row 1

_LOOKED_AT = 30  # rows in which a header is looked for
# A word of totals, and after it no further word but in brackets: "Total 2024" and "Mean (n=3)", but neither "Total
# Quartz 3" nor "SUM-159". Standards are called "Std 1", and what cells grow in "Media (M9)": these two count alone.
_TOTAL = re.compile(
    r"""(?:std | media | (?:
        totals? | sub[- ]?total | grand[ ]total | sum | average | avg | mean | median | stdev | standard[ ]deviation
        | summe | gesamt | gesamtsumme | zwischensumme | mittelwert | durchschnitt | somme | moyenne | totale | somma
        | suma | promedio | totaal | gemiddelde
    )\b (?![-/+\#.]\w) (?: [^\w()\[\]] | \d | \([^()]*\) | \[[^\[\]]*\] )*)""",
    re.IGNORECASE | re.VERBOSE,
)
_RATING = re.compile(r"average|avg|mean|median|media", re.IGNORECASE)  # how good something is, as well


def header_place(grid: Grid, header_row: int) -> int:
    """The place in the grid of the row that names the columns: the one asked for, or the next that is not blank."""
    for place in range(header_row - 1, len(grid)):
        if not all(map(_is_blank, grid[place])):
            return place
    if header_row > 1:
        raise DataError(
            f"Row {header_row} was to name the columns, but there is nothing from there on. "
            f"Give another header_row (--header-row)."
        )
    raise DataError("There is nothing in it. Give a file with a row of column names and one row an experiment.")


def frame_of_grid(grid: Grid, *, header: int, decimal: str | None = None, commas_likely: bool = False) -> pd.DataFrame:
    """The table below the header, with the row numbers of the spreadsheet as its index.

    >>> frame_of_grid([["pump", "flow"], ["A", "10"], ["", ""], ["B", "12.5"]], header=0)
        pump  flow
    row
    2      A  10.0
    4      B  12.5
    """
    body = grid[header + 1 :]
    width = max(map(len, grid[header:]))
    names = _names(_padded(grid[header], width))
    if any(len(row) < width for row in body):
        body = [_padded(row, width) for row in body]
    columns = [Cells.of(cells) for cells in zip(*body, strict=True)]
    filled = ~np.logical_and.reduce([cells.blank for cells in columns]) if columns else np.zeros(0, dtype=bool)
    rows = np.flatnonzero(filled) + header + 2
    if not len(rows):
        raise DataError(
            f"Row {header + 1} names columns, and no row follows it. Add at least one experiment, "
            f"or give another header_row (--header-row)."
        )
    if not filled.all():
        columns = [Cells.of(cells.values[filled]) for cells in columns]
    kept = [place for place in range(width) if names[place] or not columns[place].blank.all()]
    if kept and _numbers_rows(names[kept[0]], columns[kept[0]]):
        kept = kept[1:]
    _check_header(grid, header, names, kept)
    columns = [columns[place] for place in kept]
    _check_repeated_header(columns, [_padded(grid[header], width)[place] for place in kept], rows)
    names = [names[place] or f"unnamed {column_letters(place)}" for place in kept]
    _check_units(columns, names, rows)
    _check_totals(columns, names, rows)
    frame = pd.concat(typed(columns, names, rows, decimal=decimal, commas_likely=commas_likely), axis=1)
    return frame.set_axis(names, axis=1).set_axis(pd.Index(rows, name="row"), axis=0)


def column_letters(place: int) -> str:
    """The name of a column in a spreadsheet, counted from 0.

    >>> [column_letters(place) for place in (0, 25, 26, 702)]
    ['A', 'Z', 'AA', 'AAA']
    """
    letters = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _is_blank(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _names(header: Sequence[object]) -> list[str]:
    """The columns' names on one line each, without surrounding blanks and byte-order marks."""
    return ["" if cell is None else " ".join(str(cell).replace("\ufeff", "").split()) for cell in header]


def _padded(row: Sequence[object], width: int) -> Sequence[object]:
    return row if len(row) == width else [*row, *[None] * (width - len(row))]


def _numbers_rows(name: str, cells: Cells) -> bool:
    """Whether this is the index that pandas saves: no name, and 0, 1, 2, ..."""
    if name not in ("", "Unnamed: 0") or not cells.all_numbers():
        return False
    return bool(np.array_equal(cells.numbers("."), np.arange(len(cells.values))))


def _check_header(grid: Grid, header: int, names: list[str], kept: list[int]) -> None:
    """More columns without a name than with one: a title, or a merged cell over the real names."""
    unnamed = [place for place in kept if not names[place]]
    if len(unnamed) * 2 <= len(kept):
        return
    likely = "Delete what is above the table's header"
    for place, row in enumerate(grid[header + 1 : header + 1 + _LOOKED_AT], start=header + 1):
        cells = [cell for cell in row if not _is_blank(cell)]
        if len(cells) * 2 > len(kept) and all(isinstance(c, str) and np.isnan(parse(c, ".")) for c in cells):
            likely = f"Row {place + 1} looks like the header: use header_row={place + 1} (--header-row {place + 1})"
            break
    raise DataError(
        f"Row {header + 1} names {len(kept) - len(unnamed)} of {len(kept)} columns (none above column "
        f"{column_letters(unnamed[0])}), as a title or a merged cell does. {likely}, or name every column."
    )


def _check_repeated_header(columns: list[Cells], header: list[object], rows: Int[np.ndarray, " n"]) -> None:
    same = np.ones(len(rows), dtype=bool)
    for cells, name in zip(columns, header, strict=True):
        same &= cells.values == name
        if not same.any():
            return
    raise DataError(f"Row {rows[same.argmax()]} repeats the header. Delete it; a file holds one table.")


def _check_units(columns: list[Cells], names: list[str], rows: Int[np.ndarray, " n"]) -> None:
    """Text in the first row of every column that has numbers below it, or nothing for a number without a unit."""
    if any(cells.quick is not None and not np.isnan(cells.quick[1][0]) for cells in columns):
        return
    texts = []
    for cells, name in zip(columns, names, strict=True):
        below = Cells(cells.values[1:])
        if not len(below.values) or below.blank.all() or not below.all_numbers():
            continue
        first = Cells(cells.values[:1])
        if first.numeric[0]:
            return
        if not first.blank[0] and first.values[0] not in MISSING_NUMBERS:
            texts.append(f"{first.values[0]!r} under {name!r}")
    if texts:
        raise DataError(
            f"Row {rows[0]} holds text above numbers ({', '.join(texts[:3])}), as a second header or a row of units "
            f"does. Delete the row, or use header_row={rows[0]} (--header-row {rows[0]}) if it names the columns."
        )


def _check_totals(columns: list[Cells], names: list[str], rows: Int[np.ndarray, " n"]) -> None:
    """A label such as "Total" in a single row; what several rows are called is the name of a task."""
    if len(rows) == 1:
        return
    for cells, name in zip(columns, names, strict=True):
        if cells.quick is not None:
            continue
        stripped = enumerate(text.strip(" :.\t") for text in cells.texts)
        labels = {place: text.casefold() for place, text in stripped if _TOTAL.fullmatch(text)}
        for position in _only_rows(cells, labels):
            last = position == len(rows) - 1
            label = str(cells.values[position])
            if last or not _RATING.match(label.strip(" :.\t")) or not _says_more(columns, cells, position):
                raise DataError(
                    f"Row {rows[position]}{', the last one,' if last else ''} has {label!r} in column {name!r}, as a "
                    f"row of totals does. Delete the row, or rename the label if it is an experiment."
                )


def _only_rows(cells: Cells, labels: dict[int, str]) -> list[int]:
    """Where those of the distinct texts stand that are in one row only, however they are capitalised there."""
    if not labels:
        return []
    counts = np.bincount(cells.places[cells.places >= 0])
    together: Counter[str] = Counter()
    for place, label in labels.items():
        together[label] += int(counts[place])
    single = [place for place, label in labels.items() if together[label] == 1]
    return np.flatnonzero(np.isin(cells.places, single)).tolist()


def _says_more(columns: list[Cells], label: Cells, position: int) -> bool:
    """Whether another cell of the row holds text, as the name of what is rated "average"."""
    others = (Cells(cells.values[position : position + 1]) for cells in columns if cells is not label)
    return any(cell.texts and not (cell.numeric | cell.blank | cell.where(cell.missing))[0] for cell in others)
