"""A contender that misbehaves as it is told, importable by worker processes; and runs that are to be killed.

Run as a program, `python unruly.py RESULTS LOG`, it runs `killed_jobs` in two processes until somebody kills it.
"""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headstart.benchmark.contenders import RandomChoice
from headstart.benchmark.execution import run_jobs
from headstart.benchmark.experiments import Optimization
from headstart.benchmark.jobs import Job, Study, run_batch
from headstart.benchmark.results import Results


@dataclass(frozen=True, kw_only=True)
class Unruly(RandomChoice):
    """Random choice that keeps a log of the seeds it was begun with, each with the parent of the process.

    Attributes:
        label: its name in results.
        log: a file, a line a seed and parent.
        waits_from: seeds from this one on wait until the gate is opened, so that no clock decides what a test sees.
        fails_at: seeds for which it raises.
        dies_at: a seed for which it kills its process the first time, or with `always_dies` every time.
        always_dies: see there.
    """

    label: str = "unruly"
    log: str
    waits_from: int | None = None
    fails_at: tuple[int, ...] = ()
    dies_at: int | None = None
    always_dies: bool = False

    def begin(self, trials, seeds, *, device):
        earlier = begun(self.log)
        with open(self.log, "a") as log:  # short lines are appended whole, whoever else appends
            log.write("".join(f"{seed} {os.getppid()}\n" for seed in seeds))
        if self.waits_from is not None and max(seeds) >= self.waits_from:
            wait_for(gate_of(self.log).exists)
        for seed in seeds:
            if seed in self.fails_at:
                raise ArithmeticError(f"seed {seed} is bad luck")
            if seed == self.dies_at and (self.always_dies or not earlier[seed]):
                os.kill(os.getpid(), signal.SIGKILL)
        return super().begin(trials, seeds, device=device)


def gate_of(log: str | Path) -> Path:
    """The file whose existence lets those who wait go on."""
    return Path(f"{log}.gate")


def wait_for(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Until it holds; a test that hangs is worse than one that fails."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("what a test waited for did not happen")
        time.sleep(0.005)


def begun(log: str | Path) -> Counter[int]:
    """How often each seed was begun."""
    return Counter(seed for seed, _ in _logged(log))


def parents(log: str | Path) -> dict[int, int]:
    """Who started the process that began each seed last: on a cluster, the node's own process."""
    return dict(_logged(log))


def _logged(log: str | Path) -> list[tuple[int, int]]:
    path = Path(log)
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(seed), int(parent)) for seed, parent in map(str.split, lines)]


def study_of(log: str | Path, **options) -> Study:
    return Study(Optimization(2), "toy-fresh", Unruly(log=str(log), **options))


def killed_jobs(log: str | Path) -> list[Job]:
    return study_of(log, waits_from=8).jobs(range(16))


def add_one_by_one(folder: str, log: str, seeds: range) -> int:
    """Store jobs in a shared folder, as soon as another process is ready to do so too. Says which process did."""
    results, ready = Results(folder), Path(f"{log}.ready")
    ready.mkdir(exist_ok=True)
    (ready / str(os.getpid())).touch()
    wait_for(lambda: len(list(ready.iterdir())) == 2)
    for job in study_of(log).jobs(seeds):
        results.add(run_batch([job]), job.study)
    return os.getpid()


if __name__ == "__main__":
    # Under the name by which others import this file, so that their keys are the same.
    from benchmark.unruly import killed_jobs

    run_jobs(killed_jobs(sys.argv[2]), Results(sys.argv[1]), workers=2)
