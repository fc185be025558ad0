"""Surfaces, against predictions of their own."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.report import as_svg, figures, slices, surfaces

NEW = {"machine": "new", "lab": "north"}


def test_a_surface_is_what_predict_says(told):
    found = surfaces(told, NEW, points=7)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    (pair,) = found["pairs"]
    assert (pair["x_name"], pair["y_name"]) == ("speed", "blades")
    assert pair["x"] == np.linspace(0, 100, 7).tolist()
    assert pair["y"] == [2, 3, 4, 5, 6]  # where it can be set
    for row, blades in enumerate(pair["y"]):
        expected = told.predict(pd.DataFrame({"speed": pair["x"], "blades": blades}), task=NEW)
        np.testing.assert_allclose(pair["mean"][row], expected["mean"])
        np.testing.assert_allclose(pair["sd"][row], expected["sd"])
    assert found["range"] == [np.min(pair["mean"]), np.max(pair["mean"])]
    assert found["sd_range"] == [np.min(pair["sd"]), np.max(pair["sd"])]


def test_a_surface_goes_through_the_anchor_of_the_slices(told):
    found, along = surfaces(told, NEW, points=5), slices(told, NEW, points=5)
    assert found["anchor"] == along["anchor"]
    row = found["pairs"][0]["y"].index(along["anchor"]["inputs"]["blades"])
    np.testing.assert_allclose(found["pairs"][0]["mean"][row], along["inputs"][0]["mean"])


@pytest.fixture(scope="module")
def four_inputs(tmp_path_factory) -> hs.Campaign:
    random = np.random.default_rng(1)
    archive = pd.DataFrame(random.uniform(0, 1, (8, 4)), columns=[*"abcd"]).assign(machine=["old", "new"] * 4)
    archive["gain"] = archive["a"] - archive["d"]
    problem = hs.Problem(inputs=dict.fromkeys("abcd", (0, 1)), general="machine", objective="gain")
    return hs.Campaign.create("four", archive, problem, store=tmp_path_factory.mktemp("four") / "h.db")


def test_every_pair_is_there_and_all_are_one_prediction(four_inputs, monkeypatch):
    calls = []
    predict = hs.Surrogate.predict
    monkeypatch.setattr(hs.Surrogate, "predict", lambda *a, **k: calls.append(len(a[1])) or predict(*a, **k))
    found = surfaces(four_inputs, {"machine": "new"}, points=4)
    assert calls == [6 * 16]
    names = [pair["x_name"] + pair["y_name"] for pair in found["pairs"]]
    assert names == ["ab", "ac", "ad", "bc", "bd", "cd"]
    rows = four_inputs.data().query("machine == 'new'")
    centre = pd.Series(found["anchor"]["inputs"])
    pair = found["pairs"][names.index("ac")]
    assert pair["measured"]["x"] == rows["a"].tolist()
    assert pair["measured"]["y"] == rows["c"].tolist()
    assert pair["measured"]["outcome"] == rows["gain"].tolist()
    away = (rows[["b", "d"]] - centre[["b", "d"]]).abs().max(axis=1)
    np.testing.assert_allclose(pair["measured"]["distance"], away)
    np.testing.assert_allclose(
        pair["mean"][2][1],
        four_inputs.predict(pd.DataFrame([{**centre, "a": 1 / 3, "c": 2 / 3}]), task={"machine": "new"})["mean"],
    )


def test_one_pair_can_be_asked_for_and_many_have_fewer_points(four_inputs, monkeypatch):
    monkeypatch.setattr("headstart.report.pairs._MOST_PREDICTIONS", 6 * 100)
    task = {"machine": "new"}
    (pair,) = surfaces(four_inputs, task, points=12, pair=("d", "b"))["pairs"]
    assert (pair["x_name"], pair["y_name"], np.shape(pair["mean"])) == ("d", "b", (12, 12))
    assert len(surfaces(four_inputs, task, points=12)["pairs"][0]["x"]) == 10
    with pytest.raises(hs.HeadstartError, match="not an input"):
        surfaces(four_inputs, task, pair=("a", "e"))
    with pytest.raises(hs.HeadstartError, match="two different"):
        surfaces(four_inputs, task, pair=("a", "a"))


def test_one_input_has_no_surface(tmp_path):
    archive = pd.DataFrame({"a": [0.0, 0.5, 1.0], "machine": "old", "gain": [0.0, 1.0, 0.5]})
    problem = hs.Problem(inputs={"a": (0, 1)}, general="machine", objective="gain")
    campaign = hs.Campaign.create("one", archive, problem, store=tmp_path / "h.db")
    found = surfaces(campaign, {"machine": "old"})
    assert (found["pairs"], found["range"], found["sd_range"]) == ([], None, None)


def test_the_figure_shows_mean_and_uncertainty(told):
    found = surfaces(told, NEW, points=7)
    figure = figures.surface(found)
    assert as_svg(figure) == as_svg(figures.surface(found))
    mean, bar, sd, other_bar = figure.axes
    assert (mean.get_xlabel(), mean.get_ylabel()) == ("speed", "blades")
    assert [bar.get_ylabel(), other_bar.get_ylabel()] == ["expected loss", "uncertainty (sd)"]
    low, high = mean.get_xlim()
    assert low < 0 < 100 < high
    assert sd.get_xlim() == mean.get_xlim()


@pytest.mark.parametrize("level", [0.0, 3.0, -1e6])
def test_a_flat_surface_can_be_drawn(level):
    flat = {
        "x_name": "$a$ <b>",
        "y_name": "b",
        "x": [0.0, 1.0],
        "y": [0.0, 1.0, 2.0],
        "mean": [[level] * 2] * 3,
        "sd": [[0.0] * 2] * 3,
        "measured": {"x": [], "y": [], "outcome": [], "distance": []},
    }
    anchor = {"is": "best predicted", "inputs": {"$a$ <b>": 0.5, "b": 1.0}, "outcome": None}
    summary = {"objective": "y", "anchor": anchor, "range": [level] * 2, "sd_range": [0.0, 0.0], "pairs": [flat]}
    ET.fromstring(as_svg(figures.surface(summary)))
