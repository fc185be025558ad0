"""Time everything, one contender after another, each in a process of its own, and print ratios.

    python -m benchmarks                         every size, CPU
    python -m benchmarks --sizes 25 96           some sizes
    python -m benchmarks --device cuda           Headstart alone on a GPU
    python -m benchmarks --limit 900             seconds a peer may take before it is stopped

A peer that is stopped counts as having taken the limit: its ratio is then a lower bound, marked with ">".
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

import botorch
import torch

import headstart
from benchmarks.problems import SIZES

RESULTS = Path(__file__).parent / "results"


def measure(contender: str, size: str, device: str) -> None:
    """Run in the process of one measurement: print the seconds and the memory as JSON."""
    from benchmarks.contenders import CONTENDERS, peak_memory_gb, warm_up

    warnings.simplefilter("ignore")
    warm_up(contender, device)
    seconds = CONTENDERS[contender](SIZES[size](), device)
    print(json.dumps({"seconds": seconds, "peak_memory_gb": peak_memory_gb()}))


def run(contender: str, size: str, device: str, limit: float | None) -> dict:
    """Start that process, and stop it when it takes too long."""
    command = [sys.executable, "-m", "benchmarks", "--measure", contender, size, "--device", device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"stopped_after": limit}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    """Measure, print the table, write the results file."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=[], help="numbers of rows; all by default")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a peer may take")
    parser.add_argument("--measure", nargs=2, metavar=("CONTENDER", "SIZE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure, arguments.device)
        return
    sizes = [s for s in SIZES if not arguments.sizes or s.split()[0] in arguments.sizes]
    peers = ["MultiTaskGP", "SaasFullyBayesianMultiTaskGP"] if arguments.device == "cpu" else []
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{arguments.device}.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    print(f"{'':20}{'cold fit':>10}{'update':>9}{'suggest':>9}{'memory':>9}", *(f"{p:>30}" for p in peers))
    for size in sizes:
        measured = {"headstart": run("headstart", size, arguments.device, None)}
        measured |= {peer: run(peer, size, arguments.device, arguments.limit) for peer in peers}
        results[size] = {"settings": settings(arguments), **measured}
        path.write_text(json.dumps(results, indent=2) + "\n")  # what is measured is kept, size by size
        print(row(size, measured, peers), flush=True)


def row(size: str, measured: dict[str, dict], peers: list[str]) -> str:
    """One line of the table."""
    ours = measured["headstart"]
    if "seconds" not in ours:
        return f"{size:20}{ours}"
    seconds = ours["seconds"]
    line = f"{size:20}{seconds['fit']:9.3f}s{seconds['update']:8.3f}s{seconds['suggestion']:8.3f}s"
    line += f"{ours['peak_memory_gb']:7.2f}GB"
    for peer in peers:
        theirs = measured[peer]
        if "failed" in theirs:
            line += f"{'failed':>31}"
            continue
        bound, total = (">", theirs["stopped_after"]) if "stopped_after" in theirs else ("", theirs["seconds"]["fit"])
        text = f"{bound}{total:.1f} s, {bound}{total / seconds['fit']:.0f}x"
        line += f"{text:>31}"
    return line


def settings(arguments: argparse.Namespace) -> dict:
    """What is needed to read the numbers later."""
    return {
        "headstart": headstart.__version__,
        "botorch": botorch.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if arguments.device == "cuda" else platform.machine(),
        "limit_s": arguments.limit,
        "seed": 0,
        "date": datetime.now(UTC).date().isoformat(),
    }


if __name__ == "__main__":
    main()
