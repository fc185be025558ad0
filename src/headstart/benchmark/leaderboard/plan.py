"""Which methods run on which problems, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headstart.benchmark.contenders import Contender, EmbeddingGP, Headstart, LoneGP, RandomChoice
from headstart.benchmark.experiments import Optimization, Regression
from headstart.benchmark.jobs import Job, Study
from headstart.benchmark.peers import (
    BayBE,
    Forest,
    LegacyCombination,
    MultiTask,
    PooledGP,
    RankedEnsemble,
    SaasMultiTask,
)
from headstart.benchmark.systems import get_system

HEADSTART = Headstart()
# Its results are from before the default became "auto".
COMBINED = Headstart(label="Headstart, one general input", kernel="rbf+tasks", is_separate=False)
ALONE = LoneGP(label="GP without legacy", kernel="matern52")
BAYBE, SAAS, MULTITASK = BayBE(), SaasMultiTask(), MultiTask()
METHODS: tuple[Contender, ...] = (
    HEADSTART,
    COMBINED,
    BAYBE,
    SAAS,
    MULTITASK,
    RankedEnsemble(),
    EmbeddingGP(label="LVGP", embedding="point", latent_dim=2),
    LegacyCombination(),
    ALONE,
    PooledGP(),
    Forest(),
    RandomChoice(),
)
# A fit takes these seconds to minutes.
SLOW = (BAYBE, SAAS, MULTITASK)


@dataclass(frozen=True)
class Depth:
    """How far a campaign is followed."""

    evaluations: int = 10
    counts: tuple[int, ...] = (0, 1, 2, 3, 5, 10)


FULL, SHORT, SMOKE = Depth(), Depth(5, (0, 1, 2, 3, 5)), Depth(2, (0, 1))


@dataclass(frozen=True)
class Problem:
    """A system, and how it is run.

    Attributes:
        system: its name.
        words: what it is, for people.
        seeds: how many seeds.
        tasks: how many of its tasks are held out in turn, the first ones; all when None.
        without: methods that would take hours on it.
        is_trap: whether legacy data may mislead.
        has_several: whether it has several general inputs.
    """

    system: str
    words: str
    seeds: int = 1
    tasks: int | None = None
    without: tuple[Contender, ...] = (SAAS,)
    is_trap: bool = False
    has_several: bool = False

    @property
    def held_out(self) -> tuple[str, ...]:
        """The tasks that are held out."""
        return get_system(self.system).tasks[: self.tasks]

    @property
    def methods(self) -> tuple[Contender, ...]:
        """Those that run on it. Of one general input there is nothing to combine."""
        others = self.without if self.has_several else (*self.without, COMBINED)
        return tuple(method for method in METHODS if method not in others)


def _family(system: str, words: str, seeds: int = 20) -> Problem:
    return Problem(system, words, seeds, without=())


def _trap(system: str, words: str) -> Problem:
    return Problem(system, words, seeds=20, is_trap=True)


PROBLEMS = (
    _family("toy-fresh", "the paper's toy family"),
    _family("forrester-fresh", "the paper's Forrester family"),
    Problem("pump", "simulated pump families"),
    Problem("additive", "35 catalysts of 24 runs (ocm_catalysts)", without=SLOW),
    Problem("meltpool", "depth of melt pools by alloy"),
    Problem("lpbf-sample", "density of printed parts by alloy"),
    Problem("pump-catalogue", "efficiency of catalogue pumps by series", without=(SAAS, BAYBE)),
    Problem("suzuki", "Suzuki couplings by substrate and ligand", has_several=True),
    Problem("cn-coupling", "C-N couplings by nucleophile, precatalyst and base", tasks=8, has_several=True),
    Problem("arylation", "direct arylation by ligand, base and solvent", tasks=8, has_several=True),
    Problem("electrolytes", "conductivity by salt and solvent", has_several=True),
    Problem("adaboost", "accuracy of AdaBoost by data set", tasks=10),
    _trap("unrelated", "unrelated tasks"),
    _trap("inverted", "inverted tasks"),
    _trap("outlier", "one outlier among related tasks"),
    _trap("offset-scale", "tasks that differ by offset and scale"),
    _trap("noisy", "noisy tasks"),
)


def jobs_of(problem: Problem) -> list[Job]:
    """All jobs of a problem; slow methods are followed half as far.

    >>> len(jobs_of(PROBLEMS[2]))  # six families; two experiments for each method, one for random choice
    114
    """
    return [
        job
        for method in problem.methods
        for study in _studies(problem, method, SHORT if method in SLOW else FULL)
        for job in study.jobs(range(problem.seeds), problem.held_out)
    ]


def smoke_jobs_of(problem: Problem) -> list[Job]:
    """Two evaluations and one row of one task with one seed, without the slow methods."""
    quick = [method for method in problem.methods if method not in SLOW]
    return [
        job
        for method in quick
        for study in _studies(problem, method, SMOKE)
        for job in study.jobs(range(1), problem.held_out[:1])
    ]


def _studies(problem: Problem, method: Contender, depth: Depth) -> Iterator[Study]:
    yield Study(Optimization(depth.evaluations), problem.system, method)
    if not isinstance(method, RandomChoice):
        yield Study(Regression(depth.counts), problem.system, method)
