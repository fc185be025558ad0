"""The dashboard in a real Chromium, as people use it."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from dashboard import archive, head
from playwright.sync_api import Page, expect

import headstart as hs

expect.set_options(timeout=60_000)
# Set to a folder, every page that is visited leaves its picture there.
PICTURES = os.environ.get("HEADSTART_SCREENSHOTS")


@pytest.fixture
def console() -> list[str]:
    """What the browser complained of."""
    return []


@pytest.fixture
def page(chromium, server, console):
    context = chromium.new_context(base_url=server.url, viewport={"width": 1200, "height": 900}, accept_downloads=True)
    page = context.new_page()
    watch(page, console)
    yield page
    context.close()


def watch(page: Page, console: list[str]) -> None:
    page.set_default_timeout(60_000)
    page.on("console", lambda message: console.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: console.append(str(error)))


def shot(page: Page, name: str) -> None:
    if PICTURES:
        page.wait_for_timeout(800)
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def check_accessible(page: Page) -> None:
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    serious = [
        (each["id"], each["help"], [node["html"][:200] for node in each["nodes"][:3]])
        for each in found.response["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert not serious, serious


def complaints(console: list[str]) -> list[str]:
    """Errors of scripts and of the content policy.

    A picture that is just being replaced may be missing for a moment, and screenshots style the page from outside.
    """
    harmless = "Failed to load resource" if not PICTURES else ("Failed to load resource", "Applying inline style")
    return [each for each in console if not each.startswith(harmless)]


def drawn(page: Page, kind: str):
    return page.locator(f'figure.plot[data-kind="{kind}"][data-state="drawn"]')


@pytest.fixture
def lab(server):
    """The server as a lab machine sees it."""
    with hs.connect(server.url, author="bob") as lab:
        yield lab


@pytest.fixture
def made(lab):
    """A campaign with a pending suggestion and two outcomes, made by the API."""
    campaign = lab.create(f"made {os.urandom(4).hex()}", archive(), hs.Problem(**PROBLEM))
    for _ in range(2):
        todo = campaign.suggest({"pump": "new"})
        campaign.observe(todo.assign(head_m=head(todo["speed_rpm"], todo["angle_deg"], 1.0)))
    campaign.suggest({"pump": "new"})
    return campaign


PROBLEM = {
    "inputs": {"speed_rpm": (1000, 3000), "angle_deg": (10, 40)},
    "general": ["pump"],
    "objective": "head_m",
    "goal": "maximize",
}


def test_from_a_file_to_ten_outcomes(page, tmp_path, console):
    table = archive().assign(pressure_bar=[f"{1 + 0.01 * k:.2f}" for k in range(24)])
    table.loc[3, "pressure_bar"] = "2O bar"
    table = table[["pump", "speed_rpm", "angle_deg", "pressure_bar", "head_m"]]
    table.to_csv(tmp_path / "pumps.csv", index=False)

    page.goto("/")
    shot(page, "campaigns-empty")
    page.get_by_role("link", name=re.compile("Start with a file|New campaign")).click()
    page.wait_for_load_state("networkidle")
    check_accessible(page)
    shot(page, "new")
    page.set_input_files("#file", tmp_path / "pumps.csv")

    # The odd cell is marked where it is, and its column's role makes it harmless.
    marked = page.locator("table.cells td.error")
    expect(marked).to_have_count(1)
    expect(marked).to_contain_text("2O bar")
    expect(page.get_by_text("'2O bar' in row 5")).to_be_visible()
    check_accessible(page)
    shot(page, "table")
    page.get_by_label("role of pressure_bar").focus()
    page.get_by_label("role of pressure_bar").select_option("ignore")
    expect(page.get_by_text("Ready: 24 rows of 4 tasks.")).to_be_visible()
    page.get_by_label("low of speed_rpm").fill("1000")
    page.get_by_label("high of speed_rpm").fill("3000")
    with page.expect_response(re.compile(r"/new/")):  # the form looks at its new bounds
        page.get_by_label("step of speed_rpm").fill("")
        page.get_by_label("Name of the campaign").focus()
    page.wait_for_timeout(500)
    page.get_by_label("Name of the campaign").fill("Pumps of the north plant")
    page.get_by_role("button", name="Create the campaign").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Pumps of the north plant")
    expect(page.get_by_text("The campaign was created")).to_be_visible()

    ask = page.get_by_role("form", name="Ask for experiments")
    ask.get_by_label("pump").fill("P-new")
    ask.get_by_role("button").click()
    best = []
    for count in range(1, 11):
        card = page.locator("article.card")
        expect(card).to_have_count(1)
        if count == 1:  # before anything of the task is measured
            expect(card).to_contain_text("Probability of being the best, within 5 %")
            shot(page, "card")
        settings = [float(text) for text in card.locator(".settings dd").all_inner_texts()]
        outcome = round(float(head(*settings, 1.0)), 3)
        best.append(outcome)
        card.get_by_label("head_m").fill(str(outcome))
        card.get_by_role("button", name="Record outcome").click()
        expect(page.get_by_text("The outcome is stored")).to_be_visible()
        expect(page.locator("table .mark.observed")).to_have_count(count)
        if count < 10:
            page.get_by_role("form", name="Ask for experiments").get_by_role("button").click()
    assert max(best) > 30.5  # 31 is the optimum, and chance reaches 20 on average

    # Convergence has followed, and so does the map once the last fit is done.
    expect(drawn(page, "convergence")).to_be_visible()
    assert page.locator('[data-kind="convergence"]').evaluate("each => each.dataset.source").endswith("task=P-new")
    expect(page.locator("#activity .job")).to_have_count(0)
    shown = page.evaluate("fetch(location.pathname + '/pictures/convergence.json?task=P-new').then(r => r.json())")
    assert [each["outcome"] for each in shown["evaluations"]] == pytest.approx(best)
    check_accessible(page)
    shot(page, "campaign")

    page.get_by_role("link", name="Pictures").click()
    for kind in ("convergence", "slices", "surfaces", "embedding_map", "honesty"):
        expect(drawn(page, kind)).to_be_visible()
    expect(page.get_by_text("from all data")).to_be_visible()
    trail = page.evaluate("fetch(location.pathname + '/embedding_map.json?task=P-new').then(r => r.json())")["trail"]
    assert len(trail) >= 3  # the way that the task came
    check_accessible(page)
    shot(page, "pictures")

    page.get_by_role("link", name="Experiments").click()
    page.get_by_role("button", name="Write a report").click()
    link = page.get_by_role("link", name=re.compile("Download the report"))
    expect(link).to_be_visible()
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "Pumps-of-the-north-plant.html"
    assert "Pumps of the north plant" in Path(download.value.path()).read_text()
    page.get_by_role("link", name="Campaigns").click()
    expect(page.get_by_role("row", name=re.compile("Pumps of the north plant"))).to_contain_text(f"{max(best):.4g}")
    check_accessible(page)
    shot(page, "campaigns")
    assert not complaints(console)


def test_pictures_are_kept_as_files(page, made, console):
    page.goto(f"/campaigns/{made.id}/pictures")
    for kind in ("slices", "surfaces", "embedding_map", "convergence"):
        expect(drawn(page, kind)).to_be_visible()
        for suffix in ("SVG", "CSV"):
            with page.expect_download() as download:
                page.locator(f'figure[data-kind="{kind}"]').get_by_role("link", name=suffix).click()
            content = Path(download.value.path()).read_text()
            assert content.startswith("<svg") if suffix == "SVG" else len(content.splitlines()) > 1
    surface = page.locator('figure[data-kind="surfaces"]')
    surface.get_by_label("uncertainty").check()
    expect(surface.get_by_label("uncertainty")).to_be_checked()
    assert not complaints(console)


def test_accept_withdraw_and_retract(page, made):
    page.goto(f"/campaigns/{made.id}")
    card = page.locator("article.card")
    card.get_by_role("button", name="Accept: I run it").click()
    expect(page.locator("article.card")).to_contain_text("run by ann")
    page.locator("article.card summary", has_text="Withdraw").click()
    page.locator("article.card").get_by_label("Why").fill("the seal leaked")
    page.locator("article.card").get_by_role("button", name=re.compile("Withdraw")).click()
    expect(page.locator("article.card")).to_have_count(0)
    expect(page.get_by_role("row", name=re.compile("withdrawn"))).to_contain_text("the seal leaked")
    row = page.locator("tr", has=page.locator(".mark.observed")).first
    row.locator("summary").click()
    row.get_by_role("button", name=re.compile("Retract")).click()
    expect(page.locator(".mark.retracted")).to_have_count(1)
    expect(page.locator("article.card")).to_have_count(1)  # pending again


def test_a_wrong_outcome_is_named_and_nothing_typed_is_lost(page, made):
    page.goto(f"/campaigns/{made.id}")
    own = page.get_by_role("region", name="Record an experiment of your own")
    own.get_by_label("speed_rpm").fill("2000")
    own.get_by_label("angle_deg").fill("25")
    own.get_by_label("head_m").fill("3O")
    own.get_by_role("button", name="Record").click()
    expect(page.get_by_role("alert")).to_contain_text("head_m is '3O': write a number")
    own = page.get_by_role("region", name="Record an experiment of your own")
    expect(own.get_by_label("speed_rpm")).to_have_value("2000")
    own.get_by_label("head_m").fill("30,5")
    own.get_by_role("button", name="Record").click()
    expect(page.get_by_text("The outcome is stored")).to_be_visible()
    expect(page.locator("table strong", has_text="30.5")).to_have_count(1)


def test_what_others_do_appears_but_not_under_ones_hands(page, made):
    page.goto(f"/campaigns/{made.id}")
    field = page.locator("article.card").get_by_label("head_m")
    field.fill("12")
    made.observe([{"pump": "new", "speed_rpm": 1500, "angle_deg": 20, "head_m": 24.4}])
    page.wait_for_timeout(6000)
    expect(field).to_have_value("12")  # what is being typed stays
    field.fill("")
    field.blur()
    expect(page.locator("table .mark.observed")).to_have_count(3)


def test_with_the_keyboard_alone(page, made):
    page.goto(f"/campaigns/{made.id}")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    field = page.locator("article.card").get_by_label("head_m")
    for _ in range(40):
        page.keyboard.press("Tab")
        if field.evaluate("each => each === document.activeElement"):
            break
    expect(field).to_be_focused()
    page.keyboard.type("29.5")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The outcome is stored")).to_be_visible()
    expect(page.locator("table strong", has_text="29.5")).to_have_count(1)


def test_on_a_phone(chromium, server, made, console):
    context = chromium.new_context(
        base_url=server.url, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    page = context.new_page()
    watch(page, console)
    for path, name in (("", "campaign"), ("/pictures", "pictures"), ("/trust", "trust")):
        page.goto(f"/campaigns/{made.id}{path}")
        if path != "/trust":
            expect(drawn(page, "convergence")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        check_accessible(page)
        shot(page, f"{name}-phone")
    context.close()
    assert not complaints(console)


def test_without_scripts_all_is_readable_and_can_be_done(chromium, server, made):
    context = chromium.new_context(base_url=server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/campaigns/{made.id}")
    card = page.locator("article.card")
    expect(card).to_have_count(1)
    picture = page.locator("figure.plot img")
    expect(picture).to_be_visible()
    assert picture.bounding_box()["height"] > 100
    card.get_by_label("head_m").fill("28")
    card.get_by_role("button", name="Record outcome").click()
    expect(page.get_by_text("The outcome is stored")).to_be_visible()
    context.close()


def test_trust(page, lab, console):
    campaign = lab.create(f"trust {os.urandom(4).hex()}", archive(rows=5), hs.Problem(**PROBLEM))
    page.goto(f"/campaigns/{campaign.id}/trust")
    page.get_by_label("Tasks to leave out").fill("3")
    page.get_by_role("button", name="Validate").click()
    expect(page.locator("#activity .job", has_text="validating")).to_be_visible()
    expect(page.get_by_role("heading", name="Task by task")).to_be_visible(timeout=180_000)
    expect(drawn(page, "trust")).to_be_visible()
    expect(page.locator("tbody th[scope=rowgroup]")).to_have_count(3)
    check_accessible(page)
    shot(page, "trust")
    assert not complaints(console)


def test_a_validation_can_be_cancelled(page, lab):
    campaign = lab.create(f"cancel {os.urandom(4).hex()}", archive(8, 12), hs.Problem(**PROBLEM))
    page.goto(f"/campaigns/{campaign.id}/trust")
    page.get_by_role("button", name="Validate").click()
    page.locator("#activity .job", has_text="validating").get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled.")).to_be_visible()
    expect(page.locator("#activity .job", has_text="validating")).to_have_count(0)


def test_labels_are_text_wherever_they_are_shown(page, lab):
    nasty = '<img src=x onerror="document.title=1">'
    table = archive(2, 4).rename(columns={"angle_deg": nasty})
    table["pump"] = np.where(table["pump"] == "P0", nasty, "P1")
    problem = hs.Problem(inputs=["speed_rpm", nasty], general=["pump"], objective="head_m", goal="maximize")
    campaign = lab.create(nasty, pd.DataFrame(table), problem)
    campaign.suggest({"pump": "<b>new</b>"})
    for path in ("", "/pictures", "/trust"):
        page.goto(f"/campaigns/{campaign.id}{path}")
        expect(page.get_by_role("heading", level=1)).to_have_text(nasty)
        if path != "/trust":
            expect(drawn(page, "convergence")).to_be_visible()
        assert page.locator("img[onerror]").count() == 0
        assert "Headstart" in page.title()
