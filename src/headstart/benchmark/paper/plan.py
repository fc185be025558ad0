"""Which jobs the paper's section "Examples" consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.benchmark.contenders import BayesianGP, Contender, EmbeddingGP, LoneGP, RandomChoice
from headstart.benchmark.experiments import Optimization, Regression
from headstart.benchmark.jobs import Job, Study
from headstart.benchmark.systems import get_system

SYNTHETIC = ("toy-paper", "forrester-paper", "toy-fresh", "forrester-fresh")
LATENT_DIMS = (2, 4, 6, 8)
TRAINING_DRAWS = (1, 16)

BEGP, EGP, BGP = EmbeddingGP(), EmbeddingGP(label="EGP", embedding="point"), BayesianGP()
MODELS: tuple[Contender, ...] = (BEGP, EGP, BGP, LoneGP(), RandomChoice())


@dataclass(frozen=True)
class Scale:
    """How much of everything: the paper's numbers, or a few of each to see that all of it runs."""

    seeds: int = 10
    counts: tuple[int, ...] = (0, 1, 2, 3, 5, 10)
    evaluations: int = 10
    pump_evaluations: int = 20
    additive_evaluations: int = 24
    tasks: int | None = None
    additive: str = "additive"
    latent_dims: tuple[int, ...] = LATENT_DIMS

    def tasks_of(self, system: str) -> Sequence[str]:
        """The tasks that are held out."""
        return get_system(system).tasks[: self.tasks]


PAPER = Scale()
SMOKE = Scale(
    seeds=1,
    counts=(0, 1, 10),
    evaluations=3,
    pump_evaluations=2,
    additive_evaluations=2,
    tasks=1,
    additive="additive-small",
    latent_dims=(2, 8),
)


def parts(scale: Scale = PAPER) -> dict[str, list[Job]]:
    """The jobs by part: the synthetic systems, the pump, the additive data, and the paper's two side remarks.

    >>> {name: len(jobs) for name, jobs in parts().items()}
    {'synthetic': 360, 'pump': 540, 'additive': 3150, 'latent': 320, 'training': 80}
    """
    regression, seeds = Regression(scale.counts), range(scale.seeds)
    predicting = [model for model in MODELS if not isinstance(model, RandomChoice)]

    def both(systems: Sequence[str], evaluations: int) -> list[Job]:
        studies = [
            study
            for system in systems
            for study in (
                *(Study(regression, system, model) for model in predicting),
                *(Study(Optimization(evaluations), system, model) for model in MODELS),
            )
        ]
        return [job for study in studies for job in study.jobs(seeds, scale.tasks_of(study.system))]

    dims = [EmbeddingGP(label=f"BEGP, {dim} dimensions", latent_dim=dim) for dim in scale.latent_dims]
    latent = [
        Study(experiment, system, model)
        for system in SYNTHETIC
        for model in dims
        for experiment in (regression, Optimization(scale.evaluations))
    ]
    training = [
        Study(regression, system, EmbeddingGP(label=f"BEGP, Adam, {draws} draws", draws=draws))
        for system in SYNTHETIC
        for draws in TRAINING_DRAWS
    ]
    return {
        "synthetic": both(SYNTHETIC, scale.evaluations),
        "pump": both(["pump"], scale.pump_evaluations),
        "additive": both([scale.additive], scale.additive_evaluations),
        "latent": [job for study in latent for job in study.jobs(seeds)],
        "training": [job for study in training for job in study.jobs(seeds)],
    }
