"""The store: campaigns, suggestions and observations in a database.

The law of the store: what a method returned from is stored, once, whatever happens next. What raised is not stored, or,
if the connection broke at the very end, as a whole. Methods may be called from any thread, process or machine; those
that change a campaign take turns.
"""

from __future__ import annotations

import getpass
import json
import math
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from headstart.campaign import schema
from headstart.campaign.beliefs import Beliefs
from headstart.campaign.database import Database
from headstart.campaign.jobs import Claim, Jobs, finish
from headstart.campaign.keeping import Kept
from headstart.campaign.records import (
    PREDICTION,
    CampaignRecord,
    CampaignSummary,
    NewObservation,
    NewSuggestion,
    Observation,
    Prediction,
    Snapshot,
    StoredSurrogate,
    Suggestion,
)
from headstart.campaign.rows import answers_of, in_words, is_same, observation_of, origin_of, records_of, suggestion_of
from headstart.campaign.uploads import Uploads
from headstart.errors import DataError, NotFoundError, ProblemError, did_you_mean
from headstart.version import __version__

DEFAULT_STORE = "headstart.db"
_MOST_KEPT = 32
_MOST_LOOKS = 256  # small, and one campaign has several
T = TypeVar("T")


class Store:
    """Campaigns in one database.

    Args:
        where: the path of an SQLite file, or a URL as `postgresql://user@host/name`.
        create: make an SQLite file that does not exist yet.
        author: who adds what is added; the user's name, or the variable HEADSTART_AUTHOR, when left out.
        wait: seconds to wait for other writers.
    """

    def __init__(
        self, where: str | Path = DEFAULT_STORE, *, create: bool = False, author: str | None = None, wait: float = 30
    ) -> None:
        self._database = Database(where, create=create, wait=wait)
        self._kept, self._looks = Kept(_MOST_KEPT), Kept(_MOST_LOOKS)
        self.author = author or os.environ.get("HEADSTART_AUTHOR") or _user()

    @property
    def name(self) -> str:
        """The database's path or URL, without its password."""
        return self._database.name

    def by(self, author: str) -> Store:
        """The same store, for another author."""
        other = copy(self)
        other.author = author
        return other

    @property
    def jobs(self) -> Jobs:
        """Work that is queued."""
        return Jobs(self._database, self.author)

    @property
    def beliefs(self) -> Beliefs:
        """Pictures of what is believed."""
        return Beliefs(self._database, self.author, self._kept)

    @property
    def uploads(self) -> Uploads:
        """Files on their way in."""
        return Uploads(self._database, self.author)

    # ------------------------------------------------------------------ campaigns

    def create_campaign(
        self, name: str, problem: dict[str, Any], settings: dict[str, Any], archive: Sequence[NewObservation]
    ) -> CampaignRecord:
        """A new campaign and the rows of its archive, both or neither."""
        with self._database.write() as connection:
            table = schema.campaign
            # A turn each: of two that create the same name at once, the second sees the first.
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("LOCK TABLE campaign IN SHARE ROW EXCLUSIVE MODE"))
            if connection.execute(sa.select(table.c.id).where(table.c.name == name)).first():
                raise ProblemError(
                    f"There is a campaign {name!r} in {self.name} already. Open it, or choose another name."
                )
            values = {"name": name, "problem": problem, "settings": settings, **self._origin()}
            campaign_id = connection.execute(sa.insert(table).values(values).returning(table.c.id)).scalar_one()
            self._insert_observations(connection, campaign_id, archive, is_archive=True)
            return self._campaign(connection, name)

    def campaign(self, name: str | int) -> CampaignRecord:
        """The campaign of that name, or id."""
        with self._database.read() as connection:
            return self._campaign(connection, name)

    def campaigns(self) -> list[CampaignSummary]:
        """All campaigns, the most recently active first."""
        campaign, observation, suggestion = schema.campaign, schema.observation, schema.suggestion
        job, counts_now = schema.job, [~observation.c.is_archive, observation.c.retracted_at.is_(None)]

        def of_campaign(table: sa.Table, column: sa.ColumnElement[Any], *conditions: Any) -> Any:
            query = sa.select(column).where(table.c.campaign_id == campaign.c.id, *conditions)
            return query.scalar_subquery()

        counts = [
            of_campaign(observation, sa.func.count(), observation.c.is_archive).label("archive_rows"),
            of_campaign(observation, sa.func.count(), *counts_now).label("observed"),
            of_campaign(observation, sa.func.max(observation.c.outcome), *counts_now).label("highest"),
            of_campaign(observation, sa.func.min(observation.c.outcome), *counts_now).label("lowest"),
            of_campaign(suggestion, sa.func.count(), suggestion.c.state == "pending").label("pending"),
            of_campaign(job, sa.func.count(), job.c.state.in_(["queued", "running"])).label("working"),
            of_campaign(observation, sa.func.max(observation.c.made_at)).label("last_observation"),
            of_campaign(suggestion, sa.func.max(suggestion.c.made_at)).label("last_suggestion"),
        ]
        with self._database.read() as connection:
            rows = connection.execute(sa.select(campaign, *counts)).all()
        summaries = [
            CampaignSummary(
                row.id,
                row.name,
                row.problem,
                row.archive_rows,
                row.observed,
                row.pending,
                row.working,
                row.highest if row.problem["goal"] == "maximize" else row.lowest,
                origin_of(row),
                max(moment for moment in (row.made_at, row.last_observation, row.last_suggestion) if moment),
            )
            for row in rows
        ]
        return sorted(summaries, key=lambda summary: summary.last_activity, reverse=True)

    # ------------------------------------------------------------------ reading

    def snapshot(self, campaign_id: int) -> Snapshot:
        """All of a campaign at one moment, archive rows and retracted observations too."""
        with self._database.read() as connection:
            return Snapshot(
                records_of(connection, schema.suggestion, campaign_id, suggestion_of),
                records_of(connection, schema.observation, campaign_id, observation_of),
            )

    def suggestions(self, campaign_id: int) -> list[Suggestion]:
        """The suggestions alone."""
        with self._database.read() as connection:
            return records_of(connection, schema.suggestion, campaign_id, suggestion_of)

    def tasks(self, campaign_id: int, *, among: Sequence[int] | None = None) -> list[dict[str, str]]:
        """The tasks that have observations, or these observations, each once."""
        table = schema.observation
        text = sa.cast(table.c.task, sa.Text)  # PostgreSQL compares no JSON
        query = sa.select(text).where(table.c.campaign_id == campaign_id).group_by(text)
        if among is not None:
            query = query.where(table.c.id.in_(among))
        with self._database.read() as connection:
            return [json.loads(each) for each in connection.execute(query.order_by(sa.func.min(table.c.id))).scalars()]

    def outcome_range(self, campaign_id: int) -> tuple[int, float, float]:
        """How many outcomes there are, retracted ones aside, and the least and the greatest; 0 and NaN of none."""
        table = schema.observation
        query = sa.select(sa.func.count(), sa.func.min(table.c.outcome), sa.func.max(table.c.outcome)).where(
            table.c.campaign_id == campaign_id, table.c.retracted_at.is_(None)
        )
        with self._database.read() as connection:
            count, low, high = connection.execute(query).one()
        return count, math.nan if low is None else low, math.nan if high is None else high

    def marker(self, campaign_id: int) -> str:
        """A short text that is another whenever a record, a picture or a job of the campaign has changed."""
        return "-".join(self._marks(campaign_id))

    def kept(self, campaign_id: int, what: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of a campaign, made anew only when a record or a picture of it has changed since.

        All who ask for it get the same: it is not theirs to change, nor does it tell of jobs.
        """
        return self._kept.get((campaign_id, what), "-".join(self._marks(campaign_id)[:-_JOB_MARKS]), make)

    def momentary(self, what: Hashable, make: Callable[[], T]) -> T:
        """What `make` reads, read anew only when the database has changed, where that can be told.

        All who ask for it get the same, as of `kept`.
        """
        state = self._database.state()
        return make() if state is None else self._looks.get(what, state, make)

    # ------------------------------------------------------------------ writing

    def add_suggestions(
        self,
        campaign_id: int,
        suggestions: Sequence[NewSuggestion],
        *,
        seen: Snapshot,
        claim: Claim | None = None,
    ) -> list[Suggestion] | None:
        """Store suggestions, unless what happened since could have changed them: None then, and nothing is stored.

        That is a suggestion of the same task that is open now and was not, or an experiment of it that was measured at
        one of these points. Other news does not count, so that those who tell much do not keep others from asking.

        Args:
            campaign_id: whose they are.
            suggestions: all of one task.
            seen: what they were chosen by.
            claim: the job that asked for them, which ends with this; if it was cancelled, nothing is stored.
        """
        table, told = schema.suggestion, schema.observation
        task = suggestions[0].task
        known = {each.id for each in seen.open_for(task)}
        last = seen.observations[-1].id if seen.observations else 0
        with self._changing(campaign_id) as connection:
            still_open = sa.select(table.c.id, table.c.task).where(
                table.c.campaign_id == campaign_id, table.c.state != "observed"
            )
            if any(row.task == task and row.id not in known for row in connection.execute(still_open)):
                return None
            since = sa.select(told.c.task, told.c.inputs).where(told.c.campaign_id == campaign_id, told.c.id > last)
            points = [each.inputs for each in suggestions]
            if any(row.task == task and row.inputs in points for row in connection.execute(since)):
                return None
            stored = []
            for new in suggestions:
                values = {
                    **{name: value for name, value in asdict(new).items() if name != "prediction"},
                    **asdict(new.prediction),
                    "campaign_id": campaign_id,
                    "state": "pending",
                    **self._origin(),
                }
                row = connection.execute(sa.insert(table).values(values).returning(*table.c)).one()
                stored.append(suggestion_of(row))
            if claim is not None:
                finish(connection, claim.job_id, claim.worker, {"suggestions": [each.id for each in stored]})
            return stored

    def add_observations(
        self, campaign_id: int, observations: Sequence[NewObservation], *, key: str | None = None
    ) -> list[Observation]:
        """Store measured experiments, all or none, and close the suggestions they answer.

        Telling the same outcome of a suggestion once more changes nothing, so it is safe to repeat a step that may have
        been cut off. So it is for experiments that nobody suggested, if they are told under the same key.
        """
        answers = answers_of(observations)
        with self._changing(campaign_id) as connection:
            if key is not None:
                told = self._told(connection, campaign_id, key)
                if told:
                    return told
            known: dict[int | None, Observation] = {}
            for suggestion_id, answer in answers.items():
                earlier = self._outcome_of(connection, campaign_id, answer)
                if earlier:
                    known[suggestion_id] = earlier
                else:
                    self._close(connection, suggestion_id, "observed", reason=None)
            first = {id(answer) for suggestion_id, answer in answers.items() if suggestion_id not in known}
            new = [each for each in observations if each.suggestion is None or id(each) in first]
            stored = self._insert_observations(connection, campaign_id, new, is_archive=False, key=key)
            known |= {each.suggestion: each for each in stored if each.suggestion is not None}
            unsuggested = iter([each for each in stored if each.suggestion is None])
            return [next(unsuggested) if each.suggestion is None else known[each.suggestion] for each in observations]

    def accept(self, campaign_id: int, suggestion_id: int) -> None:
        """Note that this author runs a pending suggestion; of several who do so the first."""
        table = schema.suggestion
        with self._changing(campaign_id) as connection:
            state = self._state(connection, campaign_id, suggestion_id)
            if state != "pending":
                raise DataError(f"Suggestion {suggestion_id} was {state}: there is nothing to run.")
            connection.execute(
                sa.update(table)
                .where(table.c.id == suggestion_id, table.c.accepted_at.is_(None))
                .values(accepted_at=_now(), accepted_by=self.author)
            )

    def withdraw(self, campaign_id: int, suggestions: Iterable[int], reason: str | None) -> None:
        """Close suggestions that will not be observed."""
        with self._changing(campaign_id) as connection:
            states = {each: self._state(connection, campaign_id, each) for each in suggestions}
            for suggestion_id, state in states.items():
                if state == "observed":
                    raise DataError(
                        f"Suggestion {suggestion_id} was observed: retract its observation if the outcome is wrong."
                    )
                if state == "pending":
                    self._close(connection, suggestion_id, "withdrawn", reason)

    def retract(self, campaign_id: int, observation_id: int, reason: str | None) -> None:
        """Let a wrong observation count no more. The record stays, and its suggestion is pending again."""
        table, suggestion = schema.observation, schema.suggestion
        with self._changing(campaign_id) as connection:
            query = sa.select(table).where(table.c.campaign_id == campaign_id, table.c.id == observation_id)
            row = connection.execute(query).one_or_none()
            if row is None:
                raise DataError(f"There is no observation {observation_id} in this campaign.")
            if row.is_archive:
                raise DataError(
                    f"Observation {observation_id} is a row of the archive, not an experiment of this campaign: the "
                    "history lists those. Correct the archive and create the campaign anew."
                )
            if row.retracted_at:
                raise DataError(f"Observation {observation_id} was retracted before.")
            connection.execute(
                sa.update(table).where(table.c.id == observation_id).values(retracted_at=_now(), reason=reason)
            )
            if row.suggestion_id is not None:
                connection.execute(
                    sa.update(suggestion)
                    .where(suggestion.c.id == row.suggestion_id)
                    .values(state="pending", closed_at=None)
                )

    def add_predictions(self, predictions: dict[int, Prediction]) -> None:
        """Store what was expected of observations that were made without a suggestion; what is stored stays."""
        table = schema.observation
        if predictions:
            with self._database.write() as connection:
                connection.execute(
                    sa.update(table)
                    .where(table.c.id == sa.bindparam("of"), table.c.mean.is_(None))
                    .values({name: sa.bindparam(f"new_{name}") for name in PREDICTION}),
                    [
                        {"of": of, **{f"new_{name}": value for name, value in asdict(each).items()}}
                        for of, each in predictions.items()
                    ],
                )

    # ------------------------------------------------------------------ the cache

    def surrogate(self, campaign_id: int) -> StoredSurrogate | None:
        """The surrogate that was stored last, by this version of the package."""
        table = schema.surrogate
        # Another version may fit otherwise, so its surrogates are not continued.
        query = sa.select(table).where(table.c.campaign_id == campaign_id, table.c.version == __version__)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else StoredSurrogate(row.content, row.last_observation, row.rows, row.fitted_rows)

    def put_surrogate(self, campaign_id: int, surrogate: StoredSurrogate) -> None:
        """Store a surrogate in place of the one before, unless that has seen more."""
        table = schema.surrogate
        values = {**asdict(surrogate), **self._origin()}
        mine = table.c.campaign_id == campaign_id
        with self._changing(campaign_id) as connection:
            there = connection.execute(sa.select(table.c.last_observation, table.c.version).where(mine)).one_or_none()
            if there is None:
                connection.execute(sa.insert(table).values(campaign_id=campaign_id, **values))
            elif there.version != __version__ or there.last_observation <= surrogate.last_observation:
                connection.execute(sa.update(table).where(mine).values(values))

    # ------------------------------------------------------------------ inside

    def _origin(self) -> dict[str, Any]:
        return {"made_at": _now(), "author": self.author, "version": __version__}

    def _marks(self, campaign_id: int) -> list[str]:
        def read() -> list[str]:
            with self._database.read() as connection:
                return [str(value or 0) for value in connection.execute(_MARKS, {"campaign": campaign_id}).one()]

        return self.momentary(("marks", campaign_id), read)

    @contextmanager
    def _changing(self, campaign_id: int) -> Iterator[Connection]:
        """A write transaction in which a campaign is this writer's alone."""
        table = schema.campaign
        with self._database.write() as connection:
            # PostgreSQL locks the row; SQLite, which knows no such lock, has locked the whole database.
            connection.execute(sa.select(table.c.id).where(table.c.id == campaign_id).with_for_update())
            yield connection

    def _campaign(self, connection: Connection, name: str | int) -> CampaignRecord:
        table = schema.campaign
        column = table.c.id if isinstance(name, int) else table.c.name
        row = connection.execute(sa.select(table).where(column == name)).one_or_none()
        if row is None:
            names = list(connection.execute(sa.select(table.c.name).order_by(table.c.name)).scalars())
            listed = f"It holds: {', '.join(map(repr, names[:20]))}." if names else "It holds no campaign yet."
            raise NotFoundError(f"There is no campaign {name!r} in {self.name}.{did_you_mean(name, names)} {listed}")
        return CampaignRecord(row.id, row.name, row.problem, row.settings, origin_of(row))

    def _told(self, connection: Connection, campaign_id: int, key: str) -> list[Observation]:
        """What was told before under a key, in the order it was told."""
        table = schema.observation
        query = sa.select(table).where(
            table.c.campaign_id == campaign_id, table.c.key.startswith(f"{key}/", autoescape=True)
        )
        return [observation_of(row) for row in connection.execute(query.order_by(table.c.id))]

    def _insert_observations(
        self,
        connection: Connection,
        campaign_id: int,
        observations: Sequence[NewObservation],
        *,
        is_archive: bool,
        key: str | None = None,
    ) -> list[Observation]:
        if not observations:
            return []
        origin = self._origin()
        values = [
            {
                "campaign_id": campaign_id,
                "suggestion_id": each.suggestion,
                "is_archive": is_archive,
                "task": each.task,
                "inputs": each.inputs,
                "outcome": each.outcome,
                "key": None if key is None else f"{key}/{place}",
                **(asdict(each.prediction) if each.prediction else dict.fromkeys(PREDICTION)),
                **origin,
            }
            for place, each in enumerate(observations)
        ]
        table = schema.observation
        insert = sa.insert(table).returning(*table.c, sort_by_parameter_order=True)
        return [observation_of(row) for row in connection.execute(insert, values)]

    def _state(self, connection: Connection, campaign_id: int, suggestion_id: int) -> str:
        table = schema.suggestion
        query = sa.select(table.c.state).where(table.c.campaign_id == campaign_id, table.c.id == suggestion_id)
        state = connection.execute(query).scalar_one_or_none()
        if state is None:
            pending = sa.select(table.c.id).where(table.c.campaign_id == campaign_id, table.c.state == "pending")
            ids = list(connection.execute(pending.order_by(table.c.id)).scalars())
            listed = f"Pending are: {', '.join(map(str, ids[:20]))}." if ids else "None is pending."
            raise DataError(f"There is no suggestion {suggestion_id} in this campaign. {listed}")
        return str(state)

    def _outcome_of(self, connection: Connection, campaign_id: int, told: NewObservation) -> Observation | None:
        """The outcome of a suggestion if it was told before, in the same words; an error if in others."""
        table = schema.observation
        if self._state(connection, campaign_id, int(told.suggestion or 0)) != "observed":
            return None
        query = sa.select(table).where(table.c.suggestion_id == told.suggestion, table.c.retracted_at.is_(None))
        earlier = observation_of(connection.execute(query).one())
        if not is_same(earlier, told):
            raise DataError(
                f"Suggestion {told.suggestion} was observed before, with the outcome {earlier.outcome:g} at "
                f"{in_words(earlier.inputs)}; now it is {told.outcome:g} at {in_words(told.inputs)}. If the first was "
                f"wrong, retract observation {earlier.id}; if this is another run, leave the suggestion out."
            )
        return earlier

    def _close(self, connection: Connection, suggestion_id: int, state: str, reason: str | None) -> None:
        table = schema.suggestion
        values = {"state": state, "closed_at": _now(), "reason": reason}
        connection.execute(sa.update(table).where(table.c.id == suggestion_id).values(values))


def _marks() -> sa.Select[Any]:
    """What changes whenever something of a campaign does, its jobs last; built once, for every look asks for it."""
    told, asked, job, belief = schema.observation, schema.suggestion, schema.job, schema.belief
    count, highest = sa.func.count, sa.func.max

    def of(table: sa.Table, *values: sa.ColumnElement[Any]) -> sa.Subquery:
        named = [value.label(f"{table.name}_{place}") for place, value in enumerate(values)]
        return sa.select(*named).where(table.c.campaign_id == sa.bindparam("campaign")).subquery()

    first, *others = [
        of(told, highest(told.c.id), count(told.c.retracted_at), count(told.c.mean)),
        of(asked, highest(asked.c.id), count().filter(asked.c.state == "pending"), count(asked.c.accepted_at)),
        of(belief, highest(belief.c.id)),
        of(job, highest(job.c.id), count().filter(job.c.state.in_(["queued", "running"]))),
    ]
    query = sa.select(first, *others).select_from(first)
    for each in others:
        query = query.join(each, sa.true())
    return query


_MARKS, _JOB_MARKS = _marks(), 2


def _user() -> str:
    """Who runs this; a container may know no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def _now() -> datetime:
    return datetime.now(UTC)
