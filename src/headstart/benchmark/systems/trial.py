"""A trial: one task held out of a system, and the legacy rows of the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from headstart.errors import DataError
from headstart.shapes import Float, Int


@dataclass(frozen=True, eq=False)
class Trial:
    """What an experiment needs of one held-out task. Inputs are in [0, 1].

    Attributes:
        legacy_x: inputs of the legacy rows.
        legacy_task: their tasks, as codes 0, 1, ...; the current task's code is `tasks`, the next one.
        legacy_y: their outcomes.
        order_x: inputs of current rows in the order in which regression learns them.
        order_y: their outcomes.
        x: where the current task is judged: all its rows, or a grid over its function.
        y: the outcomes there, without noise.
        function: the current task itself where any point may be evaluated; None on a finite set.
        optimum: the best outcome there is.
        spread: the range of the current task's outcomes, the unit of normalised regret.
        sign: +1 where large outcomes are good, -1 where small ones are.
        noise: standard deviation of what is measured around `function`; regret counts the function itself.
        judged_y: measurements at `x` that predictions are judged by, where they have noise.
        legacy_levels: of a system with several general inputs, the level of each in the legacy rows.
        current_levels: the levels that make the current task.
    """

    legacy_x: Float[np.ndarray, "n d"]
    legacy_task: Int[np.ndarray, " n"]
    legacy_y: Float[np.ndarray, " n"]
    order_x: Float[np.ndarray, "o d"]
    order_y: Float[np.ndarray, " o"]
    x: Float[np.ndarray, "m d"]
    y: Float[np.ndarray, " m"]
    function: Callable[[np.ndarray], np.ndarray] | None
    optimum: float
    spread: float
    sign: int
    noise: float = 0.0
    judged_y: Float[np.ndarray, " m"] | None = None
    legacy_levels: Int[np.ndarray, "n g"] | None = None
    current_levels: tuple[int, ...] = ()

    @property
    def legacy_codes(self) -> Int[np.ndarray, "n g"]:
        """The codes of every general input in the legacy rows; the task's own where there is one general input."""
        return self.legacy_task[:, None] if self.legacy_levels is None else self.legacy_levels

    @property
    def current_codes(self) -> tuple[int, ...]:
        """Those of the current task."""
        return (self.tasks,) if self.legacy_levels is None else self.current_levels

    def combined(self) -> Trial:
        """The same for methods that know one general input: each combination of levels is a task of its own."""
        return replace(self, legacy_levels=None, current_levels=())

    @property
    def tasks(self) -> int:
        """The number of legacy tasks, which is the current task's code."""
        return int(self.legacy_task.max()) + 1

    def judged(self, learned: int) -> tuple[Float[np.ndarray, "t d"], Float[np.ndarray, " t"]]:
        """Where predictions are judged after that many rows: of a finite set, the rows that were not learned."""
        if self.function is not None:
            return self.x, self.y if self.judged_y is None else self.judged_y
        return self.order_x[learned:], self.order_y[learned:]


class System(ABC):
    """A set of related tasks, any of which can be the current one."""

    name: str

    @property
    @abstractmethod
    def tasks(self) -> tuple[str, ...]:
        """The tasks that can be held out."""

    @abstractmethod
    def trial(self, task: str, seed: int) -> Trial:
        """The trial of one held-out task; the seed draws whatever is random about it."""


class FamilySystem(System):
    """A family of functions, of which each seed draws one current task and its legacy tasks."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """There is one current task a seed."""
        return ("current",)

    def trial(self, task: str, seed: int) -> Trial:
        """Legacy and current rows at uniform inputs."""
        if task not in self.tasks:
            raise DataError(f"{self.name} has no task {task!r}: its only one is {self.tasks[0]!r}.")
        return self.draw(seed)

    @abstractmethod
    def draw(self, seed: int) -> Trial:
        """The trial of that seed."""
