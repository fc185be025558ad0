"""How the present task moved over the map of a general input while it was being measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from headstart.shapes import Float

_FEWEST_SHARED = 2
_OWN_WEIGHT = 1e-4  # decides what the shared levels leave open, and nothing else


def with_trail(summary: dict[str, Any], earlier: Sequence[dict[str, Any]]) -> dict[str, Any]:
    r"""The map with its "trail": where the task's level was on earlier maps, oldest first, as {"x", "y", "rows"}.

    Every fit has directions of its own, so an earlier map may be turned, mirrored or moved. Each is laid over the
    present one by the levels B that both maps P (past) and N (now) have, other than the task's own,

        min_R  sum_B |(P - mean P) R - (N - mean N)|^2  with  R^T R = I.

    What then still differs is belief that changed. Levels on one line leave open which side of it is which: the task's
    level stays on its side. A map with fewer than two shared levels, or without the task's level, is left out.

    Args:
        summary: the `embedding_map` of now.
        earlier: older ones of the same general input and label, oldest first.
    """
    label, now = summary["label"], _places(summary)
    trail = []
    for past in earlier:
        then = _places(past)
        shared = [name for name in now if name in then and name != label]
        if label not in then or len(shared) < _FEWEST_SHARED:
            continue
        x, y = _laid_over(then, now, shared, label).tolist()
        rows = next(level["rows"] for level in past["levels"] if level["label"] == label)
        trail.append({"x": x, "y": y, "rows": rows})
    return {**summary, "trail": trail}


def _places(summary: dict[str, Any]) -> dict[str, Float[np.ndarray, " 2"]]:
    return {level["label"]: np.array([level["x"], level["y"]]) for level in summary["levels"]}


def _laid_over(
    then: dict[str, Float[np.ndarray, " 2"]], now: dict[str, Float[np.ndarray, " 2"]], shared: list[str], label: str
) -> Float[np.ndarray, " 2"]:
    """Where the level was then, as the map of now shows it."""
    weights = np.array([*[1.0] * len(shared), _OWN_WEIGHT])[:, None]
    centres = [np.mean([places[name] for name in shared], axis=0) for places in (then, now)]
    old, new = (
        weights * (np.array([places[name] for name in (*shared, label)]) - centre)
        for places, centre in zip((then, now), centres, strict=True)
    )
    rotation, _ = orthogonal_procrustes(old, new)
    return (then[label] - centres[0]) @ rotation + centres[1]
