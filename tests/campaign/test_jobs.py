"""The queue of work, the pictures that are kept, and what is told twice: the same on SQLite and PostgreSQL."""

import multiprocessing
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

import headstart as hs
from headstart.campaign import Campaign, Store, schema
from headstart.campaign.jobs import CancelledError, Claim, is_alive, this_worker
from headstart.errors import DataError, NotFoundError

NEW = {"task": "new"}


@pytest.fixture
def store(campaign, where) -> Store:
    return Store(where, author="bob")


def dead_worker() -> str:
    """A worker on this machine whose process has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return f"{socket.gethostname()}:{process.pid}"


def test_a_job_is_queued_done_and_read_again(store, campaign):
    job = store.jobs.add(campaign.id, "predict", {"rows": [{"x": 0.5}]})
    assert (job.state, job.attempts, job.origin.author) == ("queued", 0, "bob")
    claimed = store.jobs.claim(this_worker())
    assert (claimed.id, claimed.state, claimed.attempts) == (job.id, "running", 1)
    assert store.jobs.claim(this_worker()) is None
    store.jobs.beat(job.id, this_worker(), share=0.25, remark="a quarter")
    assert (store.jobs.job(job.id).share, store.jobs.job(job.id).remark) == (0.25, "a quarter")
    store.jobs.finish(job.id, this_worker(), {"predictions": [1.5]})
    done = store.jobs.job(job.id)
    assert (done.state, done.result, done.is_open) == ("done", {"predictions": [1.5]}, False)
    assert done.ended_at is not None
    [listed] = store.jobs.of(campaign.id)
    assert (listed.id, listed.result) == (job.id, None)  # lists leave results out


def test_a_job_that_fails_says_why(store, campaign):
    job = store.jobs.add(campaign.id, "report", {})
    store.jobs.claim(this_worker())
    store.jobs.fail(job.id, this_worker(), "the disk is full")
    assert (store.jobs.job(job.id).state, store.jobs.job(job.id).error) == ("failed", "the disk is full")


def test_the_same_request_is_the_same_job(store, campaign):
    first = store.jobs.add(campaign.id, "suggest", {"task": NEW}, key="abc")
    assert store.jobs.add(campaign.id, "suggest", {"task": NEW}, key="abc").id == first.id
    assert store.jobs.add(campaign.id, "suggest", {"task": NEW}, key="abd").id != first.id
    refresh = store.jobs.add(campaign.id, "refresh", {"task": NEW}, unless_queued=True)
    assert store.jobs.add(campaign.id, "refresh", {"task": NEW}, unless_queued=True).id == refresh.id
    assert store.jobs.add(campaign.id, "refresh", {"task": {"task": "other"}}, unless_queued=True).id != refresh.id
    while (claimed := store.jobs.claim(this_worker())).id != refresh.id:
        store.jobs.finish(claimed.id, this_worker(), {})
    # One that has begun may have missed what came since.
    assert store.jobs.add(campaign.id, "refresh", {"task": NEW}, unless_queued=True).id != refresh.id


def test_asks_come_before_pictures_and_pictures_before_validations(store, campaign):
    kinds = ("validate", "report", "refresh", "predict", "suggest")
    for kind in kinds:
        store.jobs.add(campaign.id, kind, {})
    assert [store.jobs.claim(this_worker()).kind for _ in kinds] == list(reversed(kinds))


def test_of_a_campaign_one_job_of_a_kind_runs_at_a_time_and_one_validation_of_all(store, campaign, where):
    other = Campaign.create("others", campaign.data(), campaign.problem, store=where)
    for each in (campaign, campaign, other):
        store.jobs.add(each.id, "suggest", {})
        store.jobs.add(each.id, "validate", {})
    running = []
    while job := store.jobs.claim(this_worker()):
        running.append((job.campaign_id, job.kind))
    assert running == [(campaign.id, "suggest"), (other.id, "suggest"), (campaign.id, "validate")]


def test_a_dead_workers_job_begins_again_and_fails_after_three_tries(store, campaign):
    job = store.jobs.add(campaign.id, "refresh", {})
    for attempt in (1, 2, 3):
        assert store.jobs.claim(dead_worker()).attempts == attempt
    assert store.jobs.claim(this_worker()) is None
    assert store.jobs.job(job.id).state == "failed"
    assert "3 times" in store.jobs.job(job.id).error


def test_a_worker_elsewhere_is_dead_once_it_is_silent(store, campaign, where):
    job = store.jobs.add(campaign.id, "refresh", {})
    store.jobs.claim("elsewhere:1")
    assert is_alive("elsewhere:1")
    assert store.jobs.claim(this_worker()) is None  # it may be at it
    with store._database.write() as connection:
        long_ago = datetime.now(UTC) - timedelta(minutes=2)
        connection.execute(sa.update(schema.job).values(beat_at=long_ago))
    assert store.jobs.claim(this_worker()).id == job.id
    with pytest.raises(CancelledError):  # it comes back, and its work is somebody else's now
        store.jobs.finish(job.id, "elsewhere:1", {})
    assert store.jobs.job(job.id).state == "running"


def test_a_cancelled_job_stores_nothing(store, campaign):
    job = store.jobs.add(campaign.id, "suggest", {"task": NEW})
    store.jobs.claim(this_worker())
    assert store.jobs.cancel(job.id).state == "cancelled"
    with pytest.raises(CancelledError):
        store.jobs.beat(job.id, this_worker())
    with pytest.raises(CancelledError):
        campaign.suggest(NEW, claim=Claim(job.id, this_worker()))
    assert campaign.suggestions() == []
    assert store.jobs.cancel(job.id).state == "cancelled"


def test_suggestions_and_the_end_of_their_job_are_stored_together(store, campaign):
    job = store.jobs.add(campaign.id, "suggest", {"task": NEW})
    claim = Claim(store.jobs.claim(this_worker()).id, this_worker())
    frame = campaign.suggest(NEW, claim=claim)
    assert store.jobs.job(job.id).result == {"suggestions": frame["suggestion"].tolist()}
    with pytest.raises(CancelledError):  # done twice, it is stored once
        campaign.suggest(NEW, claim=claim)
    assert len(campaign.suggestions()) == 1


def claim_all(where: str, name: str, claimed) -> None:
    store = Store(where)
    while job := store.jobs.claim(f"elsewhere:{name}"):
        claimed.put((name, job.id))
        store.jobs.finish(job.id, f"elsewhere:{name}", {})


def test_workers_that_claim_at_once_get_different_jobs(store, campaign, where):
    ids = [store.jobs.add(campaign.id, "refresh", {"number": number}).id for number in range(20)]
    context = multiprocessing.get_context("spawn")
    claimed = context.Queue()
    workers = [context.Process(target=claim_all, args=(where, str(each), claimed)) for each in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    got = [claimed.get(timeout=5) for _ in ids]
    assert sorted(job for _, job in got) == ids
    assert claimed.empty()


def test_what_is_not_there_is_named(store):
    with pytest.raises(NotFoundError, match="no job 99"):
        store.jobs.job(99)
    with pytest.raises(NotFoundError, match="no longer here"):
        store.uploads.get("nothing")
    with pytest.raises(NotFoundError, match="no campaign 99"):
        Campaign(99, store)


def test_what_is_told_twice_under_a_key_is_stored_once(campaign):
    rows = [{"task": "new", "x": 0.1, "y": 1.0}, {"task": "new", "x": 0.2, "y": 2.0}]
    ids = campaign.observe(rows, key="run-1")
    assert campaign.observe(rows, key="run-1") == ids
    assert campaign.observe(rows[:1], key="run-%") != ids[:1]  # no pattern
    assert campaign.observe(rows[:1], key="run-%") != campaign.observe(rows[:1], key="run-_")
    assert len(campaign.history()) == 4
    assert campaign.tasks_of(ids) == [NEW]


def test_a_suggestion_is_accepted_by_the_first_who_does(campaign, where):
    number = int(campaign.suggest(NEW)["suggestion"].iloc[0])
    campaign.accept(number)
    hs.Campaign.open("sines", store=where, author="eve").accept(number)
    [suggestion] = campaign.suggestions()
    assert suggestion.accepted_by == "ann"
    assert suggestion.accepted_at is not None
    campaign.withdraw(number)
    with pytest.raises(DataError, match="was withdrawn"):
        campaign.accept(number)
    with pytest.raises(DataError, match="no suggestion 77"):
        campaign.accept(77)


def test_of_earlier_beliefs_the_maps_stay(store, campaign):
    for seen in (3, 5, 9):
        store.beliefs.put(campaign.id, NEW, seen, {"maps": [seen], "slices": {"of": seen}})
    store.beliefs.put(campaign.id, None, 9, {"maps": ["of all"]})
    latest = store.beliefs.latest(campaign.id, NEW)
    assert (latest.last_observation, latest.content) == (9, {"maps": [9], "slices": {"of": 9}})
    assert [each.content for each in store.beliefs.earlier(campaign.id, NEW)] == [{"maps": [3]}, {"maps": [5]}]
    store.beliefs.put(campaign.id, NEW, 9, {"maps": [10]})
    assert store.beliefs.latest(campaign.id, NEW).content == {"maps": [10]}
    assert store.beliefs.latest(campaign.id, None).content == {"maps": ["of all"]}
    assert store.beliefs.latest(campaign.id, {"task": "else"}) is None


def test_an_upload_is_kept_for_a_day(store):
    kept = store.uploads.add("pumps.csv", b"a,b\n1,2\n")
    assert store.uploads.get(kept).content == b"a,b\n1,2\n"
    with store._database.write() as connection:
        connection.execute(sa.update(schema.upload).values(made_at=datetime.now(UTC) - timedelta(hours=25)))
    other = store.uploads.add("others.csv", b"")
    with pytest.raises(NotFoundError):
        store.uploads.get(kept)
    store.uploads.delete(other)
    with pytest.raises(NotFoundError):
        store.uploads.get(other)


def test_the_marker_changes_with_whatever_happens(store, campaign):
    seen = [store.marker(campaign.id)]

    def changed() -> bool:
        seen.append(store.marker(campaign.id))
        return seen[-1] not in seen[:-1]

    number = int(campaign.suggest(NEW)["suggestion"].iloc[0])
    assert changed()
    campaign.accept(number)
    assert changed()
    [observation] = campaign.observe(1.0, suggestion=number)
    assert changed()
    campaign.retract(observation)
    assert changed()
    campaign.withdraw(number)
    assert changed()
    store.jobs.add(campaign.id, "refresh", {})
    assert changed()
    store.beliefs.put(campaign.id, NEW, 1, {})
    assert changed()
    assert store.marker(campaign.id) == seen[-1]


def test_the_list_of_campaigns_has_the_best_outcome_and_the_work(store, campaign):
    campaign.observe([{"task": "new", "x": 0.1, "y": 1.0}, {"task": "new", "x": 0.2, "y": -2.0}])
    store.jobs.add(campaign.id, "refresh", {})
    [line] = store.campaigns()
    assert (line.id, line.best, line.working, line.observed) == (campaign.id, -2.0, 1, 2)  # to be minimized


def test_a_worker_is_alive_as_long_as_its_process():
    assert is_alive(this_worker())
    assert not is_alive(dead_worker())
    assert is_alive(f"elsewhere:{os.getpid()}")
