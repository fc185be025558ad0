"""The application: pages and API over one store, behind the checks of `safety`."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from headstart.campaign import Store
from headstart.errors import HeadstartError, NotFoundError, StoreError
from headstart.version import __version__
from headstart.web.api import api
from headstart.web.messages import in_words
from headstart.web.pages import WrongWordError, pages
from headstart.web.pool import WorkerPool
from headstart.web.rendering import render
from headstart.web.safety import Buckets, Gate, Headers, Limits, Safety
from headstart.web.sessions import Sessions

_STATIC = Path(__file__).parent / "static"
_A_DAY = "public, max-age=86400"
_UNREADABLE = "The request cannot be read: it is damaged, or holds more parts or longer numbers than make sense."
_THREADS = 6
_FAULTS = 20  # of a request that are named


def create_app(store: Store, *, safety: Safety | None = None, pool: WorkerPool | None = None) -> FastAPI:
    """The dashboard and its API as an ASGI application.

    Args:
        store: where campaigns are kept.
        safety: how it is guarded; on loopback without a token when left out.
        pool: workers that live as long as the application; without, jobs wait for others.
    """
    safety = safety or Safety()
    sessions = Sessions(safety.token, is_encrypted=safety.is_encrypted)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Takes seconds, and whoever creates a campaign needs it: it comes while the first page is looked at.
        threading.Thread(target=import_module, args=("headstart.limits",), daemon=True).start()
        # Python runs one thread at a time: few requests at once, each soon done, beat many that wait for each other.
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        if pool is not None:
            pool.start()
        yield
        if pool is not None:
            pool.stop()

    app = FastAPI(
        title="Headstart",
        version=__version__,
        summary="Few-shot Bayesian optimization from the data you already have.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,  # to an address made of the Host header
        docs_url=None,
        redoc_url=None,
    )
    app.state.store, app.state.safety, app.state.sessions = store, safety, sessions
    attempts = Buckets(rate=1 / 12, size=10)  # ten at once, then five a minute
    app.state.logins = attempts
    app.include_router(api)
    app.include_router(pages)

    @app.get("/static/report.css", include_in_schema=False)
    def report_style() -> Response:
        style = (files("headstart.report") / "report.css").read_text(encoding="utf-8")
        return Response(style, media_type="text/css", headers={"cache-control": _A_DAY})

    app.mount("/static", StaticFiles(directory=_STATIC))
    for error, answer in _ANSWERS.items():
        app.add_exception_handler(error, answer)
    # The last to be added is the first to see a request.
    app.add_middleware(Gate, safety=safety, sessions=sessions, attempts=attempts)
    app.add_middleware(Limits, safety=safety)
    app.add_middleware(Headers, safety=safety)
    return app


def _of_headstart(request: Request, error: Exception) -> Response:
    """What Headstart raises on purpose says what is wrong and what to do."""
    status = 422
    if isinstance(error, NotFoundError):
        status = 404
    elif isinstance(error, StoreError):
        status = 503
    elif isinstance(error, WrongWordError):
        status = 403
    return _answer(request, status, str(error))


def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {400: _UNREADABLE, 404: "There is no such page.", 405: "This cannot be done here."}
    response = _answer(request, error.status_code, words.get(error.status_code, str(error.detail)))
    response.headers.update(error.headers or {})
    return response


def _of_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if not _is_api(request):
        return _answer(request, 404, "There is no such page.")
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        reason = "; ".join(str(each.get("ctx", {}).get("error", each["msg"])) for each in found)
        return _answer(request, 400, f"The body is no JSON: {reason}.")
    faults = [{"where": ".".join(map(str, each["loc"])), "what": in_words(each)} for each in found[:_FAULTS]]
    return JSONResponse({"detail": faults}, 422)


def _answer(request: Request, status: int, text: str) -> Response:
    if _is_api(request):
        return JSONResponse({"detail": text}, status)
    return render(request, "error.html", {"status": status, "error": text}, status)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


_ANSWERS = {
    HeadstartError: _of_headstart,
    HTTPException: _of_http,
    RequestValidationError: _of_validation,
}
