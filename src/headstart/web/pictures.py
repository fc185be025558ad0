"""The pictures of a task that need a surrogate, computed where fits run and kept for those who look.

slices      the response along each input
surfaces    the response over each pair of inputs
maps        which levels of each general input are alike
chances     how likely each pending suggestion is to beat the best so far
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from headstart.campaign import Campaign
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
        "surfaces": surfaces(campaign, task),
    }


def _chances(campaign: Campaign, task: Mapping[str, str]) -> dict[str, float]:
    """By suggestion, the probability that its response is better than the best outcome of the task so far."""
    problem = campaign.problem
    champion = best(measured(campaign.snapshot(), task, problem), problem)
    pending = [each for each in campaign.suggestions() if each.task == task and each.state == "pending"]
    if champion is None or not pending:
        return {}
    rows = pd.DataFrame([each.inputs for each in pending])
    chances = campaign.surrogate().chance_to_beat(champion["outcome"], rows, task=task)
    return {str(each.id): chance for each, chance in zip(pending, chances.tolist(), strict=True)}
