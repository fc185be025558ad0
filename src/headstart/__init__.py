"""Few-shot Bayesian optimization from the data you already have.

    archive (frame) --Problem--> rows --fit--> Surrogate --suggest(task)--> next experiment
                                                  ^                              |
                                                  +-----------observe------------+

`Problem` says what each column is for, `fit` learns one surrogate of all tasks, and the `Surrogate` predicts, suggests
and observes. The model underneath, for people who live in BoTorch, is in `headstart.models`.
"""

from headstart.errors import HeadstartError
from headstart.surrogate import Surrogate, fit, load
from headstart.tasks import Problem
from headstart.version import __version__

__all__ = ["HeadstartError", "Problem", "Surrogate", "__version__", "fit", "load"]
