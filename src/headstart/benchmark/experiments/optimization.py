r"""Optimization: how good is the best of the first 1, 2, 3, ... evaluations of the current task?

The loop is the paper's Algorithm BO: fit, choose, evaluate. On functions the choice is expected improvement, and the
best mean before there is a row; on finite sets it is the probability of being best (eq. prob-best) for the paper's
models and the expected gain for Headstart. A method that knows nothing yet chooses at random. Peers choose among the
points where the task is judged. Simple regret is the distance of the best so far from the optimum, without noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import ClassVar

import numpy as np
import pandas as pd

from headstart.acquisition import Space, choose_from_candidates, choose_from_space
from headstart.benchmark.beliefs import PeerBelief, free_places
from headstart.benchmark.contenders import Belief, Contender, Counted, Rows, current_rows, unit_cube
from headstart.benchmark.systems import Trial
from headstart.errors import checked_whole
from headstart.shapes import Float

# Steps of one trial, and trials of neighbouring seeds, draw different random numbers.
_SEEDS_APART = 1000


@dataclass(frozen=True)
class Optimization:
    """The experiment, for that many evaluations."""

    evaluations: int = 10

    name: ClassVar[str] = "optimization"

    def __post_init__(self) -> None:
        checked_whole("evaluations", self.evaluations, low=1)

    def run(
        self,
        trials: Sequence[Trial],
        contender: Contender,
        seeds: Sequence[int],
        *,
        device: str = "cpu",
        progress: Callable[[float], None] = lambda share: None,
    ) -> list[pd.DataFrame]:
        """A frame a trial: a row an evaluation. A trial whose finite set is used up ends there."""
        trials = [contender.sees(trial) for trial in trials]
        rows: list[Rows] = [(trial.x[:0], trial.y[:0]) for trial in trials]
        truths: list[list[float]] = [[] for _ in trials]
        seconds: list[float] = []
        running, beliefs = list(range(len(trials))), list[Belief]()
        for step in range(self.evaluations):
            started = time.perf_counter()
            lasting = [trials[i].function is not None or len(trials[i].y) > step for i in running]
            running, beliefs = list(compress(running, lasting)), list(compress(beliefs, lasting))
            if not running:
                break
            current, seeded = [trials[i] for i in running], [seeds[i] for i in running]
            if step == 0:
                beliefs = contender.begin(current, seeded, device=device)
            else:
                beliefs = contender.learn(beliefs, current, seeded, [rows[i] for i in running], 1)
            for i, belief in zip(running, beliefs, strict=True):
                seed = seeds[i] + _SEEDS_APART * step
                point, truth = choose(belief, trials[i], rows[i][0], listed=contender.listed, seed=seed)
                truths[i].append(float(truth[0]))
                measured = measure(trials[i], truth, seed=seed)
                rows[i] = np.concatenate([rows[i][0], point]), np.concatenate([rows[i][1], measured])
            seconds.append((time.perf_counter() - started) / len(running))
            progress((step + 1) / self.evaluations)
        return [history(trial, np.array(y), seconds[: len(y)]) for trial, y in zip(trials, truths, strict=True)]


def measure(trial: Trial, truth: Float[np.ndarray, " k"], *, seed: int) -> Float[np.ndarray, " k"]:
    """What a measurement of the current task gives."""
    return truth + trial.noise * np.random.default_rng([seed, 1]).standard_normal(len(truth))


def choose(belief: Belief, trial: Trial, measured: Float[np.ndarray, "m d"], *, listed: str, seed: int) -> Rows:
    """The next point and its outcome without noise; `listed` is how finite sets are chosen from."""
    if belief is None:
        return _random(trial, measured, seed)
    if isinstance(belief, PeerBelief):
        free = free_places(trial.x, measured)
        place = free[[belief.choose(trial.x[free])]]
        return trial.x[place], trial.y[place]
    value = None
    if isinstance(belief, Counted):
        belief, value = belief.model, belief.outcomes.value
    done, none = (current_rows(trial, (x, np.zeros(len(x))))[0].to(belief.train_X) for x in (measured, measured[:0]))
    known = (done, none, none)  # measured, pending, avoided
    if trial.function is None:
        candidates, _ = current_rows(trial, (trial.x, trial.y))
        choice = choose_from_candidates(
            belief, candidates.to(belief.train_X), *known, n=1, acquisition=listed, seed=seed, value=value
        )
        return trial.x[choice.places], trial.y[choice.places]
    inputs = trial.x.shape[-1]
    general = {inputs + g: float(code) for g, code in enumerate(trial.current_codes)}
    space = Space(unit_cube(trial).to(belief.train_X), general)
    choice = choose_from_space(belief, space, *known, n=1, acquisition="auto", seed=seed)
    x = choice.points[:, :inputs].cpu().numpy()
    return x, trial.function(x)


def history(trial: Trial, y: Float[np.ndarray, " k"], seconds: Sequence[float]) -> pd.DataFrame:
    """Outcome, best so far and regret of every evaluation; where all outcomes are the same, regret has no unit."""
    best = trial.sign * np.maximum.accumulate(trial.sign * y)
    regret = trial.sign * (trial.optimum - best)
    return pd.DataFrame(
        {
            "evaluation": np.arange(1, len(y) + 1),
            "outcome": y,
            "best": best,
            "regret": regret,
            "normalised_regret": regret / trial.spread if trial.spread else np.nan,
            "seconds": seconds,
        }
    )


def _random(trial: Trial, measured: Float[np.ndarray, "m d"], seed: int) -> Rows:
    random = np.random.default_rng(seed)
    if trial.function is not None:
        x = random.random((1, trial.x.shape[-1]))
        return x, trial.function(x)
    place = random.choice(free_places(trial.x, measured), 1)
    return trial.x[place], trial.y[place]
