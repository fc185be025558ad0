"""How far legacy data can be trusted with a new task: a validation of each task as a plain dict, and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from headstart.report.summaries import wilson
from headstart.report.words import counted, listed, number, percent
from headstart.tasks import Problem
from headstart.validation import COLUMNS, INTERVAL, VERDICTS, verdict_of

_MEANS = ("rmse", "log_density", "alone_rmse", "alone_log_density", "alone_coverage", "gain")
_TOGETHER = {"helps": "help", "hurts": "hurt", "no clear difference": "make no clear difference"}
_FEW = 5  # tasks, below which a count of verdicts is a hint
_NOTICED = 0.05  # a share this far from what was promised is worth a word
_NAMED = 3  # tasks that are named in a sentence


def trust(frame: pd.DataFrame, problem: Problem) -> dict[str, Any]:
    """The frame of `headstart.Surrogate.validate`, task by task and over all of them.

    A task's `gain` is its mean over all shots but zero, which its verdict is about; `verdict` is that of all tasks
    together, by the same rule with a task in the place of a row. In `overall`, errors, log densities and gains are
    means over tasks, each counting the same however many rows it has; `coverage` is the share of all judged rows, and
    `coverage_range` its 95 % Wilson interval, which takes rows to be independent.
    """
    names, scores = list(problem.general), [name for name in COLUMNS if name != "verdict"]
    tasks = []
    for labels, rows in frame.groupby(names, sort=False, dropna=False):
        shots = [{name: _plain(row[name]) for name in scores} for row in rows.to_dict("records")]
        told = [each["gain"] for each in shots if each["shots"] > 0] or [each["gain"] for each in shots]
        tasks.append(
            {
                "task": {name: str(label) for name, label in zip(names, labels, strict=True)},
                "verdict": str(rows["verdict"].iloc[0]),
                "gain": fmean(told),
                "shots": shots,
            }
        )
    counts = sorted({int(count) for count in frame["shots"]})
    return {
        "objective": problem.objective,
        "general": names,
        "interval": frame.attrs.get("interval", INTERVAL),
        "repeats": frame.attrs.get("repeats"),
        "archive_tasks": frame.attrs.get("archive_tasks"),
        "shots": counts,
        "tasks": tasks,
        "overall": [_overall(tasks, count) for count in counts],
        "verdict": verdict_of(np.array([[[task["gain"] for task in tasks]]])),
        "counts": {verdict: sum(task["verdict"] == verdict for task in tasks) for verdict in VERDICTS},
    }


def trust_in_words(summary: Mapping[str, Any]) -> str:
    """On how many tasks legacy data help, how large errors are with them and without, and whether intervals hold."""
    tasks, counts = summary["tasks"], summary["counts"]
    if not tasks:
        return "No task has enough rows to be judged: it takes one more than are learned."
    sentences = [_verdicts(counts, len(tasks))]
    if len(tasks) > max(counts.values()):  # they do not all say the same
        sentences.append(f"Over all tasks together, legacy data {_TOGETHER[summary['verdict']]}.")
    hurt = [f"({listed(task['task'])})" for task in tasks if task["verdict"] == "hurts"]
    if hurt:
        more = f" and {len(hurt) - _NAMED} more" if len(hurt) > _NAMED else ""
        sentences.append(
            f"Beware of tasks like {', '.join(hurt[:_NAMED])}{more}: do their columns mean the same, in the same units?"
        )
    sentences += [_errors(summary), _coverage(summary)]
    if len(tasks) < _FEW:
        sentences.append(f"With {counted(len(tasks), 'task')} this is a hint, not proof.")
    return " ".join(sentences)


def _overall(tasks: Sequence[dict[str, Any]], count: int) -> dict[str, Any]:
    rows = [each for task in tasks for each in task["shots"] if each["shots"] == count]
    judged = sum(each["rows"] for each in rows)
    inside = sum(each["rows"] * each["coverage"] for each in rows)
    return {
        "shots": count,
        "tasks": len(rows),
        "rows": judged,
        **{name: fmean(each[name] for each in rows) for name in _MEANS},
        "coverage": inside / judged,
        "coverage_range": wilson(round(inside), judged),
    }


def _verdicts(counts: Mapping[str, int], tasks: int) -> str:
    helps, hurts, unclear = (counts[verdict] for verdict in VERDICTS)
    if helps == tasks:
        return f"Legacy data help on all {tasks} tasks." if tasks > 1 else "Legacy data help on the task."
    if unclear == tasks:
        return f"Legacy data make no clear difference on any of {counted(tasks, 'task')}."
    parts = [f"help on {helps or 'none'} of {counted(tasks, 'task')}"]
    parts += [f"hurt on {hurts or 'none'}"]
    parts += [f"make no clear difference on {unclear}"] if unclear else []
    return f"Legacy data {', '.join(parts[:-1])} and {parts[-1]}."


def _errors(summary: Mapping[str, Any]) -> str:
    parts = []
    for each in summary["overall"]:
        with_, without = number(each["rmse"]), number(each["alone_rmse"])
        if each["shots"] == 0:
            parts.append(f"before its first row by {with_}, where the mean of the other tasks is off by {without}")
        else:
            parts.append(f"{_after(each['shots'])} by {with_}, without legacy data by {without}")
    return f"Predictions of a task's {summary['objective']} are off (root mean square) {'; '.join(parts)}."


def _coverage(summary: Mapping[str, Any]) -> str:
    promised = summary["interval"]
    held = [f"{percent(each['coverage'])} {_after(each['shots'])}" for each in summary["overall"]]
    text = f"Intervals that promise to hold {percent(promised)} of outcomes held {_enumerated(held)}."
    narrow, wide = [], []
    for each in summary["overall"]:
        low, high = each["coverage_range"]
        if each["coverage"] < promised - _NOTICED and high < promised:
            narrow.append(_after(each["shots"]))
        if each["coverage"] > promised + _NOTICED and low > promised:
            wide.append(_after(each["shots"]))
    if narrow:
        text += f" They are too narrow {_enumerated(narrow)}: expect more surprises than they say."
    if wide:
        text += f" They are wider than they need to be {_enumerated(wide)}."
    return text


def _after(shots: int) -> str:
    return f"after {counted(shots, 'row')}" if shots else "before the first row"


def _enumerated(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _plain(value: Any) -> Any:
    """A number as JSON takes it: None for one that is none."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
