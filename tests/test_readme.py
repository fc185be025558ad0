"""The README's Python blocks run, in order, as one program."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headstart.benchmark import datasets

README = Path(__file__).parents[1] / "README.md"
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"(<!-- not run -->\s*)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def runnable_blocks(text: str) -> list[tuple[int, str]]:
    """First line and code of each block that no `<!-- not run -->` precedes."""
    return [
        (text.count("\n", 0, block.start(2)), block.group(2))
        for block in BLOCK.finditer(text)
        if block.group(1) is None
    ]


def test_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = runnable_blocks(README.read_text(encoding="utf-8"))
    assert blocks
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, code in blocks:
        # Empty lines in front give a traceback the line numbers of the README.
        exec(compile("\n" * line + code, str(README), "exec"), namespace)


def test_shell_blocks_run(tmp_path: Path) -> None:
    """In order, in a folder with an archive; each line must succeed."""
    archive = datasets.load("suzuki_flow")
    archive[archive["substrate_case"] != "reizman_4"].sample(60, random_state=0).to_csv(
        tmp_path / "archive.csv", index=False
    )
    commands = "".join(SHELL.findall(README.read_text(encoding="utf-8")))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-e"], input=commands, env={**os.environ, "PATH": path}, cwd=tmp_path, text=True, capture_output=True
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "suzuki.html").stat().st_size > 10_000
    assert "Stored yield_pct = 71 as observation 61." in run.stdout


def test_marked_blocks_are_left_out() -> None:
    text = (
        "# Title\n"
        "```python\na = 1\n```\n\n"
        "<!-- not run -->\n```python\nb = 2\n```\n"
        "```sh\nls\n```\n"
        "```python\nc = 3\n```\n"
    )
    assert runnable_blocks(text) == [(2, "a = 1\n"), (13, "c = 3\n")]
