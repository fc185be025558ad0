"""Tasks unlike any other: their odds against joint densities by scipy, and what being apart does to predictions."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy import special, stats

from headstart.models import BEGP
from headstart.models.apart import TasksApart, _log_ratios
from headstart.models.elbo import section
from headstart.models.ensemble import Ensemble
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


def covariances(model: BEGP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K with noise of every draw; the same with all tasks of typical size, as one apart is; and the residuals."""
    members = model.members()
    K = members.kernel.covariance(members.parameters, members.inputs, members.inputs)
    slope = members.parameters["amplitude_slope"]
    a = torch.einsum("snd,sd->sn", members.inputs[..., 1 : 1 + slope.shape[-1]], slope).exp()
    typical = K / (a.unsqueeze(-1) * a.unsqueeze(-2))
    noise = torch.diag_embed(members.row_noise.expand(K.shape[:-1]))
    residual = (members.y - members.mean.unsqueeze(-1)).expand(K.shape[:-1])
    return (K + noise).numpy(), (typical + noise).numpy(), residual.numpy()


@pytest.mark.parametrize("inference", ["hmc", "lbfgs"])
def test_the_probability_follows_from_joint_densities(inference):
    model = fitted(3, inference)
    owner = model.train_X[:, 1].numpy().astype(int)
    share = []
    for task in range(5):
        of_task = owner == task
        log_ratio = []
        for k, typical, r in zip(*covariances(model), strict=True):

            def log_density(of, cov=k, r=r):
                return stats.multivariate_normal.logpdf(r[of], cov=cov[np.ix_(of, of)])

            log_ratio.append(log_density(of_task, typical) + log_density(~of_task) - log_density(owner >= 0))
        ratio = np.exp(np.array(log_ratio, dtype=np.longdouble))
        ratio = np.minimum(ratio, np.sqrt(len(ratio)) * ratio.mean())  # no draw alone decides
        share.append(special.expit(float(np.log(ratio.mean())) + special.logit(SHARE)))
    draws = model.posterior_draws
    expected = np.round(np.array([*share, SHARE]) * draws).clip(1)
    assert model._apart is not None
    np.testing.assert_array_equal(model._apart.flags.sum(0).numpy(), expected)
    assert expected[-2] > 2 * SHARE * draws  # three rows speak for it, and more than for any other
    assert (expected[:4] <= 0.5 * SHARE * draws).all()


def test_a_task_apart_is_predicted_from_its_own_rows():
    model = fitted(5, "lbfgs")
    apart = model._apart.flags[:, 4]
    assert apart.float().mean() > 0.25
    points = torch.stack([torch.linspace(0, 1, 5), torch.full((5,), 4.0)], -1).double()
    posterior = model.posterior(points.unsqueeze(-2))
    p = section(model.hyperparameters(), "kernel")
    members, own = model.members(), model.train_X[:, 1] == 4
    for draw in apart.nonzero().squeeze(-1)[:3].tolist():
        joint = model._joint_inputs(points.unsqueeze(-2))[:, draw, 0]
        inputs, kernel = members.inputs[draw, own].clone(), model.structure.kernel
        joint[:, -1] = 4.0
        for side in (inputs, joint):
            side[:, 1:-1] = 0.0  # a latent of 0 is that of a task of typical size
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


def test_a_task_apart_is_of_typical_size():
    """Whatever its latents say: of sizes that span decades the others' say nothing about it."""
    random = np.random.default_rng(0)
    x, task = random.random(60), np.repeat(np.arange(6), 10)
    y = np.sin(6 * x) * 10.0**-task
    X, Y = torch.from_numpy(np.stack([x, task], -1)), torch.from_numpy(y).unsqueeze(-1)
    model = BEGP(X, Y, {1: 6}, kernel="rbf+tasks").fit(seed=0, inference="hmc")
    posterior = model.posterior(torch.tensor([[[0.5, 9.0]]]))
    flags = model._apart.flags[:, -1]
    p = section(model.hyperparameters(), "kernel")
    own = p["log_outputscale"].exp() + p["log_residual_scale"].exp()
    expected = own.expand(len(flags))[flags] * model.scaling.scale**2
    torch.testing.assert_close(posterior.variance[0, flags, 0, 0], expected)


