"""/api/v1: what programs ask and tell, and what they hear when something is wrong."""

import re
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from dashboard import archive, head
from visiting import API, Visitor, check_harmless, check_harmless_picture, suggested

import headstart as hs
from headstart.errors import DataWarning
from headstart.web import views
from headstart.web.worker import work_once

NEW = {"pump": "new"}
CAMPAIGN = {
    "name": "pumps",
    "inputs": {"speed_rpm": [1000, 3000], "angle_deg": [10, 40]},
    "general": ["pump"],
    "objective": "head_m",
    "goal": "maximize",
    "archive": archive().to_dict("records"),
}
ROW = {"speed_rpm": 2000, "angle_deg": 25, "head_m": 29.5}
HERE = f"{API}/campaigns/1"
JSON = {"content-type": "application/json"}


def new_lab(folder: Path) -> Visitor:
    """A program, and a campaign."""
    visitor = Visitor(folder / "headstart.db", headers={"x-headstart-author": "rig 4"})
    assert visitor.post(f"{API}/campaigns", json=CAMPAIGN).status_code == 201
    return visitor


@pytest.fixture
def lab(tmp_path) -> Visitor:
    return new_lab(tmp_path)


@pytest.fixture(scope="module")
def steady(tmp_path_factory) -> Visitor:
    """For requests that change nothing, since they are refused."""
    return new_lab(tmp_path_factory.mktemp("steady"))


def pending(lab: Visitor, speed: float = 2000.0) -> int:
    """A suggestion, without a fit."""
    return suggested(lab.store, hs.Campaign(1, lab.store), NEW, {"speed_rpm": speed, "angle_deg": 25.0}, mean=29.0)


def detail(answer, status: int = 422) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()["detail"]
    return found if isinstance(found, str) else "; ".join(f"{each['where']}: {each['what']}" for each in found)


# ---------------------------------------------------------------------- campaigns


def test_a_campaign_is_created_and_listed(lab):
    view = lab.get(HERE).json()
    assert (view["id"], view["name"], view["author"], view["archive_rows"]) == (1, "pumps", "rig 4", 24)
    assert view["problem"]["inputs"] == [["speed_rpm", [1000.0, 3000.0]], ["angle_deg", [10.0, 40.0]]]
    (listed,) = lab.get(f"{API}/campaigns").json()["campaigns"]
    assert (listed["id"], listed["status"]) == (1, "working")  # its first fit is queued
    assert [each["task"] for each in lab.get(f"{HERE}/tasks").json()["tasks"]] == [{"pump": f"P{k}"} for k in range(4)]
    assert lab.get(f"{HERE}/data").json()["rows"] == archive()[["pump", "speed_rpm", "angle_deg", "head_m"]].to_dict(
        "records"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "body.name: String should have at least 1"),
        ({"name": " "}, "needs a name"),
        ({"name": "pumps"}, "There is a campaign 'pumps'"),
        ({"name": "a\0b"}, "body.name: It holds a control character"),
        ({"goal": "please"}, "body.goal: Input should be 'maximize' or 'minimize'"),
        ({"inputs": {}}, "body.inputs"),
        ({"inputs": {"speed_rpm": [3000, 1000]}}, "speed_rpm"),
        ({"inputs": {"speed_rpm": [1000]}}, "body.inputs.speed_rpm"),
        ({"inputs": {"speed": None}}, "no column 'speed'.*Did you mean 'speed_rpm'"),
        ({"general": []}, "body.general"),
        ({"general": ["head_m"]}, "head_m"),
        ({"objective": "nothing"}, "no column 'nothing'"),
        ({"kernel": "magic"}, "magic"),
        ({"seed": -1}, "body.seed"),
        ({"archive": []}, "body.archive: List should have at least 1 item"),
        ({"archive": [{}]}, "no column"),
        (
            {"archive": [{"pump": "a", "speed_rpm": 1, "angle_deg": "12 deg", "head_m": 3}]},
            "'angle_deg'.*'12 deg' in row 0",
        ),
        ({"archive": "pumps.csv"}, "body.archive: Input should be a valid list"),
        ({"archive": [[1, 2]]}, "body.archive.0"),
        ({"archive": [{"pump": {"deep": 1}}]}, "body.archive.0: Column 'pump' must be text"),
        ({"colour": "red"}, "body.colour: Extra inputs are not permitted"),
    ],
)
def test_a_campaign_that_cannot_be(steady, change, words):
    refused = steady.post(f"{API}/campaigns", json={**CAMPAIGN, "name": "other", **change})
    assert re.search(words, detail(refused)), refused.text
    assert len(steady.store.campaigns()) == 1


