r"""NUTS over latents and hyperparameters: the gold standard, and the paper's baseline's inference.

The No-U-Turn sampler (NumPyro, extra `nuts`) draws from what variational inference approximates:

    log p(Z, theta | y) = log p(y | Z, theta) + log N(Z | 0, I) + log p(theta) + const

with theta the mean, the noise and the kernel's parameters, each in the coordinate of its `Layout`
(positive ones in their logarithm). p(theta) is the layout's Gaussian in that coordinate, cut off at
its bounds, such as the noise's floor. So that the sampler never meets a bound, it moves in
u with theta = low + (high - low) sigmoid(u), and the Jacobian of that map keeps the density of
theta what it was. Z has no bounds.

The density is written here a second time, in JAX, by the shortest way and with automatic gradients.
It shares no code with the one that is optimised, so each is a test of the other.

Rows beyond the data pad them to a fixed size, masked out exactly. All that differs between two fits
of one campaign is then an argument, and the whole sampler, one function, is compiled once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from headstart.errors import MissingExtraError, ModelError, ProblemError
from headstart.models.elbo import Structure, TrainingData, section
from headstart.models.embedding import SampledEmbedding
from headstart.models.inference import NUTS, Objective
from headstart.models.kernels import RBF, Kernel, Matern52
from headstart.models.known_kernels import KERNELS
from headstart.models.parameters import Layout
from headstart.models.residual import TaskResidual
from headstart.models.threads import threads_for
from headstart.shapes import Bool, Float, Int

try:
    import jax
    import jax.numpy as jnp
    from numpyro.infer.hmc import HMCState, hmc
except ImportError as error:  # pragma: no cover - the tests have the extra
    raise MissingExtraError("NUTS", extra="nuts") from error

Array: TypeAlias = jax.Array | np.ndarray

_SMALLEST_PADDING = 16
# A start on a bound is infinitely far away in u.
_MARGIN = 0.01


class Given(NamedTuple):
    """What a density is conditioned on: arrays, any of which may change without compiling again.

    Rows outside `mask` are padding. `noise` is used only where it is known; `low` and `high` are
    infinite for Z.
    """

    x: Float[Array, "n x"]
    positions: Int[Array, "n g"]
    y: Float[Array, " n"]
    noise: Float[Array, " n"]
    mask: Bool[Array, " n"]
    prior_mean: Float[Array, " P"]
    prior_precision: Float[Array, " P"]
    low: Float[Array, " P"]
    high: Float[Array, " P"]


@dataclass(frozen=True)
class Target:
    """The form of a density: which profile k(r^2), and which parameters in which order.

    The first `frozen` coordinates are held where they start.
    """

    profile: str
    entries: tuple[tuple[str, tuple[int, ...]], ...]
    frozen: int = 0

    @classmethod
    def of(cls, kernel: Kernel, layout: Layout) -> Target:
        """The parameters of a layout."""
        profile = kernel.shared if isinstance(kernel, TaskResidual) else kernel
        if type(profile) not in (Matern52, RBF):
            raise ModelError(
                f"NUTS knows the kernels {', '.join(map(repr, KERNELS))}, not {kernel.name!r}: fit this model "
                "with inference='lbfgs', or choose one of these."
            )
        entries = tuple((name, entry.shape) for name, entry in layout.entries.items())
        return cls(profile.name, entries)

    def unpack(self, vector: Float[Array, " P"]) -> dict[str, jax.Array]:
        """The parameters by name."""
        ends = np.cumsum([math.prod(shape) for _, shape in self.entries])
        pieces = jnp.split(vector, ends[:-1])
        return {name: piece.reshape(shape) for (name, shape), piece in zip(self.entries, pieces, strict=True)}


# ---------------------------------------------------------------------- the density


def _matern52(r2: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """(1 + t + t^2/3) exp(-t), t = sqrt(5 r^2), with the derivative 0 that it has at r = 0."""
    apart = r2 > 0.0
    t = jnp.where(apart, jnp.sqrt(5.0 * jnp.where(apart, r2, 1.0)), 0.0)
    return (1.0 + t + t**2 / 3.0) * jnp.exp(-t)


def _rbf(r2: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """exp(-r^2 / 2)."""
    return jnp.exp(-0.5 * r2)


_PROFILES: dict[str, Callable[[Array], Array]] = {"matern52": _matern52, "rbf": _rbf}


def log_density(target: Target, given: Given, vector: Float[Array, " P"]) -> Float[Array, ""]:
    """log p(y | Z, theta) + log N(Z | 0, I) + log p(theta), the last two without constants."""
    p = target.unpack(vector)
    latents = [p[name] for name, _ in target.entries if name.startswith("embedding.")]
    rows = [z[given.positions[:, g]] for g, z in enumerate(latents)]
    inputs = jnp.concatenate([given.x, *rows], axis=-1)
    log_l = jnp.concatenate([p["kernel.log_lengthscale"], p["kernel.log_latent_lengthscale"]])

    # r^2 = sum_i ((x_i - x'_i) / l_i)^2,  K = s_k^2 k(r^2) + s_y^2 I; padding is the identity.
    difference = (inputs[:, None, :] - inputs[None, :, :]) * jnp.exp(-log_l)
    K = jnp.exp(p["kernel.log_outputscale"]) * _PROFILES[target.profile]((difference**2).sum(-1))
    if "kernel.log_residual_scale" in p:  # + [same task] s_r^2 k(r_r^2)
        same = (given.positions[:, None, :] == given.positions[None, :, :]).all(-1)
        in_x = (given.x[:, None, :] - given.x[None, :, :]) * jnp.exp(-p["kernel.log_residual_lengthscale"])
        own = jnp.exp(p["kernel.log_residual_scale"]) * _PROFILES[target.profile]((in_x**2).sum(-1))
        K = K + jnp.where(same, own, 0.0)
    if "kernel.amplitude_slope" in p:  # a a'^T * K
        amplitude = jnp.exp(jnp.concatenate(rows, axis=-1) @ p["kernel.amplitude_slope"])
        K = amplitude[:, None] * K * amplitude[None, :]
    noise = jnp.exp(p["log_noise"]) if "log_noise" in p else given.noise
    both = given.mask[:, None] & given.mask[None, :]
    K = jnp.where(both, K, 0.0) + jnp.diag(jnp.where(given.mask, noise, 1.0))

    # log N(y | mu, K) with K = L L^T and w = L^-1 (y - mu)
    L = jnp.linalg.cholesky(K)
    residual = jnp.where(given.mask, given.y - p["mean"], 0.0)
    w = jax.scipy.linalg.solve_triangular(L, residual, lower=True)
    constant = 0.5 * given.mask.sum() * math.log(2.0 * math.pi)
    fit = -0.5 * w @ w - jnp.log(jnp.diagonal(L)).sum() - constant
    return fit - 0.5 * (given.prior_precision * (vector - given.prior_mean) ** 2).sum()


# ---------------------------------------------------------------------- the sampler


def sample_posterior(objective: Objective, vector: Float[Tensor, " P"], strategy: NUTS) -> Float[Tensor, "s P2"]:
    """Draws of Z and the hyperparameters, from a variational solution on.

    Each of `strategy.chains` chains starts at the solution's means, adapts for `warmup` iterations
    and then keeps every `thinning`-th, until there are `samples` draws in all chains together.
    Without `strategy.hyperparameters` these stay as they are in `vector`. Draws follow the layout
    in which every embedding is a `SampledEmbedding`.
    """
    structure, data = objective.structure, objective.data
    layout, target, given = posterior_of(structure, data)
    if not strategy.hyperparameters:
        target = replace(target, frozen=int(np.isfinite(given.low).sum()))
    with torch.no_grad():
        parameters = objective.layout.unpack(vector.to(data.x))
        for g, family in enumerate(structure.embeddings):
            # eps = 0 is the centre of q(Z), whatever the family calls its parameters.
            centre = data.x.new_zeros(1, data.levels[g], structure.latent_dims[g])
            latents = family.latents(section(parameters, f"embedding.{g}"), centre)
            parameters[f"embedding.{g}.mean"] = latents.squeeze(-3)
        start = layout.pack(parameters)
    return _sample(target, given, start, strategy, objective.seeds[0]).to(vector.device)


def posterior_of(structure: Structure, data: TrainingData) -> tuple[Layout, Target, Given]:
    """The joint posterior of the hyperparameters and, after them, Z."""
    sampled = replace(structure, embeddings=(SampledEmbedding(),) * len(structure.embeddings))
    layout = sampled.layout(data)
    is_latent = np.repeat(
        [name.startswith("embedding.") for name in layout.entries],
        [entry.size for entry in layout.entries.values()],
    )
    mean, precision = (moment.numpy() for moment in layout.prior)
    given = _given(layout, data, mean, np.where(is_latent, 1.0, precision), len(data.y))
    low, high = np.where(is_latent, -np.inf, given.low), np.where(is_latent, np.inf, given.high)
    return layout, Target.of(structure.kernel, layout), given._replace(low=low, high=high)


def sample_hyperparameters(
    kernel: Kernel,
    layout: Layout,
    data: TrainingData,
    prior_mean: Float[Tensor, " P"],
    prior_sd: Float[Tensor, " P"],
    strategy: NUTS,
    *,
    seed: int,
) -> Float[Tensor, "s P"]:
    """Draws of theta of a GP without latents; its prior is Gaussian, cut off at the bounds.

    The data are padded to 16, 32, 64, ... rows: a growing campaign compiles once a doubling.
    """
    precision = prior_sd.cpu().numpy() ** -2.0
    given = _given(layout, data, prior_mean.cpu().numpy(), precision, padded_rows(len(data.y)))
    drawn = _sample(Target.of(kernel, layout), given, prior_mean, strategy, seed)
    return drawn.to(data.x.device)


def padded_rows(rows: int) -> int:
    """The size that data are padded to.

    >>> padded_rows(3), padded_rows(16), padded_rows(17)
    (16, 16, 32)
    """
    return max(_SMALLEST_PADDING, 1 << (rows - 1).bit_length())


def _given(layout: Layout, data: TrainingData, mean: np.ndarray, precision: np.ndarray, rows: int) -> Given:
    def padded(values: Tensor) -> np.ndarray:
        array = values.detach().cpu().numpy()
        return np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])

    low, high = layout.bounds.T
    return Given(
        x=padded(data.x),
        positions=padded(data.positions),
        y=padded(data.y),
        noise=padded(torch.zeros_like(data.y) if data.noise is None else data.noise),
        mask=np.arange(rows) < len(data.y),
        prior_mean=mean,
        prior_precision=precision,
        low=low,
        high=high,
    )


def _sample(target: Target, given: Given, start: Tensor, strategy: NUTS, seed: int) -> Float[Tensor, "s P"]:
    if min(strategy.warmup, strategy.samples, strategy.thinning, strategy.chains) < 1:
        raise ProblemError(f"{strategy}: every number must be at least 1.")
    if strategy.samples % strategy.chains:
        raise ProblemError(
            f"{strategy.samples} samples cannot be shared equally by {strategy.chains} chains: choose a multiple."
        )
    # LAPACK's threads cost matrices of this size up to a thousand times what they give.
    with _jax_in_float64(), threads_for(len(given.y) ** 2):
        key = jax.random.key(seed)
        drawn, value = _chains(target, strategy, given, start.cpu().numpy(), key)
        draws = np.array(drawn)
    if not (np.isfinite(value) and np.isfinite(draws).all()):
        raise ModelError("NUTS starts where the density is not finite. Look for extreme values in the data.")
    return torch.from_numpy(draws).flatten(0, 1)


@partial(jax.jit, static_argnames=("target", "strategy"))
def _chains(
    target: Target, strategy: NUTS, given: Given, start: Float[Array, " P"], key: jax.Array
) -> tuple[Float[Array, "c s P"], Float[Array, ""]]:
    """Draws of every chain, and the log density where they start."""
    free = slice(target.frozen, None)
    low, high = given.low[free], given.high[free]
    bounded = jnp.isfinite(low)
    low, width = jnp.where(bounded, low, 0.0), jnp.where(bounded, high - low, 1.0)

    def constrained(u: jax.Array) -> jax.Array:
        theta = jnp.where(bounded, low + width * jax.nn.sigmoid(u), u)
        return jnp.concatenate([start[: target.frozen], theta])

    def potential(u: jax.Array) -> Array:
        # log |d theta / du| = log sigmoid(u) + log sigmoid(-u), up to a constant
        log_jacobian = jnp.where(bounded, jax.nn.log_sigmoid(u) + jax.nn.log_sigmoid(-u), 0.0)
        return -log_density(target, given, constrained(u)) - log_jacobian.sum()

    inside = jnp.clip((start[free] - low) / width, _MARGIN, 1.0 - _MARGIN)
    u = jnp.where(bounded, jax.scipy.special.logit(inside), start[free])
    begin, step = hmc(potential, algo="NUTS")

    def chain(key: jax.Array) -> jax.Array:
        def advance(state: HMCState, iterations: int) -> HMCState:
            return jax.lax.fori_loop(0, iterations, lambda _, last: step(last), state)

        def keep(state: HMCState, _: None) -> tuple[HMCState, jax.Array]:
            state = advance(state, strategy.thinning)
            return state, constrained(state.z)

        state = advance(begin(u, strategy.warmup, rng_key=key), strategy.warmup)
        return jax.lax.scan(keep, state, length=strategy.samples // strategy.chains)[1]

    # One after the other: side by side, each step would wait for the slowest chain, and cost twice.
    return jax.lax.map(chain, jax.random.split(key, strategy.chains)), -potential(u)


@contextmanager
def _jax_in_float64() -> Iterator[None]:
    """On the CPU, where small matrices are fastest; the caller's settings stay as they are."""
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield
