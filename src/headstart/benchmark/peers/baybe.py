"""BayBE with a task parameter: its own surrogate and its own acquisition function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import botorch
import numpy as np
import pandas as pd
import torch
from botorch.fit import fit_gpytorch_mll

from headstart.benchmark.beliefs import PeerBelief
from headstart.benchmark.contenders import Rows
from headstart.benchmark.peers.peer import ITERATIONS, Peer, all_rows
from headstart.benchmark.systems import Trial
from headstart.errors import MissingExtraError
from headstart.models.mixture import Mixture
from headstart.shapes import Float


@dataclass(frozen=True, kw_only=True)
class BayBE(Peer):
    """BayBE's defaults, but for a cap on the iterations of its fits; None is its own stop."""

    label: str = "BayBE"
    iterations: int | None = ITERATIONS

    def believe(self, trial: Trial, rows: Rows, seed: int) -> BayBEBelief:
        """All rows, and the points where the task is judged as the candidates."""
        try:
            from baybe.parameters import NumericalDiscreteParameter, TaskParameter
            from baybe.recommenders import BotorchRecommender
            from baybe.searchspace import SearchSpace
            from baybe.targets import NumericalTarget
        except ImportError as error:
            raise MissingExtraError("BayBE", extra="peers") from error
        names = [f"x{i}" for i in range(trial.x.shape[-1])]
        X, Y = (part.numpy() for part in all_rows(trial, rows))
        measured = pd.DataFrame(X[:, :-1], columns=names).assign(
            task=X[:, -1].astype(int).astype(str), y=trial.sign * Y[:, 0]
        )
        candidates = pd.DataFrame(trial.x, columns=names).assign(task=str(trial.tasks))
        values = {name: sorted({*candidates[name], *measured[name]}) for name in names}
        # An input that is constant everywhere tells nothing, and BayBE refuses it.
        varying = [name for name in names if len(values[name]) > 1]
        parameters = [
            *(NumericalDiscreteParameter(name, values=values[name]) for name in varying),
            TaskParameter("task", values=[str(t) for t in range(trial.tasks + 1)], active_values=[str(trial.tasks)]),
        ]
        space = SearchSpace.from_dataframe(candidates[[*varying, "task"]].drop_duplicates(), parameters)
        objective, recommender = NumericalTarget("y").to_objective(), BotorchRecommender()
        measured = measured[[*varying, "task", "y"]]
        options = {} if self.iterations is None else {"maxiter": self.iterations}
        capped = partial(fit_gpytorch_mll, optimizer_kwargs={"options": options})
        # BayBE has no setting for it.
        with torch.random.fork_rng(), mock.patch.object(botorch.fit, "fit_gpytorch_mll", capped):
            torch.manual_seed(seed)
            surrogate = recommender.get_surrogate(space, objective, measured)
        return BayBEBelief(trial, recommender, space, objective, measured, surrogate, seed)


@dataclass(frozen=True, eq=False)
class BayBEBelief(PeerBelief):
    """A BayBE recommender and its fitted surrogate."""

    trial: Trial
    recommender: Any
    space: Any
    objective: Any
    measured: pd.DataFrame
    surrogate: Any
    seed: int

    def predict(self, x: Float[np.ndarray, "t d"], *, noise: bool = True) -> Mixture:
        """The surrogate's posterior."""
        comp = self.space.transform(self._frame(x), allow_extra=True)
        with torch.no_grad():
            points = torch.from_numpy(comp.to_numpy(dtype=float))
            posterior = self.surrogate.to_botorch().posterior(points.unsqueeze(-2), observation_noise=noise)
        mean, variance = (part.detach().flatten().numpy() for part in (posterior.mean, posterior.variance))
        return Mixture(self.trial.sign * mean[None], np.sqrt(np.maximum(variance, 1e-16))[None])

    def choose(self, candidates: Float[np.ndarray, "c d"]) -> int:
        """The greatest value of its acquisition function. (The surrogate is fitted already, and BayBE knows it.)"""
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            values = self.recommender.acquisition_values(
                self._frame(candidates), self.space, self.objective, self.measured
            )
        return int(values.to_numpy().argmax())

    @property
    def _inputs(self) -> list[str]:
        return [name for name in self.measured.columns if name not in ("task", "y")]

    def _frame(self, x: Float[np.ndarray, "t d"]) -> pd.DataFrame:
        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[-1])])
        return frame[self._inputs].assign(task=str(self.trial.tasks))
