"""What a picture shows as a table, one row a mark, for those who want to draw or count it themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from headstart.errors import ProblemError, did_you_mean

Row = tuple[Mapping[str, Any], Mapping[str, Any]]  # in the user's columns, and in ours


def rows_of(kind: str, summary: dict[str, Any]) -> pd.DataFrame:
    """A summary as a tidy table.

    Tasks, inputs and outcomes are in the user's columns where a row is an experiment. A column of ours that happens to
    have such a name gets an underscore behind it.

    Args:
        kind: "convergence", "slices", "surfaces", "embedding_map", "honesty" or "trust".
        summary: what the function of that name returned.
    """
    if kind not in _KINDS:
        raise ProblemError(
            f"There is no picture called {kind!r}.{did_you_mean(kind, list(_KINDS))} Choose from: {', '.join(_KINDS)}."
        )
    columns, rows = _KINDS[kind]
    records = [
        {**theirs, **{f"{name}_" if name in theirs else name: ours.get(name) for name in columns}}
        for theirs, ours in rows(summary)
    ]
    return pd.DataFrame(records) if records else pd.DataFrame(columns=[*columns])


def _convergence(summary: dict[str, Any]) -> Iterator[Row]:
    """The best of the archive as evaluation 0, what was measured, and what is still to be."""
    task, objective = summary["task"], summary["objective"]
    experiments = [*summary["evaluations"], *summary["pending"]]
    if summary["start"] is not None:
        # Which row of the archive it was, the picture does not show.
        inputs = dict.fromkeys(experiments[0]["inputs"]) if experiments else {}
        start = {"status": "archive", "evaluation": 0, "best": summary["start"]}
        yield {**task, **inputs, objective: summary["start"]}, start
    for each in experiments:
        status = "observed" if "outcome" in each else "pending"
        yield {**task, **each["inputs"], objective: each.get("outcome")}, {"status": status, **each}


def _slices(summary: dict[str, Any]) -> Iterator[Row]:
    task, anchor = summary["task"], summary["anchor"]
    for each in summary["inputs"]:
        name = {"input": each["name"]}
        for mark in _together(each, "x", "mean", "lower", "upper"):
            yield task, {**name, "mark": "expected", **mark}
        for mark in _together(each["measured"], "x", "outcome", "distance"):
            yield task, {**name, "mark": "measured", **mark}
        yield task, {**name, "mark": anchor["is"], "x": anchor["inputs"][each["name"]], "outcome": anchor["outcome"]}


def _surfaces(summary: dict[str, Any]) -> Iterator[Row]:
    task, anchor = summary["task"], summary["anchor"]
    for each in summary["pairs"]:
        names = {"x_name": each["x_name"], "y_name": each["y_name"]}
        for y, means, sds in zip(each["y"], each["mean"], each["sd"], strict=True):
            for x, mean, sd in zip(each["x"], means, sds, strict=True):
                yield task, {**names, "mark": "expected", "x": x, "y": y, "mean": mean, "sd": sd}
        for mark in _together(each["measured"], "x", "y", "outcome", "distance"):
            yield task, {**names, "mark": "measured", **mark}
        x, y = anchor["inputs"][each["x_name"]], anchor["inputs"][each["y_name"]]
        yield task, {**names, "mark": anchor["is"], "x": x, "y": y, "outcome": anchor["outcome"]}


def _embedding_map(summary: dict[str, Any]) -> Iterator[Row]:
    for step in summary.get("trail", []):
        yield {}, {"mark": "trail", "level": summary["label"], "is_current": True, **step}
    for level in summary["levels"]:
        (xx, xy), (_, yy) = level["covariance"]
        spread = {"variance_x": xx, "variance_y": yy, "covariance_xy": xy}
        yield {}, {"mark": "level", "level": level["label"], **level, **spread}


def _honesty(summary: dict[str, Any]) -> Iterator[Row]:
    for each in summary["predictions"]:
        yield {**each["task"], **each["inputs"], summary["objective"]: each["outcome"]}, each


def _trust(summary: dict[str, Any]) -> Iterator[Row]:
    for task in summary["tasks"]:
        for each in task["shots"]:
            yield task["task"], {**each, "verdict": task["verdict"]}


def _together(columns: Mapping[str, Any], *names: str) -> Iterator[dict[str, Any]]:
    for values in zip(*(columns[name] for name in names), strict=True):
        yield dict(zip(names, values, strict=True))


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any]], Iterator[Row]]]] = {
    "convergence": (
        ("status", "evaluation", "suggestion", "observation", "mean", "lower", "upper", "best"),
        _convergence,
    ),
    "slices": (("input", "mark", "x", "mean", "lower", "upper", "outcome", "distance"), _slices),
    "surfaces": (("x_name", "y_name", "mark", "x", "y", "mean", "sd", "outcome", "distance"), _surfaces),
    "embedding_map": (
        ("level", "mark", "x", "y", "variance_x", "variance_y", "covariance_xy", "rows", "is_current", "similarity"),
        _embedding_map,
    ),
    "honesty": (("suggestion", "observation", "mean", "lower", "upper", "inside", "residual"), _honesty),
    "trust": (
        (
            *("shots", "rows", "rmse", "log_density", "coverage"),
            *("alone_rmse", "alone_log_density", "alone_coverage", "gain", "gain_error", "verdict"),
        ),
        _trust,
    ),
}
