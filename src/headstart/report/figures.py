"""One function a figure: the dict of the summary of the same name in, a matplotlib Figure out.

Shape and place say what colour says, so the figures can be read in grey.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.ticker import MaxNLocator

from headstart.report.labels import place_labels
from headstart.report.style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    PAPER,
    RULE,
    SKY,
    SMALL,
    VERMILLION,
    drawable,
    dress,
    fonts,
    legend,
    new_figure,
    settled,
    text,
)
from headstart.report.words import number, percent
from headstart.shapes import Float

_MANY = 12  # of more levels, only the current one and the nearest get a label and an ellipse
_OUTERMOST = 6  # which stand in for the nearest where there is no current one


def convergence(summary: dict[str, Any]) -> Figure:
    """The best so far as steps, outcomes as points, and behind each the interval that was predicted for it."""
    done, pending = summary["evaluations"], summary["pending"]
    figure = new_figure(
        5.2, 3.1, label=f"Outcomes and best so far of {summary['objective']}, evaluation by evaluation."
    )
    axes = figure.add_subplot()
    axes.use_sticky_edges = False  # bars may end above the axis
    dress(axes, x="evaluation", y=summary["objective"])
    promised = percent(summary["interval"])
    judged = [each for each in done if each["mean"] is not None]
    _intervals(axes, [each["evaluation"] for each in judged], judged, color=SKY, name=f"{promised} interval")
    ahead = range(len(done) + 1, len(done) + len(pending) + 1)
    _intervals(axes, list(ahead), pending, color=GREEN, name="pending", hollow=True)
    if done:
        at = [each["evaluation"] for each in done]
        steps = [each["best"] for each in done]
        if summary["start"] is not None:
            at, steps = [0, *at], [summary["start"], *steps]
        at, steps = [*at, len(done) + 0.4], [*steps, steps[-1]]
        axes.step(at, steps, where="post", color=BLUE, linewidth=1.6, label="best so far", zorder=3)
        outcomes = [each["outcome"] for each in done]
        places = [each["evaluation"] for each in done]
        axes.plot(places, outcomes, "o", color=INK, markersize=4.5, markeredgecolor=PAPER, label="measured", zorder=4)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    axes.set_xlim(0.4 if summary["start"] is None else -0.3, max(len(done) + len(pending), 1) + 0.6)
    legend(figure, axes)
    return settled(figure)


def slices(summary: dict[str, Any], *, columns: int = 3, with_legend: bool = True) -> Figure:
    """Small multiples, one an input, on one scale: the predicted mean and its band, with what was measured.

    A summary with some of its `inputs` left out gives a figure of the others on the same scale.
    """
    inputs = summary["inputs"]
    rows = math.ceil(len(inputs) / columns)
    columns = math.ceil(len(inputs) / rows)
    names = ", ".join(each["name"] for each in inputs)
    figure = new_figure(
        2.5 * columns + 0.4, 2.3 * rows, label=f"Predicted {summary['objective']} along {names}, with its interval."
    )
    low, high = summary["range"]
    room = 0.06 * ((high - low) or abs(high) or 1.0)
    for place, each in enumerate(inputs):
        axes = figure.add_subplot(rows, columns, place + 1)
        bounds = f"{number(each['low'])} to {number(each['high'])}"
        dress(axes, x=each["name"], y=summary["objective"] if place % columns == 0 else "")
        axes.set_xlabel(f"{drawable(each['name'], longest=30)}\n{bounds}", **text(size=8.5))
        axes.set_ylim(low - room, high + room)
        axes.tick_params(labelleft=place % columns == 0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
        _slice(axes, each, summary)
    if with_legend:
        legend(figure, figure.axes[0])
    return settled(figure)


def surface(summary: dict[str, Any]) -> Figure:
    """The predicted mean over two inputs and, beside it, how uncertain it is, with what was measured.

    It draws the first of the summary's `pairs`; the colours are those of all pairs.
    """
    each, objective = summary["pairs"][0], summary["objective"]
    label = f"Predicted {objective} over {each['x_name']} and {each['y_name']}, and its uncertainty."
    figure = new_figure(7.2, 3.2, label=label)
    panels = (("mean", "range", "viridis", f"expected {objective}"), ("sd", "sd_range", "cividis", "uncertainty (sd)"))
    for place, (name, span, colors, title) in enumerate(panels):
        axes = figure.add_subplot(1, 2, place + 1)
        dress(axes, x=each["x_name"], y=each["y_name"] if place == 0 else "")
        axes.tick_params(labelleft=place == 0)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
        _surface(axes, each, np.array(each[name]), summary[span], colors, title)
        _points_on_surface(axes, each, summary["anchor"])
    legend(figure, figure.axes[0])
    return settled(figure)


def embedding_map(summary: dict[str, Any]) -> Figure:
    """The levels of a general input, near each other if they behave alike, each with its uncertainty as an ellipse.

    With a `trail`, hollow diamonds lead to where the task's level is now.
    """
    levels, general = summary["levels"], summary["general"]
    figure = new_figure(4.2, 3.5, label=f"Map of the levels of {general}: near ones are believed to behave alike.")
    axes = figure.add_subplot()
    axes.set_facecolor("none")
    axes.grid(False)
    axes.tick_params(bottom=False, left=False, labelbottom=False, labelleft=False)
    for spine in axes.spines.values():
        spine.set(edgecolor=RULE, linewidth=0.8)
    axes.set_aspect("equal", adjustable="datalim")
    shares = [percent(share) for share in summary["explained"]]
    axes.set_xlabel(f"main direction ({shares[0]} of the differences)", **text(color=MUTED, size=8.0))
    axes.set_ylabel(f"second direction ({shares[1]})", **text(color=MUTED, size=8.0))

    points = np.array([[each["x"], each["y"]] for each in levels])
    current = [] if summary["label"] is None else [summary["label"]]
    outermost = [levels[place]["label"] for place in np.argsort(-np.linalg.norm(points, axis=1), kind="stable")]
    near = [each["label"] for each in summary["nearest"]] or outermost[:_OUTERMOST]
    radius = math.sqrt(-2 * math.log(1 - summary["interval"]))  # holds that share of a two-dimensional Gaussian
    for each in levels:
        strong = each["is_current"] or each["label"] in near
        color = VERMILLION if each["is_current"] else BLUE if strong else MUTED
        marker, size = ("D", 6.5) if each["is_current"] else ("o", 5.0 if strong else 3.5)
        axes.plot(each["x"], each["y"], marker, color=color, markersize=size, markeredgecolor=PAPER, zorder=5)
        if len(levels) > _MANY and not strong:
            continue
        ellipse = _ellipse(each, radius)
        ellipse.set(
            facecolor=to_rgba(color, 0.14) if each["is_current"] else "none",
            edgecolor=to_rgba(color, 0.8 if strong else 0.3),
            linewidth=1.3 if each["is_current"] else 0.8,
            linestyle="-" if each["rows"] else (0, (4, 3)),
            zorder=3 if each["is_current"] else 2,
        )
        axes.add_patch(ellipse)
    _trail(axes, summary)
    axes.autoscale_view()
    axes.margins(0.04)
    settled(figure)  # labels need to know where the points end up

    places = {each["label"]: place for place, each in enumerate(levels)}
    order = dict.fromkeys([*current, *near, *(outermost if len(levels) <= _MANY else [])])
    place_labels(figure, axes, points, [(places[label], label, label in current) for label in order])
    return figure


def honesty(summary: dict[str, Any]) -> Figure:
    """Predicted against observed, with the promised intervals: those that hold cross the diagonal."""
    rows = summary["predictions"]
    figure = new_figure(3.9, 3.7, label=f"Predicted against observed {summary['objective']}, with the intervals.")
    axes = figure.add_subplot()
    dress(axes, x=f"observed {summary['objective']}", y="predicted before")
    seen = [row[name] for row in rows for name in ("outcome", "lower", "upper")] or [0.0, 1.0]
    room = 0.05 * ((max(seen) - min(seen)) or abs(max(seen)) or 1.0)
    edges = (min(seen) - room, max(seen) + room)
    axes.plot(edges, edges, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), label="prediction = outcome", zorder=1)
    kinds = ((True, BLUE, "o", "inside its interval"), (False, VERMILLION, "X", "outside"))
    for inside, color, marker, name in kinds:
        kind = [row for row in rows if row["inside"] is inside]
        if kind:
            at = [row["outcome"] for row in kind]
            axes.vlines(at, *_edges(kind), color=color, alpha=0.45, linewidth=1.6, zorder=2)
            means = [row["mean"] for row in kind]
            axes.plot(at, means, marker, color=color, markersize=6, markeredgecolor=PAPER, label=name, zorder=3)
    axes.set(xlim=edges, ylim=edges, aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6))
    legend(figure, axes)
    return settled(figure)


def _intervals(
    axes: Axes, places: Sequence[float], rows: Sequence[dict[str, Any]], *, color: str, name: str, hollow: bool = False
) -> None:
    """Wide pale bars with a tick at the mean, behind what was measured."""
    if not rows:
        return
    lower, upper = _edges(rows)
    axes.bar(
        places,
        np.subtract(upper, lower),
        bottom=lower,
        width=0.5,
        color="none" if hollow else to_rgba(color, 0.35),
        edgecolor=color if hollow else "none",
        linewidth=1.0,
        linestyle=(0, (3, 2)) if hollow else "-",
        label=name,
        zorder=2,
    )
    means = [row["mean"] for row in rows]
    axes.hlines(means, np.subtract(places, 0.25), np.add(places, 0.25), color=color, linewidth=1.4, zorder=2)


def _slice(axes: Axes, each: dict[str, Any], summary: dict[str, Any]) -> None:
    anchor, promised = summary["anchor"], percent(summary["interval"])
    band = axes.fill_between(each["x"], each["lower"], each["upper"], label=f"{promised} interval", zorder=2)
    band.set(color=SKY, alpha=0.28, linewidth=0)
    dots = "." if each["is_stepped"] else ""
    axes.plot(each["x"], each["mean"], color=BLUE, linewidth=1.6, marker=dots, label="expected", zorder=3)
    at = anchor["inputs"][each["name"]]
    axes.axvline(at, color=VERMILLION, linewidth=1.0, linestyle=(0, (4, 3)), label=anchor["is"], zorder=1)
    measured = each["measured"]
    if measured["x"]:
        colors = [to_rgba(INK, alpha) for alpha in _strength(measured["distance"])]
        axes.scatter(measured["x"], measured["outcome"], s=18, c=colors, linewidths=0, label="measured", zorder=4)
    if anchor["outcome"] is not None:
        axes.plot(at, anchor["outcome"], "D", color=VERMILLION, markersize=5.5, markeredgecolor=PAPER, zorder=5)


def _surface(
    axes: Axes, each: dict[str, Any], values: Float[np.ndarray, "y x"], span: list[float], colors: str, title: str
) -> None:
    """Filled contours on the scale of all pairs, thin lines over them, and the scale at the side."""
    low, high = span
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # a flat surface, which still needs a scale
        room = 0.5 * (abs(high) or 1.0)
        low, high = low - room, high + room
    ticks = MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    fine = np.linspace(ticks[0], ticks[-1], 4 * (len(ticks) - 1) + 1)
    filled = axes.contourf(each["x"], each["y"], values, levels=fine, cmap=colors, vmin=low, vmax=high, zorder=1)
    lines = [tick for tick in ticks if values.min() < tick < values.max()]
    if lines:
        axes.contour(each["x"], each["y"], values, levels=lines, colors=PAPER, linewidths=0.6, alpha=0.7, zorder=2)
    bar = axes.figure.colorbar(filled, ax=axes, ticks=ticks, pad=0.02, aspect=28)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelcolor=MUTED, labelsize=SMALL, labelfontfamily=fonts()[0])
    bar.set_label(drawable(title), **text(size=SMALL))


def _points_on_surface(axes: Axes, each: dict[str, Any], anchor: dict[str, Any]) -> None:
    measured = each["measured"]
    if measured["x"]:
        strength = _strength(measured["distance"])
        colors, rims = ([to_rgba(color, alpha) for alpha in strength] for color in (INK, PAPER))
        axes.scatter(measured["x"], measured["y"], s=22, c=colors, edgecolors=rims, zorder=4)
        axes.plot(
            [], [], "o", color=INK, markersize=4.5, label="measured"
        )  # for the legend, whatever the first one's strength
    at = [anchor["inputs"][each[name]] for name in ("x_name", "y_name")]
    axes.plot(*at, "D", color=VERMILLION, markersize=6, markeredgecolor=PAPER, label=anchor["is"], zorder=5)
    low, high = (np.array([each[name][end] for name in ("x", "y")]) for end in (0, -1))
    low, high = np.minimum(low, at), np.maximum(high, at)  # half a mark at the edge is hard to see
    room = 0.03 * (high - low)
    axes.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))


def _strength(distance: Sequence[float]) -> Float[np.ndarray, " n"]:
    """How opaque points are: the farther from what is drawn, the paler, since they say less about it."""
    return 0.2 + 0.8 * np.clip(1 - 2 * np.array(distance), 0, 1)


def _trail(axes: Axes, summary: dict[str, Any]) -> None:
    """Small hollow diamonds where the task's level was, joined by a line to where it is."""
    steps = [(step["x"], step["y"]) for step in summary.get("trail", [])]
    if not steps:
        return
    now = [(each["x"], each["y"]) for each in summary["levels"] if each["is_current"]]
    axes.plot(*zip(*steps, *now, strict=True), color=VERMILLION, linewidth=0.8, zorder=3)
    axes.plot(*zip(*steps, strict=True), "D", color=PAPER, markeredgecolor=VERMILLION, markersize=4, zorder=4)


def _edges(rows: Sequence[dict[str, Any]]) -> tuple[list[float], list[float]]:
    return [row["lower"] for row in rows], [row["upper"] for row in rows]


def _ellipse(level: dict[str, Any], radius: float) -> Ellipse:
    """The contour of a level's Gaussian at that Mahalanobis distance."""
    variances, axes = np.linalg.eigh(np.array(level["covariance"]))
    width, height = 2 * radius * np.sqrt(np.clip(variances[::-1], 0, None))
    angle = math.degrees(math.atan2(axes[1, 1], axes[0, 1]))
    return Ellipse((level["x"], level["y"]), width, height, angle=angle)
