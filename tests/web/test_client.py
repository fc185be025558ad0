"""A campaign on a server, from another process: a lab machine asks and tells."""

import os

import httpx
import pandas as pd
import pytest
from dashboard import archive, head
from serving import served

import headstart as hs
from headstart.errors import DataError, MissingExtraError, ModelError, NotFoundError, StoreError

PROBLEM = hs.Problem(
    inputs={"speed_rpm": (1000, 3000), "angle_deg": (10, 40)}, general=["pump"], objective="head_m", goal="maximize"
)
NEW = {"pump": "new"}


@pytest.fixture
def lab(server):
    with hs.connect(server.url, author="Zoë's robot") as lab:
        yield lab


@pytest.fixture
def campaign(lab):
    return lab.create(f"pumps {os.urandom(4).hex()}", archive(), PROBLEM)


def test_ask_and_tell(lab, campaign, server):
    first = campaign.suggest(NEW, n=2)
    columns = ["suggestion", "pump", "speed_rpm", "angle_deg", "mean", "sd", "lower", "upper", "score"]
    assert first.columns.tolist() == columns
    assert first.attrs["score"] == "expected best"
    told = first.head(1).assign(head_m=head(first["speed_rpm"], first["angle_deg"], 1.0))
    ids = campaign.observe(told)
    assert campaign.observe(told) == ids  # told twice, stored once
    campaign.withdraw(int(first["suggestion"].iloc[1]), reason="the seal leaked")
    [other] = campaign.observe(22.0, suggestion=int(campaign.suggest(NEW)["suggestion"].iloc[0]))
    campaign.retract(other, reason="mistyped")

    # What is stored is what a campaign of this machine would have stored.
    here = hs.Campaign.open(campaign.name, store=server.where)
    history = here.history()
    assert history["status"].tolist() == ["observed", "withdrawn", "pending", "retracted"]
    assert set(history["author"]) == {"Zoë's robot"}
    remote = campaign.history()
    assert remote["status"].tolist() == history["status"].tolist()
    assert remote["mean"].tolist() == pytest.approx(history["mean"].tolist())
    pd.testing.assert_frame_equal(campaign.data(), here.data(), check_dtype=False)
    assert NEW in campaign.tasks()
    assert lab.open(campaign.name).id == campaign.id
    assert campaign.name in [each["name"] for each in lab.campaigns()]
    assert campaign.problem == PROBLEM


def test_predictions_are_those_of_the_campaign(campaign, server):
    rows = pd.DataFrame({"speed_rpm": [1500, 2200], "angle_deg": [20.0, 27.0]}, index=[7, 9])
    there = campaign.predict(rows, task=NEW)
    here = hs.Campaign.open(campaign.name, store=server.where).predict(rows, task=NEW)
    pd.testing.assert_frame_equal(there, here, rtol=1e-6)


def test_candidates_and_fixed_inputs(campaign):
    listed = pd.DataFrame({"speed_rpm": [1200.0, 2200.0, 2900.0], "angle_deg": [12.0, 26.0, 39.0]})
    chosen = campaign.suggest(NEW, candidates=listed)
    assert chosen["speed_rpm"].iloc[0] == 2200
    assert chosen.attrs["score"] == "expected share of the range"
    assert campaign.suggest(NEW, fixed={"angle_deg": 20.0})["angle_deg"].iloc[0] == 20


def test_what_is_wrong_is_said_as_it_would_be_here(lab, campaign):
    with pytest.raises(DataError, match="head_m"):
        campaign.observe([{"pump": "new", "speed_rpm": 1500, "angle_deg": 20, "head_m": "3O"}])
    with pytest.raises(DataError, match="which experiment"):
        campaign.observe(3.0)
    with pytest.raises(DataError, match="task"):
        campaign.suggest({"machine": "new"})
    with pytest.raises(ModelError, match="cannot be fixed at 99"):
        campaign.suggest(NEW, fixed={"angle_deg": 99})
    with pytest.raises(NotFoundError, match="no campaign 'nothing'"):
        lab.open("nothing")
    with pytest.raises(DataError, match="already"):
        lab.create(campaign.name, archive(), PROBLEM)
    assert campaign.history().empty


def test_an_answer_that_is_lost_on_the_way_is_asked_for_again(campaign, monkeypatch):
    """The server stores, the connection breaks before its answer comes: sent again, it is stored once."""
    sent = []
    request = httpx.Client.request

    def breaking(self, method, path, **options):
        answer = request(self, method, path, **options)
        if method == "POST" and "retraction" not in path:
            sent.append(path)
            if len(sent) % 2:
                raise httpx.ReadError("the cable was pulled")
        return answer

    monkeypatch.setattr(httpx.Client, "request", breaking)
    todo = campaign.suggest(NEW)
    campaign.observe([{"pump": "new", "speed_rpm": 1500, "angle_deg": 20, "head_m": 21.0}])
    assert len(sent) == 4
    history = campaign.history()
    assert history["status"].tolist() == ["pending", "observed"]
    assert history["suggestion"].iloc[0] == todo["suggestion"].iloc[0]


def test_a_server_that_is_not_there():
    with hs.connect("http://127.0.0.1:9") as lab, pytest.raises(StoreError, match="cannot be reached"):
        lab.campaigns()
    with pytest.raises(StoreError, match="no address"):
        hs.connect("headstart.db")


def test_a_token_is_asked_for(tmp_path):
    token = "a token that nobody guesses"
    with served(str(tmp_path / "h.db"), tmp_path, "--workers", "0", token=token) as server:
        with hs.connect(server.url) as lab, pytest.raises(StoreError, match="401: A token is needed"):
            lab.campaigns()
        with hs.connect(server.url, token=token) as lab:
            made = lab.create("pumps", archive(), PROBLEM)
            assert [each["id"] for each in lab.campaigns()] == [made.id]
        assert token not in server.log.read_text()


def test_httpx_is_named_where_it_is_missing(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"headstart\[web\]"):
        hs.connect("http://127.0.0.1:8000")
