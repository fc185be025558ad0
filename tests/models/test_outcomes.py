"""Outcomes on the model's scale, and predictions on the user's, against scipy, sampling and quadrature."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from headstart.models.mixture import Mixture
from headstart.models.outcomes import Outcomes

RANDOM = np.random.default_rng(0)
SHAPES = {
    "few large ones": np.exp(RANDOM.normal(size=200)),
    "crowded below 1": 1 - np.exp(RANDOM.normal(size=200) - 3),
    "heavy": np.exp(2 * RANDOM.normal(size=150)),
    "normal": RANDOM.normal(3, 2, size=200),
    "huge": 1e12 * np.exp(RANDOM.normal(size=100)),
    "tiny": 1e-12 * np.exp(RANDOM.normal(size=100)),
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", SHAPES)
def test_the_power_is_that_of_scipy_where_it_is_clear(name, sign):
    y = SHAPES[name]
    scale, v = Outcomes.of(y, sign=sign), stats.zscore(sign * y)
    _, power = stats.yeojohnson(v)
    if name == "normal":
        assert scale.power == 1.0
    else:
        assert scale.power == pytest.approx(np.clip(power, 0, 2), abs=1e-3)
    np.testing.assert_allclose(scale.inside(y), stats.yeojohnson(v, scale.power), rtol=1e-9, atol=1e-9)


def test_a_few_rows_are_no_reason_to_bend_anything():
    powers = [Outcomes.of(np.random.default_rng(seed).normal(size=25), sign=1).power for seed in range(50)]
    assert powers == [1.0] * 50


@pytest.mark.parametrize("y", [[3.0], [2.0, 2.0, 2.0], [0.0, 0.0], [1e9, 1e9 + 1e-6]])
def test_outcomes_without_a_shape(y):
    y = np.array(y)
    scale = Outcomes.of(y, sign=-1)
    assert scale.power == 1.0
    np.testing.assert_allclose(scale.outside(scale.inside(y)), y)
    assert np.isfinite(scale.inside(np.array([5.0]))).all()


@given(st.integers(0, 2000), st.sampled_from([1, -1]), st.floats(-30, 30), st.floats(1e-6, 1e6), st.floats(-100, 100))
def test_there_and_back(power, sign, v, scale, centre):
    centre *= scale
    bent = Outcomes(sign=sign, centre=centre, scale=scale, power=power / 1000, low=-2.0, high=3.0)
    y = np.array([centre + scale * v])
    assert bent.outside(bent.inside(y)) == pytest.approx(y, rel=1e-6, abs=1e-6 * scale)
    step = 1e-4 * scale
    rise = (bent.inside(y + step) - bent.inside(y - step)) / (2 * step)
    assert sign * rise > 0
    assert np.log(abs(rise)) == pytest.approx(bent.log_slope(y), abs=1e-2)


def test_beyond_the_archive_it_is_straight():
    scale = Outcomes.of(SHAPES["heavy"], sign=1)
    top = SHAPES["heavy"].max()
    steps = np.diff(scale.inside(top * np.array([1.0, 2.0, 3.0, 4.0])))
    np.testing.assert_allclose(steps, steps[0])


def test_dictionaries():
    scale = Outcomes.of(SHAPES["heavy"], sign=-1)
    assert Outcomes.from_dict(scale.to_dict()) == scale


@pytest.fixture(params=["few large ones", "crowded below 1", "normal"])
def scale(request) -> Outcomes:
    return Outcomes.of(SHAPES[request.param], sign=-1 if request.param == "crowded below 1" else 1)


@pytest.fixture
def predicted(scale) -> Mixture:
    random = np.random.default_rng(1)
    return Mixture(random.normal(size=(4, 5)), np.exp(random.normal(size=(4, 5)) - 1), scale)


@pytest.fixture
def samples(predicted) -> np.ndarray:
    random = np.random.default_rng(2)
    inside = predicted.mean[:, None] + predicted.sd[:, None] * random.standard_normal((4, 100_000, 5))
    return predicted.outcomes.outside(inside.reshape(-1, 5))


def test_moments_are_those_of_samples(predicted, samples):
    mean, sd = predicted.moments
    np.testing.assert_allclose(mean, samples.mean(0), rtol=0.02, atol=0.01)
    np.testing.assert_allclose(sd, samples.std(0), rtol=0.03)


def test_probabilities_are_those_of_samples(predicted, samples):
    y = np.quantile(samples, 0.3, axis=0)
    np.testing.assert_allclose(predicted.cdf(y), 0.3, atol=0.01)


def test_densities_integrate_to_probabilities(predicted):
    for point in range(5):
        one = Mixture(predicted.mean[:, [point]], predicted.sd[:, [point]], predicted.outcomes)
        low, high = np.sort(predicted.outcomes.outside(np.array([-0.3, 0.8])))
        # The slope has a kink at the mean of all outcomes.
        middle = sorted({low, predicted.outcomes.centre, high})
        mass = sum(
            integrate.quad(lambda y, one=one: float(np.exp(one.log_density(np.array([y])))[0]), a, b)[0]
            for a, b in itertools.pairwise(middle)
            if a >= low and b <= high
        )
        expected = one.cdf(np.array([high])) - one.cdf(np.array([low]))
        assert mass == pytest.approx(expected.item(), abs=1e-6)


def test_crps_is_that_of_samples(predicted, samples):
    y = np.quantile(samples, 0.8, axis=0)
    random = np.random.default_rng(3)
    pairs = np.abs(samples - samples[random.permutation(len(samples))]).mean(0)
    expected = np.abs(samples - y).mean(0) - 0.5 * pairs
    np.testing.assert_allclose(predicted.crps(y), expected, rtol=0.02)
