"""Connections to PostgreSQL that stay open: they go stale, are forked, and must be closed."""

import gc
import subprocess
import sys
import time

import sqlalchemy as sa
from campaign.conftest import PROBLEM, archive

import headstart as hs
from headstart.campaign import Store

FORK = """
import os, sys
from headstart.campaign import Store

store = Store(sys.argv[1])
def count(): return len(store.snapshot(1).observations)
assert count() == 12
child = os.fork()
if child == 0:
    os._exit(0 if count() == 12 else 1)
assert os.waitpid(child, 0)[1] == 0
assert count() == 12
"""


def admin(url: str, statement: str) -> list:
    """Run a statement from a connection of its own."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        return connection.execute(sa.text(statement)).all()


OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def test_a_connection_that_the_server_closed_is_opened_again(postgresql):
    campaign = hs.Campaign.create("sines", archive(), PROBLEM, store=postgresql)
    assert admin(postgresql, f"SELECT pg_terminate_backend(pid) {OTHERS}")
    assert len(campaign.observations()) == 12
    assert campaign.observe({"task": "new", "x": 0.5, "y": 1.0}) == [13]


def test_connections_are_used_again_and_end_with_their_store(postgresql):
    hs.Campaign.create("sines", archive(), PROBLEM, store=postgresql)
    store = Store(postgresql)
    first = admin(postgresql, f"SELECT pid {OTHERS}")
    for _ in range(5):
        store.snapshot(1)
    assert admin(postgresql, f"SELECT pid {OTHERS}") == first
    del store
    gc.collect()
    deadline = time.monotonic() + 10
    while admin(postgresql, f"SELECT pid {OTHERS}"):  # the server notices in a moment
        assert time.monotonic() < deadline


def test_a_fork_leaves_the_connections_to_its_parent(postgresql):
    hs.Campaign.create("sines", archive(), PROBLEM, store=postgresql)
    run = subprocess.run([sys.executable, "-c", FORK, postgresql], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
