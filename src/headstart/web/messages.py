"""What the API takes and sends, as schemas: the OpenAPI document is made of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

# Control characters are kept by neither Excel, nor SVG, nor PostgreSQL; half of a surrogate pair is no text at all.
_KEPT = r"^[^\x00-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]*$"
_NO_OTHERS: dict[str, Any] = {"additionalProperties": False}
_NOT_KEPT = "It holds a control character, or half of a character, which cannot be kept."


def _by_column(values: Any, read: Callable[[Any], Any]) -> Any:
    """One reason, with its column, where a union would give one for each of its members."""
    try:
        return read(values)
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        if not place:
            raise
        column = repr(place[0])
        if "[key]" in place:
            raise PydanticCustomError(
                "column", "{column} cannot be the name of a column.", {"column": column}
            ) from None
        text = "Column {column} must be text without control characters, a finite number, true, false or null."
        raise PydanticCustomError("column", text, {"column": column}) from None


Text = Annotated[str, Field(pattern=_KEPT)]
Column = Annotated[Text, Field(min_length=1, max_length=1000)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Label = Annotated[Text, Field(max_length=1000)] | Whole | FiniteFloat | bool
TaskLabels = Annotated[
    dict[Column, Label],
    Field(description="The label of each general input; it may be new.", json_schema_extra=_NO_OTHERS),
    WrapValidator(_by_column),
]
Row = Annotated[
    dict[Column, Text | FiniteFloat | Whole | bool | None],
    Field(description="An experiment: a value for each column.", json_schema_extra=_NO_OTHERS),
    WrapValidator(_by_column),
]
Rows = Annotated[list[Row], Field(min_length=1, max_length=50_000)]
Key = Annotated[
    str,
    Field(
        min_length=8,
        max_length=100,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="A name for this request, such as a UUID: sent again under it, it is done once.",
    ),
]
Reason = Annotated[Annotated[Text, Field(max_length=1000)] | None, Field(description="Why, for the record.")]


def in_words(fault: Mapping[str, Any]) -> str:
    """What is wrong with a part of a request, where the library's words are of no use."""
    if fault["type"] == "string_unicode" or fault.get("ctx", {}).get("pattern") == _KEPT:
        return _NOT_KEPT
    return str(fault["msg"])


class Message(BaseModel):
    """What is not known is refused, rather than overlooked."""

    model_config = ConfigDict(extra="forbid")


class NewCampaign(Message):
    """A campaign and its archive."""

    name: Annotated[Text, Field(min_length=1, max_length=200)]
    inputs: Annotated[
        dict[Column, Annotated[list[FiniteFloat], Field(min_length=2, max_length=3)] | None],
        Field(min_length=1, description="By input: [low, high], [low, high, step], or null for those of the archive."),
    ]
    general: Annotated[list[Column], Field(min_length=1, description="The columns that name the task.")]
    objective: Column
    goal: Literal["maximize", "minimize"]
    archive: Rows
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    kernel: Text = "auto"


class Ask(Message):
    """The next experiments of a task."""

    task: TaskLabels
    n: Annotated[int, Field(ge=1, le=100)] = 1
    fixed: dict[Column, FiniteFloat] | None = None
    candidates: Rows | None = None
    acquisition: Literal["auto", "thompson", "probability of best"] = "auto"
    seed: Annotated[int | None, Field(ge=0, lt=2**31)] = None
    key: Key | None = None


class Tell(Message):
    """What was measured: rows with the objective and either a suggestion's id or inputs and labels."""

    rows: Rows
    task: TaskLabels | None = None
    key: Key | None = None


class Why(Message):
    """A reason, for the record."""

    reason: Reason = None


class Points(Message):
    """Rows to predict."""

    rows: Rows
    task: TaskLabels | None = None
    interval: Annotated[float, Field(gt=0, lt=1)] = 0.8
    noise: bool = True


class Check(Message):
    """A validation of the archive."""

    tasks: Annotated[int | None, Field(ge=2, le=1000, description="Leave out so many tasks in turn, not all.")] = None


class Answer(BaseModel):
    """A view as it is; there may be more in it than is promised here."""

    model_config = ConfigDict(extra="allow")


class JobMessage(Answer):
    """A piece of work and, when it is done, its result."""

    id: int
    campaign: int
    kind: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    share: float | None
    remark: str | None
    words: str
    task: dict[str, str] | None
    key: str | None
    result: Any
    error: str | None
    author: str
    made_at: str
    ended_at: str | None


class CampaignEntry(Answer):
    """A campaign in the list of all."""

    id: int
    name: str
    objective: str
    goal: Literal["maximize", "minimize"]
    status: str
    best: float | None
    archive_rows: int
    observed: int
    pending: int
    author: str
    last_activity: str


class Campaigns(Answer):
    """All campaigns."""

    campaigns: list[CampaignEntry]


class TaskEntry(Answer):
    """A task, with its number of rows in the archive and of experiments by their state."""

    task: dict[str, str]
    archive: int
    observed: int
    pending: int
    withdrawn: int
    retracted: int
    last_activity: str | None


class Tasks(Answer):
    """Every task of a campaign."""

    tasks: list[TaskEntry]


class Prediction(Answer):
    """What was expected."""

    mean: float
    sd: float
    lower: float
    upper: float


class Experiment(Answer):
    """An experiment: suggested, observed or both."""

    suggestion: int | None
    observation: int | None
    status: Literal["pending", "observed", "withdrawn", "retracted"]
    task: dict[str, str]
    inputs: dict[str, float]
    outcome: float | None
    prediction: Prediction | None
    score: float | None
    score_is: str | None
    author: str
    reason: str | None
    suggested_at: str | None
    observed_at: str | None


class Experiments(Answer):
    """Every experiment since the archive."""

    experiments: list[Experiment]


class Suggestions(Answer):
    """Experiments that were suggested."""

    suggestions: list[Experiment]


class Data(Answer):
    """Rows as an archive holds them."""

    rows: list[dict[str, str | float]]


class StatedProblem(Answer):
    """Each input with its bounds, the general inputs, the objective and the goal."""

    inputs: list[tuple[str, list[float]]]
    general: list[str]
    objective: str
    goal: Literal["maximize", "minimize"]


class CampaignView(Answer):
    """A campaign, and where a task stands."""

    id: int
    name: str
    author: str
    problem: StatedProblem
    settings: dict[str, Any]
    archive_rows: int
    tasks: list[TaskEntry]
    task: dict[str, str] | None
    best: dict[str, Any] | None
    pending_experiments: list[dict[str, Any]]
    experiments: list[Experiment]


class Activity(Answer):
    """Jobs that wait or run, and a marker that is another whenever something changed."""

    id: int
    jobs: list[JobMessage]
    failed: list[JobMessage]
    marker: str


class Validation(Answer):
    """The latest validation that has ended, and the one that runs."""

    id: int
    summary: dict[str, Any] | None
    validated_at: str | None
    job: JobMessage | None


class Stored(BaseModel):
    """The ids of what was stored."""

    observations: list[int]


class Fault(BaseModel):
    """A part of a request that is wrong: where, such as body.rows.3, and what."""

    where: str
    what: str


class ErrorMessage(BaseModel):
    """What was wrong, and what to do; of a request that does not fit its schema, part by part."""

    detail: str | list[Fault]
