"""The parts of the page that are about single problems: what they are, and the scores of all methods on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from headstart.benchmark.leaderboard.plan import METHODS, Problem
from headstart.benchmark.leaderboard.scores import NOMINAL, Board
from headstart.benchmark.markdown import pipe_table
from headstart.benchmark.systems import get_system
from headstart.benchmark.tables import Tables
from headstart.report.words import counted

_EVALUATIONS, _ROWS = (1, 2, 3, 5, 10), (0, 1, 2, 3, 5, 10)


def about_problems(problems: Sequence[Problem], tables: Tables) -> str:
    """What each problem is, and what was run of it."""
    lines = []
    for problem in problems:
        runs = pd.concat(
            [
                frame[frame["system"] == problem.system]
                for frame in (tables.regression, tables.optimization)
                if len(frame)
            ]
        )
        tasks, seeds = list(dict.fromkeys(runs["task"])), sorted(set(runs["seed"]))
        trials = [get_system(problem.system).trial(task, seeds[0]) for task in tasks]
        is_function = trials[0].function is not None
        ran = [method.label for method in METHODS if method.label in set(runs["model"])]
        lines.append(
            {
                "problem": problem.system,
                "what it is": problem.words + ("; legacy rows must not mislead" if problem.is_trap else ""),
                "general inputs": len(trials[0].current_codes),
                "tasks held out": len(tasks),
                "seeds": len(seeds),
                "legacy rows": _span([len(trial.legacy_y) for trial in trials]),
                "rows of the task": "any point" if is_function else _span([len(trial.y) for trial in trials]),
                "methods": f"{len(ran)}: {'; '.join(ran)}",
            }
        )
    return pipe_table(pd.DataFrame(lines).set_index("problem"))


def scores_on(problem: Problem, board: Board) -> list[str]:
    """The tables of one problem."""
    regret, density, coverage, crps = (
        frame[frame["system"] == problem.system] for frame in (board.regret, board.density, board.coverage, board.crps)
    )
    parts = [f"### {problem.system}: {problem.words}"]
    if len(regret):
        seconds = board.seconds[board.seconds["system"] == problem.system].set_index("model")["seconds"]
        table = _wide(regret, _EVALUATIONS, _with_interval)
        table["seconds"] = [f"{seconds[label]:.2g}" if label in seconds else "" for label in table.index]
        parts += [f"Normalised regret after evaluations, {_trials(regret)}:", pipe_table(table)]
    if len(density):
        parts += [
            f"Negative log density with rows, {_trials(density)}:",
            pipe_table(_wide(density, _ROWS, _with_interval)),
        ]
    if len(coverage):
        title = f"Coverage of {' / '.join(f'{100 * nominal:.0f}' for nominal in NOMINAL)} % intervals with rows:"
        parts += [title, pipe_table(_wide(coverage, _ROWS, _percents))]
    if len(crps):
        parts += ["CRPS with rows:", pipe_table(_wide(crps, _ROWS, lambda cell: f"{cell['mean'].iloc[0]:.3g}"))]
    return parts


def _wide(summary: pd.DataFrame, at: Sequence[int], write: Callable[[pd.DataFrame], str]) -> pd.DataFrame:
    """Methods down in the order of the plan, numbers of evaluations or rows across."""
    cells = {key: write(cell) for key, cell in summary[summary["at"].isin(at)].groupby(["model", "at"])}
    models, counts = ([*dict.fromkeys(part)] for part in zip(*cells, strict=True))
    labels = [method.label for method in METHODS if method.label in models]
    table = {count: [cells.get((label, count), "") for label in labels] for count in sorted(counts)}
    return pd.DataFrame(table, index=pd.Index(labels, name="method"))


def _with_interval(cell: pd.DataFrame) -> str:
    mean, low, high = cell[["mean", "low", "high"]].iloc[0]
    return f"{mean:.3g} [{low:.3g}, {high:.3g}]"


def _percents(cell: pd.DataFrame) -> str:
    return " / ".join(f"{100 * share:.0f}" for share in cell.sort_values("nominal")["mean"])


def _trials(summary: pd.DataFrame) -> str:
    fewest, most = int(summary["trials"].min()), int(summary["trials"].max())
    return counted(most, "trial") if fewest == most else f"{fewest} to {most} trials"


def _span(counts: Sequence[int]) -> str:
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
