"""One exception tree: ``except HeadstartError`` catches all that Headstart raises on purpose.

A message says what was wrong, the value that was given and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

__all__ = [
    "DataError",
    "DataWarning",
    "ExhaustedError",
    "FileFormatError",
    "HeadstartError",
    "MissingExtraError",
    "ModelError",
    "NotFittedError",
    "NotFoundError",
    "ObjectiveError",
    "ProblemError",
    "StoreError",
    "checked_whole",
    "did_you_mean",
]


class HeadstartError(Exception):
    """The root of the tree; raised only as one of its subclasses."""


class DataError(HeadstartError, ValueError):
    """Raised when a table cannot be used: a column is missing, a cell is empty or no number."""


class ProblemError(HeadstartError, ValueError):
    """Raised when a problem, or a task of it, is badly stated: overlapping roles, bad bounds."""


class ExhaustedError(ProblemError, DataError):
    """Raised when nothing is left to suggest: every possible experiment was measured, is pending or was withdrawn."""


class ModelError(HeadstartError, RuntimeError):
    """Raised when a fit or a prediction cannot be done with the data and options given."""


class NotFittedError(ModelError):
    """Raised when a model is asked for something that it only has once it is fitted."""


class FileFormatError(HeadstartError, ValueError):
    """Raised when a saved file is corrupt, or was written by a newer Headstart than this one."""


class MissingExtraError(HeadstartError, ImportError):
    """Raised when a feature needs a package that is installed with one of Headstart's extras.

    >>> raise MissingExtraError("The browser interface", extra="web")
    Traceback (most recent call last):
    headstart.errors.MissingExtraError: The browser interface needs packages that are not \
installed. Run: pip install "headstart[web]"
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(feature, extra)  # both in `args`, so that the error survives pickling
        self.feature = feature
        self.extra = extra

    def __str__(self) -> str:
        return f'{self.feature} needs packages that are not installed. Run: pip install "headstart[{self.extra}]"'


class ObjectiveError(HeadstartError, RuntimeError):
    """Raised when a function under optimisation raises; `history` holds the evaluations before."""

    def __init__(self, inputs: Mapping[str, float], cause: BaseException, history: Any) -> None:
        super().__init__(inputs, cause, history)
        self.inputs = dict(inputs)
        self.cause = cause
        self.history = history

    def __str__(self) -> str:
        at = ", ".join(f"{name}={value:g}" for name, value in self.inputs.items())
        return (
            f"The function raised {type(self.cause).__name__} at {at}: {self.cause}. Return NaN for an experiment that "
            f"fails. The {len(self.history)} evaluations before are in this error's `history`."
        )


class StoreError(HeadstartError, RuntimeError):
    """Raised when a database of campaigns cannot be used: missing, locked, damaged, of a newer Headstart."""


class NotFoundError(StoreError):
    """Raised when a database holds no such campaign, job or file."""


class DataWarning(UserWarning):
    """Warned of data that can be used but look like a slip: a unit, a spelling."""


def checked_whole(name: str, value: Any, *, low: int = 0, high: int = 2**31 - 1) -> int:
    """A whole number as a plain int, whatever library it comes from; a `ProblemError` for anything else.

    >>> checked_whole("n", 3.0)
    3
    >>> checked_whole("budget", 0, low=1)
    Traceback (most recent call last):
    headstart.errors.ProblemError: budget=0 must be a whole number from 1 on.
    """
    is_whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if isinstance(value, bool) or not is_whole or not low <= int(value) <= high:
        upwards = f"from {low} on" if high == 2**31 - 1 else f"from {low} to {high}"
        raise ProblemError(f"{name}={value!r} must be a whole number {upwards}.")
    return int(value)


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """The end of an error message that suggests the known name closest to a wrong one, if any.

    >>> did_you_mean("Temprature", ["temperature", "flow"])
    " Did you mean 'temperature'?"
    >>> did_you_mean("pressure", ["flow"])
    ''
    """
    folded = {str(candidate).strip().casefold(): candidate for candidate in known}
    matches = difflib.get_close_matches(str(name).strip().casefold(), folded, n=1, cutoff=0.5)
    return f" Did you mean {folded[matches[0]]!r}?" if matches else ""
