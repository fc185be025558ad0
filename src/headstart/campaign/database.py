"""One database, SQLite or PostgreSQL: connections, transactions, migrations, and errors in words.

SQLite runs in write-ahead mode with full synchronisation: a transaction that returned survives a crash of the program
and of the machine. Each transaction opens a connection of its own, so that there is none to leak, to carry across a
fork or to go stale overnight, and never creates a file, so that a database that was moved away is noticed.

Opening one to PostgreSQL takes longer than most of what is done with it, so there some stay open. None is used that is
older than a minute or does not answer, they are closed with their `Database`, and a fork leaves them to its parent.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)

from headstart.campaign.schema import REVISIONS
from headstart.campaign.watch import Watch
from headstart.errors import DataError, MissingExtraError, StoreError

_WAIT_SECONDS = 30
_OPEN_CONNECTIONS, _OLDEST_SECONDS = 20, 60  # of PostgreSQL
_pooled: weakref.WeakSet[sa.Engine] = weakref.WeakSet()
_alembic = threading.Lock()  # Alembic's context is one for the whole process
_MIGRATION_LOCK = 4_170_231  # any number: those who migrate a PostgreSQL database wait for each other


class Database:
    """A database at its current schema.

    Safe to share between threads and processes, and by its path or URL between machines.

    Args:
        where: the path of an SQLite file, or a URL as `postgresql://user@host/name`.
        create: make an SQLite file that does not exist yet.
        wait: seconds to wait for other writers.
    """

    def __init__(self, where: str | Path, *, create: bool, wait: float = _WAIT_SECONDS) -> None:
        url = _url(where)
        self.path = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
        shown = url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)
        self.name = str(self.path) if self.path else shown
        self._wait = wait
        if self.path:
            if create and not (self.path.exists() and self.path.stat().st_size):
                self._make_file(self.path)
            self._engine = sa.create_engine("sqlite://", creator=self._connect_file, poolclass=sa.NullPool)
            self._watch = Watch(self.path)
            weakref.finalize(self, self._watch.close)
        else:
            self._engine = _postgresql_engine(url, wait)
            weakref.finalize(self, self._engine.dispose)
        event.listen(self._engine, "begin", _begin)
        self._migrate()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database."""
        engine = self._engine if self.path else self._engine.execution_options(isolation_level="REPEATABLE READ")
        with self._in_words(), engine.begin() as connection:
            yield connection

    def state(self) -> str | None:
        """Another text whenever anyone has changed something; None where only reading can tell, as on PostgreSQL."""
        return self._watch.state() if self.path else None

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is stored when the block has ended, or not at all."""
        engine = self._engine.execution_options(is_write=True)
        with self._in_words():
            with engine.begin() as connection:
                yield connection
            if self.path and not self.path.exists():
                raise StoreError(
                    f"{self.name} vanished while it was written to: what was written last is not stored. Bring the "
                    "file back, or give the path of another, and repeat the last step."
                )

    # ------------------------------------------------------------------ opening

    def _connect_file(self) -> sqlite3.Connection:
        assert self.path is not None
        connection = sqlite3.connect(
            f"file:{quote(str(self.path.absolute()))}?mode=rw",
            uri=True,
            timeout=self._wait,
            isolation_level=None,  # transactions begin where `_begin` says
            check_same_thread=False,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _make_file(self, path: Path) -> None:
        """An empty database in write-ahead mode. Of two that make it at once, both succeed."""
        if not path.parent.is_dir():
            raise StoreError(f"{self.name} cannot be created: there is no folder {path.parent}.")
        deadline = time.monotonic() + self._wait
        while True:
            try:
                connection = sqlite3.connect(path, timeout=self._wait)
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                finally:
                    connection.close()
                return
            except sqlite3.OperationalError as error:
                # A change of the journal's mode does not wait for others by itself.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise StoreError(f"{self.name} cannot be created: {error}.") from error
                time.sleep(0.02)

    def _migrate(self) -> None:
        """Bring the schema up to date. An unknown one is left as it is."""
        with self.read() as connection:
            if self._revision(connection) == REVISIONS[-1]:
                return
        try:
            with self.write() as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
                if self._revision(connection) != REVISIONS[-1]:
                    _upgrade(connection)
        except DBAPIError as error:
            raise StoreError(f"{self.name} cannot be brought up to date: {error.orig}. Nothing was changed.") from error

    def _revision(self, connection: Connection) -> str | None:
        """The schema's revision, None for an empty database; a `StoreError` for one that is not ours to change."""
        tables = sa.inspect(connection).get_table_names()
        if not tables:
            return None
        if "alembic_version" not in tables or "campaign" not in tables:
            raise StoreError(
                f"{self.name} is not a Headstart database: it holds {', '.join(sorted(tables)[:5])}. Nothing was "
                "changed. Give the path of another file, or a database of its own."
            )
        revision = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
        if revision not in REVISIONS:
            raise StoreError(
                f"{self.name} was written by a newer Headstart (schema {revision}, this one knows up to "
                f"{REVISIONS[-1]}). Nothing was changed. Upgrade with: pip install --upgrade headstart"
            )
        return str(revision)

    # ------------------------------------------------------------------ errors

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """What is wrong with the database, in words. A wrong statement is our own fault, and stays as it is."""
        try:
            yield
        except DBAPIError as error:
            if isinstance(error, sa.exc.DataError):  # a NUL, which PostgreSQL has no text for
                text = f"The database cannot keep this: {error.orig}. Correct it and repeat the step."
                raise DataError(text) from error
            if not isinstance(error, OperationalError | InterfaceError) and type(error) is not DatabaseError:
                raise
            raise StoreError(self._explain(error)) from error
        except sqlite3.DatabaseError as error:  # raised while connecting
            raise StoreError(self._explain(error)) from error

    def _explain(self, error: Exception) -> str:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        text = str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
        if self.path:
            if not self.path.exists():
                return f"There is no database {self.name}. Give its path, or create a campaign in it first."
            if "locked" in text or "busy" in text:
                return f"{self.name} has been locked by another program for {self._wait:g} s. Close it and try again."
            if "not a database" in text or "malformed" in text:
                return f"{self.name} is no database, or is damaged ({text}). Restore it from a backup."
            if "readonly" in text or not os.access(self.path, os.W_OK):
                return f"{self.name} cannot be written to: check its permissions and those of its folder."
            if "full" in text:
                return f"{self.name} cannot grow: the disk is full. Nothing of the last step was stored."
        return f"The database {self.name} cannot be used: {text}"


