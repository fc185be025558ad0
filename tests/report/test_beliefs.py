"""Slices and maps, against predictions, samples and formulas of their own."""

import json

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.report import embedding_map, slices

NEW = {"machine": "new", "lab": "north"}


def test_a_slice_is_what_predict_says(told):
    found = slices(told, NEW, points=11)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    speed, blades = found["inputs"]
    anchor = found["anchor"]
    assert anchor["is"] == "best measured"
    rows = pd.DataFrame({"speed": np.linspace(0, 100, 11), "blades": anchor["inputs"]["blades"]})
    expected = told.predict(rows, task=NEW)
    for name in ("mean", "lower", "upper"):
        np.testing.assert_allclose(speed[name], expected[name])
    assert blades["x"] == [2, 3, 4, 5, 6]  # where it can be set
    assert (blades["is_stepped"], speed["is_stepped"]) == (True, False)


def test_slices_know_the_measured_points_and_their_distance(told):
    found = slices(told, NEW, points=5)
    rows = told.data().query("machine == 'new' and lab == 'north'")
    speed, blades = found["inputs"]
    assert speed["measured"]["x"] == rows["speed"].tolist()
    assert speed["measured"]["outcome"] == rows["loss"].tolist()
    away = (rows[["speed", "blades"]] - pd.Series(found["anchor"]["inputs"])).abs() / pd.Series(
        {"speed": 100, "blades": 4}
    )
    np.testing.assert_allclose(speed["measured"]["distance"], away["blades"])
    np.testing.assert_allclose(blades["measured"]["distance"], away["speed"])
    low, high = found["range"]
    assert low == min([*speed["lower"], *blades["lower"], *rows["loss"]])
    assert high == max([*speed["upper"], *blades["upper"], *rows["loss"]])


def test_all_slices_are_one_prediction(told, monkeypatch):
    calls = []
    predict = hs.Surrogate.predict
    monkeypatch.setattr(hs.Surrogate, "predict", lambda *a, **k: calls.append(1) or predict(*a, **k))
    slices(told, NEW)
    assert len(calls) == 1


def test_without_data_the_anchor_is_the_suggestion_or_the_best_mean(fresh):
    assert slices(fresh, NEW, points=5)["anchor"]["is"] == "best predicted"
    assert len(fresh.suggestions()) == 0
    asked = fresh.suggest(NEW)
    anchor = slices(fresh, NEW, points=5)["anchor"]
    assert (anchor["is"], anchor["outcome"]) == ("next suggestion", None)
    assert anchor["inputs"] == {name: asked[name].iloc[0] for name in ("speed", "blades")}


def latents(campaign, general):
    """Means, sds and length scales straight from the model."""
    surrogate = campaign.surrogate()
    frame = surrogate.embedding(general)
    scales = surrogate.model.variational_parameters()["kernel.log_latent_lengthscale"].exp().numpy()
    g = campaign.problem.general.index(general)
    return frame, frame.filter(like="mean_").to_numpy(), frame.filter(like="sd_").to_numpy(), scales[3 * g : 3 * g + 3]


def test_an_ellipse_is_the_covariance_of_samples(told):
    found = embedding_map(told, "machine", NEW)
    frame, mean, sd, scale = latents(told, "machine")
    assert [level["label"] for level in found["levels"]] == frame["level"].tolist()
    scaled = mean / scale
    variances, vectors = np.linalg.eigh(np.cov(scaled.T))
    directions = vectors[:, ::-1][:, :2]
    drawn = np.array([[level["x"], level["y"]] for level in found["levels"]])
    mine = (scaled - scaled.mean(0)) @ directions
    directions = directions * np.where((mine * drawn).sum(0) < 0, -1, 1)
    np.testing.assert_allclose(drawn, (scaled - scaled.mean(0)) @ directions, atol=1e-6)
    np.testing.assert_allclose(found["explained"], variances[::-1][:2] / variances.sum(), atol=1e-6)
    random = np.random.default_rng(1)
    for place, level in enumerate(found["levels"]):
        samples = (mean[place] + sd[place] * random.standard_normal((100_000, 3))) / scale @ directions
        size = np.trace(np.cov(samples.T))
        np.testing.assert_allclose(level["covariance"], np.cov(samples.T), atol=0.02 * size)


