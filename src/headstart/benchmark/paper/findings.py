"""Whether the paper's findings hold: each claim with the numbers that decide, from the results alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from headstart.benchmark.markdown import pipe_table
from headstart.benchmark.paper.plan import LATENT_DIMS, TRAINING_DRAWS
from headstart.benchmark.tables import Tables

# What the authors' own code reached in the `paper` variant, 10 seeds: median regret after 1, 2, 3, 5 and 10
# evaluations, and mean negative log density with 0, 1, 2, 3, 5 and 10 current rows.
_AUTHORS_REGRET = {
    ("toy-paper", "BEGP"): (0.0128, 0.0128, 0.0048, 5e-4, 2e-6),
    ("toy-paper", "EGP"): (0.0092, 0.0092, 0.0024, 2e-4, 7e-7),
    ("toy-paper", "BGP"): (2.32, 1.09, 0.563, 0.0011, 6e-5),
    ("forrester-paper", "BEGP"): (5.26, 0.140, 0.140, 0.136, 4e-4),
    ("forrester-paper", "EGP"): (5.39, 0.397, 0.303, 0.012, 1e-4),
    ("forrester-paper", "BGP"): (5.33, 5.33, 5.30, 5.04, 0.25),
}
_AUTHORS_NLPD = {
    ("toy-paper", "BEGP"): (1.53, 1.11, 0.78, 0.33, -0.66, -3.08),
    ("toy-paper", "EGP"): (18.0, 373.0, 36.0, 15.0, -0.89, -4.6),
    ("toy-paper", "BGP"): (2.20, 1.98, 1.53, 1.31, 0.07, -0.94),
    ("forrester-paper", "BEGP"): (2.81, 2.59, 2.40, 2.12, 1.35, -0.54),
    ("forrester-paper", "EGP"): (170.0, 18.0, 16.0, 9.0, 24.0, 0.79),
    ("forrester-paper", "BGP"): (4.04, 4.54, 11.0, 8.8, 3.7, 0.50),
}
# Regret to reach with BEGP in the same variant: system, evaluations, median.
_REGRET_GOALS = (
    ("toy-paper", 1, 0.0128),
    ("toy-paper", 3, 0.0048),
    ("forrester-paper", 2, 0.14),
    ("forrester-paper", 5, 0.05),
)
_EVALUATIONS, _ROWS = (1, 2, 3, 5, 10), (0, 1, 2, 3, 5, 10)
# "Near-optimal": within this share of the range of the current task.
_NEAR = 0.05


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, the verdict, and the numbers behind it in Markdown."""

    claim: str
    verdict: str
    numbers: str


def findings(tables: Tables) -> list[Finding]:
    """All claims, in the paper's order."""
    return [judge(tables) for judge in _JUDGES]


def _near_optimal(tables: Tables, systems: Sequence[str], evaluation: int, claim: str) -> Finding:
    after = tables.optimization[tables.optimization["evaluation"] == evaluation]
    found = _pivot(after, "normalised_regret", systems, "median")
    near = found[["BEGP", "EGP"]] <= _NEAR
    good = [f"{model} on {system}" for system in near.index for model in ("BEGP", "EGP") if near.loc[system, model]]
    verdict = _verdict(len(good) == near.size, f"holds for {', '.join(good)}" if good else "")
    text = (
        f"Median regret after {evaluation} evaluation{'s' * (evaluation > 1)}, as a share of the task's range; up to "
        f"{_NEAR} counts as near-optimal:"
    )
    return Finding(claim, verdict, f"{text}\n\n{pipe_table(found)}")


def _no_data(tables: Tables) -> Finding:
    return _near_optimal(
        tables, ("toy-fresh", "toy-paper"), 1, "Embedding models are near-optimal without any datum (toy)."
    )


def _one_datum(tables: Tables) -> Finding:
    return _near_optimal(
        tables,
        ("forrester-fresh", "forrester-paper"),
        2,
        "Embedding models are near-optimal after a single evaluation: the second, chosen with one datum (Forrester).",
    )


