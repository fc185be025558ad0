"""`headstart campaign ...`: ask and tell, stored in a database."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headstart.cli.options import (
    Acquire,
    Archive,
    AsJson,
    Candidates,
    ColumnRoles,
    Count,
    Fixed,
    Reading,
    Seed,
    TaskOption,
    grouped,
    new_labels,
    number_of,
    settings_of,
    task_of,
)
from headstart.cli.output import fitting, note, notes, print_json, print_table, records
from headstart.errors import ProblemError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from headstart.campaign import Campaign, Store

campaigns = typer.Typer(help="Campaigns that are kept: ask, run the experiment, tell, repeat.", no_args_is_help=True)


def _complete_name(context: typer.Context, incomplete: str) -> list[str]:
    """Names of campaigns, for the shell's completion."""
    try:
        names = [each.name for each in StoreOptions(**_store_given(context)).open().campaigns()]
    except Exception:  # a shell that completes has no place for an error
        return []
    return [name for name in names if name.startswith(incomplete)]


def _store_given(context: typer.Context) -> dict[str, Any]:
    return {"store": context.params["store"]} if context.params.get("store") else {}


Name = Annotated[str, typer.Argument(help="The campaign's name.", show_default=False, autocompletion=_complete_name)]
Ids = Annotated[list[int], typer.Argument(help="Suggestions, by their id.", show_default=False)]
Reason = Annotated[str | None, typer.Option(help="Why, for the record.")]


@dataclass(frozen=True)
class StoreOptions:
    """Where campaigns are kept."""

    store: Annotated[
        str,
        typer.Option(
            envvar="HEADSTART_STORE",
            help="An SQLite file, or a URL as postgresql://user@host/name.",
            rich_help_panel="Store",
        ),
    ] = "headstart.db"
    author: Annotated[
        str | None,
        typer.Option(envvar="HEADSTART_AUTHOR", help="Who this is. [default: your user name]", rich_help_panel="Store"),
    ] = None

    def open(self, *, create: bool = False) -> Store:
        """The store; only a campaign that is created makes a file."""
        from headstart.campaign import Store

        return Store(self.store, create=create, author=self.author)

    def campaign(self, name: str) -> Campaign:
        """The campaign of that name."""
        from headstart.campaign import Campaign

        return Campaign(name, self.open())


