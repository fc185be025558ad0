"""`headstart paper`: run what has no result yet, then draw every figure and write the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.benchmark.execution import Progress
from headstart.benchmark.jobs import Job
from headstart.benchmark.paper.figures import FIGURES
from headstart.benchmark.paper.page import page
from headstart.benchmark.paper.plan import PAPER, SMOKE, parts
from headstart.benchmark.results import Results
from headstart.benchmark.running import check_names, results_in, run_lacking
from headstart.benchmark.tables import Tables
from headstart.errors import DataError
from headstart.report.svg import save
from headstart.writing import write_whole


@dataclass(frozen=True)
class Reproduction:
    """What was done: the files that were written, and the figures that still lack results.

    The page is written when every job of the paper has a result.
    """

    files: tuple[Path, ...]
    lacking: tuple[str, ...]


def reproduce(
    folder: Path,
    *,
    only: Sequence[str] = (),
    models: Sequence[str] = (),
    smoke: bool = False,
    workers: int | None = None,
    device: str = "cpu",
    ray: str | None = None,
    progress: Progress = lambda done, total, text: None,
    say: Callable[[str], None] = lambda text: None,
) -> Reproduction:
    """Reproduce the paper into a folder.

    Args:
        folder: gets the page, the figures, and the results in `results/`.
        only: parts to run; all when empty. Figures are drawn from whatever results there are.
        models: labels of models to run; all when empty.
        smoke: a few of everything, to see that all of it runs.
        workers, device, ray, progress: as in `run_jobs`.
        say: told of what is going on.
    """
    scale = SMOKE if smoke else PAPER
    planned = parts(scale)
    check_names("part", only, planned)
    labels = dict.fromkeys(job.contender.label for jobs in planned.values() for job in jobs)
    check_names("model", models, labels)
    wanted = [
        job
        for name, jobs in planned.items()
        for job in jobs
        if (not only or name in only) and (not models or job.contender.label in models)
    ]
    results = results_in(folder)
    run_lacking(wanted, results, workers=workers, device=device, ray=ray, progress=progress, say=say)
    everything = [job for jobs in planned.values() for job in jobs]
    tables = _tables(results, everything)
    files, lacking = _draw(tables, folder)
    if not results.missing(everything):
        seconds = {name: float(results.available(jobs)["seconds"].sum()) for name, jobs in planned.items()}
        path = folder / "README.md"
        write_whole(path, page(tables, list(FIGURES), scale, seconds).encode())
        files.append(path)
    return Reproduction(tuple(files), tuple(lacking))


def _tables(results: Results, jobs: Iterable[Job]) -> Tables:
    frames = []
    for experiment in ("regression", "optimization"):
        frame = results.available(job for job in jobs if job.experiment.name == experiment)
        if len(frame):
            # A smoke run has a smaller stand-in of the same name.
            frame = frame.assign(system=frame["system"].replace({SMOKE.additive: PAPER.additive}))
        frames.append(frame)
    return Tables(*frames)


def _draw(tables: Tables, folder: Path) -> tuple[list[Path], list[str]]:
    files, lacking = [], []
    for name, draw in FIGURES.items():
        try:
            figure = draw(tables)
        except DataError:
            lacking.append(name)
            continue
        files.append(folder / f"{name}.svg")
        save(figure, files[-1])
    return files, lacking
