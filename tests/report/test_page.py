import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import FileFormatError, ProblemError
from headstart.report import html_report, write_report

NEW = {"machine": "new", "lab": "north"}
VOID = {"meta", "br", "img", "link", "hr", "input"}
NASTY = "<script>alert('x')</script> & \"q\" --> </svg> $\\frac{1$ 新 {{ 7 * 7 }}"


class Page(HTMLParser):
    """A strict reader: every element is closed in order, and what the page refers to is noted."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.references, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
                self.references.append(value)
            assert not name.startswith("on")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def checked(text: str) -> Page:
    """The page, once it is well-formed, self-contained and accessible."""
    page = Page(text)
    assert "script" not in page.tags
    assert not {"link", "img", "iframe", "object", "embed"} & set(page.tags)
    assert all(reference.startswith("#") for reference in page.references)
    assert len(page.ids) == len(set(page.ids))
    assert re.findall(r"https?:", re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)) == []
    assert re.findall(r"url\((?!#)|@import", text) == []
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    for drawing in drawings:
        root = ET.fromstring(drawing)
        assert root.get("role") == "img"
        assert root.get("aria-label")
    assert len(drawings) == page.tags.count("figure")
    assert page.tags.count("h1") == 1
    assert page.tags.count("caption") == page.tags.count("table")
    return page


@pytest.fixture(scope="module")
def report(told) -> str:
    return html_report(told)


def test_a_report_says_what_happened(told, report):
    page = checked(report)
    history = told.history()
    rows = told.data().query("machine == 'new' and lab == 'north'")
    assert f"The best loss so far is {rows['loss'].min():.4g}" in page.text
    assert "machine = new, lab = north" in page.text
    pending = history.query("status == 'pending'")
    for each in pending.itertuples():
        assert f"Suggestion {each.suggestion}: speed = {each.speed:.4g}" in page.text
        assert f"{each.lower:.4g} and {each.upper:.4g}" in page.text
    for words in ("bearing broke", "typing error", "ann", "latent_dim = 3", f"Headstart {hs.__version__}"):
        assert words in page.text
    inside = history.query("status == 'observed'").eval("lower <= loss <= upper").sum()
    assert f"{inside} of 4 outcomes" in page.text
    assert page.tags.count("figure") == 1 + 2 + 2 + 1  # course, two inputs, two general inputs, honesty


def test_the_same_again(told, report):
    assert html_report(told, NEW) == report


def test_another_task(told):
    page = checked(html_report(told, {"machine": "other", "lab": "south"}))
    assert "The best loss so far is 40" in page.text
    assert "No experiment is pending" in page.text


def test_a_legacy_task(told, archive):
    page = checked(html_report(told, {"machine": "old 2", "lab": "south"}))
    best = archive.query("machine == 'old 2' and lab == 'south'")["loss"].min()
    assert f"The best loss so far is {best:.4g}" in page.text
    assert "Nothing was suggested or measured for this task since the archive" in page.text


def test_an_unknown_task_names_those_there_are(told):
    with pytest.raises(ProblemError, match=r"machine = nwe, lab = north.*Did you mean.*machine = old 1, lab = north"):
        html_report(told, {"machine": "nwe", "lab": "north"})
    with pytest.raises(ProblemError, match="does not say which 'lab'"):
        html_report(told, {"machine": "new"})


def test_nothing_yet_then_pending_then_measured(fresh):
    page = checked(html_report(fresh))
    assert "No experiment has been suggested or measured since the archive" in page.text
    assert "No prediction has been put to the test yet" in page.text
    asked = fresh.suggest(NEW, candidates=pd.DataFrame({"speed": [10.0, 30.0], "blades": [2, 3]}))
    page = checked(html_report(fresh))
    assert "Nothing has been measured for this task yet" in page.text
    assert "Next experiment to run" in page.text
    assert "new has no data yet" in page.text
    fresh.observe(asked.assign(loss=3.0))
    page = checked(html_report(fresh))
    assert "The best loss so far is 3 " in page.text
    assert "of 1 outcome " in page.text


def test_labels_and_names_cannot_break_the_page(tmp_path):
    frame = pd.DataFrame({f"g {NASTY}": [NASTY, NASTY, "b", "b"], f"x {NASTY}": [0.0, 1, 0, 1], NASTY: [1.0, 2, 3, 4]})
    problem = hs.Problem(inputs=[f"x {NASTY}"], general=[f"g {NASTY}"], objective=NASTY)
    campaign = hs.Campaign.create(NASTY, frame, problem, store=tmp_path / "h.db", author=NASTY)
    campaign.observe(frame.head(1).assign(**{NASTY: 5.0}))
    (wrong,) = campaign.observe(frame.tail(1).assign(**{NASTY: 9.0}))
    campaign.retract(wrong, reason=NASTY)
    text = html_report(campaign)
    page = checked(text)
    assert page.text.count(NASTY) > 10
    assert "<script" not in text


def test_seven_inputs_and_sixty_levels(tmp_path):
    random = np.random.default_rng(0)
    names = [f"x{k}" for k in range(6)] + ["an input with a very long name and a unit, mm/s²"]
    frame = pd.DataFrame(random.random((60, 7)), columns=names).assign(alloy=[f"alloy {k}" for k in range(60)])
    frame["y"] = 1e6 * frame[names].sum(axis=1)
    problem = hs.Problem(inputs=names, general="alloy", objective="y")
    campaign = hs.Campaign.create("wide", frame, problem, store=tmp_path / "h.db", model="egp")
    page = checked(html_report(campaign, {"alloy": "alloy 7"}))
    assert page.tags.count("figure") == 7 + 1
    assert "60" in page.text


def test_a_report_is_written_whole_or_not_at_all(told, report, tmp_path):
    path = tmp_path / "report.html"
    write_report(told, path)
    assert path.read_text(encoding="utf-8") == report
    with pytest.raises(ProblemError):
        write_report(told, path, {"machine": "nobody", "lab": "north"})
    assert path.read_text(encoding="utf-8") == report
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileFormatError, match="Cannot save"):
        write_report(told, tmp_path / "missing" / "report.html")
