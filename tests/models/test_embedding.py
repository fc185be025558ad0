"""Embedding families and fixed draws."""

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from headstart.errors import ProblemError
from headstart.models.draws import normal_draws
from headstart.models.embedding import (
    FullCovarianceEmbedding,
    MeanFieldEmbedding,
    PointEmbedding,
    embedding_family,
)

LEVELS, DIM = 4, 3


def random_parameters(family, *batch):
    generator = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(*batch, *p.shape, generator=generator, dtype=torch.float64) * 0.7
        for name, p in family.parameters(LEVELS, DIM).items()
    }


def test_mean_field_kl_matches_torch():
    family = MeanFieldEmbedding()
    p = random_parameters(family, 2)
    expected = kl_divergence(Normal(p["mean"], p["log_sd"].exp()), Normal(0.0, 1.0)).sum((-2, -1))
    torch.testing.assert_close(family.kl(p), expected)


def test_full_covariance_kl_and_draws_match_torch():
    family = FullCovarianceEmbedding()
    p = random_parameters(family)
    factor = torch.diag_embed(p["log_sd"].exp())
    rows, columns = torch.tril_indices(DIM, DIM, -1)
    factor[:, rows, columns] = p["lower"]
    q = MultivariateNormal(p["mean"], scale_tril=factor)
    prior = MultivariateNormal(torch.zeros(DIM).double(), torch.eye(DIM).double())
    torch.testing.assert_close(family.kl(p), kl_divergence(q, prior).sum())
    torch.testing.assert_close(family.sd(p), q.variance.sqrt())
    z = family.latents(p, normal_draws(20_000, LEVELS, DIM, seed=0))
    for level in range(LEVELS):
        torch.testing.assert_close(
            torch.cov(z[:, level].T, correction=0), q.covariance_matrix[level], atol=0.03, rtol=0.03
        )


def test_full_covariance_with_zero_lower_part_is_mean_field():
    full, mean_field = FullCovarianceEmbedding(), MeanFieldEmbedding()
    p = random_parameters(full)
    p["lower"].zero_()
    eps = normal_draws(8, LEVELS, DIM, seed=1)
    torch.testing.assert_close(full.kl(p), mean_field.kl(p))
    torch.testing.assert_close(full.latents(p, eps), mean_field.latents(p, eps))


@pytest.mark.parametrize("family", [MeanFieldEmbedding(), FullCovarianceEmbedding()])
def test_all_zeros_is_the_prior(family):
    zeros = {n: torch.zeros(p.shape).double() for n, p in family.parameters(LEVELS, DIM).items()}
    eps = normal_draws(16, LEVELS, DIM, seed=0)
    assert family.kl(zeros).item() == pytest.approx(0.0)
    torch.testing.assert_close(family.latents(zeros, eps), family.unseen(eps))


def test_a_point_is_the_same_in_every_draw_and_penalised_by_the_prior():
    family = PointEmbedding()
    p = random_parameters(family)
    z = family.latents(p, normal_draws(5, LEVELS, DIM, seed=0))
    torch.testing.assert_close(z, p["mean"].expand(5, LEVELS, DIM))
    at_mode = {"mean": torch.zeros(LEVELS, DIM).double()}
    log_prior = Normal(0.0, 1.0).log_prob
    expected = (log_prior(at_mode["mean"]) - log_prior(p["mean"])).sum()
    torch.testing.assert_close(family.kl(p) - family.kl(at_mode), expected)


def test_an_unknown_family_is_named_with_the_known_ones():
    with pytest.raises(ProblemError, match=r"'mean-field'"):
        embedding_family("flow")


@pytest.mark.parametrize("draws", [2, 7, 24, 63])
def test_any_number_of_draws_has_exact_low_moments(draws):
    eps = normal_draws(draws, 9, DIM, seed=0)
    torch.testing.assert_close(eps.mean(0), torch.zeros(9, DIM).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(eps.square().mean(0), torch.ones(9, DIM).double())


def test_draws_have_exact_low_moments_and_are_near_normal():
    eps = normal_draws(64, 50, DIM, seed=3)
    torch.testing.assert_close(eps.mean(0), torch.zeros(50, DIM).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(eps.square().mean(0), torch.ones(50, DIM).double())
    assert eps.pow(4).mean().item() == pytest.approx(3.0, abs=0.4)
    pooled = eps.flatten().sort().values
    expected = Normal(0.0, 1.0).icdf((torch.arange(len(pooled)) + 0.5).double() / len(pooled))
    assert (pooled - expected).abs()[100:-100].max() < 0.1


def test_levels_are_independent():
    eps = normal_draws(256, 40, 1, seed=0).squeeze(-1)
    correlation = torch.corrcoef(eps.T) - torch.eye(40).double()
    # Mirrored pairs carry half the information: sd 1 / sqrt(128) a pair of levels.
    assert correlation.abs().max() < 4.5 / 128**0.5
    assert correlation.square().mean().sqrt() < 1.3 / 128**0.5


def test_a_new_level_leaves_the_draws_of_the_others_alone():
    few, many = (normal_draws(16, levels, DIM, seed=5) for levels in (3, 9))
    torch.testing.assert_close(few, many[:, :3], rtol=0, atol=0)


def test_seeds_and_streams_differ():
    reference = normal_draws(8, 2, DIM, seed=0)
    assert not torch.equal(reference, normal_draws(8, 2, DIM, seed=1))
    assert not torch.equal(reference, normal_draws(8, 2, DIM, seed=0, stream=1))
    assert torch.equal(reference, normal_draws(8, 2, DIM, seed=0))