@campaigns.command()
@grouped
def create(
    name: Name,
    archive: Archive,
    roles: ColumnRoles,
    reading: Reading,
    store: StoreOptions,
    seed: Seed = 0,
    kernel: Annotated[str, typer.Option(help="auto, rbf+tasks, or matern52+tasks for rougher responses.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Start a campaign from a file of old experiments.

    Example: headstart campaign create catalysts archive.csv --objective c2_yield_pct --maximize --general catalyst
    """
    from headstart.campaign import Campaign
    from headstart.tasks import naming

    with naming(archive):
        found, table, lines = roles.resolve(reading.table(archive))
        if not as_json:
            notes(lines)
        made = Campaign.create(name, table, found.problem, store=store.open(create=True), seed=seed, kernel=kernel)
    if as_json:
        print_json({"campaign": name, "rows": len(table), "problem": made.problem.to_dict(), "inferred": lines})
    else:
        tasks = len(table[[*found.problem.general]].drop_duplicates())
        print(f"Campaign {name!r} has {len(table)} rows of {tasks} tasks.")
        flags = " ".join(f"--task {column}=LABEL" for column in found.problem.general)
        print(f"Next: headstart campaign suggest {name!r} {flags}")


@campaigns.command("list")
@grouped
def list_campaigns(store: StoreOptions, as_json: AsJson = False) -> None:
    """All campaigns, the most recently active first."""
    import pandas as pd

    rows = [
        {
            "campaign": each.name,
            "objective": f"{each.problem['goal']} {each.problem['objective']}",
            "archive_rows": each.archive_rows,
            "observed": each.observed,
            "pending": each.pending,
            "author": each.origin.author,
            "last_activity": each.last_activity,
        }
        for each in store.open().campaigns()
    ]
    if as_json:
        print_json({"campaigns": rows})
    elif rows:
        print_table(pd.DataFrame(rows))
    else:
        print("No campaigns yet. Next: headstart campaign create NAME archive.csv --objective COLUMN --maximize")


@campaigns.command()
@grouped
def show(name: Name, store: StoreOptions, as_json: AsJson = False) -> None:
    """A campaign: its problem, the best so far, what is pending, and every experiment."""
    import pandas as pd

    from headstart.report import overview

    campaign = store.campaign(name)
    summary, history = overview(campaign), campaign.history()
    if as_json:
        print_json({**summary, "history": records(history)})
        return
    problem = campaign.problem
    inputs = [
        {"input": column, "low": bounds[0], "high": bounds[1], "step": bounds[2] if len(bounds) == 3 else None}
        for column, bounds in problem.inputs.items()
        if bounds
    ]
    print_table(
        pd.DataFrame(inputs), f"{name}: {problem.goal} {problem.objective}, tasks by {', '.join(problem.general)}"
    )
    best = [
        {**each["task"], **each["best"]["inputs"], problem.objective: each["best"]["outcome"]}
        for each in summary["current"]
        if each["best"]
    ]
    if best:
        print_table(pd.DataFrame(best), "Best so far")
    if len(history):
        columns = ["suggestion", "observation", "status", *problem.general, *problem.inputs, problem.objective]
        print_table(
            history[[*columns, "mean", "lower", "upper", "author"]], "Experiments, with what was expected of them"
        )
    else:
        print("No experiment yet.")


@campaigns.command()
@grouped
def suggest(
    name: Name,
    store: StoreOptions,
    task: TaskOption,
    reading: Reading,
    n: Count = 1,
    candidates: Candidates = None,
    fix: Fixed = [],  # noqa: B006 - Typer copies it
    acquisition: Acquire = "auto",
    seed: Annotated[int | None, typer.Option(min=0, help="Of the search. [default: goes on by itself]")] = None,
    as_json: AsJson = False,
) -> None:
    """The next experiments of a task, stored as pending.

    Example: headstart campaign suggest catalysts --task catalyst=new -n 2
    """
    from headstart.tasks import naming

    campaign = store.campaign(name)
    current = task_of(task, campaign.problem)
    if not as_json:
        known = campaign.tasks()
        notes(new_labels(current, {column: [each[column] for each in known] for column in current}))
    listed = None if candidates is None else reading.table(candidates)
    with naming(candidates) if candidates else nullcontext(), fitting() as progress:
        frame = campaign.suggest(
            current,
            n,
            candidates=listed,
            fixed=settings_of(fix, "--fix"),
            acquisition=acquisition,
            seed=seed,
            progress=progress,
        )
    score = frame.attrs["score"]
    if as_json:
        print_json({"campaign": name, "task": current, "score": score, "suggestions": records(frame)})
        return
    label = ", ".join(f"{column} {value}" for column, value in current.items())
    print_table(frame, f"Next for {label}; score: {score}")
    first = frame["suggestion"].iloc[0]
    print(f"Then: headstart campaign observe {name!r} --suggestion {first} --value ... (or withdraw {name!r} {first})")


@campaigns.command()
@grouped
def observe(
    name: Name,
    store: StoreOptions,
    reading: Reading,
    file: Annotated[
        Path | None,
        typer.Argument(help="A file of outcomes, with a column 'suggestion' or the inputs.", show_default=False),
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="NUMBER", help="The outcome, instead of a file.")] = None,
    suggestion: Annotated[int | None, typer.Option(help="The suggestion that it is the outcome of.")] = None,
    task: TaskOption = [],  # noqa: B006 - Typer copies it
    at: Annotated[list[str], typer.Option("--at", metavar="COLUMN=VALUE", help="Where it was measured.")] = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Store what was measured, suggested or not. When this returns it is stored.

    Example: headstart campaign observe catalysts --suggestion 3 --value 17.2
    """
    from headstart.tasks import naming

    campaign = store.campaign(name)
    current = task_of(task, campaign.problem) if task else None
    if (file is None) == (value is None):
        raise ProblemError("Give the outcome: a file, or --value with --suggestion (or with --task and --at).")
    outcome = None
    if file is not None:
        with naming(file):
            table, skipped = _with_outcome(reading.table(file), campaign.problem.objective)
            if skipped and not as_json:
                note(f"{skipped} rows without an outcome, withdrawn or retracted are left out.")
            ids = campaign.observe(table, suggestion=suggestion, task=current)
    else:
        if suggestion is None and not (task and at):
            raise ProblemError(
                "Say what was measured: --suggestion ID, or --task and --at COLUMN=VALUE for each input."
            )
        where = settings_of(at, "--at")
        for column in where:
            if column not in campaign.problem.inputs:
                raise ProblemError(
                    f"--at {column}: there is no such input.{did_you_mean(column, campaign.problem.inputs)} "
                    f"The inputs are: {', '.join(campaign.problem.inputs)}."
                )
        outcome = number_of(str(value), "--value")
        row: dict[str, Any] = {**where, campaign.problem.objective: outcome}
        ids = campaign.observe([row], suggestion=suggestion, task=current)
    if as_json:
        print_json({"campaign": name, "observations": ids})
    else:
        what = f"{len(ids)} outcomes" if outcome is None else f"{campaign.problem.objective} = {outcome:g}"
        print(f"Stored {what} as observation{'s' * (len(ids) != 1)} {', '.join(map(str, ids))}.")


@campaigns.command()
@grouped
def withdraw(name: Name, suggestions: Ids, store: StoreOptions, reason: Reason = None, as_json: AsJson = False) -> None:
    """Take back suggestions that failed or will not run."""
    store.campaign(name).withdraw(suggestions, reason=reason)
    _done(f"Withdrew {', '.join(map(str, suggestions))}.", {"campaign": name, "withdrawn": suggestions}, as_json)


@campaigns.command()
@grouped
def retract(
    name: Name,
    observation: Annotated[int, typer.Argument(help="The observation's id.", show_default=False)],
    store: StoreOptions,
    reason: Reason = None,
    as_json: AsJson = False,
) -> None:
    """Take back a wrong observation. It stays in the history, and its suggestion is pending again."""
    store.campaign(name).retract(observation, reason=reason)
    _done(f"Retracted {observation}.", {"campaign": name, "retracted": observation}, as_json)


@campaigns.command()
@grouped
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(help="Ends in .csv, .tsv, .xlsx, .parquet or .json.", show_default=False)],
    store: StoreOptions,
    what: Annotated[
        str, typer.Option(help="history: experiments and predictions; data: archive and experiments.")
    ] = "history",
    as_json: AsJson = False,
) -> None:
    """Write a campaign's experiments, or all its data, to a file."""
    store.campaign(name).export(file, what=what)
    _done(f"Wrote {file}.", {"campaign": name, "file": str(file)}, as_json)


@campaigns.command()
@grouped
def report(
    name: Name,
    store: StoreOptions,
    file: Annotated[
        Path | None, typer.Argument(help="The page to write. [default: NAME.html]", show_default=False)
    ] = None,
    task: TaskOption = [],  # noqa: B006 - Typer copies it
    as_json: AsJson = False,
) -> None:
    """Write one HTML file that shows it all: convergence, response, embedding, and how well predictions held."""
    from headstart.report import write_report

    campaign = store.campaign(name)
    path = file or Path(f"{name}.html")
    with fitting() as progress:
        campaign.surrogate(progress=progress)
    write_report(campaign, path, task=task_of(task, campaign.problem) if task else None)
    _done(f"Wrote {path}.", {"campaign": name, "file": str(path)}, as_json)


def _with_outcome(table: pd.DataFrame, objective: str) -> tuple[pd.DataFrame, int]:
    """The rows of an exported history, or of a list to be filled in, that have something to tell; and how many not."""
    if objective not in table or not table.columns.is_unique:  # `observe` says what is wrong
        return table, 0
    told = table[objective].notna()
    if "status" in table:
        told &= ~table["status"].isin(["withdrawn", "retracted"])
    return (table[told], int((~told).sum())) if told.any() else (table, 0)


def _done(text: str, answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        note(text)
