"""A campaign on a server: ask and tell from another machine, as if it were here.

    headstart.connect("http://lab:8000").open("suzuki").suggest({"ligand": "L1"})

The methods are those of `headstart.Campaign`; fits run on the server. A request that broke off is sent again under the
same key, so that nothing is lost or stored twice.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pandas as pd

from headstart.errors import DataError, HeadstartError, MissingExtraError, ModelError, NotFoundError, StoreError
from headstart.tasks import Problem, Table, Task
from headstart.tasks.columns import as_frame

if TYPE_CHECKING:
    import httpx

_TRIES = 4
_WAIT = 20.0  # seconds that the server may hold a request that waits for a job
_PREDICTION = ("mean", "sd", "lower", "upper")


def connect(url: str, *, token: str | None = None, author: str | None = None, timeout: float = 60.0) -> Server:
    """A Headstart server, started by `headstart serve`.

    Args:
        url: its address, such as "http://127.0.0.1:8000".
        token: what it asks for, if it listens beyond its own machine; else the variable HEADSTART_TOKEN.
        author: who asks and tells; the variable HEADSTART_AUTHOR, or whoever runs the server, when left out.
        timeout: seconds to wait for an answer.
    """
    return Server(url, token=token, author=author, timeout=timeout)


class Server:
    """The campaigns of a server."""

    def __init__(self, url: str, *, token: str | None, author: str | None, timeout: float) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("A connection to a server", extra="web") from error
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise StoreError(f"{url!r} is no address of a server. Write one as http://127.0.0.1:8000.")
        self.url = f"{parts.scheme}://{parts.netloc}"
        token = token or os.environ.get("HEADSTART_TOKEN")
        author = author or os.environ.get("HEADSTART_AUTHOR")
        headers = {} if token is None else {b"authorization": f"Bearer {token}".encode()}
        if author:
            headers[b"x-headstart-author"] = author.encode()
        self._http = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=timeout)

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; `with headstart.connect(...) as server:` does it by itself."""
        self._http.close()

    def campaigns(self) -> list[dict[str, Any]]:
        """All campaigns, the most recently active first."""
        return list(self.call("GET", "/campaigns")["campaigns"])

    def open(self, name: str) -> RemoteCampaign:
        """A campaign by its name."""
        found = [each for each in self.campaigns() if each["name"] == name]
        if not found:
            names = ", ".join(repr(each["name"]) for each in self.campaigns()[:20]) or "none"
            raise NotFoundError(f"There is no campaign {name!r} on {self.url}. There is: {names}.")
        return RemoteCampaign(self, found[0]["id"])

    def create(self, name: str, archive: Table, problem: Problem, *, seed: int = 0) -> RemoteCampaign:
        """Start a campaign from an archive, see `headstart.Campaign.create`."""
        stated = problem.to_dict()
        message = {
            "name": name,
            **stated,
            "inputs": dict(stated["inputs"]),
            "archive": _rows(archive),
            "seed": seed,
        }
        return RemoteCampaign(self, self.call("POST", "/campaigns", json=message)["id"])

    def call(self, method: str, path: str, *, is_safe: bool | None = None, **options: Any) -> Any:
        """Send a request and read its answer. What may be sent twice is sent again when the connection breaks."""
        import httpx

        tries = _TRIES if (method == "GET" if is_safe is None else is_safe) else 1
        for attempt in range(tries):
            try:
                response = self._http.request(method, path, **options)
            except httpx.TransportError as error:
                if attempt + 1 < tries:
                    time.sleep(0.2 * 4**attempt)
                    continue
                raise StoreError(f"{self.url} cannot be reached: {error or type(error).__name__}.") from error
            if response.status_code in (429, 502, 503, 504) and attempt + 1 < tries:
                time.sleep(min(float(response.headers.get("retry-after", 0.2 * 4**attempt)), 10.0))
                continue
            return _answer(response, self.url)
        raise AssertionError("unreachable")

    def wait_for(self, job: Mapping[str, Any], progress: Callable[[str], None] | None = None) -> Any:
        """The result of a job, once it has ended."""
        while job["state"] in ("queued", "running"):
            if progress is not None:
                progress(job["remark"] or job["words"])
            job = self.call("GET", f"/jobs/{job['id']}", params={"wait": _WAIT})
        if job["state"] == "cancelled":
            raise ModelError(f"Job {job['id']} was cancelled on the server.")
        if job["state"] == "failed":
            raise ModelError(f"{job['error']} (job {job['id']} on {self.url})")
        return job["result"]


