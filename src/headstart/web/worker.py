"""A worker takes jobs from the queue and does them, one after another, in a process of its own.

Reads never wait for it, and it may die at any time: what it was at begins again elsewhere.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pandas as pd

from headstart.campaign import Campaign, Store
from headstart.campaign.jobs import CancelledError, Claim, Job, this_worker
from headstart.errors import HeadstartError, StoreError

_log = logging.getLogger("headstart.worker")
_PULSE = 10.0  # seconds between signs of life while there is nothing to say
_NEWS = 0.5  # seconds between remarks on how far it is
_IDLE = 0.25  # seconds between looks into an empty queue
_PROBLEM = 5.0  # seconds to wait when the database cannot be reached


def work(where: str, *, parent: int | None = None) -> None:
    """Do jobs until the process is ended, or the one that started it is gone.

    Args:
        where: the store, by its path or URL.
        parent: the process to live as long as.
    """
    with suppress(OSError, AttributeError):
        os.nice(10)  # people who look come first
    store = Store(where)
    while parent is None or os.getppid() == parent:
        try:
            if not work_once(store):
                time.sleep(_IDLE)
        except StoreError as error:
            _log.warning("%s", error)
            time.sleep(_PROBLEM)


def work_once(store: Store) -> bool:
    """Do one job, if there is one."""
    worker = this_worker()
    job = store.jobs.claim(worker)
    if job is None:
        return False
    pulse = _Pulse(store, job, worker)
    try:
        result = _DOERS[job.kind](store, job, pulse)
        if result is not _STORED:
            store.jobs.finish(job.id, worker, result)
    except CancelledError:
        _log.info("job %d was cancelled", job.id)
    except HeadstartError as error:
        _fail(store, job, worker, str(error))
    except Exception as error:  # a job must not take the worker with it
        _log.exception("job %d (%s)", job.id, job.kind)
        _fail(store, job, worker, f"{type(error).__name__}: {error}")
    finally:
        pulse.stop()
    return True


def _fail(store: Store, job: Job, worker: str, error: str) -> None:
    with suppress(CancelledError):
        store.jobs.fail(job.id, worker, error)


class _Pulse:
    """Signs of life of a running job, with remarks on how far it is; raises where a cancelled job should stop."""

    def __init__(self, store: Store, job: Job, worker: str) -> None:
        self._store, self._job, self._worker = store, job, worker
        self._said = 0.0
        self._ended = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def fitting(self, evaluations: int, evidence: float) -> None:
        """Progress of a fit, which does not know how long it will take."""
        self.say(None, f"fitting, {evaluations} evaluations")

    def steps(self, done: int, total: int, text: str) -> None:
        """Progress of work with a known number of steps."""
        self.say(done / max(total, 1), text)

    def say(self, share: float | None, remark: str) -> None:
        """A remark, not more often than people read."""
        if time.monotonic() - self._said >= _NEWS:
            self._said = time.monotonic()
            self._store.jobs.beat(self._job.id, self._worker, share=share, remark=remark)

    def stop(self) -> None:
        """No more signs."""
        self._ended.set()

    def _beat(self) -> None:
        while not self._ended.wait(_PULSE):
            with suppress(CancelledError, StoreError):  # the next remark will say so
                self._store.jobs.beat(self._job.id, self._worker)


# What a job returns that has stored its result itself, together with its end.
_STORED = object()


def _suggest(store: Store, job: Job, pulse: _Pulse) -> Any:
    given = dict(job.arguments)
    campaign = _campaign(store, job)
    candidates = given.pop("candidates", None)
    table = None if candidates is None else pd.DataFrame(candidates)
    claim = Claim(job.id, this_worker())
    frame = campaign.suggest(**given, candidates=table, progress=pulse.fitting, claim=claim)
    task = {name: str(frame[name].iloc[0]) for name in campaign.problem.general}
    store.jobs.add(job.campaign_id, "refresh", {"task": task}, unless_queued=True)
    return _STORED


def _predict(store: Store, job: Job, pulse: _Pulse) -> Any:
    given = dict(job.arguments)
    campaign = _campaign(store, job)
    campaign.surrogate(progress=pulse.fitting)
    frame = campaign.predict(pd.DataFrame(given.pop("rows")), **given)
    return {"predictions": frame.to_dict("records")}


def _refresh(store: Store, job: Job, pulse: _Pulse) -> Any:
    from headstart.web.pictures import pictures_of

    campaign = _campaign(store, job)
    task = job.arguments.get("task")
    seen = campaign.snapshot().observations
    content = pictures_of(campaign, task, pulse.fitting)
    store.beliefs.put(job.campaign_id, task, seen[-1].id if seen else 0, content)
    return {}


def _report(store: Store, job: Job, pulse: _Pulse) -> Any:
    from headstart.report import html_report

    campaign = _campaign(store, job)
    campaign.surrogate(progress=pulse.fitting)
    return {"html": html_report(campaign, job.arguments.get("task"))}


def _validate(store: Store, job: Job, pulse: _Pulse) -> Any:
    from headstart.report import trust

    campaign = _campaign(store, job)
    surrogate = campaign.surrogate(progress=pulse.fitting)
    frame = surrogate.validate(tasks=job.arguments.get("tasks"), progress=pulse.steps)
    return trust(frame, campaign.problem)


def _campaign(store: Store, job: Job) -> Campaign:
    return Campaign(job.campaign_id, store.by(job.origin.author))


_DOERS: dict[str, Callable[[Store, Job, _Pulse], Any]] = {
    "suggest": _suggest,
    "predict": _predict,
    "refresh": _refresh,
    "report": _report,
    "validate": _validate,
}
