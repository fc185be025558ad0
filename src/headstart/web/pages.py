"""The pages that people see. Every change is a form that a browser without scripts can send, too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, cast
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

from headstart.campaign import Campaign, Store
from headstart.errors import HeadstartError, NotFoundError, ProblemError
from headstart.report import rows_of
from headstart.report.history import task_labels
from headstart.tasks.exports import table_bytes
from headstart.web import views
from headstart.web.api import Id, Labels, download, refresh
from headstart.web.drawing import draw
from headstart.web.intake import Choice, intake, roles_of, table_of
from headstart.web.rendering import NAME_COOKIE, author_of, render, task_query
from headstart.web.safety import client_of

_EXPORTS = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


class WrongWordError(HeadstartError):
    """Raised for a form that does not carry its visitor's word."""


async def checked_form(request: Request) -> AsyncIterator[FormData]:
    """The form that was sent, from a page of ours: it carries its visitor's word. In the end its file is closed."""
    async with request.form(max_files=1, max_fields=5000) as form:
        given = request.headers.get("x-headstart-word") or str(form.get("word", ""))
        if not request.app.state.sessions.is_word_of(request.scope.get("headstart.session"), given):
            raise WrongWordError("This form has expired. Go back, load the page again and repeat what you did.")
        yield form


def store_of(request: Request) -> Store:
    """The store, for the author that the visitor named."""
    store: Store = request.app.state.store
    return store.by(author_of(request))


pages = APIRouter(include_in_schema=False)
Sent = Annotated[FormData, Depends(checked_form)]
StoreHere = Annotated[Store, Depends(store_of)]


# ---------------------------------------------------------------------- looking


@pages.get("/")
def list_campaigns(request: Request, store: StoreHere) -> Response:
    """All campaigns."""
    return render(request, "campaigns.html", views.campaigns(store))


@pages.get("/campaigns/{campaign_id}")
def show_campaign(request: Request, campaign_id: Id, store: StoreHere, labels: Labels = []) -> Response:  # noqa: B006
    """A campaign: the next experiment, how it went, and every experiment."""
    return _campaign_page(request, store, campaign_id, labels)


@pages.get("/campaigns/{campaign_id}/pictures")
def show_pictures(request: Request, campaign_id: Id, store: StoreHere, labels: Labels = []) -> Response:  # noqa: B006
    """What is believed of a task."""
    view = views.campaign(store, campaign_id, labels)
    context = {
        "view": view,
        "activity": views.activity(store, campaign_id),
        "honesty": views.picture(store, campaign_id, "honesty"),
        "tab": "pictures",
    }
    return render(request, "pictures.html", context)


@pages.get("/campaigns/{campaign_id}/trust")
def show_trust(request: Request, campaign_id: Id, store: StoreHere) -> Response:
    """Leave-one-task-out validation of the archive."""
    context = {
        "view": views.campaign(store, campaign_id),
        "activity": views.activity(store, campaign_id),
        "trust": views.trust(store, campaign_id),
        "tab": "trust",
    }
    return render(request, "trust.html", context)


@pages.get("/campaigns/{campaign_id}/activity")
def show_activity(request: Request, campaign_id: Id, store: StoreHere, seen: str = "") -> Response:
    """What is going on, for a page to look at again and again; it is told when there is something new."""
    view = views.activity(store, campaign_id)
    response = render(request, "_activity.html", {"activity": view})
    if seen != view["marker"]:
        response.headers["HX-Trigger"] = "headstart:changed"
    return response


@pages.get("/campaigns/{campaign_id}/pictures/{kind}.{form}")
def show_picture(
    campaign_id: Id,
    kind: str,
    form: str,
    store: StoreHere,
    labels: Labels = [],  # noqa: B006
    general: str | None = None,
    pair: int = 0,
) -> Response:
    """A picture as JSON for the page, as SVG for those without scripts and to keep, or as CSV."""
    summary = views.picture(store, campaign_id, kind, labels, general)
    if form == "json":
        return JSONResponse(summary)
    if form == "csv":
        return download(table_bytes(rows_of(kind, summary), ".csv"), f"{kind}.csv", _EXPORTS["csv"])
    if form == "svg":
        # Opened by itself it is a document of its own, whose shapes are styled inline.
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
        return Response(draw(kind, summary, pair=pair), media_type="image/svg+xml", headers=policy)
    raise NotFoundError(f"A picture is .svg, .csv or .json, not .{form}.")


