"""The column that names the task, found among the columns of labels."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import pandas as pd

from headstart.errors import DataError
from headstart.tasks.kinds import gaps, kind_of

_UNLIKE = "has another label in every row"
_HARDLY_ALIKE = "has another label in nearly every row"
# A column with more different labels than this share of the rows tells rows apart, not tasks.
_MOST_LABELS = 0.9
_ALIKE = "has the same label in every row"


def label_column(frame: pd.DataFrame, names: Sequence[object]) -> tuple[str, dict[str, str]]:
    """The one of the named columns whose labels can tell tasks apart, and why other columns of labels cannot.

    A column of one label is taken only where there is no better one.

    >>> label_column(
    ...     pd.DataFrame({"pump": ["A", "A", "B"], "run": ["r1", "r2", "r3"], "flow": [1, 2, 3]}), ["pump", "run"]
    ... )
    ('pump', {'run': 'has another label in every row'})
    """
    reasons = {str(name): _no_task(frame[name], name) for name in names}
    candidates = [name for name, reason in reasons.items() if reason is None]
    candidates = candidates or [name for name, reason in reasons.items() if reason == _ALIKE]
    if len(candidates) == 1:
        others = {name: reason for name, reason in reasons.items() if name not in candidates}
        return candidates[0], {
            name: reason for name, reason in others.items() if reason in (_ALIKE, _UNLIKE, _HARDLY_ALIKE)
        }
    if candidates:
        likely = min(candidates, key=lambda name: frame[name].astype(str).nunique())
        raise DataError(
            f"Several columns may name the task: {', '.join(map(repr, candidates))}. Say which do, as in "
            f"general=[{likely!r}] (--general {shlex.quote(likely)}); ignore= (--ignore) leaves a column out."
        )
    listed = "; ".join(f"{name!r} {reason}" for name, reason in reasons.items()) or "there is no other column"
    raise DataError(
        f"No column of labels tells one task from another: {listed}. Say which column does, which may also hold "
        f"numbers, as in general=['batch'] (--general batch), or add one: the machine, the alloy, the customer."
    )


def _no_task(column: pd.Series, name: object) -> str | None:
    """Why a column cannot name the task, or None where it can."""
    if not isinstance(name, str) or name.startswith("unnamed "):
        return "has no name"
    kind = kind_of(column)
    if kind != "text":
        return {"date": "holds dates", "empty": "is empty"}.get(kind, "holds numbers")
    filled = column[~gaps(column)].astype(str)
    distinct = filled.nunique()
    if len(column) > 2 and distinct == len(column):
        return _UNLIKE
    if len(column) >= 10 and distinct > _MOST_LABELS * len(column):
        return _HARDLY_ALIKE
    return _ALIKE if distinct == 1 and len(filled) == len(column) else None
