"""The packaged many-task tables; `data/SOURCES.md` gives the origin and licence of each.

>>> from headstart.benchmark import datasets
>>> datasets.load("pump_simulated")["family"].nunique()
6
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd

from headstart.errors import DataError

_FOLDER = files("headstart.benchmark") / "data"


def names() -> tuple[str, ...]:
    """The names that `load` accepts, in alphabetical order."""
    tables = (file.name for file in _FOLDER.iterdir() if file.name.endswith(".csv"))
    return tuple(sorted(table.removesuffix(".csv") for table in tables))


def load(name: str) -> pd.DataFrame:
    """One packaged table, one row an experiment.

    >>> load("suzuki_flow").shape
    (540, 8)
    """
    if name not in names():
        raise DataError(f"no data set is named {name!r}; choose one of: {', '.join(names())}")
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def additive_shape(seed: int = 0) -> pd.DataFrame:
    """The shape of the paper's additive data set, 35 tasks of 24 rows, cut out of `ocm_catalysts`.

    The 14 controls are never drawn: they have no active phase whose effect could be transferred.

    >>> additive_shape().groupby("catalyst").size().unique().tolist()
    [24]
    """
    table = load("ocm_catalysts")
    # The empty tube and the 12 bare supports carry no metal; WOx/SiO2 is the fourteenth control.
    bare = (table[["metal_1", "metal_2", "metal_3"]] == "none").all(axis="columns")
    table = table[~bare & (table["catalyst"] != "WOx/SiO2")]

    rng = np.random.default_rng(seed)
    tasks = rng.choice(table["catalyst"].unique().tolist(), size=35, replace=False)
    rows = table[table["catalyst"].isin(tasks)].groupby("catalyst").sample(n=24, random_state=rng)
    return rows.sort_index().reset_index(drop=True)


def adaboost_sample() -> pd.DataFrame:
    """Twenty data sets of `openml_adaboost_sample`, twenty runs each, one boosting variant; learning rates in log10.

    >>> adaboost_sample().groupby("dataset").size().unique().tolist()
    [20]
    """
    table = load("openml_adaboost_sample")
    return table.assign(log10_learning_rate=np.log10(table["learning_rate"]))


def electrolyte_sample() -> pd.DataFrame:
    """Salts in solvents with twenty measurements each, of `electrolyte_conductivity_sample`; conductivities in log10.

    >>> electrolyte_sample().groupby(["salt", "solvent_system"]).size().unique().tolist()
    [20]
    """
    table = load("electrolyte_conductivity_sample")
    return table.assign(log10_conductivity=np.log10(table["conductivity_ms_cm"]))
