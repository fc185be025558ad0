"""What is put under load: `headstart serve` in a process of its own, and a PostgreSQL server for it."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import httpx


@contextmanager
def served(where: str, *options: str) -> Iterator[str]:
    """The address of a server on a free port of loopback, which is stopped at the end."""
    command = [sys.executable, "-m", "headstart", "serve", "--store", where, "--port", "0", *options]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield _address(server, log)
        finally:
            server.terminate()
            try:
                status = server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                status = server.wait()
            log.seek(0)
            print(log.read().strip(), f"(ended with {status})", file=sys.stderr)


def _address(server: subprocess.Popen[bytes], log: TextIO) -> str:
    """Where it listens, once it has said so and answers."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        log.seek(0)
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read()):
            with suppress(httpx.TransportError):
                httpx.get(f"{found[0]}/health").raise_for_status()
                return found[0]
        time.sleep(0.1)
    raise RuntimeError("headstart serve did not start")


@contextmanager
def database(kind: str) -> Iterator[str]:
    """An empty database: an SQLite file, or a PostgreSQL server of its own that stores as carefully as others do."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="headstart-load-") as folder:
            yield str(Path(folder) / "headstart.db")
    elif kind == "postgresql":
        with _postgresql() as url:
            yield url
    else:
        yield kind


@contextmanager
def _postgresql() -> Iterator[str]:
    """On a Unix socket, as a user that is not root, which it refuses to be."""
    folder = Path(tempfile.mkdtemp(prefix="headstart-load-"))
    identity = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def run(program: str, *options: str) -> None:
        # Debian keeps the server's programs out of the path.
        folders = [*sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True), os.environ["PATH"]]
        found = shutil.which(program, path=os.pathsep.join(folders))
        if found is None:
            raise RuntimeError(f"PostgreSQL's {program} is not installed: apt-get install postgresql")
        subprocess.run([found, *options], check=True, cwd=folder, stdout=subprocess.DEVNULL, **identity)

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "postgres", "-A", "trust")
    run("pg_ctl", "-D", data, "-o", f"-k {folder} -c listen_addresses=''", "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", data, "-m", "fast", "stop")
        shutil.rmtree(folder)
