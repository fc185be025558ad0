"""What is timed: one function a contender, each doing the same job on the same data."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import torch
from botorch.fit import fit_fully_bayesian_model_nuts, fit_gpytorch_mll
from botorch.models import MultiTaskGP
from botorch.models.fully_bayesian_multitask import SaasFullyBayesianMultiTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.problems import Timed, family
from headstart.acquisition import Space, choose_from_space
from headstart.limits import default_inference
from headstart.models import BEGP
from headstart.models.evidence import AnyKernel, fit_likeliest, kernels_to_try
from headstart.models.known_kernels import DEFAULT_KERNEL

Seconds = dict[str, float]


def headstart(timed: Timed, device: str) -> Seconds:
    """The model of `headstart.fit`: a cold fit, then updates with one row of a new task, each with a suggestion."""
    cold, model = _timed(lambda: _cold_fit(timed, device), device)
    first, _ = _timed(lambda: _suggest(model, timed), device)
    warm = []
    for row in range(5):
        update, model = _timed(
            lambda m=model, r=row: m.observe(timed.new_X[[r]].to(device), timed.new_Y[[r]].to(device)), device
        )
        suggestion, _ = _timed(lambda m=model: _suggest(m, timed), device)
        warm.append((update, suggestion))
    updates, suggestions = (sorted(column)[2] for column in zip(*warm, strict=True))
    return {"fit": cold, "zero-shot suggestion": first, "update": updates, "suggestion": suggestions}


def multi_task_gp(timed: Timed, device: str) -> Seconds:
    """BoTorch's MultiTaskGP, fitted at its defaults."""
    seconds, _ = _timed(lambda: _fit_multi_task(timed), device)
    return {"fit": seconds}


def saas_multi_task_gp(timed: Timed, device: str) -> Seconds:
    """BoTorch's SaasFullyBayesianMultiTaskGP, NUTS at its defaults; it can predict a task without data."""

    def fit() -> SaasFullyBayesianMultiTaskGP:
        everyone = list(range(timed.tasks + 1))
        model = SaasFullyBayesianMultiTaskGP(timed.X, timed.Y, task_feature=-1, all_tasks=everyone)
        fit_fully_bayesian_model_nuts(model, disable_progbar=True)
        return model

    seconds, _ = _timed(fit, device)
    return {"fit": seconds}


CONTENDERS: dict[str, Callable[[Timed, str], Seconds]] = {
    "headstart": headstart,
    "MultiTaskGP": multi_task_gp,
    "SaasFullyBayesianMultiTaskGP": saas_multi_task_gp,
}


def warm_up(contender: str, device: str) -> None:
    """Pay for imports, thread pools and GPU libraries before the clock runs."""
    if contender == "headstart":
        headstart(family(2, 4), device)
    elif contender == "MultiTaskGP":
        _fit_multi_task(family(2, 3))


def peak_memory_gb() -> float:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _cold_fit(timed: Timed, device: str) -> BEGP:
    bounds = torch.zeros(2, timed.X.shape[-1], dtype=torch.float64)
    bounds[1] = 1.0

    def build(kernel: AnyKernel, some: torch.Tensor) -> BEGP:
        general = {-1: timed.tasks + 1}
        return BEGP(timed.X[some], timed.Y[some], general, bounds=bounds, device=device, kernel=kernel)

    kernels, rows = kernels_to_try(DEFAULT_KERNEL), len(timed.X)
    inference = default_inference(build(kernels[0], torch.arange(rows)))
    return fit_likeliest(build, kernels, rows, seed=0, inference=inference)


def _suggest(model: BEGP, timed: Timed) -> torch.Tensor:
    task = float(timed.tasks)
    box = torch.zeros_like(model.train_X[:2])
    box[1] = 1.0
    measured = model.train_X[model.train_X[:, -1] == task]
    space = Space(box, {box.shape[-1] - 1: task})
    choice = choose_from_space(model, space, measured, measured[:0], measured[:0], n=1, acquisition="auto", seed=0)
    return choice.points[0]


def _fit_multi_task(timed: Timed) -> MultiTaskGP:
    model = MultiTaskGP(timed.X, timed.Y, task_feature=-1)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _timed(work: Callable, device: str) -> tuple[float, object]:
    began = time.perf_counter()
    result = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began, result
