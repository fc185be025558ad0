"""What was believed when: pictures of a task, computed once for the same data and kept.

The latest is what a reader sees at once, without waiting for a fit. Of earlier ones the maps stay, which show how the
task moved among the others as its data came; the rest can be computed again and goes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from headstart.campaign import schema
from headstart.campaign.database import Database
from headstart.campaign.keeping import Kept
from headstart.version import __version__

KEPT = "maps"
"""The part of earlier beliefs that stays."""


@dataclass(frozen=True)
class Belief:
    """Pictures by name, as JSON, and the observation they had seen last."""

    id: int
    last_observation: int
    content: dict[str, Any]
    made_at: datetime


class Beliefs:
    """The beliefs in one database. A task of None stands for the archive as a whole."""

    def __init__(self, database: Database, author: str, kept: Kept) -> None:
        self._database = database
        self._author = author
        self._kept = kept

    def latest(self, campaign_id: int, task: Mapping[str, str] | None) -> Belief | None:
        """The newest, by this version of the package. All who ask for it get the same, and do not change it."""
        table = schema.belief
        newest = (
            sa.select(table.c.id)
            .where(_mine(campaign_id, task), table.c.version == __version__)
            .order_by(table.c.last_observation.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            found = connection.execute(newest).scalar_one_or_none()
            if found is None:
                return None

            def read() -> Belief | None:
                row = connection.execute(sa.select(table).where(table.c.id == found)).one_or_none()
                return None if row is None else Belief(row.id, row.last_observation, row.content, row.made_at)

            # Its pictures are a megabyte of numbers, and every look at the campaign begins with it.
            return self._kept.get(("belief", campaign_id, _text(task)), str(found), read)

    def earlier(self, campaign_id: int, task: Mapping[str, str] | None, *, most: int = 30) -> list[Belief]:
        """The last ones before the newest, oldest first, with what is kept of them."""
        table = schema.belief
        query = sa.select(table).where(_mine(campaign_id, task)).order_by(table.c.last_observation.desc())
        with self._database.read() as connection:
            rows = connection.execute(query.offset(1).limit(most)).all()
        return [Belief(row.id, row.last_observation, row.content, row.made_at) for row in reversed(rows)]

    def put(
        self, campaign_id: int, task: Mapping[str, str] | None, last_observation: int, content: dict[str, Any]
    ) -> None:
        """Store what is believed now, in place of what was stored for the same data."""
        table = schema.belief
        mine = _mine(campaign_id, task)
        values = {
            "content": content,
            "made_at": datetime.now(UTC),
            "author": self._author,
            "version": __version__,
        }
        with self._database.write() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("LOCK TABLE belief IN SHARE ROW EXCLUSIVE MODE"))
            # Under a new id, by which those who look notice it.
            connection.execute(sa.delete(table).where(mine, table.c.last_observation == last_observation))
            key = {"campaign_id": campaign_id, "task": _text(task), "last_observation": last_observation}
            connection.execute(sa.insert(table).values(**key, **values))
            older = sa.select(table.c.id, table.c.content).where(mine, table.c.last_observation < last_observation)
            for row in connection.execute(older).all():
                if set(row.content) - {KEPT}:
                    kept = {KEPT: row.content.get(KEPT)}
                    connection.execute(sa.update(table).where(table.c.id == row.id).values(content=kept))


def _mine(campaign_id: int, task: Mapping[str, str] | None) -> sa.ColumnElement[bool]:
    return sa.and_(schema.belief.c.campaign_id == campaign_id, schema.belief.c.task == _text(task))


def _text(task: Mapping[str, str] | None) -> str:
    return json.dumps(task and dict(task), sort_keys=True, ensure_ascii=False)
