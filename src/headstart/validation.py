r"""Would legacy data have helped? Each task of an archive in turn is taken for a new one, predicted from the others.

A model of the other tasks' rows predicts the held-out task before it has a row (zero shots), and again each time some
of its rows are learned: k of n, drawn at random, several times over. What is judged are predictions of measurements on
the n - k rows that were not learned. Outcomes are counted as the other tasks' rows suggest. With p the predictive
mixture, not a normal with its moments,

    rmse = sqrt(mean (y - E[y])^2),     log density = mean log p(y),     coverage = share with 0.1 <= P(Y < y) <= 0.9,

for a central interval of 80 %. The opponent gets the same rows and no legacy data, but the other tasks' mean and
standard deviation to begin with, and their scale of outcomes: at zero shots it predicts the normal with just these for
every row; from one shot on it is a GP in these units whose hyperparameters are drawn, see `headstart.models.alone`.

The gain is what legacy data are worth, in nats a row: d_ri = log p(y_i) - log p_alone(y_i) in repeat r, averaged. Each
row appears in several repeats and each repeat judges several rows, so the mean of r repeats and n rows has, on the safe
side (it counts what is left of a cell's own variance twice), the squared standard error

    e^2 = var_i(mean_r d_ri) / n + var_r(mean_i d_ri) / r.

A task's verdict is that of the gain over all shots but zero: legacy data help, or hurt, if it is beyond 0.1 nats (as
errors and intervals that are a tenth smaller would make it) and beyond t e, with t the 97.5 % quantile of Student's
distribution with n - 1 degrees of freedom. Otherwise there is no clear difference, as always where a single row was
judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import stats
from torch import Tensor

from headstart.errors import DataError, ProblemError, checked_whole
from headstart.models import BEGP, HMC, LBFGS
from headstart.models.alone import task_alone
from headstart.models.evidence import AnyKernel, fit_likeliest
from headstart.models.mixture import Mixture, measurements
from headstart.models.outcomes import Outcomes
from headstart.shapes import Bool, Float, Int
from headstart.tasks import Levels

INTERVAL = 0.8
"""The probability that the judged intervals promise."""

VERDICTS = ("helps", "hurts", "no clear difference")

_SCORES = ("rmse", "log_density", "coverage")
COLUMNS = ("shots", "rows", *_SCORES, *(f"alone_{name}" for name in _SCORES), "gain", "gain_error", "verdict")

_WORTH = 0.1  # nats a row, below which nobody would notice
_CONFIDENCE = 0.95

Progress = Callable[[int, int, str], None]
"""Told of the tasks done, of how many, and of the one that comes next."""


def validate_tasks(
    model: BEGP,
    levels: Levels,
    *,
    outcomes: Outcomes,
    kernels: Sequence[AnyKernel],
    tasks: int | None = None,
    shots: Iterable[int] = (0, 1, 3),
    repeats: int = 3,
    seed: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """One row a task and number of shots: labels, shots, rows judged, scores with and without legacy data, verdict.

    Args:
        model: of all rows; others are fitted with its settings.
        levels: the labels of its general inputs.
        outcomes: how the model counts outcomes; scores are in the user's units.
        kernels: those among which the evidence chooses, for each held-out task anew.
        tasks: hold out so many of them, those with most rows; all when left out.
        shots: after how many rows of the held-out task to predict the others. A task with too few has no row of it.
        repeats: how often to draw the rows that are learned.
        seed: of fits and draws: the same seed gives the same frame.
        progress: called before each task and at the end; what it raises ends the validation.
    """
    learned = sorted({checked_whole("shots", count) for count in shots})
    if not learned:
        raise ProblemError("shots=() names no number of rows to learn: give some, such as shots=(0, 1, 3).")
    repeats, seed = checked_whole("repeats", repeats, low=1), checked_whole("seed", seed)
    report = progress or (lambda done, total, text: None)
    for name in levels.general:
        if name in COLUMNS:
            raise ProblemError(f"Column {name!r} has the name of a score: rename it.")
    codes = model.train_X[:, list(model.general)].cpu().numpy().astype(int)
    chosen, count = _chosen(codes, levels, tasks)
    rows: list[dict[str, Any]] = []
    for done, (place, own) in enumerate(chosen):
        first = codes[own.argmax()]
        task = {name: levels[name][code] for name, code in zip(levels.general, first, strict=True)}
        report(done, len(chosen), ", ".join(f"{name} = {label}" for name, label in task.items()))
        cells = dict(_judged(model, outcomes, kernels, own, learned, repeats, seed=seed, stream=place))
        rows += [task | scores for scores in _summary(cells)]
    report(len(chosen), len(chosen), "done")
    frame = pd.DataFrame(rows, columns=[*levels.general, *COLUMNS])
    frame.attrs |= {"interval": INTERVAL, "repeats": repeats, "seed": seed, "archive_tasks": count}
    return frame


def _chosen(
    codes: Int[np.ndarray, "n g"], levels: Levels, tasks: int | None
) -> tuple[list[tuple[int, Bool[np.ndarray, " n"]]], int]:
    """The tasks to hold out, in order of appearance: each one's place and rows. And how many tasks there are."""
    seen = list(dict.fromkeys(map(tuple, codes.tolist())))
    if len(seen) < 2:
        names = " and ".join(map(repr, levels.general))
        raise DataError(
            f"There is one task only in {names}, and validation predicts each task from the others. Add experiments of "
            "another task, or name the general input that tells the tasks apart."
        )
    own = [(codes == code).all(-1) for code in seen]
    largest = sorted(range(len(seen)), key=lambda place: -own[place].sum())  # stable: of equal ones the first
    wanted = len(seen) if tasks is None else checked_whole("tasks", tasks, low=1)
    return [(place, own[place]) for place in sorted(largest[:wanted])], len(seen)


