"""The commands that store nothing, and the way to those that do."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headstart.cli.campaigns import campaigns
from headstart.cli.functions import load_function
from headstart.cli.options import (
    Acquire,
    Archive,
    AsJson,
    Candidates,
    Cluster,
    ColumnRoles,
    Count,
    Fixed,
    Output,
    Processor,
    Reading,
    Seed,
    TaskOption,
    Workers,
    check_output,
    grouped,
    new_labels,
    settings_of,
    task_of,
)
from headstart.cli.output import fitting, note, notes, print_json, print_table, records, steps, text_of
from headstart.cli.serve import serve, work
from headstart.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from headstart.surrogate import Surrogate
    from headstart.tasks import Problem

app = typer.Typer(
    help="Few-shot Bayesian optimization from the data you already have.",
    epilog="Start with: headstart inspect archive.csv",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(campaigns, name="campaign")
app.command()(serve)
app.command()(work)


@dataclass(frozen=True)
class FitOptions:
    """How the surrogate is fitted."""

    seed: Seed = 0
    kernel: Annotated[str, typer.Option(help="auto, rbf+tasks, or matern52+tasks for rougher responses.")] = "auto"
    device: Annotated[str, typer.Option(help="cpu, or cuda for a GPU.")] = "cpu"

    def fit(self, table: pd.DataFrame, problem: Problem, source: Path) -> Surrogate:
        """The surrogate of a table, with progress on a terminal; errors name the file."""
        from headstart.surrogate import fit
        from headstart.tasks import naming

        with naming(source), fitting() as progress:
            return fit(table, problem, seed=self.seed, kernel=self.kernel, device=self.device, progress=progress)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Few-shot Bayesian optimization from the data you already have."""
    if version:
        print(f"headstart {__version__}")
        raise typer.Exit


