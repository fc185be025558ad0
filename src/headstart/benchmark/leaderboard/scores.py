r"""Scores from results: means with their uncertainty, ranks, and how often a method is first.

A trial is a held-out task with a seed. On a problem, methods are compared on the trials that all methods with results
there have, so that none is judged by easier ones. Of each number of evaluations or rows, a summary has a line a problem
and method:

    system, at, model   which; `at` is the number of evaluations or rows
    trials              how many were averaged
    mean, low, high     of the score, with a 90 % interval of the bootstrap over trials

The rank of a method on a problem is that of its mean score, 1 for the least; equal means share the average of their
ranks. Slow methods do not run everywhere, and to be third of four is worse than to be third of eleven. So what is
averaged over problems is the rank as a share of the field,

    share = (rank - 1) / (methods - 1),     0 for the first, 1 for the last;

the plain rank is kept beside it. A variant of Headstart is no rival of it, and is not ranked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from headstart.benchmark.leaderboard.plan import COMBINED
from headstart.benchmark.tables import Tables, carried_on
from headstart.shapes import Float

RANKED_AT = (1, 2, 3, 5)
NOMINAL = (0.5, 0.8, 0.95)
INTERVAL, RESAMPLES, SEED = 0.9, 2000, 0
COLUMNS = ("system", "at", "model", "trials", "mean", "low", "high")


@dataclass(frozen=True, eq=False)
class Board:
    """All summaries.

    Attributes:
        regret: the best so far, as a share of the task's range away from the optimum; by evaluations.
        density: the mean negative log density of measurements, in nats; by rows.
        coverage: the share of outcomes inside central intervals, with the share it should be as `nominal`; by rows.
        crps: the continuous ranked probability score, in units of the outcome; by rows.
        seconds: the median time of a suggestion on a CPU; by problem and method.
    """

    regret: pd.DataFrame
    density: pd.DataFrame
    coverage: pd.DataFrame
    crps: pd.DataFrame
    seconds: pd.DataFrame


def board_of(tables: Tables) -> Board:
    """The summaries of results."""
    regression, optimization = tables.regression, tables.optimization
    covered = [
        summarise(regression, by="rows", score=f"covered_{100 * nominal:.0f}").assign(nominal=nominal)
        for nominal in NOMINAL
    ]
    return Board(
        summarise(optimization, by="evaluation", score="normalised_regret"),
        summarise(regression, by="rows", score="mixture_nlpd"),
        pd.concat(covered, ignore_index=True),
        summarise(regression, by="rows", score="crps"),
        on_cpu(optimization).groupby(["system", "model"])["seconds"].median().reset_index(),
    )


def on_cpu(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose seconds can be compared: on a GPU, trials are computed together."""
    return rows[rows["device"] == "cpu"] if len(rows) else pd.DataFrame(columns=["system", "model", "seconds"])


def summarise(rows: pd.DataFrame, *, by: str, score: str) -> pd.DataFrame:
    """Mean and interval of a score, for each problem and method and at each number of evaluations or rows.

    >>> rows = pd.DataFrame({"system": "toy", "task": "a", "seed": [0, 1, 0], "model": ["GP", "GP", "random"]})
    >>> summary = summarise(rows.assign(rows=1, crps=[0.2, 9.0, 0.3]), by="rows", score="crps")
    >>> summary[["model", "trials", "mean"]].to_numpy().tolist()  # random has no trial with seed 1
    [['GP', 1, 0.2], ['random', 1, 0.3]]
    """
    if rows.empty:
        return pd.DataFrame(columns=[*COLUMNS])
    parts = [
        {"system": system, "at": at, **line}
        for system, runs in rows.groupby("system", sort=False)
        for at, trials in trials_of(runs, by=by, score=score).items()
        for line in _lines(trials)
    ]
    return pd.DataFrame(parts, columns=[*COLUMNS])


def trials_of(runs: pd.DataFrame, *, by: str, score: str) -> dict[int, pd.DataFrame]:
    """Of one problem, at each number of evaluations or rows: trials down, methods across, and no holes.

    A method is absent where it has no score at all: where it was not followed so far, or cannot predict yet.
    """
    if by == "evaluation":
        last = runs.groupby("model")["evaluation"].max()
        lasting = carried_on(runs, score)
        # Those that were stopped early are not carried on.
        runs = lasting[lasting["evaluation"] <= lasting["model"].map(last)].dropna()
    methods = runs.groupby(["task", "seed"])["model"].transform("nunique")
    shared = runs[methods == runs["model"].nunique()]
    wide = shared.pivot(index=[by, "task", "seed"], columns="model", values=score)
    parts = {int(at): wide.loc[[at]].dropna(axis="columns", how="all").dropna() for at in sorted(set(shared[by]))}
    return {at: trials for at, trials in parts.items() if trials.size}


def _lines(trials: pd.DataFrame) -> Iterator[dict[str, object]]:
    """A line a method."""
    values = trials.to_numpy(dtype=float)
    low, high = bootstrap_interval(values)
    for place, model in enumerate(trials.columns):
        of_mean = {"mean": values[:, place].mean(), "low": low[place], "high": high[place]}
        yield {"model": model, "trials": len(values), **of_mean}


def bootstrap_interval(values: Float[np.ndarray, "t m"]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The central interval of the means of resampled trials, the same resamples for all methods.

    >>> bootstrap_interval(np.array([[1.0], [1.0]]))  # all trials agree
    (array([1.]), array([1.]))
    """
    means = _weights(len(values)) @ values
    tail = (1 - INTERVAL) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


@lru_cache(maxsize=64)
def _weights(trials: int) -> Float[np.ndarray, "b t"]:
    """How often each trial is in each resample, as shares."""
    random = np.random.default_rng(SEED)
    return random.multinomial(trials, np.full(trials, 1 / trials), size=RESAMPLES) / trials


def ranks(summary: pd.DataFrame) -> pd.DataFrame:
    """The lines of a summary that are ranked, with `rank`, `share` and whether the method `is_first`."""
    ranked = summary[summary["at"].isin(RANKED_AT) & (summary["model"] != COMBINED.label)]
    means = ranked.groupby(["system", "at"])["mean"]
    rank, field = means.rank(), means.transform("size")
    ranked = ranked.assign(
        rank=rank, share=(rank - 1) / (field - 1).clip(lower=1), is_first=ranked["mean"] == means.transform("min")
    )
    return ranked[field > 1]


def standings(summary: pd.DataFrame, *, is_shared: bool = False) -> pd.DataFrame:
    """Mean rank and share over problems, by method and number of evaluations or rows, and how often it is first.

    With `is_shared`, over those problems alone on which every method ran that ran at all.

    >>> summary = pd.DataFrame({"system": [*"aabb"], "at": 1, "model": ["GP", "LVGP"] * 2, "mean": [1.0, 2, 3, 3]})
    >>> standings(summary)[["rank", "share", "firsts", "problems"]].to_numpy().tolist()  # a tie on b
    [[1.25, 0.25, 2.0, 2.0], [1.75, 0.75, 1.0, 2.0]]
    """
    ranked = ranks(summary)
    if is_shared:
        field = ranked.groupby(["system", "at"])["model"].transform("nunique")
        ranked = ranked[field == ranked.groupby("at")["model"].transform("nunique")]
    return ranked.groupby(["model", "at"]).agg(
        rank=("rank", "mean"), share=("share", "mean"), firsts=("is_first", "sum"), problems=("rank", "size")
    )
