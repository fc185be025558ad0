r"""Tasks unlike any other: how likely is it that what the others did says nothing about a task?

Every task is, with a small probability pi, *apart*: then it is of typical size, and shares hyperparameters with the
others and nothing else. Without that, a model whose old tasks all agree is sure of a new one, and a measurement that
contradicts them all has to be explained by them nevertheless. With rows y_t of a task the odds are, by Bayes' rule,

    odds_t = pi / (1 - pi) * p(y_t) / p(y_t | y_rest),
    p(y_t) / p(y_t | y_rest) = E[p(y_t | theta) / p(y_t | y_rest, Z, theta)],

the expectation over the posterior of Z and theta in which no task is apart: an average over the draws that there are,
of that posterior or of its variational approximation. p(y_t) is that of theta alone, which the other tasks inform.
Both densities are those of blocks. With P = K^-1, a = K^-1 r and indices t for the rows of the task,

    log p(y_t | y_rest) = -1/2 a_t^T P_tt^-1 a_t + 1/2 log det P_tt,
    log p(y_t)          = -1/2 r_t^T K_tt^-1 r_t - 1/2 log det K_tt,

up to one constant. In as many of the draws as the probability says the task is apart: those in which the others explain
it worst, a heuristic that lets the remaining draws agree with it. With twenty draws or more it is one at least, as long
as the task has few rows: a finite number of draws cannot tell the improbable from the impossible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.models.ensemble import Ensemble, Members
from headstart.models.linalg import safe_cholesky
from headstart.shapes import Bool, Float, Int

# A task with more rows than this is predicted from its own rows, apart or not.
_MOST_ROWS = 32


@dataclass(frozen=True)
class TasksApart:
    """Which tasks are apart in which draws.

    Attributes:
        tasks: the levels of each task with rows, by position.
        flags: whether it is apart; the last column is that of tasks without rows.
    """

    tasks: Int[Tensor, "t g"]
    flags: Bool[Tensor, "s t1"]

    @classmethod
    def infer(cls, members: Members, ensemble: Ensemble, positions: Int[Tensor, "n g"], share: float) -> TasksApart:
        """From the draws in which none is."""
        tasks, owner = positions.unique(dim=0, return_inverse=True)
        log_ratios = _log_ratios(members, ensemble, owner, *tasks.shape)
        draws = len(log_ratios)
        log_mean = log_ratios.logsumexp(0) - math.log(draws)
        # An average of ratios may hang on a single draw: none counts for more than so many times the average.
        capped = log_ratios.minimum(log_mean + 0.5 * math.log(draws))
        log_odds = math.log(share) - math.log1p(-share) + capped.logsumexp(0) - math.log(draws)
        probability = torch.cat([torch.sigmoid(log_odds), log_odds.new_tensor([share])])
        count = (probability * draws).round()
        # However sure, few draws must not call a surprise impossible: one stays, where that is no more than the share.
        if draws * share >= 1:
            count[:-1] = torch.where(log_odds > -math.inf, count[:-1].clamp_min(1.0), count[:-1])
        # Of a task without rows, any draws will do.
        any_order = torch.rand(draws, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(log_odds)
        rank = torch.cat([log_ratios, any_order], dim=-1).argsort(0, descending=True).argsort(0)
        return cls(tasks, rank < count)

    @property
    def affected(self) -> Int[Tensor, " k"]:
        """The draws in which a task that has rows is apart."""
        return self.flags[:, :-1].any(-1).nonzero().squeeze(-1)

    def mark(self, joint: Float[Tensor, "s n d"], positions: Int[Tensor, "n g"]) -> Float[Tensor, "s n d"]:
        """The levels, last in the inputs, turned negative where the row's task is apart."""
        equal = (positions.unsqueeze(1) == self.tasks).all(-1)
        which = torch.where(equal.any(-1), equal.to(torch.uint8).argmax(-1), len(self.tasks))
        return torch.where(self.flags[:, which].unsqueeze(-1), _marked(joint, positions.shape[-1]), joint)


def _marked(joint: Float[Tensor, "*b d"], levels: int) -> Float[Tensor, "*b d"]:
    """The rows as those of tasks apart: with so many levels, last in the inputs, turned negative."""
    inner, last = joint.split([joint.shape[-1] - levels, levels], dim=-1)
    return torch.cat([inner, -1.0 - last], dim=-1)


def _log_ratios(
    members: Members, ensemble: Ensemble, owner: Int[Tensor, " n"], tasks: int, levels: int
) -> Float[Tensor, "s t"]:
    """log p(y_t | theta) - log p(y_t | y_rest, Z, theta) of every draw and task, whose levels are so many.

    It is -inf of tasks with many rows, and of a task that has no others.
    """
    ratios = ensemble.weights.new_full((len(ensemble.inputs), tasks), -math.inf)
    counts = torch.bincount(owner, minlength=tasks)
    order, start = owner.argsort(stable=True), counts.cumsum(0) - counts
    for size in counts[counts <= _MOST_ROWS].unique().tolist() if tasks > 1 else []:
        of_size = (counts == size).nonzero().squeeze(-1)
        rows = order[start[of_size, None] + torch.arange(size, device=owner.device)]
        ratios[:, of_size] = _alone(members, ensemble, rows, levels) - _with_others(ensemble, rows)
    return ratios


def _with_others(ensemble: Ensemble, rows: Int[Tensor, "t m"]) -> Float[Tensor, "s t"]:
    """log p(y_t | y_rest) of tasks with m rows each, without its constant."""
    columns = ensemble.whitener[:, :, rows.flatten()].reshape(*ensemble.whitener.shape[:2], *rows.shape)
    fit, half_log_det = _quadratic_and_half_log_det(
        torch.einsum("sntv,sntw->stvw", columns, columns), ensemble.weights[:, rows]
    )
    return fit + half_log_det


def _alone(members: Members, ensemble: Ensemble, rows: Int[Tensor, "t m"], levels: int) -> Float[Tensor, "s t"]:
    """log p(y_t) likewise, of tasks apart."""
    inputs = _marked(ensemble.inputs[:, rows], levels)
    parameters = {name: value.unsqueeze(1) for name, value in ensemble.parameters.items()}
    noise = members.row_noise.expand(len(inputs), -1)[:, rows]
    K = members.kernel.covariance(parameters, inputs, inputs) + torch.diag_embed(noise)
    residual = (members.y - members.mean.unsqueeze(-1)).expand(len(inputs), -1)[:, rows]
    fit, half_log_det = _quadratic_and_half_log_det(K, residual)
    return fit - half_log_det


def _quadratic_and_half_log_det(
    blocks: Float[Tensor, "s t m m"], residual: Float[Tensor, "s t m"]
) -> tuple[Float[Tensor, "s t"], Float[Tensor, "s t"]]:
    """-1/2 r^T B^-1 r and 1/2 log det B."""
    factor = safe_cholesky(blocks)
    white = torch.linalg.solve_triangular(factor, residual.unsqueeze(-1), upper=False)
    return -0.5 * white.square().sum((-2, -1)), factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
