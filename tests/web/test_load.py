"""Nothing is lost or doubled by many at once while fits run: the load test of `benchmarks.load`, in little."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LITTLE = ["--seconds", "6", "--readers", "6", "--writers", "4", "--campaigns", "2", "--workers", "1"]


# Minutes on a busy machine: `make test-slow` runs these.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_who_look_and_some_who_write(kind, tmp_path, request):
    where = str(tmp_path / "headstart.db") if kind == "sqlite" else request.getfixturevalue("postgresql")
    results = tmp_path / "load.json"
    command = [sys.executable, "-m", "benchmarks.load", "--store", where, "--results", str(results), *LITTLE]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(results.read_text())[where]
    assert found["kept"]["faults"] == []
    assert set(found["statuses"]) == {"200", "201", "202"}
    assert found["kept"]["outcomes"] > 6
    assert found["requests"]["all reads"]["count"] > 20
