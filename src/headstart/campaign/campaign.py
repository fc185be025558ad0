"""The campaign: ask, run the experiment, tell, repeat, for weeks and from several machines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from headstart.campaign.records import (
    PREDICTION,
    NewObservation,
    NewSuggestion,
    Observation,
    Prediction,
    Snapshot,
    Suggestion,
)
from headstart.campaign.store import DEFAULT_STORE, Store
from headstart.campaign.tables import RESERVED, data_frame, history_frame, suggestion_frame
from headstart.errors import DataError, ProblemError, checked_whole
from headstart.tasks import (
    Levels,
    Problem,
    Rows,
    Table,
    Task,
    far_outcomes,
    naming,
    read_table,
    rows_from_frame,
    task_codes,
    warn_of_far_outcomes,
    write_table,
)
from headstart.tasks.columns import as_frame, require_columns

if TYPE_CHECKING:
    from headstart.campaign.fitting import Fitting
    from headstart.campaign.jobs import Claim
    from headstart.models.inference import Progress
    from headstart.surrogate import Surrogate

_INTERVAL = 0.8


class Campaign:
    """A stored, resumable optimisation of one problem.

    Every suggestion has an id and is pending until it is observed or withdrawn. Every record carries its time, author
    and package version; a suggestion also its seed and what the surrogate expected, so that its honesty can be judged
    later. An outcome that nobody suggested gets its prediction at the next fit, if the surrogate before it is still at
    hand: not before the first fit, nor after a retraction or an upgrade discarded it. Several processes may work on one
    campaign: they get different suggestions, and none overwrites another's data.

    >>> archive = pd.DataFrame({"pump": ["A", "A", "B", "B"], "flow": [1, 3, 1, 3], "head": [5.0, 4.0, 6.0, 5.0]})
    >>> problem = Problem(inputs={"flow": (0, 5)}, general=["pump"], objective="head")
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> campaign = Campaign.create("pumps", archive, problem, store=f"{folder.name}/headstart.db")
    >>> first = campaign.suggest({"pump": "C"})
    >>> first.columns.tolist()
    ['suggestion', 'pump', 'flow', 'mean', 'sd', 'lower', 'upper', 'score']
    >>> campaign.observe(first.assign(head=5.5))
    [5]
    >>> campaign.history()["status"].tolist()
    ['observed']
    >>> folder.cleanup()
    """

    def __init__(self, name: str | int, store: Store) -> None:
        record = store.campaign(name)
        self.name = record.name
        self.problem = Problem.from_dict(record.problem)
        self.settings = record.settings
        self.origin = record.origin
        self.id = record.id
        self._store = store
        self._fitting: Fitting | None = None

    def __repr__(self) -> str:
        return f"Campaign({self.name!r} in {self._store.name}: {self.problem.goal} {self.problem.objective})"

    @classmethod
    def create(
        cls,
        name: str,
        archive: Table | str | Path,
        problem: Problem,
        *,
        store: str | Path | Store = DEFAULT_STORE,
        seed: int = 0,
        model: str = "begp",
        kernel: str = "auto",
        latent_dim: int = 3,
        author: str | None = None,
    ) -> Campaign:
        """Start a campaign from an archive: a frame, or the path of a CSV, Excel or Parquet file.

        Args:
            name: what to call it; unique in its store.
            archive: one row an experiment, with the columns that the problem names.
            problem: what each column is for; missing bounds are taken from the archive.
            store: the path of an SQLite file, which is made if need be, or a URL as `postgresql://user@host/name`.
            seed: of fits and searches.
            model: "begp", or "egp" for point embeddings.
            kernel: see `headstart.fit`.
            latent_dim: latent dimension of each general input.
            author: who adds what is added.
        """
        if not isinstance(name, str) or not name.strip():
            raise ProblemError(f"A campaign needs a name, as text, not {name!r}.")
        for column in [*problem.inputs, *problem.general, problem.objective]:
            if column in RESERVED:
                raise ProblemError(
                    f"Column {column!r} has a name that a campaign's own tables use: rename it. "
                    f"Taken are: {', '.join(sorted(RESERVED))}."
                )
        with _naming(archive):
            table = _as_table(archive)
            rows, levels = rows_from_frame(table, problem, Levels.none(problem), with_objective=True)
            problem = problem.resolved(table)
            from headstart.limits import check_fit  # brings torch, which telling does not need

            seed = check_fit(len(rows), seed=seed, model=model, kernel=kernel, latent_dim=latent_dim)
        kept = _store(store, author, create=True)
        settings = {"seed": seed, "model": model, "kernel": kernel, "latent_dim": latent_dim}
        kept.create_campaign(name, problem.to_dict(), settings, _observations(rows, levels, problem))
        return cls(name, kept)

    @classmethod
    def open(cls, name: str, *, store: str | Path | Store = DEFAULT_STORE, author: str | None = None) -> Campaign:
        """A campaign that was created before, here or elsewhere."""
        return cls(name, _store(store, author, create=False))

    # ------------------------------------------------------------------ ask and tell

    def suggest(
        self,
        task: Task,
        n: int = 1,
        *,
        candidates: Table | str | Path | None = None,
        fixed: Mapping[str, Any] | None = None,
        acquisition: str = "auto",
        seed: int | None = None,
        progress: Progress | None = None,
        claim: Claim | None = None,
    ) -> pd.DataFrame:
        """The next `n` experiments of a task, stored as pending.

        They take into account what is pending, and avoid what was withdrawn: an experiment that failed would be chosen
        again otherwise. If somebody else asks at the same time, the one who is later looks again.

        Args:
            task: the label of each general input, such as {"catalyst": "new"}; it may be new.
            n: how many experiments are to run at the same time.
            candidates: a table, or a file, of the possible experiments, when they can be listed.
            fixed: inputs that are not free this time.
            acquisition: see `headstart.Surrogate.suggest`.
            seed: of the search; the campaign's plus the number of suggestions so far, when left out.
            progress: of a fit, see `headstart.fit`.
            claim: the queued job that this does: its end and the suggestions are stored together.

        Returns:
            A frame with the suggestion's id, its task, inputs, prediction and score. Fill in the objective and hand it
            to `observe`.
        """
        table = None if candidates is None else _as_table(candidates)
        while True:
            seen = self._store.snapshot(self.id)
            surrogate = self._surrogate(seen, progress)
            labels = self._labels(task, surrogate.levels)
            without_outcome = seen.open_for(labels)
            used = int(self.settings["seed"]) + len(seen.suggestions) if seed is None else checked_whole("seed", seed)
            with _naming(candidates):
                frame = surrogate.suggest(
                    labels,
                    n,
                    candidates=table,
                    pending=[each.inputs for each in without_outcome if each.state == "pending"],
                    avoid=[each.inputs for each in without_outcome if each.state == "withdrawn"],
                    fixed=fixed,
                    acquisition=acquisition,
                    seed=used,
                    interval=_INTERVAL,
                )
            new = [
                NewSuggestion(
                    task=labels,
                    inputs={name: float(row[name]) for name in self.problem.inputs},
                    prediction=_prediction(row),
                    score=float(row["score"]),
                    score_is=frame.attrs["score"],
                    seed=used,
                )
                for row in frame.to_dict("records")
            ]
            stored = self._store.add_suggestions(self.id, new, seen=seen, claim=claim)
            if stored is not None:
                return suggestion_frame(stored, self.problem, index=frame.index)

    def observe(
        self,
        outcomes: Table | str | Path | float,
        *,
        suggestion: int | None = None,
        task: Task | None = None,
        key: str | None = None,
    ) -> list[int]:
        """Store what was measured. When this returns, it is stored; telling it twice does no harm.

        An experiment that nobody suggested is as welcome, and so is a suggestion that was run at slightly other inputs.
        One that failed is withdrawn instead.

        Args:
            outcomes: a frame or file with the objective and either a column `suggestion`, or the inputs and general
                inputs; with both, the inputs are those that were in truth set. A number alone is the outcome of
                `suggestion`.
            suggestion: the suggestion that a single outcome answers.
            task: the label of each general input, instead of columns of them.
            key: a name for what is told here: told again under it, as after a broken connection, it is stored once.

        Returns:
            The observations' ids, which `retract` takes.

        An outcome far outside of all others is stored as well, with a `DataWarning`.
        """
        with _naming(outcomes):
            if isinstance(outcomes, int | float | np.number):
                if suggestion is None:
                    raise DataError(
                        f"{outcomes} is the outcome of which experiment? Say suggestion=..., or give a table."
                    )
                outcomes = {self.problem.objective: float(outcomes)}
            frame = _as_table(outcomes)
            if suggestion is not None:
                frame = frame.assign(suggestion=suggestion)
            frame, answered = self._with_suggestions(frame)
            _, known = Levels.none(self.problem).encode(self.tasks())
            rows, levels = rows_from_frame(frame, self.problem, known, with_objective=True, task=task)
        new = [
            replace(each, suggestion=None if of is None else of.id, prediction=self._expected(each, of))
            for each, of in zip(_observations(rows, levels, self.problem), answered, strict=True)
        ]
        count, low, high = self._store.outcome_range(self.id)
        stored = self._store.add_observations(self.id, new, key=key)
        told = [each.outcome for each in new]
        warn_of_far_outcomes(told, self.problem.objective, count=count, low=low, high=high, stacklevel=3)
        return [each.id for each in stored]

    def are_far(self, outcomes: Iterable[float]) -> bool:
        """Whether any of these would lie far outside of all outcomes so far: a slip, maybe."""
        count, low, high = self._store.outcome_range(self.id)
        return bool(far_outcomes(outcomes, count=count, low=low, high=high))

    def accept(self, suggestion: int) -> None:
        """Note that you run a suggestion, for others to see."""
        self._store.accept(self.id, checked_whole("suggestion", suggestion))

    def withdraw(self, suggestions: Any, *, reason: str | None = None) -> None:
        """Take back suggestions that failed or will not run: an id, or several."""
        ids = [suggestions] if isinstance(suggestions, str) or not isinstance(suggestions, Iterable) else suggestions
        self._store.withdraw(self.id, [checked_whole("suggestion", each) for each in ids], reason)

    def retract(self, observation: int, *, reason: str | None = None) -> None:
        """Take back a wrong observation, by its id. It stays in the history, and its suggestion is pending again."""
        self._store.retract(self.id, checked_whole("observation", observation), reason)

    # ------------------------------------------------------------------ looking

    def predict(
        self, rows: Table | str | Path, *, task: Task | None = None, interval: float = _INTERVAL, noise: bool = True
    ) -> pd.DataFrame:
        """What to expect at each row, see `headstart.Surrogate.predict`."""
        with _naming(rows):
            return self.surrogate().predict(_as_table(rows), task=task, interval=interval, noise=noise)

    def history(self) -> pd.DataFrame:
        """Every experiment since the archive: suggested, observed or both, with what was expected of it."""
        snapshot = self.snapshot()
        return history_frame(snapshot.suggestions, snapshot.observations, self.problem)

    def data(self) -> pd.DataFrame:
        """All that the surrogate learns from, archive and experiments, in the columns that the problem names."""
        return data_frame(self.snapshot().counting, self.problem)

    def export(self, path: str | Path, *, what: str = "history") -> None:
        """Write the `history` or the `data` to a CSV, Excel, Parquet or JSON file."""
        write_table(self.exported(what), path)

    def exported(self, what: str = "history") -> pd.DataFrame:
        """What `export` writes."""
        frames = {"history": self.history, "data": self.data}
        if what not in frames:
            raise ProblemError(f"what={what!r} must be one of {', '.join(frames)}.")
        frame = frames[what]()
        times = frame.select_dtypes("datetimetz").columns  # Excel knows no time zones
        return frame.assign(**{name: frame[name].map(_iso) for name in times})

    def snapshot(self) -> Snapshot:
        """All suggestions and observations as records, archive rows and retracted ones too, at one moment."""
        return self._store.snapshot(self.id)

    def tasks(self) -> list[dict[str, str]]:
        """The tasks that were ever measured, each once."""
        return self._store.tasks(self.id)

    def tasks_of(self, observations: Iterable[int]) -> list[dict[str, str]]:
        """The tasks that these observations are of, each once."""
        return self._store.tasks(self.id, among=list(observations))

    def suggestions(self) -> list[Suggestion]:
        """All suggestions as records."""
        return self._store.suggestions(self.id)

    def observations(self) -> list[Observation]:
        """All observations as records, archive rows and retracted ones too."""
        return self.snapshot().observations

    def surrogate(self, *, progress: Progress | None = None) -> Surrogate:
        """The surrogate of all data: the stored one, brought up to date if data came since."""
        return self._surrogate(self.snapshot(), progress)

    # ------------------------------------------------------------------ inside

    def _surrogate(self, seen: Snapshot, progress: Progress | None) -> Surrogate:
        if self._fitting is None:
            from headstart.campaign.fitting import Fitting  # brings torch, which telling does not need

            self._fitting = Fitting(self._store, self.id, self.problem, self.settings)
        return self._fitting.surrogate(seen.counting, progress)

    def _labels(self, task: Task, levels: Levels) -> dict[str, str]:
        """The task with its labels written as they are stored."""
        codes, extended = task_codes(task, self.problem, levels)
        return {name: extended[name][code] for name, code in zip(self.problem.general, codes, strict=True)}

    def _with_suggestions(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Suggestion | None]]:
        """The frame with what it leaves out of its suggestions filled in, and each row's suggestion."""
        if "suggestion" not in frame:
            return frame, [None] * len(frame)
        require_columns(frame, ["suggestion"])
        known = {each.id: each for each in self._store.suggestions(self.id)}
        rows = [f", as row {row} has it" if len(frame) > 1 else "" for row in frame.index]
        answered = [
            self._suggestion(value, of_row, known) for of_row, value in zip(rows, frame["suggestion"], strict=True)
        ]
        stored = pd.DataFrame(
            [{**each.task, **each.inputs} if each else {} for each in answered],
            columns=[*self.problem.general, *self.problem.inputs],
            index=frame.index,
            dtype=object,
        )
        return frame.astype(object).combine_first(stored)[[*frame, *stored.columns.difference(frame.columns)]], answered

    def _suggestion(self, value: Any, of_row: str, known: Mapping[int, Suggestion]) -> Suggestion | None:
        if pd.isna(value):
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if number not in known:
            pending = [each.id for each in known.values() if each.state == "pending"]
            listed = f"Pending are: {', '.join(map(str, pending[:20]))}." if pending else "None is pending."
            raise DataError(f"There is no suggestion {value} in this campaign{of_row}. {listed}")
        return known[int(number)]

    def _expected(self, told: NewObservation, of: Suggestion | None) -> Prediction | None:
        """The suggestion's prediction, if it was run where it was suggested."""
        if of is None:
            return None
        if told.task != of.task:
            raise DataError(
                f"Suggestion {of.id} is for {_words(of.task)}, and the outcome is of {_words(told.task)}. Leave the "
                "suggestion out, or correct the task."
            )
        low, high = self.problem.bounds
        there = np.array(list(told.inputs.values())) - np.array([of.inputs[name] for name in told.inputs])
        # As near as people type back what they were shown.
        return of.prediction if (np.abs(there) <= 1e-3 * (high - low)).all() else None


