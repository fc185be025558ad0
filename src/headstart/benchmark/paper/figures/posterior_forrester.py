"""Zero-shot and one-shot posteriors on the Forrester system (paper: fig. examples:optimization:forrester:posterior).

The paper's figure shows what BGP, EGP and BEGP predict for the high-fidelity function before it has a row (top) and
after the one row that each chose first (bottom).

Ours is read like that of the toy system. The high-fidelity function is at an extreme of the system: no legacy task
rises as far at the right end, and a credible model's bands must be wide enough for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from headstart.benchmark.contenders import Contender
from headstart.benchmark.paper.figures.posteriors import CONTENDERS, draw_posteriors


def draw(contenders: Sequence[Contender] = CONTENDERS) -> Figure:
    """The tasks of the authors' code and the first seed; fits the models, which takes seconds."""
    label = "Posteriors on the Forrester system, without and with one row."
    return draw_posteriors("forrester-paper", contenders, label=label)
