"""Slips of units and decimal points are warned of, and stop nothing."""

import warnings

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import DataWarning
from headstart.tasks import far_outcomes, infer_roles

ARCHIVE = pd.DataFrame(
    {
        "machine": np.repeat(["M1", "M2", "M3"], 4),
        "pressure": np.tile([2.1, 4.0, 6.0, 7.9], 3),
        "strength": np.linspace(64.0, 82.0, 12),
    }
)


def fitted(low: float, high: float, **options) -> hs.Surrogate:
    problem = hs.Problem(inputs={"pressure": (low, high)}, general=["machine"], objective="strength")
    return hs.fit(ARCHIVE, problem, seed=0, kernel="rbf", inference="lbfgs", **options)


@pytest.mark.parametrize(("low", "high"), [(20, 80), (8, 80), (0.2, 0.8), (0.2, 2)])
def test_bounds_that_hold_no_row(low, high):
    expected = rf"No row lies inside the bounds of 'pressure': they are {low:g} to {high:g}.*2\.1 to 7\.9"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fitted(low, high)
    assert any(pd.Series([str(each.message) for each in seen]).str.contains(expected))
    assert {each.category for each in seen} == {DataWarning}


@pytest.mark.parametrize("bounds", [(2.1, 7.9), (7, 12), (0, 100)])
def test_bounds_that_hold_one_are_as_they_are(bounds):
    fitted(*bounds)


def test_candidates_outside_of_the_bounds_are_ranked_with_a_warning():
    surrogate = fitted(2, 8)
    listed = pd.DataFrame({"pressure": [3.0, 9.0, 5.0, 1.0]})
    with pytest.warns(
        DataWarning, match=r"2 candidates lie outside of the bounds, the first is row 1: 'pressure' is 9"
    ):
        chosen = surrogate.suggest({"machine": "new"}, candidates=listed, n=4)
    assert sorted(chosen.index) == [0, 1, 2, 3]
    surrogate.suggest({"machine": "new"}, candidates=listed.iloc[[0, 2]])


def test_an_outcome_far_from_all_others_is_learned_with_a_warning():
    surrogate = fitted(2, 8)
    row = pd.DataFrame({"machine": ["new"], "pressure": [5.0]})
    with pytest.warns(
        DataWarning, match=r"'strength' = 8430 lies far outside of the 12 outcomes known so far, 64 to 82"
    ):
        told = surrogate.observe(row.assign(strength=8430.0))
    assert told.rows_of({"machine": "new"}) == 1
    surrogate.observe(row.assign(strength=95.0))  # a task may well be better than all before


@pytest.mark.parametrize(
    ("known", "far"),
    [
        ({"count": 40, "low": 0.0, "high": 1.0}, [-3.1, 4.1]),
        ({"count": 4, "low": 0.0, "high": 1.0}, []),  # too few to tell
        ({"count": 40, "low": 2.0, "high": 2.0}, []),  # all equal
        ({"count": 0, "low": np.nan, "high": np.nan}, []),
    ],
)
def test_what_is_far(known, far):
    assert far_outcomes([-3.1, -2.9, 0.5, 3.9, 4.1], **known) == far


def test_labels_that_differ_in_a_hyphen_are_most_likely_one():
    odd = ARCHIVE.assign(machine=ARCHIVE["machine"].where(ARCHIVE.index != 5, "M-2"))
    problem = hs.Problem(inputs=["pressure"], general=["machine"], objective="strength")
    with pytest.warns(DataWarning, match="'M-2' and 'M2'|'M2' and 'M-2'"):
        hs.fit(odd, problem, kernel="rbf", inference="lbfgs")
    numbers = ARCHIVE.assign(machine=np.repeat(["1-2", "12", "3"], 4))
    hs.fit(numbers, problem, kernel="rbf", inference="lbfgs")


def test_an_input_left_out_by_naming_others_is_named():
    table = ARCHIVE.assign(speed=np.arange(12.0))
    roles = infer_roles(table, objective="strength", goal="maximize", general="machine", inputs=["speed"])
    assert roles.ignored["pressure"] == "is not among the inputs that were given"
