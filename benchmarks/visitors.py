"""Those who put a server under load: readers as open dashboards are, writers as lab machines are.

Each has a plan of moments, a random while apart, and a latency counts from the planned one: who is kept from sending
by a slow answer before, waits too.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from typing import Any

import httpx

INPUTS = {"speed_rpm": (1000.0, 3000.0), "angle_deg": (10.0, 40.0)}
READS = {
    "list page": ("/", 1),
    "campaign page": ("/campaigns/{campaign}", 2),
    "campaign JSON": ("/api/v1/campaigns/{campaign}", 2),
    "activity": ("/campaigns/{campaign}/activity", 4),
    "convergence JSON": ("/campaigns/{campaign}/pictures/convergence.json", 1),
}
"""What readers look at, and how often in ten."""


class Log:
    """How long each answer took, by kind of request, and which status it had."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.statuses: dict[str, int] = defaultdict(int)

    async def send(self, kind: str, planned: float, http: httpx.AsyncClient, method: str, path: str, **options: Any):
        """Send a request and note it; None if no answer came."""
        try:
            response = await http.request(method, path, **options)
        except httpx.TransportError as error:
            self.statuses[type(error).__name__] += 1
            response = None
        else:
            self.statuses[str(response.status_code)] += 1
        self.seconds[kind].append(time.perf_counter() - planned)
        return response


# There is no TLS on loopback to verify, and a context for each visitor would take seconds to make.
_TLS = ssl.create_default_context()


def client(url: str, author: str) -> httpx.AsyncClient:
    """A visitor's own connection and cookies."""
    return httpx.AsyncClient(base_url=url, timeout=60, verify=_TLS, headers={"x-headstart-author": author})


async def moments(chance: random.Random, low: float, high: float, until: float) -> AsyncIterator[float]:
    """Planned moments that far apart, each given when it has come; the first at random."""
    planned = time.perf_counter() + chance.uniform(0, high)
    while planned < until:
        await asyncio.sleep(max(planned - time.perf_counter(), 0))
        yield planned
        planned += chance.uniform(low, high)


async def read(log: Log, url: str, campaign: int, seed: int, until: float) -> None:
    """An open dashboard: about once a second it looks at something."""
    chance = random.Random(seed)
    kinds, shares = list(READS), [share for _, share in READS.values()]
    async with client(url, f"reader {seed}") as http:
        async for planned in moments(chance, 0.5, 1.5, until):
            [kind] = chance.choices(kinds, shares)
            await log.send(kind, planned, http, "GET", READS[kind][0].format(campaign=campaign))


class Writer:
    """A lab machine: it tells an outcome every one or two seconds, a fifth of them twice at once, and asks at times.

    Attributes:
        told: the observation that each outcome was acknowledged as; no two outcomes are equal.
        answered: the outcome of each suggestion that it was acknowledged to have answered.
        asked: the suggestions that it was given.
        waits: seconds from asking to a suggestion.
        faults: what should not have happened, in words.
    """

    def __init__(self, log: Log, url: str, campaign: int, number: int, task: dict[str, str], seed: int) -> None:
        self.campaign, self.told, self.answered = campaign, dict[float, int](), dict[int, float]()
        self.asked, self.waits, self.faults = list[int](), list[float](), list[str]()
        self._log, self._url, self._number, self._task = log, url, number, task
        self._chance = random.Random(seed)
        self._pending: deque[dict[str, Any]] = deque()
        self._asking: asyncio.Task[None] | None = None
        self._step = 0

    async def write(self, until: float) -> None:
        """Ask and tell until then."""
        async with client(self._url, f"machine {self._number}") as http:
            async for planned in moments(self._chance, 1.0, 2.0, until):
                self._step += 1
                if (self._asking is None or self._asking.done()) and not self._pending:
                    self._asking = asyncio.create_task(self._ask(http, planned, until))
                elif self._pending and self._chance.random() < 0.5:
                    await self._tell(http, planned, self._pending.popleft())
                else:
                    await self._tell(http, planned, {name: self._chance.uniform(*INPUTS[name]) for name in INPUTS})
            if self._asking is not None:
                await self._asking

    async def _tell(self, http: httpx.AsyncClient, planned: float, row: dict[str, Any]) -> None:
        """Tell an outcome, again under the same key if no answer comes."""
        outcome = round(self._chance.uniform(20, 30), 3) + (self._number * 100_000 + self._step) * 1e-12
        message = {"rows": [{**row, "head_m": outcome}], "task": self._task, "key": self._key("told")}
        path = f"/api/v1/campaigns/{self.campaign}/observations"
        times = 2 if self._chance.random() < 0.2 else 1
        while True:
            sent = [self._log.send("tell", planned, http, "POST", path, json=message) for _ in range(times)]
            ids = {tuple(each.json()["observations"]) for each in await asyncio.gather(*sent) if _is_good(each)}
            if ids:
                break
            planned = time.perf_counter()
            await asyncio.sleep(0.5)
        if len(ids) > 1:
            self.faults.append(f"told once, stored as {sorted(ids)}")
        [self.told[outcome]] = next(iter(ids))
        if "suggestion" in row:
            self.answered[row["suggestion"]] = outcome

    async def _ask(self, http: httpx.AsyncClient, planned: float, until: float) -> None:
        """Ask for one or two experiments, at times twice under one key, and wait for them while telling others."""
        message = {"task": self._task, "n": self._chance.randint(1, 2), "key": self._key("asked")}
        path = f"/api/v1/campaigns/{self.campaign}/suggestions"
        times = 2 if self._chance.random() < 0.2 else 1
        sent = [self._log.send("ask", planned, http, "POST", path, json=message) for _ in range(times)]
        jobs = [each.json() for each in await asyncio.gather(*sent) if _is_good(each)]
        if len({job["id"] for job in jobs}) > 1:
            self.faults.append(f"asked once, queued as {jobs}")
        job = jobs[0] if jobs else None
        while job and job["state"] in ("queued", "running") and (left := until - time.perf_counter()) > 0:
            waiting = await http.get(f"/api/v1/jobs/{job['id']}", params={"wait": min(left, 20)})
            self._log.statuses[str(waiting.status_code)] += 1
            job = waiting.json()
        if job and job["state"] == "failed":
            self.faults.append(f"an ask failed: {job['error']}")
        if job and job["state"] == "done":
            self.waits.append(time.perf_counter() - planned)
            self.asked += job["result"]["suggestions"]
            self._pending += [{"suggestion": each} for each in job["result"]["suggestions"]]

    def _key(self, what: str) -> str:
        return f"{what}-{self._number}-{self._step}"


def _is_good(response: httpx.Response | None) -> bool:
    return response is not None and response.is_success
