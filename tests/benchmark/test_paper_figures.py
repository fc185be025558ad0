"""The figures of the paper, drawn from made-up results, and the posteriors from a real trial."""

import itertools
import xml.etree.ElementTree as ET
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Circle

from headstart.benchmark.paper.figures import (
    FIGURES,
    Tables,
    latent_dimension,
    metamodel,
    posterior_forrester,
    posterior_toy,
    regression_additive,
    regression_pump,
    regression_synthetic,
    running_best_measured,
    running_best_synthetic,
)
from headstart.benchmark.paper.figures.curves import LOOKS
from headstart.benchmark.paper.figures.posteriors import SEED, SHOTS, posteriors_of
from headstart.benchmark.paper.plan import BEGP, EGP, MODELS
from headstart.benchmark.systems import get_system
from headstart.errors import DataError
from headstart.report.svg import as_svg

PREDICTING = ["BEGP", "EGP", "BGP", "GP"]
SYNTHETIC = ["toy-paper", "toy-fresh", "forrester-paper", "forrester-fresh"]
COUNTS = [0, 1, 2, 3, 5, 10]
AXES = {
    "metamodel": 1,
    "regression_synthetic": 6,
    "regression_synthetic_authors": 6,
    "regression_pump": 18,
    "regression_additive": 15,
    "log_density_zoom": 1,
    "running_best_synthetic": 2,
    "running_best_synthetic_authors": 2,
    "posterior_toy": 6,
    "posterior_forrester": 6,
    "running_best_measured": 2,
    "latent_dimension": 4,
    "latent_dimension_authors": 4,
}
OF_RESULTS = [name for name in AXES if not name.startswith(("metamodel", "posterior"))]


def made_up(*, seeds=4, counts=COUNTS, tasks=None, evaluations=10):
    """Plausible results: errors shrink with rows, EGP is overconfident, GP says nothing without a row."""
    random = np.random.default_rng(0)
    regression, optimization = [], []
    for system in [*SYNTHETIC, "pump", "additive"]:
        models = [*PREDICTING, "random"]
        if system in SYNTHETIC:
            models += [label for label in latent_dimension.DIMENSIONS if label != "BEGP"]
        for task, seed, model in itertools.product(get_system(system).tasks[:tasks], range(seeds), models):
            run = {"system": system, "task": task, "seed": seed, "model": model}
            for count in counts if model != "random" else ():
                error = random.lognormal(0, 0.3) * np.exp(-0.2 * count)
                surprise = np.log(error) + 1.4 + (300 * error if model == "EGP" else 0)
                scores = {"rmse": error, "mae": 0.8 * error, "median_nlpd": surprise}
                if model == "GP" and count == 0:
                    scores = dict.fromkeys(scores, np.nan)
                regression.append(run | {"rows": count} | scores)
            steps = (
                evaluations if system in SYNTHETIC else min(2 * evaluations, len(get_system(system).trial(task, 0).y))
            )
            regret = np.minimum.accumulate(random.lognormal(-1.5 * np.arange(steps), 1.0))
            for step, value in enumerate(regret, start=1):
                optimization.append(run | {"evaluation": step, "regret": value, "normalised_regret": value / 10})
    return Tables(pd.DataFrame(regression), pd.DataFrame(optimization))


@pytest.fixture(scope="module")
def tables():
    return made_up()


@pytest.fixture(scope="module")
def smoke():
    return made_up(seeds=1, counts=[0, 1, 10], tasks=1, evaluations=1)


@pytest.fixture(scope="module")
def drawn(tables):
    """A figure by its name, drawn once for all tests."""
    return cache(lambda name: FIGURES[name](tables))


def chosen(table, **where):
    return table[(table[list(where)] == pd.Series(where)).all(axis="columns")]


def line(axes, label):
    (found,) = [line for line in axes.get_lines() if line.get_label() == label]
    return found


def band(axes, label):
    """Lower and upper edge of a model's band: the two lines of its colour that have no name."""
    color = to_hex(LOOKS[label][0])
    low, high = [
        line
        for line in axes.get_lines()
        if line.get_label().startswith("_") and to_hex(line.get_color()) == color and line.get_alpha()
    ]
    return low.get_ydata(), high.get_ydata()


def named(axes):
    return [line.get_label() for line in axes.get_lines() if not line.get_label().startswith("_")]


def words(figure):
    return " ".join(text.get_text() for text in figure.findobj(mpl.text.Text))


def test_the_figures_stand_in_the_order_of_the_paper():
    assert list(FIGURES) == list(AXES)


@pytest.mark.parametrize("name", ["metamodel", *OF_RESULTS])
def test_a_figure_has_its_panels_and_says_what_it_shows(drawn, name):
    figure = drawn(name)
    assert len(figure.axes) == AXES[name]
    assert len(figure.get_label()) > 40
    assert figure.get_figwidth() <= 9.0


@pytest.mark.parametrize("name", OF_RESULTS)
def test_few_results_are_enough(smoke, name):
    assert FIGURES[name](smoke).axes


