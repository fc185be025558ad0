"""Which column is for what, found out from the table where the user did not say, with the reason for each choice.

What is inferred is told, never hidden: a column left out by mistake is an experiment's dimension lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from headstart.errors import DataError, ProblemError
from headstart.shapes import Bool, Float, Int
from headstart.tasks.columns import Table, as_frame, labels, numbers, offenders, require_columns
from headstart.tasks.general import label_column
from headstart.tasks.kinds import gaps, kind_of, no_numbers
from headstart.tasks.problem import Problem

if TYPE_CHECKING:
    Names: TypeAlias = str | Iterable[str]
    Inputs: TypeAlias = Mapping[str, Sequence[float] | None] | Names
else:  # what a caller gives is checked at run time by `Problem`, which says what to do about it
    Names = Inputs = object

_MOST_STEPS = 10_000  # a wider range of whole numbers is as good as continuous
_LISTED = 5  # rows named one by one; the rest are counted


@dataclass(frozen=True)
class Roles:
    """A problem, and how it was come by.

    Attributes:
        problem: with the bounds of its inputs known.
        ignored: the columns that it does not use, and why.
        inferred: what was not said and had to be found out, a line each.
        rows: the rows of the table to use, with the index that they have there.
    """

    problem: Problem
    ignored: Mapping[str, str]
    inferred: tuple[str, ...]
    rows: pd.DataFrame = field(repr=False, compare=False)


def infer_roles(
    frame: Table,
    *,
    objective: str,
    goal: str,
    inputs: Inputs | None = None,
    general: Names | None = None,
    ignore: Names = (),
    drop_incomplete: bool = False,
) -> Roles:
    """The problem that a table poses, as far as the caller says and else as far as the table shows.

    A column with empty cells is no input, unless `drop_incomplete`: then columns are judged by the cells that they
    have, and rows without a cell that is needed are left out.

    >>> archive = {"pump": ["A", "A", "B"], "flow": [10, 20, 15.5], "fluid": ["water"] * 3, "head": [4.9, 4.7, 5.0]}
    >>> roles = infer_roles(archive, objective="head", goal="maximize")
    >>> roles.problem
    Problem(inputs={'flow': (10.0, 20.0)}, general=['pump'], objective='head', goal='maximize')
    >>> print(*roles.inferred, sep="\\n")
    'pump' names the task: the only column of labels that can.
    'flow' is an input from 10 to 20, as in the table.
    >>> dict(roles.ignored)
    {'fluid': 'has the same label in every row'}
    >>> archive["flow"][1] = None
    >>> roles = infer_roles(archive, objective="head", goal="maximize", drop_incomplete=True)
    >>> print(roles.inferred[-1], roles.rows.index.tolist())
    1 row with an empty cell is left out: row 1. [0, 2]
    """
    frame = as_frame(frame)
    general = None if general is None else _listed(general)
    if len(frame) == 0:
        raise DataError("The table has no rows. Give at least one experiment.")
    if inputs is not None and not isinstance(inputs, Mapping):
        inputs = dict.fromkeys(_listed(inputs))
    said = [objective, *(inputs or ()), *_listed(general)]
    ignored = dict.fromkeys(_listed(ignore), "was to be ignored")
    require_columns(frame, said)
    require_columns(frame.loc[:, ~frame.columns.duplicated()], ignored)  # a name that is there twice goes twice
    for name in said:
        if name in ignored:
            raise ProblemError(f"Column {name!r} is to be used and to be ignored. Give each column one role, once.")

    def kept(*names: object) -> Bool[np.ndarray, " n"]:
        return _complete(frame, names) if drop_incomplete else np.ones(len(frame), dtype=bool)

    numbers(frame[kept(*said)], objective)
    inferred: list[str] = []
    free = [name for name in frame.columns if name not in said and name not in ignored]
    if inputs is None or general is None:
        require_columns(frame, [name for name in free if isinstance(name, str)])
    if general is None:
        rows = frame[kept(*said)]
        general, reasons = label_column(_judged_without_gaps(rows, free) if drop_incomplete else rows, free)
        inferred.append(f"{general!r} names the task: the only column of labels that can.")
        ignored |= reasons
        free = [name for name in free if name != general and name not in ignored]
    if inputs is None:
        used = kept(*said, *_listed(general))
        inputs = dict.fromkeys(_inputs(frame, used, free, _listed(general), ignored, drop_incomplete=drop_incomplete))
    for name in free:
        if name not in inputs:
            is_number = kind_of(frame.loc[:, ~frame.columns.duplicated()][name]) == "number"
            reason = "is not among the inputs that were given" if is_number else "has no role given to it"
            ignored.setdefault(str(name), reason)
    used = kept(objective, *_listed(general), *inputs)
    rows = frame if used.all() else frame[used]
    stated = dict(inputs)
    for name, bounds in stated.items():
        values = numbers(rows, name)
        if bounds is None:
            stated[name], span = _bounds(values)
            inferred.append(f"{name!r} is an input {span}, as in the table.")
    if not used.all():
        count = int((~used).sum())
        counted = "1 row with an empty cell is" if count == 1 else f"{count} rows with an empty cell are"
        inferred.append(f"{counted} left out: {_rows_named(frame.index, ~used)}.")
    problem = Problem(inputs=stated, general=general, objective=objective, goal=goal).resolved(rows)
    return Roles(problem, MappingProxyType(ignored), tuple(inferred), rows)


def _complete(frame: pd.DataFrame, names: Sequence[object]) -> Bool[np.ndarray, " n"]:
    """Which rows have a cell in each of the columns: some, or there is nothing to learn from."""
    empty = {name: gaps(frame[name]) for name in names}
    complete = ~np.logical_or.reduce(list(empty.values()))
    if not complete.any():
        listed = "; ".join(
            f"{name!r} in {'every row' if gap.all() else _rows_named(frame.index, gap)}"
            for name, gap in empty.items()
            if gap.any()
        )
        raise DataError(
            f"No row is left, for each has an empty cell in a column that is used: {listed}. Fill them in, or "
            f"use other columns: ignore= (--ignore) leaves one out."
        )
    return complete


def _rows_named(index: pd.Index, which: Bool[np.ndarray, " n"]) -> str:
    """Those rows as a message names them: "row 5", "rows 5, 9 and 12", "rows 2, 3, 4, 5, 6 and 40 more"."""
    shown = [str(row) for row in index[which][:_LISTED]]
    more = int(which.sum()) - len(shown)
    *first, last = [*shown, f"{more} more"] if more else shown
    return f"rows {', '.join(first)} and {last}" if first else f"row {last}"


def _listed(names: Names | None) -> list[str]:
    return [names] if isinstance(names, str) else list(() if names is None else names)


def _judged_without_gaps(frame: pd.DataFrame, names: Sequence[object]) -> pd.DataFrame:
    """The table for finding the column that names the task, where labels all alike or all unlike stay so despite gaps.

    Such a column is replaced by made-up labels of the same sort; with others a gap makes no difference.
    """
    made_up: dict[str, str | list[str]] = {}
    for name in [name for name in names if isinstance(name, str)]:
        empty = gaps(frame[name])
        if empty.any() and kind_of(frame[name]) == "text":
            given = frame[name][~empty].astype(str)
            if given.nunique() == 1:
                made_up[name] = "label"
            elif len(given) > 2 and given.is_unique:
                made_up[name] = [f"label {place}" for place in range(len(frame))]
    return frame.assign(**made_up)


def _inputs(
    frame: pd.DataFrame,
    used: Bool[np.ndarray, " n"],
    free: Sequence[object],
    general: list[str],
    ignored: dict[str, str],
    *,
    drop_incomplete: bool,
) -> list[str]:
    """The columns of numbers that somebody chose, the others with the reason why not."""
    rows = frame[used]
    tasks, places = _tasks(rows, general), np.flatnonzero(used)
    chosen = []
    for name in free:
        reason = _no_input(rows[name], name, tasks, places, drop_incomplete=drop_incomplete)
        if reason:
            ignored[str(name)] = reason
        else:
            chosen.append(str(name))
    if not chosen:
        reasons = "; ".join(f"{name!r} {reason}" for name, reason in ignored.items()) or "there is no other column"
        raise DataError(
            f"No column is left as an input: {reasons}. Complete or correct a column, or say which are chosen in an "
            f"experiment, as in inputs={{'temperature_c': (700, 900)}} (--input)."
        )
    return chosen


def _no_input(
    column: pd.Series, name: object, tasks: np.ndarray, places: Int[np.ndarray, " n"], *, drop_incomplete: bool
) -> str | None:
    """Why a column is no input, or None where it is one; `places` are those of the rows in the whole table."""
    if not isinstance(name, str) or name.startswith("unnamed "):
        return "has no name"
    kind = kind_of(column)
    if kind == "mixed":
        raise DataError(
            f"Column {name!r} should hold numbers, but {offenders(column, no_numbers(column))}. Correct them, or say "
            f"what the column is: ignore=[{name!r}] (--ignore), or general=[{name!r}] (--general) if it holds labels."
        )
    if kind != "number":
        return {"text": "holds text", "date": "holds dates", "empty": "is empty"}[kind]
    empty = gaps(column)
    if drop_incomplete:
        column, tasks, places = column[~empty], tasks[~empty], places[~empty]
    elif empty.any():
        rows = ", ".join(map(str, column.index[empty][:3])) + (", ..." if empty.sum() > 3 else "")
        return f"has 1 empty cell (row {rows})" if empty.sum() == 1 else f"has {empty.sum()} empty cells (rows {rows})"
    values = numbers(column.to_frame(name), name)
    if (values == values[0]).all():
        return f"has the same value {values[0]:g} in every row"
    if len(values) > 2 and any(_counts(values, rows) for rows in (places, np.arange(len(values)))):
        return "numbers the rows"
    if _describes_the_task(values, tasks):
        return "has one value within each task: it describes the task and was not chosen"
    return None


def _counts(values: Float[np.ndarray, " n"], places: Int[np.ndarray, " n"]) -> bool:
    """Whether the values are the places, counted from 0 or from 1."""
    return bool(values[0] - places[0] in (0, 1) and (np.diff(values) == np.diff(places)).all())


def _tasks(frame: pd.DataFrame, general: list[str]) -> np.ndarray:
    """Each row's task, numbered."""
    places = pd.DataFrame({name: labels(frame, name)[0] for name in general}, index=range(len(frame)))
    return places.groupby(general, sort=False).ngroup().to_numpy() if general else np.zeros(len(frame), dtype=int)


def _describes_the_task(values: Float[np.ndarray, " n"], tasks: np.ndarray) -> bool:
    """Whether the values differ between tasks alone, with enough rows to tell."""
    by_task = pd.Series(values).groupby(tasks)
    return bool(tasks.max() > 0 and (by_task.size() > 1).any() and (by_task.nunique() == 1).all())


def _bounds(values: Float[np.ndarray, " n"]) -> tuple[tuple[float, ...] | None, str]:
    """The least and the largest value, with a step of 1 where all are whole, and the same in words."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return None, f"around {low:g}"  # `Problem.resolved` makes room
    if (values == np.round(values)).all() and high - low <= _MOST_STEPS:
        return (low, high, 1.0), f"from {low:g} to {high:g} in whole numbers"
    return (low, high), f"from {low:g} to {high:g}"
