"""Trails, against maps that were turned, mirrored and moved by hand."""

import json

import numpy as np
import pytest

from headstart.report import as_svg, embedding_map, figures, with_trail

NEW = {"machine": "new", "lab": "north"}


def a_map(places, *, rows=0):
    """The map of levels at these places, of which the last is the task's."""
    names = [*"abcdefgh"[: len(places) - 1], "new"]
    levels = [
        {
            "label": name,
            "x": float(x),
            "y": float(y),
            "covariance": [[0.1, 0.0], [0.0, 0.1]],
            "rows": rows if name == "new" else 5,
            "is_current": name == "new",
            "similarity": None if name == "new" else 0.5,
        }
        for name, (x, y) in zip(names, places, strict=True)
    ]
    return {
        "general": "g",
        "label": "new",
        "interval": 0.5,
        "explained": [0.8, 0.2],
        "levels": levels,
        "nearest": [],
    }


def moved(places, angle, *, mirrored, shift=(2.0, -7.0)):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(places) @ turn @ np.diag([1.0, -1.0 if mirrored else 1.0]) + shift


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi, 4.0])
@pytest.mark.parametrize("levels", [2, 3, 6])
def test_an_earlier_map_is_laid_over_the_present_one(levels, angle, mirrored):
    others = np.random.default_rng(levels).standard_normal((levels, 2))
    # Two levels leave open which side of their line is which; the task's level stays on its side.
    aside = np.array([others[1, 1] - others[0, 1], others[0, 0] - others[1, 0]])
    now, then = others.mean(axis=0) + aside, others.mean(axis=0) + 0.3 * aside + 0.2 * (others[1] - others[0])
    past = moved(np.vstack([others, then]), angle, mirrored=mirrored)
    found = with_trail(a_map(np.vstack([others, now]), rows=4), [a_map(past, rows=1)])
    (step,) = found["trail"]
    assert step["rows"] == 1
    np.testing.assert_allclose([step["x"], step["y"]], then, atol=1e-6)


def test_levels_that_came_later_do_not_matter():
    places = np.random.default_rng(0).standard_normal((5, 2))
    past = a_map(moved(places, 1.0, mirrored=True))
    del past["levels"][1]
    past["levels"].reverse()
    (step,) = with_trail(a_map(places), [past])["trail"]
    np.testing.assert_allclose([step["x"], step["y"]], places[-1], atol=1e-6)


def test_the_oldest_is_first_and_maps_with_too_little_in_common_are_left_out():
    places = np.random.default_rng(0).standard_normal((4, 2))
    present = a_map(places, rows=3)
    lonely = a_map(places[2:])
    unaware = a_map(places)
    unaware["levels"] = [level for level in unaware["levels"] if level["label"] != "new"]
    found = with_trail(present, [a_map(places, rows=1), lonely, unaware, a_map(places, rows=2)])
    assert [step["rows"] for step in found["trail"]] == [1, 2]
    assert "trail" not in present
    assert {**found, "trail": None} == {**present, "trail": None}
    assert with_trail(present, [])["trail"] == []


def test_a_map_without_a_task_has_no_trail():
    places = np.random.default_rng(0).standard_normal((4, 2))
    plain = a_map(places) | {"label": None}
    assert with_trail(plain, [plain])["trail"] == []


def test_a_trail_is_drawn(told):
    present = embedding_map(told, "machine", NEW)
    found = with_trail(present, [present, present])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    here = next(level for level in present["levels"] if level["is_current"])
    for step in found["trail"]:
        assert (step["x"], step["y"]) == pytest.approx((here["x"], here["y"]), abs=1e-6)
    assert as_svg(figures.embedding_map(with_trail(present, []))) == as_svg(figures.embedding_map(present))
    assert len(figures.embedding_map(found).axes[0].lines) == len(figures.embedding_map(present).axes[0].lines) + 2