@pytest.mark.parametrize("name", OF_RESULTS)
def test_a_system_that_is_absent_is_named(tables, name):
    nothing = Tables(tables.regression.iloc[:0], tables.optimization.iloc[:0])
    with pytest.raises(DataError, match=r"hold no system '.*only none: run its jobs first"):
        FIGURES[name](nothing)


def test_what_else_is_missing_is_named(tables):
    with pytest.raises(DataError, match="hold no system 'forrester-new', only toy-paper"):
        regression_synthetic.draw(tables.regression, "new")
    with pytest.raises(DataError, match="lack evaluation, normalised_regret: they have system, task"):
        running_best_measured.draw(tables.regression)
    with pytest.raises(DataError, match="lack system"):
        regression_pump.draw(pd.DataFrame())
    with pytest.raises(DataError, match="pump has none of the tasks in the results, other"):
        regression_pump.draw(tables.regression.assign(task="other"))


def test_scores_are_medians_in_a_band_of_80_percent(tables, drawn):
    figure = drawn("regression_synthetic_authors")
    panels = np.array(figure.axes).reshape(2, 3)
    assert [axes.get_ylabel() for axes in panels[:, 0]] == ["Forrester", "toy"]
    assert [axes.get_title("left").split("\n")[0] for axes in panels[0]] == [
        "Root mean squared error",
        "Mean absolute error",
        "Median negative log density",
    ]
    for (row, system), (column, score) in itertools.product(
        enumerate(["forrester-paper", "toy-paper"]), enumerate(["rmse", "mae", "median_nlpd"])
    ):
        axes = panels[row, column]
        assert named(axes) == PREDICTING
        for model, count in [("BEGP", 0), ("BGP", 3), ("EGP", 5), ("GP", 10)]:
            runs = chosen(tables.regression, system=system, model=model, rows=count)[score]
            place = list(line(axes, model).get_xdata()).index(count)
            assert line(axes, model).get_ydata()[place] == pytest.approx(np.median(runs))
            edges = [edge[place] for edge in band(axes, model)]
            assert edges == pytest.approx(np.percentile(runs, [10, 90]).tolist())
        assert line(axes, "BEGP").get_xdata().tolist() == COUNTS
        assert line(axes, "GP").get_xdata().tolist() == COUNTS[1:]


def test_overconfident_models_leave_the_frame_and_words_say_how_far(drawn):
    figure = drawn("regression_synthetic")
    for axes in figure.axes[2::3]:
        _, top = axes.get_ylim()
        peak = line(axes, "EGP").get_ydata().max()
        assert peak > top > band(axes, "BEGP")[1].max()
        assert [text.get_text() for text in axes.texts] == [f"↑ EGP up to {float(f'{peak:.2g}'):.0f}"]
    for axes in figure.axes[:2]:
        assert not axes.texts
        assert axes.get_ylim()[0] == 0.0


def test_zoomed_out_all_are_in_the_frame(tables, drawn):
    (axes,) = drawn("log_density_zoom").axes
    assert axes.get_yscale() == "symlog"
    assert axes.get_ylim()[1] > max(band(axes, "EGP")[1])
    task = get_system("additive").tasks[0]
    runs = chosen(tables.regression, system="additive", task=task, model="EGP", rows=0)
    assert axes.get_title("left") == task
    assert line(axes, "EGP").get_ydata()[0] == pytest.approx(runs["median_nlpd"].median())


def test_tasks_stand_in_the_order_of_their_system(tables):
    shuffled = tables.regression[tables.regression["rows"] == 0].sample(frac=1.0, random_state=0)
    rows = [axes.get_ylabel() for axes in regression_additive.draw(shuffled).axes[::3]]
    assert rows == list(get_system("additive").tasks[:5])


def test_all_families_are_shown(drawn):
    families = [axes.get_ylabel() for axes in drawn("regression_pump").axes[::3]]
    assert families == [task.replace("_", " ") for task in get_system("pump").tasks]


def test_regret_of_functions_is_a_median_that_ends_at_the_floor(tables, drawn):
    figure = drawn("running_best_synthetic")
    assert [axes.get_title("left") for axes in figure.axes] == ["toy, 4 runs", "Forrester, 4 runs"]
    axes = figure.axes[1]
    assert axes.get_yscale() == "log"
    assert named(axes) == [*PREDICTING, "random"]
    for model, step in [("BEGP", 1), ("GP", 4), ("random", 10)]:
        runs = chosen(tables.optimization, system="forrester-fresh", model=model, evaluation=step)
        clipped = np.maximum(runs["regret"], 1e-4)
        assert line(axes, model).get_ydata()[step - 1] == pytest.approx(np.median(clipped))
        edges = [edge[step - 1] for edge in band(axes, model)]
        assert edges == pytest.approx(np.percentile(clipped, [10, 90]).tolist())
    assert "≤ 0.0001" in words(figure)


def test_a_task_that_is_used_up_keeps_its_best(tables, drawn):
    axes, _ = drawn("running_best_measured").axes
    assert axes.get_title("left") == "pump, 24 runs"
    runs = chosen(tables.optimization, system="pump", model="BEGP")
    assert runs.groupby("task")["evaluation"].max().min() < 20  # a family has fewer rows
    for step in (1, 11, 20):
        last = [run[run["evaluation"] <= step]["normalised_regret"].min() for _, run in runs.groupby(["task", "seed"])]
        assert len(last) == 24
        assert line(axes, "BEGP").get_ydata()[step - 1] == pytest.approx(np.median(last))


