"""The report of a campaign: one HTML file that needs nothing else, neither scripts nor a network."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from headstart.campaign import Campaign
from headstart.errors import ProblemError, did_you_mean
from headstart.persistence import write_file
from headstart.report import figures, style, words
from headstart.report.history import experiments, task_labels
from headstart.report.latents import embedding_map
from headstart.report.responses import slices
from headstart.report.summaries import convergence, honesty, overview
from headstart.report.svg import as_svg
from headstart.tasks import Task
from headstart.version import __version__

# Colours that the page's style sheet sets, so that figures follow it into the dark.
_THEMED = {
    style.INK: "ink",
    style.MUTED: "muted",
    style.RULE: "rule",
    style.PAPER: "paper",
    style.BLUE: "blue",
    style.SKY: "sky",
    style.GREEN: "green",
    style.VERMILLION: "vermillion",
}
_COLOUR = re.compile("|".join(_THEMED))
_NAMED_TASKS = 20


def html_report(campaign: Campaign, task: Task | None = None) -> str:
    """The report as HTML text: the same text as long as nothing new is stored.

    Args:
        campaign: what to report on; its surrogate is brought up to date first.
        task: the label of each general input; the task with the latest experiment when left out.
    """
    campaign.surrogate()  # also judges experiments that nobody suggested
    glance = overview(campaign)
    labels = _chosen(campaign, glance, task)
    held = honesty(campaign)
    context: dict[str, Any] = {
        "overview": glance,
        "task": labels,
        "experiments": experiments(campaign),
        "honesty": held,
        "honesty_figure": _inline(figures.honesty(held)) if held["count"] else None,
        "maps": [_map(campaign, name, labels) for name in campaign.problem.general],
        "convergence": None,
        "slices": None,
        "style": Markup((files("headstart.report") / "report.css").read_text(encoding="utf-8")),
        "version": __version__,
    }
    if labels is not None:
        entry = next(each for each in glance["current"] + glance["tasks"] if each["task"] == labels)
        context["entry"] = entry
        course = convergence(campaign, labels)
        context["convergence"] = course
        if course["evaluations"] or course["pending"]:
            context["convergence_figure"] = _inline(figures.convergence(course))
        context["slices"] = response = slices(campaign, labels)
        # A figure each, so that they stand beside or below each other as the screen allows.
        context["slice_figures"] = [
            _inline(figures.slices({**response, "inputs": [each]}, with_legend=False)) for each in response["inputs"]
        ]
    return _template().render(context)


def write_report(campaign: Campaign, path: str | Path, task: Task | None = None) -> None:
    """Write the report to a file, whole or not at all."""
    write_file(path, html_report(campaign, task).encode())


def _chosen(campaign: Campaign, glance: dict[str, Any], task: Task | None) -> dict[str, str] | None:
    """The task to report on: one that has experiments or rows; None if none was given and nothing has happened."""
    known = [each["task"] for each in glance["tasks"]]
    if task is None:
        return glance["current"][0]["task"] if glance["current"] else None
    labels = task_labels(campaign.problem, task)
    if labels not in known:
        names = [words.listed(each) for each in known]
        shown = "; ".join(names[:_NAMED_TASKS]) + ("; ..." if len(names) > _NAMED_TASKS else "")
        raise ProblemError(
            f"There is nothing to report on {words.listed(labels)}.{did_you_mean(words.listed(labels), names)} "
            f"Ask for a suggestion first, or choose a task of this campaign: {shown}."
        )
    return labels


def _map(campaign: Campaign, general: str, labels: dict[str, str] | None) -> dict[str, Any]:
    summary = embedding_map(campaign, general, labels)
    current = [each for each in summary["levels"] if each["is_current"]]
    is_new = bool(current) and current[0]["rows"] == 0
    return {**summary, "figure": _inline(figures.embedding_map(summary)), "is_new": is_new}


def _inline(figure: Any) -> Markup:
    """A figure inside the page, in the page's colours. Labels in it were escaped when it was drawn."""
    return Markup(_COLOUR.sub(lambda match: f"var(--{_THEMED[match[0]]})", as_svg(figure)))


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "number": words.number,
        "percent": words.percent,
        "listed": words.listed,
        "moment": words.moment,
        "counted": words.counted,
    }
    environment.globals |= {"honesty_in_words": words.honesty_in_words, "errors_in_words": words.errors_in_words}
    return environment.from_string((files("headstart.report") / "report.html.j2").read_text(encoding="utf-8"))
