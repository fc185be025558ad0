r"""BEGP and EGP: the paper's models, as BoTorch models.

A row is [x, general levels]; each general input is embedded, and a Gaussian process lives on [x, z_1, ..., z_G]:

    z_l ~ N(0, I)  for each level l of each general input,     f ~ GP(mu, k([x, z], [x', z'])),     y ~ N(f, sigma_y^2).

`BEGP` keeps a distribution over Z, `EGP` a point. Their posterior is an ensemble of exact GPs, one a draw of Z, that
BoTorch's acquisition functions average over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import gpytorch
import torch
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.constraints import Positive
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor

from headstart.errors import DataError, ModelError, ProblemError
from headstart.models.apart import TasksApart
from headstart.models.checks import (
    checked_bounds,
    checked_noise,
    general_columns,
    latent_dims,
    prediction_points,
    training_tensors,
)
from headstart.models.draws import normal_draws
from headstart.models.elbo import (
    NOISE_FLOOR,
    Structure,
    TrainingData,
    joint_inputs,
    observation_noise,
    section,
)
from headstart.models.embedding import Embedding, SampledEmbedding, embedding_family
from headstart.models.ensemble import Ensemble, Members
from headstart.models.ensemble_model import EnsembleModel
from headstart.models.hmc import check_can_sample, sample_chains
from headstart.models.inference import (
    HMC,
    LBFGS,
    NUTS,
    WARM,
    Adam,
    Fit,
    Inference,
    Objective,
    Progress,
    draws_for,
    maximise,
    resolve_inference,
)
from headstart.models.kernels import RBF, Kernel
from headstart.models.known_kernels import resolve_kernel
from headstart.models.levels import LevelTable, level_codes
from headstart.models.moments import mixture_moments, rbf_moments
from headstart.models.normal import normal
from headstart.models.parameters import Layout, Parameters
from headstart.models.scaling import Scaling
from headstart.shapes import Bool, Float, Int

# More chains only take longer: see docs/decisions.
_MOST_CHAINS = 32
# Rows of a level from which on its latent is looked for near where it was.
_SETTLED = 4


class BEGP(EnsembleModel):
    """Bayesian embedding Gaussian process.

    Args:
        train_X: `n x d` rows. General columns hold level codes 0, 1, 2, ...
        train_Y: `n x 1` outputs.
        general: column -> number of levels. A level without a row is legal, also beyond that number: its latent is
            the prior.
        train_Yvar: `n x 1` known noise variances; learned when left out.
        latent_dim: latent dimension, one for all general inputs or column -> dimension.
        kernel: "matern52", "rbf", either with "+residual" for a term of each task alone or "+tasks" for tasks that also
            differ in size or may be unlike any other, or any GPyTorch kernel over [x, z_1, ..., z_G] (general inputs
            in column order).
        embedding: "mean-field", "full", "point", or an `Embedding`.
        bounds: `2 x d` bounds of the inputs; from the data when left out. Rows may lie outside.
        posterior_draws: number S of draws of Z in the posterior; 64, fewer from 200 rows on, when left out. Models that
            share a `ModelListGP` need the same number.
        device: where to compute, "cpu" or "cuda"; that of `train_X` when left out.

    Inputs and outputs may be on any scale, and everything is computed in float64. Mind that BoTorch's acquisition
    functions have absolute floors: for them, outputs should be of a size near 1.

    After `fit`, `elbo` is the bound plus the log prior of the hyperparameters (without its constants).

    >>> X = torch.tensor([[0.1, 0], [0.5, 0], [0.9, 0], [0.2, 1], [0.7, 1]])
    >>> Y = torch.tensor([[0.0], [1.0], [0.3], [0.2], [1.1]])
    >>> model = BEGP(X, Y, general={1: 2}).fit(seed=0)
    >>> posterior = model.posterior(torch.tensor([[0.4, 2.0]]))  # level 2 has no row: zero-shot
    >>> posterior.mixture_mean.shape, posterior.mixture_variance.shape
    (torch.Size([1, 1]), torch.Size([1, 1]))
    """

    solution: Tensor | None

    _derived = ("_together", "_apart", "_ensemble", "_latent_tables")
    _default_embedding = "mean-field"

    def __init__(
        self,
        train_X: Tensor,
        train_Y: Tensor,
        general: Mapping[int, int],
        *,
        train_Yvar: Tensor | None = None,
        latent_dim: int | Mapping[int, int] = 3,
        kernel: str | Kernel | gpytorch.kernels.Kernel = "matern52",
        embedding: str | Embedding | None = None,
        bounds: Tensor | None = None,
        posterior_draws: int | None = None,
        device: str | torch.device | None = None,
    ) -> None:
        super().__init__()
        X, Y, Yvar = training_tensors(train_X, train_Y, train_Yvar, device)
        given = general_columns(general, X.shape[-1])
        self.general = {column: general[key] for column, key in given.items()}
        dims = latent_dims(latent_dim, given)
        family = embedding_family(embedding or self._default_embedding)
        self.structure = Structure(resolve_kernel(kernel), (family,) * len(dims), dims)
        if posterior_draws is None:
            posterior_draws = min(max(6_400 // len(X), 8), 32) * 2 if family.is_random else 1
        if posterior_draws < 1:
            raise ProblemError(f"posterior_draws is {posterior_draws}: it must be at least 1.")
        self.posterior_draws = posterior_draws
        # What NUTS replaces by draws of its own, and another fit brings back.
        self.variational_family, self.variational_draws = family, posterior_draws
        self._numeric = [column for column in range(X.shape[-1]) if column not in self.general]
        self._levels = tuple(LevelTable.of(level_codes(X, column)) for column in self.general)
        self.seed = 0
        self.elbo: float | None = None
        # What draws by HMC began from, and how they were made.
        self.register_buffer("solution", None, persistent=False)
        self.sampler: HMC | None = None
        self.evaluations = 0
        self._hold(X, Y, Yvar, checked_bounds(bounds, X, self._numeric))
        self.scaling = self._scaling_of_data()
        self.likelihood = GaussianLikelihood(noise_constraint=Positive()).to(X)

    @property
    def train_inputs(self) -> tuple[Tensor]:
        """The training rows, as GPyTorch models hold them."""
        return (self.train_X,)

    @property
    def train_targets(self) -> Tensor:
        """The training outputs, as GPyTorch models hold them."""
        return self.train_Y.squeeze(-1)

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        *,
        seed: int = 0,
        inference: str | Inference = "lbfgs",
        start: Float[Tensor, "r P"] | None = None,
        progress: Progress | None = None,
    ) -> BEGP:
        """Fit in place and return the model.

        Args:
            seed: of draws and restarts: the same seed gives the same model.
            inference: "lbfgs", "adam" (the paper's), "hmc", "nuts", or one of the strategies of
                `headstart.models.inference` with settings of its own.
            start: parameter vectors to begin from, one a restart, instead of scattered ones.
            progress: called with the evaluations so far and the ELBO, after each evaluation.
        """
        strategy = resolve_inference(inference)
        optimiser = strategy if isinstance(strategy, LBFGS | Adam) else LBFGS()
        data = self.begin(seed)
        if isinstance(strategy, HMC):
            check_can_sample(self.structure)
        layout = self._layout
        if start is None:
            start = layout.starts(optimiser.restarts, seed=seed)
        objective = Objective(self.structure, layout, data, (seed,))
        [found] = maximise(objective, start.unsqueeze(0), optimiser, progress)
        self.end(found)
        if isinstance(strategy, HMC):
            self.sample(strategy, progress)
        if isinstance(strategy, NUTS):
            from headstart.models.nuts import sample_posterior

            self.adopt(sample_posterior(objective, found.vector, strategy))
        return self

    def sample(self, strategy: HMC, progress: Progress | None = None) -> None:
        """Replace the variational solution by draws of Z and the hyperparameters from their posterior.

        The solution is remembered: `observe` continues from it, and samples again.
        """
        structure = self._variational_structure
        objective = Objective(structure, structure.layout(self._data), self._data, (self.seed,))
        start = self.variational_solution.unsqueeze(0)

        def report(gradients: int) -> None:
            if progress is not None and self.elbo is not None:
                progress(self.evaluations + gradients, self.elbo)

        [draws] = sample_chains(
            objective, start, strategy, chains=self.chains, draws=self.variational_draws, report=report
        )
        self.take_draws(draws, strategy)

    def take_draws(self, draws: Float[Tensor, "s P"], strategy: HMC) -> None:
        """Take draws that began from the variational solution, which is remembered."""
        solution = self.variational_solution
        self.adopt(draws)
        self.solution, self.sampler = solution, strategy

    @property
    def chains(self) -> int:
        """How many chains a sampler runs side by side: many rows make them dear, and each gives several draws."""
        return min(draws_for(len(self.train_X)), _MOST_CHAINS, self.variational_draws)

    @property
    def variational_solution(self) -> Float[Tensor, " P"]:
        """The vector that the last fit found, also when draws have taken its place."""
        solution = self._fitted_vector if self.sampler is None else self.solution
        if solution is None or solution.dim() == 2:
            raise ModelError(
                "A model that holds draws without the solution they began from (fitted by NUTS, or loaded from a state "
                "dict) cannot be extended or sampled again: fit it with all rows."
            )
        return solution

    def begin(self, seed: int) -> TrainingData:
        """The first half of a fit, for those who maximise the ELBO themselves: the rows in the model's units."""
        self.seed = seed
        self.scaling = self._scaling_of_data()
        # A model sampled before is fitted anew like any other.
        return self.resume()

    def resume(self) -> TrainingData:
        """The rows in the units that the model has, and its structure that of a fit: for those who sample it."""
        self._use_family(self.variational_family, self.variational_draws)
        return self._data

    def end(self, found: Fit) -> None:
        """The second half: take what was found."""
        self.elbo, self.evaluations = found.elbo, found.evaluations
        self.adopt(found.vector)

    def condition_on_observations(self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **kwargs: Any) -> BEGP:
        """A model that has seen `n' x d` further rows, with q(Z) and hyperparameters as they are.

        A level's first rows leave its q(z) at the prior; `observe` also learns from them. Draws by HMC are left
        behind: the model has the variational solution that they began from.
        """
        if kwargs:
            raise ModelError(f"condition_on_observations does not know {sorted(kwargs)}.")
        known_parameters = self.variational_parameters()
        known = self.train_Yvar
        if (noise is None) != (known is None):
            raise DataError("Give noise variances for the new rows exactly when the old ones have them.")
        X, Y, noise = training_tensors(X, Y, noise, self.train_X.device)
        if X.shape[-1] != self.train_X.shape[-1]:
            raise DataError(f"The new rows have {X.shape[-1]} columns, not {self.train_X.shape[-1]}.")
        model = type(self)(
            torch.cat([self.train_X, X]),
            torch.cat([self.train_Y, Y]),
            self.general,
            train_Yvar=None if noise is None or known is None else torch.cat([known, noise]),
            latent_dim=dict(zip(self.general, self.structure.latent_dims, strict=True)),
            kernel=self.structure.kernel,
            embedding=self.variational_family,
            bounds=self.bounds,
            posterior_draws=self.variational_draws,
        )
        model.seed, model.elbo, model.scaling = self.seed, self.elbo, self.scaling
        model.adopt(model._grown(known_parameters))
        return model

    def observe(
        self,
        X: Tensor,
        Y: Tensor,
        noise: Tensor | None = None,
        *,
        inference: str | LBFGS | Adam = WARM,
    ) -> BEGP:
        """A model refitted with further rows, continuing from this posterior, and sampled again if this one was.

        The levels of the new rows also restart from other places in latent space, so that a first measurement can
        move a task to wherever it fits.
        """
        strategy = resolve_inference(inference)
        if not isinstance(strategy, LBFGS | Adam):
            raise ModelError(f"{type(strategy).__name__} has no warm start: fit a new model with all rows.")
        model = self.condition_on_observations(X, Y, noise)
        start = model.warm_starts(X.to(model.train_X), strategy.restarts)
        model.fit(seed=self.seed, inference=strategy, start=start)
        if self.sampler is not None:
            model.sample(self.sampler)
        return model

    def warm_starts(self, X: Float[Tensor, "n d"], restarts: int) -> Float[Tensor, "r P"]:
        """The present parameters, and copies in which the levels of these rows start afresh.

        These rows are among the training rows. Levels that had rows before them, and have more than a few by now, know
        where they are: then the present parameters are enough.
        """
        layout = self._layout
        counts = self._rows_of_levels(self.train_X, X)
        had_rows = counts > self._rows_of_levels(X, X)
        if bool((had_rows & (counts > _SETTLED)).all()):
            restarts = 1
        parameters = layout.unpack(self._fitted_vector.expand(restarts, -1).clone())
        fresh = layout.unpack(layout.starts(restarts, seed=self.seed).to(self._fitted_vector))
        positions = self._positions(X)
        for name, value in parameters.items():
            if name.startswith("embedding."):
                touched = positions[:, int(name.split(".")[1])].unique()
                value[1:, touched] = fresh[name][1:, touched]
        return layout.pack(parameters)

    def _rows_of_levels(self, rows: Float[Tensor, "m d"], X: Float[Tensor, "n d"]) -> Int[Tensor, "g n"]:
        """How many of the rows have the level that each row of X has."""
        return torch.stack(
            [(level_codes(rows, column)[:, None] == level_codes(X, column)).sum(0) for column in self.general]
        )

    # ------------------------------------------------------------------ reading the model

    def moment_matched(self, X: Float[Tensor, "*b q d"], observation_noise: bool | Tensor = False) -> GPyTorchPosterior:
        """The Gaussian with the mean and covariance of the predictive distribution, as the paper predicts.

        For the RBF kernel, and points that all belong to one task with unseen levels, the integral over their latents
        is exact; otherwise it is an average over the ensemble's draws.
        """
        inputs, free = self._joint_inputs(X), self._free_coordinates(X)
        if type(self.structure.kernel) is RBF and free.any():
            mean, covariance = rbf_moments(self._ensemble, inputs, free)
        else:
            mean, covariance = self._ensemble.predict(inputs)
        noise = checked_noise(observation_noise, X)
        mean, covariance = mixture_moments(*self._ensemble.in_user_units(mean, covariance, self.scaling, noise))
        shape = X.shape[:-1]
        return GPyTorchPosterior(normal(mean.reshape(shape), covariance.reshape(*shape, shape[-1])))

    def hyperparameters(self) -> Parameters:
        """The fitted parameters by name, in the model's units (positive ones in their logarithm); draws if sampled."""
        return self._layout.unpack(self._fitted_vector)

    def variational_parameters(self) -> Parameters:
        """The same of the variational solution, also when draws by HMC have taken its place."""
        return self._variational_structure.layout(self._data).unpack(self.variational_solution)

    def embedding(self, column: int) -> tuple[Float[Tensor, "l z"], Float[Tensor, "l z"]]:
        """Mean and standard deviation of q(z) of the seen levels, in the order of `seen_levels`.

        A model fitted by NUTS has no q(z): then they are those of its draws.
        """
        name = f"embedding.{self._index_of(column)}"
        if self.sampler is None and self._fitted_vector.dim() == 2:
            z = section(self.hyperparameters(), name)["mean"]
            return z.mean(0), z.std(0)
        q = section(self.variational_parameters(), name)
        return q["mean"], self.variational_family.sd(q)

    def seen_levels(self, column: int) -> tuple[int, ...]:
        """Codes of the levels of a general input that have data, in order of first appearance."""
        return self._levels[self._index_of(column)].seen

    # ------------------------------------------------------------------ inside

    @property
    def _data(self) -> TrainingData:
        """The rows in the model's units, computed once for each choice of units."""
        units, data = self.__dict__.get("_rows_in_units", (None, None))
        if units is not self.scaling:
            data = self._in_units()
            self.__dict__["_rows_in_units"] = self.scaling, data
        return data

    def _in_units(self) -> TrainingData:
        noise = self.train_Yvar
        if noise is not None:
            noise = (noise.squeeze(-1) / self.scaling.scale**2).clamp_min(NOISE_FLOOR)
        return TrainingData(
            self.scaling.inputs(self.train_X[:, self._numeric]),
            self._positions(self.train_X),
            self.scaling.outputs(self.train_targets),
            noise,
            tuple(len(table.seen) for table in self._levels),
        )

    @property
    def _variational_structure(self) -> Structure:
        """The structure that fits have, also while draws have taken their place."""
        return replace(self.structure, embeddings=(self.variational_family,) * len(self.general))

    @property
    def _layout(self) -> Layout:
        return self.structure.layout(self._data)

    @cached_property
    def _together(self) -> Ensemble:
        """The ensemble in which no task is apart."""
        with torch.no_grad():
            return Ensemble.condition(self.members())

    @cached_property
    def _apart(self) -> TasksApart | None:
        """Which tasks are apart in which draws, for kernels that hold it possible."""
        share = self.structure.kernel.share_apart
        if share == 0.0:
            return None
        with torch.no_grad():
            return TasksApart.infer(self.members(), self._together, self._data.positions, share)

    @cached_property
    def _ensemble(self) -> Ensemble:
        if self._apart is None or len(self._apart.affected) == 0:
            return self._together
        members = self.members()
        with torch.no_grad():
            inputs = self._apart.mark(members.inputs, self._data.positions)
            affected = replace(members, inputs=inputs).select(self._apart.affected)
            ensemble = self._together.with_members(self._apart.affected, Ensemble.condition(affected))
        self.__dict__.pop("_together")  # a matrix a draw, and nobody asks for it again
        return ensemble

    def use(self, ensemble: Ensemble) -> None:
        """Take the members as conditioned elsewhere."""
        self.__dict__["_together"] = ensemble

    def members(self) -> Members:
        """The Gaussian processes of the posterior, one a draw of Z, before they are conditioned on the rows."""
        data = self._data
        parameters = self._layout.unpack(torch.atleast_2d(self._fitted_vector))
        return Members(
            self.structure.kernel,
            section(parameters, "kernel"),
            parameters["mean"],
            observation_noise(parameters, data),
            joint_inputs(
                data.x,
                data.positions,
                self._latents(data.levels),
                with_levels=self.structure.kernel.knows_tasks,
            ),
            data.y.unsqueeze(0),
        )

    def _latents(self, counts: tuple[int, ...]) -> tuple[Float[Tensor, "s _ _"], ...]:
        """Draws of Z for at least the first `counts` positions of each general input: q(Z), then the prior."""
        cached = self.__dict__.setdefault("_latent_tables", {})
        if counts not in cached:
            cached.clear()  # tables are large where codes are, and cheap to draw again
            with torch.no_grad():
                cached[counts] = tuple(
                    self._latents_of(g, max(count, len(self._levels[g].seen))) for g, count in enumerate(counts)
                )
        return cached[counts]

    def _latents_of(self, g: int, count: int) -> Float[Tensor, "s {count} z"]:
        family, seen = self.structure.embeddings[g], len(self._levels[g].seen)
        # Streams of their own: predictions do not reuse the draws the model was fitted with.
        stream = len(self.general) + g
        dim = self.structure.latent_dims[g]
        eps = normal_draws(self.posterior_draws, count, dim, seed=self.seed, stream=stream)
        eps = eps.to(self.train_X)
        q = section(self.hyperparameters(), f"embedding.{g}")
        return torch.cat([family.latents(q, eps[:, :seen]), family.unseen(eps[:, seen:])], dim=1)

    def _joint_inputs(self, X: Float[Tensor, "*b q d"]) -> Float[Tensor, "b s q d2"]:
        """[x, z] of test points for every draw."""
        X = prediction_points(X, self.train_X)
        batch, q = X.shape[:-2].numel(), X.shape[-2]
        positions = self._positions(X.reshape(batch * q, -1))
        latents = self._latents(tuple((positions.amax(0) + 1).tolist()))
        x = self.scaling.inputs(X[..., self._numeric]).reshape(batch * q, -1)
        joint = joint_inputs(x, positions, latents, with_levels=self.structure.kernel.knows_tasks)
        if self._apart is not None:
            joint = self._apart.mark(joint, positions)
        return joint.reshape(self.posterior_draws, batch, q, -1).transpose(0, 1)

    def _free_coordinates(self, X: Tensor) -> Bool[Tensor, " d2"]:
        """Which coordinates of [x, z] are latents of unseen levels, if all points belong to one task."""
        positions = self._positions(X.to(self.train_X).reshape(-1, X.shape[-1]))
        is_one_task = bool((positions == positions[0]).all())
        is_free = [False] * len(self._numeric)
        for g, (family, dim) in enumerate(zip(self.structure.embeddings, self.structure.latent_dims, strict=True)):
            unseen = int(positions[0, g]) >= len(self._levels[g].seen)
            is_free += [is_one_task and unseen and family.is_random] * dim
        return torch.tensor(is_free, device=self.train_X.device)

    def _positions(self, rows: Float[Tensor, "n d"]) -> Int[Tensor, "n g"]:
        return torch.stack(
            [
                table.positions(level_codes(rows.detach(), column))
                for table, column in zip(self._levels, self.general, strict=True)
            ],
            dim=-1,
        )

    def _scaling_of_data(self) -> Scaling:
        bounds = None if self.bounds is None else self.bounds[:, self._numeric]
        return Scaling.of(self.train_X[:, self._numeric], self.train_targets, bounds)

    def _grown(self, parameters: Parameters) -> Float[Tensor, " P"]:
        """Parameters of a model with fewer levels, with zeros (the prior) for the new ones."""
        layout = self._layout
        for name, entry in layout.entries.items():
            old = parameters[name]
            if old.shape != entry.shape:
                missing = old.new_zeros(entry.shape[0] - old.shape[0], *entry.shape[1:])
                parameters[name] = torch.cat([old, missing])
        return layout.pack(parameters)

    def adopt(self, vector: Float[Tensor, "*s P"]) -> None:
        """Take parameters fitted elsewhere: a vector of them, or a row a draw of Z and hyperparameters."""
        is_drawn = vector.dim() == 2
        family = SampledEmbedding() if is_drawn else self.variational_family
        expected = replace(self.structure, embeddings=(family,) * len(self.general)).layout(self._data).size
        if vector.shape[-1] != expected:
            raise ModelError(f"{vector.shape[-1]} parameters do not fit this model, it has {expected}.")
        self._use_family(family, len(vector) if is_drawn else self.variational_draws)
        self.solution, self.sampler = None, None
        self.vector = vector.detach().to(self.train_X).clone()
        self.forget()
        noise = observation_noise(self.hyperparameters(), self._data).mean() * self.scaling.scale**2
        self.likelihood.noise = noise.clamp_min(torch.finfo(noise.dtype).tiny)

    def _use_family(self, family: Embedding, draws: int) -> None:
        self.structure = replace(self.structure, embeddings=(family,) * len(self.general))
        self.posterior_draws = draws

    def _index_of(self, column: int) -> int:
        columns = list(self.general)
        if column % self.train_X.shape[-1] not in columns:
            raise ProblemError(f"Column {column} is not a general input; those are {columns}.")
        return columns.index(column % self.train_X.shape[-1])


class EGP(BEGP):
    """The same with a point embedding, found by maximum a posteriori: the paper's EGP.

    It is overconfident: a task without data is placed at the centre of latent space as if that were known.
    """

    _default_embedding = "point"
