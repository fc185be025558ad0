"""The page about the reproduction, written from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headstart.benchmark.paper.findings import against_the_authors, findings, targets
from headstart.benchmark.paper.plan import Scale
from headstart.benchmark.tables import Tables

_CAPTIONS = {
    "metamodel": "The model: general inputs are embedded, and a Gaussian process lives on inputs and latents.",
    "regression_synthetic": "Regression on the synthetic systems, tasks drawn anew for each seed.",
    "regression_synthetic_authors": "The same on the tasks of the authors' code.",
    "regression_pump": "Regression on the pump families, each held out in turn.",
    "regression_additive": "Regression on the first five held-out tasks of the additive stand-in.",
    "log_density_zoom": "The log density of the first of them, zoomed out until EGP is in view.",
    "running_best_synthetic": "Optimization of the synthetic systems, tasks drawn anew for each seed.",
    "running_best_synthetic_authors": "The same on the tasks of the authors' code.",
    "posterior_toy": "What the models believe of a toy task before and after its first row.",
    "posterior_forrester": "The same on Forrester.",
    "running_best_measured": "Optimization of the pump and the additive stand-in over finite sets.",
    "latent_dimension": "Regret and log density against the latent dimension, tasks drawn anew for each seed.",
    "latent_dimension_authors": "The same on the tasks of the authors' code.",
}


def page(tables: Tables, figures: Sequence[str], scale: Scale, seconds: Mapping[str, float]) -> str:
    """The page in Markdown."""
    versions = sorted({*tables.regression["version"], *tables.optimization["version"]})
    lines = [_HEAD.format(versions=", ".join(versions), seeds=scale.seeds)]
    found = findings(tables)
    lines += [f"| {finding.claim} | {finding.verdict} |" for finding in found]
    for finding in found:
        lines += [
            "",
            f"### {finding.claim}",
            "",
            f"**{finding.verdict[:1].upper()}{finding.verdict[1:]}.** {finding.numbers}",
        ]
    lines += [
        "",
        "## Beside the authors' code",
        "",
        _ABOUT_AUTHORS,
        "",
        targets(tables),
        "",
        against_the_authors(tables),
    ]
    lines += ["", "## What it took", "", _SECONDS]
    lines += [f"| {name} | {spent:.0f} |" for name, spent in seconds.items()]
    lines += ["", "## Figures"]
    for name in figures:
        lines += ["", f"![{name}]({name}.svg)", "", _CAPTIONS[name]]
    return "\n".join(lines) + "\n"


_HEAD = """# The paper, reproduced

*Bayesian task embedding for few-shot Bayesian optimization*, section Examples. `headstart paper` runs the experiments
and writes this page and its figures; every number of ours comes from the files in `results/`.

Headstart {versions}; {seeds} seeds; RBF kernel, as in the paper; 3 latent dimensions unless said otherwise. The paper's
two private data sets have stand-ins: simulated pump families of the same sizes, and 35 measured catalysts with 24 runs
each in place of the additive chemistries. `fresh` systems are those of the paper's text, `paper` ones those of the
authors' code. BGP is a fair one: its priors come from converged fits. Where it has no row yet, on finite sets it takes
the row that is most often best in samples of its prior, which is not a random one; GP starts at random.

## Do the findings hold?

| claim | verdict |
| --- | --- |"""

_SECONDS = """Seconds of computing, summed over workers and over CPU and GPU:

| part | seconds |
| --- | --- |"""

_ABOUT_AUTHORS = """Tasks and legacy rows are the same (`paper` variant), so regrets and zero-shot densities compare one
to one. With current rows, densities depend on where those lie, which is not known of the authors': ours are drawn anew,
and the mean over ten seeds moves with them, on Forrester by whole nats, because one seed can dominate it."""
