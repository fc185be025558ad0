"""What a command prints: tables for people, JSON for programs, progress where somebody watches."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def print_json(value: Any) -> None:
    """One JSON document on standard output. What is no number is null: JSON knows no NaN."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def print_table(frame: pd.DataFrame, title: str | None = None) -> None:
    """A table: drawn on a terminal, plain columns in a pipe."""
    shown = frame.map(text_of).rename(columns=str)
    if not sys.stdout.isatty():
        if title:
            print(f"# {title}")
        print(shown.to_string(index=False) if len(shown) else "(no rows)")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    widths = [max([len(name), *shown[name].map(len)]) for name in shown.columns]
    if sum(widths) + 3 * len(widths) + 1 > console.width:  # a number broken over lines is misread
        print(title or "", end="\n" * bool(title))
        for row in shown.itertuples(index=False):
            print(
                "\n".join(f"  {name}: {value}" for name, value in zip(shown.columns, row, strict=True) if value),
                end="\n\n",
            )
        return
    table = Table(title=title and Text(title), title_justify="left", header_style="bold")
    for name in shown.columns:
        is_number = frame[name].dtype.kind in "iufb"
        table.add_column(Text(name), justify="right" if is_number else "left", overflow="fold")
    for row in shown.itertuples(index=False):
        table.add_row(*map(Text, row))
    console.print(table)


def note(text: str) -> None:
    """A remark for people, on standard error so that it never mixes with the answer."""
    print(text, file=sys.stderr)


def notes(lines: Iterable[str]) -> None:
    """Several remarks."""
    for line in lines:
        note(line)


def text_of(value: Any) -> str:
    """A cell as people read it: four significant digits, no seconds' fractions, nothing for nothing.

    >>> [text_of(value) for value in (0.123456, 1234.5678, 20000.0, None, "Ti-6242", 3)]
    ['0.1235', '1235', '20000', '', 'Ti-6242', '3']
    """
    if _is_nothing(value):
        return ""
    if isinstance(value, datetime):
        return datetime.fromtimestamp(value.timestamp()).strftime("%Y-%m-%d %H:%M")
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"
    return str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


@contextmanager
def fitting(text: str = "Fitting") -> Iterator[Callable[[int, float], None] | None]:
    """Progress of a fit on a terminal, and none in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{text} ...") as status:
        yield lambda evaluations, elbo: status.update(f"{text}: {evaluations} evaluations, evidence {elbo:.1f}")


@contextmanager
def steps(total: int | None, text: str) -> Iterator[Callable[[float, str], None]]:
    """A progress bar with the time left on a terminal, and none in a pipe. Without a total, `done` is a share."""
    if not sys.stderr.isatty():
        yield lambda done, remark: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(text),
        BarColumn(),
        TaskProgressColumn() if total is None else MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[remark]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task(text, total=1.0 if total is None else total, remark="")
        yield lambda done, remark: progress.update(bar, completed=done, remark=remark)


def _is_nothing(value: Any) -> bool:
    """None, and what numpy and pandas write for it; a label "None" is a label."""
    return not isinstance(value, str) and str(value) in ("None", "nan", "<NA>", "NaT")


def _plain(value: Any) -> Any:
    """Values as JSON takes them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item") and not isinstance(value, str):  # numpy's numbers
        value = value.item()
    if _is_nothing(value):
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, str | int | bool) else str(value)
