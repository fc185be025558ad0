"""How far legacy data can be trusted: the dict, the words and the figure, from a frame made by hand."""

import json
import math
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.report import as_svg, trust, trust_figure, trust_in_words
from headstart.report.summaries import wilson
from headstart.validation import COLUMNS

PROBLEM = hs.Problem(inputs=["speed"], general=["machine", "lab"], objective="loss", goal="minimize")


def frame(*tasks: tuple[str, str, list[float]], rows: int = 20, coverage: float = 0.8) -> pd.DataFrame:
    """Tasks by machine, verdict and gains at 0, 1, 3 rows."""
    records = []
    for machine, verdict, gains in tasks:
        for shots, gain in zip((0, 1, 3), gains, strict=False):
            scores = (shots, rows - shots, 0.1, 1.0 + gain, coverage, 0.2, 1.0, 0.7, gain, 0.05, verdict)
            records.append({"machine": machine, "lab": "north"} | dict(zip(COLUMNS, scores, strict=True)))
    made = pd.DataFrame(records, columns=["machine", "lab", *COLUMNS])
    made.attrs = {"interval": 0.8, "repeats": 3, "archive_tasks": 9}
    return made


MIXED = frame(
    ("a", "helps", [0.1, 1.0, 2.0]),
    ("b", "hurts", [0.2, -1.0, -0.5]),
    ("c", "no clear difference", [0.3, 0.1]),
)


def test_the_summary_holds_every_task_and_what_is_common():
    summary = trust(MIXED, PROBLEM)
    assert summary["objective"] == "loss"
    assert summary["general"] == ["machine", "lab"]
    assert summary["shots"] == [0, 1, 3]
    assert summary["archive_tasks"] == 9
    assert summary["counts"] == {"helps": 1, "hurts": 1, "no clear difference": 1}
    first, _, last = summary["tasks"]
    assert first["task"] == {"machine": "a", "lab": "north"}
    assert (first["verdict"], first["gain"]) == ("helps", 1.5)
    assert [each["shots"] for each in last["shots"]] == [0, 1]
    assert last["gain"] == pytest.approx(0.1)
    assert first["shots"][1] == MIXED.iloc[1].drop(["machine", "lab", "verdict"]).to_dict()
    assert summary["verdict"] == "no clear difference"
    none, one, three = summary["overall"]
    assert (none["tasks"], none["rows"], three["tasks"], three["rows"]) == (3, 60, 2, 34)
    assert none["gain"] == pytest.approx(0.2)
    assert one["log_density"] == pytest.approx(1 + 0.1 / 3)
    assert one["coverage"] == pytest.approx(0.8)
    assert one["coverage_range"] == wilson(46, 57)  # 45.6 of 57


def test_coverage_counts_rows_and_not_tasks():
    uneven = pd.concat(
        [frame(("a", "helps", [1.0]), rows=30, coverage=1.0), frame(("b", "helps", [1.0]), rows=10, coverage=0.5)]
    )
    assert trust(uneven, PROBLEM)["overall"][0]["coverage"] == pytest.approx(35 / 40)


def test_it_is_json_without_nan():
    single = frame(("a", "no clear difference", [0.4]), rows=1).assign(gain_error=math.nan)
    single["shots"] = single["shots"].astype(np.int64)
    summary = trust(single, PROBLEM)
    assert summary["tasks"][0]["shots"][0]["gain_error"] is None
    assert summary["tasks"][0]["gain"] == pytest.approx(0.4)  # nothing but zero shots
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_words_count_verdicts_errors_and_intervals():
    words = trust_in_words(trust(MIXED, PROBLEM))
    assert words.startswith("Legacy data help on 1 of 3 tasks, hurt on 1 and make no clear difference on 1.")
    assert "Over all tasks together, legacy data make no clear difference." in words
    assert "Beware of tasks like (machine = b, lab = north): do their columns mean the same" in words
    assert "before its first row by 0.1, where the mean of the other tasks is off by 0.2" in words
    assert "after 3 rows by 0.1, without legacy data by 0.2" in words
    assert "held 80\xa0% before the first row, 80\xa0% after 1 row and 80\xa0% after 3 rows." in words
    assert "narrow" not in words
    assert words.endswith("With 3 tasks this is a hint, not proof.")


