"""Rows: a table's numbers and codes as arrays, checked once, here, and trusted from here on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from headstart.errors import DataError, ProblemError, did_you_mean
from headstart.shapes import Float, Int
from headstart.tasks.columns import Table, as_frame, label, numbers, offenders, require_columns
from headstart.tasks.levels import Levels
from headstart.tasks.problem import Problem

if TYPE_CHECKING:
    Task: TypeAlias = Mapping[str, object]
else:  # what a caller gives is checked at run time, with words about what to do
    Task = object


@dataclass(frozen=True, eq=False)
class Rows:
    """Experiments as arrays, in the units and the direction of the table.

    Attributes:
        inputs: the real-valued inputs, in the problem's order.
        codes: the levels' codes, one column a general input.
        objective: what was measured, or None where nothing was, as for candidates.
    """

    inputs: Float[np.ndarray, "n d"]
    codes: Int[np.ndarray, "n g"]
    objective: Float[np.ndarray, " n"] | None = None

    def __len__(self) -> int:
        return len(self.inputs)


def rows_from_frame(
    frame: Table,
    problem: Problem,
    levels: Levels,
    *,
    with_objective: bool,
    task: Task | None = None,
    allow_empty: bool = False,
) -> tuple[Rows, Levels]:
    """Check a table and turn it into arrays, with the levels extended by the labels it brought.

    With a `task` the general columns may be left out; those that are there must agree with it.
    Rows outside the problem's bounds are legal: history may lie anywhere.

    >>> problem = Problem(inputs={"flow": (0, 30)}, general=["pump"], objective="head")
    >>> archive = pd.DataFrame({"pump": ["A", "B"], "flow": [10, 20], "head": [4.9, 4.7]})
    >>> rows, levels = rows_from_frame(archive, problem, Levels.none(problem), with_objective=True)
    >>> rows.inputs.tolist(), rows.codes.tolist(), rows.objective.tolist()
    ([[10.0], [20.0]], [[0], [1]], [4.9, 4.7])
    >>> rows, _ = rows_from_frame({"flow": [15.0]}, problem, levels, with_objective=False, task={"pump": "B"})
    >>> rows.codes.tolist(), rows.objective is None
    ([[1]], True)
    """
    frame = as_frame(frame)
    if len(frame) == 0:
        if not allow_empty:
            raise DataError("The table has no rows. Give at least one experiment.")
        if len(frame.columns) == 0:
            frame = pd.DataFrame(columns=[*problem.inputs, *problem.general, problem.objective])
    if task is not None:
        frame = _with_task(frame, _task_labels(task, problem))
    require_columns(frame, problem.inputs)
    if not any(name in frame for name in problem.general):
        raise DataError(
            f"The table does not say which task its rows are of: it has no column {problem.general[0]!r}. "
            "Add the general columns, as in frame.assign(**task)."
        )
    inputs = np.column_stack([numbers(frame, name) for name in problem.inputs])
    codes, extended = levels.encode(frame)
    objective = None
    if with_objective:
        require_columns(frame, [problem.objective])
        objective = numbers(frame, problem.objective)
    return Rows(inputs, codes, objective), extended


def task_codes(task: Task, problem: Problem, levels: Levels) -> tuple[Int[np.ndarray, " g"], Levels]:
    """The codes of one task, which may name labels never seen, and the levels extended by them.

    >>> problem = Problem(inputs=["flow"], general=["pump", "fluid"], objective="head")
    >>> levels = Levels(("pump", "fluid"), (("A", "B"), ("water",)))
    >>> codes, extended = task_codes({"pump": "new", "fluid": "water"}, problem, levels)
    >>> codes.tolist(), extended["pump"]
    ([2, 0], ('A', 'B', 'new'))
    """
    codes, extended = levels.encode([_task_labels(task, problem)])
    return codes[0], extended


def _task_labels(task: Task, problem: Problem) -> dict[str, str]:
    """The task's label of each general input, checked to be all of them and no other."""
    example = "task={" + ", ".join(f"{name!r}: ..." for name in problem.general) + "}"
    if not isinstance(task, Mapping):
        raise ProblemError(f"A task maps each general input to a label, {example}, not {task!r}.")
    for name in task:
        if name not in problem.general:
            raise ProblemError(
                f"The task names {name!r}, which is not a general input."
                f"{did_you_mean(name, problem.general)} Write {example}."
            )
    texts = {}
    for name in problem.general:
        if name not in task:
            raise ProblemError(f"The task does not say which {name!r} it is of. Write {example}.")
        text = label(task[name])
        if text is None:
            raise ProblemError(f"The task's {name!r} must be a label, text or a number, not {task[name]!r}.")
        texts[name] = text
    return texts


def _with_task(frame: pd.DataFrame, task: Mapping[str, str]) -> pd.DataFrame:
    """The frame with the general columns it lacks filled in from the task."""
    frame = frame.assign(**{name: text for name, text in task.items() if name not in frame})
    of_task = Levels(tuple(task), tuple((text,) for text in task.values()))
    codes, _ = of_task.encode(frame)
    for (name, text), column in zip(task.items(), codes.T, strict=True):
        if column.any():  # the task's own label has code 0
            raise DataError(
                f"Column {name!r} must hold the task's label {text!r} in every row, but "
                f"{offenders(frame[name], column > 0)}. Drop the column, or keep only the rows "
                f"of the task."
            )
    return frame
