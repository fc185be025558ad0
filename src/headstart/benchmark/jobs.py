"""Jobs: independent pieces of an experiment, each with a key that says exactly what was run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from headstart.benchmark.contenders import Contender
from headstart.benchmark.experiments import Optimization, Regression
from headstart.benchmark.systems import get_system
from headstart.version import __version__

# Raise this with every change of models, systems or experiments that changes results: those on record then count no
# longer.
REVISION = 1


@dataclass(frozen=True)
class Job:
    """One held-out task with one seed, in one experiment with one contender.

    >>> from headstart.benchmark.contenders import RandomChoice
    >>> job = Job(Optimization(3), "toy-fresh", "current", 0, RandomChoice())
    >>> job.study.file_name, len(job.key)
    ('optimization-toy-fresh-random', 16)
    """

    experiment: Regression | Optimization
    system: str
    task: str
    seed: int
    contender: Contender

    @property
    def study(self) -> Study:
        """What this job is a part of."""
        return Study(self.experiment, self.system, self.contender)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What was run, in words and numbers; with the version, this is the key."""
        return {
            "experiment": self.experiment.name,
            "system": self.system,
            "task": self.task,
            "seed": self.seed,
            "model": self.contender.label,
            "settings": json.dumps(asdict(self.experiment) | self.contender.settings, sort_keys=True),
        }

    @cached_property
    def key(self) -> str:
        """A digest of version, revision, settings, task and seed."""
        text = json.dumps({"version": __version__, "revision": REVISION, **self.identity}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Study:
    """All jobs that differ in task and seed alone: on a GPU they are one batch."""

    experiment: Regression | Optimization
    system: str
    contender: Contender

    @property
    def file_name(self) -> str:
        """The name of its results, without a suffix."""
        label = "".join(c if c.isalnum() else "_" for c in self.contender.label)
        return f"{self.experiment.name}-{self.system}-{label}"

    def jobs(self, seeds: Iterable[int], tasks: Sequence[str] | None = None) -> list[Job]:
        """A job a task and seed; all tasks of the system where none are named."""
        held_out = get_system(self.system).tasks if tasks is None else tasks
        return [Job(self.experiment, self.system, task, seed, self.contender) for seed in seeds for task in held_out]


def run_batch(
    jobs: Sequence[Job], *, device: str = "cpu", progress: Callable[[float], None] = lambda share: None
) -> list[pd.DataFrame]:
    """The results of jobs of one study, each with the columns that say what it is."""
    study = jobs[0].study
    system = get_system(study.system)
    trials = [system.trial(job.task, job.seed) for job in jobs]
    frames = study.experiment.run(trials, study.contender, [job.seed for job in jobs], device=device, progress=progress)
    return [
        frame.assign(key=job.key, version=__version__, device=device, **job.identity)
        for job, frame in zip(jobs, frames, strict=True)
    ]
