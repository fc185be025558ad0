"""Templates: what every page knows, and how values are written."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from headstart.report import words
from headstart.version import __version__
from headstart.web.units import unit_of

NAME_COOKIE = "headstart-name"
"""Holds the name that a visitor's records carry."""


def author_of(request: Request) -> str:
    """Who this visitor is: the name that they gave, else whoever runs the server."""
    named = parse_qs(request.cookies.get(NAME_COOKIE, "")).get("n", [""])[0].strip()[:60]
    return named or str(request.app.state.store.author)


def render(request: Request, template: str, context: dict[str, Any], status: int = 200) -> HTMLResponse:
    """A page. Whoever has no session yet gets one, for its forms."""
    sessions = request.app.state.sessions
    session = request.scope.get("headstart.session") or sessions.new(is_known=False)
    shown = {
        "word": session.word,
        "visitor": author_of(request),
        "has_token": request.app.state.safety.token is not None,
        "path": request.url.path,
        "version": __version__,
        "done": _DONE.get(request.query_params.get("done", "")),
        "error": None,
        **context,
    }
    response = HTMLResponse(environment().get_template(template).render(shown), status)
    if request.scope.get("headstart.session") is None:
        sessions.keep(session, response)
    return response


_DONE = {
    "created": "The campaign was created. A first fit is under way; you can ask for an experiment already.",
    "stored": "The outcome is stored. The pictures follow in a moment.",
    "stored-far": "The outcome is stored. It lies far outside of all others: if it was mistyped, retract it below.",
    "asked": "The next experiment is being looked for.",
    "accepted": "Noted: you run it.",
    "withdrawn": "The suggestion was withdrawn. It will not be suggested again.",
    "retracted": "The outcome was retracted. It stays in the history and counts no more.",
    "cancelled": "Cancelled.",
    "updating": "The surrogate and its pictures are brought up to date.",
    "validating": "The validation has begun. You can leave this page; it goes on.",
    "report": "The report is being written; a link will appear here.",
    "named": "Saved. What you do from now on carries this name.",
}


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates, with everything escaped."""
    made = Environment(
        loader=PackageLoader("headstart.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": words.number,
        "percent": words.percent,
        "listed": words.listed,
        "moment": words.moment,
        "counted": words.counted,
        "unit": unit_of,
        "query": task_query,
    }
    made.globals |= {
        "honesty_in_words": words.honesty_in_words,
        "errors_in_words": words.errors_in_words,
        "trust_in_words": _trust_in_words,
    }
    return made


def _trust_in_words(summary: dict[str, Any]) -> str:
    from headstart.report import trust_in_words  # brings torch, which other pages do not need

    return trust_in_words(summary)


def task_query(task: dict[str, str] | None, **others: str) -> str:
    """A task as the query of an address.

    >>> task_query({"alloy": "Ti & Al"})
    '?task=Ti+%26+Al'
    """
    pairs = [("task", label) for label in (task or {}).values()] + list(others.items())
    return f"?{urlencode(pairs)}" if pairs else ""
