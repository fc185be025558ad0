"""What the watch on an SQLite file sees, and that nobody is shown what is no longer so."""

import sqlite3
import threading

import pytest
from campaign.conftest import NEW

import headstart as hs
from headstart.campaign import Store
from headstart.campaign.watch import Watch


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "some.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE a (b)")
    connection.commit()
    connection.close()
    return path


def write(path):
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO a VALUES (1)")
    connection.commit()
    connection.close()


def test_every_commit_is_seen_and_nothing_else(path):
    watch, states = Watch(path), set()
    for _ in range(5):
        before = watch.state()
        assert watch.state() == before
        states.add(before)
        write(path)
    assert len(states) == 5
    watch.close()
    assert watch.state() is not None  # it may look again


def test_a_vanished_or_damaged_file_has_no_state(path, tmp_path):
    watch = Watch(path)
    before = watch.state()
    moved = path.rename(tmp_path / "elsewhere.db")
    assert watch.state() is None
    moved.rename(path)
    assert watch.state() is not None
    path.unlink()
    path.write_bytes(b"no database" * 1000)
    assert watch.state() != before


def test_a_file_in_the_place_of_another_is_another(path, tmp_path):
    watch, other = Watch(path), tmp_path / "other.db"
    before = watch.state()
    other.write_bytes(path.read_bytes())
    other.replace(path)
    assert watch.state() != before


def test_many_threads_look_at_once(path):
    watch, failures = Watch(path), []

    def look():
        try:
            for _ in range(200):
                assert watch.state() is not None
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        write(path)
    for thread in threads:
        thread.join()
    assert failures == []


def test_what_others_do_is_seen_at_once(campaign, where):
    """Each store is a process of its own, as far as the database can tell."""
    mine, theirs = Store(where), hs.Campaign.open(campaign.name, store=Store(where))
    reads = []

    def tell_of_marker() -> str:
        return mine.momentary("marker", lambda: reads.append(1) or mine.marker(campaign.id))

    before = tell_of_marker()
    assert tell_of_marker() == before
    assert len(reads) == 1 or not where.endswith(".db")  # PostgreSQL tells only when asked
    for step in range(3):
        theirs.observe({"task": "told", "x": 0.1 * step, "y": step})
        assert tell_of_marker() != before
        before = tell_of_marker()
    mine.jobs.add(campaign.id, "refresh", {"task": NEW})
    assert tell_of_marker() != before
