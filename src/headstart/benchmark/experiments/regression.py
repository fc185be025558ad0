r"""Regression: how well is the current task predicted after 0, 1, 2, 3, 5, 10 of its rows?

After each number of rows, over the points that are judged, of the paper's Gaussian N(m, s^2) with the moments of the
predictive distribution of y, noise included:

    rmse, mae           of the mean
    nlpd, median_nlpd   mean and median of -log N(y | m, s^2)   (the paper's MNLP is the median)
    coverage            share of outcomes inside the central 80 % interval

and of the predictive distribution itself, a mixture of normals where a model has draws:

    mixture_nlpd            mean of -log p(y)
    crps                    mean continuous ranked probability score
    covered_50, _80, _95    shares of outcomes inside the central intervals
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import ClassVar

import numpy as np
import pandas as pd
import torch
from scipy import stats

from headstart.benchmark.beliefs import PeerBelief
from headstart.benchmark.contenders import Contender, Counted, current_rows
from headstart.benchmark.systems import Trial
from headstart.errors import ProblemError, checked_whole
from headstart.models.ensemble_model import EnsembleModel
from headstart.models.mixture import Mixture, measurements
from headstart.shapes import Float

COUNTS = (0, 1, 2, 3, 5, 10)
INTERVAL = 0.8
GAUSSIAN_SCORES = ("rmse", "mae", "nlpd", "median_nlpd", "coverage")
INTERVALS = (0.5, 0.8, 0.95)
SCORES = (*GAUSSIAN_SCORES, "mixture_nlpd", "crps", *(f"covered_{interval:.0%}".rstrip("%") for interval in INTERVALS))


@dataclass(frozen=True)
class Regression:
    """The experiment, for those numbers of current rows."""

    counts: tuple[int, ...] = COUNTS

    name: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        for count in self.counts:
            checked_whole("counts", count)
        if not self.counts or list(self.counts) != sorted({*self.counts}):
            raise ProblemError(f"counts={self.counts} must rise: a row that was learned stays learned.")

    def run(
        self,
        trials: Sequence[Trial],
        contender: Contender,
        seeds: Sequence[int],
        *,
        device: str = "cpu",
        progress: Callable[[float], None] = lambda share: None,
    ) -> list[pd.DataFrame]:
        """A frame a trial: a row a number of current rows.

        Scores are missing where nothing can be predicted, where a trial has no such number of rows to learn, and where
        it has none left to be judged by.
        """
        trials = [contender.sees(trial) for trial in trials]
        found: list[list[dict[str, float]]] = [[] for _ in trials]
        started = time.perf_counter()
        beliefs, learned = contender.begin(trials, seeds, device=device), 0
        running = list(range(len(trials)))
        for step, count in enumerate(self.counts, start=1):
            lasting = [count <= len(trials[i].order_y) and len(trials[i].judged(count)[1]) > 0 for i in running]
            running, beliefs = list(compress(running, lasting)), list(compress(beliefs, lasting))
            current, seeded = [trials[i] for i in running], [seeds[i] for i in running]
            if count > learned and running:
                rows = [(trial.order_x[:count], trial.order_y[:count]) for trial in current]
                beliefs, learned = contender.learn(beliefs, current, seeded, rows, count - learned), count
            seconds = (time.perf_counter() - started) / max(len(running), 1)
            for frame in found:
                frame.append({"rows": count})
            for i, trial, belief in zip(running, current, beliefs, strict=True):
                if belief is not None:
                    x, y = trial.judged(count)
                    found[i][-1] |= all_scores(y, predict(belief, trial, x))
                found[i][-1] |= {"seconds": seconds}
            progress(step / len(self.counts))
            started = time.perf_counter()
        columns = ["rows", *SCORES, "seconds"]
        return [pd.DataFrame(frame).reindex(columns=columns) for frame in found]


def predict(belief: EnsembleModel | Counted | PeerBelief, trial: Trial, x: Float[np.ndarray, "t d"]) -> Mixture:
    """Predictions of measurements, in the units of the outcomes."""
    if isinstance(belief, PeerBelief):
        return belief.predict(x)
    X, _ = current_rows(trial, (x, np.zeros(len(x))))
    if isinstance(belief, Counted):
        return measurements(belief.model, X, belief.outcomes)
    with torch.no_grad():
        posterior = belief.posterior(X.to(belief.train_X).unsqueeze(-2), observation_noise=True)
        mean, variance = (part.reshape(len(x), -1).T.cpu().numpy() for part in (posterior.mean, posterior.variance))
    return Mixture(trial.sign * mean, np.sqrt(variance))


def all_scores(y: Float[np.ndarray, " t"], predicted: Mixture) -> dict[str, float]:
    """The scores of the Gaussian with the mixture's moments, and of the mixture."""
    below = predicted.cdf(y)
    tails = np.minimum(below, 1 - below)
    covered = {
        name: float(np.mean(tails >= 0.5 * (1 - interval)))
        for name, interval in zip(SCORES[-len(INTERVALS) :], INTERVALS, strict=True)
    }
    return {
        **scores_of(y, *predicted.moments),
        "mixture_nlpd": float(-predicted.log_density(y).mean()),
        "crps": float(predicted.crps(y).mean()),
        **covered,
    }


def scores_of(
    y: Float[np.ndarray, " t"], mean: Float[np.ndarray, " t"], sd: Float[np.ndarray, " t"]
) -> dict[str, float]:
    """The scores of Gaussian predictions.

    >>> scores = scores_of(np.array([0.0, 2.0]), np.array([0.0, 0.0]), np.array([1.0, 1.0]))
    >>> {name: round(value, 3) for name, value in scores.items()}
    {'rmse': 1.414, 'mae': 1.0, 'nlpd': 1.919, 'median_nlpd': 1.919, 'coverage': 0.5}
    """
    error = y - mean
    surprise = -stats.norm.logpdf(y, mean, sd)
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
        "nlpd": float(np.mean(surprise)),
        "median_nlpd": float(np.median(surprise)),
        "coverage": float(np.mean(np.abs(error) <= stats.norm.ppf(0.5 + INTERVAL / 2) * sd)),
    }
