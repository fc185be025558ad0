"""The figure of a validation: a line a task, what legacy data are worth to it, and how its intervals held."""

from __future__ import annotations

from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from headstart.report.style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    PAPER,
    PURPLE,
    RULE,
    SMALL,
    VERMILLION,
    drawable,
    dress,
    legend,
    new_figure,
    settled,
    text,
)
from headstart.report.words import counted, percent

# Few shots are pale inside, many are full; shapes differ too.
_LOOKS = (
    ("s", MUTED, False),
    ("o", BLUE, False),
    ("o", BLUE, True),
    ("D", GREEN, True),
    ("^", VERMILLION, True),
    ("v", PURPLE, True),
)
# Names of tasks that legacy data hurt stand out, those of unclear ones stand back.
_WORDS = {"helps": (INK, "normal"), "hurts": (VERMILLION, "bold"), "no clear difference": (MUTED, "normal")}
_BEYOND = 6.0  # nats; where gains reach farther, the axis is logarithmic from 1 on
_LONGEST, _KEPT_END = 36, 11  # of a long name the middle is left out: what tells it apart may be at either end


def trust_figure(summary: dict[str, Any]) -> Figure:
    """Tasks from the most helped to the most hurt: gains by number of shots, with their errors, and coverages."""
    tasks = sorted(summary["tasks"], key=lambda task: task["gain"], reverse=True)
    first = 0 if 0 in summary["shots"] else 1  # squares are those of no row
    looks = {shots: _LOOKS[min(place, len(_LOOKS) - 1)] for place, shots in enumerate(summary["shots"], first)}
    figure = new_figure(
        7.4,
        1.25 + max(0.23 * len(tasks), 0.7),
        label=f"What legacy data are worth in predicting {summary['objective']}, by task, and how intervals held.",
    )
    worth, held = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for axes in (worth, held):
        dress(axes)
        axes.grid(True, axis="x", color=RULE, linewidth=0.6)
        axes.set_ylim(len(tasks) - 0.4, -0.6)
    _gains(worth, tasks, looks, [shots for shots in looks if shots > 0] or list(looks))
    _coverages(held, tasks, looks, summary["interval"])
    worth.set_yticks(range(len(tasks)), [_name(task) for task in tasks], **text(size=SMALL))
    for tick, task in zip(worth.get_yticklabels(), tasks, strict=True):
        color, weight = _WORDS[task["verdict"]]
        tick.set(color=color, fontweight=weight)
    held.tick_params(labelleft=False, left=False)
    worth.tick_params(left=False)
    legend(figure, held)
    return settled(figure)


def _gains(axes: Axes, tasks: list[dict[str, Any]], looks: dict[int, Any], shown: list[int]) -> None:
    """Right of zero legacy data help, left of it they hurt."""
    axes.axvline(0.0, color=INK, linewidth=0.9, zorder=2)
    farthest = 0.0
    for place, shots in enumerate(shown):
        marker, color, is_full = looks[shots]
        lift = 0.24 * (place - 0.5 * (len(shown) - 1)) / max(len(shown) - 1, 1)
        for row, task in enumerate(tasks):
            for each in (each for each in task["shots"] if each["shots"] == shots):
                error = each["gain_error"] or 0.0
                ends = [each["gain"] - error, each["gain"] + error]
                farthest = max(farthest, *map(abs, ends))
                axes.plot(ends, [row + lift] * 2, color=color, linewidth=1.0, alpha=0.55, zorder=3)
                _mark(axes, each["gain"], row + lift, marker, color, is_full)
    if farthest > _BEYOND:
        axes.set_xscale("symlog", linthresh=1.0, linscale=0.8)
        ticks = [sign * tick for tick in (1, 3, 10, 30, 100, 300, 1000) for sign in (-1, 1) if tick <= farthest]
        axes.set_xticks([0, *sorted(ticks)], [f"{tick:g}" for tick in [0, *sorted(ticks)]])
        axes.minorticks_off()
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]))
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -0.25), max(high, 0.25))
    axes.set_xlabel("gain in log density (nats a row)", **text())
    _above(axes, 0.0, "← legacy data hurt ", "right")
    _above(axes, 0.0, " they help →", "left")


def _coverages(axes: Axes, tasks: list[dict[str, Any]], looks: dict[int, Any], promised: float) -> None:
    """The share of outcomes inside their intervals, against the share that was promised."""
    axes.axvline(promised, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)
    _above(axes, promised, f"promised {percent(promised)}", "center")
    for place, (shots, (marker, color, is_full)) in enumerate(looks.items()):
        lift = 0.24 * (place - 0.5 * (len(looks) - 1)) / max(len(looks) - 1, 1)
        named = counted(shots, "row") + " learned" if shots else "no row learned"
        for row, task in enumerate(tasks):
            for each in (each for each in task["shots"] if each["shots"] == shots):
                _mark(axes, each["coverage"], row + lift, marker, color, is_full, name=named)
                named = "_"  # a legend names it once
    axes.set_xlim(-0.04, 1.04)
    axes.set_xticks([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=None))
    axes.set_xlabel("outcomes inside their intervals (%)", **text())


def _above(axes: Axes, at: float, words: str, side: Literal["left", "center", "right"]) -> None:
    """A remark over the axes."""
    place = axes.get_xaxis_transform()
    look = text(color=MUTED, size=SMALL)
    axes.annotate(words, (at, 1.0), (0, 3), xycoords=place, textcoords="offset points", ha=side, **look)


def _mark(axes: Axes, x: float, y: float, marker: str, color: str, is_full: bool, *, name: str = "_") -> None:
    inside, rim = (color, PAPER) if is_full else (PAPER, color)
    axes.plot(
        [x],
        [y],
        marker,
        color=inside,
        markersize=5.5 if is_full else 5.0,
        markeredgecolor=rim,
        markeredgewidth=0.6 if is_full else 1.2,
        label=name,
        zorder=4,
    )


def _name(task: dict[str, Any]) -> str:
    """A task's labels; which column they are of, the reader knows."""
    name = " ".join(", ".join(task["task"].values()).split())
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - _KEPT_END - 1].rstrip()}…{name[-_KEPT_END:].lstrip()}"
    return drawable(name, longest=_LONGEST)
