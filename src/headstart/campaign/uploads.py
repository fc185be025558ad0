"""Files on their way in: kept for a day between being dropped and becoming a campaign's archive."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from headstart.campaign import schema
from headstart.campaign.database import Database
from headstart.errors import NotFoundError
from headstart.version import __version__

_KEPT = timedelta(days=1)


@dataclass(frozen=True)
class Upload:
    """A file as it came, under a name that cannot be guessed."""

    id: str
    name: str
    content: bytes


class Uploads:
    """The files in one database."""

    def __init__(self, database: Database, author: str) -> None:
        self._database = database
        self._author = author

    def add(self, name: str, content: bytes) -> str:
        """Keep a file; the id by which it is found again. Old ones go."""
        table, now = schema.upload, datetime.now(UTC)
        upload_id = secrets.token_urlsafe(16)
        values = {"id": upload_id, "name": name, "content": content, "made_at": now}
        with self._database.write() as connection:
            connection.execute(sa.delete(table).where(table.c.made_at < now - _KEPT))
            connection.execute(sa.insert(table).values(**values, author=self._author, version=__version__))
        return upload_id

    def get(self, upload_id: str) -> Upload:
        """A file by its id."""
        table = schema.upload
        with self._database.read() as connection:
            row = connection.execute(sa.select(table).where(table.c.id == upload_id)).one_or_none()
        if row is None:
            raise NotFoundError("This file is no longer here: files are kept for a day. Drop it again.")
        return Upload(row.id, row.name, row.content)

    def delete(self, upload_id: str) -> None:
        """A file that has become a campaign is not needed any more."""
        with self._database.write() as connection:
            connection.execute(sa.delete(schema.upload).where(schema.upload.c.id == upload_id))
