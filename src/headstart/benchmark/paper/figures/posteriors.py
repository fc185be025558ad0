"""What models believe of a function before and after its first row, and the points that they choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy import stats

from headstart.benchmark.contenders import Contender, Rows
from headstart.benchmark.experiments.optimization import choose
from headstart.benchmark.experiments.regression import predict
from headstart.benchmark.paper.figures.curves import LOOKS
from headstart.benchmark.paper.plan import BEGP, BGP, EGP
from headstart.benchmark.systems import Trial, get_system
from headstart.errors import DataError
from headstart.report.style import INK, PAPER, dress, legend, new_figure, settled, text
from headstart.report.words import percent
from headstart.shapes import Float

CONTENDERS: tuple[Contender, ...] = (BGP, EGP, BEGP)
SHOTS = ("zero-shot", "one-shot")
SEED = 0
_BANDS = {0.8: 0.26, 0.95: 0.12}  # how much each interval holds, and how strong it is drawn


@dataclass(frozen=True, eq=False)
class Posterior:
    """A model's prediction on the trial's grid; as pairs x, y what it had learned and what it chose to learn next."""

    model: str
    mean: Float[np.ndarray, " m"]
    sd: Float[np.ndarray, " m"]
    learned: Float[np.ndarray, "k 2"]
    chosen: Float[np.ndarray, "1 2"]


def posteriors_of(contender: Contender, trial: Trial, *, seed: int) -> list[Posterior]:
    """Zero-shot and one-shot: the first two rounds of optimization."""
    found: list[Posterior] = []
    learned: Rows = (trial.x[:0], trial.y[:0])
    beliefs = contender.begin([trial], [seed], device="cpu")
    for shot in SHOTS:
        (belief,) = beliefs
        if belief is None:
            raise DataError(f"{contender.label} believes nothing of a task without rows: draw one that does.")
        mean, sd = predict(belief, trial, trial.x).moments
        chosen = choose(belief, trial, learned[0], listed=contender.listed, seed=seed)
        found.append(Posterior(contender.label, mean, sd, np.column_stack(learned), np.column_stack(chosen)))
        if shot != SHOTS[-1]:
            learned, beliefs = chosen, contender.learn(beliefs, [trial], [seed], [chosen], 1)
    return found


def draw_posteriors(system: str, contenders: Sequence[Contender], *, label: str) -> Figure:
    """A column a contender, zero-shot above one-shot, all on one scale."""
    trial = get_system(system).trial("current", SEED)
    figure = new_figure(9.0, 5.0, label=label)
    panels = figure.subplots(len(SHOTS), len(contenders), sharex=True, sharey=True, squeeze=False)
    for column, contender in zip(panels.T, contenders, strict=True):
        for axes, posterior in zip(column, posteriors_of(contender, trial, seed=SEED), strict=True):
            dress(axes)
            _draw(axes, posterior, trial)
        column[0].set_title(contender.label, loc="left", **text())
        column[-1].set_xlabel("input x", **text())
    for axes, shot in zip(panels[:, 0], SHOTS, strict=True):
        axes.set_ylabel(f"{shot} prediction", **text())
    legend(figure, panels[-1, -1])
    return settled(figure)


def _draw(axes: Axes, posterior: Posterior, trial: Trial) -> None:
    x, color = trial.x[:, 0], LOOKS[posterior.model][0]
    for share, strength in _BANDS.items():
        half = stats.norm.ppf(0.5 + share / 2) * posterior.sd
        low, high = posterior.mean - half, posterior.mean + half
        axes.fill_between(x, low, high, color=color, alpha=strength, linewidth=0, label=f"{percent(share)} interval")
    axes.plot(x, posterior.mean, color=color, linewidth=1.8, label="mean")
    axes.plot(x, trial.y, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="truth")
    axes.axvline(posterior.chosen[0, 0], color=INK, linewidth=0.7, linestyle=(0, (1, 2)))
    axes.plot(*posterior.chosen.T, "o", color=PAPER, markeredgecolor=INK, markersize=6.5, label="chosen next")
    axes.plot(*posterior.learned.T, "o", color=INK, markeredgecolor=PAPER, markersize=6.5, label="measured")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    axes.set_xlim(-0.02, 1.02)
