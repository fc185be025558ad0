"""Running jobs: in processes of this machine or on a Ray cluster through joblib, or on a GPU as batches.

Every finished batch is stored at once, so a killed run continues where it was. When a worker dies (killed, out of
memory, its machine gone), what it had not finished is handed out again.
"""

from __future__ import annotations

import itertools
import os
import socket
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import pandas as pd
import torch

from headstart.benchmark.jobs import Job, Study, run_batch
from headstart.benchmark.results import Results
from headstart.errors import HeadstartError, MissingExtraError, ProblemError

Progress: TypeAlias = Callable[[float, int, str], None]
"""Called with jobs done (of a batch, a share), all jobs, and what is being done."""

Outcome: TypeAlias = tuple[Sequence[Job], list[pd.DataFrame], str | None]
"""A batch, its results, and what went wrong."""

# Rounds in which nothing was finished before we give up: then it is not the workers.
_FRUITLESS = 3
# Ray's joblib backend answers when all jobs it was given are done; so it gets few at a time.
_WAVE = 4
# By itself Ray reserves nothing for a worker and may put all on one node. Whole processors would be waited for without
# end where a node went down with them; halves spread the workers, and still start on what is left.
_WORKER = {"num_cpus": 0.5, "scheduling_strategy": "SPREAD"}


def run_jobs(
    jobs: Sequence[Job],
    results: Results,
    *,
    workers: int | None = None,
    device: str = "cpu",
    ray: str | None = None,
    progress: Progress = lambda done, total, text: None,
) -> None:
    """Run what has no result yet.

    Args:
        jobs: what is wanted.
        results: where finished jobs are, and go.
        workers: processes on this machine, one a core when left out; a GPU has one.
        device: "cpu", or "cuda" to run all jobs of a study as one batch.
        ray: address of a Ray cluster to run on instead.
        progress: told of every finished job, and on a GPU of every step.

    A job that raises does not stop the others; in the end all errors are raised as one.
    """
    if not device.startswith(("cpu", "cuda")):
        raise ProblemError(f"device={device!r} is neither cpu nor cuda.")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ProblemError(f"device={device!r}, but no CUDA device was found here. Use --device cpu.")
    if device != "cpu" and ray is not None:
        raise ProblemError("A cluster computes on its own devices: give either --ray or --device cuda.")
    if ray is not None:
        _connect(ray)
    failures: dict[str, str] = {}
    fruitless = 0
    while todo := [job for job in results.missing(jobs) if job.key not in failures]:
        done = already = len(jobs) - len(todo)
        try:
            report = partial(_advance, progress, already, len(jobs))
            for batch, frames, error in _outcomes(todo, workers, device, ray is not None, report):
                if error is None:
                    results.add(frames, batch[0].study)
                else:
                    failures |= {job.key: f"{_name(job)}: {error}" for job in batch}
                done += len(batch)
                progress(done, len(jobs), _name(batch[-1]))
        except _PoolError as error:
            fruitless = fruitless + 1 if done == already else 0
            if fruitless == _FRUITLESS:
                raise HeadstartError(f"Workers died {_FRUITLESS} times without finishing a job: {error}") from error
    if failures:
        listed = "\n".join(itertools.islice(failures.values(), 5))
        raise HeadstartError(f"{len(failures)} of {len(jobs)} jobs failed; the others are stored. The first:\n{listed}")


class _PoolError(Exception):
    """Raised when a worker died; what a job raises comes back as a value."""


def _outcomes(
    todo: Sequence[Job], workers: int | None, device: str, on_cluster: bool, report: Callable[[float, str], None]
) -> Iterator[Outcome]:
    """The outcome of every batch, as they come."""
    if device != "cpu":
        yield from _on_device(todo, device, report)
        return
    calls = [joblib.delayed(_guarded)([job], device) for job in todo]
    try:
        yield from _on_cluster(calls) if on_cluster else _on_this_machine(calls, workers)
    except Exception as error:  # joblib, loky and Ray each have errors of their own for a worker that is gone
        raise _PoolError(f"{type(error).__name__}: {error}") from error


def _on_this_machine(calls: Sequence[Any], workers: int | None) -> Iterator[Outcome]:
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        yield from joblib.Parallel(workers or os.cpu_count(), return_as="generator_unordered", batch_size=1)(calls)


def _on_cluster(calls: Sequence[Any]) -> Iterator[Outcome]:
    on_ray = joblib.parallel_config(backend="ray", ray_remote_args=_WORKER)
    with on_ray, joblib.Parallel(n_jobs=-1, batch_size=1) as parallel:
        wave = _WAVE * joblib.effective_n_jobs(-1)
        for start in range(0, len(calls), wave):
            yield from parallel(calls[start : start + wave])


def _on_device(todo: Sequence[Job], device: str, report: Callable[[float, str], None]) -> Iterator[Outcome]:
    """All jobs of a study together, one study after the other, in this process."""
    by_study: dict[Study, list[Job]] = {}
    for job in todo:
        by_study.setdefault(job.study, []).append(job)
    finished, batches = 0, list(by_study.values())
    while batches:
        batch = batches.pop(0)
        outcome = _guarded(batch, device, partial(_advance_in_batch, report, finished, batch))
        if outcome[-1] is not None and len(batch) > 1:
            # One bad trial, or too many for the memory: the halves may do.
            batches[:0] = [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
            continue
        yield outcome
        finished += len(batch)


def _advance(progress: Progress, already: int, total: int, finished: float, text: str) -> None:
    progress(already + finished, total, text)


def _advance_in_batch(report: Callable[[float, str], None], before: int, batch: Sequence[Job], share: float) -> None:
    report(before + share * len(batch), batch[0].study.file_name)


def _guarded(batch: Sequence[Job], device: str, progress: Callable[[float], None] = lambda share: None) -> Outcome:
    """Run a batch; what it raises is a value, so that it can be told from the death of a worker."""
    try:
        return batch, run_batch(batch, device=device, progress=progress), None
    except Exception as error:  # whatever a method under test may raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        return batch, [], f"{type(error).__name__}: {error} (line {where.lineno} of {Path(where.filename).name})"


def _connect(address: str) -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise MissingExtraError("Running on a cluster", extra="ray") from error
    if not ray.is_initialized():
        try:
            host, _, port = address.rpartition("://")[-1].rpartition(":")
            if port.isdigit():  # Ray itself would wait for minutes
                socket.create_connection((host, int(port)), timeout=10).close()
            ray.init(address=address, log_to_driver=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise ProblemError(
                f"No Ray cluster answers at {address!r} ({error}). Start one there (ray start --head), or give the "
                "address that it printed."
            ) from error
    register_ray()


def _name(job: Job) -> str:
    return f"{job.experiment.name} {job.system} {job.contender.label} {job.task} seed {job.seed}"
