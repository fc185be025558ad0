"""BEGP and EGP: predictions against independent oracles, zero-shot, invariances, new rows."""

import copy

import gpytorch
import numpy as np
import pytest
import torch
from problems import grid_of, negative_log_density, toy, toy_archive

from headstart.errors import DataError, ModelError, NotFittedError, ProblemError
from headstart.models import BEGP, EGP


@pytest.fixture(scope="module")
def archive():
    return toy_archive()


@pytest.fixture(scope="module")
def fitted(archive):
    X, Y, _ = archive
    return BEGP(X, Y, {1: 6}, kernel="rbf").fit(seed=0)


def test_each_draw_is_the_exact_gp_of_gpytorch(archive):
    X, Y, _ = archive
    model = EGP(X, Y, {1: 6}).fit(seed=0)
    h, data = model.hyperparameters(), model._data
    Z = h["embedding.0.mean"]
    train = torch.cat([data.x, Z[data.positions[:, 0]]], -1)
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5, ard_num_dims=4))
    kernel = kernel.double()
    kernel.base_kernel.lengthscale = torch.cat([h["kernel.log_lengthscale"], h["kernel.log_latent_lengthscale"]]).exp()
    kernel.outputscale = h["kernel.log_outputscale"].exp()
    points = torch.cat([torch.rand(7, 1).double(), torch.randint(0, 5, (7, 1)).double()], -1)
    seen = list(model.seen_levels(1))
    test = torch.cat([model.scaling.inputs(points[:, :1]), Z[[seen.index(int(c)) for c in points[:, 1]]]], -1)
    K = kernel(train).to_dense() + h["log_noise"].exp() * torch.eye(len(Y)).double()
    cross, prior = kernel(test, train).to_dense(), kernel(test).to_dense()
    mean = h["mean"] + cross @ torch.linalg.solve(K, data.y - h["mean"])
    covariance = prior - cross @ torch.linalg.solve(K, cross.mT)
    scale, centre = Y.std(correction=0), Y.mean()
    posterior = model.posterior(points)
    torch.testing.assert_close(posterior.mean[0, :, 0], mean * scale + centre)
    torch.testing.assert_close(posterior.distribution.covariance_matrix[0], covariance * scale**2, atol=1e-7, rtol=1e-5)
    noisy = model.posterior(points, observation_noise=True)
    torch.testing.assert_close(
        noisy.variance - posterior.variance,
        (h["log_noise"].exp() * scale**2).expand(1, 7, 1),
        atol=1e-9,
        rtol=1e-6,
    )