def _catastrophic(tables: Tables) -> Finding:
    found = tables.regression[tables.regression["model"].isin(["BEGP", "EGP", "BGP"])]
    mean = found.groupby(["system", "rows", "model"])["nlpd"].mean().unstack()
    few = mean[mean.index.get_level_values("rows") <= 5]
    gap, excess = few["EGP"] - few["BEGP"], mean["BEGP"] - mean["BGP"]
    worst = found.groupby(["system", "model"])["nlpd"].max().unstack()
    above = excess[excess > 1.0].reset_index(name="by")
    bad = [f"{case.system} with {case.rows} rows (by {case.by:.1f})" for case in above.itertuples()]
    text = (
        f"With up to five rows EGP's is higher than BEGP's in {(gap > 0).sum()} of {len(gap)} cases, by "
        f"{gap.median():.3g} nats in the median and {gap.max():.3g} at most. BEGP's is more than one nat above BGP's "
        f"in {len(bad)} of {len(excess)} cases{': ' * bool(bad)}{', '.join(bad)}. The worst of all tasks and seeds:"
    )
    is_egp_bad = bool((gap > 0).mean() > 0.9 and gap.median() > 1.0)
    in_part = f"holds, with {len(bad)} exception{'s' * (len(bad) > 1)} of {len(excess)}" if len(bad) <= 2 else ""
    return Finding(
        "EGP's log density is catastrophic, BEGP's is not.",
        _verdict(is_egp_bad and not bad, in_part if is_egp_bad else ""),
        f"Mean negative log density:\n\n{pipe_table(_wide(mean))}\n\n{text}\n\n{pipe_table(worst)}",
    )


def _mixed_on_the_pump(tables: Tables) -> Finding:
    pump = tables.regression[(tables.regression["system"] == "pump") & tables.regression["model"].isin(["BEGP", "BGP"])]
    typical = pump.groupby(["rows", "task", "model"])["rmse"].median().unstack()
    better = (typical["BEGP"] < typical["BGP"]).groupby("rows").agg(["sum", "size"])
    shown = ", ".join(f"{row['sum']} of {row['size']} with {rows}" for rows, row in better.iterrows())
    is_mixed = bool(((better["sum"] > 0) & (better["sum"] < better["size"])).any())
    text = f"Families on which BEGP's median RMSE is below BGP's, by number of current rows: {shown}."
    return Finding("On the pump, embedding helps some families and not others.", _verdict(is_mixed), text)


def _zero_shot_beats_ten_rows(tables: Tables) -> Finding:
    additive = tables.regression[tables.regression["system"] == "additive"]
    typical = additive.groupby(["task", "model", "rows"])[["rmse", "nlpd"]].median()
    most = additive["rows"].max()
    zero, ten = typical.xs(("BEGP", 0), level=(1, 2)), typical.xs(("BGP", most), level=(1, 2))
    wins, tasks = {name: int((zero[name] < ten[name]).sum()) for name in ("rmse", "nlpd")}, len(zero)
    text = (
        f"Zero-shot BEGP has a lower median RMSE than BGP with {most} rows on {wins['rmse']} of {tasks} held-out "
        f"tasks, and a lower mean negative log density (median over seeds) on {wins['nlpd']}. Zero-shot is judged on "
        "all rows of a task, BGP on those it has not learned."
    )
    verdict = _verdict(wins["rmse"] > tasks / 2, f"on {wins['rmse']} of {tasks} tasks, not on most")
    return Finding("Zero-shot BEGP is better than BGP with ten rows on many additive tasks.", verdict, text)


def _no_worse_than_point(tables: Tables) -> Finding:
    measured = tables.optimization[tables.optimization["evaluation"].isin(_EVALUATIONS)]
    mean = measured.groupby(["system", "evaluation", "model"])["normalised_regret"].mean().unstack()
    mean = mean.loc[[system for system in ("pump", "additive") if system in mean.index]].dropna(axis=1, how="all")
    excess = (mean["BEGP"] - mean["EGP"]).max()
    text = f"Mean regret as a share of the task's range. BEGP's is at most {excess:.3f} above EGP's:"
    return Finding(
        "BEGP's regret is no worse than EGP's on the real systems.",
        _verdict(bool(excess <= 0.01)),
        f"{text}\n\n{pipe_table(_wide(mean, 'evaluation'))}",
    )


def _any_dimension(tables: Tables) -> Finding:
    labels = {"BEGP": 3} | {f"BEGP, {dim} dimensions": dim for dim in LATENT_DIMS}
    pieces = []
    for frame, column, at, value in (
        (tables.optimization, "evaluation", 3, "normalised_regret"),
        (tables.regression, "rows", 1, "nlpd"),
    ):
        rows = frame[
            frame["model"].isin(labels) & (frame[column] == at) & frame["system"].str.contains("toy|forrester")
        ]
        table = rows.assign(dimension=rows["model"].map(labels)).groupby(["system", "dimension"])[value].median()
        pieces.append(table.unstack("system").add_suffix(f", {value.replace('_', ' ')}"))
    both = pd.concat(pieces, axis=1)
    regret, density = (
        (part.max() - part.min()).max() for part in (both.filter(like="regret"), both.filter(like="nlpd"))
    )
    text = (
        f"Medians of the regret after three evaluations and of the mean negative log density with one row. Between the "
        f"best and the worst dimension they differ by at most {regret:.3f} of the task's range and {density:.2f} nats:"
    )
    return Finding(
        "The model is robust to the latent dimension from 2 to 8.",
        _verdict(bool(regret <= _NEAR / 2 and density <= 0.5)),
        f"{text}\n\n{pipe_table(both)}",
    )


