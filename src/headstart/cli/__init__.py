"""HOW PEOPLE REACH IT from a shell: `headstart --help`.

    app         the commands that store nothing: suggest, predict, inspect, optimize, demo
    campaigns   `headstart campaign ...`
    options     options that several commands share, and how they are read
    output      tables for people, JSON for programs, progress on a terminal

Modules here import no more than they need to answer `--help`; a command brings what it uses when it runs.
"""

from __future__ import annotations

import sys
import warnings

from headstart.errors import DataWarning, HeadstartError, StoreError

EXIT_CODES = {0: "done", 1: "the data, the problem or a file is at fault", 2: "wrong use", 3: "no usable database"}


_shown: set[str] = set()


def main() -> None:
    """Run the command line. Errors go to standard error in one line, with the next step."""
    from headstart.cli.app import app

    warnings.showwarning = _show_warning
    _shown.clear()
    try:
        app(prog_name="headstart")
    except HeadstartError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(3 if isinstance(error, StoreError) else 1)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Warnings about the data are for the user, each once; those of libraries are not."""
    text = f"Warning: {message}"
    if issubclass(category, DataWarning) and text not in _shown:
        _shown.add(text)
        print(text, file=sys.stderr)
