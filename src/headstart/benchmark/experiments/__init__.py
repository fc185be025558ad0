"""The two kinds of experiment. Each runs a batch of trials in step, so that their models can be fitted together."""

from headstart.benchmark.experiments.optimization import Optimization
from headstart.benchmark.experiments.regression import Regression

__all__ = ["Optimization", "Regression"]
