"""Running the command line as a user does, in this process."""

import json
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from headstart import cli


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def headstart(monkeypatch, capsys, tmp_path):
    """A function that runs `headstart ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADSTART_STORE", raising=False)
    monkeypatch.setenv("HEADSTART_AUTHOR", "ann")
    monkeypatch.setenv("TERM", "dumb")

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["headstart", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


def table(tasks=3, rows=5) -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"alloy": np.repeat([f"Ti-{t}" for t in range(tasks)], rows)})
    frame["power_w"] = random.integers(100, 300, len(frame))
    frame["speed"] = random.random(len(frame)).round(4)
    frame["density"] = (np.sin(5 * frame["speed"]) + frame["power_w"] / 300).round(5)
    return frame


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive.csv"
    table().to_csv(path, index=False)
    return path
