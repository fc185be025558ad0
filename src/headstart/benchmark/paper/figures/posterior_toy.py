"""Zero-shot and one-shot posteriors on the toy system (paper: fig. examples:optimization:synthetic:posterior).

The paper's figure shows what BGP, EGP and BEGP predict for the current task before it has a row (top) and after the one
row that each chose first (bottom).

To read ours: the line is the mean, the bands hold 80 % and 95 % of the predicted outcomes, noise included, and the
dashed line is the truth, whose minimum is sought. The open circle is the point that the model chooses with what it
knows; below, the same point is measured. Without a row BGP predicts the same everywhere: its first choice is arbitrary.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from headstart.benchmark.contenders import Contender
from headstart.benchmark.paper.figures.posteriors import CONTENDERS, draw_posteriors


def draw(contenders: Sequence[Contender] = CONTENDERS) -> Figure:
    """The tasks of the authors' code and the first seed; fits the models, which takes seconds."""
    return draw_posteriors("toy-paper", contenders, label="Posteriors on the toy system, without and with one row.")
