"""From a dropped file to a campaign: the table as it was read, its problems at their cells, and roles to choose.

A role is what a column is for: an input with bounds, a general input, the objective, or nothing.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pandas as pd

from headstart.errors import HeadstartError, ProblemError
from headstart.tasks import Finding, Roles, infer_roles, read_table, survey
from headstart.tasks.files import naming
from headstart.tasks.survey import Column
from headstart.web.unpacking import Room, unpacked

ROLES = ("input", "general", "objective", "ignore")
_SHOWN_ROWS = 60
_SHOWN_TEXT = 200
_BOUNDS = ("low", "high", "step")


@dataclass(frozen=True)
class Choice:
    """What the user wants of each column, by name, in the words of the form.

    Attributes:
        roles: by column; what is left out is found out.
        bounds: by input, as the texts that were typed, where some were.
        goal: "maximize" or "minimize".
        drop_incomplete: leave out rows with an empty cell that is needed.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    goal: str = "maximize"
    drop_incomplete: bool = False

    @classmethod
    def of_form(cls, form: Mapping[str, Any], columns: list[str]) -> Choice:
        """The choice in a form whose fields are numbered by column: role-0, low-0, high-0, step-0."""
        roles, bounds = {}, {}
        for place, name in enumerate(columns):
            role = str(form.get(f"role-{place}", ""))
            if role in ROLES:
                roles[name] = role
            typed = {edge: str(form.get(f"{edge}-{place}", "")).strip() for edge in _BOUNDS}
            if any(typed.values()):
                bounds[name] = typed
        goal = "minimize" if form.get("goal") == "minimize" else "maximize"
        return cls(roles, bounds, goal, bool(form.get("drop_incomplete")))


def table_of(name: str, content: bytes, *, most: int) -> pd.DataFrame:
    """The table in a dropped file; its name is shown in errors and never used as a path.

    Args:
        name: what the file is called.
        content: what is in it.
        most: rows that it may have.
    """
    shown = Path(name.replace("\\", "/")).name or "file"
    with naming(shown), tempfile.TemporaryDirectory() as folder:
        room = Room(rows=most)
        path = Path(folder) / "table"
        path.write_bytes(unpacked(content, room))
        try:
            table = read_table(path)
        except HeadstartError as error:
            error.args = (str(error).removeprefix(f"{path.name}: "),)
            raise
        room.check(len(table), len(table.columns))
    return table


def intake(table: pd.DataFrame, choice: Choice) -> dict[str, Any]:
    """Everything that the page of a dropped table shows: columns with roles, marked cells, and what is in the way."""
    columns = [str(name) for name in table.columns]
    chosen, problem_text, roles = _defaults(table, choice), None, None
    try:
        roles = roles_of(table, Choice(chosen, choice.bounds, choice.goal, choice.drop_incomplete))
    except HeadstartError as error:
        problem_text = str(error)
    used = {name for name, role in chosen.items() if role != "ignore"}
    tasks = _tasks(roles)
    found = _findings(table, chosen, choice)
    stated = dict(roles.problem.inputs) if roles else {}
    return {
        "rows": len(table),
        "goal": choice.goal,
        "drop_incomplete": choice.drop_incomplete,
        "columns": [
            {
                "place": place,
                "name": name,
                "role": chosen[name],
                "bounds": _shown_bounds(choice.bounds.get(name), stated.get(name)),
                "note": _note(name, chosen[name], roles),
                "findings": [_shown(each) for each in found if each.column == name and each.row is None],
            }
            for place, name in enumerate(columns)
        ],
        "findings": [_shown(each) | {"is_used": each.column is None or each.column in used} for each in found],
        "errors": sum(each.kind == "error" and each.column in used for each in found),
        "problem": problem_text,
        "used_rows": len(roles.rows) if roles else 0,
        "tasks": tasks,
        "lone_tasks": sum(each["rows"] == 1 for each in tasks),
        "cells": _cells(table, found),
    }


def roles_of(table: pd.DataFrame, choice: Choice) -> Roles:
    """The problem that the choice poses."""
    by_role = {role: [name for name, given in choice.roles.items() if given == role] for role in ROLES}
    if len(by_role["objective"]) != 1:
        names = ", ".join(map(repr, by_role["objective"])) or "none"
        raise ProblemError(f"Choose one column as the objective; chosen: {names}.")
    if not by_role["general"]:
        raise ProblemError("Choose a column that names the task, such as the alloy, machine or catalyst, as general.")
    if not by_role["input"]:
        raise ProblemError("Choose at least one column as an input: a number that you set in an experiment.")
    inputs = {name: _bounds(name, choice.bounds.get(name)) for name in by_role["input"]}
    return infer_roles(
        table,
        objective=by_role["objective"][0],
        goal=choice.goal,
        inputs=inputs,
        general=by_role["general"],
        ignore=by_role["ignore"],
        drop_incomplete=choice.drop_incomplete,
    )