@pytest.mark.parametrize("body", ["", "{", "[1,", '{"name": }', "'single'"])
def test_a_body_that_is_no_json(steady, body):
    refused = steady.post(f"{API}/campaigns", content=body, headers=JSON)
    if body:
        assert "no JSON" in detail(refused, 400)
    else:
        assert "Field required" in detail(refused)


@pytest.mark.parametrize("number", ["9" * 5000, "[" * 50_000, "\xff"])
def test_a_body_that_no_computer_should_read(steady, number):
    body = f'{{"rows": [{{"head_m": {number}}}]}}'.encode("latin-1")
    assert "cannot be read" in detail(steady.post(f"{HERE}/observations", content=body, headers=JSON), 400)


@pytest.mark.parametrize("path", ["", "/tasks", "/activity", "/experiments", "/data", "/suggestions", "/validations"])
def test_an_unknown_campaign(steady, path):
    assert "no campaign 7" in detail(steady.get(f"{API}/campaigns/7{path}"), 404)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/suggestions", {"task": NEW}),
        ("/observations", {"rows": [ROW], "task": NEW}),
        ("/predictions", {"rows": [ROW], "task": NEW}),
        ("/validations", {}),
        ("/suggestions/1/acceptance", None),
        ("/suggestions/1/withdrawal", {}),
        ("/observations/1/retraction", {}),
    ],
)
def test_nothing_can_be_asked_of_it(steady, path, body):
    assert "no campaign 7" in detail(steady.post(f"{API}/campaigns/7{path}", json=body), 404)
    assert [job.kind for job in steady.store.jobs.of(7)] == []


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "99999999999999999999", "%20"])
def test_numbers_that_are_no_ids(steady, number):
    assert "path.campaign_id" in detail(steady.get(f"{API}/campaigns/{number}"))


# ---------------------------------------------------------------------- telling


def test_telling(lab):
    ids = lab.post(f"{HERE}/observations", json={"rows": [ROW, ROW | {"head_m": 30}], "task": NEW})
    assert (ids.status_code, ids.json()) == (201, {"observations": [25, 26]})
    (first, second) = lab.get(f"{HERE}/experiments").json()["experiments"]
    assert (first["outcome"], second["outcome"], first["author"], first["task"]) == (29.5, 30.0, "rig 4", NEW)
    assert {job.kind for job in lab.store.jobs.of(1)} == {"refresh"}


def test_telling_under_a_key_stores_once(lab):
    told = {"rows": [ROW, ROW], "task": NEW, "key": "a1b2c3d4-e5"}
    answers = [lab.post(f"{HERE}/observations", json=told).json() for _ in range(3)]
    assert answers == [{"observations": [25, 26]}] * 3
    other = lab.post(f"{HERE}/observations", json=told | {"key": "a1b2c3d4"})  # the beginning of another key
    assert other.json() == {"observations": [27, 28]}
    assert len(lab.get(f"{HERE}/experiments").json()["experiments"]) == 4


