"""WHAT WE SHOW: summaries and figures of a campaign, shared by the command line and the web.

history     every experiment as a plain record
summaries   overview, convergence, honesty: what happened
responses   slices: what is believed of one task's response
pairs       surfaces: the same over two inputs at once
latents     embedding_map: which tasks are believed to be alike
trail       with_trail: how the task moved over that map
rows        rows_of: what a figure shows, as a table
transfer    trust: how far legacy data can be trusted with a new task; transfer_figure draws it
figures     one function a summary, a figure each
svg         figures as text and files
page        all of it in one HTML file

A summary is a dict that JSON takes; the figure of the same name draws it:

    figures.convergence(convergence(campaign, task))
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headstart.report import figures
    from headstart.report.history import experiments
    from headstart.report.latents import embedding_map
    from headstart.report.page import html_report, write_report
    from headstart.report.pairs import surfaces
    from headstart.report.responses import slices
    from headstart.report.rows import rows_of
    from headstart.report.summaries import convergence, honesty, overview
    from headstart.report.svg import as_svg, save
    from headstart.report.trail import with_trail
    from headstart.report.transfer import trust, trust_in_words
    from headstart.report.transfer_figure import trust_figure

__all__ = [
    "as_svg",
    "convergence",
    "embedding_map",
    "experiments",
    "figures",
    "honesty",
    "html_report",
    "overview",
    "rows_of",
    "save",
    "slices",
    "surfaces",
    "trust",
    "trust_figure",
    "trust_in_words",
    "with_trail",
    "write_report",
]

# Imported when first asked for: counting experiments needs neither matplotlib nor torch.
_HOMES = {
    "as_svg": "svg",
    "convergence": "summaries",
    "embedding_map": "latents",
    "experiments": "history",
    "honesty": "summaries",
    "html_report": "page",
    "overview": "summaries",
    "rows_of": "rows",
    "save": "svg",
    "slices": "responses",
    "surfaces": "pairs",
    "trust": "transfer",
    "trust_figure": "transfer_figure",
    "trust_in_words": "transfer",
    "with_trail": "trail",
    "write_report": "page",
}


def __getattr__(name: str) -> object:
    if name == "figures":
        return import_module("headstart.report.figures")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"headstart.report.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