def test_who_agrees_with_the_others_is_apart_in_one_draw_alone():
    model = BEGP(*rows(), {1: 4}, kernel="rbf+tasks").fit(seed=0, inference="hmc")
    assert model._apart.flags[:, :4].sum(0).tolist() == [1, 1, 1, 1]


def test_with_fewer_draws_than_that_it_is_apart_in_none():
    """One of ten draws would be more than a task without rows is apart."""
    model = BEGP(*rows(), {1: 4}, kernel="rbf+tasks", posterior_draws=10).fit(seed=0, inference="hmc")
    assert model._apart.flags[:, :4].sum() == 0


def test_draws_with_a_task_apart_are_conditioned_like_all_others():
    model = fitted(3)
    found = model._ensemble
    assert 0 < len(model._apart.affected) < model.posterior_draws
    members = model.members()
    inputs = model._apart.mark(members.inputs, model._data.positions)
    expected = Ensemble.condition(dataclasses.replace(members, inputs=inputs))
    for name in ("inputs", "weights", "whitener", "noise", "mean"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name))


def test_the_few_draws_do_not_call_a_surprise_impossible():
    """Seven tasks are one function, and so is an eighth as far as its single row tells."""
    x, task = np.r_[np.tile(np.linspace(0, 1, 6), 7), 0.4], np.r_[np.repeat(np.arange(7), 6), 7]
    y = np.sin(6 * x) + 0.001 * np.random.default_rng(0).standard_normal(len(x))
    X, Y = torch.from_numpy(np.stack([x, task], -1)), torch.from_numpy(y).unsqueeze(-1)
    model = BEGP(X, Y, {1: 8}, kernel="rbf+tasks").fit(seed=0, inference="hmc")
    posterior = model.posterior(torch.tensor([[[0.25, 7.0]]]), observation_noise=True)
    mean, sd = posterior.mean[0, :, 0, 0].numpy(), posterior.variance[0, :, 0, 0].sqrt().numpy()
    apart = model._apart.flags[:, 7].numpy()

    def log_density(y, of):
        return special.logsumexp(stats.norm.logpdf(y, mean[of], sd[of])) - np.log(len(mean))

    assert apart.sum() == 1
    assert log_density(-1.0, ~apart) < -50
    assert log_density(-1.0, slice(None)) > -15
    assert log_density(1.0, slice(None)) == pytest.approx(log_density(1.0, ~apart), abs=0.02)


def test_a_kernel_without_it_knows_no_tasks_apart():
    assert TaskResidual.share_apart == 0.0
    assert BEGP(*rows(), {1: 4}, kernel="rbf+residual").fit(seed=0)._apart is None


def test_a_single_task_has_none_to_be_apart_from():
    X, Y = rows()
    model = BEGP(X[:6], Y[:6], {1: 1}, kernel="rbf+tasks").fit(seed=0)
    assert len(model._apart.affected) == 0


def test_tasks_may_have_any_numbers_of_rows():
    """Blocks of different sizes are judged side by side: each as if alone."""
    X, Y = rows(3)
    some = torch.cat([torch.arange(0, 6), torch.arange(6, 10), torch.arange(12, 14), torch.arange(24, 27)])
    model = BEGP(X[some], Y[some], {1: 5}, kernel="rbf+tasks").fit(seed=0)
    K, typical, residual = covariances(model)
    owner = model._data.positions[:, 0]
    found = _log_ratios(model.members(), model._together, owner, 4, 1)
    for task in range(4):
        of = (owner == task).numpy()
        expected = (
            stats.multivariate_normal.logpdf(residual[0][of], cov=typical[0][np.ix_(of, of)])
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
    assert len(model._apart.affected) == 0
