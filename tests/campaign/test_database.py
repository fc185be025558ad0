"""Databases that are old, new, foreign, damaged, locked or gone."""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from campaign.conftest import NEW, PROBLEM, archive

import headstart as hs
from headstart.campaign import Store, schema
from headstart.campaign.database import Database
from headstart.campaign.records import NewSuggestion, Prediction
from headstart.errors import MissingExtraError, ProblemError, StoreError

MIGRATIONS = Path(schema.__file__).parent / "migrations"


def alembic(connection=None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def sqlite(path) -> sa.Engine:
    return sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)


def engine_of(where: str) -> sa.Engine:
    if where.startswith("postgresql"):
        return sa.create_engine(where.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    return sqlite(where)


def test_the_revisions_known_are_those_that_alembic_finds():
    found = [script.revision for script in ScriptDirectory.from_config(alembic()).walk_revisions()]
    assert tuple(reversed(found)) == schema.REVISIONS


def test_the_migrations_make_the_schema(where):
    with Database(where, create=True).read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def first_revision(where) -> None:
    """A database as the first revision of the schema had it, with a campaign, a suggestion and an observation."""
    origin = "'2026-01-02 03:04:05', 'ann', '0.0.1'"
    problem = '{"inputs": [["x", [0, 1]]], "general": ["task"], "objective": "y", "goal": "minimize"}'
    settings = '{"seed": 0, "model": "begp", "kernel": "matern52", "latent_dim": 3}'
    with engine_of(where).begin() as connection:
        command.upgrade(alembic(connection), "0001")
        for statement in (
            f"INSERT INTO campaign (name, problem, settings, made_at, author, version) "
            f"VALUES ('old', '{problem}', '{settings}', {origin})",
            f"INSERT INTO observation (campaign_id, is_archive, task, inputs, outcome, made_at, author, version) "
            f"""VALUES (1, true, '{{"task": "legacy"}}', '{{"x": 0.25}}', 0.5, {origin})""",
            f"INSERT INTO suggestion (campaign_id, task, inputs, mean, sd, lower, upper, score, score_is, seed, state, "
            f"""made_at, author, version) VALUES (1, '{{"task": "new"}}', '{{"x": 0.75}}', 1, 1, 0, 2, 1, 'mean', 0, """
            f"'pending', {origin})",
        ):
            connection.exec_driver_sql(statement)


def test_an_older_database_is_migrated_when_it_is_opened(where):
    first_revision(where)
    campaign = hs.Campaign.open("old", store=where)
    assert campaign.data().to_dict("records") == [{"task": "legacy", "x": 0.25, "y": 0.5}]
    assert campaign.history()["status"].tolist() == ["pending"]
    campaign.observe(1.5, suggestion=1)
    assert campaign.predict({"x": [0.5]}, task=NEW)["mean"].notna().all()  # uses what the second revision added
    with engine_of(where).begin() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == schema.REVISIONS[-1]


def test_a_migration_that_fails_changes_nothing(where, monkeypatch):
    first_revision(where)
    with engine_of(where).begin() as connection:  # in the way of the second revision
        connection.exec_driver_sql("CREATE TABLE surrogate (id INTEGER)")
    with pytest.raises(StoreError, match="surrogate"):
        Store(where)
    with engine_of(where).begin() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == "0001"
        assert connection.exec_driver_sql("SELECT count(*) FROM observation").scalar() == 1
        connection.exec_driver_sql("DROP TABLE surrogate")
    assert len(hs.Campaign.open("old", store=where).data()) == 1


def test_a_newer_database_is_left_as_it_is(where):
    hs.Campaign.create("c", archive(), PROBLEM, store=where)
    with engine_of(where).begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0999'")
    with pytest.raises(StoreError, match=r"newer Headstart \(schema 0999.*Nothing was changed.*--upgrade headstart"):
        Store(where, create=True)
    with engine_of(where).begin() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == "0999"


def test_another_programs_database_is_left_as_it_is(where):
    with engine_of(where).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE customers (name TEXT)")
    with pytest.raises(StoreError, match="not a Headstart database: it holds customers"):
        Store(where, create=True)
    with engine_of(where).begin() as connection:
        assert sa.inspect(connection).get_table_names() == ["customers"]


def test_many_open_a_new_database_at_once(where):
    errors = []

    def open_it():
        try:
            Store(where, create=True).campaigns()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_many_open_new_databases_at_once(tmp_path):
    """Alembic keeps its state in a global, so migrations of one process must take turns."""
    errors = []

    def open_it(number):
        try:
            Store(tmp_path / f"{number}.db", create=True).campaigns()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_server_of_another_isolation_level(postgresql):
    """Who waited for the lock must see what the one before has stored, whatever the server's default."""
    with engine_of(postgresql).begin() as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar()
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
    campaign = hs.Campaign.create("c", archive(), PROBLEM, store=postgresql)
    store, seen = Store(postgresql), campaign.snapshot()
    new = NewSuggestion({"task": "new"}, {"x": 0.5}, Prediction(0, 1, -1, 1), 0.0, "mean", 0)
    stored = []
    threads = [
        threading.Thread(target=lambda: stored.append(store.add_suggestions(campaign.id, [new], seen=seen)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(campaign.suggestions()) == 1
    assert sum(each is not None for each in stored) == 1


def test_two_create_the_same_campaign_at_once(where):
    Store(where, create=True)
    answers = []

    def create():
        try:
            answers.append(Store(where).create_campaign("c", PROBLEM.to_dict(), {}, []).name)
        except ProblemError as error:
            answers.append(str(error))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer == "c" for answer in answers) == [False, False, False, True]


def test_an_empty_file_becomes_a_database_in_write_ahead_mode(tmp_path):
    (tmp_path / "headstart.db").touch()
    with Database(tmp_path / "headstart.db", create=True).read() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_a_user_without_a_name(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADSTART_AUTHOR", raising=False)
    monkeypatch.setattr("getpass.getuser", lambda: {}["nobody"])
    assert Store(tmp_path / "headstart.db", create=True).author.startswith("user ")


def test_there_is_no_database(tmp_path):
    with pytest.raises(StoreError, match=r"no database .*nowhere\.db.*create a campaign"):
        hs.Campaign.open("c", store=tmp_path / "nowhere.db")
    assert not (tmp_path / "nowhere.db").exists()
    with pytest.raises(StoreError, match="no folder"):
        Store(tmp_path / "no" / "folder.db", create=True)


@pytest.mark.parametrize("content", [b"alloy,temperature\nTi,700\n", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database(tmp_path, content):
    path = tmp_path / "archive.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"archive\.db is no database, or is damaged"):
        Store(path, create=True)
    assert path.read_bytes() == content


def test_a_database_that_vanishes(tmp_path):
    path = tmp_path / "headstart.db"
    campaign = hs.Campaign.create("c", archive(), PROBLEM, store=path)
    shutil.move(path, tmp_path / "moved.db")
    for step in (campaign.history, lambda: campaign.observe({"task": "new", "x": 0.1, "y": 1.0})):
        with pytest.raises(StoreError, match=r"no database .*headstart\.db"):
            step()
    assert not path.exists()
    shutil.move(tmp_path / "moved.db", path)
    assert campaign.observe({"task": "new", "x": 0.1, "y": 1.0}) == [13]


def test_a_database_that_vanishes_during_a_write(tmp_path):
    database = Database(tmp_path / "headstart.db", create=True)

    def write() -> None:
        with database.write() as connection:
            connection.execute(sa.text("DELETE FROM surrogate"))
            database.path.unlink()

    with pytest.raises(StoreError, match="vanished"):
        write()


def test_a_locked_database(tmp_path):
    path = tmp_path / "headstart.db"
    hs.Campaign.create("c", archive(), PROBLEM, store=path)
    campaign = hs.Campaign("c", Store(path, wait=0.2))
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"locked by another program for 0\.2 s"):
        campaign.observe({"task": "new", "x": 0.1, "y": 1.0})
    assert len(campaign.data()) == 12  # reading needs no lock
    other.rollback()
    other.close()
    campaign.observe({"task": "new", "x": 0.1, "y": 1.0})
    assert len(campaign.data()) == 13


def test_a_short_lock_is_waited_for(tmp_path):
    path = tmp_path / "headstart.db"
    campaign = hs.Campaign.create("c", archive(), PROBLEM, store=path)
    other = sqlite3.connect(path, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, lambda: (other.rollback(), other.close())).start()
    began = time.monotonic()
    campaign.observe({"task": "new", "x": 0.1, "y": 1.0})
    assert time.monotonic() - began > 0.3
    assert len(campaign.data()) == 13


def test_a_database_that_cannot_be_written(tmp_path):
    """Seen by a process that gives up being root, whom no permission stops."""
    path = tmp_path / "headstart.db"
    hs.Campaign.create("c", archive(), PROBLEM, store=path)
    script = (
        "import os, sys, headstart as hs, headstart.campaign, sqlalchemy.dialects.sqlite\n"
        "campaign = hs.Campaign.open('c', store=sys.argv[1])\n"
        "os.chmod(sys.argv[1], 0o444); os.getuid() or os.setuid(65534)\n"
        "try: campaign.observe({'task': 'new', 'x': 0.1, 'y': 1.0})\n"
        "except hs.HeadstartError as error: print(error)\n"
    )
    # pytest's folders are root's alone, and a process among several has one more of them.
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    answer = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
    assert "cannot be written to: check its permissions" in answer.stdout, answer.stderr


def test_a_server_that_does_not_answer(tmp_path):
    with pytest.raises(StoreError, match=r"postgresql.*cannot be used") as error:
        Store(f"postgresql://ann:secret@/db?host={tmp_path}", wait=1)
    assert "secret" not in str(error.value)


def test_urls_that_are_none():
    with pytest.raises(StoreError, match="mysql database is not supported"):
        Store("mysql://host/db")
    with pytest.raises(StoreError, match="URL"):
        Store("postgresql://host:port/db")


def test_postgresql_without_its_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"headstart\[postgresql\]"):
        Store("postgresql://host/db")


def test_sqlite_keeps_a_write_ahead_log_in_full(tmp_path):
    database = Database(tmp_path / "headstart.db", create=True)
    with database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
