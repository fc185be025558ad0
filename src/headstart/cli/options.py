"""Options that several commands share, and how their values are read.

A group of options is a frozen dataclass. `@grouped` gives a command the options of every group among its parameters,
and hands each group over as one value.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from headstart.errors import ProblemError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from headstart.tasks import Problem, Roles

_READING = "How to read the file"
_ROLES = "What each column is for"

Archive = Annotated[
    Path, typer.Argument(help="A CSV, Excel or Parquet file: one row an experiment.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")]
Count = Annotated[int, typer.Option("-n", "--number", min=1, help="Experiments to run at the same time.")]
TaskOption = Annotated[
    list[str],
    typer.Option(
        "--task",
        "-t",
        metavar="COLUMN=LABEL",
        help="The task, as COLUMN=LABEL for each general input. The label may be new.",
    ),
]
Fixed = Annotated[list[str], typer.Option("--fix", metavar="COLUMN=VALUE", help="Hold an input at a value.")]
Candidates = Annotated[Path | None, typer.Option(help="A file of the possible experiments, when they can be listed.")]
Acquire = Annotated[str, typer.Option(help='auto, thompson, or "probability of best" among candidates.')]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; one a core when left out.")]
Processor = Annotated[str, typer.Option(help="cpu, or cuda to train all seeds and tasks as one batch.")]
Cluster = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on this Ray cluster.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Also write the table to this file.")]


@dataclass(frozen=True)
class Reading:
    """How to read a file; mostly it is found out."""

    sheet: Annotated[
        str | None,
        typer.Option(help="The sheet of a workbook. [default: the first with data]", rich_help_panel=_READING),
    ] = None
    separator: Annotated[
        str | None, typer.Option(help="Between columns. [default: found out]", rich_help_panel=_READING)
    ] = None
    decimal: Annotated[
        str | None, typer.Option(help="The decimal mark, . or , [default: found out]", rich_help_panel=_READING)
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Of a text file, such as cp1252. [default: found out]", rich_help_panel=_READING)
    ] = None
    header_row: Annotated[int, typer.Option(min=1, help="The row of the names.", rich_help_panel=_READING)] = 1

    def table(self, path: Path) -> pd.DataFrame:
        """The table in a file."""
        from headstart.tasks import read_table

        return read_table(
            path,
            sheet=self.sheet,
            separator=self.separator,
            decimal=self.decimal,
            encoding=self.encoding,
            header_row=self.header_row,
        )


@dataclass(frozen=True)
class ColumnRoles:
    """What each column is for; what is left out is inferred."""

    objective: Annotated[
        str, typer.Option("--objective", "-y", help="The measured column.", rich_help_panel=_ROLES, show_default=False)
    ]
    maximize: Annotated[
        bool | None, typer.Option("--maximize/--minimize", help="What to do with it.", rich_help_panel=_ROLES)
    ] = None
    general: Annotated[
        list[str] | None,
        typer.Option(
            "--general",
            "-g",
            metavar="COLUMN",
            help="A column that names the system: alloy, machine. Repeat for several. "
            "[default: those of --task, or the only text column]",
            rich_help_panel=_ROLES,
        ),
    ] = None
    input: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="COLUMN[=LOW:HIGH[:STEP]]",
            help="A number to choose, between bounds and in steps if they are given. Repeat for several. "
            "[default: the other numeric columns]",
            rich_help_panel=_ROLES,
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore", metavar="COLUMN", help="A column to leave out. Repeat for several.", rich_help_panel=_ROLES
        ),
    ] = None
    drop_incomplete: Annotated[
        bool,
        typer.Option(
            "--drop-incomplete", help="Leave out rows with an empty cell that is needed.", rich_help_panel=_ROLES
        ),
    ] = False
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Use this many rows, drawn at random: for large archives.", rich_help_panel=_ROLES),
    ] = None

    def resolve(self, table: pd.DataFrame, task: Iterable[str] = ()) -> tuple[Roles, pd.DataFrame, list[str]]:
        """The roles, the rows to use, and what was inferred, in words."""
        from headstart.tasks import infer_roles

        if self.maximize is None:
            raise typer.BadParameter(
                f"say which way {self.objective!r} is to go.", param_hint="'--maximize' or '--minimize'"
            )
        roles = infer_roles(
            table,
            objective=self.objective,
            goal="maximize" if self.maximize else "minimize",
            inputs=None if self.input is None else dict(map(_input, self.input)),
            general=list(dict.fromkeys([*(self.general or []), *_columns(task, table)])) or None,
            ignore=tuple(self.ignore or ()),
            drop_incomplete=self.drop_incomplete,
        )
        lines = list(roles.inferred)
        if self.input is None:
            lines.append("If one of these inputs is measured and not set, leave it out with --ignore COLUMN.")
        for name, reason in roles.ignored.items():
            keep = f"; --task {name}=LABEL makes it part of the task" if reason == "holds text" else ""
            lines.append(f"{name!r} is not used: it {reason}{keep}.")
        rows = roles.rows
        if self.sample is not None and self.sample < len(rows):
            lines.append(f"{self.sample} of {len(rows)} rows are used, drawn at random; all of the task itself are.")
            rows = _sampled(rows, self.sample, task_of(task, roles.problem) if task else {})
        return roles, rows, lines


def _columns(task: Iterable[str], table: pd.DataFrame) -> list[str]:
    """The columns that `--task` options name; where there is none of that name, an error will say so."""
    named = [text.partition("=")[0] for text in task if "=" in text]
    return [name for name in named if name in table.columns] or named


def new_labels(task: Mapping[str, str], known: Mapping[str, Iterable[str]]) -> list[str]:
    """A remark on each label that is new but looks like a known one.

    >>> new_labels({"series": "size8"}, {"series": ["size_8", "size_9"]})
    ["'size8' is a new series. Did you mean 'size_8'?"]
    >>> new_labels({"machine": "M6"}, {"machine": ["M4", "M5"]})  # the next in a row
    []
    """
    remarks = []
    for name, label in task.items():
        alike = {each for each in known[name] if _digits(each) == _digits(label) or not _digits(label)}
        if label not in alike and did_you_mean(label, alike):
            remarks.append(f"{label!r} is a new {name}.{did_you_mean(label, alike)}")
    return remarks


def _digits(label: str) -> str:
    return "".join(filter(str.isdigit, label))


def check_output(path: Path | None) -> None:
    """Refuse, before the work is done, a file that could not be written after it."""
    if path is not None:
        from headstart.tasks import check_target

        check_target(path)


def _sampled(rows: pd.DataFrame, count: int, task: Mapping[str, str]) -> pd.DataFrame:
    """Rows drawn at random, with every row of the task among them: what was measured of it must not be forgotten."""
    from headstart.tasks.columns import label

    own = rows.index < 0 if not task else rows[[*task]].map(label).eq(list(task.values())).all(axis=1)
    drawn = rows[~own].sample(max(min(count - int(own.sum()), int((~own).sum())), 0), random_state=0)
    return rows.loc[rows.index.isin([*rows.index[own], *drawn.index])]


def task_of(texts: Iterable[str], problem: Problem) -> dict[str, str]:
    """`--task` options as a task; the name may be left out where there is one general input.

    >>> from headstart.tasks import Problem
    >>> problem = Problem(inputs=["x"], general=["alloy"], objective="y")
    >>> task_of(["alloy=Ti-6242"], problem), task_of(["Ti=6"], problem)
    ({'alloy': 'Ti-6242'}, {'alloy': 'Ti=6'})
    """
    task = {}
    for text in texts:
        name, equals, label = text.partition("=")
        if equals and name in problem.general:
            task[name] = label
        elif len(problem.general) == 1 and not (equals and did_you_mean(name, problem.general)):
            task[problem.general[0]] = text
        else:
            raise ProblemError(
                f"--task {text}: write COLUMN=LABEL, where COLUMN is one of {', '.join(problem.general)}."
                f"{did_you_mean(name, problem.general)}"
            )
    missing = [name for name in problem.general if name not in task]
    if missing:
        raise ProblemError(f"Which task? Add {' '.join(f'--task {name}=LABEL' for name in missing)}.")
    return task


def settings_of(texts: Iterable[str], option: str) -> dict[str, float]:
    """`--fix` options as inputs and their values.

    >>> settings_of(["flow=12.5"], "--fix")
    {'flow': 12.5}
    """
    settings = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            settings[name] = float(value)
        except ValueError:
            raise ProblemError(f"{option} {text}: write COLUMN=NUMBER, such as {option} flow=12.5.") from None
    return settings


def number_of(text: str, option: str) -> float:
    """A number as people type it, also with a decimal comma.

    >>> number_of("84,3", "--value")
    84.3
    """
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise ProblemError(f"{option} {text}: write a number, such as {option} 12.5.") from None


def _input(text: str) -> tuple[str, tuple[float, ...] | None]:
    """An `--input` option as a name and its bounds, None to take them from the data."""
    name, equals, bounds = text.rpartition("=")
    if not equals:
        return text, None
    try:
        edges = tuple(float(edge) for edge in bounds.split(":"))
    except ValueError:
        edges = ()
    if len(edges) not in (2, 3):
        raise ProblemError(f"--input {text}: write COLUMN, COLUMN=LOW:HIGH or COLUMN=LOW:HIGH:STEP.")
    return name, edges


Command = TypeVar("Command", bound=Callable[..., Any])


def grouped(command: Command) -> Command:
    """Replace each parameter of a command that is a group of options by these options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def with_groups(**values: Any) -> Any:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        return command(**values, **made)

    with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_groups  # type: ignore[return-value]


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints: Mapping[str, Any] = get_type_hints(group, include_extras=True)
    signature = inspect.signature(group)
    return [
        parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
    ]