def _judged(
    model: BEGP,
    outcomes: Outcomes,
    kernels: Sequence[AnyKernel],
    own: Bool[np.ndarray, " n"],
    shots: list[int],
    repeats: int,
    *,
    seed: int,
    stream: int,
) -> Iterator[tuple[int, Float[np.ndarray, "2 r m 3"]]]:
    """For each number of shots, the scores of every repeat and row, with legacy data and alone; NaN where learned."""
    is_own = torch.from_numpy(own).to(model.train_X.device)
    shots = [count for count in shots if count < own.sum()]
    if not shots:
        return
    y = outcomes.outside(model.train_Y[:, 0].cpu().numpy())
    # The held-out task must not decide by which scale it is judged, nor by which kernel it is predicted.
    outcomes = Outcomes.of(y[~own], sign=outcomes.sign)
    counted = torch.from_numpy(outcomes.inside(y)).to(model.train_Y).unsqueeze(-1)
    X, Y, y = model.train_X[is_own], counted[is_own], y[own]
    legacy = _refitted(model, counted, kernels, ~is_own, seed)
    if shots[0] == 0:
        centre, scale = (
            value.expand(1, len(X)).cpu().numpy() for value in (legacy.scaling.centre, legacy.scaling.scale)
        )
        sides = measurements(legacy, X, outcomes), Mixture(centre, scale, outcomes)
        yield 0, np.stack([_scores(side, y) for side in sides])[:, None]
    random = np.random.default_rng((seed, stream))
    orders = [torch.from_numpy(random.permutation(len(X))) for _ in range(repeats)]
    # Each repeat goes on from its own last model; only the latest ones are kept.
    beliefs, before = [legacy] * repeats, 0
    for count in (count for count in shots if count > 0):
        cells = np.full((2, repeats, len(X), len(_SCORES)), np.nan)
        for repeat, order in enumerate(orders):
            new, known, rest = order[before:count], order[:count], order[count:]
            beliefs[repeat] = beliefs[repeat].observe(X[new], Y[new])
            alone = task_alone(legacy, X[known], Y[known], seed=seed)
            for side, belief in enumerate((beliefs[repeat], alone)):
                cells[side, repeat, rest] = _scores(measurements(belief, X[rest], outcomes), y[rest.numpy()])
        before = count
        yield count, cells