@pytest.mark.parametrize("key", ["", "short", "with blank", "a" * 101, "%_%_%_%_", "../../../x", "ünïcödë-key"])
def test_a_key_that_is_none(steady, key):
    assert "body.key" in detail(steady.post(f"{HERE}/observations", json={"rows": [ROW], "task": NEW, "key": key}))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "body.rows: List should have at least 1"),
        ([{}], "no column 'speed_rpm'"),
        ([ROW, ROW | {"angle_deg": None}], "'angle_deg'.*an empty cell in row 1"),
        ([ROW, ROW, ROW | {"head_m": "12,5 m"}], "'head_m'.*'12,5 m' in row 2"),
        ([ROW | {"head_m": "1e999"}], "'head_m'.*finite.*row 0"),
        ([ROW, ROW | {"head_m": 10**400}], "body.rows.1: Column 'head_m' must be .* a finite number"),
        ([ROW | {"suggestion": 10**400}], "body.rows.0: Column 'suggestion'"),
        ([ROW | {"suggestion": 7}], "There is no suggestion 7 in this campaign"),
        ([ROW | {"suggestion": "x"}], "There is no suggestion x"),
        ([ROW | {"pump": "other"}], "'pump' must hold the task's label 'new'"),
        ([ROW | {"a\0b": 1}], "body.rows.0: 'a.*' cannot be the name of a column"),
        ([ROW | {"": 1}], "body.rows.0: '' cannot be the name of a column"),
    ],
)
def test_rows_that_cannot_be_told(steady, rows, words):
    refused = steady.post(f"{HERE}/observations", json={"rows": rows, "task": NEW})
    assert re.search(words, detail(refused)), refused.text
    assert len(steady.get(f"{HERE}/data").json()["rows"]) == 24


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", '"\\ud800"', '"\\u0000"'])
def test_what_json_has_no_number_or_text_for(steady, number):
    for body in (
        f'{{"rows": [{{"speed_rpm": 1, "angle_deg": 2, "head_m": {number}}}], "task": {{"pump": "new"}}}}',
        f'{{"rows": [{{"speed_rpm": 1, "angle_deg": 2, "head_m": 3}}], "task": {{"pump": {number}}}}}',
    ):
        refused = steady.post(f"{HERE}/observations", content=body, headers=JSON)
        assert re.search("Column '(head_m|pump)' must be", detail(refused))
    body = f'{{"task": {{"pump": "new"}}, "fixed": {{"speed_rpm": {number}}}}}'
    assert "body.fixed.speed_rpm" in detail(steady.post(f"{HERE}/suggestions", content=body, headers=JSON))


@pytest.mark.parametrize(
    "task", [{}, {"pump": ""}, {"pump": None}, {"pumps": "new"}, {"pump": "a", "more": "b"}, "new", 7]
)
def test_a_task_that_is_none(steady, task):
    told = steady.post(f"{HERE}/observations", json={"rows": [ROW], "task": task})
    asked = steady.post(f"{HERE}/suggestions", json={"task": task})
    for refused in (told, asked):
        assert "task" in detail(refused)


def test_answering_a_suggestion_and_taking_it_back(lab):
    suggestion = pending(lab)
    assert lab.post(f"{HERE}/suggestions/{suggestion}/acceptance").status_code == 204
    told = lab.post(f"{HERE}/observations", json={"rows": [{"suggestion": suggestion, "head_m": 29.5}]})
    assert told.json() == {"observations": [25]}
    again = lab.post(f"{HERE}/observations", json={"rows": [{"suggestion": suggestion, "head_m": 29.5}]})
    assert again.json() == {"observations": [25]}
    changed = lab.post(f"{HERE}/observations", json={"rows": [{"suggestion": suggestion, "head_m": 9}]})
    assert "retract observation 25" in detail(changed)
    assert "nothing to run" in detail(lab.post(f"{HERE}/suggestions/{suggestion}/acceptance"))
    retracted = lab.post(f"{HERE}/observations/25/retraction", json={"reason": "mistyped"})
    assert retracted.status_code == 204
    assert "was retracted before" in detail(lab.post(f"{HERE}/observations/25/retraction"))
    assert lab.get(f"{HERE}/suggestions", params={"state": "pending"}).json()["suggestions"][0]["suggestion"] == 1
    assert lab.post(f"{HERE}/suggestions/{suggestion}/withdrawal").status_code == 204
    assert lab.get(f"{HERE}/suggestions", params={"state": "pending"}).json() == {"suggestions": []}
    assert len(lab.get(f"{HERE}/suggestions").json()["suggestions"]) == 2  # with the outcome that was retracted


