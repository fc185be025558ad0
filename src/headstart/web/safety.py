"""Who may reach the server, and how much of it: the checks that every request passes before it does anything.

    Headers    what a browser is told: no scripts but ours, no frames, no sniffing
    Limits     how large a request may be, and how many a client may send
    Gate       right host, right origin, right token, and few tries at it

Each is plain ASGI: it wraps an application and is one. What they refuse never reaches a route.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers as RequestHeaders
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headstart.errors import ProblemError
from headstart.web.sessions import Sessions

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# Swagger's page would need scripts from elsewhere, so the API's reference is its OpenAPI document alone.
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_SAFE = {"GET", "HEAD", "OPTIONS"}
_OPEN = ("/login", "/static/", "/health")
_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Safety:
    """How the server is guarded.

    Attributes:
        token: what callers must know; None on loopback alone.
        hosts: names by which the server may be called; anything else is somebody's page playing tricks with DNS.
        is_encrypted: whether it speaks TLS, so that cookies may be for TLS alone.
        largest: bytes of a request.
        rows: rows of a table that comes in.
        rate: requests a second of one client, and ten times as many in a burst.
    """

    token: str | None = field(default=None, repr=False)
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    is_encrypted: bool = False
    largest: int = 20 * 2**20
    rows: int = 50_000
    rate: float = 100.0

    @classmethod
    def for_address(
        cls, host: str, *, token: str | None, is_encrypted: bool = False, names: tuple[str, ...] = ()
    ) -> Safety:
        """What it takes to listen there; a `ProblemError` beyond loopback without a token."""
        if token is not None and len(token) < _SHORTEST_TOKEN:
            raise ProblemError(
                f"The token has {len(token)} characters, which can be guessed: take {_SHORTEST_TOKEN} at least, as "
                "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
            )
        known = frozenset(name.lower() for name in names)
        if is_loopback(host):
            return cls(token=token, is_encrypted=is_encrypted, hosts=cls.hosts | known)
        if token is None:
            raise ProblemError(
                f"--host {host} can be reached from other machines: set a token that they must know, in the variable "
                "HEADSTART_TOKEN, or listen on 127.0.0.1."
            )
        # Behind any name: who knows the token is no page that somebody else made.
        return cls(token=token, is_encrypted=is_encrypted, hosts=known)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Headers:
    """Adds the headers that tell a browser what not to do, also to the answer that says that we failed (500)."""

    def __init__(self, app: ASGIApp, safety: Safety) -> None:
        self._app = app
        self._headers = dict(_HEADERS)
        if safety.is_encrypted:
            self._headers["strict-transport-security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and dress the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        has_begun = False

        async def dressed(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self._app(scope, receive, dressed)
        except Exception:
            if not has_begun:
                words = (
                    "This is a mistake in Headstart. The server's log says more; look whether the last step is stored."
                )
                answer = _refusal(scope, 500, words)
                answer.headers["connection"] = "close"  # as the server does with what raises
                await answer(scope, receive, dressed)
            raise  # for the log


class Limits:
    """Refuses requests that are too large (413) and clients that send too many (429)."""

    def __init__(self, app: ASGIApp, safety: Safety) -> None:
        self._app, self._safety = app, safety
        self._clients = Buckets(safety.rate, 10 * safety.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count, then pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wait = self._clients.take(client_of(scope))
        if wait:
            await _too_many(scope, wait, "Too many requests.")(scope, receive, send)
            return
        largest = self._safety.largest
        too_large = f"The request is larger than {largest // 2**20} MB. Send a smaller file, or a sample of its rows."
        announced = RequestHeaders(scope=scope).get("content-length", "0")
        if len(announced) > 20 or not announced.isdecimal() or int(announced) > largest:
            await _refusal(scope, 413, too_large)(scope, receive, send)
            return
        seen, has_begun = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > largest:  # it did not say how large it would be
                raise _TooLargeError
            return message

        async def kept_back(message: Message) -> None:
            nonlocal has_begun
            if has_begun or seen <= largest:  # else it is what a route made of the error above
                has_begun = True
                await send(message)

        with suppress(_TooLargeError):
            await self._app(scope, counted, kept_back)
        if seen > largest and not has_begun:
            await _refusal(scope, 413, too_large)(scope, receive, send)


class _TooLargeError(Exception):
    """More came than may."""


class Gate:
    """Refuses strange hosts (421), requests that other pages made (403), and those without a token (401)."""

    def __init__(self, app: ASGIApp, safety: Safety, sessions: Sessions, attempts: Buckets) -> None:
        self._app, self._safety, self._sessions, self._attempts = app, safety, sessions, attempts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on with the visitor's session in the scope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = RequestHeaders(scope=scope)
        refused = self._refuse(scope, headers)
        await (refused or self._app)(scope, receive, send)

    def _refuse(self, scope: Scope, headers: RequestHeaders) -> Response | None:
        hosts = self._safety.hosts
        if hosts and host_of(headers.get("host", "")) not in hosts:
            names = ", ".join(sorted(hosts))
            return _refusal(scope, 421, f"This server does not go by that name. Call it as one of: {names}.")
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return _refusal(scope, 400, "The address holds a NUL, which no name does.")
        if scope["method"] not in _SAFE and is_from_elsewhere(headers):
            return _refusal(scope, 403, "This request was made by a page of another site.")
        session = self._sessions.of(headers.get("cookie", ""))
        scope["headstart.session"] = session
        if self._safety.token is None or scope["path"].startswith(_OPEN):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if self._sessions.is_token(given.strip()):
                return None
            if wait := self._attempts.take(client_of(scope)):
                return _too_many(scope, wait, "Too many wrong tokens.")
        is_api = scope["path"].startswith("/api/")
        if session is not None and session.is_known and (not is_api or scope["method"] in _SAFE):
            return None
        if is_api or scope["method"] not in _SAFE:
            answer = _refusal(scope, 401, "A token is needed. Send it as 'Authorization: Bearer TOKEN'.")
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        return RedirectResponse("/login", status_code=303)


def is_from_elsewhere(headers: RequestHeaders) -> bool:
    """Whether a browser says that a page of another origin made the request; programs say nothing."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != headers.get("host", "")
    except ValueError:
        return True


