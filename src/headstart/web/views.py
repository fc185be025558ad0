"""What there is to see, as plain dicts: a page renders one, the API sends it as it is.

Nothing here fits or draws: what needs a surrogate was computed by a worker, and says which data it has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from headstart.campaign import Store
from headstart.campaign.beliefs import Belief
from headstart.campaign.jobs import Job
from headstart.errors import NotFoundError, ProblemError
from headstart.report import convergence, experiments, honesty, overview, with_trail
from headstart.report.history import task_labels
from headstart.report.words import counted
from headstart.web.reading import CampaignNow

SURROGATE_PICTURES = ("slices", "surfaces", "embedding_map")
PICTURES = ("convergence", "honesty", *SURROGATE_PICTURES, "trust")
"""Pictures by name; those of the surrogate come from a belief that a worker has stored."""

_WORKING = {
    "suggest": "looking for the next experiment",
    "predict": "predicting",
    "refresh": "bringing the surrogate and its pictures up to date",
    "report": "writing the report",
    "validate": "validating: each old task is left out in turn",
}


def campaigns(store: Store) -> dict[str, Any]:
    """All campaigns, the most recently active first."""
    return {
        "campaigns": [
            {
                "id": each.id,
                "name": each.name,
                "objective": each.problem["objective"],
                "goal": each.problem["goal"],
                "status": _status(each.pending, each.observed, each.working),
                "best": each.best,
                "archive_rows": each.archive_rows,
                "observed": each.observed,
                "pending": each.pending,
                "author": each.origin.author,
                "last_activity": _iso(each.last_activity),
            }
            for each in store.momentary("campaigns", store.campaigns)
        ]
    }


def campaign(store: Store, campaign_id: int, labels: Sequence[str] = ()) -> dict[str, Any]:
    """A campaign, and where one of its tasks stands: the given one, else the most recently active.

    Args:
        store: where it is kept.
        campaign_id: which it is.
        labels: the task's, in the order of the general inputs.
    """
    return store.kept(campaign_id, ("campaign", *labels), lambda: _campaign(store, campaign_id, labels))


def _campaign(store: Store, campaign_id: int, labels: Sequence[str]) -> dict[str, Any]:
    now = CampaignNow(campaign_id, store)
    known = experiments(now)
    summary = overview(now, known=known)
    task = chosen_task(now, summary, labels)
    entry = next((each for each in summary["current"] if each["task"] == task), None)
    found = None if task is None else store.beliefs.latest(now.id, task)
    belief = None if found is None else found.content
    course = None if task is None else convergence(now, task, known=known)
    chances, best_chances = ((belief or {}).get(name, {}) for name in ("chances", "best_chances"))
    suggested = {each.id: each for each in now.suggestions()}
    pending = [
        {
            **each,
            "chance": chances.get(str(each["suggestion"])),
            "chance_of_best": best_chances.get(str(each["suggestion"])),
            "score": suggested[each["suggestion"]].score,
            "score_is": suggested[each["suggestion"]].score_is,
            "accepted_by": suggested[each["suggestion"]].accepted_by,
        }
        for each in (course["pending"] if course else [])
    ]
    return {
        **summary,
        "id": now.id,
        "task": task,
        "best": entry and entry["best"],
        "convergence": course,
        "pending_experiments": pending,
        "leans_on": [
            {name: each[name] for name in ("general", "nearest", "separation")}
            for each in (belief or {}).get("maps", [])
        ],
        "experiments": known,
        "labels": {
            name: list(dict.fromkeys(each["task"][name] for each in summary["tasks"])) for name in now.problem.general
        },
        "belief": _freshness(now, found),
    }


def picture(
    store: Store, campaign_id: int, kind: str, labels: Sequence[str] = (), general: str | None = None
) -> dict[str, Any]:
    """One picture as data. `NotFoundError` if nobody has computed it yet."""
    if kind not in PICTURES:
        raise NotFoundError(f"There is no picture {kind!r}. There are: {', '.join(PICTURES)}.")
    if kind == "honesty":
        return store.kept(campaign_id, kind, lambda: honesty(CampaignNow(campaign_id, store)))
    if kind == "trust":
        store.campaign(campaign_id)
        return trust(store, campaign_id)["summary"] or _missing("The archive has not been validated yet.")
    view = campaign(store, campaign_id, labels)
    if kind == "convergence":
        return view["convergence"] or _missing("No task has experiments yet.")
    task = view["task"]
    found = store.beliefs.latest(campaign_id, task)
    if found is None:
        return _missing("The surrogate has not been fitted to these data yet: ask for a suggestion, or for an update.")
    if kind == "embedding_map":
        return _map(store, view, found, general)
    return found.content.get(kind) or _missing("This picture is of a task: choose one.")


def trust(store: Store, campaign_id: int) -> dict[str, Any]:
    """The latest validation of the archive that has ended, and the one that runs."""
    jobs = store.jobs.of(campaign_id, kinds=["validate"])
    done = next((each for each in jobs if each.state == "done"), None)
    latest = jobs[0] if jobs else None
    return {
        "id": campaign_id,
        "summary": None if done is None else store.jobs.job(done.id).result,
        "validated_at": done and _iso(done.ended_at),
        "job": None if latest is None or latest.state == "done" else job(latest),
    }


def activity(store: Store, campaign_id: int) -> dict[str, Any]:
    """What is going on: jobs that wait or run, and a marker that is another whenever there is something new to see."""

    def look() -> dict[str, Any]:
        store.campaign(campaign_id)  # an error if there is none
        jobs = store.jobs.of(campaign_id)
        return {
            "id": campaign_id,
            "jobs": [job(each) for each in jobs if each.is_open],
            "failed": [job(each) for each in jobs[:1] if each.state == "failed"],
            "marker": store.marker(campaign_id),
        }

    return store.momentary(("activity", campaign_id), look)


def job(each: Job) -> dict[str, Any]:
    """A job, with its result once it is done."""
    shown = {
        name: value
        for name, value in asdict(each).items()
        if name not in ("origin", "ended_at", "campaign_id", "arguments", "attempts")
    }
    return {
        **shown,
        "campaign": each.campaign_id,
        "words": _WORKING[each.kind],
        "task": each.arguments.get("task"),
        "author": each.origin.author,
        "made_at": _iso(each.origin.made_at),
        "ended_at": _iso(each.ended_at),
    }


def chosen_task(now: CampaignNow, summary: Mapping[str, Any], labels: Sequence[str]) -> dict[str, str] | None:
    """The task of these labels, which may be new; without labels the most recently active, if there is one."""
    general = now.problem.general
    if not labels:
        return summary["current"][0]["task"] if summary["current"] else None
    if len(labels) != len(general):
        raise ProblemError(
            f"A task of this campaign has {counted(len(general), 'label')} ({', '.join(general)}), not {len(labels)}."
        )
    return task_labels(now.problem, dict(zip(general, labels, strict=True)))


def _map(store: Store, view: Mapping[str, Any], found: Belief, general: str | None) -> dict[str, Any]:
    """The map of a general input, with the way its level came."""
    task, general = view["task"], general or view["problem"]["general"][0]
    of = {each["general"]: each for each in found.content["maps"]}
    if general not in of:
        raise NotFoundError(f"{general!r} is no general input. There are: {', '.join(of)}.")
    earlier = [
        each
        for belief in store.beliefs.earlier(view["id"], task)
        for each in belief.content.get("maps") or []
        if each["general"] == general
    ]
    return with_trail(of[general], earlier) if task is not None else of[general]


def _freshness(now: CampaignNow, found: Belief | None) -> dict[str, Any] | None:
    """Whether the pictures have seen all data."""
    if found is None:
        return None
    unseen = sum(each.id > found.last_observation for each in now.snapshot().counting)
    return {
        "unseen": unseen,
        "is_current": unseen == 0,
        "made_at": _iso(found.made_at),
        "pictures": sorted(name for name, content in found.content.items() if content),
    }


def _status(pending: int, observed: int, working: int) -> str:
    if working:
        return "working"
    if pending:
        return "waiting for outcomes"
    return "ready for the next" if observed else "new"


def _missing(text: str) -> Any:
    raise NotFoundError(text)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")