def _one_draw(tables: Tables) -> Finding:
    labels = [f"BEGP, Adam, {draws} draws" for draws in TRAINING_DRAWS]
    rows = tables.regression[tables.regression["model"].isin(["BEGP", *labels])]
    mean = (
        rows[rows["system"].str.contains("toy|forrester")]
        .groupby(["system", "rows", "model"])["nlpd"]
        .median()
        .unstack()
    )
    excess = mean[labels[0]] - mean[labels[-1]]
    behind = (mean[labels[-1]] - mean["BEGP"]).max()
    text = (
        f"Median over seeds of the mean negative log density. One draw a step costs {excess.median():.3f} nats against "
        f"{TRAINING_DRAWS[-1]} in the median, {excess.max():.3f} at most. Our default, L-BFGS-B on fixed draws, is up "
        f"to {behind:.1f} nats better than Adam with {TRAINING_DRAWS[-1]} draws after a thousand steps:"
    )
    return Finding(
        "One draw of Z a step is enough for training.",
        _verdict(bool(excess.median() <= 0.05)),
        f"{text}\n\n{pipe_table(_wide(mean))}",
    )


_JUDGES: tuple[Callable[[Tables], Finding], ...] = (
    _no_data,
    _one_datum,
    _catastrophic,
    _mixed_on_the_pump,
    _zero_shot_beats_ten_rows,
    _no_worse_than_point,
    _any_dimension,
    _one_draw,
)


def targets(tables: Tables) -> str:
    """What we set out to reach in the `paper` variant with BEGP, and whether it was."""
    regret = tables.optimization.groupby(["system", "model", "evaluation"])["regret"].median()
    density = tables.regression.groupby(["system", "model", "rows"])["nlpd"].mean()
    goals = [(f"median regret after {k}", system, goal, regret, k) for system, k, goal in _REGRET_GOALS]
    goals += [
        (f"mean negative log density with {k} rows", system, goal, density, k)
        for (system, model), theirs in _AUTHORS_NLPD.items()
        if model == "BEGP"
        for k, goal in zip(_ROWS, theirs, strict=True)
    ]
    lines = []
    for what, system, goal, values, k in goals:
        ours = values.get((system, "BEGP", k), float("nan"))
        lines.append(
            {"system": system, "target": what, "at most": goal, "ours": ours, "": "yes" if ours <= goal else "no"}
        )
    table = pd.DataFrame(lines)
    missed = int((table[""] == "no").sum())
    title = f"Of {len(lines)} targets, BEGP misses {missed}:"
    return f"{title}\n\n{pipe_table(table.rename(columns={'': 'reached'}).set_index('system'))}"


def against_the_authors(tables: Tables) -> str:
    """Our numbers beside those of the authors' code, on the same tasks and legacy rows."""
    regret = tables.optimization.groupby(["system", "model", "evaluation"])["regret"].median()
    density = tables.regression.groupby(["system", "model", "rows"])["nlpd"].mean()
    parts = [
        _beside("Median simple regret after", regret, _AUTHORS_REGRET, _EVALUATIONS),
        _beside("Mean negative log density with", density, _AUTHORS_NLPD, _ROWS),
    ]
    return "\n\n".join(parts)


def _beside(title: str, ours: pd.Series, authors: Mapping[tuple[str, str], Sequence[float]], at: Sequence[int]) -> str:
    lines: list[dict[object, object]] = []
    for (system, model), theirs in authors.items():
        mine = [ours.get((system, model, k), float("nan")) for k in at]
        lines.append({"system": system, "model": model, "code": "authors'", **dict(zip(at, theirs, strict=True))})
        lines.append({"system": system, "model": model, "code": "Headstart", **dict(zip(at, mine, strict=True))})
    table = pd.DataFrame(lines).set_index(["system", "model", "code"])
    return f"{title} {', '.join(map(str, at))}:\n\n{pipe_table(table)}"


def _pivot(frame: pd.DataFrame, value: str, systems: Sequence[str], how: str) -> pd.DataFrame:
    models = ["BEGP", "EGP", "BGP", "GP", "random"]
    chosen = frame[frame["system"].isin(systems) & frame["model"].isin(models)]
    table = chosen.groupby(["system", "model"])[value].agg(how).unstack()
    return table.reindex(columns=[model for model in models if model in table])


def _wide(table: pd.DataFrame, step: str = "rows") -> pd.DataFrame:
    """Systems and models down, steps across."""
    return pd.DataFrame(table.stack().unstack(step))


def _verdict(holds: bool, in_part: str = "") -> str:
    return "holds" if holds else in_part or "does not hold"
