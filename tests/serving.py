"""`headstart serve` as a process of its own, for the tests of the dashboard."""

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    url: str
    where: str
    process: subprocess.Popen
    log: Path

    def api(self, **options) -> httpx.Client:
        return httpx.Client(base_url=f"{self.url}/api/v1", timeout=60, **options)


@contextmanager
def served(where: str, folder: Path, *options: str, token: str | None = None):
    """`headstart serve` in a process of its own, on a free port."""
    log = folder / "serve.log"
    environment = {name: value for name, value in os.environ.items() if name != "HEADSTART_TOKEN"}
    if token:
        environment["HEADSTART_TOKEN"] = token
    command = [sys.executable, "-m", "headstart", "serve", "--store", where, "--port", "0", *options]
    with log.open("w") as file:
        process = subprocess.Popen(command, stderr=file, stdout=file, env=environment | {"HEADSTART_AUTHOR": "ann"})
    try:
        until = time.monotonic() + 120
        while not (found := re.search(r"https?://\S+:(\d+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        server = Running(f"http://127.0.0.1:{found[1]}", where, process, log)
        while True:
            try:
                httpx.get(f"{server.url}/health", timeout=5)
                break
            except httpx.TransportError:
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
