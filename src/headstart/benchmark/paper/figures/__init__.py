"""The figures of the paper, by the name of the file that each is saved as, in the paper's order.

A figure a module, with a `draw` that takes the results it shows. Synthetic systems come in two variants: `fresh`, as
the paper describes them, and with the suffix `_authors`, as the authors' code ran them.

    selection   the results that a figure is drawn from
    curves      colours, medians and bands       all figures of results
    scores      panels of regression scores      regression_*, log_density_zoom
    regrets     panels of the best so far        running_best_*, latent_dimension
    posteriors  beliefs before and after a row   posterior_*

>>> list(FIGURES)[:3]
['metamodel', 'regression_synthetic', 'regression_synthetic_authors']
"""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from headstart.benchmark.paper.figures import (
    latent_dimension,
    log_density_zoom,
    metamodel,
    posterior_forrester,
    posterior_toy,
    regression_additive,
    regression_pump,
    regression_synthetic,
    running_best_measured,
    running_best_synthetic,
)
from headstart.benchmark.tables import Tables

__all__ = ["FIGURES", "Tables"]


FIGURES: dict[str, Callable[[Tables], Figure]] = {
    "metamodel": lambda tables: metamodel.draw(),
    "regression_synthetic": lambda tables: regression_synthetic.draw(tables.regression, "fresh"),
    "regression_synthetic_authors": lambda tables: regression_synthetic.draw(tables.regression, "paper"),
    "regression_pump": lambda tables: regression_pump.draw(tables.regression),
    "regression_additive": lambda tables: regression_additive.draw(tables.regression),
    "log_density_zoom": lambda tables: log_density_zoom.draw(tables.regression),
    "running_best_synthetic": lambda tables: running_best_synthetic.draw(tables.optimization, "fresh"),
    "running_best_synthetic_authors": lambda tables: running_best_synthetic.draw(tables.optimization, "paper"),
    "posterior_toy": lambda tables: posterior_toy.draw(),
    "posterior_forrester": lambda tables: posterior_forrester.draw(),
    "running_best_measured": lambda tables: running_best_measured.draw(tables.optimization),
    "latent_dimension": lambda tables: latent_dimension.draw(tables.regression, tables.optimization, "fresh"),
    "latent_dimension_authors": lambda tables: latent_dimension.draw(tables.regression, tables.optimization, "paper"),
}