def test_what_is_not_there_is_not_found(steady):
    for path in ("suggestions/9/acceptance", "suggestions/9/withdrawal", "observations/99/retraction"):
        assert re.search(r"There is no (suggestion 9|observation 99)", detail(steady.post(f"{HERE}/{path}"), 404))
    assert "row of the archive" in detail(steady.post(f"{HERE}/observations/1/retraction"))
    assert "query.state" in detail(steady.get(f"{HERE}/suggestions", params={"state": "lost"}))


def test_another_campaigns_suggestions_are_not_ones_own(lab):
    suggestion = pending(lab)
    assert lab.post(f"{API}/campaigns", json=CAMPAIGN | {"name": "other"}).json()["id"] == 2
    for path in (f"suggestions/{suggestion}/acceptance", f"suggestions/{suggestion}/withdrawal"):
        detail(lab.post(f"{API}/campaigns/2/{path}"), 404)
    assert lab.get(f"{HERE}/suggestions").json()["suggestions"][0]["status"] == "pending"


def test_an_outcome_too_large_to_square_breaks_no_page(lab):
    suggestion = pending(lab)
    told = {"rows": [{"suggestion": suggestion, "head_m": 1e300}]}
    with pytest.warns(DataWarning, match="slip"):
        assert lab.post(f"{HERE}/observations", json=told).status_code == 201
    for path in (HERE, f"{HERE}/pictures/honesty", f"{HERE}/pictures/convergence", "/campaigns/1", "/"):
        assert lab.get(path).status_code == 200, path


@pytest.mark.parametrize("name", ["Zoë", "山田", "a" * 200, "\x1b[31m"])
def test_who_told_it(lab, name):
    told = {"rows": [ROW], "task": NEW}
    lab.post(f"{HERE}/observations", json=told, headers={"x-headstart-author": name.encode()})
    author = lab.get(f"{HERE}/experiments").json()["experiments"][0]["author"]
    assert author == name[:100].replace("\x1b", "")


# ---------------------------------------------------------------------- asking, and jobs


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "body.n"),
        ({"n": 101}, "body.n"),
        ({"n": 1.5}, "body.n"),
        ({"acquisition": "luck"}, "body.acquisition"),
        ({"seed": -1}, "body.seed"),
        ({"seed": 2**31}, "body.seed"),
        ({"candidates": []}, "body.candidates"),
        ({"candidates": [{"speed_rpm": 1}]}, "no column 'angle_deg'"),
        ({"candidates": [{"speed_rpm": 1, "angle_deg": "x"}]}, "'angle_deg'.*'x' in row 0"),
        ({"key": "short"}, "body.key"),
        ({"more": 1}, "body.more: Extra inputs"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(steady, change, words):
    refused = steady.post(f"{HERE}/suggestions", json={"task": NEW, **change})
    assert re.search(words, detail(refused)), refused.text
    assert {job.kind for job in steady.store.jobs.of(1)} == {"refresh"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": []}, "body.rows"),
        ({"rows": [{"speed_rpm": 1}]}, "no column 'angle_deg'"),
        ({"rows": [{"speed_rpm": 1, "angle_deg": None}]}, "an empty cell in row 0"),
        ({"task": None}, "which task"),
        ({"interval": 0}, "body.interval"),
        ({"interval": 1}, "body.interval"),
        ({"noise": "loud"}, "body.noise"),
    ],
)
def test_what_cannot_be_predicted_is_refused_at_once(steady, change, words):
    refused = steady.post(f"{HERE}/predictions", json={"rows": [ROW], "task": NEW, **change})
    assert re.search(words, detail(refused)), refused.text


def test_asking_twice_under_a_key_is_one_job(lab):
    asked = [lab.post(f"{HERE}/suggestions", json={"task": NEW, "key": "once-only"}) for _ in range(3)]
    assert {each.status_code for each in asked} == {202}
    assert len({each.json()["id"] for each in asked}) == 1
    assert asked[0].json()["key"] == "once-only"
    others = {lab.post(f"{HERE}/suggestions", json={"task": NEW}).json()["id"] for _ in range(2)}
    assert len(others) == 2