@pages.get("/campaigns/{campaign_id}/export/{what}.{form}")
def export(campaign_id: Id, what: str, form: str, store: StoreHere) -> Response:
    """The history or all data as a file."""
    campaign = Campaign(campaign_id, store)
    if form not in _EXPORTS or what not in ("history", "data"):
        raise NotFoundError("There is history.csv, history.xlsx, data.csv and data.xlsx.")
    content = table_bytes(campaign.exported(what), f".{form}")
    return download(content, f"{_plain(campaign.name)}-{what}.{form}", _EXPORTS[form])


@pages.get("/campaigns/{campaign_id}/report")
def show_report(campaign_id: Id, store: StoreHere) -> Response:
    """The report that was written last."""
    campaign = Campaign(campaign_id, store)
    done = [each for each in store.jobs.of(campaign_id, kinds=["report"]) if each.state == "done"]
    if not done:
        raise NotFoundError("No report has been written yet. Ask for one on the campaign's page.")
    html = store.jobs.job(done[0].id).result["html"]
    return download(html.encode(), f"{_plain(campaign.name)}.html", "text/html; charset=utf-8")


# ---------------------------------------------------------------------- ask and tell


@pages.post("/campaigns/{campaign_id}/ask")
def ask(request: Request, campaign_id: Id, form: Sent, store: StoreHere) -> Response:
    """Queue a suggestion."""
    campaign = Campaign(campaign_id, store)
    typed = {key: str(value) for key, value in form.items() if isinstance(value, str)}
    try:
        task = _task(campaign, form)
        n = _whole(typed.get("n") or "1", "The number of experiments")
        fixed = {
            name: _number(typed[f"fix-{place}"], name)
            for place, name in enumerate(campaign.problem.inputs)
            if typed.get(f"fix-{place}")
        }
    except HeadstartError as error:
        return _campaign_page(request, store, campaign_id, [], error=str(error), typed=typed)
    store.jobs.add(campaign_id, "suggest", {"task": task, "n": n, "fixed": fixed or None})
    return _back(campaign_id, "asked", task)


@pages.post("/campaigns/{campaign_id}/tell")
def tell(request: Request, campaign_id: Id, form: Sent, store: StoreHere) -> Response:
    """Store an outcome, of a suggestion or of an experiment of one's own."""
    campaign = Campaign(campaign_id, store)
    problem = campaign.problem
    typed = {key: str(value) for key, value in form.items() if isinstance(value, str)}
    try:
        row: dict[str, Any] = {problem.objective: _number(typed.get("outcome", ""), problem.objective)}
        for place, name in enumerate(problem.inputs):
            row[name] = _number(typed.get(f"input-{place}", ""), name)
        suggestion = typed.get("suggestion")
        if suggestion:
            row["suggestion"] = _whole(suggestion, "The suggestion")
        task = _task(campaign, form)
        is_far = campaign.are_far([row[problem.objective]])
        campaign.observe([row], task=task, key=typed.get("key") or None)
    except HeadstartError as error:
        return _campaign_page(request, store, campaign_id, form.getlist("task"), error=str(error), typed=typed)
    refresh(store, campaign_id, task)
    return _back(campaign_id, "stored-far" if is_far else "stored", task)


@pages.post("/campaigns/{campaign_id}/suggestions/{suggestion}/{verb}")
def change_suggestion(
    request: Request, campaign_id: Id, suggestion: Id, verb: str, form: Sent, store: StoreHere
) -> Response:
    """Accept or withdraw a suggestion."""
    campaign = Campaign(campaign_id, store)
    task = next((each.task for each in campaign.suggestions() if each.id == suggestion), None)
    try:
        if verb == "accept":
            campaign.accept(suggestion)
        elif verb == "withdraw":
            campaign.withdraw(suggestion, reason=str(form.get("reason", "")).strip()[:1000] or None)
        else:
            raise NotFoundError("A suggestion can be accepted or withdrawn.")
    except HeadstartError as error:
        return _campaign_page(request, store, campaign_id, list((task or {}).values()), error=str(error))
    return _back(campaign_id, "accepted" if verb == "accept" else "withdrawn", task)


