"""Visitors of the dashboard in this process: a browser that keeps its cookie, and programs that call the API."""

import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import headstart as hs
from headstart.campaign import Store
from headstart.campaign.records import NewSuggestion, Prediction
from headstart.web.app import create_app
from headstart.web.safety import Safety

with warnings.catch_warnings():
    # Starlette would rather have httpx's successor, which nothing else here needs.
    warnings.filterwarnings("ignore", message="Using `httpx` with `starlette.testclient`")
    from starlette.testclient import TestClient

API = "/api/v1"
TOKEN = "correct-horse-battery-staple"


class Visitor(TestClient):
    """A browser without scripts, or a program, on an application of its own."""

    def __init__(self, where: Path | Store, safety: Safety | None = None, **options) -> None:
        self.store = where if isinstance(where, Store) else Store(where, create=True, author="ann", wait=0.2)
        app = create_app(self.store, safety=safety)
        defaults = {"base_url": "http://localhost", "follow_redirects": False}
        super().__init__(app, **{**defaults, **options})

    def word(self) -> str:
        """What the forms of this visitor carry."""
        page = self.get("/login")
        return re.search(r'name="word" value="([^"]+)"', page.text)[1]

    def submit(self, path: str, **fields):
        """Send a form as a page of ours would."""
        return self.post(path, data={"word": self.word(), **fields})

    def drop(self, name: str, content: bytes):
        """Drop a file."""
        return self.post("/new", data={"word": self.word()}, files={"file": (name, content)})


def suggested(
    store: Store, campaign: hs.Campaign, task: dict[str, str], inputs: dict[str, float], *, mean: float = 1.0
):
    """A pending suggestion, stored as a worker would, without a fit."""
    new = NewSuggestion(task, inputs, Prediction(mean, 0.5, mean - 0.6, mean + 0.6), 0.1, "expected improvement", 0)
    (stored,) = store.add_suggestions(campaign.id, [new], seen=store.snapshot(campaign.id))
    return stored.id


class Elements(HTMLParser):
    """Every element of a page, as a browser reads it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def check_harmless(page) -> None:
    """No script but ours, nothing that runs by itself, and no address that leads elsewhere."""
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for tag, attributes in Elements(page.text).found:
        assert tag not in ("iframe", "object", "embed", "base", "style", "svg"), tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        if tag == "script":
            assert re.fullmatch(r"/static/[\w./-]+\.js", attributes["src"])
        for name in ("src", "href", "action", "hx-get", "hx-post", "data-source"):
            address = attributes.get(name)
            assert address is None or re.match(r"/(?!/)|#|\?", address), (tag, name, address)


def check_harmless_picture(text: str) -> None:
    """An SVG file of shapes and texts alone."""
    for element in ElementTree.fromstring(text).iter():
        assert element.tag.rpartition("}")[2] not in ("script", "foreignObject", "image", "a", "animate", "set")
        assert not [name for name in element.attrib if name.lower().startswith("on")]
