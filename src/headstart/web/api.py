"""`/api/v1`: campaigns for lab machines and programs. What takes long is a job: ask for it, then wait for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pandas as pd
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from headstart.campaign import Campaign, Store
from headstart.errors import DataError, NotFoundError, ProblemError
from headstart.report import experiments, rows_of
from headstart.report.history import task_labels
from headstart.tasks import Levels, Problem, Task, rows_from_frame
from headstart.tasks.exports import table_bytes
from headstart.web import messages, views
from headstart.web.messages import Ask, Check, ErrorMessage, JobMessage, NewCampaign, Points, Stored, Tell, Why
from headstart.web.reading import CampaignNow

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorMessage, "description": words}
    for status, words in {
        400: "The request cannot be read, such as a body that is no JSON.",
        401: "A token is needed.",
        403: "Made by a page of another site.",
        404: "There is no such thing.",
        405: "This cannot be done here.",
        413: "Too large.",
        421: "The server does not go by that name.",
        422: "The data or the problem is at fault.",
        429: "Too many requests.",
        503: "The database cannot be used.",
    }.items()
}
_CSV: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: {"description": "A table.", "content": {"text/csv": {"schema": {"type": "string"}}}}},
}
_LONGEST_WAIT = 25.0

api = APIRouter(prefix="/api/v1", responses=_ERRORS)

Id = Annotated[int, Path(ge=1, lt=2**31)]
Labels = Annotated[list[str], Query(alias="task", description="The task's labels, in the order of the general inputs.")]


def store_of(
    request: Request,
    author: Annotated[str, Header(alias="x-headstart-author", description="Who asks and tells, as UTF-8.")] = "",
) -> Store:
    """The store, for the author that the caller names."""
    store: Store = request.app.state.store
    text = author.encode("latin-1", "replace").decode("utf-8", "replace")  # what HTTP makes of it, undone
    name = "".join(each for each in text if each.isprintable()).strip()[:100]
    return store.by(name) if name else store


def table_of(request: Request) -> Callable[[list[dict[str, Any]]], pd.DataFrame]:
    """Makes a frame of rows that were sent, unless there are too many."""
    most: int = request.app.state.safety.rows

    def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
        if len(rows) > most:
            raise DataError(f"There are {len(rows)} rows, more than {most}. Send a sample of them.")
        return pd.DataFrame(rows)

    return table


StoreHere = Annotated[Store, Depends(store_of)]
TableOf = Annotated[Callable[[list[dict[str, Any]]], pd.DataFrame], Depends(table_of)]


@api.get("/campaigns", tags=["campaigns"], response_model=messages.Campaigns)
def list_campaigns(store: StoreHere) -> dict[str, Any]:
    """All campaigns, the most recently active first."""
    return views.campaigns(store)


@api.post("/campaigns", status_code=201, tags=["campaigns"], response_model=messages.CampaignView)
def create_campaign(new: NewCampaign, store: StoreHere, table: TableOf) -> dict[str, Any]:
    """Start a campaign from an archive; a first fit begins at once."""
    inputs = {name: None if bounds is None else tuple(bounds) for name, bounds in new.inputs.items()}
    problem = Problem(inputs=inputs, general=new.general, objective=new.objective, goal=new.goal)
    made = Campaign.create(new.name, table(new.archive), problem, store=store, seed=new.seed, kernel=new.kernel)
    refresh(store, made.id, None)
    return views.campaign(store, made.id)


@api.get("/campaigns/{campaign_id}", tags=["campaigns"], response_model=messages.CampaignView)
def show_campaign(campaign_id: Id, store: StoreHere, labels: Labels = []) -> dict[str, Any]:  # noqa: B006
    """A campaign, and where a task stands: its problem, best so far, pending experiments and history."""
    return views.campaign(store, campaign_id, labels)


@api.get("/campaigns/{campaign_id}/tasks", tags=["tasks"], response_model=messages.Tasks)
def list_tasks(campaign_id: Id, store: StoreHere) -> dict[str, Any]:
    """Every task, with its number of rows and experiments."""
    return {"tasks": views.campaign(store, campaign_id)["tasks"]}


@api.get("/campaigns/{campaign_id}/activity", tags=["campaigns"], response_model=messages.Activity)
def show_activity(campaign_id: Id, store: StoreHere) -> dict[str, Any]:
    """Jobs that wait or run, and a marker that is another whenever something changed."""
    return views.activity(store, campaign_id)


@api.get("/campaigns/{campaign_id}/experiments", tags=["observations"], response_model=messages.Experiments)
def list_experiments(campaign_id: Id, store: StoreHere) -> dict[str, Any]:
    """Every experiment since the archive, with what was expected of it."""
    return {"experiments": experiments(CampaignNow(campaign_id, store))}


@api.get("/campaigns/{campaign_id}/data", tags=["observations"], response_model=messages.Data)
def list_data(campaign_id: Id, store: StoreHere) -> dict[str, Any]:
    """All that the surrogate learns from, archive and experiments."""
    return {"rows": CampaignNow(campaign_id, store).data().to_dict("records")}


@api.get("/campaigns/{campaign_id}/pictures/{kind}", tags=["predictions"])
def show_picture(
    campaign_id: Id,
    kind: str,
    store: StoreHere,
    labels: Labels = [],  # noqa: B006
    general: str | None = None,
) -> dict[str, Any]:
    """The data of a picture: convergence, honesty, slices, surfaces, embedding_map or trust."""
    return views.picture(store, campaign_id, kind, labels, general)


@api.get("/campaigns/{campaign_id}/pictures/{kind}/csv", tags=["predictions"], **_CSV)
def show_picture_as_csv(
    campaign_id: Id,
    kind: str,
    store: StoreHere,
    labels: Labels = [],  # noqa: B006
    general: str | None = None,
) -> Response:
    """The same as a table."""
    frame = rows_of(kind, views.picture(store, campaign_id, kind, labels, general))
    return download(table_bytes(frame, ".csv"), f"{kind}.csv", "text/csv; charset=utf-8")


@api.post("/campaigns/{campaign_id}/suggestions", status_code=202, tags=["suggestions"], response_model=JobMessage)
def ask(campaign_id: Id, wanted: Ask, store: StoreHere, table: TableOf) -> dict[str, Any]:
    """Ask for the next experiments: a job whose result lists them."""
    given = wanted.model_dump(exclude={"key"})
    given["task"] = checked_task(store, campaign_id, given["task"])
    if wanted.candidates is not None:
        check_rows(store, campaign_id, table(wanted.candidates), given["task"])
    return views.job(store.jobs.add(campaign_id, "suggest", given, key=wanted.key))


@api.get("/campaigns/{campaign_id}/suggestions", tags=["suggestions"], response_model=messages.Suggestions)
def list_suggestions(
    campaign_id: Id, store: StoreHere, state: Literal["pending", "observed", "withdrawn"] | None = None
) -> dict[str, Any]:
    """Suggestions, or those in a state: pending, observed or withdrawn."""
    rows = [each for each in experiments(CampaignNow(campaign_id, store)) if each["suggestion"] is not None]
    return {"suggestions": [each for each in rows if state in (None, each["status"])]}


@api.post("/campaigns/{campaign_id}/suggestions/{suggestion}/acceptance", status_code=204, tags=["suggestions"])
def accept(campaign_id: Id, suggestion: Id, store: StoreHere) -> Response:
    """Note that you run it, for others to see."""
    known_suggestion(store, campaign_id, suggestion).accept(suggestion)
    return Response(status_code=204)


@api.post("/campaigns/{campaign_id}/suggestions/{suggestion}/withdrawal", status_code=204, tags=["suggestions"])
def withdraw(campaign_id: Id, suggestion: Id, store: StoreHere, why: Why | None = None) -> Response:
    """Take back a suggestion that failed or will not run."""
    known_suggestion(store, campaign_id, suggestion).withdraw(suggestion, reason=why.reason if why else None)
    return Response(status_code=204)


@api.post("/campaigns/{campaign_id}/observations", status_code=201, tags=["observations"], response_model=Stored)
def tell(campaign_id: Id, told: Tell, store: StoreHere, table: TableOf) -> dict[str, Any]:
    """Store what was measured, suggested or not. When this answers, it is stored."""
    campaign = Campaign(campaign_id, store)
    ids = campaign.observe(table(told.rows), task=told.task, key=told.key)
    for task in campaign.tasks_of(ids):
        refresh(store, campaign_id, task)
    return {"observations": ids}


@api.post("/campaigns/{campaign_id}/observations/{observation}/retraction", status_code=204, tags=["observations"])
def retract(campaign_id: Id, observation: Id, store: StoreHere, why: Why | None = None) -> Response:
    """Take back a wrong observation: it stays in the history, and its suggestion is pending again."""
    campaign = Campaign(campaign_id, store)
    tasks = campaign.tasks_of([observation])
    if not tasks:
        raise NotFoundError(f"There is no observation {observation} in this campaign.")
    campaign.retract(observation, reason=why.reason if why else None)
    for task in tasks:
        refresh(store, campaign_id, task)
    return Response(status_code=204)


@api.post("/campaigns/{campaign_id}/predictions", status_code=202, tags=["predictions"], response_model=JobMessage)
def predict(campaign_id: Id, points: Points, store: StoreHere, table: TableOf) -> dict[str, Any]:
    """Ask what to expect at some rows: a job whose result lists mean, sd, lower and upper."""
    check_rows(store, campaign_id, table(points.rows), points.task)
    given = points.model_dump()
    if points.task is not None:
        given["task"] = checked_task(store, campaign_id, points.task)
    return views.job(store.jobs.add(campaign_id, "predict", given))


@api.post("/campaigns/{campaign_id}/validations", status_code=202, tags=["validation"], response_model=JobMessage)
def validate(campaign_id: Id, store: StoreHere, check: Check | None = None) -> dict[str, Any]:
    """Ask for leave-one-task-out validation of the archive: a job whose result is a summary."""
    store.campaign(campaign_id)
    return views.job(store.jobs.add(campaign_id, "validate", (check or Check()).model_dump(), unless_queued=True))


@api.get("/campaigns/{campaign_id}/validations", tags=["validation"], response_model=messages.Validation)
def show_validation(campaign_id: Id, store: StoreHere) -> dict[str, Any]:
    """The latest validation that has ended, and the one that runs."""
    store.campaign(campaign_id)
    return views.trust(store, campaign_id)


@api.get("/jobs/{job_id}", tags=["jobs"], response_model=JobMessage)
async def show_job(
    job_id: Id,
    store: StoreHere,
    wait: Annotated[float, Query(ge=0, le=_LONGEST_WAIT, description="Seconds to wait for its end.")] = 0,
) -> dict[str, Any]:
    """A job; with `wait`, as soon as it has ended or the time is up."""
    until = time.monotonic() + wait
    pause = 0.05
    # Without a thread of its own while it sleeps: many machines may wait at a time.
    while (found := await run_in_threadpool(store.jobs.job, job_id)).is_open and time.monotonic() < until:
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.5)
    return views.job(found)


@api.post("/jobs/{job_id}/cancellation", tags=["jobs"], response_model=JobMessage)
def cancel(job_id: Id, store: StoreHere) -> dict[str, Any]:
    """Let a job end without a result. One that has ended stays as it is."""
    return views.job(store.jobs.cancel(job_id))


def refresh(store: Store, campaign_id: int, task: Task | None) -> None:
    """Have the surrogate and the pictures of a task brought up to date, some time soon."""
    store.jobs.add(campaign_id, "refresh", {"task": task}, unless_queued=True)


def checked_task(store: Store, campaign_id: int, task: Task) -> dict[str, str]:
    """The task as it is stored; wrong ones are refused at once and not by the worker."""
    return task_labels(Campaign(campaign_id, store).problem, task)


def check_rows(store: Store, campaign_id: int, rows: pd.DataFrame, task: Task | None) -> None:
    """Refuse at once, with its row and column, what a worker could not read."""
    problem = Campaign(campaign_id, store).problem
    rows_from_frame(rows, problem, Levels.none(problem), with_objective=False, task=task)


def known_suggestion(store: Store, campaign_id: int, suggestion: int) -> Campaign:
    """The campaign, if the suggestion is one of it."""
    campaign = Campaign(campaign_id, store)
    if all(each.id != suggestion for each in campaign.suggestions()):
        raise NotFoundError(f"There is no suggestion {suggestion} in this campaign.")
    return campaign


def download(content: bytes, name: str, media_type: str) -> Response:
    """A file for the browser to keep. Its name is made of harmless characters."""
    kept = "".join(each if each.isalnum() or each in "-_." else "-" for each in name)
    if not kept.isascii():
        raise ProblemError(f"{name!r} is no name for a download.")
    headers = {"content-disposition": f'attachment; filename="{kept}"'}
    return Response(content, media_type=media_type, headers=headers)
