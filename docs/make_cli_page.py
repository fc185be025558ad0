"""Write docs/cli.md, the reference of the command line, from the commands themselves."""

from pathlib import Path

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from headstart.cli import EXIT_CODES
from headstart.cli.app import app

PAGE = Path(__file__).parent / "cli.md"


def page() -> str:
    """The page as it should be."""
    command = get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="headstart", title="The command line")
    codes = "\n".join(f"* `{code}`: {meaning}." for code, meaning in EXIT_CODES.items())
    return f"{text.rstrip()}\n\n## Exit codes\n\n{codes}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
