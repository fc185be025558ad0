"""The problem: which columns are numbers to choose, which name the system, and what to improve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from headstart.errors import DataError, ProblemError, did_you_mean
from headstart.shapes import Float
from headstart.tasks.columns import Table, as_frame, numbers, require_columns

Bounds: TypeAlias = tuple[float, float] | tuple[float, float, float]
Goal: TypeAlias = Literal["maximize", "minimize"]

if TYPE_CHECKING:
    Names: TypeAlias = str | Iterable[str]
    Inputs: TypeAlias = Mapping[str, Sequence[float] | None] | Names
else:  # what a caller gives is checked at run time by `Problem`, which says what to do about it
    Names = Inputs = object

_GOALS = get_args(Goal)
_MOST_STEPS = 1_000_000  # a grid is held as an array


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem:
    """What is chosen, what identifies a task, and what is to be made large or small.

    Attributes:
        inputs: the real-valued design variables, each with its (low, high), or (low, high, step) where only
            low, low + step, ... can be set, such as (4, 9, 1) for a number of blades; None until `resolved`
            takes the bounds from data. Their order is that of the arrays' columns.
        general: the columns that identify a system and are no numbers to choose: alloy, machine.
        objective: the measured column.
        goal: "maximize" or "minimize" the objective.

    >>> problem = Problem(
    ...     inputs={"temperature_c": (700, 900), "flow_ml_min": None},
    ...     general="catalyst",
    ...     objective="yield_pct",
    ... )
    >>> problem.general, problem.sign, problem.inputs["temperature_c"]
    (('catalyst',), 1, (700.0, 900.0))
    >>> problem.resolved({"flow_ml_min": [10, 20]}).bounds
    array([[700.,  10.],
           [900.,  20.]])
    """

    inputs: Mapping[str, Bounds | None]
    general: tuple[str, ...]
    objective: str
    goal: Goal

    def __init__(
        self,
        *,
        inputs: Inputs,
        general: Names,
        objective: str,
        goal: str = "maximize",
    ) -> None:
        """State a problem; `inputs` given as a list of names takes its bounds from the data."""
        given = inputs if isinstance(inputs, Mapping) else {}
        names = _names("inputs", tuple(given) if given is inputs else inputs)
        if not names:
            raise ProblemError(
                "The problem has no inputs. Name at least one numeric column to choose, as in "
                "inputs={'temperature_c': (700, 900)}."
            )
        general = _names("general", general)
        if not general:
            raise ProblemError(
                "The problem has no general inputs. Name the column, or columns, whose labels "
                "tell one system from another (a machine, an alloy, a catalyst), as in "
                "general=['catalyst']. Data of a single system gets a column of one label."
            )
        (objective,) = _names("objective", [objective])
        _check_roles({"inputs": names, "general": general, "objective": (objective,)})
        if goal not in _GOALS:
            raise ProblemError(f"goal must be 'maximize' or 'minimize', not {goal!r}.{did_you_mean(goal, _GOALS)}")
        bounds = {name: _bounds(name, given.get(name)) for name in names}
        object.__setattr__(self, "inputs", MappingProxyType(bounds))
        object.__setattr__(self, "general", general)
        object.__setattr__(self, "objective", objective)
        object.__setattr__(self, "goal", goal)

    @property
    def sign(self) -> int:
        """+1 to maximize and -1 to minimize, so that sign * objective is always to be large."""
        return 1 if self.goal == "maximize" else -1

    @property
    def bounds(self) -> Float[np.ndarray, "2 d"]:
        """The lower bounds above the upper ones, as BoTorch takes them."""
        missing = [name for name, pair in self.inputs.items() if pair is None]
        if missing:
            raise ProblemError(
                f"The bounds of {', '.join(map(repr, missing))} are not known yet. State them, or "
                f"take them from data with problem.resolved(frame)."
            )
        return np.array([pair[:2] for pair in self.inputs.values() if pair], dtype=np.float64).T

    @property
    def grids(self) -> dict[str, Float[np.ndarray, " k"]]:
        """The values that each stepped input can be set to.

        >>> problem = Problem(inputs={"blades": (4, 9, 1), "flow": (0, 1)}, general=["pump"], objective="head")
        >>> problem.grids
        {'blades': array([4., 5., 6., 7., 8., 9.])}
        """
        return {name: _grid(*pair) for name, pair in self.inputs.items() if pair and len(pair) == 3}

    def resolved(self, frame: Table) -> Problem:
        """This problem with each missing bound filled in with the column's least and largest value.

        A constant column is widened to v ± max(|v|, 1) / 2, so that there is something to choose.

        >>> problem = Problem(inputs=["flow"], general=["pump"], objective="head")
        >>> problem.resolved({"flow": [10, 10]}).inputs["flow"]
        (5.0, 15.0)
        """
        missing = [name for name, pair in self.inputs.items() if pair is None]
        if not missing:
            return self
        frame = as_frame(frame)
        if len(frame) == 0:
            raise DataError(
                f"The table has no rows to take the bounds of {', '.join(map(repr, missing))} "
                f"from. Add rows, or state the bounds: inputs={{{missing[0]!r}: (low, high)}}."
            )
        require_columns(frame, missing)
        return replace(self, inputs={**self.inputs, **{n: _span(numbers(frame, n)) for n in missing}})

    def to_dict(self) -> dict[str, Any]:
        """The problem as JSON takes it; inputs are a list, since some stores reorder objects.

        >>> Problem(inputs={"flow": (0, 1)}, general=["pump"], objective="head").to_dict()["inputs"]
        [['flow', [0.0, 1.0]]]
        """
        return {
            "inputs": [[name, pair and list(pair)] for name, pair in self.inputs.items()],
            "general": list(self.general),
            "objective": self.objective,
            "goal": self.goal,
        }

    @classmethod
    def from_dict(cls, stated: Mapping[str, Any]) -> Problem:
        """The problem that `to_dict` wrote; `inputs` may also be an object of bounds by name."""
        try:
            return cls(**{**stated, "inputs": dict(stated["inputs"])})
        except ProblemError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise ProblemError(
                f"This is not a stored problem: {error!r}. It needs 'inputs' (a list of "
                f"[name, [low, high]]), 'general', 'objective' and 'goal', and has: {stated!r}."
            ) from error

    def _key(self) -> tuple[object, ...]:
        # The order of the inputs counts: it is the order of the arrays' columns.
        return (tuple(self.inputs.items()), self.general, self.objective, self.goal)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Problem) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"Problem(inputs={dict(self.inputs)!r}, general={list(self.general)!r}, "
            f"objective={self.objective!r}, goal={self.goal!r})"
        )

    def __reduce__(self) -> tuple[Callable[..., Problem], tuple[dict[str, Any]]]:
        return Problem.from_dict, (self.to_dict(),)  # a mapping proxy cannot be pickled or copied


def _names(role: str, given: object) -> tuple[str, ...]:
    """The given column names as a tuple; one name may stand alone."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping | Set):
        raise ProblemError(f"{role} must be a list of column names in a fixed order, not {given!r}.")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ProblemError(
                f"{role} must name columns by text, not {name!r}. Rename the column to text first, "
                f"as with frame.columns = frame.columns.map(str)."
            )
    return tuple(str(name) for name in names)


