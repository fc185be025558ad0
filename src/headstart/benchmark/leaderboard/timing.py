"""How long a suggestion takes: methods at their own defaults, alone, one after another in one process.

The seconds beside results are those of jobs that ran side by side, on different days. Here each method is told two rows
of a new task, on the same trials, and asked for the next point, twice: the second time what had to be compiled is.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from headstart.benchmark.contenders import Contender
from headstart.benchmark.experiments.optimization import choose
from headstart.benchmark.leaderboard.plan import HEADSTART, SAAS
from headstart.benchmark.peers import BayBE
from headstart.benchmark.systems import get_system
from headstart.version import __version__
from headstart.writing import write_whole

FAMILIES = ("toy-fresh", "forrester-fresh")
# Its fits in the benchmark are capped; here they go to their own ends.
UNCAPPED = BayBE(iterations=None)
_KNOWN = 2
_FILE = "seconds.parquet"


def time_suggestions(
    folder: Path,
    *,
    methods: Sequence[Contender] = (HEADSTART, SAAS, UNCAPPED),
    systems: Sequence[str] = FAMILIES,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> pd.DataFrame:
    """Seconds of every method and system, the first and the second time; kept in the folder of results."""
    rows = []
    for method in methods:
        for system in systems:
            trial = method.sees(get_system(system).trial("current", seed))
            known = trial.order_x[:_KNOWN], trial.order_y[:_KNOWN]
            before = method.begin([trial], [seed], device="cpu")
            for repeat in range(2):
                started = time.perf_counter()
                [belief] = method.learn(before, [trial], [seed], [known], _KNOWN)
                choose(belief, trial, known[0], listed=method.listed, seed=seed)
                seconds = time.perf_counter() - started
                say(f"{method.label} on {system}: {seconds:.2f} s")
                rows.append({"model": method.label, "system": system, "repeat": repeat, "seconds": seconds})
    found = pd.DataFrame(rows).assign(seed=seed, version=__version__)
    buffer = io.BytesIO()
    found.to_parquet(buffer, engine="pyarrow", index=False)
    write_whole(folder / _FILE, buffer.getvalue())
    return found


def timed(folder: Path) -> pd.DataFrame:
    """What was kept there, if anything."""
    path = folder / _FILE
    return pd.read_parquet(path) if path.exists() else pd.DataFrame({"model": [], "repeat": [], "seconds": []})


def median_seconds(found: pd.DataFrame, model: str) -> float:
    """Of a method, the second time; NaN where it was not timed."""
    own = found[(found["model"] == model) & (found["repeat"] > 0)]["seconds"]
    return float(own.median()) if len(own) else np.nan
