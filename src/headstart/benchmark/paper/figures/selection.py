"""The results that a figure is drawn from, or an error that says which are missing."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headstart.benchmark.systems import get_system
from headstart.errors import DataError


def rows_of(table: pd.DataFrame, system: str, columns: Sequence[str]) -> pd.DataFrame:
    """The rows of one system, which must be there, as must the columns that a figure reads.

    >>> rows_of(pd.DataFrame({"system": ["pump"], "rmse": [0.1]}), "additive", ["rmse"])
    Traceback (most recent call last):
    headstart.errors.DataError: The results hold no system 'additive', only pump: run its jobs first.
    """
    absent = [column for column in ("system", *columns) if column not in table]
    if absent:
        raise DataError(
            f"The results lack {', '.join(absent)}: they have {', '.join(map(str, table)) or 'no columns'}."
        )
    rows = table[table["system"] == system]
    if rows.empty:
        others = ", ".join(dict.fromkeys(table["system"])) or "none"
        raise DataError(f"The results hold no system {system!r}, only {others}: run its jobs first.")
    return rows


def rows_by_task(rows: pd.DataFrame, system: str, *, most: int | None = None) -> dict[str, pd.DataFrame]:
    """The rows of each held-out task, in the order of the system and not more than so many tasks."""
    present = set(rows["task"])
    tasks = [task for task in get_system(system).tasks if task in present]
    if not tasks:
        raise DataError(
            f"{system} has none of the tasks in the results, {', '.join(map(str, present))}: run its jobs again."
        )
    return {task: rows[rows["task"] == task] for task in tasks[:most]}