@app.command()
@grouped
def suggest(
    archive: Archive,
    roles: ColumnRoles,
    reading: Reading,
    options: FitOptions,
    task: TaskOption,
    n: Count = 1,
    candidates: Candidates = None,
    pending: Annotated[Path | None, typer.Option(help="A file of experiments of this task that are running.")] = None,
    fix: Fixed = [],  # noqa: B006 - Typer copies it
    acquisition: Acquire = "auto",
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """The next experiment of a task, from a file of old ones. Nothing is stored.

    Example: headstart suggest archive.csv --objective c2_yield_pct --maximize --task catalyst=new
    """
    from headstart.tasks import naming, rows_from_frame

    check_output(output)
    found, table, lines = _problem(roles, reading, archive, task, as_json)
    problem = found.problem
    current = task_of(task, problem)
    surrogate = options.fit(table, problem, archive)
    if not as_json:
        notes(new_labels(current, {name: surrogate.levels[name] for name in problem.general}))
    listed = None if candidates is None else reading.table(candidates)
    running = None if pending is None else reading.table(pending)
    if pending is not None and running is not None:
        with naming(pending):
            rows_from_frame(running, surrogate.problem, surrogate.levels, with_objective=False, task=current)
    with naming(candidates or archive):
        frame = surrogate.suggest(
            current,
            n,
            candidates=listed,
            pending=running,
            fixed=settings_of(fix, "--fix"),
            acquisition=acquisition,
            seed=options.seed,
        )
    if listed is not None:
        frame.insert(0, "row" if "row" not in frame else "row of the file", frame.index)
    _write(frame, output)
    score = frame.attrs["score"]
    if as_json:
        print_json(
            {**_provenance(surrogate, options, lines), "task": current, "score": score, "suggestions": records(frame)}
        )
        return
    label = ", ".join(f"{name} {value}" for name, value in current.items())
    measured = surrogate.rows_of(current)
    experience = f"{measured} measured" if measured else "none measured yet"
    print_table(frame, f"Next for {label} ({experience}); score: {score}")


@app.command()
@grouped
def predict(
    archive: Archive,
    rows: Annotated[Path, typer.Argument(help="A file of rows to predict.", show_default=False)],
    roles: ColumnRoles,
    reading: Reading,
    options: FitOptions,
    task: TaskOption = [],  # noqa: B006 - Typer copies it
    interval: Annotated[
        float, typer.Option(help="The probability that an outcome lies between lower and upper.")
    ] = 0.8,
    noise_free: Annotated[
        bool, typer.Option("--noise-free", help="The response itself, not a measurement of it.")
    ] = False,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """What to expect at the rows of a file, from a file of old experiments. Nothing is stored.

    Example: headstart predict archive.csv planned.csv --objective yield_pct --maximize
    """
    from headstart.tasks import naming

    check_output(output)
    found, table, lines = _problem(roles, reading, archive, task, as_json)
    current = task_of(task, found.problem) if task else None
    wanted = reading.table(rows)
    surrogate = options.fit(table, found.problem, archive)
    with naming(rows):
        predicted = surrogate.predict(wanted, task=current, interval=interval, noise=not noise_free)
    shown = [name for name in [*found.problem.general, *found.problem.inputs] if name in wanted]
    frame = wanted[shown].join(predicted)
    _write(frame, output)
    if as_json:
        print_json({**_provenance(surrogate, options, lines), "interval": interval, "predictions": records(frame)})
    else:
        print_table(frame, f"Predictions of {found.problem.objective}, {interval:.0%} between lower and upper")


@app.command()
@grouped
def validate(
    archive: Archive,
    roles: ColumnRoles,
    reading: Reading,
    options: FitOptions,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="Hold out this many tasks, the largest. [default: all]")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often to draw the rows that are learned.")] = 3,
    figure: Annotated[Path | None, typer.Option(help="Draw it: a .png, .svg or .pdf file.")] = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Whether old experiments help with a new task: each task of a file is predicted from the others.

    Each task takes a fit and some updates: minutes for a few hundred rows. Nothing is stored.

    Example: headstart validate archive.csv --objective yield_pct --maximize --figure trust.png
    """
    from headstart.report import save, trust, trust_figure, trust_in_words
    from headstart.report.svg import check_figure
    from headstart.tasks import naming

    check_output(output)
    if figure is not None:
        check_figure(figure)
    found, table, lines = _problem(roles, reading, archive, [], as_json)
    surrogate = options.fit(table, found.problem, archive)
    with naming(archive), steps(None, "Validating") as advance:
        frame = surrogate.validate(
            tasks=tasks,
            repeats=repeats,
            seed=options.seed,
            progress=lambda done, total, text: advance(done / total, f"{done} of {total}: {text}"),
        )
    summary = trust(frame, surrogate.problem)
    _write(frame, output)
    if figure is not None:
        save(trust_figure(summary), figure)
        note(f"Wrote {figure}.")
    if as_json:
        print_json({**_provenance(surrogate, options, lines), **summary, "in_words": trust_in_words(summary)})
        return
    # What fits a terminal; the rest is in the file and in JSON.
    shown = [*surrogate.problem.general, "shots", "rows", "rmse", "alone_rmse", "coverage", "gain", "verdict"]
    title = f"Predictions of {surrogate.problem.objective} for tasks that were held out; alone: without legacy data"
    print_table(frame[shown], title)
    print(trust_in_words(summary))


@app.command()
@grouped
def inspect(
    archive: Archive,
    reading: Reading,
    general: Annotated[
        list[str], typer.Option("--general", "-g", metavar="COLUMN", help="A column that names the system.")
    ] = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """What is in a file: columns, tasks, rows a task, ranges, gaps, and what looks wrong.

    Exits with 1 if something would stop a fit.
    """
    import pandas as pd

    from headstart.tasks import naming, survey

    with naming(archive):
        table = reading.table(archive)
        found = survey(table, general=general or None)
    errors = [finding for finding in found.findings if finding.kind == "error"]
    if as_json:
        print_json({"file": str(archive), **found.to_dict()})
    else:
        columns = pd.DataFrame([asdict(column) for column in found.columns])
        columns["examples"] = [", ".join(column.examples) for column in found.columns]
        print_table(columns, f"{archive.name}: {found.rows} rows, {len(found.columns)} columns")
        if found.tasks:
            counts = pd.DataFrame([{"task": ", ".join(labels), "rows": count} for labels, count in found.tasks])
            print_table(counts, f"{len(counts)} tasks")
        if found.findings:
            print_table(pd.DataFrame([asdict(finding) for finding in found.findings]), "What looks wrong")
        else:
            print("Nothing looks wrong.")
    raise typer.Exit(1 if errors else 0)


@app.command()
@grouped
def optimize(
    function: Annotated[str, typer.Argument(help="MODULE:FUNCTION or FILE.py:FUNCTION.", show_default=False)],
    archive: Archive,
    roles: ColumnRoles,
    reading: Reading,
    task: TaskOption,
    budget: Annotated[int, typer.Option(min=1, help="How often to evaluate the function.")] = 10,
    fix: Fixed = [],  # noqa: B006 - Typer copies it
    seed: Seed = 0,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Optimise a Python function, starting from a file of old experiments.

    The function is called with the inputs by name, or with one dictionary.

    Example: headstart optimize simulator.py:efficiency archive.csv --objective efficiency --maximize --task pump=new
    """
    from headstart.loop import optimize as run
    from headstart.tasks import naming, write_table

    check_output(output)
    objective = load_function(function)
    found, table, lines = _problem(roles, reading, archive, task, as_json)
    problem = found.problem
    current = task_of(task, problem)
    with steps(budget, "Evaluating") as advance:

        def report(history: pd.DataFrame) -> None:
            best = problem.sign * (problem.sign * history[problem.objective]).max()
            advance(len(history), f"best {text_of(best)}")
            if output is not None:
                write_table(history, output)  # each evaluation is kept, whatever the next one does

        with naming(archive), redirect_stdout(sys.stderr):  # what the function prints is no part of the answer
            fixed = settings_of(fix, "--fix")
            optimum = run(objective, table, problem, current, budget, fixed=fixed, seed=seed, progress=report)
    if as_json:
        answer = {"inputs": optimum.inputs, problem.objective: optimum.value}
        print_json(
            {"headstart": __version__, "seed": seed, "problem": problem.to_dict(), "inferred": lines}
            | {"task": current, "best": answer, "history": records(optimum.history)}
        )
        return
    print_table(optimum.history, f"{len(optimum.history)} evaluations")
    at = ", ".join(f"{name} = {text_of(value)}" for name, value in optimum.inputs.items())
    print(f"Best {problem.objective}: {text_of(optimum.value)} at {at}")


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to write the report and the figure.")] = Path("headstart-demo"),
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Experiments to run.")] = 10,
    as_json: AsJson = False,
) -> None:
    """A catalyst that was never tested: suggestions from the first on, against starting from scratch."""
    from headstart.demo import run

    result = run(folder, rounds=rounds, say=note)
    if as_json:
        print_json(result.to_dict())
    else:
        print_table(result.table(), result.title)
        print(result.conclusion)


@app.command()
def paper(
    folder: Annotated[
        Path | None,
        typer.Option(help="Where page, figures and results go: docs/paper, or headstart-smoke.", show_default=False),
    ] = None,
    only: Annotated[
        list[str],
        typer.Option(help="A part to run: synthetic, pump, additive, latent or training.", show_default=False),
    ] = [],  # noqa: B006
    model: Annotated[list[str], typer.Option(help="A model to run, such as BEGP.", show_default=False)] = [],  # noqa: B006
    smoke: Annotated[bool, typer.Option("--smoke", help="A few of everything, in two minutes.")] = False,
    workers: Workers = None,
    device: Processor = "cpu",
    ray: Cluster = None,
) -> None:
    """Reproduce the paper: run its experiments, draw its figures, and say which of its findings hold.

    Finished jobs are kept: a run that was interrupted continues where it was.
    """
    from headstart.benchmark.paper.reproduction import reproduce

    with steps(None, "Experiments") as advance:
        done = reproduce(
            folder or Path("headstart-smoke" if smoke else "docs/paper"),
            only=only,
            models=model,
            smoke=smoke,
            workers=workers,
            device=device,
            ray=ray,
            progress=lambda done, total, text: advance(done / total, f"{done:.0f} of {total}: {text}"),
            say=note,
        )
    for path in done.files:
        print(path)
    if not any(path.name == "README.md" for path in done.files):
        note("The page is written when all parts and models have results.")
    if done.lacking:
        note(f"Not drawn, for lack of results: {', '.join(done.lacking)}. Run the other parts.")


@app.command()
def benchmark(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where page, figures and results go: docs/benchmark, or headstart-smoke.", show_default=False
        ),
    ] = None,
    only: Annotated[list[str], typer.Option(help="A problem to run, such as toy-fresh.", show_default=False)] = [],  # noqa: B006
    method: Annotated[list[str], typer.Option(help="A method to run, such as Headstart.", show_default=False)] = [],  # noqa: B006
    smoke: Annotated[bool, typer.Option("--smoke", help="A little of all that is quick.")] = False,
    time: Annotated[bool, typer.Option("--time", help="Also time single suggestions, alone.")] = False,
    workers: Workers = None,
    device: Processor = "cpu",
    ray: Cluster = None,
) -> None:
    """Compare Headstart with other methods on many problems, and say who is first and which targets are reached.

    Finished jobs are kept: a run that was interrupted continues where it was.
    """
    from headstart.benchmark.leaderboard.run import benchmark as run

    with steps(None, "Experiments") as advance:
        done = run(
            folder or Path("headstart-smoke" if smoke else "docs/benchmark"),
            only=only,
            methods=method,
            smoke=smoke,
            time=time,
            workers=workers,
            device=device,
            ray=ray,
            progress=lambda done, total, text: advance(done / total, f"{done:.0f} of {total}: {text}"),
            say=note,
        )
    for path in done.files:
        print(path)
    if not done.files:
        note("The page is written when two methods have results on the same problem.")
    notes(f"Without results, {lacking}." for lacking in done.lacking)


def _problem(roles: ColumnRoles, reading: Reading, path: Path, task: list[str], quiet: bool) -> Any:
    """The roles of a file's columns, its rows, and what was inferred, which people are told."""
    from headstart.tasks import naming

    with naming(path):
        found, table, lines = roles.resolve(reading.table(path), task)
    if not quiet:
        notes(lines)
    return found, table, lines


def _provenance(surrogate: Surrogate, options: FitOptions, lines: list[str]) -> dict[str, Any]:
    """What is needed to get the same answer again."""
    return {
        "headstart": __version__,
        "seed": options.seed,
        "kernel": options.kernel,
        "fitted_kernel": surrogate.kernel,
        "rows": len(surrogate.model.train_X),
        "problem": surrogate.problem.to_dict(),
        "inferred": lines,
    }


def _write(frame: pd.DataFrame, output: Path | None) -> None:
    if output is not None:
        from headstart.tasks import write_table

        write_table(frame, output)
        note(f"Wrote {output}.")