def test_a_job_is_cancelled(lab):
    job = lab.post(f"{HERE}/suggestions", json={"task": NEW}).json()
    assert (job["state"], job["kind"], job["task"], job["author"]) == ("queued", "suggest", NEW, "rig 4")
    for _ in range(2):
        cancelled = lab.post(f"{API}/jobs/{job['id']}/cancellation")
        assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    assert lab.get(f"{API}/jobs/{job['id']}").json()["ended_at"]
    detail(lab.get(f"{API}/jobs/99"), 404)
    detail(lab.post(f"{API}/jobs/99/cancellation"), 404)


@pytest.mark.parametrize("wait", ["-1", "26", "nan", "inf", "long"])
def test_nobody_waits_forever(steady, wait):
    assert "query.wait" in detail(steady.get(f"{API}/jobs/1", params={"wait": wait}))


def test_waiting_for_a_job(lab):
    began = time.monotonic()
    assert lab.get(f"{API}/jobs/1", params={"wait": 0.3}).json()["state"] == "queued"
    assert 0.3 <= time.monotonic() - began < 5
    threading.Timer(0.3, lambda: lab.store.jobs.cancel(1)).start()
    began = time.monotonic()
    assert lab.get(f"{API}/jobs/1", params={"wait": 20}).json()["state"] == "cancelled"
    assert time.monotonic() - began < 10


def test_validations_and_activity(lab):
    asked = [lab.post(f"{HERE}/validations", json=body) for body in (None, {}, {"tasks": None})]
    assert {each.json()["id"] for each in asked} == {asked[0].json()["id"]}  # one will do
    assert "body.tasks" in detail(lab.post(f"{HERE}/validations", json={"tasks": 1}))
    view = lab.get(f"{HERE}/validations").json()
    assert (view["summary"], view["job"]["state"]) == (None, "queued")
    activity = lab.get(f"{HERE}/activity").json()
    assert [each["kind"] for each in activity["jobs"]] == ["validate", "refresh"]
    lab.post(f"{HERE}/observations", json={"rows": [ROW], "task": NEW})
    assert lab.get(f"{HERE}/activity").json()["marker"] != activity["marker"]


@pytest.mark.parametrize("kind", ["slices", "surfaces", "embedding_map", "trust", "convergence", "nothing"])
def test_a_picture_that_nobody_has_computed(steady, kind):
    for form in ("", "/csv"):
        detail(steady.get(f"{HERE}/pictures/{kind}{form}"), 404)
    assert steady.get(f"/campaigns/1/pictures/{kind}.svg").status_code == 404


def test_the_whole_way(tmp_path):
    """Asked, computed by a worker, told and shown, with names that would run if they could."""
    evil = "<script>alert('$\\frac{')</script>"
    frame = archive(pumps=3, rows=4).rename(columns={"pump": evil, "speed_rpm": f"{evil} in rpm"})
    lab = Visitor(tmp_path / "headstart.db")
    inputs = {f"{evil} in rpm": [1000, 3000], "angle_deg": [10, 40]}
    stated = CAMPAIGN | {"general": [evil], "inputs": inputs, "archive": frame.to_dict("records")}
    assert lab.post(f"{API}/campaigns", json=stated).status_code == 201
    lab.post(f"{API}/jobs/1/cancellation")
    task = {evil: f"new {evil}"}
    job = lab.post(f"{HERE}/suggestions", json={"task": task, "n": 2, "key": "whole-way-1"}).json()
    point = {f"{evil} in rpm": 2000, "angle_deg": 25}
    predicted = lab.post(f"{HERE}/predictions", json={"rows": [point], "task": task}).json()
    wrong = lab.post(f"{HERE}/suggestions", json={"task": task, "fixed": {"nothing": 1}}).json()
    while work_once(lab.store):
        pass
    done = lab.get(f"{API}/jobs/{job['id']}", params={"wait": 1}).json()
    assert (done["state"], done["result"]) == ("done", {"suggestions": [1, 2]})
    assert lab.post(f"{HERE}/suggestions", json={"task": task, "key": "whole-way-1"}).json() == done
    (expected,) = lab.get(f"{API}/jobs/{predicted['id']}").json()["result"]["predictions"]
    assert expected["lower"] < expected["mean"] < expected["upper"]
    failed = lab.get(f"{API}/jobs/{wrong['id']}").json()
    assert (failed["state"], "'nothing' cannot be fixed" in failed["error"]) == ("failed", True)
    rows = [each["inputs"] | {"suggestion": each["suggestion"]} for each in lab.get(HERE).json()["pending_experiments"]]
    told = [row | {"head_m": head(row[f"{evil} in rpm"], row["angle_deg"], 1.0)} for row in rows]
    assert lab.post(f"{HERE}/observations", json={"rows": told}).status_code == 201
    for kind in ("slices", "surfaces", "embedding_map", "convergence", "honesty"):
        assert lab.get(f"{HERE}/pictures/{kind}").json() == lab.get(f"/campaigns/1/pictures/{kind}.json").json()
        table = lab.get(f"{HERE}/pictures/{kind}/csv")
        assert table.text == lab.get(f"/campaigns/1/pictures/{kind}.csv").text
        assert len(table.text.splitlines()) > 1
        picture = lab.get(f"/campaigns/1/pictures/{kind}.svg")
        assert picture.status_code == 200
        check_harmless_picture(picture.text)
    for page in ("", "/pictures", "/trust"):
        check_harmless(lab.get(f"/campaigns/1{page}"))


