"""The systems experiments run on, by name.

    functions  toy and Forrester, as the paper says (`fresh`) and as the authors' code ran them (`paper`)
    tables     pump families, and the stand-ins of the paper's additive data: measured tables with a known best row

>>> system = get_system("additive")
>>> len(system.tasks)
35
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pandas as pd

from headstart.benchmark import datasets, pump
from headstart.benchmark.systems.functions import FunctionSystem
from headstart.benchmark.systems.tables import TableSystem, sampled
from headstart.benchmark.systems.trial import System, Trial
from headstart.errors import DataError, did_you_mean
from headstart.tasks import Problem

__all__ = ["FunctionSystem", "System", "TableSystem", "Trial", "get_system", "system_names"]

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


def _few_catalysts() -> pd.DataFrame:
    """The first six tasks of the additive shape, to try things out on."""
    table = datasets.additive_shape()
    return table[table["catalyst"].isin(table["catalyst"].unique()[:6])]


def _melt_pools() -> TableSystem:
    needed = [*_MELT_POOLS.inputs, _MELT_POOLS.objective]
    table = sampled(datasets.load("meltpool_geometry"), "alloy", 24, needed=needed)
    return TableSystem("meltpool", table, _MELT_POOLS)


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
