"""Few-shot Bayesian optimization from the data you already have.

    archive (frame, file) --Problem--> rows --fit--> Surrogate --suggest(task)--> next experiment
                                                        ^                              |
                                                        +-----------observe------------+

`Problem` says what each column is for, `fit` learns one surrogate of all tasks, and the `Surrogate` predicts, suggests
and observes. `optimize` runs the loop for an objective that can be computed. A `Campaign` keeps it in a database, for
weeks and from several machines; `connect` reaches one on a server (`headstart serve`). The model underneath, for people
who live in BoTorch, is in `headstart.models`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from headstart.version import __version__

if TYPE_CHECKING:
    from headstart.campaign import Campaign
    from headstart.client import connect
    from headstart.errors import HeadstartError
    from headstart.loop import Optimum, optimize
    from headstart.surrogate import Surrogate, fit, load
    from headstart.tasks import Problem, read_table

__all__ = [
    "Campaign",
    "HeadstartError",
    "Optimum",
    "Problem",
    "Surrogate",
    "__version__",
    "connect",
    "fit",
    "load",
    "optimize",
    "read_table",
]

# Imported when first asked for: the command line answers `--help` without loading torch.
_HOMES = {
    "Campaign": "headstart.campaign",
    "HeadstartError": "headstart.errors",
    "Optimum": "headstart.loop",
    "Problem": "headstart.tasks",
    "Surrogate": "headstart.surrogate",
    "connect": "headstart.client",
    "fit": "headstart.surrogate",
    "load": "headstart.surrogate",
    "optimize": "headstart.loop",
    "read_table": "headstart.tasks",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
