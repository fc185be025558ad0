"""The pump simulator obeys the laws that every pump obeys, and agrees with the packaged table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from headstart.benchmark import datasets, pump
from headstart.errors import DataError, ProblemError

FAMILIES = {family.name: family for family in pump.FAMILIES}
each_family = pytest.mark.parametrize("family", pump.FAMILIES, ids=list(FAMILIES))


def good_designs(family: pump.Family, count: int = 300) -> pd.DataFrame:
    """Designs not too near to failing: there, a small change of losses is a large one of head."""
    designs = pump.sample_designs(family, count, seed=1)
    return designs[pump.simulate(designs, family)["efficiency"] > 0.4]


# The laws


@each_family
def test_twice_the_speed_and_flow_is_four_times_the_head_and_eight_times_the_power(family: pump.Family) -> None:
    designs = good_designs(family)
    before = pump.simulate(designs, family)
    after = pump.simulate(designs, replace(family, speed=2 * family.speed, flow=2 * family.flow))
    np.testing.assert_allclose(after["head_m"] / before["head_m"], 4, rtol=0.05)
    np.testing.assert_allclose(after["npshr_m"] / before["npshr_m"], 4, rtol=0.05)
    np.testing.assert_allclose(after["shaft_power_kw"] / before["shaft_power_kw"], 8, rtol=0.05)


@each_family
def test_twice_the_size_is_four_times_the_head_and_thirty_two_times_the_power(family: pump.Family) -> None:
    designs = good_designs(family)
    larger = designs.assign(impeller_diameter_mm=2 * designs["impeller_diameter_mm"])
    larger_family = replace(family, flow=8 * family.flow, roughness=2 * family.roughness, ring_gap=2 * family.ring_gap)
    before, after = pump.simulate(designs, family), pump.simulate(larger, larger_family)
    # Oil is where the Reynolds number counts most.
    np.testing.assert_allclose(after["head_m"] / before["head_m"], 4, rtol=0.08)
    np.testing.assert_allclose(after["npshr_m"] / before["npshr_m"], 4, rtol=0.08)
    np.testing.assert_allclose(after["shaft_power_kw"] / before["shaft_power_kw"], 32, rtol=0.08)


@each_family
def test_a_larger_or_faster_pump_of_the_same_shape_is_the_better_one(family: pump.Family) -> None:
    designs = good_designs(family)
    faster = pump.simulate(designs, replace(family, speed=2 * family.speed, flow=2 * family.flow))
    assert (faster["efficiency"] - pump.simulate(designs, family)["efficiency"]).median() > 0


@each_family
def test_affinity_is_exact_where_the_reynolds_number_is_the_same(family: pump.Family) -> None:
    designs = good_designs(family)
    scaled = replace(family, speed=2 * family.speed, flow=2 * family.flow, viscosity=2 * family.viscosity)
    before, after = pump.simulate(designs, family), pump.simulate(designs, scaled)
    np.testing.assert_allclose(after["head_m"], 4 * before["head_m"], rtol=1e-6)
    np.testing.assert_allclose(after["efficiency"], before["efficiency"], rtol=1e-6)


@each_family
def test_energy_balances(family: pump.Family) -> None:
    results = pump.simulate(pump.sample_designs(family, 500, seed=2), family).dropna()
    hydraulic = 998.0 * 9.81 * family.flow * results["head_m"] / 1e3
    np.testing.assert_allclose(results["shaft_power_kw"], hydraulic / results["efficiency"], rtol=1e-12)


@each_family
@pytest.mark.parametrize("quantity", ["ring_gap", "viscosity", "roughness"])
def test_a_worse_pump_is_less_efficient(family: pump.Family, quantity: str) -> None:
    # Not all designs: near failure, a thick liquid's smaller leakage can count for more than its friction.
    designs = good_designs(family)
    before = pump.simulate(designs, family)["efficiency"]
    after = pump.simulate(designs, replace(family, **{quantity: 2 * getattr(family, quantity)}))["efficiency"]
    assert (after.fillna(0.0) < before).all()


def test_stages_add_their_heads_and_eyes_share_the_flow() -> None:
    family = FAMILIES["end_suction_mid_ns"]
    designs = good_designs(family)
    one = pump.simulate(designs, family)
    three = pump.simulate(designs, replace(family, stages=3))
    np.testing.assert_allclose(three["head_m"], 3 * one["head_m"])
    np.testing.assert_allclose(three["efficiency"], one["efficiency"])
    double = pump.simulate(designs, replace(family, eyes=2, flow=2 * family.flow))
    np.testing.assert_allclose(double["head_m"], one["head_m"])
    # Two eyes have one pair of disc faces between them.
    assert (double["efficiency"] > one["efficiency"]).all()


# The published equations


def test_slip_is_wiesners_by_hand() -> None:
    # sin 30° = 0.5 and 6^0.7 = 3.50514, so 0.98 (1 - 0.707107 / 3.50514) = 0.782299. The limit is exp(-0.68), which is
    # 0.506617; at 0.6 the correction is 1 - (0.093383 / 0.493383)³ = 0.993220.
    angle, blades = np.full(2, np.pi / 6), np.full(2, 6.0)
    slip = pump.slip_factor(angle, blades, np.array([0.45, 0.60]))
    np.testing.assert_allclose(slip, [0.782299, 0.782299 * 0.993220], rtol=1e-5)


@pytest.mark.parametrize(
    ("gap", "reynolds", "moment", "exponent"),
    [
        (0.1, 1e2, 0.628319, -1.0),
        (0.1, 1e4, 0.0293901, -0.5),
        (0.01, 1e6, 0.00545031, -0.25),
        (0.1, 1e7, 0.00322555, -0.2),
    ],
)
def test_disc_friction_has_the_four_regimes(gap: float, reynolds: float, moment: float, exponent: float) -> None:
    here, beyond = pump.disc_moment(np.array([reynolds, 1.01 * reynolds]), gap)
    np.testing.assert_allclose(here, moment, rtol=1e-5)
    np.testing.assert_allclose(np.log(beyond / here) / np.log(1.01), exponent, rtol=1e-6)


def test_friction_is_laminar_then_turbulent_without_a_jump() -> None:
    # Moody's chart: 0.0180 for a smooth pipe at Re = 1e5, 0.0379 for a fully rough one with 0.01.
    np.testing.assert_allclose(pump.friction_factor(np.array([100.0]), 0.0), [0.64])
    np.testing.assert_allclose(pump.friction_factor(np.array([1e5]), 0.0), [0.0180], rtol=0.02)
    np.testing.assert_allclose(pump.friction_factor(np.array([1e8]), 0.01), [0.0379], rtol=0.02)
    curve = pump.friction_factor(np.geomspace(10.0, 1e7, 20_000), 0.002)
    assert (np.abs(np.diff(np.log(curve))) < 1e-3).all()


@pytest.mark.parametrize(
    ("family", "best"), [*zip(pump.FAMILIES, (0.76, 0.86, 0.87, 0.86, 0.83, 0.78), strict=True)], ids=list(FAMILIES)
)
def test_best_efficiency_is_that_of_the_charts(family: pump.Family, best: float) -> None:
    efficiency = pump.simulate(pump.sample_designs(family, 2000, seed=0), family)["efficiency"]
    assert efficiency.max() == pytest.approx(best, abs=0.03)
    assert efficiency.notna().mean() >= 0.75
    assert efficiency.dropna().between(0, 1, inclusive="neither").all()


@pytest.mark.parametrize(
    ("output", "correlation", "median_error"),
    [("efficiency", 0.95, 0.015), ("head_m", 0.99, 0.01), ("npshr_m", 0.98, 0.005), ("shaft_power_kw", 0.99, 0.01)],
)
@each_family
def test_packaged_table_is_reproduced(
    family: pump.Family, output: str, correlation: float, median_error: float
) -> None:
    table = datasets.load("pump_simulated")
    table = table[table["family"] == family.name]
    ours, theirs = pump.simulate(table, family)[output], table[output]
    assert spearmanr(ours, theirs).statistic > correlation
    assert (ours / theirs - 1).abs().median() < median_error


# Tables in and out


def test_designs_are_simulated_independently() -> None:
    family = FAMILIES["process_oil"]
    designs = pump.sample_designs(family, 30, seed=4)
    together = pump.simulate(designs, family)
    alone = pd.concat([pump.simulate(designs.iloc[[row]], family) for row in range(len(designs))])
    pd.testing.assert_frame_equal(together, alone, rtol=1e-12)


def test_a_table_may_have_other_columns_and_any_order_and_index() -> None:
    family = FAMILIES["process_oil"]
    designs = pump.sample_designs(family, 5, seed=4)
    shuffled = designs[designs.columns[::-1]].assign(remark="x").set_axis(list("abcde"))
    results = pump.simulate(shuffled, family)
    assert results.index.tolist() == list("abcde")
    np.testing.assert_array_equal(results, pump.simulate(designs.to_numpy(dtype=float), family))


def test_no_designs_have_no_results() -> None:
    assert pump.simulate(pump.sample_designs(pump.FAMILIES[0], 0, seed=0), pump.FAMILIES[0]).shape == (0, 4)


def test_a_design_without_head_or_passage_is_infeasible() -> None:
    family = FAMILIES["end_suction_mid_ns"]
    designs = good_designs(family).head(2)
    small = designs.assign(impeller_diameter_mm=60.0)
    choked = designs.assign(blades=200)
    assert pump.simulate(pd.concat([small, choked]), family).isna().all(axis=None)


def test_missing_column_is_named() -> None:
    designs = pump.sample_designs(pump.FAMILIES[0], 3, seed=0).rename(columns={"blades": "blade"})
    with pytest.raises(DataError, match=r"no column 'blades'. Did you mean 'blade'\?"):
        pump.simulate(designs, pump.FAMILIES[0])


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("blades", np.nan, "finite numbers.*an empty cell in row 1"),
        ("impeller_diameter_mm", -190.0, "above 0, but 1 of its 3 rows does not: -190.0 in row 1.*95 to 450"),
        ("throat_area_factor", 0.0, "above 0, but"),
        ("outlet_blade_angle_deg", 90.0, "above 0 and below 90, but"),
        ("inlet_to_outlet_diameter", 1.5, "above 0 and below 1, but"),
    ],
)
def test_bad_cell_is_named_with_its_fix(column: str, value: float, words: str) -> None:
    designs = pump.sample_designs(pump.FAMILIES[0], 3, seed=0).astype(float)
    designs.loc[1, column] = value
    with pytest.raises(DataError, match=f"Column '{column}' must .*{words}"):
        pump.simulate(designs, pump.FAMILIES[0])


def test_unknown_collector_lists_the_known_ones() -> None:
    with pytest.raises(ProblemError, match="collector='vane' is not known; choose one of: volute, vaned"):
        replace(pump.FAMILIES[0], collector="vane")


# What is drawn


@each_family
def test_sampled_designs_lie_in_the_bounds_and_grow_by_appending(family: pump.Family) -> None:
    designs = pump.sample_designs(family, 200, seed=5)
    low, high = np.array(list(family.bounds.values())).T
    assert list(designs.columns) == list(family.bounds) == list(pump.INPUTS)
    assert ((designs >= low) & (designs <= high)).all(axis=None)
    assert sorted(designs["blades"].unique()) == [4, 5, 6, 7, 8, 9]
    pd.testing.assert_frame_equal(pump.sample_designs(family, 50, seed=5), designs.head(50))
    assert not pump.sample_designs(family, 200, seed=6).equals(designs)


def test_inputs_span_those_of_all_families() -> None:
    diameters = [family.bounds["impeller_diameter_mm"] for family in pump.FAMILIES]
    lows, highs = zip(*diameters, strict=True)
    assert pump.INPUTS["impeller_diameter_mm"] == (min(lows), max(highs))


def test_generated_table_has_the_form_of_the_packaged_one() -> None:
    ours, theirs = pump.generate(), datasets.load("pump_simulated")
    assert list(ours.columns) == list(theirs.columns)
    assert ours.groupby("family", sort=False).size().to_dict() == theirs.groupby("family", sort=False).size().to_dict()
    assert ours["blades"].dtype == theirs["blades"].dtype
    assert not ours.isna().any(axis=None)


def test_generated_table_follows_its_seed() -> None:
    pd.testing.assert_frame_equal(pump.generate(seed=3), pump.generate(seed=3))
    assert not pump.generate(seed=3).equals(pump.generate(seed=4))


def test_a_familys_rows_do_not_depend_on_the_others() -> None:
    first, second = pump.random_families(2, seed=0)
    both = pump.generate([first, second], 12)
    alone = pump.generate([second], 12)
    pd.testing.assert_frame_equal(both[both["family"] == second.name].reset_index(drop=True), alone)


def test_families_and_rows_must_match() -> None:
    with pytest.raises(DataError, match=r"rows=\(1, 2\) for 6 families; give one number for each"):
        pump.generate(rows=(1, 2))


def test_a_family_without_feasible_designs_is_named() -> None:
    hopeless = replace(pump.FAMILIES[1], name="hopeless", diameters=(0.05, 0.06))
    with pytest.raises(DataError, match="0 of 2000 designs of 'hopeless' are feasible, not 10"):
        pump.generate([hopeless], 10)


def test_random_families_are_mostly_feasible_and_credible() -> None:
    families = pump.random_families(50, seed=0)
    assert len(set(families)) == len({family.name for family in families}) == 50
    assert {family.collector for family in families} == {"volute", "vaned"}
    for family in families:
        efficiency = pump.simulate(pump.sample_designs(family, 200, seed=0), family)["efficiency"]
        assert efficiency.notna().mean() >= 0.5
        assert 0.55 < efficiency.max() < 0.92


def test_random_families_are_prefix_stable_and_follow_their_seed() -> None:
    families = pump.random_families(20, seed=1)
    assert pump.random_families(7, seed=1) == families[:7]
    assert not set(pump.random_families(20, seed=2)) & set(families)
    assert pump.random_families(0, seed=1) == ()
