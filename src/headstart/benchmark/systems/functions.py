r"""The paper's two synthetic systems: families of functions on [0, 1], to be minimised.

    toy         eta(x; theta) = 0.1 z^4 - z^2 + (2 + theta_2) sin 2z,     z = theta_1 + 4x - 4
    Forrester   eta(x; theta) = theta_1 (6x - 2)^2 sin(12x - 4) + theta_2 (x - 0.5) + theta_3

The current task has five legacy tasks of five rows each. Of Forrester the current task is the high-fidelity function,
theta = (1, 0, 0), and the low-fidelity one, (0.5, 10, -5), is always a legacy task. Two variants:

- `fresh` is what the paper says: a seed draws the tasks anew, theta ~ U[0, 1]^2 and
  theta ~ U[0, 1] x U[0, 10] x U[-5, 5].
- `paper` is what the authors' code ran: one set of tasks for all seeds, and theta_3 ~ U[-5, 0].

Both draw their numbers as the authors' code and the published comparisons do, so that results can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from headstart.benchmark.systems.trial import FamilySystem, Trial
from headstart.errors import DataError
from headstart.shapes import Float

GRID = np.linspace(0.0, 1.0, 401)
_VARIANTS = ("paper", "fresh")
_LEGACY_TASKS, _ROWS, _CURRENT_ROWS = 5, 5, 10
_HIGH_FIDELITY, _LOW_FIDELITY = (1.0, 0.0, 0.0), (0.5, 10.0, -5.0)

Family = Callable[[np.ndarray, np.ndarray], np.ndarray]


def toy(x: Float[np.ndarray, " n"], theta: Float[np.ndarray, " 2"]) -> Float[np.ndarray, " n"]:
    """The toy family.

    >>> toy(np.array([1.0]), np.array([0.0, 0.0]))
    array([0.])
    """
    z = theta[0] + 4.0 * x - 4.0
    return 0.1 * z**4 - z**2 + (2.0 + theta[1]) * np.sin(2.0 * z)


def forrester(x: Float[np.ndarray, " n"], theta: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " n"]:
    """The Forrester family.

    >>> forrester(np.array([1 / 3]), np.array([1.0, 0.0, 2.0])).round(12)
    array([2.])
    """
    return theta[0] * (6.0 * x - 2.0) ** 2 * np.sin(12.0 * x - 4.0) + theta[1] * (x - 0.5) + theta[2]


def _toy_thetas(variant: str, seed: int) -> Float[np.ndarray, "t 2"]:
    if variant == "paper":
        return np.random.RandomState(42).rand(1000, 2)[: _LEGACY_TASKS + 1]
    return np.random.RandomState(10_000 + seed).rand(_LEGACY_TASKS + 1, 2)


def _forrester_thetas(variant: str, seed: int) -> Float[np.ndarray, "t 3"]:
    low = np.array([0.0, 0.0, -5.0])
    if variant == "paper":
        drawn = low + np.array([1.0, 10.0, 5.0]) * np.random.RandomState(42).rand(998, 3)
        return np.concatenate([[_HIGH_FIDELITY, _LOW_FIDELITY], drawn])[: _LEGACY_TASKS + 1]
    thetas = low + np.array([1.0, 10.0, 10.0]) * np.random.RandomState(10_000 + seed).rand(_LEGACY_TASKS + 1, 3)
    thetas[:2] = _HIGH_FIDELITY, _LOW_FIDELITY
    return thetas


_FAMILIES: dict[str, tuple[Family, Callable[[str, int], np.ndarray]]] = {
    "toy": (toy, _toy_thetas),
    "forrester": (forrester, _forrester_thetas),
}


@dataclass(frozen=True)
class FunctionSystem(FamilySystem):
    """One of the families in one of the variants.

    >>> system = FunctionSystem("forrester", "fresh")
    >>> system.name, system.tasks
    ('forrester-fresh', ('current',))
    >>> trial = system.trial("current", seed=0)
    >>> trial.legacy_x.shape, round(trial.optimum, 4)
    ((25, 1), -6.0207)
    """

    family: str
    variant: str

    def __post_init__(self) -> None:
        if self.family not in _FAMILIES or self.variant not in _VARIANTS:
            raise DataError(
                f"There is no system {self.name!r}: choose {' or '.join(_FAMILIES)}, and {' or '.join(_VARIANTS)}."
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """Family and variant."""
        return f"{self.family}-{self.variant}"

    def draw(self, seed: int) -> Trial:
        """Legacy and current rows at uniform inputs."""
        function, thetas_of = _FAMILIES[self.family]
        current, *legacy = thetas_of(self.variant, seed)
        random = np.random.RandomState(seed)
        inputs = [random.rand(_ROWS) for _ in legacy]
        # A stream of their own: current rows do not depend on how many legacy rows there are.
        order = np.random.default_rng(seed).random(_CURRENT_ROWS)

        def eta(x: np.ndarray) -> np.ndarray:
            return function(x[..., 0], current)

        values = function(GRID, current)
        return Trial(
            legacy_x=np.concatenate(inputs)[:, None],
            legacy_task=np.repeat(np.arange(len(legacy)), _ROWS),
            legacy_y=np.concatenate([function(x, theta) for x, theta in zip(inputs, legacy, strict=True)]),
            order_x=order[:, None],
            order_y=function(order, current),
            x=GRID[:, None],
            y=values,
            function=eta,
            optimum=minimum(lambda x: function(x, current)),
            spread=float(np.ptp(values)),
            sign=-1,
        )


def minimum(function: Callable[[np.ndarray], np.ndarray]) -> float:
    """The smallest value on [0, 1]: the best point of the grid, refined between its neighbours."""
    best = int(function(GRID).argmin())
    around = GRID[max(best - 1, 0) : best + 2]
    found = optimize.minimize_scalar(
        lambda x: function(np.array([x])).item(),
        bounds=(around[0], around[-1]),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return min(float(found.fun), float(function(around).min()))
