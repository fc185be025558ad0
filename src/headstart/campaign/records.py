"""What a store keeps: frozen records, in the user's names and units."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias

State: TypeAlias = Literal["pending", "observed", "withdrawn"]


@dataclass(frozen=True)
class Prediction:
    """What the surrogate expected of a measurement, before it was made: mean, sd and the 80 % interval."""

    mean: float
    sd: float
    lower: float
    upper: float


PREDICTION = tuple(field.name for field in fields(Prediction))
"""Its columns in tables and frames."""


@dataclass(frozen=True)
class Origin:
    """Who made a record, when, and with which version of the package."""

    made_at: datetime
    author: str
    version: str


@dataclass(frozen=True)
class CampaignRecord:
    """A campaign's name, its problem and the settings of its surrogate."""

    id: int
    name: str
    problem: dict[str, Any]
    settings: dict[str, Any]
    origin: Origin


@dataclass(frozen=True)
class CampaignSummary:
    """A line of the list of campaigns; `best` is the best outcome since the archive, of whichever task."""

    id: int
    name: str
    problem: dict[str, Any]
    archive_rows: int
    observed: int
    pending: int
    working: int
    best: float | None
    origin: Origin
    last_activity: datetime


@dataclass(frozen=True)
class NewSuggestion:
    """An experiment to run, not stored yet."""

    task: dict[str, str]
    inputs: dict[str, float]
    prediction: Prediction
    score: float
    score_is: str
    seed: int


@dataclass(frozen=True)
class Suggestion(NewSuggestion):
    """An experiment to run: pending until it is observed or withdrawn; somebody may have taken it on."""

    id: int
    state: State
    closed_at: datetime | None
    reason: str | None
    accepted_at: datetime | None
    accepted_by: str | None
    origin: Origin


@dataclass(frozen=True)
class NewObservation:
    """A measured experiment, not stored yet."""

    task: dict[str, str]
    inputs: dict[str, float]
    outcome: float
    suggestion: int | None = None
    prediction: Prediction | None = None


@dataclass(frozen=True)
class Observation(NewObservation):
    """A measured experiment, from the archive or made since."""

    id: int = 0
    is_archive: bool = False
    retracted_at: datetime | None = None
    reason: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True)
class StoredSurrogate:
    """A fitted surrogate and the observations it has seen: the first `rows` that count, up to one of them.

    `fitted_rows` were there when it was last fitted from scratch; it learned from the others since.
    """

    content: bytes
    last_observation: int
    rows: int
    fitted_rows: int


@dataclass(frozen=True)
class Snapshot:
    """All suggestions and observations of a campaign at one moment, in the order they came."""

    suggestions: list[Suggestion]
    observations: list[Observation]

    @property
    def counting(self) -> list[Observation]:
        """The observations that were not retracted."""
        return [each for each in self.observations if each.retracted_at is None]

    def open_for(self, task: dict[str, str]) -> list[Suggestion]:
        """The suggestions for a task that have no outcome: pending or withdrawn."""
        return [each for each in self.suggestions if each.task == task and each.state != "observed"]
