"""The page of the benchmark, written from the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import pandas as pd

from headstart.benchmark.contenders import Contender
from headstart.benchmark.jobs import REVISION
from headstart.benchmark.leaderboard.plan import BAYBE, COMBINED, FULL, METHODS, PROBLEMS, SHORT, SLOW, Problem
from headstart.benchmark.leaderboard.problem_pages import about_problems, scores_on
from headstart.benchmark.leaderboard.scores import INTERVAL, RANKED_AT, RESAMPLES, SEED, Board, standings
from headstart.benchmark.leaderboard.targets import targets
from headstart.benchmark.markdown import pipe_table
from headstart.benchmark.tables import Tables
from headstart.report.words import counted

_CAPTIONS = {
    "mean_rank": "Mean rank over all problems, as a share of the field; a dot for each number of evaluations or rows.",
    "regret": "Mean normalised regret; the band is the 90 % interval of Headstart's mean.",
    "log_density": "Mean negative log density. What rises above a panel is in the tables below.",
    "calibration": "Observed against promised coverage, averaged over problems; the thin line is a kept promise.",
}
_LIBRARIES = ("botorch", "gpytorch", "torch", "baybe", "numpyro", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Content:
    """What the page is written from.

    Attributes:
        tables: all results there are.
        board: their summaries.
        figures: names of the figures that were drawn.
        lacking: what has no results, or not all, in words.
        seconds: what was timed alone, as `timing` has it.
        remarks: a list in Markdown of what else is to be known of these results.
    """

    tables: Tables
    board: Board
    figures: Sequence[str]
    lacking: Sequence[str]
    seconds: pd.DataFrame
    remarks: str = ""


def page(content: Content) -> str:
    """The page in Markdown."""
    tables, board = content.tables, content.board
    present = set(board.regret["system"]) | set(board.density["system"])
    problems = [problem for problem in PROBLEMS if problem.system in present]
    sections = [
        _HEAD,
        *_lacking(content.lacking),
        "## Who is first",
        _RANKS,
        *_standings(board, is_shared=False),
        *_standings(board, is_shared=True),
        *(_picture(name) for name in content.figures),
        "## Targets",
        _targets(board, tables.optimization, content.seconds),
        "## Problems",
        about_problems(problems, tables),
        "## Notes",
        "\n".join(filter(None, [_notes(problems), content.remarks.strip()])),
        "## Problem by problem",
        _SCORES,
        *(section for problem in problems for section in scores_on(problem, board)),
        "## Provenance",
        _provenance(tables),
    ]
    return "\n\n".join(sections) + "\n"


def _lacking(lacking: Sequence[str]) -> list[str]:
    if not lacking:
        return []
    return ["**Not complete.** These lack results, and are left out as far as they do:", _bullets(lacking)]


def _standings(board: Board, *, is_shared: bool) -> list[str]:
    """A table for regret and one for log density."""
    parts = []
    for name, summary, step in (
        ("regret", board.regret, "evaluations"),
        ("negative log density", board.density, "rows"),
    ):
        table = standings(summary, is_shared=is_shared)
        if table.empty:
            continue
        most = int(table["problems"].max())
        where = f"on the {counted(most, 'problem')} that every method ran on" if is_shared else "over all problems"
        parts += [f"Mean rank in {name} {where}, by {step}:", pipe_table(_by_method(table, with_share=not is_shared))]
    return parts


def _by_method(table: pd.DataFrame, *, with_share: bool) -> pd.DataFrame:
    """Methods down, the best first; numbers of evaluations or rows across."""
    means = table["share"].groupby("model").mean().sort_values()
    lines = []
    for model in means.index:
        own = table.loc[model]
        cells = {f"at {at}": f"{own['share'][at]:.2f}" if with_share else f"{own['rank'][at]:.1f}" for at in own.index}
        ranks = {"mean of plain ranks": f"{own['rank'].mean():.1f}"} if with_share else {}
        firsts = ", ".join(f"{own['firsts'][at]:.0f}" for at in own.index)
        lines.append({"method": model, **cells, **ranks, "times first": firsts, "problems": str(own["problems"].max())})
    wanted = [f"at {at}" for at in RANKED_AT]
    wide = pd.DataFrame(lines).set_index("method")
    ordered = [name for name in wanted if name in wide] + [name for name in wide if name not in wanted]
    return wide[ordered].fillna("")


def _picture(name: str) -> str:
    return f"![{name}]({name}.svg)\n\n{_CAPTIONS[name]}"


def _targets(board: Board, optimization: pd.DataFrame, seconds: pd.DataFrame) -> str:
    found = targets(board, optimization, seconds)
    counts = {word: sum(target.verdict == word for target in found) for word in ("yes", "no", "open")}
    table = pd.DataFrame(
        [{"target": each.what, "wanted": each.wanted, "reached": each.reached, "": each.verdict} for each in found]
    )
    words = (
        f"Of {len(found)} targets Headstart reaches {counts['yes']} and misses {counts['no']}; {counts['open']} are "
        "open, for lack of results. Regret is normalised, log density negative: less is better."
    )
    return f"{words}\n\n{pipe_table(table.set_index('target'))}"


def _notes(problems: Sequence[Problem]) -> str:
    notes = [
        f"Slow methods ({', '.join(method.label for method in SLOW)}) are followed to {SHORT.evaluations} evaluations "
        f"and rows, the others to {FULL.evaluations}.",
        f"BayBE's fits are capped at {BAYBE.iterations} L-BFGS iterations, as are those of BoTorch's GPs here; some "
        "would take minutes to their own ends. The cap can only make BayBE faster.",
        "Each result says on what device it was computed. Headstart samples up to 500 rows on a CPU and up to 2,000 on "
        "a GPU; more are fitted by variational inference alone.",
        "Seconds beside results are those of jobs that ran side by side, on one day or another: compare those of the "
        "targets, which are taken one after another (`headstart benchmark --time`).",
        "BoTorch's multi-task GPs have the outcomes of all tasks standardised together: a task without rows has no "
        "scale of its own.",
        "Where a problem holds out some of its tasks alone, these are the first in its table.",
        *(_absence(method, problems) for method in SLOW if any(method in problem.without for problem in problems)),
        f'"{COMBINED.label}" is Headstart with all general inputs combined into one, as most peers see them, and the '
        f"kernel {COMBINED.kernel}. It runs where there are several, and is not ranked.",
        "GP without legacy and random choice know nothing before the first row: their first evaluation is the same, at "
        "random, and they have no density there. Random choice never has one.",
        "Where a problem is a function, Headstart, LVGP, GP without legacy and random choice may take any point, and "
        "the others choose among those where it is judged. On tables all choose among the rows of the task.",
        "A task whose rows are used up keeps its regret. Where it has too few rows to learn that many and be judged by "
        "others, it has no density there and is left out for all.",
    ]
    return _bullets(notes)


def _absence(method: Contender, problems: Sequence[Problem]) -> str:
    where = [problem.system for problem in problems if method in problem.without]
    return f"{method.label} would take hours on {', '.join(where)}, and does not run there."


def _provenance(tables: Tables) -> str:
    both = pd.concat([frame for frame in (tables.regression, tables.optimization) if len(frame)], ignore_index=True)
    ran = [
        {
            "method": method.label,
            "settings": ", ".join(f"{name} {value}" for name, value in method.settings.items() if name != "label"),
            "computed on": _devices(both[both["model"] == method.label]),
        }
        for method in METHODS
        if method.label in set(both["model"])
    ]
    lines = [
        f"Headstart {_listed(both['version'])}, revision {REVISION} of the results.",
        f"Seeds {both['seed'].min()} to {both['seed'].max()}. Intervals: {RESAMPLES} bootstrap resamples, seed {SEED}.",
        f"Installed when this page was written: {', '.join(filter(None, map(_installed, _LIBRARIES)))}.",
    ]
    return f"{_bullets(lines)}\n\n{pipe_table(pd.DataFrame(ran).set_index('method'))}"


def _installed(library: str) -> str:
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return ""


def _devices(rows: pd.DataFrame) -> str:
    """The devices, the most used first; of the others, on which problems."""
    most, *others = rows["device"].value_counts().index
    where = [f"{device} on {_listed(rows.loc[rows['device'] == device, 'system'])}" for device in others]
    return "; ".join([most, *where])


def _listed(values: pd.Series[str]) -> str:
    return ", ".join(sorted(set(values)))


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


_HEAD = """# The open benchmark of few-shot transfer

How well does a method start on a task that it has never seen, from the rows of others? `headstart benchmark` runs the
experiments and writes this page and its figures; every number comes from the files in `results/`.

In each trial a task is held out, and the rows of all others are known. In the one experiment the method chooses what to
evaluate next, and what counts is the regret: the distance of the best so far from the optimum, as a share of the task's
range. In the other it learns given rows, and its predictions of the rest are judged: by their negative log density, by
whether intervals hold the share of outcomes that they should, and by the continuous ranked probability score (CRPS).
Less is better, but for coverage."""

_RANKS = f"""On each problem methods are ranked by their mean score, over the trials that all methods there have; equal
means share the average of their ranks. Not all methods run on all problems, so ranks over all problems are given as a
share of the field: 0 is first on every problem, 1 is last on every problem. "Times first" counts problems, at
{", ".join(map(str, RANKED_AT))}, ties included."""

_SCORES = f"""Means over trials; in brackets the {100 * INTERVAL:.0f} % interval of the bootstrap over trials. Coverage
is that of the central 50, 80 and 95 % intervals, in percent. Seconds are medians over suggestions on a CPU."""
