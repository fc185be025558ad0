"""The tables of a store. A change here needs a revision in `migrations/versions`.

    campaign  1 --- n  suggestion  1 --- 0..1  observation
              1 ------------------------- n    observation      (archive rows have no suggestion)
              1 --- 0..1  surrogate                             (a cache, safe to delete)
              1 --- n     job                                   (work for those who fit: see `jobs`)
              1 --- n     belief                                (pictures of what was believed, safe to delete)
    upload                                                      (files on their way in, deleted after a day)

Of what happened, rows are only ever added. A suggestion's state changes once or twice, an observation may be retracted,
and nothing is deleted.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

from headstart.campaign.records import PREDICTION

# The revisions in order; a store of any other is newer than this Headstart.
REVISIONS = ("0001", "0002", "0003")


class Moment(sa.TypeDecorator[datetime]):
    """A point in time, always UTC. SQLite stores no time zone, PostgreSQL does."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC, without its zone where the database knows none."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """UTC again."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = sa.MetaData()


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _campaign_id() -> sa.Column[int]:
    return sa.Column("campaign_id", sa.ForeignKey("campaign.id"), nullable=False, index=True)


def _prediction(*, nullable: bool) -> list[sa.Column[float]]:
    return [sa.Column(name, sa.Double, nullable=nullable) for name in PREDICTION]


def _origin() -> list[sa.Column[Any]]:
    """Who, when, and with which version of the package."""
    return [
        sa.Column("made_at", Moment, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
    ]


campaign = sa.Table(
    "campaign",
    metadata,
    _id(),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("problem", sa.JSON, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    *_origin(),
    sqlite_autoincrement=True,
)

suggestion = sa.Table(
    "suggestion",
    metadata,
    _id(),
    _campaign_id(),
    sa.Column("task", sa.JSON, nullable=False),
    sa.Column("inputs", sa.JSON, nullable=False),
    *_prediction(nullable=False),
    sa.Column("score", sa.Double, nullable=False),
    sa.Column("score_is", sa.Text, nullable=False),
    sa.Column("seed", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("closed_at", Moment),
    sa.Column("reason", sa.Text),
    sa.Column("accepted_at", Moment),
    sa.Column("accepted_by", sa.Text),
    *_origin(),
    sa.CheckConstraint("state IN ('pending', 'observed', 'withdrawn')", name="suggestion_state"),
    sqlite_autoincrement=True,
)

observation = sa.Table(
    "observation",
    metadata,
    _id(),
    _campaign_id(),
    sa.Column("suggestion_id", sa.ForeignKey("suggestion.id")),
    sa.Column("is_archive", sa.Boolean, nullable=False),
    sa.Column("task", sa.JSON, nullable=False),
    sa.Column("inputs", sa.JSON, nullable=False),
    sa.Column("outcome", sa.Double, nullable=False),
    *_prediction(nullable=True),
    sa.Column("retracted_at", Moment),
    sa.Column("reason", sa.Text),
    sa.Column("key", sa.Text),
    *_origin(),
    sqlite_autoincrement=True,
)

# A suggestion has one outcome that counts, whoever writes first.
sa.Index(
    "one_outcome",
    observation.c.suggestion_id,
    unique=True,
    sqlite_where=observation.c.retracted_at.is_(None),
    postgresql_where=observation.c.retracted_at.is_(None),
)

# What is told twice under one key is stored once.
sa.Index("one_observation_a_key", observation.c.campaign_id, observation.c.key, unique=True)

surrogate = sa.Table(
    "surrogate",
    metadata,
    sa.Column("campaign_id", sa.ForeignKey("campaign.id"), primary_key=True),
    sa.Column("last_observation", sa.Integer, nullable=False),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("fitted_rows", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    *_origin(),
)

job = sa.Table(
    "job",
    metadata,
    _id(),
    _campaign_id(),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("arguments", sa.JSON, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("state", sa.Text, nullable=False, index=True),
    sa.Column("share", sa.Double),
    sa.Column("remark", sa.Text),
    sa.Column("result", sa.JSON),
    sa.Column("error", sa.Text),
    sa.Column("worker", sa.Text),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("beat_at", Moment),
    sa.Column("ended_at", Moment),
    *_origin(),
    sa.CheckConstraint("state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="job_state"),
    sqlite_autoincrement=True,
)
sa.Index("one_job_a_key", job.c.campaign_id, job.c.key, unique=True)

belief = sa.Table(
    "belief",
    metadata,
    _id(),
    sa.Column("campaign_id", sa.ForeignKey("campaign.id"), nullable=False),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("last_observation", sa.Integer, nullable=False),
    sa.Column("content", sa.JSON, nullable=False),
    *_origin(),
    sqlite_autoincrement=True,
)
sa.Index("one_belief", belief.c.campaign_id, belief.c.task, belief.c.last_observation, unique=True)

upload = sa.Table(
    "upload",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    *_origin(),
)
