"""Visitors' sessions: a signed cookie, and a word that every form of theirs carries.

Nothing is kept on the server. A cookie is `ID.EXPIRY.KNOWN.SIGNATURE`: who made it can tell that it is genuine, how
long it holds, and whether its bearer knew the token. The word for forms is a signature of the ID: a page of another
site can make a browser send the cookie, but cannot know the word.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass

from starlette.requests import cookie_parser
from starlette.responses import Response

_LIFETIME = 12 * 3600


@dataclass(frozen=True)
class Session:
    """A visitor; `is_known` says that the token was given, `word` is what forms must carry."""

    id: str
    is_known: bool
    word: str


class Sessions:
    """Makes and checks sessions."""

    def __init__(self, token: str | None, *, is_encrypted: bool) -> None:
        self._token = token
        # With a token, sessions outlive a restart of the server; a new token ends them all. Whoever asks gets a signed
        # cookie, so the key takes long to derive: a token cannot be guessed from it at leisure.
        self._key = secrets.token_bytes(32) if token is None else _derived(token)
        # The prefix has browsers insist on TLS and on this very host.
        self._name = "__Host-headstart" if is_encrypted else "headstart"
        self._is_encrypted = is_encrypted

    def is_token(self, given: str) -> bool:
        """Whether this is the token, in a time that tells nothing about it."""
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())

    def new(self, *, is_known: bool) -> Session:
        """A session of a new visitor."""
        return self._session(secrets.token_urlsafe(18), is_known=is_known)

    def of(self, cookies: str) -> Session | None:
        """The session in a Cookie header; None if there is none, it is forged or it has expired."""
        parts = cookie_parser(cookies).get(self._name, "").split(".")
        if len(parts) != 4:
            return None
        body, signature = ".".join(parts[:3]), parts[3]
        if not hmac.compare_digest(signature.encode(), self._sign(f"cookie {body}").encode()):
            return None
        if int(parts[1]) < time.time():
            return None
        return self._session(parts[0], is_known=parts[2] == "1")

    def keep(self, session: Session, response: Response) -> None:
        """Give the visitor the cookie."""
        body = f"{session.id}.{int(time.time()) + _LIFETIME}.{int(session.is_known)}"
        response.set_cookie(
            self._name,
            f"{body}.{self._sign(f'cookie {body}')}",
            max_age=_LIFETIME,
            httponly=True,
            samesite="lax",
            secure=self._is_encrypted,
            path="/",
        )

    def end(self, response: Response) -> None:
        """Take the cookie away."""
        response.delete_cookie(self._name, path="/", secure=self._is_encrypted, httponly=True, samesite="lax")

    def is_word_of(self, session: Session | None, given: str) -> bool:
        """Whether a form carries the word of its visitor."""
        return session is not None and hmac.compare_digest(given.encode(), session.word.encode())

    def _session(self, session_id: str, *, is_known: bool) -> Session:
        return Session(session_id, is_known, self._sign(f"word {session_id}"))

    def _sign(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()


def _derived(token: str) -> bytes:
    return hashlib.scrypt(token.encode(), salt=b"headstart session", n=2**14, r=8, p=1)
