r"""BGP: a fully Bayesian Gaussian process of the current task alone, the paper's baseline.

It cannot see the rows of other tasks, only what those say about a typical task:

1. A GP is fitted to each legacy task t: theta_t, the maximum a posteriori of
   theta = (mu, log sigma_y^2, log l, log sigma_k^2).
2. The prior of the current task is the factorised Gaussian with their moments over t,
   p(theta_i) = N(mean_t theta_ti, var_t theta_ti), cut off at the parameters' bounds.
3. NUTS draws theta from the posterior given the current rows, and each draw is an exact GP.

A baseline should be as strong as it can be. So the legacy fits are converged, from several starts,
under the weak priors of `headstart.models.kernels`, which keep a task of one to five rows sane. A
standard deviation of the prior is at least 0.3, so that few legacy tasks, or one, do not fix a
parameter. Without any legacy task the prior is the weak one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import torch
from gpytorch.constraints import Positive
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor

from headstart.errors import DataError, ProblemError
from headstart.models.checks import checked_bounds, general_columns, prediction_points, training_tensors
from headstart.models.draws import normal_draws
from headstart.models.elbo import (
    NOISE_FLOOR,
    Structure,
    TrainingData,
    observation_noise,
    section,
)
from headstart.models.ensemble import Ensemble, Members
from headstart.models.ensemble_model import EnsembleModel
from headstart.models.inference import NUTS
from headstart.models.kernels import RBF, Kernel, Matern52
from headstart.models.known_kernels import resolve_kernel
from headstart.models.legacy import fit_tasks
from headstart.models.levels import level_codes
from headstart.models.parameters import Layout, Parameters
from headstart.models.scaling import Scaling
from headstart.shapes import Bool, Float, Int

# A legacy prior is never narrower than this: in log units, and in standardised ones for the mean.
PRIOR_SD_FLOOR = 0.3


class BGP(EnsembleModel):
    """Bayesian Gaussian process of one task, with a prior from the other tasks.

    Args:
        train_X: `n x d` rows of all tasks. General columns hold level codes 0, 1, 2, ...
        train_Y: `n x 1` outputs.
        general: column -> number of levels. A task is a combination of levels.
        task: the current task: column -> code, or just the code where there is one general input.
            It need not have a row.
        train_Yvar: `n x 1` known noise variances; learned when left out.
        kernel: "matern52" or "rbf".
        bounds: `2 x d` bounds of the inputs; from the data when left out. Rows may lie outside.
        posterior_draws: number S of draws of the hyperparameters in the posterior.
        warmup: iterations in which NUTS adapts.
        thinning: iterations of NUTS a draw that is kept.
        device: where to compute, "cpu" or "cuda"; that of `train_X` when left out. NUTS always runs
            on the CPU.

    Without a row of the current task its draws come straight from the prior, and NumPyro (extra
    `nuts`) is not needed:

    >>> X = torch.tensor([[0.1, 0], [0.5, 0], [0.9, 0], [0.2, 1], [0.7, 1]])
    >>> Y = torch.tensor([[0.0], [1.0], [0.3], [0.2], [1.1]])
    >>> model = BGP(X, Y, general={1: 3}, task=2).fit(seed=0)
    >>> posterior = model.posterior(torch.tensor([[0.1, 2.0], [0.9, 2.0]]))
    >>> posterior.mixture_mean.shape, bool(posterior.mixture_mean[0] == posterior.mixture_mean[1])
    (torch.Size([2, 1]), True)
    """

    _derived = ("_ensemble", "_is_current")

    prior_mean: Tensor | None
    prior_sd: Tensor | None

    def __init__(
        self,
        train_X: Tensor,
        train_Y: Tensor,
        general: Mapping[int, int],
        *,
        task: int | Mapping[int, int],
        train_Yvar: Tensor | None = None,
        kernel: str | Kernel = "matern52",
        bounds: Tensor | None = None,
        posterior_draws: int = 128,
        warmup: int = 256,
        thinning: int = 4,
        device: str | torch.device | None = None,
    ) -> None:
        super().__init__()
        X, Y, Yvar = training_tensors(train_X, train_Y, train_Yvar, device)
        given = general_columns(general, X.shape[-1])
        self.general = {column: general[key] for column, key in given.items()}
        self.task = _task_codes(task, self.general, X.shape[-1])
        self.kernel = resolve_kernel(kernel)
        if type(self.kernel) not in (Matern52, RBF):
            raise ProblemError(f"BGP has the kernels 'matern52' and 'rbf', not {self.kernel.name!r}.")
        self.strategy = NUTS(warmup=warmup, samples=posterior_draws, thinning=thinning)
        self.posterior_draws = posterior_draws
        if min(posterior_draws, warmup, thinning) < 1:
            raise ProblemError("posterior_draws, warmup and thinning must be at least 1.")
        self.seed = 0
        self._numeric = [column for column in range(X.shape[-1]) if column not in self.general]
        self._hold(X, Y, Yvar, checked_bounds(bounds, X, self._numeric))
        # Moments of the prior, in the order of the layout.
        self.register_buffer("prior_mean", None)
        self.register_buffer("prior_sd", None)
        self.scaling = Scaling.of(
            X[:, self._numeric],
            Y.squeeze(-1),
            None if self.bounds is None else self.bounds[:, self._numeric],
        )
        self.likelihood = GaussianLikelihood(noise_constraint=Positive()).to(X)

    @property
    def train_inputs(self) -> tuple[Tensor]:
        """The rows the GP is conditioned on: those of the current task."""
        return (self.train_X[self._is_current],)

    @property
    def train_targets(self) -> Tensor:
        """The outputs of the current task."""
        return self.train_Y[self._is_current].squeeze(-1)

    # ---------------------------------------------------------------- fitting

    def fit(self, *, seed: int = 0) -> BGP:
        """Fit in place and return the model: the same seed gives the same model.

        The first fit of a process, and the first beyond 16, 32, 64, ... rows, compile the sampler,
        which takes some seconds.
        """
        self.seed = seed
        data, layout = self._data(self._is_current), self._layout
        if self.prior_mean is None or self.prior_sd is None:
            self.prior_mean, self.prior_sd = self._prior_of_legacy(layout)
        if len(data.y) == 0:
            drawn = _truncated_normal(self.prior_mean, self.prior_sd, layout, self.posterior_draws, seed=seed)
        else:
            from headstart.models.nuts import sample_hyperparameters

            drawn = sample_hyperparameters(
                self.kernel,
                layout,
                data,
                self.prior_mean,
                self.prior_sd,
                self.strategy,
                seed=seed,
            )
        self.adopt(drawn)
        return self

    def adopt(self, vector: Float[Tensor, "s P"]) -> None:
        """Take draws of the hyperparameters, in the order of the layout, as the fit."""
        self.vector = vector.to(self.train_X)
        self.posterior_draws = len(vector)
        self.forget()
        noise = (self._typical_noise.mean() * self.scaling.scale**2).detach()
        self.likelihood.noise = noise.clamp_min(torch.finfo(noise.dtype).tiny)

    def observe(self, X: Tensor, Y: Tensor, noise: Tensor | None = None) -> BGP:
        """A model refitted with `n' x d` further rows, with the same seed.

        The legacy prior is kept, and the model's units with it, unless some of the new rows belong
        to other tasks, or they stretch a unit by more than half.
        """
        old = self.train_Yvar
        if (noise is None) != (old is None):
            raise DataError("Give noise variances for new rows exactly when the old ones have them.")
        X, Y, noise = training_tensors(X, Y, noise, self.train_X.device)
        if X.shape[-1] != self.train_X.shape[-1]:
            raise DataError(f"The new rows have {X.shape[-1]} columns, not {self.train_X.shape[-1]}.")
        model = BGP(
            torch.cat([self.train_X, X]),
            torch.cat([self.train_Y, Y]),
            self.general,
            task=self.task,
            train_Yvar=old if noise is None or old is None else torch.cat([old, noise]),
            kernel=self.kernel,
            bounds=self.bounds,
            posterior_draws=self.posterior_draws,
            warmup=self.strategy.warmup,
            thinning=self.strategy.thinning,
        )
        has_same_legacy = int((~model._is_current).sum()) == int((~self._is_current).sum())
        if has_same_legacy and _similar(model.scaling, self.scaling):
            model.scaling = self.scaling
            model.prior_mean, model.prior_sd = self.prior_mean, self.prior_sd
        return model.fit(seed=self.seed)

    # ---------------------------------------------------------------- reading the model

    def hyperparameters(self) -> Parameters:
        """The draws by name, in the model's units (positive ones in their logarithm)."""
        return self._layout.unpack(self._fitted_vector)

    # ---------------------------------------------------------------- inside

    @property
    def _codes(self) -> Int[Tensor, "n g"]:
        return torch.stack([level_codes(self.train_X, column) for column in self.general], dim=-1)

    @cached_property
    def _is_current(self) -> Bool[Tensor, " n"]:
        wanted = torch.tensor(list(self.task.values()), device=self.train_X.device)
        return (self._codes == wanted).all(-1)

    @property
    def _layout(self) -> Layout:
        return Structure(self.kernel, (), ()).layout(self._data(self._is_current))

    def _data(self, rows: Bool[Tensor, " n"]) -> TrainingData:
        """Some rows in the model's units; nothing is embedded here."""
        noise = self._known_noise
        return TrainingData(
            self.scaling.inputs(self.train_X[rows][:, self._numeric]),
            torch.zeros(int(rows.sum()), 0, dtype=torch.long, device=self.train_X.device),
            self.scaling.outputs(self.train_Y[rows].squeeze(-1)),
            None if noise is None else noise[rows],
            (),
        )

    @property
    def _known_noise(self) -> Float[Tensor, " n"] | None:
        if self.train_Yvar is None:
            return None
        return (self.train_Yvar.squeeze(-1) / self.scaling.scale**2).clamp_min(NOISE_FLOOR)

    @property
    def _typical_noise(self) -> Float[Tensor, " #s"]:
        """The noise of a new measurement: learned, or that of a typical old one of any task."""
        if self._known_noise is None:
            return self.hyperparameters()["log_noise"].exp()
        return self._known_noise.mean().reshape(1)

    @cached_property
    def _ensemble(self) -> Ensemble:
        with torch.no_grad():
            data, parameters = self._data(self._is_current), self.hyperparameters()
            members = Members(
                self.kernel,
                section(parameters, "kernel"),
                parameters["mean"],
                observation_noise(parameters, data),
                data.x.expand(self.posterior_draws, *data.x.shape),
                data.y.unsqueeze(0),
            )
            ensemble = Ensemble.condition(members)
            return replace(ensemble, noise=self._typical_noise)

    def _prior_of_legacy(self, layout: Layout) -> tuple[Float[Tensor, " P"], Float[Tensor, " P"]]:
        """Mean and standard deviation of every coordinate over the fits of the legacy tasks."""
        codes, legacy = self._codes, ~self._is_current
        data = [self._data((codes == task).all(-1)) for task in codes[legacy].unique(dim=0)]
        if not data:
            mean, precision = (moment.to(self.train_X) for moment in layout.prior)
            return mean, precision.rsqrt()
        found = fit_tasks(self.kernel, data)
        sd = found.std(0, correction=min(1, len(data) - 1))
        return found.mean(0), sd.clamp_min(PRIOR_SD_FLOOR)

    def _joint_inputs(self, X: Float[Tensor, "*b q d"]) -> Float[Tensor, "b s q x"]:
        """The inputs of test points, the same for every draw."""
        X = prediction_points(X, self.train_X)
        rows = X.detach().reshape(-1, X.shape[-1])
        codes = {column: level_codes(rows, column) for column in self.general}
        foreign = torch.stack([codes[c] != code for c, code in self.task.items()]).any(0)
        if foreign.any():
            row = int(foreign.nonzero()[0])
            other = {column: int(code[row]) for column, code in codes.items()}
            raise DataError(
                f"Point {row} belongs to task {other}, but this BGP knows only task {self.task} "
                "(column: code). Build one for that task, or use a BEGP, which knows all tasks."
            )
        x = self.scaling.inputs(X[..., self._numeric])
        x = x.reshape(X.shape[:-2].numel(), 1, X.shape[-2], len(self._numeric))
        return x.expand(-1, self.posterior_draws, -1, -1)


