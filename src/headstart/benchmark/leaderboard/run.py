"""`headstart benchmark`: run what has no result yet, then draw the figures and write the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from headstart.benchmark.contenders import Contender
from headstart.benchmark.execution import Progress
from headstart.benchmark.jobs import Job
from headstart.benchmark.leaderboard.figures import FIGURES
from headstart.benchmark.leaderboard.page import Content, page
from headstart.benchmark.leaderboard.plan import BAYBE, METHODS, PROBLEMS, SAAS, jobs_of, smoke_jobs_of
from headstart.benchmark.leaderboard.scores import Board, board_of
from headstart.benchmark.leaderboard.timing import time_suggestions, timed
from headstart.benchmark.results import Results
from headstart.benchmark.running import check_names, results_in, run_lacking
from headstart.benchmark.tables import Tables
from headstart.errors import DataError, MissingExtraError
from headstart.report.svg import save
from headstart.writing import write_whole

# What a method cannot run without, and the extra that brings it.
_NEEDS: dict[Contender, tuple[str, str]] = {BAYBE: ("baybe", "peers"), SAAS: ("numpyro", "nuts")}
# What people wrote beside the results about how these came to be; the page quotes it.
_REMARKS = "REMARKS.md"


@dataclass(frozen=True)
class Benchmark:
    """What was done: the files that were written, and what has no results, or not all, in words.

    Figures and page are written when two methods can be compared on one problem at least.
    """

    files: tuple[Path, ...]
    lacking: tuple[str, ...]


def benchmark(
    folder: Path,
    *,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    smoke: bool = False,
    time: bool = False,
    workers: int | None = None,
    device: str = "cpu",
    ray: str | None = None,
    progress: Progress = lambda done, total, text: None,
    say: Callable[[str], None] = lambda text: None,
) -> Benchmark:
    """Run the benchmark into a folder.

    Args:
        folder: gets the page, the figures, and the results in `results/`.
        only: problems to run; all when empty. Page and figures are made of whatever results there are.
        methods: labels of methods to run; all when empty.
        smoke: a little of everything quick, to see that all of it runs.
        time: also time single suggestions, one method after another, which takes some minutes of a quiet machine.
        workers, device, ray, progress: as in `run_jobs`.
        say: told of what is going on.
    """
    planned = {problem.system: (smoke_jobs_of if smoke else jobs_of)(problem) for problem in PROBLEMS}
    check_names("problem", only, planned)
    check_names("method", methods, [method.label for method in METHODS])
    wanted = [
        job
        for system, jobs in planned.items()
        for job in jobs
        if (not only or system in only) and (not methods or job.contender.label in methods)
    ]
    results = results_in(folder)
    _check_needs(results.missing(wanted))
    run_lacking(wanted, results, workers=workers, device=device, ray=ray, progress=progress, say=say)
    if time:
        time_suggestions(results.folder, say=say)
    everything = [job for jobs in planned.values() for job in jobs]
    tables, lacking = _tables(results, everything), _lacking(results, planned)
    board = board_of(tables)
    path = results.folder / _REMARKS
    remarks = path.read_text(encoding="utf-8") if path.exists() else ""
    content = Content(tables, board, (), lacking, timed(results.folder), remarks)
    files = _write(content, folder) if _is_comparison(board) else []
    return Benchmark(tuple(files), tuple(lacking))


def _check_needs(jobs: Iterable[Job]) -> None:
    """What is not installed is said before anything runs, not hours later."""
    for method in dict.fromkeys(job.contender for job in jobs):
        if method in _NEEDS:
            package, extra = _NEEDS[method]
            if find_spec(package) is None:
                raise MissingExtraError(method.label, extra=extra)


def _tables(results: Results, jobs: Sequence[Job]) -> Tables:
    of = {
        name: results.available(job for job in jobs if job.experiment.name == name)
        for name in ("regression", "optimization")
    }
    return Tables(**of)


def _lacking(results: Results, planned: Mapping[str, Sequence[Job]]) -> list[str]:
    """Methods that have no results at all, and those that have not all, with their problems."""
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for system, jobs in planned.items():
        missing = {job.key for job in results.missing(jobs)}
        for method in dict.fromkeys(job.contender.label for job in jobs):
            own = [job.key in missing for job in jobs if job.contender.label == method]
            counts.setdefault(method, {})[system] = (sum(own), len(own))
    words = []
    for method, problems in counts.items():
        parts = [
            system if lacked == total else f"{system} ({lacked} of {total} jobs)"
            for system, (lacked, total) in problems.items()
            if lacked
        ]
        if all(lacked == total for lacked, total in problems.values()):
            words.append(f"{method}: everywhere")
        elif parts:
            words.append(f"{method}: {', '.join(parts)}")
    return words


def _is_comparison(board: Board) -> bool:
    return any(summary.groupby(["system", "at"]).size().gt(1).any() for summary in (board.regret, board.density))


def _write(content: Content, folder: Path) -> list[Path]:
    """The figures that there are results for, and the page."""
    files = []
    for name, draw in FIGURES.items():
        try:
            figure = draw(content.board)
        except DataError:
            continue
        files.append(folder / f"{name}.svg")
        save(figure, files[-1])
    drawn = replace(content, figures=[path.stem for path in files])
    write_whole(folder / "README.md", page(drawn).encode())
    return [*files, folder / "README.md"]