def _store(store: str | Path | Store, author: str | None, *, create: bool) -> Store:
    if not isinstance(store, Store):
        return Store(store, create=create, author=author)
    return store if author is None else store.by(author)


def _words(task: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {label}" for name, label in task.items())


def _as_table(source: Table | str | Path) -> pd.DataFrame:
    return read_table(source) if isinstance(source, str | Path) else as_frame(source)


def _naming(source: object) -> AbstractContextManager[None]:
    """Errors inside name the file, where the data come from one."""
    return naming(source) if isinstance(source, str | Path) else nullcontext()


def _iso(moment: pd.Timestamp) -> str | None:
    return None if pd.isna(moment) else moment.isoformat(timespec="seconds")


def _observations(rows: Rows, levels: Levels, problem: Problem) -> list[NewObservation]:
    labels = [levels[name] for name in problem.general]
    outcomes: Sequence[float] = [] if rows.objective is None else rows.objective.tolist()
    return [
        NewObservation(
            task={name: known[code] for name, known, code in zip(problem.general, labels, codes, strict=True)},
            inputs=dict(zip(problem.inputs, values, strict=True)),
            outcome=outcome,
        )
        for values, codes, outcome in zip(rows.inputs.tolist(), rows.codes.tolist(), outcomes, strict=True)
    ]


def _prediction(row: Mapping[Any, Any]) -> Prediction:
    return Prediction(*(float(row[name]) for name in PREDICTION))
