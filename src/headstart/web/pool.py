"""The worker processes of a server: started with it, replaced when they die, ended with it."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from multiprocessing.process import BaseProcess

from headstart.web.worker import work

_log = logging.getLogger("headstart.worker")
_LOOK = 2.0  # seconds between looks after the workers


class WorkerPool:
    """So many processes that work on one store.

    They are spawned, not forked: a fork of a process with threads may inherit locks that nobody opens again.
    """

    def __init__(self, where: str, count: int) -> None:
        self._where, self._count = where, count
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[BaseProcess] = []
        self._ended = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        """Start them, and look after them."""
        self._workers = [self._new() for _ in range(self._count)]
        self._keeper.start()

    def stop(self) -> None:
        """End them, whatever they are at: it begins again when there are workers again."""
        self._ended.set()
        if self._keeper.is_alive():
            self._keeper.join()
        for each in self._workers:
            each.terminate()
        for each in self._workers:
            each.join(5)
            if each.is_alive():
                each.kill()

    def _keep(self) -> None:
        while not self._ended.wait(_LOOK):
            for place, each in enumerate(self._workers):
                if not each.is_alive():
                    _log.warning("a worker ended (%s); another takes its place", each.exitcode)
                    self._workers[place] = self._new()

    def _new(self) -> BaseProcess:
        worker = self._context.Process(target=work, args=(self._where,), kwargs={"parent": os.getpid()}, daemon=True)
        worker.start()
        return worker
