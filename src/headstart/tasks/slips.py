"""Slips of units and of decimal points: what can be used, but is most likely not meant. Warnings, no errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from headstart.errors import DataWarning
from headstart.shapes import Bool
from headstart.tasks.problem import Problem
from headstart.tasks.rows import Rows

# Rows may lie outside of the bounds by this share of them.
_REACH = 1.0
# Outcomes may lie outside of those known by so many times their range, once there are so many.
_FAR, _ENOUGH = 3.0, 5


def warn_of_far_rows(rows: Rows, problem: Problem, *, stacklevel: int) -> None:
    """Rows far outside of the bounds of an input."""
    low, high = problem.bounds
    reach = _REACH * (high - low)
    far = (rows.inputs < low - reach) | (rows.inputs > high + reach)
    if far.any():
        text = f"{_first(far, rows, problem, 'row', 'far outside')} A slip of units?"
        warnings.warn(text, DataWarning, stacklevel=stacklevel)


def warn_of_missed_bounds(rows: Rows, problem: Problem, *, stacklevel: int) -> None:
    """Inputs of which not a single row lies inside the bounds: nothing is known where suggestions would be."""
    low, high = problem.bounds
    inside = (rows.inputs >= low) & (rows.inputs <= high)
    for column in np.flatnonzero(~inside.any(axis=0)) if len(rows.inputs) else []:
        name, values = list(problem.inputs)[column], rows.inputs[:, column]
        warnings.warn(
            f"No row lies inside the bounds of {name!r}: they are {low[column]:g} to {high[column]:g}, and the rows' "
            f"values {values.min():g} to {values.max():g}. A slip of units?",
            DataWarning,
            stacklevel=stacklevel,
        )


def warn_of_candidates_outside(rows: Rows, problem: Problem, *, stacklevel: int) -> None:
    """Candidates that the bounds exclude; they are ranked all the same."""
    low, high = problem.bounds
    outside = (rows.inputs < low) | (rows.inputs > high)
    if outside.any():
        text = f"{_first(outside, rows, problem, 'candidate', 'outside')} What is expected there is a guess."
        warnings.warn(text, DataWarning, stacklevel=stacklevel)


def _first(where: Bool[np.ndarray, "n x"], rows: Rows, problem: Problem, what: str, how: str) -> str:
    """How many rows it is about, and the first of them."""
    row, column = np.argwhere(where)[0]
    count = int(where.any(axis=1).sum())
    lie = f"1 {what} lies" if count == 1 else f"{count} {what}s lie"
    low, high = (edge[column] for edge in problem.bounds)
    return (
        f"{lie} {how} of the bounds, the first is row {row}: {list(problem.inputs)[column]!r} is "
        f"{rows.inputs[row, column]:g} and its bounds are {low:g} and {high:g}."
    )


def far_outcomes(outcomes: Iterable[float], *, count: int, low: float, high: float) -> list[float]:
    """Those far outside of so many known outcomes, which lie between low and high.

    >>> far_outcomes([71.0, 8430.0], count=40, low=64.0, high=82.0)
    [8430.0]
    """
    reach = _FAR * (high - low)
    if count < _ENOUGH or reach <= 0:
        return []
    return [float(each) for each in outcomes if not low - reach <= each <= high + reach]


def warn_of_far_outcomes(
    outcomes: Iterable[float], objective: str, *, count: int, low: float, high: float, stacklevel: int
) -> None:
    """New outcomes that are far from all known ones."""
    for each in far_outcomes(outcomes, count=count, low=low, high=high):
        warnings.warn(
            f"{objective!r} = {each:g} lies far outside of the {count} outcomes known so far, {low:g} to {high:g}. A "
            "slip of units or of the decimal point?",
            DataWarning,
            stacklevel=stacklevel,
        )
