"""The queue of work that takes seconds to minutes: asks, fits, predictions, validations.

Jobs are rows of the database, so they outlive the processes that queue and that do them. The law of the queue:

- A job is done by one worker at a time. A worker that died is noticed, by its silence or, on the same machine, by its
  process; its job goes back into the queue, and after three tries has failed.
- What a job stores for good is stored together with its end, in one transaction: it is there once, or not at all.
- Of a campaign one job of a kind runs at a time, and of all campaigns one validation: who asks for an experiment does
  not wait for one, nor for pictures.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from headstart.campaign import schema
from headstart.campaign.database import Database
from headstart.campaign.records import Origin
from headstart.errors import HeadstartError, NotFoundError
from headstart.version import __version__

JobState: TypeAlias = Literal["queued", "running", "done", "failed", "cancelled"]

KINDS = ("suggest", "predict", "refresh", "report", "validate")
"""What can be done, the most urgent first."""

_SILENCE = timedelta(seconds=60)
_TRIES = 3
_OPEN = ("queued", "running")


class CancelledError(HeadstartError):
    """Raised inside a job that was cancelled, or that another worker has taken over."""


@dataclass(frozen=True)
class Job:
    """A piece of work: `share` of it is done, as far as that is known, and `remark` says what it is at."""

    id: int
    campaign_id: int
    kind: str
    arguments: dict[str, Any]
    key: str | None
    state: JobState
    share: float | None
    remark: str | None
    result: Any
    error: str | None
    attempts: int
    ended_at: datetime | None
    origin: Origin

    @property
    def is_open(self) -> bool:
        """Whether it still waits or runs."""
        return self.state in _OPEN


class Jobs:
    """The queue in one database; methods may be called from any thread, process or machine."""

    def __init__(self, database: Database, author: str) -> None:
        self._database = database
        self._author = author

    def add(
        self,
        campaign_id: int,
        kind: str,
        arguments: dict[str, Any],
        *,
        key: str | None = None,
        unless_queued: bool = False,
    ) -> Job:
        """Queue a job.

        Args:
            campaign_id: whose it is.
            kind: one of `KINDS`.
            arguments: as JSON takes them.
            key: the caller's own name of the request: queued twice under one key, it is the same job.
            unless_queued: an equal job that has not begun yet will do.
        """
        table = schema.job
        with self._database.write() as connection:
            _one_writer(connection)
            mine = sa.select(table).where(table.c.campaign_id == campaign_id)
            if key is not None:
                known = connection.execute(mine.where(table.c.key == key)).one_or_none()
                if known is not None:
                    return _job(known)
            if unless_queued:
                waiting = connection.execute(mine.where(table.c.state == "queued", table.c.kind == kind))
                same = [row for row in waiting if row.arguments == arguments]
                if same:
                    return _job(same[0])
            values = {
                "campaign_id": campaign_id,
                "kind": kind,
                "arguments": arguments,
                "key": key,
                "state": "queued",
                "attempts": 0,
                "made_at": _now(),
                "author": self._author,
                "version": __version__,
            }
            return _job(connection.execute(sa.insert(table).values(values).returning(*table.c)).one())

    def job(self, job_id: int) -> Job:
        """A job by its id."""
        with self._database.read() as connection:
            return self._job(connection, job_id)

    def of(self, campaign_id: int, *, kinds: Sequence[str] = KINDS, most: int = 20) -> list[Job]:
        """The latest jobs of a campaign, the newest first; results are left out."""
        table = schema.job
        columns = [sa.null().label("result") if column.name == "result" else column for column in table.c]
        query = (
            sa.select(*columns)
            .where(table.c.campaign_id == campaign_id, table.c.kind.in_(kinds))
            .order_by(table.c.id.desc())
            .limit(most)
        )
        with self._database.read() as connection:
            return [_job(row) for row in connection.execute(query)]

    def cancel(self, job_id: int) -> Job:
        """Let a job end without a result. One that has ended stays as it is."""
        table = schema.job
        with self._database.write() as connection:
            connection.execute(
                sa.update(table)
                .where(table.c.id == job_id, table.c.state.in_(_OPEN))
                .values(state="cancelled", ended_at=_now(), remark=None)
            )
            return self._job(connection, job_id)

    # ------------------------------------------------------------------ for workers

    def claim(self, worker: str) -> Job | None:
        """The next job, now this worker's; None if there is nothing to do. Jobs of dead workers go back first."""
        table = schema.job
        with self._database.read() as connection:
            if connection.execute(sa.select(table.c.id).where(table.c.state.in_(_OPEN)).limit(1)).first() is None:
                return None
        with self._database.write() as connection:
            _one_writer(connection)
            self._revive(connection)
            rows = connection.execute(sa.select(table).where(table.c.state.in_(_OPEN)).order_by(table.c.id)).all()
            running = {_turn(row) for row in rows if row.state == "running"}
            free = [row for row in rows if row.state == "queued" and _turn(row) not in running]
            if not free:
                return None
            chosen = min(free, key=lambda row: (KINDS.index(row.kind), row.id))
            values = {"state": "running", "worker": worker, "attempts": chosen.attempts + 1, "beat_at": _now()}
            update = sa.update(table).where(table.c.id == chosen.id).values(values)
            return _job(connection.execute(update.returning(*table.c)).one())

    def beat(self, job_id: int, worker: str, *, share: float | None = None, remark: str | None = None) -> None:
        """A sign of life. Raises `CancelledError` if the job is no longer this worker's to do."""
        table = schema.job
        told = {name: value for name, value in (("share", share), ("remark", remark)) if value is not None}
        with self._database.write() as connection:
            changed = connection.execute(
                sa.update(table).where(_is_running(job_id, worker)).values(beat_at=_now(), **told)
            )
            if changed.rowcount == 0:
                raise CancelledError(f"Job {job_id} was cancelled.")

    def finish(self, job_id: int, worker: str, result: Any) -> None:
        """The job is done."""
        with self._database.write() as connection:
            finish(connection, job_id, worker, result)

    def fail(self, job_id: int, worker: str, error: str) -> None:
        """The job cannot be done."""
        with self._database.write() as connection:
            _end(connection, job_id, worker, state="failed", error=error)

    # ------------------------------------------------------------------ inside

    def _job(self, connection: Connection, job_id: int) -> Job:
        row = connection.execute(sa.select(schema.job).where(schema.job.c.id == job_id)).one_or_none()
        if row is None:
            raise NotFoundError(f"There is no job {job_id} in {self._database.name}.")
        return _job(row)

    def _revive(self, connection: Connection) -> None:
        """Jobs of workers that died go back into the queue; those that were tried often enough have failed."""
        table = schema.job
        for row in connection.execute(sa.select(table).where(table.c.state == "running")).all():
            if is_alive(row.worker) and _now() - row.beat_at < _SILENCE:
                continue
            values: dict[str, Any] = {"state": "queued", "worker": None, "share": None, "remark": "starts again"}
            if row.attempts >= _TRIES:
                text = (
                    f"The process that worked on it ended without a word, {row.attempts} times. Try a smaller archive."
                )
                values = {"state": "failed", "ended_at": _now(), "error": text}
            connection.execute(sa.update(table).where(table.c.id == row.id).values(values))