def _defaults(table: pd.DataFrame, choice: Choice) -> dict[str, str]:
    """The chosen roles, and for columns without one what the table suggests: the last column of numbers is measured."""
    columns = [str(name) for name in table.columns]
    found = survey(table)
    kinds = {each.name: each for each in found.columns}
    roles = {name: role for name, role in choice.roles.items() if name in kinds}
    free = [name for name in columns if name not in roles]
    numeric = [name for name in free if kinds[name].kind == "number" and kinds[name].distinct > 1]
    if "objective" not in roles.values() and numeric:
        roles[numeric[-1]] = "objective"
    objective = next((name for name, role in roles.items() if role == "objective"), None)
    general = [name for name, role in roles.items() if role == "general"]
    if objective is not None and free:
        try:
            ignored = [name for name, role in roles.items() if role == "ignore"]
            given = infer_roles(
                table,
                objective=objective,
                goal=choice.goal,
                general=general or None,
                ignore=ignored,
                drop_incomplete=choice.drop_incomplete,
            )
            for name in given.problem.general:
                roles.setdefault(name, "general")
            for name in given.problem.inputs:
                roles.setdefault(name, "input")
            for name in given.ignored:
                roles.setdefault(name, "ignore")
        except HeadstartError:  # the page shows what is wrong, and asks
            pass
    for name in columns:
        roles.setdefault(name, _likely_role(kinds[name], len(table)))
    return roles


def _likely_role(column: Column, rows: int) -> str:
    """What a column may be for; one whose labels hardly ever recur, or never change, tells no tasks apart."""
    if column.kind == "text":
        return "general" if 1 < column.distinct <= rows / 2 else "ignore"
    return "input" if column.kind in ("number", "mixed") else "ignore"


def _bounds(name: str, typed: Mapping[str, str] | None) -> tuple[float, ...] | None:
    """Typed bounds as numbers; None to take them from the table."""
    given = {edge: text for edge, text in (typed or {}).items() if text}
    if not given:
        return None
    if "low" not in given or "high" not in given:
        raise ProblemError(f"Give {name!r} a low and a high bound, or neither to take both from the table.")
    edges = []
    for edge in _BOUNDS:
        if edge in given:
            try:
                edges.append(float(given[edge].replace(",", ".")))
            except ValueError:
                raise ProblemError(f"The {edge} bound of {name!r} is {given[edge]!r}: write a number.") from None
    return tuple(edges)


def _shown_bounds(typed: Mapping[str, str] | None, found: tuple[float, ...] | None) -> dict[str, str]:
    if typed:
        return {edge: typed.get(edge, "") for edge in _BOUNDS}
    return {edge: f"{value:g}" for edge, value in zip(_BOUNDS, found or (), strict=False)}


def _note(name: str, role: str, roles: Roles | None) -> str:
    if role == "ignore" and roles and name in roles.ignored and roles.ignored[name] != "was to be ignored":
        return f"it {roles.ignored[name]}"
    return ""


def _findings(table: pd.DataFrame, roles: Mapping[str, str], choice: Choice) -> list[Finding]:
    """What looks wrong. Text is right where labels are wanted, and gaps are no matter where their rows are left out."""
    general = [name for name, role in roles.items() if role == "general" and name in table.columns]
    found = survey(table, general=general or None).findings
    return [each for each in found if not (roles.get(str(each.column)) == "general" and "is no number" in each.message)]


def _shown(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "message": finding.message,
        "fix": finding.fix,
        "row": finding.row,
        "column": finding.column,
    }


def _tasks(roles: Roles | None) -> list[dict[str, Any]]:
    if roles is None:
        return []
    counts = roles.rows[[*roles.problem.general]].astype(str).value_counts(sort=False)
    return [
        {"labels": [str(label) for label in cast(tuple[str, ...], labels)], "rows": int(count)}
        for labels, count in counts.items()
    ]


def _cells(table: pd.DataFrame, findings: list[Finding]) -> list[dict[str, Any]]:
    """The first rows, and every row with a finding, as texts; each cell with what is wrong with it."""
    marked: dict[tuple[int, str], dict[str, Any]] = {}
    for each in findings:
        if each.row is not None and each.column is not None:
            marked.setdefault((each.row, each.column), _shown(each))
    wanted = {row for row, _ in marked}
    places = [place for place, row in enumerate(table.index) if place < _SHOWN_ROWS or row in wanted]
    columns = [str(name) for name in table.columns]
    shown = []
    for place in places:
        row, values = table.index[place], table.iloc[place].tolist()
        cells = [
            {"text": _text(value), "finding": marked.get((row, name))}
            for name, value in zip(columns, values, strict=True)
        ]
        shown.append({"row": int(row), "cells": cells})
    return shown


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA or value is pd.NaT:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}…"