def _check_roles(roles: Mapping[str, tuple[str, ...]]) -> None:
    """Each column has one role."""
    taken: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            if name in taken:
                where = f"twice in {role}" if taken[name] == role else f"in {taken[name]} and {role}"
                raise ProblemError(f"Column {name!r} is {where}. Give each column one role, once.")
            taken[name] = role


def _bounds(name: str, given: object) -> Bounds | None:
    """The given bounds as two floats with room between them."""
    if given is None:
        return None
    try:
        if not isinstance(given, list | tuple | np.ndarray):
            raise TypeError
        low, high, *step = (float(edge) for edge in given)
        if len(step) > 1:
            raise ValueError
    except (TypeError, ValueError):
        raise ProblemError(
            f"The bounds of {name!r} must be two numbers (low, high), three (low, high, step), or None to take them "
            f"from the data, not {given!r}."
        ) from None
    if not (low < high and math.isfinite(high - low)):
        raise ProblemError(
            f"The bounds of {name!r} must be finite with low < high, not ({low}, {high}). "
            f"Correct them, or give None to take them from the data."
        )
    if not step:
        return low, high
    if not 0 < step[0] <= high - low:
        raise ProblemError(
            f"The step of {name!r} is {step[0]:g}, but between {low:g} and {high:g} it must be positive and at most "
            f"{high - low:g}. Correct it, or leave it out for a continuous input."
        )
    if (high - low) / step[0] > _MOST_STEPS:
        raise ProblemError(
            f"The step of {name!r} is {step[0]:g}, so fine between {low:g} and {high:g} that the input is as good as "
            f"continuous. Leave it out and round the suggestions."
        )
    return low, high, step[0]


def _grid(low: float, high: float, step: float) -> Float[np.ndarray, " k"]:
    # Room for rounding: 0, 0.1, ... reaches 0.3 although 3 * 0.1 > 0.3.
    steps = np.floor((high - low) / step + 1e-9)
    return np.minimum(low + step * np.arange(steps + 1), high)


def _span(values: Float[np.ndarray, " n"]) -> Bounds:
    low, high = float(values.min()), float(values.max())
    room = max(abs(low), 1.0) / 2 if low == high else 0.0
    return low - room, high + room