def test_two_levels_lie_on_a_line(told):
    found = embedding_map(told, "lab", NEW)
    assert found["explained"] == pytest.approx([1, 0], abs=1e-9)
    north, south = found["levels"]
    assert (north["x"], north["y"], south["y"]) == pytest.approx((-south["x"], 0, 0), abs=1e-6)
    _, _, sd, scale = latents(told, "lab")
    for place, level in enumerate(found["levels"]):
        assert 0 < np.trace(level["covariance"]) <= ((sd[place] / scale) ** 2).sum()


@pytest.mark.parametrize("kernel", ["matern52", "rbf", "rbf+residual"])
def test_similarity_is_the_expected_correlation(archive, problem, tmp_path, kernel):
    campaign = hs.Campaign.create("c", archive, problem, store=tmp_path / "h.db", kernel=kernel)
    campaign.observe(pd.DataFrame([{**NEW, "speed": 80.0, "blades": 3, "loss": 26.5}]))
    found = embedding_map(campaign, "machine", NEW)
    frame, mean, sd, scale = latents(campaign, "machine")
    random = np.random.default_rng(2)
    draws = mean + sd * random.standard_normal((200_000, *mean.shape))
    place = frame["level"].tolist().index("new")
    r2 = (((draws - draws[:, [place]]) / scale) ** 2).sum(-1)
    t = np.sqrt(5 * r2)
    k = (1 + t + t**2 / 3) * np.exp(-t) if kernel == "matern52" else np.exp(-r2 / 2)
    shared = 1.0
    if kernel == "rbf+residual":  # what two tasks have in common
        parameters = campaign.surrogate().model.variational_parameters()
        scales = [parameters[f"kernel.{name}"].exp().item() for name in ("log_outputscale", "log_residual_scale")]
        shared = scales[0] / sum(scales)
    expected = dict(zip(frame["level"], shared * k.mean(0), strict=True))
    for level in found["levels"]:
        if level["is_current"]:
            assert level["similarity"] is None
        else:
            assert level["similarity"] == pytest.approx(expected[level["label"]], abs=0.004)
    del expected["new"]
    assert [each["label"] for each in found["nearest"]] == sorted(expected, key=lambda label: -expected[label])


def test_a_level_without_data_is_the_prior(told):
    found = embedding_map(told, "machine", {"machine": "never seen", "lab": "north"})
    _, mean, _, scale = latents(told, "machine")
    level = found["levels"][-1]
    assert (level["label"], level["is_current"], level["rows"]) == ("never seen", True, 0)
    others = np.array([[each["x"], each["y"]] for each in found["levels"][:-1]])
    # The projection is affine: find it from the others, and apply it to z = 0.
    design = np.column_stack([mean / scale, np.ones(len(mean))])
    coefficients = np.linalg.lstsq(design, others, rcond=None)[0]
    np.testing.assert_allclose([level["x"], level["y"]], coefficients[-1], atol=1e-6)
    directions = coefficients[:-1]
    np.testing.assert_allclose(level["covariance"], directions.T @ np.diag(scale**-2.0) @ directions, atol=1e-6)


def test_a_point_embedding_has_no_ellipse(archive, problem, tmp_path):
    campaign = hs.Campaign.create("c", archive, problem, store=tmp_path / "h.db", model="egp", latent_dim=1)
    found = embedding_map(campaign, "machine", NEW)
    assert all(np.all(np.array(level["covariance"]) == 0) for level in found["levels"])
    assert found["explained"] == pytest.approx([1, 0])
    assert found["separation"] == 1


def test_a_map_of_the_archive_alone(fresh):
    found = embedding_map(fresh, "machine")
    assert (found["label"], found["nearest"]) == (None, [])
    assert [level["rows"] for level in found["levels"]] == [6, 6, 6]
    with pytest.raises(hs.HeadstartError, match="not a general input"):
        embedding_map(fresh, "machin")
