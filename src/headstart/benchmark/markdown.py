"""Frames as tables of a Markdown page."""

from __future__ import annotations

import pandas as pd


def pipe_table(table: pd.DataFrame) -> str:
    """A pipe table, index and columns, with three significant digits.

    >>> print(pipe_table(pd.DataFrame({"regret": [0.12345, None]}, index=pd.Index(["BEGP", "GP"], name="model"))))
    | model | regret |
    | --- | --- |
    | BEGP | 0.123 |
    | GP |  |
    """
    flat = table.reset_index()
    header = [str(column) for column in flat.columns]
    lines = [header, ["---"] * len(header), *([_text(value) for value in row] for row in flat.itertuples(index=False))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.3g}"
    return str(value)
