"""Time what people wait for at the prompt: whole commands, each in a process of its own.

python -m benchmarks.shell
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import headstart
from headstart.benchmark import datasets

PROGRAM = Path(sys.executable).parent / "headstart"
RESULTS = Path(__file__).parent / "results" / "shell.json"
ROLES = ("--objective", "yield_pct", "--maximize", "--general", "substrate_case", "--ignore", "turnover_number")
CAMPAIGN = ("--store", "headstart.db")
NEW = ("--task", "substrate_case=new")
COMMANDS = {
    "--help": ["--help"],
    "inspect": ["inspect", "archive.csv"],
    "suggest": ["suggest", "archive.csv", *ROLES, *NEW],
    "campaign create": ["campaign", "create", "{name}", "archive.csv", *ROLES, *CAMPAIGN],
    "campaign suggest, first": ["campaign", "suggest", "{name}", *NEW, *CAMPAIGN],
    "campaign suggest, same data": ["campaign", "suggest", "{name}", *NEW, *CAMPAIGN],
    "campaign observe": ["campaign", "observe", "{name}", "--suggestion", "{suggestion}", "--value", "50", *CAMPAIGN],
    "campaign suggest, one row more": ["campaign", "suggest", "{name}", *NEW, *CAMPAIGN],
    "campaign report": ["campaign", "report", "{name}", "page.html", *CAMPAIGN],
}


def main(repeats: int = 5) -> None:
    """Run every command in order, several times over, and print the median."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        datasets.load("suzuki_flow").sample(60, random_state=0).to_csv(Path(folder) / "archive.csv", index=False)
        for repeat in range(repeats):
            for name, arguments in COMMANDS.items():
                # Each repeat makes three suggestions; the first of them is observed.
                filled = [each.format(name=f"c{repeat}", suggestion=1 + 3 * repeat) for each in arguments]
                began = time.perf_counter()
                subprocess.run([PROGRAM, *filled], cwd=folder, check=True, capture_output=True)
                seconds[name].append(time.perf_counter() - began)
    medians = {name: round(statistics.median(times), 3) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name:32}{median:8.2f} s   (from {min(seconds[name]):.2f} to {max(seconds[name]):.2f})")
    settings = {
        "headstart": headstart.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "rows": 60,
        "repeats": repeats,
        "date": datetime.now(UTC).date().isoformat(),
    }
    RESULTS.write_text(json.dumps({"settings": settings, "median_seconds": medians}, indent=2) + "\n")


if __name__ == "__main__":
    main()
