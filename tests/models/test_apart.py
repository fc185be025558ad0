"""Tasks unlike any other: their odds against joint densities by scipy, and what being apart does to predictions."""

import numpy as np
import pytest
import torch
from scipy import special, stats

from headstart.models import BEGP
from headstart.models.apart import TasksApart, _log_ratios
from headstart.models.elbo import section
from headstart.models.residual import TaskResidual

SHARE = 0.05


def rows(contrary: int = 0, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Four tasks that agree, six rows each, and so many rows of a fifth that is upside down."""
    random = np.random.default_rng(seed)
    x, task = random.random(24 + contrary), np.r_[np.repeat(np.arange(4), 6), np.full(contrary, 4)]
    y = np.sin(6 * x) + 0.05 * task + 0.01 * random.standard_normal(len(x))
    y[24:] *= -1
    return torch.from_numpy(np.stack([x, task], -1)), torch.from_numpy(y).unsqueeze(-1)


def fitted(contrary: int = 0, inference: str = "hmc") -> BEGP:
    return BEGP(*rows(contrary), {1: 5}, kernel="rbf+tasks", latent_dim=2).fit(seed=0, inference=inference)


def covariances(model: BEGP) -> tuple[np.ndarray, np.ndarray]:
    """K with noise of every draw, and the residuals."""
    members = model.members()
    K = members.kernel.covariance(members.parameters, members.inputs, members.inputs)
    K = K + torch.diag_embed(members.row_noise.expand(K.shape[:-1]))
    residual = (members.y - members.mean.unsqueeze(-1)).expand(K.shape[:-1])
    return K.numpy(), residual.numpy()


@pytest.mark.parametrize("inference", ["hmc", "lbfgs"])
def test_the_probability_follows_from_joint_densities(inference):
    model = fitted(3, inference)
    K, residual = covariances(model)
    owner = model.train_X[:, 1].numpy().astype(int)
    share = []
    for task in range(5):
        of_task = owner == task
        log_ratio = []
        for k, r in zip(K, residual, strict=True):

            def log_density(of, k=k, r=r):
                return stats.multivariate_normal.logpdf(r[of], cov=k[np.ix_(of, of)])

            log_ratio.append(log_density(of_task) + log_density(~of_task) - log_density(owner >= 0))
        ratio = np.exp(np.array(log_ratio, dtype=np.longdouble))
        ratio = np.minimum(ratio, np.sqrt(len(K)) * ratio.mean())  # no draw alone decides
        share.append(special.expit(float(np.log(ratio.mean())) + special.logit(SHARE)))
    expected = np.round(np.array([*share, SHARE]) * len(K))
    assert model._apart is not None
    np.testing.assert_array_equal(model._apart.flags.sum(0).numpy(), expected)
    assert expected[-2] > 2 * SHARE * len(K)  # three rows speak for it, and more than for any other
    assert (expected[:4] <= 0.5 * SHARE * len(K)).all()


def test_a_task_apart_is_predicted_from_its_own_rows():
    model = fitted(5, "lbfgs")
    apart = model._apart.flags[:, 4]
    assert apart.float().mean() > 0.5
    points = torch.stack([torch.linspace(0, 1, 5), torch.full((5,), 4.0)], -1).double()
    posterior = model.posterior(points.unsqueeze(-2))
    p = section(model.hyperparameters(), "kernel")
    members, own = model.members(), model.train_X[:, 1] == 4
    for draw in apart.nonzero().squeeze(-1)[:3].tolist():
        joint = model._joint_inputs(points.unsqueeze(-2))[:, draw, 0]
        joint[:, -1] = 4.0
        inputs = members.inputs[draw, own]
        kernel = model.structure.kernel
        K = kernel.covariance(p, inputs, inputs) + members.row_noise[0, own].diag()
        weights = torch.linalg.solve(K, members.y[0, own] - members.mean[0])
        mean = members.mean[0] + kernel.covariance(p, joint, inputs) @ weights
        expected = mean * model.scaling.scale + model.scaling.centre
        torch.testing.assert_close(posterior.mean[:, draw, 0, 0], expected, rtol=1e-6, atol=1e-6)


def test_a_task_without_rows_is_apart_in_a_few_draws():
    model = fitted()
    points = torch.tensor([[0.2, 9.0], [0.8, 9.0]])
    posterior = model.posterior(points.unsqueeze(-2))
    flags = model._apart.flags[:, -1]
    assert int(flags.sum()) == round(SHARE * model.posterior_draws)
    mean = model.hyperparameters()["mean"] * model.scaling.scale + model.scaling.centre
    torch.testing.assert_close(posterior.mean[:, flags, 0, 0], mean[flags].expand(2, -1))
    variance = posterior.variance[:, :, 0, 0]
    assert (variance[:, flags].mean(1) > variance[:, ~flags].mean(1)).all()


def test_who_agrees_with_the_others_is_not_apart():
    model = BEGP(*rows(), {1: 4}, kernel="rbf+tasks").fit(seed=0, inference="hmc")
    assert not model._apart.any_with_rows
    assert model._ensemble is model._together


def test_a_kernel_without_it_knows_no_tasks_apart():
    assert TaskResidual.share_apart == 0.0
    assert BEGP(*rows(), {1: 4}, kernel="rbf+residual").fit(seed=0)._apart is None


def test_a_single_task_has_none_to_be_apart_from():
    X, Y = rows()
    model = BEGP(X[:6], Y[:6], {1: 1}, kernel="rbf+tasks").fit(seed=0)
    assert not model._apart.any_with_rows


def test_tasks_may_have_any_numbers_of_rows():
    """Blocks of different sizes are judged side by side: each as if alone."""
    X, Y = rows(3)
    some = torch.cat([torch.arange(0, 6), torch.arange(6, 10), torch.arange(12, 14), torch.arange(24, 27)])
    model = BEGP(X[some], Y[some], {1: 5}, kernel="rbf+tasks").fit(seed=0)
    K, residual = covariances(model)
    owner = model._data.positions[:, 0]
    found = _log_ratios(model.members(), model._together, owner, 4)
    for task in range(4):
        of = (owner == task).numpy()
        expected = (
            stats.multivariate_normal.logpdf(residual[0][of], cov=K[0][np.ix_(of, of)])
            + stats.multivariate_normal.logpdf(residual[0][~of], cov=K[0][np.ix_(~of, ~of)])
            - stats.multivariate_normal.logpdf(residual[0], cov=K[0])
        )
        assert float(found[0, task]) == pytest.approx(expected, abs=1e-6)


def test_tasks_are_combinations_of_levels():
    flags = torch.tensor([[True, False, False], [False, False, True]])
    apart = TasksApart(torch.tensor([[0, 1], [1, 0]]), flags)
    joint = torch.tensor([[0.5, 0.0, 1.0], [0.5, 1.0, 0.0], [0.5, 1.0, 1.0]]).expand(2, 3, 3)
    marked = apart.mark(joint, torch.tensor([[0, 1], [1, 0], [1, 1]]))
    assert marked[0].tolist() == [[0.5, -1.0, -2.0], [0.5, 1.0, 0.0], [0.5, 1.0, 1.0]]
    assert marked[1].tolist() == [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0], [0.5, -2.0, -2.0]]


def test_tasks_with_many_rows_are_where_they_are():
    random = np.random.default_rng(0)
    x = random.random(80)
    X = torch.from_numpy(np.stack([x, np.repeat([0.0, 1.0], 40)], -1))
    Y = torch.from_numpy(np.r_[np.sin(6 * x[:40]), 5 - 9 * np.sin(6 * x[40:])]).unsqueeze(-1)
    model = BEGP(X, Y, {1: 2}, kernel="rbf+tasks").fit(seed=0)
    assert not model._apart.any_with_rows
