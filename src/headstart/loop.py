"""Algorithm BO of the paper in one call, for an objective that can be computed."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from headstart.errors import ExhaustedError, ObjectiveError, ProblemError, checked_whole
from headstart.surrogate import Surrogate, fit
from headstart.tasks import Problem, Table, Task


@dataclass(frozen=True, eq=False)
class Optimum:
    """What an optimisation found.

    Attributes:
        inputs: the best setting that was evaluated.
        value: the objective there.
        history: one row an evaluation: inputs, objective, and the prediction it was chosen by.
        surrogate: what is believed after the last evaluation.
    """

    inputs: dict[str, float]
    value: float
    history: pd.DataFrame
    surrogate: Surrogate


def optimize(
    function: Callable[..., Any],
    archive: Table,
    problem: Problem,
    task: Task,
    budget: int,
    *,
    fixed: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Callable[[pd.DataFrame], None] | None = None,
) -> Optimum:
    """Evaluate a function `budget` times where it promises most, learning from an archive and from each value.

    It ends earlier when every setting of stepped inputs was evaluated.

    A value that is no finite number (NaN, None) is an experiment that failed: it counts, is not repeated, and teaches
    nothing. An exception ends the optimisation as an `ObjectiveError`, whose `history` holds what was evaluated.

    Args:
        function: called with the inputs and general inputs that its parameters name, as `function(flow=12.5)`; a
            function of one other parameter gets all of them as a dictionary.
        archive: experiments of other tasks, and of this one if there are any.
        problem: what each column is for.
        task: the label of each general input; it may be new.
        budget: how many evaluations.
        fixed: inputs that are not free, such as {"flow": 15}.
        seed: the same seed gives the same answer.
        progress: called with the history after each evaluation; a line on the terminal when left out.

    >>> archive = pd.DataFrame({"task": ["a", "a", "a", "b", "b", "b"], "x": [0.1, 0.4, 0.9, 0.2, 0.6, 0.8]})
    >>> archive["y"] = (archive["x"] - 0.5) ** 2
    >>> problem = Problem(inputs={"x": (0, 1)}, general=["task"], objective="y", goal="minimize")
    >>> optimum = optimize(lambda x: (x - 0.45) ** 2, archive, problem, {"task": "new"}, budget=4)
    >>> optimum.value < 1e-3, len(optimum.history)
    (True, 4)
    """
    budget, seed = checked_whole("budget", budget, low=1), checked_whole("seed", seed)
    call = _caller(function, problem)
    report = progress or _line(budget, problem)
    surrogate = fit(archive, problem, seed=seed)
    problem = surrogate.problem
    history, failed = pd.DataFrame(), pd.DataFrame()
    whole = [name for name, grid in problem.grids.items() if (grid == grid.round()).all()]
    for step in range(budget):
        try:
            point = surrogate.suggest(task, avoid=failed, fixed=fixed, seed=seed + step)
        except ExhaustedError:
            if step == 0:
                raise
            break
        inputs = {name: point[name].item() for name in problem.inputs}
        inputs |= {name: int(inputs[name]) for name in whole}
        try:
            value = _number(call({**task, **inputs}))
        except Exception as error:  # the user's function may raise anything
            raise ObjectiveError(inputs, error, history) from error
        evaluated = point.assign(**{problem.objective: value})
        history = pd.concat([history, evaluated], ignore_index=True)
        report(history)
        if math.isfinite(value):
            surrogate = surrogate.observe(evaluated, task=task)
        else:
            failed = pd.concat([failed, point], ignore_index=True)
    values = problem.sign * history[problem.objective]
    if values.isna().all():
        raise ProblemError(f"None of the {len(history)} evaluations returned a finite number.")
    best = history.iloc[int(values.argmax())]
    return Optimum(
        {name: float(best[name]) for name in problem.inputs}, float(best[problem.objective]), history, surrogate
    )


def _caller(function: Callable[..., Any], problem: Problem) -> Callable[[dict[str, Any]], Any]:
    """How to hand an experiment to the function: by name, or as one dictionary."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have none
        return lambda experiment: function(experiment)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return lambda experiment: function(**experiment)
    names = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    if names & {*problem.inputs} and {p.name for p in needed} <= {*problem.inputs, *problem.general} & names:
        return lambda experiment: function(**{name: experiment[name] for name in experiment if name in names})
    if len(needed) > 1:
        listed = ", ".join(problem.inputs)
        raise ProblemError(
            f"The function takes {', '.join(p.name for p in needed)}, but the inputs are {listed}. Name its parameters "
            "after the inputs, or let it take one dictionary."
        )
    return lambda experiment: function(experiment)


def _number(value: Any) -> float:
    """The value as a finite float, or NaN for an experiment that failed."""
    if value is None:
        return math.nan
    number = float(np.asarray(value, dtype=float).item())
    return number if math.isfinite(number) else math.nan


def _line(budget: int, problem: Problem) -> Callable[[pd.DataFrame], None]:
    """A line on the terminal that is written over, and nothing where there is none."""

    def show(history: pd.DataFrame) -> None:
        if sys.stderr.isatty():
            values = problem.sign * history[problem.objective]
            best = problem.sign * values.max()
            end = "\n" if len(history) == budget else ""
            print(
                f"\r{len(history)}/{budget} evaluations, best {problem.objective} {best:g}  ", end=end, file=sys.stderr
            )

    return show
