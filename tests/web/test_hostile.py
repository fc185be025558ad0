"""What users write is shown and never acts: in pages, downloads, addresses and statements."""

import csv
import io
import itertools
import re
from html.parser import HTMLParser
from urllib.parse import quote, unquote

import openpyxl
import pytest
from visiting import API, Elements, Visitor, check_harmless, check_harmless_picture, suggested

import headstart as hs

SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"'><img src=x onerror=alert(1)>"
LINK = "javascript:alert(1)//"
FORMULA = "=HYPERLINK(A1)"
TEMPLATE = "{{ 7*7 }}{% x %}"
SQL = "'; DROP TABLE campaign; --"
MATHS = "$\\frac{"  # what matplotlib would set as a formula, and cannot
HOSTILE = (SCRIPT, IMAGE, LINK, FORMULA, TEMPLATE, SQL, MATHS)

INPUT, GENERAL, OBJECTIVE = f"{SCRIPT} {MATHS}", f"{IMAGE} {TEMPLATE}", f"={SQL}"
TASK = {GENERAL: f"{SCRIPT}{IMAGE}"}
PAGES = ("", "?all=1", "/pictures", "/trust", "/activity", f"?task={quote(TASK[GENERAL])}", f"?task={quote(LINK)}")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Visitor:
    """A campaign in which every text is an attack."""
    visitor = Visitor(tmp_path_factory.mktemp("hostile") / "headstart.db")
    labels = itertools.cycle([SCRIPT, IMAGE, FORMULA, LINK])
    rows = [{GENERAL: label, INPUT: k, OBJECTIVE: k % 5 + 0.5} for k, label in zip(range(12), labels, strict=False)]
    problem = hs.Problem(inputs={INPUT: (0, 20)}, general=[GENERAL], objective=OBJECTIVE)
    campaign = hs.Campaign.create(SCRIPT + IMAGE, rows, problem, store=visitor.store.by(IMAGE))
    store = visitor.store.by(f"+{SCRIPT}")
    ids = [suggested(store, campaign, TASK, {INPUT: float(place)}) for place in range(4)]
    store.accept(campaign.id, ids[0])
    store.withdraw(campaign.id, [ids[1]], f"@{IMAGE}")
    by_store = hs.Campaign(campaign.id, store)
    (told, _) = (by_store.observe(2.0, suggestion=each)[0] for each in ids[2:])
    by_store.retract(told, reason=SCRIPT)
    job = store.jobs.add(campaign.id, "refresh", {"task": TASK})
    store.jobs.claim("nobody:1")
    store.jobs.beat(job.id, "nobody:1", remark=SCRIPT)
    failed = store.jobs.add(campaign.id, "report", {"task": TASK})
    store.jobs.claim("nobody:1")
    store.jobs.fail(failed.id, "nobody:1", IMAGE)
    return visitor


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_a_campaign(hostile, page):
    shown = hostile.get(f"/campaigns/1{page}")
    assert shown.status_code == 200
    check_harmless(shown)


def test_what_was_written_is_shown_as_it_was_written(hostile):
    class Texts(HTMLParser):
        text = ""

        def handle_data(self, data):
            self.text += data

    page = Texts()
    page.feed(hostile.get(f"/campaigns/1?task={quote(TASK[GENERAL])}").text)
    for text in (SCRIPT + IMAGE, INPUT, GENERAL, OBJECTIVE, TASK[GENERAL], f"run by +{SCRIPT}", f"@{IMAGE}"):
        assert text in page.text


def test_the_list_the_errors_and_the_queries(hostile):
    check_harmless(hostile.get("/"))
    for text in HOSTILE:
        typed = quote(text, safe="")
        for path in (
            f"/nothing/{typed}",
            f"/new/{typed}",
            f"/campaigns/{typed}",
            f"/?done={typed}",
            f"/campaigns/1/activity?seen={typed}",
            f"/campaigns/1?task={typed}&task={typed}",
            f"/campaigns/1/pictures/{typed}.svg",
            f"/campaigns/1/pictures/convergence.{typed}",
            f"/campaigns/1/pictures/convergence.svg?task={typed}&task=b",
            f"/campaigns/1/export/{typed}.csv",
        ):
            check_harmless(hostile.get(path))


def test_what_a_refused_form_shows_again(hostile):
    for text in HOSTILE:
        for path in ("ask", "tell"):
            fields = {"task": text, "n": text, "outcome": text, "input-0": text, "fix-0": text, "suggestion": text}
            shown = hostile.submit(f"/campaigns/1/{path}", **fields)
            assert shown.status_code == 422
            check_harmless(shown)


def test_a_visitors_name(hostile):
    for text in HOSTILE:
        named = hostile.submit("/name", name=text, back="/new")
        assert named.headers["location"] == "/new?done=named"
        page = hostile.get("/new")
        check_harmless(page)
        value = next(each["value"] for tag, each in Elements(page.text).found if each.get("name") == "name")
        assert value == text[:60]
    hostile.cookies.delete("headstart-name")


@pytest.mark.parametrize(
    "text", [*HOSTILE, "../../../../tmp/evil", "..\\..\\evil", "/etc/passwd", "a\r\nset-cookie: b"]
)
def test_a_dropped_table(hostile, text):
    quoted = text.replace('"', '""')
    table = (
        f'"{quoted}",{SCRIPT},y\n' + "".join(f'"{quoted}{k % 2}",{k},{k * k}\n' for k in range(6)) + f'a,"{quoted}",3\n'
    )
    dropped = hostile.drop(f"{text}.csv", table.encode())
    assert dropped.status_code == 303
    assert re.fullmatch(r"/new/[\w-]+", dropped.headers["location"])
    check_harmless(hostile.get(dropped.headers["location"]))
    for action in ("check", "create"):
        fields = {"role-0": text, "low-1": text, "high-1": text, "goal": text, "name": text, "action": action}
        again = hostile.submit(dropped.headers["location"], **fields)
        assert again.status_code == (200 if action == "check" else 422)
        check_harmless(again)


