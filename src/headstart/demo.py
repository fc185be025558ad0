"""The demonstration: a catalyst that was never tested, and the first experiment to run with it.

The archive holds 35 catalysts for the oxidative coupling of methane, 24 runs each. One is hidden. From the other 34 the
surrogate suggests how to run it first, out of the settings that were in truth tried.
"""

from __future__ import annotations

import sys
import time

from headstart import Problem, fit
from headstart.benchmark import datasets

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


def main() -> None:
    """Hide a catalyst, fit the rest, and print the first suggestion for it beside the truth."""
    archive = datasets.additive_shape(seed=0)
    hidden = archive[archive["catalyst"] == HIDDEN]
    legacy = archive[archive["catalyst"] != HIDDEN]
    print(f"{len(legacy)} runs of {legacy['catalyst'].nunique()} catalysts; hidden: {HIDDEN}")
    began = time.perf_counter()
    surrogate = fit(legacy, PROBLEM, seed=0, progress=show if sys.stdout.isatty() else None)
    print(f"fitted in {time.perf_counter() - began:.1f} s{'':40}")
    task = {"catalyst": HIDDEN}
    best = surrogate.suggest(task, n=3, candidates=hidden.drop(columns=PROBLEM.objective))
    print(f"\nThe first experiments to run with {HIDDEN}, before any measurement of it:\n")
    shown = best.assign(measured=hidden.loc[best.index, PROBLEM.objective])
    print(shown.round(3).to_string(index=False))
    yields = hidden[PROBLEM.objective]
    print(
        f"\nOf its {len(hidden)} runs the best gave {yields.max():.2f} %, the median {yields.median():.2f} %;"
        f" the first suggestion gave {shown['measured'].iloc[0]:.2f} %."
    )


def show(evaluations: int, elbo: float) -> None:
    """One line that is written over."""
    print(f"fitting: {evaluations} evaluations, ELBO {elbo:.1f}", end="\r", flush=True)


if __name__ == "__main__":
    main()