def test_words_for_all_none_and_many():
    tasks = [(name, "helps", [0.1, 1.0, 2.0]) for name in "abcdef"]
    words = trust_in_words(trust(frame(*tasks), PROBLEM))
    assert words.startswith("Legacy data help on all 6 tasks.")
    assert "Beware" not in words
    assert "together" not in words
    assert "hint" not in words
    tasks[0] = ("a", "no clear difference", [0.1, 0.5, 0.5])
    assert "Over all tasks together, legacy data help." in trust_in_words(trust(frame(*tasks), PROBLEM))
    hurt = [(name, "hurts", [0.1, -1.0, -2.0]) for name in "abcdef"]
    words = trust_in_words(trust(frame(*hurt), PROBLEM))
    assert words.startswith("Legacy data help on none of 6 tasks and hurt on 6.")
    assert "and 3 more: do" in words
    unclear = [(name, "no clear difference", [0.1, 0.0, 0.0]) for name in "ab"]
    words = trust_in_words(trust(frame(*unclear), PROBLEM))
    assert words.startswith("Legacy data make no clear difference on any of 2 tasks. Predictions")
    assert "enough rows" in trust_in_words(trust(frame(), PROBLEM))


@pytest.mark.parametrize(("coverage", "said"), [(0.4, "too narrow"), (0.99, "wider than they need to be")])
def test_words_say_when_intervals_do_not_hold(coverage, said):
    tasks = [(name, "helps", [0.1, 1.0, 2.0]) for name in "abcdef"]
    words = trust_in_words(trust(frame(*tasks, coverage=coverage), PROBLEM))
    assert f"They are {said} before the first row, after 1 row and after 3 rows" in words


def labels(figure) -> list[str]:
    return [tick.get_text() for tick in figure.axes[0].get_yticklabels()]


def test_the_figure_has_a_line_a_task_the_most_helped_on_top():
    figure = trust_figure(trust(MIXED, PROBLEM))
    assert labels(figure) == ["a, north", "c, north", "b, north"]
    assert figure.axes[0].get_xscale() == "linear"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "no row learned",
        "1 row learned",
        "3 rows learned",
    ]
    assert figure.axes[1].get_xlim() == (-0.04, 1.04)
    root = ET.fromstring(as_svg(figure))
    assert "What legacy data are worth in predicting loss" in root.get("aria-label")
    assert as_svg(figure) == as_svg(trust_figure(trust(MIXED, PROBLEM)))


def test_figures_of_many_tasks_long_names_and_huge_gains():
    many = [(f"$m_{i}$ of a rather long name {'x' * 40} no {i}", "helps", [1.0, 40.0 - i, 5.0]) for i in range(35)]
    figure = trust_figure(trust(frame(*many), PROBLEM))
    assert len(labels(figure)) == 35
    assert all(len(label) <= 36 for label in labels(figure))
    assert labels(figure)[0].endswith("no 0, north")  # the end of a long name is kept
    assert figure.axes[0].get_xscale() == "symlog"
    assert figure.get_figheight() > 2 * trust_figure(trust(MIXED, PROBLEM)).get_figheight()


def test_a_figure_of_zero_shots_or_of_nothing_is_drawn():
    zero = trust_figure(trust(frame(("a", "helps", [0.5])), PROBLEM))
    assert len(zero.legends[0].get_texts()) == 1
    assert labels(trust_figure(trust(frame(), PROBLEM))) == []


def test_the_summary_is_that_of_a_real_validation():
    archive = pd.DataFrame({"machine": ["a", "a", "b", "b"], "lab": "north", "speed": [1.0, 2.0, 1.0, 2.0]})
    archive["loss"] = [1.0, 2.0, 1.1, 2.1]
    surrogate = hs.fit(archive, PROBLEM, inference="lbfgs")
    summary = trust(surrogate.validate(shots=[0], repeats=1), surrogate.problem)
    assert [task["task"]["machine"] for task in summary["tasks"]] == ["a", "b"]
    assert (summary["repeats"], summary["archive_tasks"]) == (1, 2)
