"""Nothing acknowledged is lost or doubled: killed processes, and several at once."""

import json
import multiprocessing
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from campaign.conftest import NEW, PROBLEM, archive

import headstart as hs
from headstart.campaign import Store

KILLS = 200


def test_what_was_acknowledged_survives_sigkill(where):
    script = Path(__file__).parent / "killed_workers.py"
    run = subprocess.run([sys.executable, script, where, str(KILLS), "0"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    acknowledged = json.loads(run.stdout)
    kinds = Counter(kind for _, kind, _ in acknowledged)
    assert kinds["told"] > KILLS  # the workers did get something done before they were killed
    assert kinds["asked"] > KILLS / 10
    store = Store(where)
    for name in {name for name, _, _ in acknowledged}:
        campaign = hs.Campaign.open(name, store=store)
        outcomes = Counter(each.outcome for each in campaign.observations() if not each.is_archive)
        suggested = Counter(each.id for each in campaign.suggestions())
        told = [float(what) for of, kind, what in acknowledged if of == name and kind == "told"]
        asked = [int(what) for of, kind, what in acknowledged if of == name and kind == "asked"]
        assert [outcomes[outcome] for outcome in told] == [1] * len(told)
        assert [suggested[suggestion] for suggestion in asked] == [1] * len(asked)
        # At most one step a worker was stored and not acknowledged, none was stored twice.
        assert max(outcomes.values()) == 1
        assert sum(outcomes.values()) - len(told) <= 10
        # A suggestion is observed if and only if its outcome is stored.
        answered = {each.suggestion for each in campaign.observations() if each.suggestion is not None}
        assert answered == {each.id for each in campaign.suggestions() if each.state == "observed"}


def ask(where: str, barrier, asked) -> None:
    campaign = hs.Campaign.open("shared", store=where)
    campaign.surrogate()
    barrier.wait()
    for _ in range(2):
        asked.put(campaign.suggest(NEW).iloc[0].to_dict())


def tell(where: str, barrier, offset: float) -> None:
    campaign = hs.Campaign.open("shared", store=where)
    barrier.wait()
    for step in range(8):
        campaign.observe({"task": "other", "x": offset + step / 100, "y": offset + step})


@pytest.mark.parametrize("kind", ["box", "lattice"])
def test_those_who_ask_at_once_get_different_suggestions(where, kind):
    bounds = (0, 1) if kind == "box" else (0, 1, 0.1)
    problem = hs.Problem(inputs={"x": bounds}, general=["task"], objective="y", goal="minimize")
    hs.Campaign.create("shared", archive(), problem, store=where).surrogate()
    context = multiprocessing.get_context("spawn")
    barrier, asked = context.Barrier(5), context.Queue()
    workers = [context.Process(target=ask, args=(where, barrier, asked)) for _ in range(3)]
    workers += [context.Process(target=tell, args=(where, barrier, offset)) for offset in (0.1, 0.2)]
    for worker in workers:
        worker.start()
    points = [asked.get(timeout=300) for _ in range(6)]
    for worker in workers:
        worker.join(timeout=300)
        assert worker.exitcode == 0
    assert sorted(point["suggestion"] for point in points) == list(range(1, 7))
    assert np.diff(np.sort([point["x"] for point in points])).min() > (1e-6 if kind == "box" else 0.09)
    data = hs.Campaign.open("shared", store=where).data()
    told = data.loc[data["task"] == "other", "y"]
    assert sorted(told) == sorted([*(0.1 + np.arange(8)), *(0.2 + np.arange(8))])


def test_two_answers_to_one_suggestion(where):
    """Whoever comes first is stored; the other is told, whichever process it is in."""
    campaign = hs.Campaign.create("c", archive(), PROBLEM, store=where)
    asked = campaign.suggest(NEW)
    other = hs.Campaign.open("c", store=where)
    campaign.observe(asked.assign(y=1.0))
    with pytest.raises(hs.HeadstartError, match="observed before"):
        other.observe(asked.assign(y=2.0))
    assert campaign.history()["y"].tolist() == [1.0]