def _truncated_normal(
    mean: Float[Tensor, " P"], sd: Float[Tensor, " P"], layout: Layout, draws: int, *, seed: int
) -> Float[Tensor, "{draws} P"]:
    """Quasi-random draws of N(mean, sd^2), cut off at the layout's bounds."""
    low, high = (torch.from_numpy(bound).to(mean) for bound in layout.bounds.T.copy())
    eps = normal_draws(draws, 1, len(mean), seed=seed).squeeze(1).to(mean)
    below, above = (torch.special.ndtr((bound - mean) / sd) for bound in (low, high))
    uniform = below + (above - below) * torch.special.ndtr(eps)
    return (mean + sd * torch.special.ndtri(uniform)).clamp(low, high)


def _similar(new: Scaling, old: Scaling) -> bool:
    """Whether units agree within a factor of 1.5, and the outputs' centre within half a unit."""
    ratios = torch.cat([new.width / old.width, (new.scale / old.scale).reshape(1)])
    shift = (new.centre - old.centre) / old.scale
    return bool((ratios.log().abs() < math.log(1.5)).all() and shift.abs() < 0.5)


def _task_codes(task: int | Mapping[int, int], general: Mapping[int, int], width: int) -> dict[int, int]:
    """Column -> code of the current task, in column order."""
    columns = list(general)
    if isinstance(task, Mapping):
        codes = {column % width: code for column, code in task.items()}
    elif len(columns) == 1:
        codes = {columns[0]: task}
    else:
        raise ProblemError(
            f"The current task {task} names one code for {len(columns)} general inputs: give it as "
            f"column -> code for columns {columns}."
        )
    if codes.keys() != general.keys():
        raise ProblemError(
            f"The current task {codes} must give a code for each of the general columns {columns} and for no other."
        )
    if min(codes.values()) < 0:
        raise ProblemError(f"The current task {codes} has a negative code: codes are 0, 1, 2, ...")
    return {column: codes[column] for column in columns}