def test_zero_shot_is_the_prior_of_the_latent(fitted):
    """Brute force: 20,000 independent z ~ N(0, I) pushed through every draw's GP."""
    points = grid_of(5, points=5)
    ensemble = fitted._ensemble
    joint = fitted._joint_inputs(points)
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(20_000 // 64, 64, 1, 3, generator=generator, dtype=torch.float64)
    means, variances = [], []
    for x in joint[..., :1]:
        mean, covariance = ensemble.predict(torch.cat([x.expand(len(z), 64, 1, 1), z], -1))
        means.append(mean.flatten())
        variances.append(covariance.flatten())
    means, variances = torch.stack(means), torch.stack(variances)
    expected_variance = (variances.mean(-1) + means.var(-1)) * fitted.scaling.scale**2
    expected_mean = means.mean(-1) * fitted.scaling.scale + fitted.scaling.centre
    posterior = fitted.posterior(points)
    sd = expected_variance.sqrt()
    assert ((posterior.mixture_mean.flatten() - expected_mean) / sd).abs().max() < 0.25
    ratio = posterior.mixture_variance.flatten().sqrt() / sd
    assert (ratio - 1).abs().max() < 0.2


def test_levels_without_data_are_alike_and_independent(fitted):
    """Two unseen tasks have the same marginals in the limit of many draws, and are not one task."""
    X, Y = fitted.train_X, fitted.train_Y
    model = BEGP(X, Y, {1: 6}, kernel="rbf", posterior_draws=2048)
    model.adopt(fitted.vector)
    both = torch.tensor([[0.3, 5.0], [0.3, 6.0]], dtype=torch.float64)
    posterior = model.posterior(both)
    mean, covariance = posterior.mixture_mean.flatten(), posterior.mixture_covariance_matrix
    sd = covariance.diagonal().sqrt()
    assert (mean[0] - mean[1]).abs() < 0.1 * sd[0]
    assert sd[0].item() == pytest.approx(sd[1].item(), rel=0.1)
    assert covariance[0, 1] < 0.9 * covariance[0, 0]
    same = model.posterior(torch.tensor([[0.3, 5.0], [0.3, 5.0]]).double())
    torch.testing.assert_close(same.mixture_covariance_matrix[0, 1], covariance[0, 0], rtol=1e-6, atol=1e-8)


def test_relabelling_levels_changes_nothing(archive, fitted):
    X, Y, _ = archive
    renamed = X.clone()
    renumber = torch.tensor([4, 9, 0, 2, 7], dtype=torch.float64)
    renamed[:, 1] = renumber[X[:, 1].long()]
    other = BEGP(renamed, Y, {1: 10}, kernel="rbf").fit(seed=0)
    torch.testing.assert_close(other.vector, fitted.vector)
    for old, new in [(0, 4), (3, 2), (5, 1)]:  # the last pair is the first unseen code of each
        theirs, ours = other.posterior(grid_of(new)), fitted.posterior(grid_of(old))
        torch.testing.assert_close(theirs.mean, ours.mean)
        torch.testing.assert_close(theirs.variance, ours.variance)


@pytest.mark.parametrize("scale", [1e-9, 0.3, 1e9])
@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_affine_changes_of_the_output_change_nothing_else(archive, fitted, scale, shift):
    X, Y, _ = archive
    other = BEGP(X, scale * (Y + shift), {1: 6}, kernel="rbf").fit(seed=0)
    for task in (0, 5):
        ours, theirs = (m.posterior(grid_of(task)) for m in (fitted, other))
        sd = ours.mixture_variance.sqrt()
        # The optimiser stops where its tolerance says, so up to that.
        assert ((theirs.mixture_mean / scale - shift - ours.mixture_mean) / sd).abs().max() < 1e-3
        assert (theirs.mixture_variance.sqrt() / scale / sd - 1).abs().max() < 1e-3


def test_affine_changes_of_the_inputs_change_nothing(archive, fitted):
    X, Y, _ = archive
    moved = X.clone()
    moved[:, 0] = 700 + 200 * X[:, 0]
    other = BEGP(moved, Y, {1: 6}, kernel="rbf").fit(seed=0)
    points = grid_of(5)
    elsewhere = points.clone()
    elsewhere[..., 0] = 700 + 200 * points[..., 0]
    torch.testing.assert_close(
        other.posterior(elsewhere).mixture_mean,
        fitted.posterior(points).mixture_mean,
        rtol=1e-4,
        atol=1e-4,
    )


def test_egp_is_overconfident_on_the_toy_system_and_begp_is_not():
    """The paper's main finding: without uncertainty of the embedding the log density is catastrophic."""
    density = {BEGP: [], EGP: []}
    for seed in range(5):
        X, Y, theta = toy_archive(seed=seed)
        points = grid_of(5)
        truth = torch.from_numpy(toy(points[:, 0, 0].numpy(), theta[5]))
        for kind, values in density.items():
            model = kind(X, Y, {1: 6}, kernel="rbf").fit(seed=seed)
            values.append(negative_log_density(model.posterior(points, observation_noise=True), truth))
    assert np.mean(density[BEGP]) < 3.0
    assert np.mean(density[EGP]) > 3 * np.mean(density[BEGP])


def test_observing_improves_the_prediction_of_a_new_task():
    errors = np.zeros(4)
    points = grid_of(5)
    for seed in range(4):
        X, Y, theta = toy_archive(seed=seed)
        model = BEGP(X, Y, {1: 6}).fit(seed=0)
        truth = torch.from_numpy(toy(points[:, 0, 0].numpy(), theta[5]))
        for k, x in enumerate((None, 0.1, 0.9, 0.5)):
            if x is not None:
                y = torch.from_numpy(toy(np.array([[x]]), theta[5]))
                model = model.observe(torch.tensor([[x, 5.0]]), y)
            errors[k] += (model.posterior(points).mixture_mean.flatten() - truth).square().mean().item()
        assert model.seen_levels(1) == (0, 1, 2, 3, 4, 5)
    assert errors[-1] < 0.5 * errors[0]


def test_observe_continues_from_the_previous_posterior(fitted):
    again = fitted.observe(torch.tensor([[0.4, 5.0]]), torch.tensor([[0.0]]))
    cold = BEGP(again.train_X, again.train_Y, {1: 6}, kernel="rbf").fit(seed=0)
    assert again.elbo > cold.elbo - 2.0
    assert fitted.seen_levels(1) == (0, 1, 2, 3, 4)  # the old model is as it was


def test_conditioning_keeps_parameters_and_uses_the_rows(fitted):
    X, Y = torch.tensor([[0.4, 2.0]]).double(), torch.tensor([[-1.5]]).double()
    model = fitted.condition_on_observations(X, Y)
    torch.testing.assert_close(model.vector, fitted.vector)
    before, after = (m.posterior(X).mixture_mean.item() for m in (fitted, model))
    assert abs(after + 1.5) < abs(before + 1.5)
    new_level = fitted.condition_on_observations(torch.tensor([[0.4, 5.0]]), Y)
    mean, sd = new_level.embedding(1)
    torch.testing.assert_close(mean[-1], torch.zeros(3).double())
    torch.testing.assert_close(sd[-1], torch.ones(3).double())


def test_several_general_inputs_share_what_they_know():
    """y depends on machine and operator separately: an unseen pair of seen levels is predicted well."""
    generator = torch.Generator().manual_seed(0)
    machine = torch.tensor([0.0, 1.5, -1.0, 0.5])
    operator = torch.tensor([0.0, 1.0, -2.0])
    codes = [(m, o) for m in range(4) for o in range(3) if (m, o) != (1, 2)]
    rows = torch.tensor([[x, m, o] for m, o in codes for x in torch.rand(4, generator=generator)])
    y = torch.sin(6 * rows[:, 0]) + machine[rows[:, 1].long()] + operator[rows[:, 2].long()]
    model = BEGP(rows, y.unsqueeze(-1), {1: 4, -1: 3}, latent_dim={1: 2, -1: 1}).fit(seed=0)
    x = torch.linspace(0.1, 0.9, 9)
    held_out = torch.stack([x, torch.full_like(x, 1), torch.full_like(x, 2)], -1).unsqueeze(-2)
    truth = torch.sin(6 * x) + machine[1] + operator[2]
    posterior = model.posterior(held_out, observation_noise=True)
    error = (posterior.mixture_mean.flatten() - truth).square().mean().sqrt()
    assert error < 0.5 * y.std()
    assert model.embedding(1)[0].shape == (4, 2)
    assert model.embedding(2)[0].shape == (3, 1)
    # Half known: a new operator on a known machine.
    half = model.posterior(torch.tensor([[0.5, 1.0, 3.0]]))
    both = model.posterior(torch.tensor([[0.5, 4.0, 3.0]]))
    assert posterior.mixture_variance.mean() < half.mixture_variance < both.mixture_variance * 1.3


def test_known_noise_is_used(archive):
    X, Y, _ = archive
    variance = torch.where(torch.arange(len(Y)) % 5 == 0, 25.0, 1e-4).double().unsqueeze(-1)
    model = BEGP(X, Y, {1: 6}, train_Yvar=variance).fit(seed=0)
    assert "log_noise" not in model.hyperparameters()
    residual = (model.posterior(X.unsqueeze(-2)).mixture_mean.flatten() - Y.flatten()).abs()
    trusted = variance.flatten() < 1
    assert residual[trusted].mean() < 0.5 * residual[~trusted].mean()
    explicit = model.posterior(X[:3], observation_noise=torch.full((3, 1), 4.0))
    plain = model.posterior(X[:3])
    torch.testing.assert_close(explicit.variance - plain.variance, torch.full((64, 3, 1), 4.0).double())


@pytest.mark.parametrize("embedding", ["point", "mean-field", "full"])
def test_every_family_fits_and_interpolates(archive, embedding):
    X, Y, _ = archive
    model = BEGP(X, Y, {1: 6}, embedding=embedding).fit(seed=0)
    residual = model.posterior(X.unsqueeze(-2)).mixture_mean.flatten() - Y.flatten()
    assert residual.square().mean().sqrt() < 0.2 * Y.std()


def test_posterior_shapes_and_gradient(fitted):
    X = torch.rand(2, 3, 4, 2).double()
    X[..., 1] = 5
    X.requires_grad_()
    posterior = fitted.posterior(X)
    assert posterior.mean.shape == (2, 3, 64, 4, 1)
    assert posterior.mixture_mean.shape == (2, 3, 4, 1)
    assert posterior.distribution.covariance_matrix.shape == (2, 3, 64, 4, 4)
    (gradient,) = torch.autograd.grad(posterior.mixture_mean.sum(), X)
    step = 1e-6
    for index in [(0, 0, 0), (1, 2, 3)]:
        moved = X.detach().clone()
        moved[(*index, 0)] += step
        difference = (fitted.posterior(moved).mixture_mean.sum() - posterior.mixture_mean.sum()) / step
        assert gradient[(*index, 0)].item() == pytest.approx(difference.item(), rel=1e-3, abs=1e-5)


def test_joint_and_marginal_predictions_agree(fitted):
    points = grid_of(5, points=6)
    joint = fitted.posterior(points.squeeze(-2))
    marginal = fitted.posterior(points)
    torch.testing.assert_close(joint.mixture_mean.flatten(), marginal.mixture_mean.flatten())
    torch.testing.assert_close(
        joint.mixture_variance.flatten(), marginal.mixture_variance.flatten(), atol=1e-7, rtol=1e-5
    )


def test_a_second_prediction_does_not_factorise_again(fitted, monkeypatch):
    fitted.posterior(grid_of(0))
    monkeypatch.setattr("headstart.models.ensemble.safe_cholesky", lambda matrix: pytest.fail("again"))
    fitted.posterior(grid_of(1))


def test_precision_stays_double(fitted):
    fitted.to(torch.float32)
    assert fitted.train_X.dtype == torch.float64
    assert fitted.posterior(grid_of(0).float()).mean.dtype == torch.float64


def test_wrong_use_is_a_clear_error(archive, fitted):
    X, Y, _ = archive
    with pytest.raises(NotFittedError, match="fit"):
        BEGP(X, Y, {1: 6}).posterior(X)
    with pytest.raises(ProblemError, match="does not exist"):
        BEGP(X, Y, {2: 6})
    with pytest.raises(ProblemError, match="No general input"):
        BEGP(X, Y, {})
    with pytest.raises(ProblemError, match="twice"):
        BEGP(X, Y, {1: 6, -1: 6})
    with pytest.raises(DataError, match="at least one row"):
        BEGP(X[:0], Y[:0], {1: 6})
    with pytest.raises(DataError, match="expected 25 x 1"):
        BEGP(X, torch.cat([Y, Y], -1), {1: 6})
    gap = X.clone()
    gap[3, 0] = float("nan")
    with pytest.raises(DataError, match="row 3, column 0"):
        BEGP(gap, Y, {1: 6})
    no_code = X.clone()
    no_code[2, 1] = 0.5
    with pytest.raises(DataError, match=r"Row 2, column 1 holds 0\.5"):
        BEGP(no_code, Y, {1: 6})
    with pytest.raises(DataError, match="negative"):
        BEGP(X, Y, {1: 6}, train_Yvar=-torch.ones_like(Y))
    with pytest.raises(DataError, match="batch_shape x q x 2"):
        fitted.posterior(torch.rand(3, 5))
    with pytest.raises(DataError, match="NaN"):
        fitted.posterior(torch.tensor([[float("nan"), 0.0]]))
    with pytest.raises(DataError, match="noise variances"):
        fitted.observe(X[:1], Y[:1], torch.ones(1, 1))
    with pytest.raises(ProblemError, match="not a general input"):
        fitted.embedding(0)
    with pytest.raises(ModelError, match="parameters do not fit"):
        fitted.adopt(torch.zeros(3))
    with pytest.raises(ProblemError, match="Unknown inference"):
        BEGP(X, Y, {1: 6}).fit(inference="sgd")


def test_moments_of_many_points_do_not_fail(fitted):
    points = grid_of(5, points=200).squeeze(-2)
    gaussian = fitted.moment_matched(points)
    assert gaussian.rsample(torch.Size([2])).isfinite().all()


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_second_derivatives_match_finite_differences(archive, kernel):
    X, Y, _ = archive
    model = BEGP(X, Y, {1: 6}, kernel=kernel).fit(seed=0)

    def mean(x: torch.Tensor) -> torch.Tensor:
        return model.posterior(torch.stack([x, torch.full_like(x, 5.0)], -1).unsqueeze(-2)).mixture_mean.sum()

    x = torch.tensor([0.37], dtype=torch.float64)
    step = 1e-4
    expected = (mean(x + step) - 2 * mean(x) + mean(x - step)) / step**2
    assert torch.autograd.functional.hessian(mean, x).item() == pytest.approx(expected.item(), rel=1e-3)


def test_second_derivatives_of_the_likelihood_are_refused_rather_than_wrong(fitted):
    p = {n.removeprefix("kernel."): v for n, v in fitted.hyperparameters().items() if n.startswith("kernel.")}
    inputs = torch.rand(5, 4, dtype=torch.float64, requires_grad=True)
    value = fitted.structure.kernel.log_density(p, inputs, torch.ones(5).double(), torch.ones(5).double())
    with pytest.raises(ModelError, match="first derivatives only"):
        torch.autograd.grad(value, inputs, create_graph=True)


def test_noise_tensors_broadcast_as_in_botorch(fitted):
    X = torch.rand(2, 3, 4, 2, dtype=torch.float64)
    X[..., 1] = 1
    plain = fitted.posterior(X).variance
    for shape in [(2, 3, 4, 1), (3, 4, 1), (2, 1, 4, 1), (1, 1)]:
        noise = torch.rand(shape, dtype=torch.float64)
        added = fitted.posterior(X, observation_noise=noise).variance - plain
        torch.testing.assert_close(added, noise.broadcast_to(2, 3, 4, 1).unsqueeze(2).expand_as(added))
    with pytest.raises(DataError, match="observation_noise has shape"):
        fitted.posterior(X, observation_noise=torch.rand(5, 1))
    with pytest.raises(DataError, match="negative"):
        fitted.posterior(X, observation_noise=-torch.ones(1, 1))


def test_a_state_dict_moves_the_parameters(archive, fitted):
    X, Y, _ = archive
    other = BEGP(X, Y, {1: 6}, kernel="rbf")
    other.load_state_dict(fitted.state_dict())
    torch.testing.assert_close(other.posterior(grid_of(5)).mean, fitted.posterior(grid_of(5)).mean)
    refitted = BEGP(X, Y + 1, {1: 6}, kernel="rbf").fit(seed=0)
    refitted.posterior(grid_of(5))
    refitted.load_state_dict(fitted.state_dict())  # what was computed before is forgotten
    torch.testing.assert_close(refitted.posterior(grid_of(5)).mean - 1, fitted.posterior(grid_of(5)).mean)


def test_models_can_be_copied(archive):
    X, Y, _ = archive
    for kernel in ("matern52", gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=4))):
        model = BEGP(X, Y, {1: 6}, kernel=kernel).fit(seed=0)
        torch.testing.assert_close(copy.deepcopy(model).posterior(grid_of(5)).mean, model.posterior(grid_of(5)).mean)


def test_frozen_kernel_parameters_stay(archive):
    X, Y, _ = archive
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=4))
    kernel.base_kernel.raw_lengthscale.requires_grad_(False)
    model = BEGP(X, Y, {1: 6}, kernel=kernel).fit(seed=0)
    assert "kernel.base_kernel.raw_lengthscale" not in model.hyperparameters()
    assert torch.isfinite(model.posterior(grid_of(5)).mean).all()


def test_bounds_and_latent_dimensions_are_checked(archive):
    X, Y, _ = archive
    with pytest.raises(ProblemError, match=r"column 0 are 1\.0 and 0\.0"):
        BEGP(X, Y, {1: 6}, bounds=torch.tensor([[1.0, 0.0], [0.0, 5.0]]))
    with pytest.raises(ProblemError, match="expected 2 x 2"):
        BEGP(X, Y, {1: 6}, bounds=torch.tensor([0.0, 1.0]))
    with pytest.raises(ProblemError, match="latent_dim"):
        BEGP(X, Y, {1: 6}, latent_dim={0: 2})
    with pytest.raises(ProblemError, match="at least 1"):
        BEGP(X, Y, {1: 6}, latent_dim=0)
