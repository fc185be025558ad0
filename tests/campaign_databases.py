"""A PostgreSQL server of the tests' own, for all that store."""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

_numbers = itertools.count()


def postgresql_program(name: str) -> str:
    """A program of the PostgreSQL server, which Debian keeps out of the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")]))
    assert found, f"PostgreSQL's {name} is not installed: apt-get install postgresql"
    return found


@pytest.fixture(scope="session")
def postgresql_server():
    """A server on a Unix socket, as a user that is not root, which it refuses to be."""
    folder = Path(tempfile.mkdtemp(prefix="headstart-postgresql-"))
    identity = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def run(*command: str) -> None:
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, **identity)

    data = str(folder / "data")
    run(postgresql_program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=50"
    run(postgresql_program("pg_ctl"), "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql://postgres@/{{database}}?host={folder}"
    finally:
        run(postgresql_program("pg_ctl"), "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture
def postgresql(postgresql_server) -> str:
    """The URL of an empty PostgreSQL database."""
    name = f"test_{next(_numbers)}"
    url = postgresql_server.format(database="postgres").replace("postgresql:", "postgresql+psycopg:")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    return postgresql_server.format(database=name)
