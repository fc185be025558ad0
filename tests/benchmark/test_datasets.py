"""The packaged tables are what `data/SOURCES.md` says they are."""

from importlib.resources import files

import pandas as pd
import pytest

from headstart.benchmark import datasets
from headstart.errors import DataError

# name: (rows, columns), levels of each general input, objectives that are never missing
DOCUMENTED = {
    "cn_coupling_flow": (
        (360, 11),
        {"nucleophile": 4, "precatalyst": 4, "base": 6},
        ["yield_pct"],
    ),
    "direct_arylation": (
        (1728, 7),
        {"ligand": 12, "base": 4, "solvent": 4},
        ["yield_pct", "cost_usd"],
    ),
    "lpbf_density": ((1570, 15), {"alloy": 6, "study": 85}, ["relative_density_pct"]),
    "meltpool_geometry": ((1770, 16), {"alloy": 25, "study": 76}, []),
    "ocm_catalysts": (
        (12708, 17),
        {"catalyst": 59},
        [
            "c2_yield_pct",
            "ch4_conversion_pct",
            "c2_selectivity_pct",
            "co_yield_pct",
            "co2_yield_pct",
        ],
    ),
    "pump_catalogue": (
        (511, 9),
        {"series": 9, "pump": 43},
        ["efficiency", "head_m_per_stage", "power_kw_per_stage"],
    ),
    "pump_simulated": (
        (190, 12),
        {"family": 6},
        ["efficiency", "head_m", "npshr_m", "shaft_power_kw"],
    ),
    "suzuki_flow": (
        (540, 8),
        {"substrate_case": 6, "precatalyst": 2, "ligand": 7},
        ["yield_pct", "turnover_number"],
    ),
}
CONTROLS = {
    *("Blank", "WOx/SiO2"),
    *(
        "Al2O3",
        "BEA",
        "BN",
        "CeO2",
        "MgO",
        "Nb2O5",
        "SiC",
        "SiCnf",
        "SiO2",
        "TiO2",
        "ZSM-5",
        "ZrO2",
    ),
}


def test_names_are_the_documented_ones() -> None:
    assert datasets.names() == tuple(DOCUMENTED)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_table_is_as_documented(name: str) -> None:
    shape, levels, objectives = DOCUMENTED[name]
    table = datasets.load(name)
    assert table.shape == shape
    assert table[list(levels)].nunique().to_dict() == levels
    assert not table[[*levels, *objectives]].isna().any(axis=None)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_sources_describe_every_table(name: str) -> None:
    sources = (files("headstart.benchmark") / "data" / "SOURCES.md").read_text(encoding="utf-8")
    rows, _ = DOCUMENTED[name][0]
    assert f"\n## {name}\n" in sources
    assert f"\n| {name} | {rows} |" in sources


def test_each_melt_pool_was_measured() -> None:
    table = datasets.load("meltpool_geometry")
    assert table[["melt_pool_depth_um", "melt_pool_width_um"]].notna().any(axis="columns").all()


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(DataError, match="'ocm'") as caught:
        datasets.load("ocm")
    for name in datasets.names():
        assert name in str(caught.value)


def test_additive_shape_is_the_papers() -> None:
    table = datasets.additive_shape()
    assert table["catalyst"].nunique() == 35
    assert (table.groupby("catalyst").size() == 24).all()
    assert not table.isna().any(axis=None)
    assert not CONTROLS & set(table["catalyst"])


def test_additive_shape_is_cut_out_of_the_table() -> None:
    whole, part = datasets.load("ocm_catalysts"), datasets.additive_shape(seed=1)
    assert list(part.columns) == list(whole.columns)
    assert len(part.merge(whole)) == len(part) == len(part.drop_duplicates())


def test_additive_shape_follows_its_seed() -> None:
    pd.testing.assert_frame_equal(datasets.additive_shape(seed=3), datasets.additive_shape(seed=3))
    assert not datasets.additive_shape(seed=3).equals(datasets.additive_shape(seed=4))


def test_the_table_has_the_fourteen_controls() -> None:
    assert len(CONTROLS) == 14
    assert set(datasets.load("ocm_catalysts")["catalyst"]) >= CONTROLS
