"""One look for all figures: Okabe and Ito's colours, which the colour-blind can tell apart, and little ink.

Nothing is set globally: matplotlib's settings belong to the user, and a web server draws in several threads. So every
colour, size and font is given to each artist.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK = "#1f2933"
MUTED = "#5b6774"
RULE = "#d5dbe1"
PAPER = "#ffffff"
BLUE = "#0072b2"
SKY = "#56b4e9"
GREEN = "#009e73"
VERMILLION = "#d55e00"
PURPLE = "#a3568a"  # Okabe and Ito's, darker: it is also written in

SIZE = 9.0
SMALL = 8.0

# DejaVu comes with matplotlib. The others, where they are installed, draw what it lacks.
_FAMILIES = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "PingFang SC",
    "Hiragino Sans",
    "Arial Unicode MS",
    "WenQuanYi Zen Hei",
)


def new_figure(width: float, height: float, *, label: str) -> Figure:
    """An empty figure of that size in inches, unknown to pyplot; its label is for those who cannot see it."""
    figure = Figure(figsize=(width, height), facecolor=PAPER, edgecolor="none", layout="constrained")
    FigureCanvasAgg(figure)
    figure.set_label(label)
    return figure


def settled(figure: Figure) -> Figure:
    """The figure with its layout done once and for all: drawn again, in whatever format, nothing moves."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def dress(axes: Axes, *, x: str = "", y: str = "") -> None:
    """Axes with names, two thin spines and a faint grid for reading off values."""
    axes.set_facecolor("none")
    axes.set_axisbelow(True)
    axes.grid(False)
    axes.grid(True, axis="y", color=RULE, linewidth=0.6, linestyle="-")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_edgecolor(RULE)
        spine.set_linewidth(0.8)
    axes.tick_params(
        which="both",
        direction="out",
        length=3,
        color=RULE,
        labelcolor=MUTED,
        labelsize=SMALL,
        labelfontfamily=fonts()[0],
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set(color=MUTED, fontsize=SMALL)
    axes.set_xlabel(drawable(x), **text())
    axes.set_ylabel(drawable(y), **text())


def legend(figure: Figure, axes: Axes, *, columns: int | None = None) -> None:
    """What the axes hold, in a line above them, or in so many columns, without a box."""
    handles, names = axes.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles,
            names,
            loc="outside upper left",
            ncols=columns or len(handles),
            frameon=False,
            labelcolor=INK,
            prop={"family": fonts(), "size": SMALL},
            columnspacing=1.2,
            handlelength=1.3,
            handletextpad=0.5,
            borderpad=0.1,
        )


def text(*, color: str = INK, size: float = SIZE) -> dict[str, Any]:
    """How text is written; a dollar sign in a label is a dollar sign."""
    return {"color": color, "fontsize": size, "family": fonts(), "parse_math": False}


@lru_cache(maxsize=1)
def fonts() -> list[str]:
    """The families that are there."""
    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    return [family for family in _FAMILIES if family in installed]


@lru_cache(maxsize=1)
def _characters() -> frozenset[int]:
    files = (font_manager.findfont(family) for family in fonts())
    return frozenset(code for file in files for code in font_manager.get_font(file).get_charmap())


def drawable(label: str, *, longest: int = 40) -> str:
    """A label as a figure can show it: on one line, not too long, and a box for what no font here can draw.

    >>> drawable("a\\nb"), drawable("x" * 50, longest=5)
    ('a b', 'xxxx…')
    """
    line = " ".join(label.split())
    if len(line) > longest:
        line = line[: longest - 1].rstrip() + "…"
    return "".join(character if ord(character) in _characters() else "□" for character in line)