@pages.post("/campaigns/{campaign_id}/observations/{observation}/retract")
def retract(request: Request, campaign_id: Id, observation: Id, form: Sent, store: StoreHere) -> Response:
    """Take back a wrong outcome."""
    campaign = Campaign(campaign_id, store)
    task = next(iter(campaign.tasks_of([observation])), None)
    try:
        campaign.retract(observation, reason=str(form.get("reason", "")).strip()[:1000] or None)
    except HeadstartError as error:
        return _campaign_page(request, store, campaign_id, list((task or {}).values()), error=str(error))
    refresh(store, campaign_id, task)
    return _back(campaign_id, "retracted", task)


# ---------------------------------------------------------------------- work


@pages.post("/campaigns/{campaign_id}/update")
def update(campaign_id: Id, form: Sent, store: StoreHere) -> Response:
    """Have the pictures of a task brought up to date."""
    campaign = Campaign(campaign_id, store)
    task = _task(campaign, form) if form.getlist("task") else None
    refresh(store, campaign_id, task)
    return _back(campaign_id, "updating", task, page="/pictures")


@pages.post("/campaigns/{campaign_id}/validate")
def validate(campaign_id: Id, form: Sent, store: StoreHere) -> Response:
    """Validate the archive."""
    store.campaign(campaign_id)
    most = str(form.get("tasks", "")).strip()
    tasks = _whole(most, "The number of tasks") if most else None
    store.jobs.add(campaign_id, "validate", {"tasks": tasks}, unless_queued=True)
    return _back(campaign_id, "validating", page="/trust")


@pages.post("/campaigns/{campaign_id}/report")
def report(campaign_id: Id, form: Sent, store: StoreHere) -> Response:
    """Have the report written."""
    campaign = Campaign(campaign_id, store)
    task = _task(campaign, form) if form.getlist("task") else None
    store.jobs.add(campaign_id, "report", {"task": task}, unless_queued=True)
    return _back(campaign_id, "report", task)


@pages.post("/jobs/{job_id}/cancel")
def cancel(job_id: Id, form: Sent, store: StoreHere) -> Response:
    """Cancel a job."""
    job = store.jobs.cancel(job_id)
    return _back(job.campaign_id, "cancelled", page="/trust" if job.kind == "validate" else "")


# ---------------------------------------------------------------------- a new campaign


@pages.get("/new")
def new(request: Request) -> Response:
    """Drop a file."""
    return render(request, "new.html", {})


@pages.post("/new")
async def drop(request: Request, form: Sent, store: StoreHere) -> Response:
    """A dropped file is read and kept for a day."""
    file = form.get("file")
    try:
        if not isinstance(file, UploadFile) or not file.filename:
            raise ProblemError("Choose a file first: CSV, Excel or Parquet, one row an experiment.")
        content = await file.read()
        name = file.filename[:200]
        await run_in_threadpool(table_of, name, content, most=request.app.state.safety.rows)
    except HeadstartError as error:
        return render(request, "new.html", {"error": str(error)}, 422)
    upload = await run_in_threadpool(store.uploads.add, name, content)
    return RedirectResponse(f"/new/{upload}", 303)


@pages.get("/new/{upload_id}")
def show_table(request: Request, upload_id: str, store: StoreHere) -> Response:
    """The table that was read, with what looks wrong, and roles to choose."""
    upload = store.uploads.get(upload_id)
    table = table_of(upload.name, upload.content, most=request.app.state.safety.rows)
    return render(request, "table.html", {"upload": upload, "intake": intake(table, Choice())})


