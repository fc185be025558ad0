"""`headstart validate`."""

import pandas as pd
import pytest
from cli.conftest import table

import headstart as hs
from headstart.report import trust

ROLES = ("--objective", "density", "--maximize")
FAST = ("--tasks", 1, "--repeats", 1, "--kernel", "rbf")


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.csv"
    table(tasks=2, rows=5).to_csv(path, index=False)
    return path


def test_validate_is_the_library_in_one_command(headstart, small):
    answer = headstart("validate", small, *ROLES, *FAST, "--json", "--output", "scores.csv", "--figure", "trust.svg")
    assert answer.code == 0, answer.err
    problem = hs.Problem.from_dict(answer.json["problem"])
    frame = hs.fit(hs.read_table(small), problem, kernel="rbf").validate(tasks=1, repeats=1)
    summary = trust(frame, problem)
    assert {name: answer.json[name] for name in summary} == summary
    assert (answer.json["headstart"], answer.json["seed"], answer.json["kernel"]) == (hs.__version__, 0, "rbf")
    assert answer.json["in_words"].startswith("Legacy data ")
    assert pd.read_csv("scores.csv").columns.tolist() == frame.columns.tolist()
    with open("trust.svg") as file:
        assert file.read().startswith("<svg")


def test_people_get_a_table_and_words(headstart, small):
    answer = headstart("validate", small, *ROLES, *FAST)
    assert answer.code == 0, answer.err
    assert "Predictions of density for tasks that were held out" in answer.out
    assert "alone_rmse coverage" in answer.out
    assert "Intervals that promise to hold 80" in answer.out
    assert "'speed' is an input from" in answer.err


def test_mistakes_are_told_before_the_work(headstart, small):
    wrong = headstart("validate", small, *ROLES, "--figure", "trust.gif")
    assert wrong.code == 1
    assert "must end in .png, .svg, .pdf" in wrong.err
    assert "no folder" in headstart("validate", small, *ROLES, "--figure", "there/trust.png").err
    assert "There is no format" in headstart("validate", small, *ROLES, "--output", "scores.doc").err


def test_one_task_cannot_be_validated(headstart, tmp_path):
    table(tasks=1, rows=3).to_csv(tmp_path / "one.csv", index=False)
    answer = headstart("validate", "one.csv", *ROLES, "--general", "alloy", "--kernel", "rbf")
    assert answer.code == 1
    assert "one.csv: There is one task only in 'alloy'" in answer.err
