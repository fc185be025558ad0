import re
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import numpy as np
import pytest

from headstart.errors import FileFormatError
from headstart.report import as_svg, convergence, embedding_map, figures, honesty, save, slices

NEW = {"machine": "new", "lab": "north"}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawings(told):
    course, held, response = convergence(told, NEW), honesty(told), slices(told, NEW)
    maps = [embedding_map(told, name, NEW) for name in ("machine", "lab")]
    return {
        "convergence": lambda: figures.convergence(course),
        "honesty": lambda: figures.honesty(held),
        "slices": lambda: figures.slices(response),
        "machine": lambda: figures.embedding_map(maps[0]),
        "lab": lambda: figures.embedding_map(maps[1]),
    }


NAMES = ["convergence", "honesty", "slices", "machine", "lab"]


@pytest.mark.parametrize("name", NAMES)
def test_an_svg_is_well_formed_labelled_and_the_same_again(drawings, name):
    figure = drawings[name]()
    text = as_svg(figure)
    assert text == as_svg(drawings[name]()) == as_svg(figure)
    root = ET.fromstring(text)
    assert root.tag == SVG + "svg"
    assert root.get("role") == "img"
    assert len(root.get("aria-label")) > 20
    assert root.get("viewBox")
    assert not list(root.iter(SVG + "style"))  # it would leak into a page
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) == set(ids)


def test_figures_of_a_page_share_no_names(drawings):
    ids = [name for draw in drawings.values() for name in re.findall(r' id="([^"]*)"', as_svg(draw()))]
    assert len(ids) == len(set(ids))


def test_drawing_leaves_global_settings_alone_and_follows_none(drawings):
    before = dict(mpl.rcParams)
    plain = as_svg(drawings["convergence"]())
    assert dict(mpl.rcParams) == before
    with mpl.rc_context({"axes.facecolor": "black", "axes.grid": True, "text.color": "red", "font.size": 30}):
        assert as_svg(drawings["convergence"]()) == plain


def test_threads_draw_the_same(drawings):
    alone = {name: as_svg(draw()) for name, draw in drawings.items()}
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda name: as_svg(drawings[name]()), NAMES * 2))
    assert together == [alone[name] for name in NAMES] * 2


def test_saving_says_which_formats_there_are(drawings, tmp_path):
    starts = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}
    for suffix, start in starts.items():
        for again in ("a", "b"):
            save(drawings["honesty"](), tmp_path / f"{again}.{suffix}")
        assert (tmp_path / f"a.{suffix}").read_bytes().startswith(start)
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    with pytest.raises(FileFormatError, match=r"\.png, \.svg, \.pdf"):
        save(drawings["honesty"](), tmp_path / "a.jpg")
    with pytest.raises(FileFormatError, match="Cannot save"):
        save(drawings["honesty"](), tmp_path / "missing" / "a.png")


def test_labels_are_text_and_never_formulas():
    level = {"x": 0.0, "y": 0.0, "covariance": [[1.0, 0.2], [0.2, 1.0]], "rows": 3, "similarity": None}
    label = "$\\frac{1$ <script> 新合金 🚀\n'\"&"
    summary = {
        "general": "$a$ & <b>",
        "label": label,
        "interval": 0.5,
        "explained": [0.7, 0.3],
        "nearest": [],
        "levels": [{**level, "label": label, "is_current": True}],
    }
    ET.fromstring(as_svg(figures.embedding_map(summary)))


@pytest.mark.parametrize("current", [True, False])
def test_a_map_of_sixty_levels_labels_a_few(current):
    random = np.random.default_rng(0)
    levels = [
        {
            "label": f"a rather long name of alloy {k}",
            "x": float(x),
            "y": float(y),
            "covariance": [[0.1, 0.02], [0.02, 0.05]],
            "rows": 4,
            "is_current": current and k == 0,
            "similarity": None if k == 0 else 0.5,
        }
        for k, (x, y) in enumerate(random.standard_normal((60, 2)))
    ]
    nearest = [{"label": levels[k]["label"], "similarity": 0.5, "rows": 4} for k in range(1, 6)]
    summary = {
        "general": "alloy",
        "label": levels[0]["label"] if current else None,
        "interval": 0.5,
        "explained": [0.7, 0.3],
        "levels": levels,
        "nearest": nearest if current else [],
    }
    figure = figures.embedding_map(summary)
    (axes,) = figure.axes
    texts = [text for text in axes.texts if text.get_text()]
    assert len(texts) == 6
    renderer = figure.canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    for text in texts:
        box = text.get_window_extent(renderer)
        assert frame.x0 - 1 <= box.x0 <= box.x1 <= frame.x1 + 1
