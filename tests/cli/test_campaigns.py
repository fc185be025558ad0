"""`headstart campaign ...`, from the first command to the report."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import headstart as hs

ROLES = ("--objective", "density", "--maximize")
CREATE = ("campaign", "create", "titanium", "archive.csv", *ROLES)


@pytest.fixture
def created(headstart, archive):
    answer = headstart(*CREATE)
    assert answer.code == 0, answer.err
    return headstart


def test_a_campaign_from_the_shell(headstart, archive, tmp_path):
    """Every command once, in the order in which people need them."""
    answer = headstart(*CREATE)
    assert "'alloy' names the task" in answer.err
    assert "Campaign 'titanium' has 15 rows of 3 tasks." in answer.out
    assert "Next: headstart campaign suggest 'titanium' --task alloy=LABEL" in answer.out

    asked = headstart("campaign", "suggest", "titanium", "--task", "alloy=Ti-6242", "-n", 2)
    assert "Next for alloy Ti-6242; score: expected best" in asked.out
    assert "headstart campaign observe 'titanium' --suggestion 1" in asked.out

    told = headstart("campaign", "observe", "titanium", "--suggestion", 1, "--value", 1.25)
    assert told.out == "Stored density = 1.25 as observation 16.\n"
    assert "Withdrew 2." in headstart("campaign", "withdraw", "titanium", 2, "--reason", "no powder").err
    own = headstart(
        *("campaign", "observe", "titanium", "--value", 0.5, "-t", "Ti-6242"),
        *("--at", "power_w=150", "--at", "speed=0.75"),
    )
    assert own.out == "Stored density = 0.5 as observation 17.\n"
    assert "Retracted 17." in headstart("campaign", "retract", "titanium", 17, "--reason", "wrong sample").err

    shown = headstart("campaign", "show", "titanium")
    for words in ("maximize density", "Best so far", "1.25", "withdrawn", "retracted", "observed"):
        assert words in shown.out
    assert "titanium" in headstart("campaign", "list").out

    assert "Wrote out.csv." in headstart("campaign", "export", "titanium", "out.csv").err
    history = hs.read_table(tmp_path / "out.csv")
    assert history["status"].tolist() == ["observed", "withdrawn", "retracted"]
    assert history["author"].tolist() == ["ann"] * 3
    headstart("campaign", "export", "titanium", "all.parquet", "--what", "data")
    assert len(hs.read_table(tmp_path / "all.parquet")) == 16

    assert "Wrote titanium.html." in headstart("campaign", "report", "titanium").err
    page = (tmp_path / "titanium.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "Ti-6242" in page


def test_a_file_of_outcomes(created, tmp_path):
    """Export what is pending, fill in the outcomes in a spreadsheet, hand it back."""
    asked = created("campaign", "suggest", "titanium", "-t", "Ti-6242", "-n", 2, "--json").json["suggestions"]
    filled = pd.DataFrame(asked)[["suggestion"]].assign(density=[1.0, 1.1])
    filled.to_excel(tmp_path / "outcomes.xlsx", index=False)
    assert created("campaign", "observe", "titanium", "outcomes.xlsx", "--json").json["observations"] == [16, 17]
    again = created("campaign", "observe", "titanium", "outcomes.xlsx", "--json").json["observations"]
    assert again == [16, 17]  # handing it in twice does no harm
    campaign = hs.Campaign.open("titanium", store=tmp_path / "headstart.db")
    assert campaign.history()["status"].tolist() == ["observed"] * 2
    assert campaign.history()["power_w"].tolist() == [row["power_w"] for row in asked]


def test_export_fill_in_and_hand_back(created, tmp_path):
    """The history as people use it: pending rows get outcomes, the others are as they were."""
    created("campaign", "suggest", "titanium", "-t", "Ti-6242", "-n", 3)
    created("campaign", "observe", "titanium", "--suggestion", 1, "--value", "4,5")
    created("campaign", "retract", "titanium", 16)
    created("campaign", "observe", "titanium", "--suggestion", 1, "--value", 0.9)
    created("campaign", "export", "titanium", "history.xlsx")
    history = hs.read_table(tmp_path / "history.xlsx")
    history.loc[history["suggestion"] == 2, "density"] = 1.1
    history.to_excel(tmp_path / "filled.xlsx", index=False)
    answer = created("campaign", "observe", "titanium", "filled.xlsx")
    assert answer.code == 0, answer.err
    assert "2 rows without an outcome, withdrawn or retracted are left out" in answer.err
    campaign = hs.Campaign.open("titanium", store=tmp_path / "headstart.db")
    assert sorted(campaign.history()["status"]) == ["observed", "observed", "pending", "retracted"]
    assert len(campaign.data()) == 17


def test_a_label_that_looks_like_another(created):
    asked = created("campaign", "suggest", "titanium", "-t", "Ti.1")
    assert "'Ti.1' is a new alloy. Did you mean 'Ti-1'?" in asked.err


def test_a_file_of_outcomes_with_decimal_commas(created, tmp_path):
    created("campaign", "suggest", "titanium", "-t", "Ti-6242")
    (tmp_path / "outcomes.csv").write_text("suggestion;density\n1;1,125\n", encoding="utf-8")
    unclear = created("campaign", "observe", "titanium", "outcomes.csv")
    assert unclear.code == 1
    assert "--decimal" in unclear.err
    assert created("campaign", "observe", "titanium", "outcomes.csv", "--decimal", ",").code == 0
    campaign = hs.Campaign.open("titanium", store=tmp_path / "headstart.db")
    assert campaign.history()["density"].tolist() == [1.125]


def test_json_everywhere(headstart, archive, tmp_path):
    pd.DataFrame({"power_w": [120, 200], "speed": [0.1, 0.3]}).to_csv(tmp_path / "list.csv", index=False)
    (tmp_path / "function.py").write_text("def f(speed): return speed\n")
    commands = [
        ("inspect", "archive.csv"),
        ("suggest", "archive.csv", *ROLES, "-t", "new"),
        ("predict", "archive.csv", "archive.csv", *ROLES),
        ("optimize", "function.py:f", "archive.csv", *ROLES, "-t", "new", "--budget", 1),
        CREATE,
        ("campaign", "suggest", "titanium", "-t", "new", "--candidates", "list.csv"),
        ("campaign", "observe", "titanium", "--suggestion", 1, "--value", 1),
        ("campaign", "suggest", "titanium", "-t", "new", "--seed", 4, "--fix", "speed=0.5"),
        ("campaign", "withdraw", "titanium", 2),
        ("campaign", "retract", "titanium", 16),
        ("campaign", "export", "titanium", "out.json"),
        ("campaign", "report", "titanium", "page.html"),
        ("campaign", "list"),
        ("campaign", "show", "titanium"),
    ]
    for command in commands:
        answer = headstart(*command, "--json")
        assert answer.code == 0, (command, answer.err)
        assert isinstance(answer.json, dict), command
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))


def test_the_store_can_be_chosen(headstart, archive, tmp_path, monkeypatch):
    headstart(*CREATE, "--store", "other.db")
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "headstart.db").exists()
    monkeypatch.setenv("HEADSTART_STORE", "other.db")
    assert "titanium" in headstart("campaign", "list").out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("create", "titanium", "archive.csv", *ROLES), 1, "a campaign 'titanium' in headstart.db already"),
        (("show", "titanum"), 3, "Did you mean 'titanium'"),
        (("suggest", "titanium", "-t", "aloy=new"), 1, "Did you mean 'alloy'"),
        (("observe", "titanium"), 1, "Give the outcome"),
        (("observe", "titanium", "--value", 1, "--suggestion", 7), 1, "None is pending"),
        (("observe", "titanium", "--value", 1), 1, "--suggestion ID"),
        (("observe", "titanium", "--value", 1, "-t", "new", "--at", "speed=1"), 1, "power_w"),
        (("retract", "titanium", 1), 1, "row of the archive"),
        (("observe", "titanium", "--value", 1, "-t", "new", "--at", "sped=1"), 1, "Did you mean 'speed'"),
        (("withdraw", "titanium", 99999999999999999999), 1, "whole number"),
        (("withdraw", "titanium", 7), 1, "no suggestion 7"),
        (("retract", "titanium", 99), 1, "no observation 99"),
        (("export", "titanium", "out.doc"), 1, ".csv"),
        (("export", "titanium", "out.csv", "--what", "all"), 1, "history, data"),
        (("report", "titanium", "no/folder.html"), 1, "no/folder.html"),
        (("report", "titanium", "-t", "unknown"), 1, "Ti-0"),
    ],
)
def test_errors(created, arguments, code, words):
    answer = created("campaign", *arguments)
    assert (answer.code, answer.out) == (code, ""), answer.err
    assert words in answer.err


def test_campaign_names_are_completed(created, tmp_path):
    words = {"COMP_WORDS": "headstart campaign show tit", "COMP_CWORD": "3", "_HEADSTART_COMPLETE": "complete_bash"}
    program = Path(sys.executable).parent / "headstart"
    run = subprocess.run([program], capture_output=True, text=True, env={**os.environ, **words}, cwd=tmp_path)
    assert run.stdout.split() == ["titanium"], run.stderr


def test_an_empty_list(headstart, tmp_path):
    from headstart.campaign import Store

    Store(tmp_path / "headstart.db", create=True)
    assert "headstart campaign create" in headstart("campaign", "list").out
