"""The surrogate of a problem: fit, predict, suggest, observe. Frames in, frames out, nothing stored.

This is the paper's Algorithm BO, one step a method:

    surrogate = fit(archive, problem)                    train M on D
    point = surrogate.suggest(task)                      x_next = argmax a(x)
    surrogate = surrogate.observe(point with outcome)    D <- D + (x_g*, x_next, y_next)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from headstart.acquisition import (
    Choice,
    Space,
    chance_of_best,
    check_acquisition,
    choose_from_candidates,
    choose_from_space,
    joint_samples,
)
from headstart.errors import (
    DataError,
    FileFormatError,
    ModelError,
    ProblemError,
    checked_whole,
    did_you_mean,
)
from headstart.limits import check_fit, check_size, default_inference
from headstart.models import BEGP
from headstart.models.evidence import AnyKernel, fit_likeliest, kernels_to_try
from headstart.models.inference import Inference, Progress
from headstart.models.known_kernels import AUTO, DEFAULT_KERNEL
from headstart.models.mixture import Mixture
from headstart.models.outcomes import Outcomes
from headstart.models.state import model_class, model_from_state, model_state
from headstart.persistence import from_bytes, read_file, to_bytes, write_file
from headstart.shapes import Float, Int
from headstart.tasks import (
    Levels,
    Problem,
    Rows,
    Table,
    Task,
    rows_from_frame,
    task_codes,
    warn_of_candidates_outside,
    warn_of_far_outcomes,
    warn_of_far_rows,
    warn_of_missed_bounds,
)
from headstart.validation import Progress as TaskProgress
from headstart.validation import validate_tasks
from headstart.version import __version__

_PREDICTION = ("mean", "sd", "lower", "upper", "score")
# Points that a task's best is looked for among, when its chance is asked for.
_SPREAD = 256
# Joint samples for the expected best of a batch.
_SAMPLES = 4096
# Entries of the largest array in a prediction: rows x draws x training rows.
_PREDICTION_SIZE = 2**24
# Squares of larger outcomes overflow.
_LARGEST = 1e150


@dataclass(frozen=True, repr=False)
class Surrogate:
    """A fitted surrogate of one problem. Immutable: `observe` returns another.

    Inside, inputs are scaled to [0, 1] by the problem's bounds, and the objective is counted as `outcomes` says: more
    is better, numbers are near 1 (BoTorch's acquisition functions have absolute floors), and not lopsided.

    Attributes:
        problem: what each column is for.
        levels: the labels of the general inputs, by code.
        model: the BoTorch model.
        outcomes: how it counts outcomes.
        by_evidence: whether its kernel was chosen by the evidence, so that `validate` chooses anew for each task.
    """

    problem: Problem
    levels: Levels
    model: BEGP
    outcomes: Outcomes
    by_evidence: bool = False

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{size} of {name}" for name, size in zip(self.levels.general, self.levels.sizes, strict=True)
        )
        return (
            f"Surrogate({self.problem.goal} {self.problem.objective} over {', '.join(self.problem.inputs)}; "
            f"{len(self.model.train_X)} rows, {counts}; {type(self.model).__name__}, {self.kernel})"
        )

    @property
    def kernel(self) -> str:
        """The name of its kernel."""
        return self.model.structure.kernel.name

    def predict(
        self, rows: Table, *, task: Task | None = None, interval: float = 0.8, noise: bool = True
    ) -> pd.DataFrame:
        """Mean, standard deviation and central interval of the objective at each row.

        Args:
            rows: a table with the inputs and general inputs; labels never seen are tasks without data.
            task: the label of each general input, instead of columns of them.
            interval: the probability that the outcome lies between `lower` and `upper`.
            noise: predict a measurement (True) or the noise-free response (False).
        """
        _check_interval(interval)
        checked, _ = rows_from_frame(rows, self.problem, self.levels, with_objective=False, task=task)
        # All levels never seen are alike, so they share one set of draws: a row's answer does not depend on the others.
        codes = np.minimum(checked.codes, self.levels.sizes)
        frame = self._predictions(self._points(replace(checked, codes=codes)), interval, noise=noise)
        return frame.set_index(rows.index) if isinstance(rows, pd.DataFrame) else frame

    def suggest(
        self,
        task: Task,
        n: int = 1,
        *,
        candidates: Table | None = None,
        pending: Table | None = None,
        avoid: Table | None = None,
        fixed: Mapping[str, Any] | None = None,
        acquisition: str = "auto",
        seed: int = 0,
        interval: float = 0.8,
    ) -> pd.DataFrame:
        """The next `n` experiments for a task, best first, with what the surrogate expects of them.

        What `score` means is in the frame's `attrs["score"]`:

        - "expected improvement" over the task's best mean so far, once it has data;
        - "mean" of the objective for a task without data, and "expected best" of the batch for further points of it;
        - "expected gain" over `candidates`: by how much the best so far, pending ones included, is expected to improve,
          as a share of the range of the task's outcomes; while there is none, "expected share of the range": how far up
          from the worst of the list (0) to the best (1) a candidate is expected to lie. Those measured or pending are
          left out, and of equal ones the first is taken.

        No experiment is suggested that was measured on this task, is pending or is to be avoided.

        Args:
            task: the label of each general input, such as {"catalyst": "new"}; it may be new.
            n: how many experiments are to run at the same time.
            candidates: a table of the possible experiments, when they can be listed.
            pending: a table of experiments of this task that are running; what is suggested takes them into account.
            avoid: a table of experiments of this task that failed or cannot be run: neither these nor, where inputs are
                continuous, others within 5 % of every input's range are suggested.
            fixed: inputs that are not free this time, such as {"flow": 15}.
            acquisition: "auto"; "thompson" for the best points of functions sampled from the posterior; or, of
                candidates, "probability of best", as the paper chooses.
            seed: of the search.
            interval: as in `predict`.
        """
        if isinstance(n, int | float) and n < 1:
            raise ProblemError(f"n={n}: ask for a whole number of experiments, at least one.")
        n = checked_whole("n", n, low=1, high=1000)
        seed = checked_whole("seed", seed)
        _check_interval(interval)
        check_acquisition(acquisition)
        codes, levels = task_codes(task, self.problem, self.levels)
        task_levels = torch.from_numpy(codes).to(self.model.train_X)

        def read(table: Table, *, allow_empty: bool = False) -> Rows:
            return rows_from_frame(
                table, self.problem, levels, with_objective=False, task=task, allow_empty=allow_empty
            )[0]

        measured = self._measured(task_levels)
        running, avoided = (
            self._points(read([] if table is None else table, allow_empty=True)) for table in (pending, avoid)
        )
        if candidates is None:
            space = self._space(task_levels, fixed or {})
            choice = choose_from_space(
                self.model, space, measured, running, avoided, n=n, acquisition=acquisition, seed=seed
            )
            inputs, index = self._in_user_units(choice.points[:, : len(self.problem.inputs)]), None
        else:
            if fixed:
                raise ProblemError("Give candidates or fixed inputs, not both: the candidates say all that is fixed.")
            rows = read(candidates)
            warn_of_candidates_outside(rows, self.problem, stacklevel=3)
            choice = choose_from_candidates(
                self.model,
                self._points(rows),
                measured,
                running,
                avoided,
                n=n,
                acquisition=acquisition,
                seed=seed,
                value=self.outcomes.value,
            )
            inputs = rows.inputs[choice.places]
            index = candidates.index[choice.places] if isinstance(candidates, pd.DataFrame) else pd.Index(choice.places)
        frame = pd.DataFrame(inputs, columns=[*self.problem.inputs])
        frame = frame.assign(**{name: float(value) for name, value in (fixed or {}).items()})
        frame = frame.join(self._predictions(choice.points, interval, noise=True))
        frame["score"] = self._scores(choice, measured, running, frame["mean"], seed)
        frame.attrs["score"] = choice.meaning
        return frame if index is None else frame.set_index(index)

    def chance_to_beat(self, outcome: float, rows: Table, *, task: Task | None = None) -> pd.Series:
        """The probability that the response at each row, noise aside, is better than an outcome."""
        checked, _ = rows_from_frame(rows, self.problem, self.levels, with_objective=False, task=task)
        codes = np.minimum(checked.codes, self.levels.sizes)
        points = self._points(replace(checked, codes=codes))
        with torch.no_grad():
            posterior = self.model.posterior(points.unsqueeze(-2))
            [mark] = self.outcomes.inside(np.array([float(outcome)]))
            ahead = posterior.mean - mark
            chance = torch.special.ndtr(ahead / posterior.variance.sqrt())
        # The mean over draws, which are the third dimension from behind.
        return pd.Series(chance.mean(-3).flatten().cpu().numpy(), name="chance")

    def chance_of_best(self, rows: Table, task: Task, *, within: float = 0.05, seed: int = 0) -> pd.Series[float]:
        """The probability that the response at each row is the best that the task can have, or nearly so.

        Nearly is within a share of the range of the task's responses. They are looked at together in these rows, the
        measured ones and 256 spread over the space.
        """
        codes, levels = task_codes(task, self.problem, self.levels)
        checked, _ = rows_from_frame(rows, self.problem, levels, with_objective=False, task=task)
        task_levels = torch.from_numpy(codes).to(self.model.train_X)
        spread = self._space(task_levels, {}).sample(_SPREAD, seed=seed)
        others = torch.unique(torch.cat([self._measured(task_levels), spread]), dim=0)
        chance = chance_of_best(self.model, self._points(checked), others, within, seed=seed, value=self.outcomes.value)
        return pd.Series(chance.cpu().numpy(), name="chance")

    def observe(self, rows: Table, *, task: Task | None = None) -> Surrogate:
        """Another surrogate, which has also learned from these experiments, warm-started from this one.

        Args:
            rows: a table with the inputs, the general inputs and the objective.
            task: the label of each general input, instead of columns of them.
        """
        checked, levels = rows_from_frame(rows, self.problem, self.levels, with_objective=True, task=task)
        check_size(len(self.model.train_X) + len(checked), self.model.train_X.device.type)
        known = self.outcomes.outside(self.model.train_targets.cpu().numpy())
        warn_of_far_outcomes(
            np.asarray(checked.objective),
            self.problem.objective,
            count=len(known),
            low=float(known.min()),
            high=float(known.max()),
            stacklevel=3,
        )
        model = self.model.observe(self._points(checked), _counted(checked, self.outcomes))
        return replace(self, levels=levels, model=model)

    def rows_of(self, task: Task) -> int:
        """How many experiments of a task it has learned from."""
        codes, _ = task_codes(task, self.problem, self.levels)
        return len(self._measured(torch.from_numpy(codes).to(self.model.train_X)))

    def validate(
        self,
        *,
        tasks: int | None = None,
        shots: Iterable[int] = (0, 1, 3),
        repeats: int = 3,
        seed: int = 0,
        progress: TaskProgress | None = None,
    ) -> pd.DataFrame:
        """How much the other tasks would have helped with each task, had it been the new one.

        Every task in turn is held out. A surrogate of the others, fitted anew with the settings of this one, predicts
        it before it has a row and after some; a Gaussian process without legacy data gets the same rows. The scores are
        of measurements that were not learned, in the units of the objective: see `headstart.validation` for the maths.

        The frame has one row a task and number of shots: the labels, `shots`, the `rows` judged, `rmse`, `log_density`
        (of the predictive mixture, more is better) and `coverage` (share inside the 80 % interval); the same without
        legacy data as `alone_...`, of which zero shots are the distribution of the other tasks' outcomes; the `gain` in
        log density in nats a row, its standard error `gain_error`, and the task's `verdict`: "helps", "hurts" or "no
        clear difference", judged by all shots but zero.

        Args:
            tasks: hold out so many, those with most rows; all when left out. Each takes a fit, which chooses its kernel
                anew where this one's was chosen, and, for every repeat and number of shots, an `observe`.
            shots: how many rows of the held-out task are learned; a task with no more rows than that is left out.
            repeats: how often these rows are drawn.
            seed: the same seed gives the same frame.
            progress: called with the tasks done, how many there are, and which is next; it may raise to cancel.
        """
        return validate_tasks(
            self.model,
            self.levels,
            outcomes=self.outcomes,
            kernels=kernels_to_try(AUTO) if self.by_evidence else (self.model.structure.kernel,),
            tasks=tasks,
            shots=shots,
            repeats=repeats,
            seed=seed,
            progress=progress,
        )

    def embedding(self, general: str) -> pd.DataFrame:
        """Mean and standard deviation of each level's latent: level, mean_1, ..., sd_1, ..."""
        labels = self.levels[general]
        column = len(self.problem.inputs) + self.problem.general.index(general)
        mean, sd = (values.cpu().numpy() for values in self.model.embedding(column))
        names = [f"{kind}_{k + 1}" for kind in ("mean", "sd") for k in range(mean.shape[1])]
        seen = [labels[code] for code in self.model.seen_levels(column)]
        frame = pd.DataFrame(np.hstack([mean, sd]), columns=names)
        frame.insert(0, "level", seen)
        return frame

    def save(self, path: str | Path) -> None:
        """Save to one file, which `headstart.load` reads. No code is stored, only numbers and text."""
        write_file(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""
        tensors, settings = model_state(self.model)
        header = {
            "headstart_version": __version__,
            "problem": self.problem.to_dict(),
            "levels": self.levels.to_dict(),
            "outcomes": self.outcomes.to_dict(),
            "by_evidence": self.by_evidence,
            "model": settings,
        }
        return to_bytes(tensors, header)

    @classmethod
    def from_bytes(
        cls, content: bytes, *, source: str = "The surrogate", device: str | torch.device = "cpu"
    ) -> Surrogate:
        """The surrogate that `to_bytes` wrote; errors name the source."""
        tensors, header = from_bytes(content, source)
        try:
            problem = Problem.from_dict(header["problem"])
            return cls(
                problem,
                Levels.from_dict(header["levels"]),
                model_from_state(tensors, header["model"], device=device),
                _outcomes_in(header, problem),
                bool(header.get("by_evidence", False)),
            )
        except (KeyError, TypeError, ValueError, ModelError) as error:
            raise FileFormatError(
                f"{source} does not hold a whole surrogate ({error}): it is damaged. Save it again from a fit."
            ) from error

    # ------------------------------------------------------------------ inside

    def _points(self, rows: Rows) -> Float[Tensor, "n d"]:
        return _points(rows, self.problem).to(self.model.train_X)

    def _in_user_units(self, unit: Float[Tensor, "n x"]) -> Float[np.ndarray, "n x"]:
        low, high = self.problem.bounds
        values = np.clip(low + unit.cpu().numpy() * (high - low), low, high)
        for name, grid in self.problem.grids.items():
            column = list(self.problem.inputs).index(name)
            values[:, column] = grid[np.abs(values[:, [column]] - grid).argmin(-1)]
        return values

    def _measured(self, task: Float[Tensor, " g"]) -> Float[Tensor, "m d"]:
        rows = self.model.train_X
        return rows[(rows[:, len(self.problem.inputs) :] == task).all(-1)]

    def _space(self, task: Float[Tensor, " g"], fixed: Mapping[str, Any]) -> Space:
        """Where the next point of a task may lie, as the model sees it."""
        names = list(self.problem.inputs)
        low, high = self.problem.bounds
        kept = {len(names) + g: float(code) for g, code in enumerate(task)}
        if not isinstance(fixed, Mapping):
            raise ProblemError(f"fixed maps inputs to values, as {{{names[0]!r}: {low[0]:g}}}, not {fixed!r}.")
        for name, value in fixed.items():
            if name not in names:
                raise ProblemError(
                    f"{name!r} cannot be fixed: it is not an input.{did_you_mean(name, names)} The inputs are: "
                    f"{', '.join(names)}."
                )
            column = names.index(name)
            if not isinstance(value, Real) or not low[column] <= value <= high[column]:
                raise ProblemError(
                    f"{name!r} cannot be fixed at {value!r}: give a number from {low[column]:g} to {high[column]:g}."
                )
            grid = self.problem.grids.get(name)
            if grid is not None and np.abs(grid - float(value)).min() > 1e-9 * (high[column] - low[column]):
                nearest = grid[np.abs(grid - float(value)).argmin()]
                raise ProblemError(
                    f"{name!r} cannot be fixed at {value!r}: it goes in steps. The nearest is {nearest:g}."
                )
            kept[column] = float((value - low[column]) / (high[column] - low[column]))
        box, grids = _unit_box(self.model.train_X), {}
        for name, grid in self.problem.grids.items():
            column = names.index(name)
            grids[column] = torch.from_numpy((grid - low[column]) / (high[column] - low[column])).to(box)
            box[1, column] = grids[column][-1]
        return Space(box, kept, grids)

    def _scores(
        self, choice: Choice, measured: Tensor, running: Tensor, means: pd.Series[float], seed: int
    ) -> Float[np.ndarray, " n"]:
        """The scores in the user's units; gains and probabilities have none."""
        scores = np.asarray(choice.scores)
        if choice.meaning == "mean":
            return means.to_numpy()
        if choice.meaning not in ("expected best", "expected improvement"):
            return scores
        is_best = choice.meaning == "expected best"
        if self.outcomes.is_straight:
            return self.outcomes.outside(scores) if is_best else self.outcomes.scale * scores
        # On a bent scale the criterion's value is not one of the user's outcomes: it is computed again for the choice.
        generator = torch.Generator().manual_seed(seed)
        batch = torch.cat([running, choice.points])
        worth = self.outcomes.value(joint_samples(self.model, batch, _SAMPLES, generator))
        if is_best:
            return self.outcomes.of_value(worth.cummax(-1).values.mean(0)[len(running) :].cpu().numpy())
        with torch.no_grad():
            best = self.outcomes.value(self.model.posterior(measured.unsqueeze(-2)).mixture_mean.max().reshape(1))
        gain = worth.clamp_min(best).cummax(-1).values.diff(dim=-1, prepend=best.expand(len(worth), 1)).mean(0)
        return self.outcomes.scale * gain[len(running) :].cpu().numpy()

    def _predictions(self, points: Float[Tensor, "n d"], interval: float, *, noise: bool) -> pd.DataFrame:
        tail = 0.5 * (1 - interval)
        levels = torch.tensor([tail, 1 - tail], dtype=points.dtype, device=points.device)
        per_row = self.model.posterior_draws * len(self.model.train_X)
        moments, limits = [], []
        with torch.no_grad():
            for rows in points.split(max(_PREDICTION_SIZE // per_row, 1)):
                posterior = self.model.posterior(rows.unsqueeze(-2), observation_noise=noise)
                each = torch.stack([posterior.mean, posterior.variance.sqrt()]).reshape(2, len(rows), -1).mT
                moments.append(np.stack(Mixture(each[0].cpu().numpy(), each[1].cpu().numpy(), self.outcomes).moments))
                limits.append(self.outcomes.outside(posterior.quantile(levels).flatten(1).cpu().numpy()))
        mean, sd = np.concatenate(moments, axis=-1)
        lower, upper = np.sort(np.concatenate(limits, axis=-1), axis=0)
        return pd.DataFrame({"mean": mean, "sd": sd, "lower": lower, "upper": upper})


def fit(
    archive: Table,
    problem: Problem,
    *,
    seed: int = 0,
    model: str = "begp",
    kernel: AnyKernel = DEFAULT_KERNEL,
    latent_dim: int = 3,
    inference: str | Inference = "auto",
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
) -> Surrogate:
    """Learn one surrogate of every task in an archive.

    Args:
        archive: one row an experiment, with the columns that the problem names.
        problem: what each column is for.
        seed: the same seed gives the same surrogate.
        model: "begp", or "egp" for point embeddings.
        kernel: "auto" for "rbf+tasks" or, for rougher responses, "matern52+tasks", whichever the archive makes
            likelier; one of these, or either with "+residual" or nothing instead of "+tasks"; or a GPyTorch kernel
            over [x, z].
        latent_dim: latent dimension of each general input.
        inference: how to fit, see `headstart.models.BEGP.fit`; "auto" draws latents and hyperparameters by HMC up to
            500 rows, 2,000 on a GPU, and fits by L-BFGS-B beyond.
        device: "cpu" or "cuda".
        progress: called with the evaluations so far and the ELBO; large archives take a minute.

    >>> archive = pd.DataFrame(
    ...     {
    ...         "pump": ["A", "A", "A", "B", "B", "B"],
    ...         "flow": [10.0, 20.0, 30.0, 10.0, 20.0, 30.0],
    ...         "head": [4.9, 5.6, 4.4, 5.1, 5.9, 4.7],
    ...     }
    ... )
    >>> problem = Problem(inputs={"flow": (5, 40)}, general=["pump"], objective="head")
    >>> surrogate = fit(archive, problem, seed=0)
    >>> surrogate.suggest(task={"pump": "new"}).columns.tolist()
    ['flow', 'mean', 'sd', 'lower', 'upper', 'score']
    """
    if not isinstance(problem, Problem):
        raise ProblemError(f"fit takes a table and then a headstart.Problem, not a {type(problem).__name__}.")
    for name in [*problem.inputs, *problem.general]:
        if name in _PREDICTION:
            raise ProblemError(f"Column {name!r} has the name of a prediction: rename it.")
    rows, levels = rows_from_frame(archive, problem, Levels.none(problem), with_objective=True)
    seed = check_fit(len(rows), seed=seed, model=model, kernel=kernel, latent_dim=latent_dim, device=device)
    problem = problem.resolved(archive)
    warn_of_missed_bounds(rows, problem, stacklevel=3)
    offset = len(problem.inputs)
    points, outcomes = _points(rows, problem), _outcomes_of(rows, problem)
    counted = _counted(rows, outcomes)

    def build(kernel: AnyKernel, some: Int[Tensor, " k"]) -> BEGP:
        return model_class(model)(
            points[some],
            counted[some],
            general={offset + g: size for g, size in enumerate(levels.sizes)},
            latent_dim=latent_dim,
            kernel=kernel,
            bounds=_unit_box(points),
            device=device,
        )

    kernels = kernels_to_try(kernel)
    if inference == "auto":
        inference = default_inference(build(kernels[0], torch.arange(len(points))))
    begp = fit_likeliest(build, kernels, len(points), seed=seed, inference=inference, progress=progress)
    return Surrogate(problem, levels, begp, outcomes, by_evidence=len(kernels) > 1)


def load(path: str | Path, *, device: str | torch.device = "cpu") -> Surrogate:
    """Read a surrogate that `Surrogate.save` wrote: the same predictions, without fitting."""
    return Surrogate.from_bytes(read_file(path), source=str(path), device=device)


def _points(rows: Rows, problem: Problem) -> Float[Tensor, "n d"]:
    """Rows as the model sees them: inputs in [0, 1] by the problem's bounds, then level codes."""
    low, high = problem.bounds
    unit = (rows.inputs - low) / (high - low)
    warn_of_far_rows(rows, problem, stacklevel=4)
    return torch.from_numpy(np.hstack([unit, rows.codes]))


def _outcomes_in(header: Mapping[str, Any], problem: Problem) -> Outcomes:
    """Up to the second format, outcomes were counted in units of one size."""
    if "outcomes" in header:
        return Outcomes.from_dict(header["outcomes"])
    return Outcomes(sign=problem.sign, scale=float(header["unit"]))


def _outcomes_of(rows: Rows, problem: Problem) -> Outcomes:
    measured = np.asarray(rows.objective)
    size = float(np.abs(measured).max())
    if size > _LARGEST:
        raise DataError(f"The objective holds {size:g}, too large to compute with. Use a larger unit or its logarithm.")
    return Outcomes.of(measured, sign=problem.sign)


def _counted(rows: Rows, outcomes: Outcomes) -> Float[Tensor, "n 1"]:
    """The objective as the model sees it."""
    return torch.from_numpy(outcomes.inside(np.asarray(rows.objective))).unsqueeze(-1)


def _check_interval(interval: float) -> None:
    if not 0 < interval < 1:
        raise ProblemError(f"interval={interval} must lie between 0 and 1, such as 0.8.")


def _unit_box(points: Float[Tensor, "n d"]) -> Float[Tensor, "2 d"]:
    return torch.stack([torch.zeros_like(points[0]), torch.ones_like(points[0])])
