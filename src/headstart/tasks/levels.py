"""Levels: the labels of each general input, numbered in the order in which they first appeared.

Only that order reaches the model, so renaming labels changes nothing.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.errors import DataWarning, FileFormatError, ProblemError, did_you_mean
from headstart.shapes import Int
from headstart.tasks.columns import Table, as_frame, labels, require_columns
from headstart.tasks.problem import Problem


@dataclass(frozen=True)
class Levels:
    """The known labels of each general input; a label's code is its place.

    Attributes:
        general: the names of the general inputs, in the problem's order.
        labels: for each of them its labels, in order of first appearance.

    >>> problem = Problem(inputs=["flow"], general=["pump"], objective="head")
    >>> codes, levels = Levels.none(problem).encode({"pump": ["B", "A", "B"]})
    >>> codes.tolist(), levels["pump"]
    ([[0], [1], [0]], ('B', 'A'))

    New labels are appended, and the old keep their codes:

    >>> codes, more = levels.encode({"pump": ["new", "A"]})
    >>> codes.tolist(), more["pump"], more.sizes
    ([[2], [1]], ('B', 'A', 'new'), (3,))
    """

    general: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]

    @classmethod
    def none(cls, problem: Problem) -> Levels:
        """No level known yet."""
        return cls(problem.general, ((),) * len(problem.general))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each general input has."""
        return tuple(len(known) for known in self.labels)

    def __getitem__(self, name: str) -> tuple[str, ...]:
        """The labels of one general input."""
        if name not in self.general:
            raise ProblemError(
                f"{name!r} is not a general input.{did_you_mean(name, self.general)} "
                f"The general inputs are: {', '.join(map(repr, self.general))}."
            )
        return self.labels[self.general.index(name)]

    def encode(self, frame: Table) -> tuple[Int[np.ndarray, "n g"], Levels]:
        """The rows' codes, and these levels with the labels that were new appended."""
        frame = as_frame(frame)
        require_columns(frame, self.general)
        codes = np.empty((len(frame), len(self.general)), dtype=np.int64)
        extended = []
        for column, (name, known) in enumerate(zip(self.general, self.labels, strict=True)):
            places, found = labels(frame, name)
            order = {text: code for code, text in enumerate(dict.fromkeys((*known, *found)))}
            _warn_of_near_spellings(name, order)
            codes[:, column] = np.array([order[text] for text in found], dtype=np.int64)[places]
            extended.append(tuple(order))
        return codes, Levels(self.general, tuple(extended))

    def to_dict(self) -> dict[str, Any]:
        """The levels as JSON takes them."""
        return {"general": list(self.general), "labels": [list(known) for known in self.labels]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Levels:
        """The levels that `to_dict` wrote."""
        try:
            levels = cls(tuple(stored["general"]), tuple(map(tuple, stored["labels"])))
        except (KeyError, TypeError) as error:
            raise FileFormatError(
                f"The stored levels cannot be read: {error!r}. The file is damaged or was not "
                f"written by Headstart; save it again from the original data."
            ) from error
        if len(levels.general) != len(levels.labels):
            raise FileFormatError(
                f"The stored levels name {len(levels.general)} general inputs and list labels for "
                f"{len(levels.labels)}. The file is damaged; save it again from the original data."
            )
        return levels


def _warn_of_near_spellings(name: str, texts: Iterable[str]) -> None:
    """Labels that differ in case, blanks, hyphens and underscores alone are most likely one; numbers are not."""
    first: dict[str, str] = {}
    for text in texts:
        other = first.setdefault(_folded(text), text)
        if other != text:
            warnings.warn(
                f"{name!r} has the labels {other!r} and {text!r}, which are two: spell them alike if they are one.",
                DataWarning,
                stacklevel=2,
            )


def _folded(text: str) -> str:
    marks = r"[\s_-]+" if any(map(str.isalpha, text)) else r"\s+"
    return re.sub(marks, "", text).casefold()
