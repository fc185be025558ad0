"""`headstart serve` and `headstart work`: the dashboard and its API, and hands for their jobs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from headstart.cli.campaigns import StoreOptions
from headstart.cli.options import grouped
from headstart.cli.output import note
from headstart.errors import MissingExtraError


@grouped
def serve(
    store: StoreOptions,
    host: Annotated[str, typer.Option(help="Where to listen; beyond 127.0.0.1 with a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="HEADSTART_TOKEN", help="What callers must know. Better set as a variable than typed."),
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes that fit; 0 if others do it: headstart work.")] = 2,
    certificate: Annotated[Path | None, typer.Option(help="A certificate, to speak TLS.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    name: Annotated[list[str], typer.Option(help="A further name that the server is called by.")] = [],  # noqa: B006
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Campaigns in the browser, and an API for lab machines.

    Example: headstart serve --store headstart.db
    """
    if importlib.util.find_spec("fastapi") is None or importlib.util.find_spec("uvicorn") is None:
        raise MissingExtraError("The browser interface", extra="web")
    from headstart.web.serving import serve as run

    def say(text: str) -> None:
        note(f"Headstart is at {text} (stop it with Ctrl-C)" if text.startswith("http") else text)
        if open_browser and text.startswith("http"):
            import webbrowser

            webbrowser.open(text)

    run(
        store.store,
        host=host,
        port=port,
        token=token,
        workers=workers,
        certificate=certificate,
        key=key,
        names=tuple(name),
        author=store.author,
        say=say,
    )


@grouped
def work(store: StoreOptions) -> None:
    """Do the jobs of a server, here: fits, suggestions, validations. Run it on as many machines as you like.

    Example: headstart work --store postgresql://user@host/name
    """
    from headstart.web.worker import work as run

    note(f"Working for {store.open().name} (stop it with Ctrl-C)")
    run(store.store)
