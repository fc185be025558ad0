"""Many models trained as one batch.

Models of one structure with as many seen levels each (the held-out tasks and seeds of an experiment, say) share every
operation: a covariance matrix a model, restart and draw. On a GPU, which one model cannot fill, that is what makes
hundreds of fits affordable. Models with as many rows get the answers of one fit at a time, up to rounding; where rows
differ, all take the number of draws that suits the longest.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headstart.errors import ModelError
from headstart.models.begp import BEGP
from headstart.models.elbo import TrainingData
from headstart.models.ensemble import Ensemble, Members
from headstart.models.hmc import sample_chains
from headstart.models.inference import HMC, LBFGS, WARM, Objective, Progress, maximise
from headstart.shapes import Float

# Entries of the covariance matrices that are factorised at once.
_ENTRIES = 2**29


def fit_together(
    models: Sequence[BEGP],
    *,
    seeds: Sequence[int],
    inference: LBFGS | None = None,
    starts: Float[Tensor, "p r P"] | None = None,
    progress: Progress | None = None,
) -> None:
    """Fit every model in place, as `model.fit(seed=seed)` would.

    Args:
        models: of one kernel, embedding, device and number of seen levels; rows may differ in number.
        seeds: one a model.
        inference: L-BFGS-B with settings of its own.
        starts: parameter vectors to begin from, r a model, instead of scattered ones.
        progress: called with the evaluations so far and the best ELBO, after each evaluation of all.

    >>> X = torch.tensor([[0.1, 0], [0.5, 0], [0.9, 0], [0.2, 1], [0.7, 1]])
    >>> Y = torch.tensor([[0.0], [1.0], [0.3], [0.2], [1.1]])
    >>> both = [BEGP(X, Y, general={1: 2}), BEGP(X[:4], Y[:4], general={1: 2})]
    >>> fit_together(both, seeds=[0, 1])
    >>> [model.posterior(X[:1]).mixture_mean.shape for model in both]
    [torch.Size([1, 1]), torch.Size([1, 1])]
    """
    strategy = inference or LBFGS()
    data = [model.begin(seed) for model, seed in zip(models, seeds, strict=True)]
    objective = _stacked(models, data)
    if starts is None:
        starts = torch.stack([objective.layout.starts(strategy.restarts, seed=seed) for seed in seeds])
    for model, found in zip(models, maximise(objective, starts, strategy, progress), strict=True):
        model.end(found)
    _factorise(models)


def observe_together(
    models: Sequence[BEGP], X: Sequence[Tensor], Y: Sequence[Tensor], *, inference: LBFGS = WARM
) -> list[BEGP]:
    """Every model with further rows, `n' x d` and `n' x 1` for each, refitted as `model.observe` would."""
    grown = [model.condition_on_observations(x, y) for model, x, y in zip(models, X, Y, strict=True)]
    for model in models:
        model.forget()  # factorised once, hundreds of models fill a GPU
    starts = [model.warm_starts(x.to(model.train_X), inference.restarts) for model, x in zip(grown, X, strict=True)]
    most = max(map(len, starts))
    alike = torch.stack([start if len(start) == most else start[:1].expand(most, -1) for start in starts])
    fit_together(grown, seeds=[model.seed for model in models], inference=inference, starts=alike)
    for sampler in dict.fromkeys(model.sampler for model in models):
        if sampler is not None:
            sample_together([new for new, old in zip(grown, models, strict=True) if old.sampler == sampler], sampler)
    return grown


def sample_together(models: Sequence[BEGP], strategy: HMC) -> None:
    """Replace the variational solution of every model by draws, as `model.sample` would."""
    objective = _stacked(models, [model.resume() for model in models])
    chains, draws = min(model.chains for model in models), max(model.variational_draws for model in models)
    solutions = torch.stack([model.variational_solution for model in models])
    sampled = sample_chains(objective, solutions, strategy, chains=chains, draws=draws)
    for model, own in zip(models, sampled, strict=True):
        model.take_draws(own[: model.variational_draws], strategy)
    _factorise(models)


def _stacked(models: Sequence[BEGP], data: Sequence[TrainingData]) -> Objective:
    structure, levels, device = models[0].structure, data[0].levels, models[0].train_X.device
    if any(
        (m.structure, d.levels, m.train_X.device) != (structure, levels, device)
        for m, d in zip(models, data, strict=True)
    ):
        raise ModelError("Models that are fitted together need one kernel, embedding, device and number of levels.")
    stacked = TrainingData.stack(data, device=device)
    return Objective(structure, structure.layout(data[0]), stacked, tuple(model.seed for model in models))


def _factorise(models: Sequence[BEGP]) -> None:
    """What the first prediction of each model would do one by one; models that differ in size are left to it."""
    if len({(len(model.train_X), model.posterior_draws) for model in models}) > 1:
        return
    size = max(_ENTRIES // (models[0].posterior_draws * len(models[0].train_X) ** 2), 1)
    with torch.no_grad():
        for start in range(0, len(models), size):
            some = models[start : start + size]
            joint = Ensemble.condition(Members.join([model.members() for model in some]))
            for model, ensemble in zip(some, joint.split(models[0].posterior_draws), strict=True):
                model.use(ensemble)
