"""The systems experiments run on, by name.

    functions  toy and Forrester, as the paper says (`fresh`) and as the authors' code ran them (`paper`)
    generated  families in which legacy data help little, or would mislead who trusts them
    tables     pump families, the stand-ins of the paper's additive data and others: measured tables with a known best
               row, some with several general inputs

>>> system = get_system("additive")
>>> len(system.tasks)
35
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pandas as pd

from headstart.benchmark import datasets, pump
from headstart.benchmark.systems.functions import FunctionSystem
from headstart.benchmark.systems.generated import KINDS, GeneratedSystem
from headstart.benchmark.systems.tables import TableSystem, sampled
from headstart.benchmark.systems.trial import System, Trial
from headstart.errors import DataError, did_you_mean
from headstart.tasks import Problem

__all__ = ["FunctionSystem", "GeneratedSystem", "System", "TableSystem", "Trial", "get_system", "system_names"]

_CATALYSTS = Problem(
    inputs=["temperature_c", "total_flow_ml_min", "ch4_o2_ratio", "ar_fraction"],
    general="catalyst",
    objective="c2_yield_pct",
)
_MELT_POOLS = Problem(
    inputs=["power_w", "velocity_mm_s", "beam_diameter_um", "layer_thickness_um"],
    general="alloy",
    objective="melt_pool_depth_um",
)
_DENSITY = Problem(
    inputs=[
        "laser_power_w",
        "scan_speed_mm_s",
        "hatch_spacing_mm",
        "layer_thickness_mm",
        "spot_size_mm",
        "powder_d50_um",
        "shape_factor",
    ],
    general="alloy",
    objective="relative_density_pct",
)
_PUMPS = Problem(inputs=[*pump.INPUTS], general="family", objective="efficiency")
_CATALOGUE = Problem(
    inputs=["flow_m3_day", "rated_flow_m3_day", "speed_rpm", "housing_od_mm"], general="series", objective="efficiency"
)


_SUZUKI = Problem(
    inputs=["residence_time_s", "temperature_c", "catalyst_loading_mol_pct"],
    general=["substrate_case", "ligand"],
    objective="yield_pct",
)
_COUPLING = Problem(
    inputs=["base_equivalents", "temperature_c", "residence_time_min"],
    general=["nucleophile", "precatalyst", "base"],
    objective="yield_pct",
)
_ARYLATION = Problem(
    inputs=["concentration_m", "temperature_c"], general=["ligand", "base", "solvent"], objective="yield_pct"
)
_ELECTROLYTES = Problem(
    inputs=["temperature_k", "salt_concentration", "fraction_1"],
    general=["salt", "solvent_system"],
    objective="log10_conductivity",
)
_BOOSTING = Problem(
    inputs=["log10_learning_rate", "max_depth", "n_estimators"], general="dataset", objective="accuracy"
)


def _few_catalysts() -> pd.DataFrame:
    """The first six tasks of the additive shape, to try things out on."""
    table = datasets.additive_shape()
    return table[table["catalyst"].isin(table["catalyst"].unique()[:6])]


def _melt_pools() -> TableSystem:
    needed = [*_MELT_POOLS.inputs, _MELT_POOLS.objective]
    table = sampled(datasets.load("meltpool_geometry"), "alloy", 24, needed=needed)
    return TableSystem("meltpool", table, _MELT_POOLS)


def _density() -> TableSystem:
    """Forty builds of each alloy: the whole table is too large for most methods."""
    table = sampled(datasets.load("lpbf_density"), "alloy", 40, needed=[*_DENSITY.inputs, _DENSITY.objective])
    return TableSystem("lpbf-sample", table, _DENSITY)


def _arylation() -> TableSystem:
    """A quarter of the combinations of ligand, base and solvent, each with all its nine runs."""
    table, general = datasets.load("direct_arylation"), [*_ARYLATION.general]
    some = table[general].drop_duplicates().sample(48, random_state=0)
    return TableSystem("arylation", table.merge(some, on=general), _ARYLATION)


_SYSTEMS: dict[str, Callable[[], System]] = {
    "toy-paper": lambda: FunctionSystem("toy", "paper"),
    "toy-fresh": lambda: FunctionSystem("toy", "fresh"),
    "forrester-paper": lambda: FunctionSystem("forrester", "paper"),
    "forrester-fresh": lambda: FunctionSystem("forrester", "fresh"),
    "pump": lambda: TableSystem("pump", datasets.load("pump_simulated"), _PUMPS),
    "pump-families": lambda: TableSystem("pump-families", pump.generate(pump.random_families(40, seed=0), 24), _PUMPS),
    "pump-catalogue": lambda: TableSystem("pump-catalogue", datasets.load("pump_catalogue"), _CATALOGUE),
    "additive": lambda: TableSystem("additive", datasets.additive_shape(), _CATALYSTS),
    "additive-small": lambda: TableSystem("additive-small", _few_catalysts(), _CATALYSTS),
    "catalysts": lambda: TableSystem("catalysts", datasets.load("ocm_catalysts"), _CATALYSTS),
    "meltpool": _melt_pools,
    "lpbf-density": lambda: TableSystem("lpbf-density", datasets.load("lpbf_density"), _DENSITY),
    "lpbf-sample": _density,
    "suzuki": lambda: TableSystem("suzuki", datasets.load("suzuki_flow"), _SUZUKI, least=12),
    "cn-coupling": lambda: TableSystem("cn-coupling", datasets.load("cn_coupling_flow"), _COUPLING, least=8),
    "arylation": _arylation,
    "electrolytes": lambda: TableSystem("electrolytes", datasets.electrolyte_sample(), _ELECTROLYTES),
    "adaboost": lambda: TableSystem("adaboost", datasets.adaboost_sample(), _BOOSTING),
    **{kind: partial(GeneratedSystem, kind) for kind in KINDS},
}


def system_names() -> tuple[str, ...]:
    """The names that `get_system` accepts."""
    return tuple(_SYSTEMS)


@cache
def get_system(name: str) -> System:
    """The system of that name."""
    if name not in _SYSTEMS:
        raise DataError(
            f"No system is named {name!r}: choose one of {', '.join(_SYSTEMS)}.{did_you_mean(name, _SYSTEMS)}"
        )
    return _SYSTEMS[name]()