def test_latent_dimensions_stand_in_their_places(tables, drawn):
    figure = drawn("latent_dimension_authors")
    _, above, _, below = figure.axes
    assert [text.get_text() for text in above.texts] == [
        f"after {n}" for n in ("1 evaluation", "3 evaluations", "10 evaluations")
    ]
    middle = line(below, "3 rows")
    assert middle.get_xdata().tolist() == [2, 3, 4, 6, 8]
    for place, model in [(1, "BEGP"), (4, "BEGP, 8 dimensions")]:
        runs = chosen(tables.regression, system="forrester-paper", model=model, rows=3)
        assert middle.get_ydata()[place] == pytest.approx(runs["median_nlpd"].median())


@pytest.mark.parametrize("name", [name for name in OF_RESULTS if not name.startswith("latent")])
def test_a_model_looks_the_same_everywhere(drawn, name):
    for axes in drawn(name).axes:
        assert {model: (line(axes, model).get_color(), line(axes, model).get_marker()) for model in named(axes)} == {
            model: LOOKS[model] for model in named(axes)
        }


def test_all_models_have_a_look():
    assert list(LOOKS) == [model.label for model in MODELS]
    assert len(set(LOOKS.values())) == len({color for color, _ in LOOKS.values()}) == len(LOOKS)


def test_the_metamodel_tells_kinds_of_nodes_apart():
    figure = metamodel.draw()
    (axes,) = figure.axes
    nodes, key = len(metamodel.NODES), 3
    circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert len(circles) == nodes + key
    assert len({(circle.radius, circle.get_facecolor()) for circle in circles[:nodes]}) == 4
    assert sum(bool(text.arrow_patch) for text in axes.findobj(mpl.text.Annotation)) == len(metamodel.EDGES)
    for said in ("latent", "white noise kernel", "levels of the general input", "not observed", "deterministic"):
        assert said in words(figure)


def test_drawing_follows_no_global_settings(tables):
    def texts():
        return as_svg(metamodel.draw()), as_svg(running_best_synthetic.draw(tables.optimization))

    plain = texts()
    assert ET.fromstring(plain[1]).get("aria-label").startswith("Regret")
    with mpl.rc_context({"axes.facecolor": "black", "axes.grid": True, "text.color": "red", "font.size": 30}):
        assert texts() == plain


def test_posteriors_are_those_of_a_real_trial():
    figure = posterior_toy.draw([EGP, BEGP])
    panels = np.array(figure.axes).reshape(2, 2)
    assert [axes.get_title("left") for axes in panels[0]] == ["EGP", "BEGP"]
    assert [axes.get_ylabel() for axes in panels[:, 0]] == [f"{shot} prediction" for shot in SHOTS]
    trial = get_system("toy-paper").trial("current", SEED)
    for (before, after), contender in zip(panels.T, [EGP, BEGP], strict=True):
        assert line(before, "mean").get_color() == LOOKS[contender.label][0]
        assert np.array_equal(line(before, "truth").get_ydata(), trial.y)
        assert not len(line(before, "measured").get_xdata())
        chosen, measured = line(before, "chosen next").get_xydata(), line(after, "measured").get_xydata()
        assert np.array_equal(chosen, measured)
        assert measured[0, 1] == pytest.approx(trial.function(measured[:1, :1]).item())
        # What is believed agrees with what was measured.
        believed = np.interp(measured[0, 0], *line(after, "mean").get_data())
        assert believed == pytest.approx(measured[0, 1], abs=0.1 * trial.spread)


def test_bands_hold_what_they_say():
    trial = get_system("toy-paper").trial("current", SEED)
    narrow, wide = (posteriors_of(contender, trial, seed=SEED)[0] for contender in (EGP, BEGP))
    assert np.median(wide.sd) > 2 * np.median(
        narrow.sd
    )  # the paper's point: a deterministic embedding is overconfident
    axes = posterior_toy.draw([BEGP]).axes[0]
    for drawn_band, quantile in zip(axes.collections, [1.2816, 1.96], strict=True):
        vertices = drawn_band.get_paths()[0].vertices
        for place in (0, 150, 400):
            edges = vertices[vertices[:, 0] == trial.x[place, 0], 1]
            assert np.ptp(edges) == pytest.approx(2 * quantile * wide.sd[place], rel=1e-3)


def test_a_model_that_believes_nothing_has_no_posterior():
    with pytest.raises(DataError, match="random believes nothing"):
        posterior_toy.draw([MODELS[-1]])


@pytest.mark.slow
def test_posteriors_of_all_three_models():
    figure = posterior_forrester.draw()
    assert [axes.get_title("left") for axes in figure.axes[:3]] == ["BGP", "EGP", "BEGP"]
    flat = line(figure.axes[0], "mean").get_ydata()
    assert np.ptp(flat) < 1e-6  # without a row, a GP believes the same everywhere
