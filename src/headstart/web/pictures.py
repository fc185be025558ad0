"""The pictures of a task that need a surrogate, computed where fits run and kept for those who look.

slices      the response along each input
surfaces    the response over each pair of inputs
maps        which levels of each general input are alike
chances     how likely each pending suggestion is to be the best, and to beat the best so far
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from headstart.campaign import Campaign
from headstart.campaign.records import Suggestion
from headstart.models.inference import Progress
from headstart.report.history import best, measured
from headstart.report.latents import embedding_map
from headstart.report.pairs import surfaces
from headstart.report.responses import slices


def pictures_of(campaign: Campaign, task: Mapping[str, str] | None, progress: Progress | None = None) -> dict[str, Any]:
    """All pictures of a task, or those of the archive as a whole; the surrogate is brought up to date first."""
    campaign.surrogate(progress=progress)
    maps = [embedding_map(campaign, name, task) for name in campaign.problem.general]
    if task is None:
        return {"maps": maps}
    return {
        "maps": maps,
        "slices": slices(campaign, task),
        "chances": _chances(campaign, task),
        "best_chances": _best_chances(campaign, task),
        "surfaces": surfaces(campaign, task),
    }


def _chances(campaign: Campaign, task: Mapping[str, str]) -> dict[str, float]:
    """By suggestion, the probability that its response is better than the best outcome of the task so far."""
    problem = campaign.problem
    champion = best(measured(campaign.snapshot(), task, problem), problem)
    pending = _pending(campaign, task)
    if champion is None or not pending:
        return {}
    chances = campaign.surrogate().chance_to_beat(champion["outcome"], _inputs(pending), task=task)
    return _by_suggestion(pending, chances)


def _best_chances(campaign: Campaign, task: Mapping[str, str]) -> dict[str, float]:
    """By suggestion, the probability that it is nearly the best that the task can have."""
    pending = _pending(campaign, task)
    if not pending:
        return {}
    return _by_suggestion(pending, campaign.surrogate().chance_of_best(_inputs(pending), task))


def _pending(campaign: Campaign, task: Mapping[str, str]) -> list[Suggestion]:
    return [each for each in campaign.suggestions() if each.task == task and each.state == "pending"]


def _inputs(pending: list[Suggestion]) -> pd.DataFrame:
    return pd.DataFrame([each.inputs for each in pending])


def _by_suggestion(pending: list[Suggestion], chances: pd.Series[float]) -> dict[str, float]:
    return {str(each.id): chance for each, chance in zip(pending, chances.tolist(), strict=True)}
