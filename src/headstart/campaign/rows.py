"""Rows of the database as records, and what can be said of records before the database is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from headstart.campaign.records import NewObservation, Observation, Origin, Prediction, Suggestion
from headstart.errors import DataError


def records_of(
    connection: Connection, table: sa.Table, campaign_id: int, record: Callable[[Row[Any]], Any]
) -> list[Any]:
    """All rows of a campaign, in the order they came."""
    rows = connection.execute(sa.select(table).where(table.c.campaign_id == campaign_id).order_by(table.c.id))
    return [record(row) for row in rows]


def origin_of(row: Row[Any]) -> Origin:
    """Who made it, when and with which version."""
    return Origin(row.made_at, row.author, row.version)


def suggestion_of(row: Row[Any]) -> Suggestion:
    """A row of the table of suggestions."""
    return Suggestion(
        task=row.task,
        inputs=row.inputs,
        prediction=Prediction(row.mean, row.sd, row.lower, row.upper),
        score=row.score,
        score_is=row.score_is,
        seed=row.seed,
        id=row.id,
        state=row.state,
        closed_at=row.closed_at,
        reason=row.reason,
        accepted_at=row.accepted_at,
        accepted_by=row.accepted_by,
        origin=origin_of(row),
    )


def observation_of(row: Row[Any]) -> Observation:
    """A row of the table of observations."""
    return Observation(
        task=row.task,
        inputs=row.inputs,
        outcome=row.outcome,
        suggestion=row.suggestion_id,
        prediction=None if row.mean is None else Prediction(row.mean, row.sd, row.lower, row.upper),
        id=row.id,
        is_archive=row.is_archive,
        retracted_at=row.retracted_at,
        reason=row.reason,
        origin=origin_of(row),
    )


def answers_of(observations: Sequence[NewObservation]) -> dict[int, NewObservation]:
    """The outcome of each suggestion; an error where a table gives one suggestion two."""
    answers: dict[int, NewObservation] = {}
    for each in observations:
        if each.suggestion is not None and answers.setdefault(each.suggestion, each) != each:
            first = answers[each.suggestion]
            raise DataError(
                f"Suggestion {each.suggestion} is there twice, with {first.outcome:g} and {each.outcome:g}. One of "
                "them answers it; leave the suggestion out of the other, which is then an experiment of its own."
            )
    return answers


def is_same(earlier: NewObservation, told: NewObservation) -> bool:
    """Whether it is the same outcome told again; a spreadsheet may have cut off digits of the inputs."""
    return (
        earlier.task == told.task
        and math.isclose(earlier.outcome, told.outcome, rel_tol=1e-9)
        and all(math.isclose(earlier.inputs[name], told.inputs[name], rel_tol=1e-3) for name in told.inputs)
    )


def in_words(inputs: dict[str, float]) -> str:
    """Inputs as a message shows them."""
    return ", ".join(f"{name} {value:g}" for name, value in inputs.items())