def host_of(header: str) -> str:
    """The name in a Host header.

    >>> host_of("localhost:8000"), host_of("[::1]:8000"), host_of("lab")
    ('localhost', '::1', 'lab')
    """
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def client_of(scope: Scope) -> str:
    """The address that a request came from."""
    return str(scope["client"][0]) if scope.get("client") else ""


class Buckets:
    """A bucket of tokens for each client: so many a second flow in, and one is taken for each request.

    >>> buckets = Buckets(rate=1.0, size=2.0, clock=lambda: 0.0)
    >>> [buckets.take("ann") for _ in range(3)], buckets.take("bob")
    ([0.0, 0.0, 1.0], 0.0)
    """

    def __init__(
        self, rate: float, size: float, *, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._size, self._most, self._clock = rate, size, most, clock
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> float:
        """Take a token; the seconds to wait for one if there is none."""
        now = self._clock()
        level, then = self._filled.pop(client, (self._size, now))
        level = min(self._size, level + (now - then) * self._rate)
        is_empty = level < 1
        self._filled[client] = (level if is_empty else level - 1, now)
        if len(self._filled) > self._most:
            self._filled.popitem(last=False)
        return (1 - level) / self._rate if is_empty else 0.0


def _too_many(scope: Scope, wait: float, words: str) -> Response:
    answer = _refusal(scope, 429, f"{words} Wait {math.ceil(wait)} s.")
    answer.headers["retry-after"] = str(math.ceil(wait))
    return answer


def _refusal(scope: Scope, status: int, text: str) -> Response:
    if scope["path"].startswith("/api/"):
        return JSONResponse({"detail": text}, status)
    return PlainTextResponse(text, status)
