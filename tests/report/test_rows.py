"""Tables of pictures hold what the pictures show."""

import pandas as pd
import pytest

import headstart as hs
from headstart.report import convergence, embedding_map, honesty, rows_of, slices, surfaces, with_trail

NEW = {"machine": "new", "lab": "north"}


def test_convergence(told):
    summary = convergence(told, NEW)
    table = rows_of("convergence", summary)
    assert table["status"].tolist() == ["observed"] * 3 + ["pending"] * 2
    assert table["evaluation"].tolist()[:3] == [1, 2, 3]
    history = told.history().query("machine == 'new' and status in ('observed', 'pending')")
    for name in ("speed", "blades", "loss", "mean", "lower", "upper"):
        assert sorted(table[name].dropna()) == pytest.approx(sorted(history[name].dropna()))
    assert table["best"].dropna().tolist() == [each["best"] for each in summary["evaluations"]]
    archived = rows_of("convergence", convergence(told, {"machine": "old 1", "lab": "north"}))
    assert archived["status"].tolist() == ["archive"]
    assert archived["loss"].tolist() == archived["best"].tolist()


def test_slices(told):
    summary = slices(told, NEW, points=5)
    table = rows_of("slices", summary)
    assert (table["machine"].unique().tolist(), table["lab"].unique().tolist()) == (["new"], ["north"])
    assert table.groupby(["input", "mark"]).size().to_dict() == {
        ("speed", "expected"): 5,
        ("speed", "measured"): 3,
        ("speed", "best measured"): 1,
        ("blades", "expected"): 5,
        ("blades", "measured"): 3,
        ("blades", "best measured"): 1,
    }
    line = table.query("input == 'blades' and mark == 'expected'")
    for name in ("x", "mean", "lower", "upper"):
        assert line[name].tolist() == summary["inputs"][1][name]


def test_surfaces(told):
    summary = surfaces(told, NEW, points=4)
    table = rows_of("surfaces", summary)
    (pair,) = summary["pairs"]
    grid = table.query("mark == 'expected'")
    assert grid.pivot(index="y", columns="x", values="mean").to_numpy().tolist() == pair["mean"]
    assert grid.pivot(index="y", columns="x", values="sd").to_numpy().tolist() == pair["sd"]
    points = table.query("mark == 'measured'")
    for name in ("x", "y", "outcome", "distance"):
        assert points[name].tolist() == pair["measured"][name]
    (anchor,) = table.query("mark == 'best measured'").to_dict("records")
    assert {anchor["x_name"]: anchor["x"], anchor["y_name"]: anchor["y"]} == summary["anchor"]["inputs"]


def test_embedding_map(told):
    summary = embedding_map(told, "machine", NEW)
    table = rows_of("embedding_map", with_trail(summary, [summary]))
    assert table["mark"].tolist() == ["trail"] + ["level"] * len(summary["levels"])
    assert table["level"].tolist() == ["new"] + [level["label"] for level in summary["levels"]]
    assert table.query("is_current")["rows"].tolist() == [3, 3]
    last, level = table.iloc[-1], summary["levels"][-1]
    assert [[last["variance_x"], last["covariance_xy"]], [last["covariance_xy"], last["variance_y"]]] == [
        pytest.approx(row) for row in level["covariance"]
    ]


def test_honesty(told):
    summary = honesty(told)
    table = rows_of("honesty", summary)
    assert len(table) == summary["count"]
    assert table["inside"].sum() == summary["inside"]
    assert table["loss"].tolist() == [each["outcome"] for each in summary["predictions"]]
    assert set(table.columns) >= {"machine", "lab", "speed", "blades", "mean", "lower", "upper", "residual"}


def test_nothing_to_show_still_has_columns(fresh):
    assert rows_of("honesty", honesty(fresh)).columns.tolist()[2:5] == ["mean", "lower", "upper"]
    assert rows_of("convergence", convergence(fresh, NEW)).empty


def test_a_name_of_the_users_stays_theirs():
    each = {"task": {"machine": "m"}, "inputs": {"inside": 20.0}, "outcome": 3.0, "mean": 2.0, "lower": 1.0}
    each |= {"upper": 4.0, "inside": True, "residual": 0.5, "suggestion": 1, "observation": 2}
    table = rows_of("honesty", {"objective": "y", "predictions": [each]})
    assert isinstance(table, pd.DataFrame)
    assert (table["inside"].item(), table["inside_"].item()) == (20.0, True)


def test_an_unknown_picture_is_named():
    with pytest.raises(hs.HeadstartError, match="Did you mean 'slices'"):
        rows_of("slice", {})
