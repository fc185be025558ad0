"""Processes are killed at bad moments: what was stored stays, and what was under way begins again."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from dashboard import archive
from serving import Running, served

import headstart as hs
from headstart.campaign import Store

# Minutes on a busy machine: `make test-slow` runs these.
pytestmark = pytest.mark.slow

PROBLEM = hs.Problem(
    inputs={"speed_rpm": (1000, 3000), "angle_deg": (10, 40)}, general=["pump"], objective="head_m", goal="maximize"
)
NEW = {"pump": "new"}
OWN = {"pump": "new", "speed_rpm": 2000.0, "angle_deg": 25.0, "head_m": 29.5}


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path) -> str:
    return str(tmp_path / "headstart.db") if request.param == "sqlite" else request.getfixturevalue("postgresql")


def create(where: str) -> hs.Campaign:
    """A campaign whose first fit takes seconds, and which nobody fits before it is asked."""
    return hs.Campaign.create("pumps", archive(pumps=5, rows=30), PROBLEM, store=where, author="ann")


def ask(server: Running, campaign: int, **more) -> int:
    """The job of an ask."""
    with server.api() as http:
        answer = http.post(f"/campaigns/{campaign}/suggestions", json={"task": NEW, **more})
    return answer.raise_for_status().json()["id"]


def until(condition, seconds=60.0):
    """Wait for something to be true, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)
    return found


def until_fitting(store: Store, job: int, attempt: int = 1) -> None:
    """Wait until a worker is in the middle of a job's fit."""
    until(lambda: _is_fitting(store, job, attempt))


def _is_fitting(store: Store, job: int, attempt: int) -> bool:
    now = store.jobs.job(job)
    assert now.is_open, f"{now.state}: {now.error}"
    return now.state == "running" and now.attempts == attempt and "fitting" in (now.remark or "")


def workers_of(server: Running) -> list[int]:
    """The processes that fit for a server."""
    found = subprocess.run(["pgrep", "-P", str(server.process.pid), "-f", "spawn_main"], capture_output=True, text=True)
    return [int(each) for each in found.stdout.split()]


def is_running(process: int) -> bool:
    """Whether a process does anything still; of one that ended, an entry may wait for its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill(*processes: int) -> None:
    for each in processes:
        os.kill(each, signal.SIGKILL)


def test_work_that_was_killed_begins_again_and_is_done_once(where, tmp_path):
    campaign, store = create(where), Store(where)
    told = {"rows": [OWN], "key": "tuesday-1"}
    with served(where, tmp_path, "--workers", "1") as server, server.api() as http:
        job = ask(server, campaign.id, n=2, key="monday-1")
        until_fitting(store, job)
        first = http.post(f"/campaigns/{campaign.id}/observations", json=told).json()
        kill(server.process.pid, *workers_of(server))
    assert store.jobs.job(job).state == "running"  # nobody was left to say otherwise
    assert campaign.suggestions() == []

    with served(where, tmp_path, "--workers", "1") as server, server.api() as http:
        # Those who asked and told do so once more, for all they know.
        assert ask(server, campaign.id, n=2, key="monday-1") == job
        assert http.post(f"/campaigns/{campaign.id}/observations", json=told).json() == first
        until(lambda: not store.jobs.job(job).is_open, 90)
    done = store.jobs.job(job)
    assert (done.state, done.attempts) == ("done", 2)
    assert [each.id for each in campaign.suggestions()] == done.result["suggestions"]
    assert len(done.result["suggestions"]) == 2
    assert [each.id for each in campaign.observations() if not each.is_archive] == first["observations"]
    assert len(campaign.data()) == 150 + 1


def test_cancelled_killed_and_told_to_stop(tmp_path):
    where = str(tmp_path / "headstart.db")
    campaign, store = create(where), Store(where)
    with served(where, tmp_path, "--workers", "1") as server, server.api() as http:
        # A job that is cancelled stores nothing, and leaves its worker to others.
        cancelled = ask(server, campaign.id)
        until_fitting(store, cancelled)
        assert http.post(f"/jobs/{cancelled}/cancellation").json()["state"] == "cancelled"
        job = ask(server, campaign.id)
        until_fitting(store, job)
        assert campaign.suggestions() == []

        # A worker that was killed is replaced, and another takes its job.
        [worker] = workers_of(server)
        kill(worker)
        until_fitting(store, job, attempt=2)
        [another] = workers_of(server)
        assert another != worker

        # A server that is told to stop ends its workers, whatever they are at, and in peace.
        server.process.terminate()
        assert server.process.wait(15) in (0, -signal.SIGTERM)
        assert not is_running(another)
        assert "Traceback" not in server.log.read_text()
        assert store.jobs.job(job).state == "running"

    with served(where, tmp_path, "--workers", "2") as server:
        # Workers of a server that was killed end too: one that has nothing to do at once, the other after its job.
        until_fitting(store, job, attempt=3)
        workers = until(lambda: len(found := workers_of(server)) == 2 and found)
        kill(server.process.pid)
        until(lambda: sum(map(is_running, workers)) < 2, 30)
        until(lambda: not any(map(is_running, workers)), 90)
    assert store.jobs.job(cancelled).state == "cancelled"
    assert store.jobs.job(job).state == "done"
    assert [each.id for each in campaign.suggestions()] == store.jobs.job(job).result["suggestions"]