def _url(where: str | Path) -> URL:
    """The URL of a database; what has no scheme is the path of an SQLite file."""
    text = str(where)
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise StoreError(f"The database's URL cannot be read: {error}. Write postgresql://user@host/name.") from error
    if backend == "sqlite" and url.database:
        return url
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(
        f"A {backend} database is not supported. Give the path of an SQLite file, or postgresql://user@host/name."
    )


def _postgresql_engine(url: URL, wait: float) -> sa.Engine:
    try:
        import psycopg  # noqa: F401 - asked for here, so that its absence is named here
    except ImportError as error:
        raise MissingExtraError("A PostgreSQL database", extra="postgresql") from error
    options: dict[str, Any] = {"connect_timeout": max(int(wait), 1), "options": f"-c lock_timeout={int(wait * 1000)}"}
    options = {name: value for name, value in options.items() if name not in url.query}
    engine = sa.create_engine(
        url,
        connect_args=options,
        # Whatever the server's default is: who waited for a lock must then see what the one before has written.
        isolation_level="READ COMMITTED",
        pool_size=_OPEN_CONNECTIONS,
        max_overflow=-1,  # who needs another opens one, and closes it
        pool_recycle=_OLDEST_SECONDS,
        pool_pre_ping=True,
        pool_use_lifo=True,  # the fewest that do
    )
    _pooled.add(engine)
    return engine


def _leave_to_parent() -> None:
    """In a fork: connections that the parent still uses are neither used nor closed."""
    for engine in _pooled:
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _begin(connection: Connection) -> None:
    """SQLite's writers queue from the start of a transaction; upgrading one that has read could fail half-way."""
    if connection.dialect.name == "sqlite":
        is_write = connection.get_execution_options().get("is_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_write else "BEGIN")


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    with _alembic:
        command.upgrade(config, "head")
