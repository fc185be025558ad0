"""The next experiments of a task: a batch chosen from a space or from listed candidates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from botorch.models.model import Model
from torch import Tensor

from headstart.acquisition.candidates import Value, best_by_gain, probability_of_best, thompson, winners
from headstart.acquisition.criteria import criterion_for
from headstart.acquisition.space import Space, is_taken, maximise_over_space
from headstart.errors import DataError, ExhaustedError, ProblemError, did_you_mean
from headstart.shapes import Float

_OF_LISTS = "probability of best"
_ACQUISITIONS = ("auto", "thompson", _OF_LISTS)

# Points of a space among which Thompson sampling looks for the best of a sampled function.
_SAMPLED_POINTS = 2048


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen points, best first.

    Attributes:
        points: where.
        scores: how promising each was when it was chosen.
        meaning: what the scores are.
        places: the rows of the candidates that they are, if there were candidates.
    """

    points: Float[Tensor, "n d"]
    scores: list[float]
    meaning: str
    places: list[int] = field(default_factory=list)


def check_acquisition(name: str) -> None:
    """Refuse an unknown way to choose."""
    if name not in _ACQUISITIONS:
        raise ProblemError(
            f"acquisition={name!r} must be one of {', '.join(_ACQUISITIONS)}.{did_you_mean(name, _ACQUISITIONS)}"
        )


def choose_from_space(
    model: Model,
    space: Space,
    measured: Float[Tensor, "m d"],
    pending: Float[Tensor, "p d"],
    avoided: Float[Tensor, "a d"],
    *,
    n: int,
    acquisition: str,
    seed: int,
) -> Choice:
    """Greedily one point after another, each knowing those before it as pending."""
    if acquisition == _OF_LISTS:
        raise ProblemError(f"acquisition={_OF_LISTS!r} compares listed experiments: give candidates.")
    if acquisition == "thompson":
        points = space.points() if space.size <= _SAMPLED_POINTS else space.sample(_SAMPLED_POINTS, seed=seed)
        return choose_from_candidates(
            model, points, measured, pending, avoided, n=n, acquisition=acquisition, seed=seed
        )
    known, scores, meaning = len(pending), [], ""
    for step in range(n):
        criterion = criterion_for(model, measured, pending, seed=seed)
        taken = torch.cat([measured, pending])
        point, value = maximise_over_space(criterion, space, taken, avoided, seed=seed + step)
        pending = torch.cat([pending, point.unsqueeze(0)])
        # The first point's mean is also the expected best of a batch of one, so the last name is right for all.
        meaning = criterion.name
        scores.append(criterion.score(value))
    return Choice(pending[known:], scores, meaning)


def choose_from_candidates(
    model: Model,
    candidates: Float[Tensor, "c d"],
    measured: Float[Tensor, "m d"],
    pending: Float[Tensor, "p d"],
    avoided: Float[Tensor, "a d"],
    *,
    n: int,
    acquisition: str,
    seed: int,
    value: Value | None = None,
) -> Choice:
    """The n candidates with the greatest expected gain, each knowing those before it; or as `acquisition` says.

    By the probability of being best the n most likely ones are taken: the batch most likely to hold the best.
    """
    known = torch.cat([measured, pending])
    free = ~is_taken(candidates, torch.cat([known, avoided])).cpu().numpy()
    # Equal candidates would share one probability among them.
    _, first = np.unique(candidates.cpu().numpy(), axis=0, return_index=True)
    left = np.sort(first[free[first]])
    if len(left) < n:
        error = DataError if len(left) else ExhaustedError
        raise error(
            f"{len(left)} of {len(candidates)} candidates differ and have not been measured on this task yet, "
            f"but {n} were asked for. Add candidates or ask for fewer."
        )
    if acquisition == "auto":
        best, scores = best_by_gain(model, candidates[left], known, n, seed=seed, value=value)
        meaning = "expected gain" if len(known) else "expected share of the range"
    else:
        won = winners(model, candidates[left], seed=seed)
        probability, meaning = probability_of_best(won, len(left)), _OF_LISTS
        if acquisition == "thompson":
            best = thompson(won, len(left), n)
        else:
            best = probability.argsort(descending=True, stable=True)[:n]
        scores = probability[best]
    places = left[best.cpu().numpy()]
    return Choice(candidates[places], scores.tolist(), meaning, places.tolist())
