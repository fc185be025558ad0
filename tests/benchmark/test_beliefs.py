"""Mixtures of normals and expected improvement, against quadrature and samples."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from headstart.benchmark.beliefs import ImprovingBelief, free_places, log_expected_improvement
from headstart.models import mixture as mixtures
from headstart.models.mixture import Mixture

Y = np.array([-3.0, 0.1, 0.4, 1.2, 4.0])


def mixture(normals: int = 3, points: int = len(Y)) -> Mixture:
    random = np.random.default_rng(0)
    return Mixture(random.normal(size=(normals, points)), np.exp(0.5 * random.normal(size=(normals, points)) - 0.5))


def density(predicted: Mixture, point: int, y: np.ndarray) -> np.ndarray:
    """The average of the densities, written out."""
    each = zip(predicted.mean[:, point], predicted.sd[:, point], strict=True)
    parts = [np.exp(-(((y - m) / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi)) for m, s in each]
    return np.mean(parts, axis=0)


def integral(f, *cuts: float) -> float:
    """Over the real line, where the mixtures have their mass, cut where the integrand has a kink."""
    places = [-20.0, *cuts, 20.0]
    return sum(integrate.quad(f, low, high, epsabs=1e-12, epsrel=1e-10, limit=300)[0] for low, high in pairwise(places))


# Mixtures


def test_the_density_is_the_average_of_the_normals() -> None:
    predicted = mixture()
    expected = [np.log(density(predicted, t, y)) for t, y in enumerate(Y)]
    np.testing.assert_allclose(predicted.log_density(Y), expected, rtol=1e-12)


def test_the_density_does_not_vanish_far_away() -> None:
    far = Mixture(np.array([[0.0], [1.0]]), np.ones((2, 1))).log_density(np.array([100.0]))
    assert far.item() == pytest.approx(-(99**2) / 2 - 0.5 * np.log(2 * np.pi) - np.log(2))


def test_the_distribution_function_integrates_the_density() -> None:
    predicted = mixture()
    expected = [integrate.quad(lambda v, t=t: density(predicted, t, v), -20, y)[0] for t, y in enumerate(Y)]
    np.testing.assert_allclose(predicted.cdf(Y), expected, atol=1e-9)


def test_moments_are_those_of_the_density() -> None:
    predicted = mixture()
    mean, sd = predicted.moments
    for t in range(len(Y)):
        first = integral(lambda v, t=t: v * density(predicted, t, v))
        second = integral(lambda v, t=t: v**2 * density(predicted, t, v))
        assert mean[t] == pytest.approx(first, abs=1e-9)
        assert sd[t] == pytest.approx(np.sqrt(second - first**2), rel=1e-8)


def test_crps_is_the_integral_of_its_definition() -> None:
    predicted = mixture()
    for t, y in enumerate(Y):

        def gap(v: float, t: int = t, y: float = y) -> float:
            below = np.mean(stats.norm.cdf((v - predicted.mean[:, t]) / predicted.sd[:, t]))
            return (below - (y <= v)) ** 2

        assert predicted.crps(Y)[t] == pytest.approx(integral(gap, y), rel=1e-7)


def test_crps_is_that_of_samples() -> None:
    """E|X - y| - E|X - X'| / 2, of draws X and X' of the prediction."""
    predicted, random = mixture(4, 1), np.random.default_rng(1)
    which = random.integers(4, size=(2, 400_000))
    first, second = predicted.mean[which, 0] + predicted.sd[which, 0] * random.standard_normal(which.shape)
    expected = np.abs(first - 0.3).mean() - 0.5 * np.abs(first - second).mean()
    assert predicted.crps(np.array([0.3])).item() == pytest.approx(expected, abs=0.005)


def test_crps_of_one_normal_is_the_published_formula() -> None:
    """Gneiting and Raftery (2007), equation 21."""
    predicted = mixture(1)
    z = (Y - predicted.mean[0]) / predicted.sd[0]
    expected = predicted.sd[0] * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    np.testing.assert_allclose(predicted.crps(Y), expected, rtol=1e-12)


def test_crps_of_a_point_is_its_absolute_error() -> None:
    point = Mixture(np.full((2, 1), 1.5), np.full((2, 1), 1e-9))
    assert point.crps(np.array([4.0])).item() == pytest.approx(2.5, abs=1e-8)


def test_crps_of_many_points_is_that_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    predicted, y = mixture(3, 11), np.linspace(-2, 2, 11)
    at_once = predicted.crps(y)
    monkeypatch.setattr(mixtures, "_POINTS_AT_ONCE", 4)
    np.testing.assert_allclose(predicted.crps(y), at_once, rtol=1e-14)
    alone = [Mixture(predicted.mean[:, [t]], predicted.sd[:, [t]]).crps(y[[t]]).item() for t in range(11)]
    np.testing.assert_allclose(at_once, alone, rtol=1e-14)


def test_copies_of_a_normal_are_that_normal() -> None:
    one = mixture(1)
    four = Mixture(np.repeat(one.mean, 4, axis=0), np.repeat(one.sd, 4, axis=0))
    for of_four, of_one in zip(four.moments, one.moments, strict=True):
        np.testing.assert_allclose(of_four, of_one)
    np.testing.assert_allclose(four.log_density(Y), one.log_density(Y))
    np.testing.assert_allclose(four.cdf(Y), one.cdf(Y))
    np.testing.assert_allclose(four.crps(Y), one.crps(Y))


# Expected improvement


@pytest.mark.parametrize("best", [-1.0, 0.5, 3.0])
def test_expected_improvement_is_its_integral(best: float) -> None:
    predicted = mixture()
    found = np.exp(log_expected_improvement(predicted.mean, predicted.sd, best))
    for t in range(len(Y)):
        expected = integrate.quad(lambda v, t=t: (v - best) * density(predicted, t, v), best, 20, epsabs=1e-13)[0]
        assert found[t] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("below", [6.0, 7.9, 8.1, 12.0, 30.0, 200.0])
def test_expected_improvement_far_below_the_best_keeps_its_logarithm(below: float) -> None:
    """E[max(f - best, 0)] = phi(u) times the integral of t exp(-t |u| - t^2 / 2), which does not vanish."""
    scaled = integrate.quad(lambda t: t * np.exp(-t * below - t**2 / 2), 0, 40 / below)[0]
    expected = -(below**2) / 2 - 0.5 * np.log(2 * np.pi) + np.log(scaled) + np.log(0.7)
    found = log_expected_improvement(np.full((1, 1), 2.0 - 0.7 * below), np.full((1, 1), 0.7), 2.0).item()
    # From 8 on it is the limit, too large by a share of three in below squared.
    assert found == pytest.approx(expected, abs=1e-6 if below < 8 else 3 / below**2)


def test_expected_improvement_rises_with_the_mean_across_its_two_formulas() -> None:
    mean = np.linspace(-12, 2, 400)[None]
    assert (np.diff(log_expected_improvement(mean, np.ones_like(mean), 0.0)) > 0).all()


def test_one_hopeful_draw_is_enough_to_hope() -> None:
    mean, sd = np.array([[-50.0], [1.0]]), np.ones((2, 1))
    alone = log_expected_improvement(mean[1:], sd[1:], 0.0)
    assert log_expected_improvement(mean, sd, 0.0).item() == pytest.approx(alone.item() - np.log(2))


# Choices


class Straight(ImprovingBelief):
    """Believes y = x exactly, but for a wide guess at 0.5."""

    def predict(self, x: np.ndarray, *, noise: bool = True) -> Mixture:
        return Mixture(x.T, np.where(x == 0.5, 3.0, 1e-6).T)


@pytest.mark.parametrize(("sign", "expected"), [(1, 2), (-1, 0)])
def test_the_first_choice_is_the_best_mean(sign: int, expected: int) -> None:
    assert Straight(sign, np.empty(0)).choose(np.array([[0.0], [0.5], [1.0]])) == expected


@pytest.mark.parametrize(("sign", "measured"), [(1, 0.99), (-1, 0.01)])
def test_later_choices_are_those_that_may_improve_most(sign: int, measured: float) -> None:
    assert Straight(sign, np.array([measured])).choose(np.array([[0.0], [0.5], [1.0]])) == 1


def test_places_are_free_until_they_are_measured() -> None:
    x = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]])
    assert free_places(x, x[:0]).tolist() == [0, 1, 2, 3]
    assert free_places(x, x[[2]]).tolist() == [0, 1, 3]  # one coordinate in common is not the same place
    assert free_places(x, np.array([[0.0, 1.0], [1.0, 2.0], [9.0, 9.0]])).tolist() == [1, 2]
    assert free_places(x, x).tolist() == []
