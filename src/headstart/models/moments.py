r"""The moment-matched Gaussian of the predictive distribution, in closed form for the RBF kernel.

The levels of a task that has no data have z* ~ N(0, I), independent of everything. For the RBF kernel the first two
moments over z* are Gaussian integrals (Girard et al. 2003; Titsias and Lawrence 2010). With w = z / l the scaled
latents, w* ~ N(0, diag v), v_d = l_d^-2, and all other coordinates, known within a draw, in k_x:

    e_i  = E[k(w*, w_i)]             = prod_d (1 + v_d)^-1/2  exp(-w_id^2 / (2 (1 + v_d)))
    Q_ij = E[k(w*, w_i) k(w*, w_j)]  = exp(-|w_i - w_j|^2 / 4) prod_d (1 + 2 v_d)^-1/2 exp(-wbar_d^2 / (1 + 2 v_d))

with wbar = (w_i + w_j) / 2. Then, for points x and x' of that task, k_x the row of s_k^2 k_x(x, x_i),

    E[f(x)]          = mu + k_x (e * a)
    Cov[f(x), f(x')] = s_k^2 k_x(x, x') + k_x (Q * (a a^T - K^-1)) k_x'^T - (k_x (e * a)) (k_x' (e * a)).

What remains random, the latents of the training rows, is averaged over the ensemble's draws.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headstart.models.ensemble import Ensemble, with_jitter
from headstart.models.kernels import RBF
from headstart.models.marginal_likelihood import squared_distance
from headstart.shapes import Bool, Float


def rbf_moments(
    ensemble: Ensemble,
    inputs: Float[Tensor, "b s q d"],
    free: Bool[Tensor, " d"],
) -> tuple[Float[Tensor, "b s q"], Float[Tensor, "b s q q"]]:
    """Mean and covariance of f a draw, with the `free` coordinates of `inputs` integrated over N(0, I)."""
    scale = RBF.inverse_lengthscale(ensemble.parameters)
    variance = ensemble.parameters["log_outputscale"].exp()[..., None, None]
    known = inputs[..., ~free] * scale[..., ~free]
    known_rows = ensemble.inputs[..., ~free] * scale[..., ~free]
    k_x = variance * (-0.5 * squared_distance(known, known_rows)).exp()
    prior = variance * (-0.5 * squared_distance(known, known)).exp()

    w = ensemble.inputs[..., free] * scale[..., free]
    v = scale[..., free].square()
    e = ((1 + v).rsqrt() * (-0.5 * w.square() / (1 + v)).exp()).prod(-1)
    # |wbar|^2 / (1 + 2 v) is a squared distance too: that of u_i and -u_j.
    u = 0.5 * w * (1 + 2 * v).rsqrt()
    exponent = -0.25 * squared_distance(w, w) - squared_distance(u, -u)
    Q = exponent.exp() * (1 + 2 * v).rsqrt().prod(-1, keepdim=True)

    a = ensemble.weights
    K_inverse = ensemble.whitener.mT @ ensemble.whitener
    centred = (k_x @ (e * a).unsqueeze(-1)).squeeze(-1)
    inner = Q * (a.unsqueeze(-1) * a.unsqueeze(-2) - K_inverse)
    covariance = prior + k_x @ inner @ k_x.mT - centred.unsqueeze(-1) * centred.unsqueeze(-2)
    covariance = with_jitter(covariance, prior)
    return centred + ensemble.mean.unsqueeze(-1), covariance


def mixture_moments(
    mean: Float[Tensor, "b s q"], covariance: Float[Tensor, "b s q q"]
) -> tuple[Float[Tensor, "b q"], Float[Tensor, "b q q"]]:
    """Mean and covariance of an equally weighted mixture of Gaussians."""
    centre = mean.mean(1)
    deviation = mean - centre.unsqueeze(1)
    between = torch.einsum("bsp,bsq->bpq", deviation, deviation) / mean.shape[1]
    return centre, covariance.mean(1) + between
