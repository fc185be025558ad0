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
    "electrolyte_conductivity_sample": (
        (280, 11),
        {"salt": 4, "solvent_system": 8, "study": 11},
        ["conductivity_ms_cm"],
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
    "openml_adaboost_sample": ((400, 7), {"dataset": 20, "imputation": 3}, ["accuracy"]),
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


def test_the_electrolytes_are_pairs_with_twenty_different_measurements() -> None:
    table = datasets.electrolyte_sample()
    pair, inputs = ["salt", "solvent_system"], ["temperature_k", "salt_concentration", "fraction_1"]
    assert table.groupby(pair).size().tolist() == [20] * 14
    assert not table.isna().any(axis=None)
    assert not table.duplicated([*pair, *inputs]).any()
    assert table[["concentration_unit", "fraction_basis"]].drop_duplicates().to_numpy().tolist() == [["mol/kg", "mass"]]
    # At most two solvents, so one fraction tells all; of a pure one it is the whole.
    assert (table["fraction_1"] + table["fraction_2"] == 1).all()
    assert (table["fraction_3"] == 0).all()
    solvents = table["solvent_system"].str.split("+")
    assert set(solvents.str.len()) == {1, 2}
    assert (table.loc[solvents.str.len() == 1, "fraction_1"] == 1).all()
    assert all(names == sorted(names) for names in solvents)
    pd.testing.assert_series_equal(
        10 ** table["log10_conductivity"], table["conductivity_ms_cm"], check_names=False, rtol=1e-12
    )


def test_the_boosting_runs_are_twenty_a_data_set_and_of_one_variant() -> None:
    table = datasets.adaboost_sample()
    assert table.groupby("dataset").size().tolist() == [20] * 20
    assert not table.isna().any(axis=None)
    assert not table.duplicated(["dataset", "learning_rate", "max_depth", "n_estimators"]).any()
    assert set(table["boosting_variant"]) == {"SAMME.R"}
    assert table["learning_rate"].between(0.01, 2).all()
    assert table["max_depth"].between(1, 10).all()
    assert table["n_estimators"].between(50, 500).all()
    assert table["accuracy"].between(0, 1).all()
    assert (table.groupby("dataset")["accuracy"].nunique() > 1).all()
    pd.testing.assert_series_equal(
        10 ** table["log10_learning_rate"], table["learning_rate"], check_names=False, rtol=1e-12
    )


@pytest.mark.parametrize("name", ["electrolyte_conductivity_sample", "openml_adaboost_sample"])
def test_sampled_rows_are_in_the_order_of_their_tasks(name: str) -> None:
    table = datasets.load(name)
    task = table[["salt", "solvent_system"] if "salt" in table else ["dataset"]].agg(" ".join, axis="columns")
    assert (task != task.shift()).sum() == task.nunique()
