"""What is in a table, and what looks wrong in it: every finding with its place and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from headstart.errors import DataError
from headstart.shapes import Bool
from headstart.tasks.columns import Table, as_frame, label, require_columns
from headstart.tasks.general import label_column
from headstart.tasks.kinds import Kind, gaps, kind_of, no_numbers

if TYPE_CHECKING:
    Names: TypeAlias = str | Iterable[str]
else:
    Names = object

_NAMED = 5  # cells named one by one for the same reason in the same column; the rest are counted
_UNIT_SLIP = 1000.0  # times the median size


@dataclass(frozen=True)
class Finding:
    """Something that stands in the way (an error) or looks like a slip (a warning), and where."""

    kind: Literal["error", "warning"]
    message: str
    fix: str
    row: int | None = None
    column: str | None = None


@dataclass(frozen=True)
class Column:
    """What a column holds; `low` and `high` are those of its finite numbers."""

    name: str
    kind: Kind
    missing: int
    distinct: int
    low: float | None
    high: float | None
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Survey:
    """A table at a glance.

    Attributes:
        rows: how many there are.
        columns: what each holds.
        findings: errors before warnings.
        tasks: the labels that name each task and its number of rows, in order of first appearance; empty where it is
            not known which columns name the task.
    """

    rows: int
    columns: tuple[Column, ...]
    findings: tuple[Finding, ...]
    tasks: tuple[tuple[tuple[str, ...], int], ...]

    def to_dict(self) -> dict[str, Any]:
        """The survey as JSON takes it."""
        return {**asdict(self), "tasks": [{"labels": list(labels), "rows": count} for labels, count in self.tasks]}


def survey(frame: Table, *, general: Names | None = None) -> Survey:
    """Look through a table; `general` names the columns that name the task, else a single one is looked for.

    >>> found = survey({"pump": ["A", "A", "B"], "flow": ["10", "2O", "15"], "head": [4.9, 4.7, 5.0]})
    >>> found.tasks
    ((('A',), 2), (('B',), 1))
    >>> for finding in found.findings:
    ...     print(finding.kind, finding.row, finding.column, finding.message)
    error 1 flow '2O' is no number.
    warning None pump The task 'B' has a single row.
    """
    frame = as_frame(frame)
    names = [general] if isinstance(general, str) else list(general or ())
    require_columns(frame, names)
    if general is None:
        with suppress(DataError):
            names = [label_column(frame, [name for name in frame.columns if list(frame.columns).count(name) == 1])[0]]
    columns, findings = [], list(_of_names(frame))
    for place, name in enumerate(map(str, frame.columns)):
        cells = frame.iloc[:, place]
        column = _column(cells, name)
        columns.append(column)
        findings += _of_column(cells, column)
    findings += _of_rows(frame)
    tasks = _tasks(frame, names)
    findings += _of_tasks(tasks, names)
    findings.sort(key=lambda finding: finding.kind)  # "error" before "warning", else as found
    return Survey(len(frame), tuple(columns), tuple(findings), tasks)


def _column(cells: pd.Series, name: str) -> Column:
    empty = gaps(cells)
    filled = cells[~empty]
    kind = kind_of(cells)
    values = _finite(cells) if kind in ("number", "mixed") else np.empty(0)
    low, high = (float(values.min()), float(values.max())) if len(values) else (None, None)
    distinct = pd.unique(filled if cells.dtype.kind in "iuf" else filled.astype(str))
    return Column(name, kind, int(empty.sum()), len(distinct), low, high, tuple(map(str, distinct[:3])))


def _values(cells: pd.Series) -> np.ndarray:
    """The cells as floats, nan where they are no number."""
    if cells.dtype.kind in "iuf":
        return cells.to_numpy(dtype=np.float64)
    return pd.to_numeric(cells.astype(str), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def _finite(cells: pd.Series) -> np.ndarray:
    values = _values(cells)
    return values[np.isfinite(values)]


def _of_names(frame: pd.DataFrame) -> Iterator[Finding]:
    for name, count in Counter(map(str, frame.columns)).items():
        if count > 1:
            yield Finding("error", f"{count} columns are called {name!r}.", "Rename or drop all but one.", None, name)
        if name.startswith("unnamed "):
            yield Finding("warning", "The column has no name and is not used.", "Name it, or delete it.", None, name)


def _of_column(cells: pd.Series, column: Column) -> Iterator[Finding]:
    name = column.name
    if column.kind == "empty":
        yield Finding("warning", "The column is empty.", "Fill it in or delete it.", None, name)
        return
    if column.kind == "date":
        fix = "Turn it into a number, such as hours since the start, if it matters."
        yield Finding("warning", "The column holds dates, which are not used.", fix, None, name)
    yield from _each(cells, gaps(cells), "warning", name, "The cell is empty", "Fill it in or leave the row out.")
    if column.kind == "mixed":
        fix = "Write a number, without a unit or a remark, or leave the row out."
        yield from _each(cells, no_numbers(cells), "error", name, "{} is no number", fix)
    if column.kind in ("number", "mixed"):
        yield from _of_numbers(cells, column)
    if column.kind == "text":
        yield from _of_labels(cells, name)
    if column.distinct == 1 and not column.missing and len(cells) > 1:
        message = f"The column holds {column.examples[0]!r} in every row."
        yield Finding("warning", message, "It teaches nothing; no need to use it.", None, name)


def _of_numbers(cells: pd.Series, column: Column) -> Iterator[Finding]:
    values = _values(cells)
    fix = "Give a finite value or leave the row out."
    yield from _each(cells, np.isinf(values), "error", column.name, "{} is not finite", fix)
    if column.kind == "number" and cells.dtype.kind not in "iuf" and not isinstance(cells.dtype, pd.CategoricalDtype):
        message = "The numbers are stored as text."
        yield Finding("warning", message, "They are read as numbers; check that they are right.", None, column.name)
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if len(sizes):
        usual = float(np.median(sizes))
        huge = np.isfinite(values) & (np.abs(values) / usual > _UNIT_SLIP)
        message = f"{{}} is over {_UNIT_SLIP:g} times as large as is usual in the column ({usual:g})"
        yield from _each(cells, huge, "warning", column.name, message, "Check its unit and its decimal mark.")


def _of_labels(cells: pd.Series, name: str) -> Iterator[Finding]:
    """Labels that differ in case or blanks alone are most likely one label."""
    first: dict[str, str] = {}
    texts = pd.unique(cells[~gaps(cells)].astype(str))
    for text in texts:
        other = first.setdefault("".join(text.split()).casefold(), text)
        if other != text:
            row = _row(cells.index, int((cells.astype(str) == text).to_numpy().argmax()))
            message = f"The labels {other!r} and {text!r} are two."
            yield Finding("warning", message, "Spell them alike if they are one.", row, name)


def _of_rows(frame: pd.DataFrame) -> Iterator[Finding]:
    if not len(frame.columns):
        return
    try:
        again = frame.duplicated().to_numpy()
    except TypeError:  # an unhashable cell, such as a list
        again = frame.astype(str).duplicated().to_numpy()
    fix = "Delete it if it was copied; a measurement that was repeated may stay."
    yield from _each(frame.iloc[:, 0], again, "warning", None, "The row repeats an earlier one in every cell", fix)


def _tasks(frame: pd.DataFrame, names: list[str]) -> tuple[tuple[tuple[str, ...], int], ...]:
    if not names:
        return ()
    complete = frame[names][~np.logical_or.reduce([gaps(frame[name]) for name in names])]
    counts: dict[tuple[str, ...], int] = {}
    for cells, count in complete.value_counts(sort=False).items():  # one entry a task, not one a row
        labels = tuple(label(cell) or "" for cell in cells)
        counts[labels] = counts.get(labels, 0) + int(count)
    order = complete.drop_duplicates().itertuples(index=False, name=None)
    ordered = dict.fromkeys(tuple(label(cell) or "" for cell in cells) for cells in order)
    return tuple((labels, counts[labels]) for labels in ordered)


def _of_tasks(tasks: tuple[tuple[tuple[str, ...], int], ...], names: list[str]) -> Iterator[Finding]:
    column = names[0] if len(names) == 1 else None
    if len(tasks) == 1:
        message = f"There is one task only, {', '.join(tasks[0][0])!r}."
        yield Finding("warning", message, "Add rows of other tasks: there is nothing to learn from.", None, column)
        return
    single = [", ".join(labels) for labels, count in tasks if count == 1]
    for text in single[:_NAMED]:
        fix = "Add rows, or check its spelling."
        yield Finding("warning", f"The task {text!r} has a single row.", fix, None, column)
    if len(single) > _NAMED:
        message = f"{len(single) - _NAMED} more tasks have a single row."
        yield Finding("warning", message, "Check that the column names the task, not the experiment.", None, column)


def _each(
    cells: pd.Series,
    bad: Bool[np.ndarray, " n"],
    kind: Literal["error", "warning"],
    name: str | None,
    what: str,
    fix: str,
) -> Iterator[Finding]:
    """A finding for each of the first bad cells, and one that counts the others."""
    places = np.flatnonzero(bad).tolist()
    for place in places[:_NAMED]:
        yield Finding(kind, what.format(repr(_shown(cells.iloc[place]))) + ".", fix, _row(cells.index, place), name)
    if len(places) > _NAMED:
        yield Finding(kind, f"The same in {len(places) - _NAMED} more rows.", fix, None, name)


def _shown(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _row(index: pd.Index, place: int) -> int:
    """The number by which an error would name the row."""
    number = index[place]
    return int(number) if isinstance(number, int | np.integer) else place
