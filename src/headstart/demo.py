"""The demonstration: a catalyst that was never tested, and ten experiments with it.

The archive holds catalysts for the oxidative coupling of methane. One is hidden, and its table of measured runs answers
for the laboratory: Headstart suggests a run, the table says what it gave, and so on. A Gaussian process that knows
nothing of the other catalysts, and blind choice, start from the same table.

It is a demonstration, not a benchmark: one hidden catalyst, one run. The result depends on the sample of the archive:
with 12 rows a legacy catalyst the first suggestion gives 18.88 % and the fourth 21.03 %, the best there is; with 8 rows
the first gave 21.03 %; with 6 rows it gave 11.63 %, and the best of ten suggestions 16.12 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood

from headstart.benchmark import datasets
from headstart.campaign import Campaign
from headstart.errors import HeadstartError
from headstart.report import save, write_report
from headstart.report.race import race
from headstart.shapes import Float
from headstart.tasks import Problem
from headstart.version import __version__

HIDDEN = "Mn-Na2WO4/SiO2"
PROBLEM = Problem(
    inputs={
        "temperature_c": (700, 900),
        "total_flow_ml_min": (10, 20),
        "ch4_o2_ratio": (2, 6),
        "ar_fraction": (0.15, 0.70),
    },
    general=["catalyst"],
    objective="c2_yield_pct",
    goal="maximize",
)
_STORE = "headstart-demo.db"  # a name that nobody else gives a database
_LEGACY_ROWS = 12  # a catalyst: few enough for a fit of some seconds
_REPEATS = 6  # of the lone Gaussian process, whose first runs are a guess
_FIRST_RUNS = 4  # of it, at random: with fewer it did worse


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What the demonstration found: the best yield after each round, for each way to choose."""

    outcomes: tuple[float, ...]
    best: dict[str, Float[np.ndarray, " k"]]
    optimum: float
    folder: Path

    @property
    def title(self) -> str:
        """The headline of the table."""
        return f"Best {PROBLEM.objective} of {HIDDEN} after each run (the best of all its runs: {self.optimum:.2f})"

    @property
    def conclusion(self) -> str:
        """What the table shows, in words, and where the pictures are."""
        lone = self.best["GP alone"]
        catch_up = np.flatnonzero(lone >= self.best["Headstart"][0])
        words = f"needs {catch_up[0] + 1} runs" if len(catch_up) else f"needs more than {len(lone)} runs"
        return (
            f"The first suggestion, made before any run of this catalyst, gave a yield of {self.outcomes[0]:.2f} %; "
            f"the best of all runs is {self.optimum:.2f} %. Without the other catalysts, a Gaussian process {words} to "
            f"be as good (the mean of {_REPEATS} tries with {_FIRST_RUNS} random runs first; 'random' is the "
            "expectation of random choice; Headstart ran once).\n"
            f"Report: {self.folder / 'report.html'}   Figure: {self.folder / 'race.png'}"
        )

    def table(self) -> pd.DataFrame:
        """One row a run."""
        return pd.DataFrame({"run": range(1, len(self.outcomes) + 1), "suggested run gave": self.outcomes, **self.best})

    def to_dict(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "headstart": __version__,
            "hidden": HIDDEN,
            "optimum": self.optimum,
            "outcomes": list(self.outcomes),
            "best": {name: values.tolist() for name, values in self.best.items()},
            "files": [str(self.folder / name) for name in ("report.html", "race.png", _STORE)],
        }


