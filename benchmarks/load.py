"""Many who look and some who write, on one server while fits run: how long they wait, and whether anything gets lost.

    python -m benchmarks.load --store sqlite --seconds 300
    python -m benchmarks.load --store postgresql --seconds 300

Everything stays on loopback and stops by itself. A store may also be the path or URL of an empty database.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import os
import platform
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import headstart
from benchmarks.servers import database, served
from benchmarks.visitors import INPUTS, READS, Log, Writer, read
from headstart.campaign import Store

RESULTS = Path(__file__).parent / "results" / "load.json"


def main() -> None:
    """Put a server under load, check what it has kept, print a table, write the results file."""
    parser = argparse.ArgumentParser(prog="benchmarks.load", description=__doc__)
    parser.add_argument("--store", default="sqlite", help="sqlite, postgresql, or an empty database's path or URL")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--campaigns", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Terminated."))  # servers and folders go, whatever happens
    before = os.getloadavg()
    # PyTorch came with the store. Searching its million objects for garbage would stop all visitors for a fifth of a
    # second, every few seconds, and count against the server.
    gc.collect()
    gc.freeze()
    with database(arguments.store) as where:
        with served(where, "--workers", str(arguments.workers)) as url:
            campaigns = create(url, arguments.campaigns, arguments.seed)
            log, writers = asyncio.run(visit(url, campaigns, arguments))
        found = {
            "requests": {"all reads": times(log, READS)} | {kind: times(log, [kind]) for kind in sorted(log.seconds)},
            "statuses": dict(sorted(log.statuses.items())),
            "kept": kept(Store(where), writers),
            "load_average": {"before": before[0], "after": os.getloadavg()[0]},
        }
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    results[arguments.store] = {"settings": settings(arguments), **found}
    arguments.results.write_text(json.dumps(results, indent=2) + "\n")
    show(found)
    if found["kept"]["faults"] or any(not status.startswith("2") for status in log.statuses):
        sys.exit("Something went wrong: see above.")


def create(url: str, count: int, seed: int) -> list[int]:
    """Campaigns of 48 rows of six old pumps, each with an outcome of the new one, once their first fits are done."""
    chance = np.random.default_rng(seed)
    archive = [
        {"pump": f"P{pump}", **{name: chance.uniform(*INPUTS[name]) for name in INPUTS}, "head_m": chance.normal(25, 2)}
        for pump in range(6)
        for _ in range(8)
    ]
    problem = {"inputs": INPUTS, "general": ["pump"], "objective": "head_m", "goal": "maximize"}
    first = {"rows": [{**archive[0], "pump": "new 0"}]}
    made = []
    with httpx.Client(base_url=f"{url}/api/v1", timeout=60) as http:
        for number in range(count):
            answer = http.post("/campaigns", json={"name": f"pumps {number}", "archive": archive, **problem})
            made.append(answer.raise_for_status().json()["id"])
            http.post(f"/campaigns/{made[-1]}/observations", json=first).raise_for_status()
        while any(http.get(f"/campaigns/{each}/activity").json()["jobs"] for each in made):
            time.sleep(0.2)
    return made


async def visit(url: str, campaigns: Sequence[int], arguments: argparse.Namespace) -> tuple[Log, list[Writer]]:
    """Readers and writers, spread over the campaigns, all at once until the time is up."""
    log, count, until = Log(), len(campaigns), time.perf_counter() + arguments.seconds
    seeds = np.random.SeedSequence(arguments.seed).generate_state(arguments.readers + arguments.writers).tolist()
    writers = [
        Writer(log, url, campaigns[number % count], number, {"pump": f"new {number // count}"}, seeds.pop())
        for number in range(arguments.writers)
    ]
    readers = [read(log, url, campaigns[number % count], seeds.pop(), until) for number in range(arguments.readers)]
    async with asyncio.timeout(arguments.seconds + 120):
        await asyncio.gather(*readers, *(writer.write(until) for writer in writers))
    return log, writers


def kept(store: Store, writers: Sequence[Writer]) -> dict[str, Any]:
    """Whether the store holds what was acknowledged, once, and nothing else."""
    faults = [fault for writer in writers for fault in writer.faults]
    counts: Counter[str] = Counter()
    for campaign in sorted({writer.campaign for writer in writers}):
        mine = [writer for writer in writers if writer.campaign == campaign]
        snapshot = store.snapshot(campaign)
        told = {outcome: each for writer in mine for outcome, each in writer.told.items()}
        answered = {each: outcome for writer in mine for each, outcome in writer.answered.items()}
        asked = [each for writer in mine for each in writer.asked]
        # The first is the one that `create` told.
        stored = [each for each in snapshot.observations if not each.is_archive][1:]
        if sorted(each.outcome for each in stored) != sorted(told):
            faults.append(f"campaign {campaign}: {len(told)} outcomes were acknowledged, {len(stored)} are stored")
        if {each.outcome: each.id for each in stored} != told:
            faults.append(f"campaign {campaign}: outcomes have other ids than were acknowledged")
        if {each.suggestion: each.outcome for each in stored if each.suggestion is not None} != answered:
            faults.append(f"campaign {campaign}: suggestions have other outcomes than were acknowledged")
        if len(asked) != len(set(asked)) or not set(asked) <= {each.id for each in snapshot.suggestions}:
            faults.append(f"campaign {campaign}: suggestions were lost, or given to two who asked")
        if {each.id for each in snapshot.suggestions if each.state == "observed"} != set(answered):
            faults.append(f"campaign {campaign}: other suggestions are closed than were answered")
        counts.update(outcomes=len(stored), suggestions=len(snapshot.suggestions), answered=len(answered))
    waits = [seconds for writer in writers for seconds in writer.waits]
    wait = round(statistics.median(waits), 1) if waits else None
    return {**counts, "median_wait_for_suggestion_s": wait, "faults": faults}


def times(log: Log, kinds: Sequence[str]) -> dict[str, float]:
    """The number of requests, and how many milliseconds they took."""
    seconds = sorted(each for kind in kinds for each in log.seconds[kind])
    if not seconds:
        return {"count": 0}
    ranks = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {"count": len(seconds)} | {
        f"{name}_ms": round(1000 * seconds[math.ceil(share * len(seconds)) - 1], 1) for name, share in ranks.items()
    }


def show(found: dict[str, Any]) -> None:
    """The table."""
    print(f"{'':20}{'count':>8}{'p50':>10}{'p95':>10}{'p99':>10}{'max':>10}")
    for kind, row in found["requests"].items():
        numbers = [f"{row[f'{name}_ms']:>7.1f} ms" for name in ("p50", "p95", "p99", "max") if row["count"]]
        print(f"{kind:20}{row['count']:>8}", *numbers, sep="")
    for name in ("statuses", "kept", "load_average"):
        print(f"{name}: {found[name]}")


def settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """What is needed to read the numbers later."""
    return {
        "headstart": headstart.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "device": platform.machine(),
        **{name: value for name, value in vars(arguments).items() if name not in ("store", "results")},
        "date": datetime.now(UTC).date().isoformat(),
    }


if __name__ == "__main__":
    main()
