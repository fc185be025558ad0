"""`headstart serve`: the application on a port, with its workers."""

from __future__ import annotations

import gc
import logging
import socket
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import uvicorn

from headstart.campaign import Store
from headstart.errors import ProblemError
from headstart.web.app import create_app
from headstart.web.pool import WorkerPool
from headstart.web.safety import Safety, is_loopback


def serve(
    where: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    workers: int = 2,
    certificate: Path | None = None,
    key: Path | None = None,
    names: tuple[str, ...] = (),
    author: str | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve a store until the process is told to stop.

    Args:
        where: the store, by its path or URL; an SQLite file is made if need be.
        host: the address to listen on; beyond loopback it takes a token.
        port: 0 takes any that is free.
        token: what callers must know.
        workers: processes that fit.
        certificate, key: files that make it speak TLS.
        names: further names by which the server is called.
        author: who adds what visitors without a name add.
        say: told where to look.
    """
    is_encrypted = certificate is not None
    safety = Safety.for_address(host, token=token, is_encrypted=is_encrypted, names=names)
    store = Store(where, create=True, author=author)
    app = create_app(store, safety=safety, pool=WorkerPool(where, workers))
    listener = _listen(host, port)
    address = f"[{host}]" if ":" in host else host
    say(f"{'https' if is_encrypted else 'http'}://{address}:{listener.getsockname()[1]}")
    if not is_loopback(host) and not is_encrypted:
        say("Warning: without --certificate and --key, the token and all data cross the network in clear.")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # addresses may hold what is nobody's business
        server_header=False,
        date_header=True,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=5,
        limit_concurrency=1000,
        ssl_certfile=certificate and str(certificate),
        ssl_keyfile=key and str(key),
        proxy_headers=False,
    )
    threading.Thread(target=_settle, daemon=True).start()
    uvicorn.Server(config).run(sockets=[listener])


def _settle() -> None:
    """Take what was imported, and stays, out of the search for garbage: it stops all for 0.2 s, every few seconds."""
    import_module("headstart.limits")
    gc.collect()
    gc.freeze()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ProblemError(
            f"Cannot listen on {host}:{port}: {error.strerror}. Another server may run there: choose another --port."
        ) from error
    return listener