class RemoteCampaign:
    """A campaign on a server, with the methods of `headstart.Campaign`."""

    def __init__(self, server: Server, campaign_id: int) -> None:
        self._server = server
        self.id = campaign_id
        view = self._get("")
        self.name: str = view["name"]
        self.problem = Problem.from_dict(view["problem"])
        self.settings: dict[str, Any] = view["settings"]

    def __repr__(self) -> str:
        return f"RemoteCampaign({self.name!r} on {self._server.url}: {self.problem.goal} {self.problem.objective})"

    def suggest(
        self,
        task: Task,
        n: int = 1,
        *,
        candidates: Table | None = None,
        fixed: Mapping[str, float] | None = None,
        acquisition: str = "auto",
        seed: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> pd.DataFrame:
        """The next `n` experiments of a task, stored as pending, see `headstart.Campaign.suggest`."""
        message = {
            "task": dict(task),
            "n": n,
            "fixed": None if fixed is None else dict(fixed),
            "candidates": None if candidates is None else _rows(candidates),
            "acquisition": acquisition,
            "seed": seed,
            "key": uuid.uuid4().hex,
        }
        job = self._post("/suggestions", message, is_safe=True)
        ids = self._server.wait_for(job, progress)["suggestions"]
        known = {each["suggestion"]: each for each in self._get("/suggestions")["suggestions"]}
        rows = [known[each] for each in ids]
        frame = pd.DataFrame(
            [
                {
                    "suggestion": each["suggestion"],
                    **each["task"],
                    **each["inputs"],
                    **{name: each["prediction"][name] for name in _PREDICTION},
                    "score": each["score"],
                }
                for each in rows
            ]
        )
        frame.attrs["score"] = rows[0]["score_is"]
        return frame

    def observe(
        self,
        outcomes: Table | float,
        *,
        suggestion: int | None = None,
        task: Task | None = None,
        key: str | None = None,
    ) -> list[int]:
        """Store what was measured, see `headstart.Campaign.observe`. When this returns, it is stored, once."""
        if isinstance(outcomes, int | float):
            if suggestion is None:
                raise DataError(f"{outcomes} is the outcome of which experiment? Say suggestion=..., or give a table.")
            outcomes = [{self.problem.objective: float(outcomes)}]
        frame = as_frame(outcomes)
        if suggestion is not None:
            frame = frame.assign(suggestion=suggestion)
        kept = ["suggestion", *self.problem.general, *self.problem.inputs, self.problem.objective]
        frame = frame[[name for name in kept if name in frame]]
        message = {"rows": _rows(frame), "task": task and dict(task), "key": key or uuid.uuid4().hex}
        return list(self._post("/observations", message, is_safe=True)["observations"])

    def accept(self, suggestion: int) -> None:
        """Note that you run a suggestion, for others to see."""
        self._post(f"/suggestions/{suggestion}/acceptance", None, is_safe=True)

    def withdraw(self, suggestion: int, *, reason: str | None = None) -> None:
        """Take back a suggestion that failed or will not run."""
        self._post(f"/suggestions/{suggestion}/withdrawal", {"reason": reason}, is_safe=True)

    def retract(self, observation: int, *, reason: str | None = None) -> None:
        """Take back a wrong observation, by its id."""
        self._post(f"/observations/{observation}/retraction", {"reason": reason})

    def predict(
        self, rows: Table, *, task: Task | None = None, interval: float = 0.8, noise: bool = True
    ) -> pd.DataFrame:
        """What to expect at each row, see `headstart.Surrogate.predict`."""
        message = {"rows": _rows(rows), "task": task and dict(task), "interval": interval, "noise": noise}
        result = self._server.wait_for(self._post("/predictions", message, is_safe=True))
        index = rows.index if isinstance(rows, pd.DataFrame) else None
        return pd.DataFrame(result["predictions"], index=index)

    def validate(self, *, tasks: int | None = None, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
        """Leave-one-task-out validation of the archive, as a summary, see `headstart.report.trust`."""
        job = self._post("/validations", {"tasks": tasks}, is_safe=True)
        return dict(self._server.wait_for(job, progress))

    def history(self) -> pd.DataFrame:
        """Every experiment since the archive: suggested, observed or both, with what was expected of it."""
        rows = [
            {
                "suggestion": each["suggestion"],
                "observation": each["observation"],
                "status": each["status"],
                **each["task"],
                **each["inputs"],
                self.problem.objective: each["outcome"],
                **{name: (each["prediction"] or {}).get(name) for name in _PREDICTION},
                **{name: each[name] for name in ("score", "author", "suggested_at", "observed_at", "reason")},
            }
            for each in self._get("/experiments")["experiments"]
        ]
        frame = pd.DataFrame(rows)
        return frame if frame.empty else frame.astype({"suggestion": "Int64", "observation": "Int64"})

    def data(self) -> pd.DataFrame:
        """All that the surrogate learns from, archive and experiments."""
        columns = [*self.problem.general, *self.problem.inputs, self.problem.objective]
        return pd.DataFrame(self._get("/data")["rows"], columns=columns)

    def tasks(self) -> list[dict[str, str]]:
        """The tasks that were ever measured or asked for, each once."""
        return [each["task"] for each in self._get("/tasks")["tasks"]]

    def _get(self, path: str) -> Any:
        return self._server.call("GET", f"/campaigns/{self.id}{path}")

    def _post(self, path: str, message: Any, *, is_safe: bool = False) -> Any:
        return self._server.call("POST", f"/campaigns/{self.id}{path}", json=message, is_safe=is_safe)


def _rows(table: Table) -> list[dict[str, Any]]:
    """A table as JSON takes it: nothing for what is missing."""
    frame = as_frame(table).astype(object)
    records = frame.where(frame.notna(), None).to_dict("records")
    return [{str(name): getattr(value, "item", lambda v=value: v)() for name, value in row.items()} for row in records]


def _answer(response: httpx.Response, url: str) -> Any:
    if response.is_success:
        return None if response.status_code == 204 else response.json()
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        detail = response.text[:500] or response.reason_phrase
    if isinstance(detail, list):
        detail = "; ".join(f"{each['where']}: {each['what']}" for each in detail)
    errors: dict[int, type[HeadstartError]] = {404: NotFoundError, 422: DataError}
    error = errors.get(response.status_code, StoreError)
    raise error(detail if error is not StoreError else f"{url} answered {response.status_code}: {detail}")