@pages.post("/new/{upload_id}")
def choose_roles(request: Request, upload_id: str, form: Sent, store: StoreHere) -> Response:
    """Look at the table again with other roles, or create the campaign."""
    upload = store.uploads.get(upload_id)
    table = table_of(upload.name, upload.content, most=request.app.state.safety.rows)
    choice = Choice.of_form(cast(Mapping[str, Any], form), [str(name) for name in table.columns])
    name, error = str(form.get("name", "")).strip()[:200], None
    if form.get("action") == "create":
        try:
            roles = roles_of(table, choice)
            made = Campaign.create(name, roles.rows, roles.problem, store=store)
        except HeadstartError as problem:
            error = str(problem)
        else:
            store.uploads.delete(upload_id)
            refresh(store, made.id, None)
            return _back(made.id, "created")
    context = {"upload": upload, "intake": intake(table, choice), "name": name, "error": error}
    template = "_intake.html" if request.headers.get("hx-request") else "table.html"
    return render(request, template, context, 200 if error is None else 422)


# ---------------------------------------------------------------------- visitors


@pages.get("/login")
def login(request: Request) -> Response:
    """Where the token is asked for."""
    return render(request, "login.html", {})


@pages.post("/login")
def check_login(request: Request, form: Sent) -> Response:
    """A visitor who knows the token gets a session that says so."""
    state = request.app.state
    wait = state.logins.take(client_of(request.scope))
    if wait:
        return render(request, "login.html", {"error": f"Too many attempts. Wait {wait:.0f} seconds."}, 429)
    if not state.sessions.is_token(str(form.get("token", "")).strip()):
        return render(request, "login.html", {"error": "That is not the token."}, 401)
    response = RedirectResponse("/", 303)
    state.sessions.keep(state.sessions.new(is_known=True), response)
    return response


@pages.post("/logout")
def logout(request: Request, form: Sent) -> Response:
    """Ends the session."""
    response = RedirectResponse("/login", 303)
    request.app.state.sessions.end(response)
    return response


@pages.post("/name")
def set_name(request: Request, form: Sent, back: Annotated[str, Form()] = "/") -> Response:
    """The name that a visitor's records carry."""
    where = back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"
    response = RedirectResponse(f"{where}?done=named", 303)
    name = "".join(each for each in str(form.get("name", "")) if each.isprintable()).strip()[:60]
    is_encrypted = request.app.state.safety.is_encrypted
    response.set_cookie(
        NAME_COOKIE, urlencode({"n": name}), max_age=365 * 86400, httponly=True, samesite="lax", secure=is_encrypted
    )
    return response


@pages.get("/health")
def health() -> Response:
    """Whether it listens."""
    return PlainTextResponse("ok")


# ---------------------------------------------------------------------- inside


def _campaign_page(
    request: Request,
    store: Store,
    campaign_id: int,
    labels: Any,
    *,
    error: str | None = None,
    typed: Mapping[str, str] | None = None,
) -> Response:
    reports = [each for each in store.jobs.of(campaign_id, kinds=["report"]) if each.state == "done"]
    try:
        view = views.campaign(store, campaign_id, [str(label) for label in labels])
    except ProblemError:
        if error is None:
            raise
        view = views.campaign(store, campaign_id)
    context = {
        "view": view,
        "activity": views.activity(store, campaign_id),
        "typed": typed or {},
        "report": reports[0] if reports else None,
        "is_all": request.query_params.get("all") == "1",
        "error": error,
        "tab": "campaign",
    }
    return render(request, "campaign.html", context, 200 if error is None else 422)


def _task(campaign: Campaign, form: FormData) -> dict[str, str]:
    labels = [str(label).strip() for label in form.getlist("task")]
    general = campaign.problem.general
    if len(labels) != len(general) or not all(labels):
        raise ProblemError(f"Name the task: a label for {', '.join(general)}.")
    return task_labels(campaign.problem, dict(zip(general, labels, strict=True)))


def _number(text: str, name: str) -> float:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise ProblemError(f"{name} is {text!r}: write a number, such as 12.5.") from None


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ProblemError(f"{name} is {text!r}: write a whole number.") from None


def _back(campaign_id: int, done: str, task: Mapping[str, str] | None = None, *, page: str = "") -> Response:
    return RedirectResponse(f"/campaigns/{campaign_id}{page}{task_query(dict(task or {}), done=done)}", 303)


def _plain(name: str) -> str:
    """A name of a file that every system takes."""
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in name)[:60] or "campaign"
