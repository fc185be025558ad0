r"""Families in which legacy data may mislead who trusts them: functions on [0, 1], to be minimised.

Smooth random functions f, g_1, g_2, ... (draws of a Gaussian process with length scale 0.2, standard deviation 1, as
sums of 256 random cosines) make five legacy tasks of eight rows and the current one, anew for each seed:

| kind | legacy tasks | current task |
| --- | --- | --- |
| unrelated | g_t | f |
| inverted | -f + 0.2 g_t | f |
| outlier | four of f + 0.2 g_t, and 2 g_t | f |
| offset-scale | a_t f + b_t, a_t in [0.3, 3], b_t in [-5, 5] | a f + b |
| noisy | f + 0.2 g_t, measured with noise of 0.3 | f, measured likewise |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headstart.benchmark.systems.functions import GRID, minimum
from headstart.benchmark.systems.trial import FamilySystem, Trial
from headstart.errors import DataError

_LEGACY_TASKS, _ROWS, _CURRENT_ROWS = 5, 8, 10
_LENGTHSCALE, _COSINES = 0.2, 256
_DIFFERENCE, _NOISE = 0.2, 0.3

KINDS = ("unrelated", "inverted", "outlier", "offset-scale", "noisy")

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class GeneratedSystem(FamilySystem):
    """One kind of family.

    >>> trial = GeneratedSystem("inverted").trial("current", seed=0)
    >>> trial.legacy_x.shape, trial.tasks
    ((40, 1), 5)
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in KINDS:
            raise DataError(f"There is no generated system {self.name!r}: choose one of {', '.join(KINDS)}.")

    def draw(self, seed: int) -> Trial:
        """Legacy and current rows at uniform inputs."""
        random = np.random.default_rng([seed, KINDS.index(self.name)])
        current, *legacy = self._functions(random)
        noise = _NOISE if self.name == "noisy" else 0.0
        inputs = random.random((_LEGACY_TASKS, _ROWS))
        outcomes = np.concatenate([function(x) for function, x in zip(legacy, inputs, strict=True)])
        order, values = random.random(_CURRENT_ROWS), current(GRID)
        return Trial(
            legacy_x=inputs.reshape(-1, 1),
            legacy_task=np.repeat(np.arange(_LEGACY_TASKS), _ROWS),
            legacy_y=outcomes + noise * random.standard_normal(len(outcomes)),
            order_x=order[:, None],
            order_y=current(order) + noise * random.standard_normal(_CURRENT_ROWS),
            x=GRID[:, None],
            y=values,
            function=lambda x: current(x[..., 0]),
            optimum=minimum(current),
            spread=float(np.ptp(values)),
            sign=-1,
            noise=noise,
            judged_y=values + noise * random.standard_normal(len(values)),
        )

    def _functions(self, random: np.random.Generator) -> list[Function]:
        """The current task and its legacy tasks."""
        f, *others = (_smooth(random) for _ in range(_LEGACY_TASKS + 1))
        if self.name == "unrelated":
            return [f, *others]
        if self.name == "inverted":
            return [f, *(_sum(-1.0, f, _DIFFERENCE, g) for g in others)]
        if self.name == "offset-scale":
            slopes, offsets = (
                np.exp(random.uniform(np.log(0.3), np.log(3.0), _LEGACY_TASKS + 1)),
                random.uniform(-5.0, 5.0, _LEGACY_TASKS + 1),
            )
            return [_sum(a, f, 0.0, f, b) for a, b in zip(slopes, offsets, strict=True)]
        related = [_sum(1.0, f, _DIFFERENCE, g) for g in others]
        if self.name == "outlier":
            related[0] = _sum(2.0, others[0], 0.0, f)
        return [f, *related]


def _smooth(random: np.random.Generator) -> Function:
    """A draw of a Gaussian process, nearly."""
    frequency = random.standard_normal(_COSINES) / _LENGTHSCALE
    phase, weight = random.uniform(0, 2 * np.pi, _COSINES), random.standard_normal(_COSINES)
    return lambda x: np.cos(np.asarray(x)[..., None] * frequency + phase) @ weight * np.sqrt(2 / _COSINES)


def _sum(a: float, f: Function, b: float, g: Function, offset: float = 0.0) -> Function:
    return lambda x: a * f(x) + b * g(x) + offset
