import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import headstart as hs
from headstart.report import convergence, experiments, honesty, overview
from headstart.report.summaries import _tail, wilson
from headstart.report.words import honesty_in_words

NEW = {"machine": "new", "lab": "north"}


def test_every_summary_is_json(told):
    for summary in (overview(told), convergence(told, NEW), honesty(told), experiments(told)):
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_the_overview_counts_what_the_history_holds(told, archive):
    glance = overview(told)
    counts = told.history()["status"].value_counts()
    assert {state: glance[state] for state in counts.index} == counts.to_dict()
    assert (glance["observed"], glance["pending"], glance["withdrawn"], glance["retracted"]) == (4, 2, 1, 1)
    assert (glance["name"], glance["author"], glance["version"]) == ("told", "ann", hs.__version__)
    assert glance["archive_rows"] == len(archive)
    assert sum(each["archive"] for each in glance["tasks"]) == len(archive)
    assert [each["task"]["machine"] for each in glance["current"]] == ["new", "other"]  # most recent first
    assert glance["problem"] == told.problem.to_dict()


def test_the_best_of_a_task_is_that_of_its_rows(told):
    found = overview(told)["current"][0]["best"]
    rows = told.data().query("machine == 'new' and lab == 'north'")
    best = rows.loc[rows["loss"].idxmin()]
    assert found["outcome"] == best["loss"] > 0  # the retracted outcome was lower
    assert found["inputs"] == {"speed": best["speed"], "blades": best["blades"]}
    assert found["is_archive"] is False


def test_convergence_against_pandas(told):
    course = convergence(told, NEW)
    history = told.history().query("status == 'observed' and machine == 'new'").sort_values("observation")
    frame = pd.DataFrame(course["evaluations"])
    assert frame["evaluation"].tolist() == [1, 2, 3]
    assert frame["outcome"].tolist() == history["loss"].tolist()
    assert frame["best"].tolist() == history["loss"].cummin().tolist()
    for name in ("mean", "lower", "upper"):
        assert frame[name].tolist() == history[name].tolist()
        assert frame[name].notna().all()  # what nobody suggested was judged when the surrogate learned it
    assert course["start"] is None
    assert len(course["pending"]) == 2


def test_convergence_of_a_legacy_task_begins_with_the_archive(fresh, archive):
    task = {"machine": "old 1", "lab": "north"}
    known = archive.query("machine == 'old 1' and lab == 'north'")["loss"]
    fresh.observe(pd.DataFrame([{**task, "speed": 99.0, "blades": 2, "loss": 90.0}]))
    course = convergence(fresh, task)
    assert course["start"] == known.min()
    assert course["evaluations"][0]["best"] == known.min()
    assert course["evaluations"][0]["mean"] is None  # no surrogate has looked yet
    assert overview(fresh)["current"][0]["best"]["is_archive"] is True


def test_honesty_by_hand(told, archive):
    held = honesty(told)
    rows = told.history().query("status == 'observed'")
    inside = (rows["loss"] >= rows["lower"]) & (rows["loss"] <= rows["upper"])
    assert [row["inside"] for row in held["predictions"]] == inside.tolist()
    assert (held["count"], held["inside"]) == (4, inside.sum())
    assert held["share_inside"] == inside.mean()
    residuals = (rows["loss"] - rows["mean"]) / rows["sd"]
    np.testing.assert_allclose([row["residual"] for row in held["predictions"]], residuals)
    assert held["rmse"] == pytest.approx(np.sqrt(((rows["loss"] - rows["mean"]) ** 2).mean()))
    guess = archive["loss"].mean()
    assert held["rmse_of_archive_mean"] == pytest.approx(np.sqrt(((rows["loss"] - guess) ** 2).mean()))


@pytest.mark.parametrize(("hits", "count"), [(0, 1), (1, 1), (4, 5), (80, 100), (100, 100)])
def test_wilson_against_scipy(hits, count):
    expected = binomtest(hits, count).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(wilson(hits, count), [expected.low, expected.high], atol=1e-12)


@pytest.mark.parametrize(
    ("hits", "count", "words"),
    [
        (0, 1, "can be chance"),
        (1, 1, "agrees"),
        (2, 5, "can be chance"),
        (1, 5, "too narrow"),
        (40, 50, "agrees"),
        (28, 50, "too narrow"),
        (50, 50, "wider than they need"),
    ],
)
def test_few_outcomes_prove_nothing(hits, count, words):
    chance = _tail(hits, count, 0.8)
    sides = (binomtest(hits, count, 0.8, alternative=side).pvalue for side in ("less", "greater"))
    assert chance == pytest.approx(min(sides))
    summary = {"count": count, "inside": hits, "share_inside": hits / count, "interval": 0.8, "chance": chance}
    assert words in honesty_in_words({**summary, "share_range": wilson(hits, count)})


def test_nothing_yet(fresh):
    glance = overview(fresh)
    assert (glance["current"], glance["last_activity"], glance["observed"]) == ([], None, 0)
    assert convergence(fresh, NEW)["evaluations"] == []
    held = honesty(fresh)
    assert (held["count"], held["share_inside"], held["share_range"], held["rmse"]) == (0, None, None, None)


def test_counting_loads_neither_torch_nor_pyplot():
    code = (
        "import sys, headstart.report.summaries, headstart.report.figures\n"
        "assert not {'torch', 'matplotlib.pyplot'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
