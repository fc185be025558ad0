"""What a command that runs a plan does first: check the names it was given, make the folder, run what is lacking."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from headstart.benchmark.execution import Progress, run_jobs
from headstart.benchmark.jobs import Job
from headstart.benchmark.results import Results
from headstart.errors import HeadstartError, ProblemError, did_you_mean


def check_names(kind: str, names: Sequence[str], known: Collection[str]) -> None:
    """An error that lists what there is, for a name that is not.

    >>> check_names("model", ["begp"], ["BEGP", "GP"])
    Traceback (most recent call last):
    headstart.errors.ProblemError: There is no model 'begp': choose from 'BEGP', 'GP'. Did you mean 'BEGP'?
    """
    listed = ", ".join(map(repr, known))
    for name in names:
        if name not in known:
            raise ProblemError(f"There is no {kind} {name!r}: choose from {listed}.{did_you_mean(name, known)}")


def results_in(folder: Path) -> Results:
    """The results below a folder, which is made if need be."""
    results = Results(folder / "results")
    try:
        results.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadstartError(
            f"The folder {folder} cannot be used: {error.strerror}. Give another with --folder."
        ) from error
    return results


def run_lacking(
    jobs: Sequence[Job],
    results: Results,
    *,
    workers: int | None,
    device: str,
    ray: str | None,
    progress: Progress,
    say: Callable[[str], None],
) -> None:
    """Run the jobs that have no result yet, and say how many they are; the options are those of `run_jobs`."""
    say(f"{len(jobs)} jobs, {len(results.missing(jobs))} without a result.")
    run_jobs(jobs, results, workers=workers, device=device, ray=ray, progress=progress)