# ---------------------------------------------------------------------- one view


def test_a_page_and_its_json_show_the_same_view(lab, monkeypatch):
    real = views.campaigns, views.campaign
    monkeypatch.setattr(
        views, "campaigns", lambda store: {"campaigns": [real[0](store)["campaigns"][0] | {"name": "A"}]}
    )
    monkeypatch.setattr(views, "campaign", lambda *given: real[1](*given) | {"name": "B", "archive_rows": 987})
    assert lab.get(f"{API}/campaigns").json()["campaigns"][0]["name"] == "A"
    assert ">A</a>" in lab.get("/").text
    assert lab.get(HERE).json()["archive_rows"] == 987
    page = lab.get("/campaigns/1").text
    assert ">987<" in page
    assert "<h1>B</h1>" in page


def test_a_picture_is_the_same_in_both(lab):
    lab.post(f"{HERE}/observations", json={"rows": [ROW], "task": NEW})
    for kind in ("convergence", "honesty"):
        assert lab.get(f"/campaigns/1/pictures/{kind}.json").json() == lab.get(f"{HERE}/pictures/{kind}").json()


# ---------------------------------------------------------------------- the database


def test_a_database_that_vanished(lab, tmp_path):
    (tmp_path / "headstart.db").rename(tmp_path / "elsewhere.db")
    for path in (f"{API}/campaigns", HERE, f"{HERE}/activity", f"{API}/jobs/1"):
        assert "There is no database" in detail(lab.get(path), 503)
    assert "There is no database" in detail(lab.post(f"{HERE}/observations", json={"rows": [ROW], "task": NEW}), 503)
    for path in ("/", "/campaigns/1", "/campaigns/1/pictures", "/campaigns/1/export/data.csv"):
        page = lab.get(path)
        assert (page.status_code, "There is no database" in page.text) == (503, True)
        check_harmless(page)
    assert lab.get("/health").status_code == 200
    (tmp_path / "elsewhere.db").rename(tmp_path / "headstart.db")
    assert lab.get(HERE).status_code == 200


def test_a_database_that_another_program_has_locked(lab, tmp_path):
    word = lab.word()
    other = sqlite3.connect(tmp_path / "headstart.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    told = {"rows": [ROW], "task": NEW, "key": "while-locked"}
    assert "locked by another program" in detail(lab.post(f"{HERE}/observations", json=told), 503)
    page = lab.post("/campaigns/1/ask", data={"word": word, "task": "new"})
    assert (page.status_code, "locked by another program" in page.text) == (503, True)
    assert lab.get(HERE).status_code == 200  # who looks does not wait
    other.execute("ROLLBACK")
    other.close()
    assert lab.post(f"{HERE}/observations", json=told).json() == {"observations": [25]}