@dataclass(frozen=True)
class Claim:
    """A job that a worker is at; what is stored on its behalf is stored with its end."""

    job_id: int
    worker: str


def finish(connection: Connection, job_id: int, worker: str, result: Any) -> None:
    """End a job inside a transaction, or raise `CancelledError` so that nothing of it is stored."""
    _end(connection, job_id, worker, state="done", result=result, share=1.0)


def this_worker() -> str:
    """This process, as `is_alive` knows it again."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_alive(worker: str) -> bool:
    """Whether a worker's process may still run: only on the same machine can it be known that it does not."""
    host, _, process = worker.rpartition(":")
    if host != socket.gethostname() or os.name == "nt":  # there, signal 0 is no question
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _end(connection: Connection, job_id: int, worker: str, **values: Any) -> None:
    update = sa.update(schema.job).where(_is_running(job_id, worker))
    if connection.execute(update.values(ended_at=_now(), remark=None, **values)).rowcount == 0:
        raise CancelledError(f"Job {job_id} was cancelled.")


def _is_running(job_id: int, worker: str) -> sa.ColumnElement[bool]:
    table = schema.job
    return sa.and_(table.c.id == job_id, table.c.state == "running", table.c.worker == worker)


def _turn(row: Row[Any]) -> tuple[str, int | None]:
    """What one job at a time may be at."""
    return row.kind, None if row.kind == "validate" else row.campaign_id


def _one_writer(connection: Connection) -> None:
    """Those who change the queue take turns; SQLite's writers do so anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("LOCK TABLE job IN SHARE ROW EXCLUSIVE MODE"))


def _job(row: Row[Any]) -> Job:
    return Job(
        row.id,
        row.campaign_id,
        row.kind,
        row.arguments,
        row.key,
        row.state,
        row.share,
        row.remark,
        row.result,
        row.error,
        row.attempts,
        row.ended_at,
        Origin(row.made_at, row.author, row.version),
    )


def _now() -> datetime:
    return datetime.now(UTC)