@pytest.mark.parametrize("content", [SCRIPT.encode(), b"\x00\x01", b"PK\x03\x04", b'a,"b\n1,2', b"%PDF", b"[1]"])
def test_a_file_that_is_no_table(hostile, content):
    refused = hostile.drop(f"{IMAGE}.csv", content)
    assert refused.status_code == 422
    check_harmless(refused)


# ---------------------------------------------------------------------- downloads


@pytest.mark.parametrize("kind", ["convergence", "honesty"])
def test_pictures_are_drawn_without_what_runs(hostile, kind):
    answer = hostile.get(f"/campaigns/1/pictures/{kind}.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "sandbox" in answer.headers["content-security-policy"]
    check_harmless_picture(answer.text)


def test_json_is_no_page(hostile):
    for path in ("/campaigns/1/pictures/convergence.json", f"{API}/campaigns/1", f"{API}/nothing/{quote(SCRIPT)}"):
        answer = hostile.get(path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("what", ["export/history", "export/data", "pictures/convergence", "pictures/honesty"])
def test_a_spreadsheet_program_runs_nothing_of_a_csv(hostile, what):
    answer = hostile.get(f"/campaigns/1/{what}.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    cells = [cell for row in csv.reader(io.StringIO(answer.text.removeprefix("\ufeff"))) for cell in row]
    assert cells
    for cell in cells:
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or re.fullmatch(r"-[\d.e-]+", cell), cell
    if what == "export/data":
        assert f"'{FORMULA}" in cells
        assert f"'{OBJECTIVE}" in cells


@pytest.mark.parametrize("what", ["history", "data"])
def test_nor_of_a_workbook(hostile, what):
    book = openpyxl.load_workbook(io.BytesIO(hostile.get(f"/campaigns/1/export/{what}.xlsx").content))
    kinds = {cell.data_type for row in book.active.iter_rows() for cell in row}
    assert "s" in kinds
    assert "f" not in kinds


@pytest.mark.parametrize("name", ["a\r\nset-cookie: x=y", 'a"; filename="b.exe', "../../b", "ünï", "a\tb", "."])
def test_the_name_of_a_download_is_harmless(tmp_path, name):
    visitor = Visitor(tmp_path / "a.db")
    rows = [{"t": "a", "x": k, "y": k} for k in range(4)]
    hs.Campaign.create(name, rows, hs.Problem(inputs=["x"], general=["t"], objective="y"), store=visitor.store)
    answer = visitor.get("/campaigns/1/export/data.csv")
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9-]+-data\.csv"', answer.headers["content-disposition"])
    assert "set-cookie" not in answer.headers


# ---------------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    "back",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\r\n/evil.example",
        "/\r\nset-cookie: a=b",
        "/%09/evil.example",
        " //evil.example",
        "javascript:alert(1)",
        "evil.example",
        "",
    ],
)
def test_a_visitor_is_sent_nowhere_else(hostile, back):
    sent = hostile.submit("/name", name="bob", back=back)
    location = sent.headers["location"]
    assert sent.status_code == 303
    # What a browser makes of it: tabs and line ends are dropped, a backslash counts as a slash.
    assert re.match(r"/(?![/\\])", re.sub(r"[\t\r\n]", "", location))
    assert "\n" not in location
    assert [each for each in sent.headers.get_list("set-cookie") if not each.startswith("headstart")] == []
    hostile.cookies.delete("headstart-name")


@pytest.mark.parametrize(
    "path",
    [
        "../app.py",
        "../../../../../../../../etc/passwd",
        "..\\app.py",
        "/etc/passwd",
        "vendor/../../app.py",
        "dashboard.css/../../app.py",
        "vendor",
        "",
        ".",
        "nothing" * 100,
    ],
)
def test_no_file_but_ours_is_served(hostile, path):
    for typed in (quote(path, safe=""), quote(path, safe="/").replace(".", "%2e")):
        answer = hostile.get(f"/static/{typed}")
        assert answer.status_code == 404, unquote(typed)
        assert "root:" not in answer.text
        assert "create_app" not in answer.text


@pytest.mark.parametrize("path", ["/static/%00", "/new/a%00b", "/campaigns/1?task=%00", f"{API}/campaigns/1?task=a%00"])
def test_an_address_with_a_nul_is_refused(hostile, path):
    """No name holds one, and PostgreSQL takes none."""
    assert hostile.get(path).status_code == 400


# ---------------------------------------------------------------------- statements


def test_no_statement_is_made_of_what_users_write(hostile):
    before = len(hostile.store.campaigns())
    for text in (SQL, '"; DROP TABLE campaign; --', "%' OR '1'='1", "1 OR 1=1"):
        typed = quote(text)
        hostile.get(f"/campaigns/1?task={typed}")
        hostile.get(f"/new/{typed}")
        assert hostile.get(f"{API}/campaigns/{typed}").status_code == 422
        told = {"rows": [{INPUT: 1, OBJECTIVE: 1}], "task": {GENERAL: text}}
        assert hostile.post(f"{API}/campaigns/1/observations", json=told).status_code == 201
        key = {"rows": [{INPUT: 1, OBJECTIVE: 1}], "task": {GENERAL: text}, "key": "%_%_%_%_%"}
        assert hostile.post(f"{API}/campaigns/1/observations", json=key).status_code == 422
    assert len(hostile.store.campaigns()) == before