def _refitted(
    model: BEGP, Y: Float[Tensor, "n 1"], kernels: Sequence[AnyKernel], rows: Bool[Tensor, " n"], seed: int
) -> BEGP:
    """A model of these outcomes with the settings of another: by HMC if that one holds draws, else by L-BFGS-B."""
    X, Y = model.train_X[rows], Y[rows]

    def build(kernel: AnyKernel, some: Int[Tensor, " k"]) -> BEGP:
        return type(model)(
            X[some],
            Y[some],
            model.general,
            latent_dim=dict(zip(model.general, model.structure.latent_dims, strict=True)),
            kernel=kernel,
            embedding=model.variational_family,
            bounds=model.bounds,
            posterior_draws=model.variational_draws,
        )

    is_drawn = model.vector is not None and model.vector.dim() == 2
    inference = model.sampler or (HMC() if is_drawn else LBFGS())
    return fit_likeliest(build, kernels, len(X), seed=seed, inference=inference)


def _scores(predicted: Mixture, y: Float[np.ndarray, " m"]) -> Float[np.ndarray, "m 3"]:
    """Squared error, log density, and whether it lies inside its interval, of every row."""
    below = predicted.cdf(y)
    inside = np.minimum(below, 1 - below) >= 0.5 * (1 - INTERVAL)
    return np.column_stack([(y - predicted.moments[0]) ** 2, predicted.log_density(y), inside])


def _summary(cells: dict[int, Float[np.ndarray, "2 r m 3"]]) -> Iterator[dict[str, Any]]:
    """The rows of the frame for one task, none if it has too few rows for any number of shots."""
    if not cells:
        return
    gains = {shots: each[0, ..., 1] - each[1, ..., 1] for shots, each in cells.items()}
    judged = np.stack([gain for shots, gain in gains.items() if shots > 0] or list(gains.values()))
    verdict = verdict_of(judged)
    for shots, each in cells.items():
        scores: dict[str, float] = {}
        for prefix, (error, density, inside) in zip(("", "alone_"), np.nanmean(each, axis=(1, 2)), strict=True):
            values = (math.sqrt(error), density, inside)
            scores |= {prefix + name: float(value) for name, value in zip(_SCORES, values, strict=True)}
        mean, error, _ = _gain(gains[shots][None])
        yield {
            "shots": shots,
            "rows": each.shape[2] - shots,
            **scores,
            "gain": mean,
            "gain_error": error,
            "verdict": verdict,
        }


def verdict_of(differences: Float[np.ndarray, "k r m"]) -> str:
    """Whether log densities with legacy data, less those without, are clearly above or below zero.

    >>> verdict_of(np.array([[[0.4, 0.6, 0.5, 0.3]]])), verdict_of(np.array([[[0.4, -0.6, 0.5, 0.3]]]))
    ('helps', 'no clear difference')
    """
    mean, error, rows = _gain(differences)
    if not rows > 1:
        return VERDICTS[2]
    clear = max(_WORTH, error * stats.t.ppf(0.5 + _CONFIDENCE / 2, rows - 1))
    return VERDICTS[0] if mean > clear else VERDICTS[1] if mean < -clear else VERDICTS[2]


def _gain(differences: Float[np.ndarray, "k r m"]) -> tuple[float, float, int]:
    """The mean difference, its standard error (NaN of a single row) and how many rows were ever judged."""
    judged = differences[..., ~np.isnan(differences).all((0, 1))]
    repeats, rows = judged.shape[1:]
    if rows == 0:
        return math.nan, math.nan, 0
    mean = float(np.nanmean(judged, axis=(1, 2)).mean())
    if rows == 1:
        return mean, math.nan, 1
    squared = np.nanmean(judged, axis=(0, 1)).var(ddof=1) / rows
    if repeats > 1:
        squared += np.nanmean(judged, axis=(0, 2)).var(ddof=1) / repeats
    return mean, float(np.sqrt(squared)), rows
