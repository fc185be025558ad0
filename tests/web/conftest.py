"""A real server with real workers, and a real browser, for the tests of the dashboard."""

import shutil

import pytest
from campaign_databases import postgresql, postgresql_server  # noqa: F401 - fixtures
from serving import served

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server on SQLite that all tests share, each with campaigns of its own."""
    folder = tmp_path_factory.mktemp("server")
    with served(str(folder / "headstart.db"), folder, "--workers", "1") as running:
        yield running


@pytest.fixture(scope="module")
def chromium():
    """Debian's Chromium, driven by Playwright.

    Until Playwright stops, its event loop counts as running in this thread, and no other test may start one: so it
    lives no longer than the tests of one file.
    """
    from playwright.sync_api import sync_playwright

    assert CHROMIUM, "Chromium is not installed: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