def run(folder: Path, *, rounds: int = 10, say: Callable[[str], None] = print) -> Demonstration:
    """Hide a catalyst, run the campaign against its table, and write the report and the figure into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in ("", "-wal", "-shm"):  # each demonstration is a new campaign
            (folder / f"{_STORE}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise HeadstartError(
            f"The folder {folder} cannot be used: {error.strerror}. Give another with --folder."
        ) from error
    legacy, hidden = _data()
    say(f"{len(legacy)} runs of {legacy['catalyst'].nunique()} catalysts; hidden: {HIDDEN} with {len(hidden)} runs.")
    campaign = Campaign.create("demo", legacy, PROBLEM, store=folder / _STORE)
    say("Fitting ...")
    outcomes = []
    for step in range(rounds):
        suggestion = campaign.suggest({"catalyst": HIDDEN}, candidates=hidden)
        measured = float(hidden.loc[suggestion.index, PROBLEM.objective].item())
        campaign.observe(measured, suggestion=int(suggestion["suggestion"].item()))
        outcomes.append(measured)
        expected = (
            f"{suggestion['mean'].item():.1f} ({suggestion['lower'].item():.1f} to {suggestion['upper'].item():.1f})"
        )
        say(f"run {step + 1}: expected {expected}, measured {measured:.2f}")
    lone = np.mean([_gp_alone(hidden, rounds, seed) for seed in range(_REPEATS)], axis=0)
    best = {
        "Headstart": np.maximum.accumulate(outcomes),
        "GP alone": lone,
        "random": _random_choice(hidden[PROBLEM.objective].to_numpy(), rounds),
    }
    result = Demonstration(tuple(outcomes), best, float(hidden[PROBLEM.objective].max()), folder)
    write_report(campaign, folder / "report.html")
    save(race(best, optimum=result.optimum, objective=PROBLEM.objective), folder / "race.png")
    return result


def _data() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Some runs of each legacy catalyst, and every run of the hidden one."""
    whole = datasets.load("ocm_catalysts")
    tasks = datasets.additive_shape(seed=0)["catalyst"].unique()
    legacy = whole[whole["catalyst"].isin(tasks) & (whole["catalyst"] != HIDDEN)]
    legacy = legacy.groupby("catalyst").sample(_LEGACY_ROWS, random_state=0)
    columns = [*PROBLEM.general, *PROBLEM.inputs, PROBLEM.objective]
    hidden = whole.loc[whole["catalyst"] == HIDDEN, columns].drop_duplicates([*PROBLEM.inputs])
    return legacy[columns].reset_index(drop=True), hidden.reset_index(drop=True)


def _gp_alone(hidden: pd.DataFrame, rounds: int, seed: int) -> Float[np.ndarray, " k"]:
    """The best so far of BoTorch's Gaussian process with expected improvement, on the hidden catalyst alone."""
    low, high = PROBLEM.bounds
    X = torch.tensor((hidden[[*PROBLEM.inputs]].to_numpy() - low) / (high - low))
    y = torch.tensor(hidden[[PROBLEM.objective]].to_numpy())
    chosen = np.random.default_rng(seed).choice(len(X), _FIRST_RUNS, replace=False).tolist()[:rounds]
    while len(chosen) < rounds:
        model = SingleTaskGP(X[chosen], y[chosen])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        with torch.no_grad():
            score = LogExpectedImprovement(model, best_f=y[chosen].max())(X.unsqueeze(-2))
        score[chosen] = -torch.inf
        chosen.append(int(score.argmax()))
    return np.maximum.accumulate(y[chosen].flatten().numpy())


def _random_choice(outcomes: Float[np.ndarray, " n"], rounds: int) -> Float[np.ndarray, " k"]:
    """The expected best of k runs drawn without replacement, exactly.

    Of n ordered outcomes the i-th is the best of k drawn ones with probability C(i - 1, k - 1) / C(n, k), which is
    k / i times the probability that all k are among the first i.
    """
    ordered = np.sort(outcomes)
    n = len(ordered)
    i = np.arange(1, n + 1)
    all_among = np.ones(n)  # probability that k drawn ones are all among the first i
    expected = []
    for k in range(1, rounds + 1):
        all_among = all_among * np.maximum(i - k + 1, 0) / (n - k + 1)
        expected.append(float(np.sum(ordered * all_among * k / i)))
    return np.array(expected)
