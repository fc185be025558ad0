"""Who may reach the server, and how much of it."""

import asyncio
import hmac
import re
import socket
import subprocess
import sys
from http.cookies import SimpleCookie

import httpx
import pytest
import sqlalchemy as sa
from dashboard import archive
from fastapi.routing import iter_route_contexts
from serving import served
from visiting import API, TOKEN, Visitor

from headstart.errors import ProblemError
from headstart.web import sessions
from headstart.web.safety import Safety
from headstart.web.sessions import Sessions

BEARER = {"authorization": f"Bearer {TOKEN}"}
CAMPAIGN = {
    "name": "pumps",
    "inputs": {"speed_rpm": [1000, 3000], "angle_deg": None},
    "general": ["pump"],
    "objective": "head_m",
    "goal": "maximize",
    "archive": archive().to_dict("records"),
}


@pytest.fixture
def visitor(tmp_path) -> Visitor:
    return Visitor(tmp_path / "headstart.db")


@pytest.fixture
def guarded(tmp_path) -> Visitor:
    """Beyond loopback, so with a token."""
    return Visitor(tmp_path / "headstart.db", Safety.for_address("0.0.0.0", token=TOKEN))


def many_logins(visitor: Visitor, token: str, times: int = 1) -> list[int]:
    return [visitor.submit("/login", token=token).status_code for _ in range(times)]


# ---------------------------------------------------------------------- where it listens


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.7", "::1", "localhost"])
def test_on_loopback_no_token_is_needed(host):
    assert Safety.for_address(host, token=None).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "lab", "localhost.evil.example"])
def test_beyond_loopback_a_token_is(host):
    with pytest.raises(ProblemError, match="HEADSTART_TOKEN"):
        Safety.for_address(host, token=None)
    assert Safety.for_address(host, token=TOKEN).token == TOKEN


def test_a_token_that_can_be_guessed_is_refused():
    for host in ("0.0.0.0", "127.0.0.1"):
        with pytest.raises(ProblemError, match="can be guessed"):
            Safety.for_address(host, token="hunter2")


def test_the_token_is_in_no_representation():
    assert TOKEN not in repr(Safety.for_address("0.0.0.0", token=TOKEN))


def test_the_command_refuses_to_start_in_the_open_without_a_token(tmp_path):
    command = [sys.executable, "-m", "headstart", "serve", "--host", "0.0.0.0", "--store", str(tmp_path / "a.db")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PATH": ""})
    assert ended.returncode == 1
    assert "HEADSTART_TOKEN" in ended.stderr
    assert not (tmp_path / "a.db").exists()


# ---------------------------------------------------------------------- the token


def test_without_the_token_programs_are_refused_and_people_sent_to_the_login(guarded):
    for path in ("/campaigns", "/openapi.json", "/nothing"):
        refused = guarded.get(f"{API}{path}")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert "Authorization: Bearer" in refused.json()["detail"]
    for path in ("/", "/new", "/campaigns/1", "/campaigns/1/export/data.csv", "/nothing"):
        sent = guarded.get(path)
        assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    assert guarded.post("/new", data={"word": guarded.word()}).status_code == 401
    for path in ("/login", "/health", "/static/dashboard.css", "/static/report.css"):
        assert guarded.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/login/../campaigns/1", "/static/../", "/health/../api/v1/campaigns", "//api/v1/"])
def test_no_open_path_leads_behind_the_gate(guarded, path):
    asked = guarded.get("http://localhost" + path.replace("..", "%2e%2e"))
    assert asked.status_code in (303, 401, 404)


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer  {TOKEN} "])
def test_the_right_token_lets_in(guarded, given):
    assert guarded.get(f"{API}/campaigns", headers={"authorization": given}).status_code == 200
    assert guarded.post(f"{API}/campaigns", headers={"authorization": given}, json=CAMPAIGN).status_code == 201


@pytest.mark.parametrize("given", ["Bearer", "Bearer x", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer é"])
def test_a_wrong_one_does_not(guarded, given):
    assert guarded.get(f"{API}/campaigns", headers={"authorization": given.encode()}).status_code == 401


def test_tokens_are_compared_in_constant_time(monkeypatch):
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(sessions.hmac, "compare_digest", lambda *pair: compared.append(pair) or real(*pair))
    assert not Sessions(TOKEN, is_encrypted=False).is_token("ö")
    assert compared == [("ö".encode(), TOKEN.encode())]


def test_wrong_tokens_are_counted_and_the_right_one_still_works(guarded):
    wrong = {"authorization": "Bearer nearly"}
    assert [guarded.get(f"{API}/campaigns", headers=wrong).status_code for _ in range(10)] == [401] * 10
    refused = guarded.get(f"{API}/campaigns", headers=wrong)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 1
    assert guarded.get(f"{API}/campaigns", headers=BEARER).status_code == 200


def test_login_attempts_are_limited_even_for_the_right_token(guarded):
    assert many_logins(guarded, "wrong", 10) == [401] * 10
    assert many_logins(guarded, TOKEN) == [429]


def test_attempts_by_form_and_by_header_are_one_account(guarded):
    assert many_logins(guarded, "wrong", 10) == [401] * 10
    assert guarded.get(f"{API}/campaigns", headers={"authorization": "Bearer wrong"}).status_code == 429


# ---------------------------------------------------------------------- sessions


def test_logging_in_and_out(guarded):
    before = guarded.cookies.get("headstart"), guarded.word()
    assert many_logins(guarded, TOKEN) == [303]
    assert guarded.get("/").status_code == 200
    assert (guarded.cookies["headstart"], guarded.word()) != before  # nobody could have laid it out beforehand
    assert guarded.submit("/logout").headers["location"] == "/login"
    assert guarded.get("/").status_code == 303


def test_a_session_reads_the_api_and_writes_by_forms_alone(guarded):
    many_logins(guarded, TOKEN)
    assert guarded.get(f"{API}/campaigns").status_code == 200
    assert guarded.post(f"{API}/campaigns", json=CAMPAIGN).status_code == 401


def test_cookies_in_clear(guarded):
    guarded.word()
    cookie = SimpleCookie(guarded.get("/login", headers={"cookie": ""}).headers["set-cookie"])["headstart"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["secure"]) == (True, "lax", "/", "")


def test_cookies_over_tls(tmp_path):
    safety = Safety.for_address("0.0.0.0", token=TOKEN, is_encrypted=True)
    visitor = Visitor(tmp_path / "a.db", safety, base_url="https://lab")
    given = visitor.get("/login")
    (cookie,) = SimpleCookie(given.headers["set-cookie"]).values()
    assert cookie.key == "__Host-headstart"
    assert (cookie["httponly"], cookie["secure"], cookie["path"], cookie["domain"]) == (True, True, "/", "")
    assert "max-age=" in given.headers["strict-transport-security"]
    assert many_logins(visitor, TOKEN) == [303]
    assert visitor.get("/").status_code == 200
    named = SimpleCookie(visitor.submit("/name", name="Zoë").headers["set-cookie"])["headstart-name"]
    assert named["secure"] is True


@pytest.mark.parametrize(
    "forge",
    [
        lambda value: value.replace(".0.", ".1.", 1),  # says that it knew the token
        lambda value: re.sub(r"\.\d{10}\.", ".9999999999.", value),
        lambda value: value[:-1] + ("0" if value[-1] != "0" else "1"),
        lambda value: "a.b.c.d",
        lambda value: value.rsplit(".", 1)[0],
        lambda value: "",
        lambda value: "ä" * 9,
    ],
)
def test_a_forged_cookie_is_none(guarded, forge):
    guarded.word()
    value = guarded.cookies["headstart"]
    assert guarded.app.state.sessions.of(f"headstart={value}") is not None
    assert guarded.app.state.sessions.of(f"headstart={forge(value)}") is None


def test_a_session_ends_after_hours_and_with_another_token(guarded, monkeypatch):
    many_logins(guarded, TOKEN)
    cookie = f"headstart={guarded.cookies['headstart']}"
    assert Sessions(TOKEN, is_encrypted=False).of(cookie).is_known  # it outlives a restart
    assert Sessions(f"{TOKEN}!", is_encrypted=False).of(cookie) is None
    now = sessions.time.time()
    assert guarded.get("/", headers={"cookie": cookie}).status_code == 200
    monkeypatch.setattr(sessions.time, "time", lambda: now + 13 * 3600)
    assert guarded.get("/", headers={"cookie": cookie}).status_code == 303


def test_the_cookies_of_other_servers_on_this_machine_do_no_harm(visitor):
    word = visitor.word()
    cookie = f'theme={{"dark": true}}; a b=c; =; headstart={visitor.cookies["headstart"]}; é=1'
    sent = visitor.post("/name", data={"word": word, "name": "bob"}, headers={"cookie": cookie.encode()})
    assert sent.status_code == 303


# ---------------------------------------------------------------------- forms and origins


def forms(app) -> list[str]:
    """Every address that takes a form, in a campaign that is there."""
    posts = [each.path for each in iter_route_contexts(app.routes) if "POST" in (getattr(each, "methods", None) or ())]
    return [re.sub(r"{\w+}", "1", path) for path in posts if not path.startswith("/api/")]


def test_every_form_must_carry_its_visitors_word(visitor):
    assert visitor.post(f"{API}/campaigns", json=CAMPAIGN).status_code == 201
    strange = visitor.word()
    visitor.cookies.clear()
    assert visitor.word() != strange
    before = visitor.store.marker(1)
    addresses = forms(visitor.app)
    assert len(addresses) >= 13
    for path in addresses:
        for word in ({}, {"word": ""}, {"word": "wrong"}, {"word": strange}, {"word": "é"}):
            refused = visitor.post(path, data={"task": "new", "tasks": "2", **word})
            assert (refused.status_code, "expired" in refused.text) == (403, True), (path, word)
    assert visitor.store.marker(1) == before


def test_a_word_without_its_cookie_is_worth_nothing(visitor):
    word = visitor.word()
    visitor.cookies.clear()
    assert visitor.post("/name", data={"word": word, "name": "bob"}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:3000"},
        {"origin": "http://localhost.evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": ""},
    ],
)
def test_requests_of_other_pages_are_refused(visitor, headers):
    posted = visitor.post(f"{API}/campaigns", json=CAMPAIGN, headers=headers)
    assert posted.status_code == 403
    assert "another site" in posted.json()["detail"]
    # As a page can send it without asking first.
    simple = visitor.post(f"{API}/campaigns", content="{}", headers={"content-type": "text/plain", **headers})
    assert simple.status_code == 403
    form = visitor.post("/name", data={"word": visitor.word(), "name": "bob"}, headers=headers)
    assert form.status_code == 403
    assert visitor.store.campaigns() == []


def test_not_even_with_the_token(guarded):
    headers = BEARER | {"sec-fetch-site": "cross-site"}
    assert guarded.post(f"{API}/campaigns", json=CAMPAIGN, headers=headers).status_code == 403


@pytest.mark.parametrize("headers", [{}, {"sec-fetch-site": "same-origin"}, {"origin": "http://localhost"}])
def test_our_own_pages_and_programs_are_not(visitor, headers):
    assert visitor.post(f"{API}/campaigns", json=CAMPAIGN, headers=headers).status_code == 201


def test_no_other_page_may_read_an_answer(visitor):
    answer = visitor.get(f"{API}/campaigns", headers={"origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


# ---------------------------------------------------------------------- hosts


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "[", "testserver", "0.0.0.0", "a@b"])
def test_strange_hosts_are_refused(visitor, host):
    for path in ("/", f"{API}/campaigns", "/static/dashboard.css", "/login"):
        assert visitor.get(path, headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_the_names_of_this_machine_are_not(visitor, host):
    assert visitor.get("/health", headers={"host": host}).status_code == 200


def test_further_names(tmp_path):
    named = Visitor(tmp_path / "a.db", Safety.for_address("127.0.0.1", token=None, names=("Lab.example",)))
    assert named.get("/", headers={"host": "lab.example:8000"}).status_code == 200
    refused = named.get("/", headers={"host": "other.example"})
    assert refused.status_code == 421
    assert "lab.example" in refused.text


# ---------------------------------------------------------------------- headers


def check_headers(answer) -> None:
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in str(policy)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert "cache-control" in answer.headers
    assert "server" not in answer.headers


def test_every_answer_tells_the_browser_what_not_to_do(visitor):
    asked = {
        200: [visitor.get(path) for path in ("/", "/new", f"{API}/campaigns", f"{API}/openapi.json", "/health")],
        303: [visitor.submit("/name", name="bob")],
        400: [visitor.post(f"{API}/campaigns", content="{", headers={"content-type": "application/json"})],
        403: [visitor.post("/new"), visitor.post(f"{API}/campaigns", headers={"origin": "null"})],
        404: [visitor.get(path) for path in ("/nothing", f"{API}/nothing", "/static/nothing", "/campaigns/7")],
        405: [visitor.put("/new"), visitor.delete(f"{API}/campaigns")],
        413: [visitor.post(path, headers={"content-length": "99999999"}) for path in ("/new", f"{API}/campaigns")],
        421: [visitor.get("/", headers={"host": "evil.example"})],
        422: [visitor.post(f"{API}/campaigns", json={}), visitor.drop("a.csv", b"")],
    }
    asked[200] += [visitor.get(f"/static/{name}") for name in ("dashboard.css", "report.css", "vendor/htmx.min.js")]
    for status, answers in asked.items():
        for answer in answers:
            assert answer.status_code == status, answer.request.url
            check_headers(answer)


def test_even_the_answer_that_says_that_we_failed(tmp_path):
    visitor = Visitor(tmp_path / "headstart.db", raise_server_exceptions=False)

    def fail():
        raise RuntimeError("the secret of the house")

    visitor.app.add_api_route("/fails", fail)
    visitor.app.add_api_route(f"{API}/fails", fail)
    for path in ("/fails", f"{API}/fails"):
        answer = visitor.get(path)
        assert answer.status_code == 500
        assert "mistake in Headstart" in answer.text
        assert "secret" not in answer.text
        check_headers(answer)
    assert visitor.get(f"{API}/fails").json()["detail"]


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize("path", ["/new", f"{API}/campaigns"])
@pytest.mark.parametrize("length", ["1001", "9" * 5000, "-1", "many", "²", "1e3"])
def test_a_request_that_announces_too_much(tmp_path, path, length):
    visitor = Visitor(tmp_path / "a.db", Safety(largest=1000))
    assert visitor.post(path, headers={"content-length": length.encode("latin-1")}).status_code == 413


@pytest.mark.parametrize(
    ("path", "kind", "start"),
    [
        (f"{API}/campaigns", "application/json", "{"),
        (
            "/new",
            "multipart/form-data; boundary=b",
            '--b\r\ncontent-disposition: form-data; name="a"; filename="a"\r\n\r\n',
        ),
        ("/name", "application/x-www-form-urlencoded", "name="),
    ],
)
def test_a_request_that_does_not_say_how_large_it_is(tmp_path, path, kind, start):
    """In pieces, without a length: more than may come is not read."""
    visitor = Visitor(tmp_path / "a.db", Safety(largest=1000))
    taken, sent = [], []

    async def receive():
        taken.append(100)
        body = start if len(taken) == 1 else ""
        return {"type": "http.request", "body": body.ljust(100).encode(), "more_body": True}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", kind.encode()), (b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(visitor.app(scope | {"client": ("::1", 1), "scheme": "http"}, receive, send))
    assert [message.get("status") for message in sent] == [413, None]
    assert b"larger than" in sent[-1]["body"]
    assert sum(taken) == 1100


def test_what_fits_is_read(tmp_path):
    visitor = Visitor(tmp_path / "a.db", Safety(largest=1000))
    body = b'{"name": "a"}' + b" " * 987
    sent = visitor.post(f"{API}/campaigns", content=body, headers={"content-type": "application/json"})
    assert (len(body), sent.status_code) == (1000, 422)


def test_a_client_that_sends_too_many_waits_and_others_do_not(tmp_path):
    visitor = Visitor(tmp_path / "a.db", Safety(rate=0.5), client=("10.0.0.1", 1))
    assert [visitor.get("/health").status_code for _ in range(6)] == [200] * 5 + [429]
    refused = visitor.get(f"{API}/campaigns")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert "Too many" in refused.json()["detail"]
    check_headers(refused)
    visitor._transport.client = ("10.0.0.2", 1)
    assert visitor.get("/health").status_code == 200


def test_tables_have_a_limit_of_rows(tmp_path):
    visitor = Visitor(tmp_path / "a.db", Safety(rows=20))
    refused = visitor.post(f"{API}/campaigns", json=CAMPAIGN)
    assert (refused.status_code, "24 rows, more than 20" in refused.json()["detail"]) == (422, True)
    dropped = visitor.drop("pumps.csv", archive().to_csv(index=False).encode())
    assert (dropped.status_code, "24 rows, more than 20" in dropped.text) == (422, True)
    assert visitor.drop("pumps.csv", archive()[:20].to_csv(index=False).encode()).status_code == 303


# ---------------------------------------------------------------------- secrets


def test_no_secret_reaches_the_log(postgresql, tmp_path):
    """A real server: logins, a request that fails for a reason of ours, and a database that goes away."""
    password = "the-databases-own-password"
    where = postgresql.replace("postgres@", f"postgres:{password}@")
    engine = sa.create_engine(postgresql.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    with served(where, tmp_path, "--workers", "0", token=TOKEN) as server, httpx.Client(base_url=server.url) as client:
        with pytest.raises(OSError, match="refused"):  # it listens on 127.0.0.1 alone
            socket.create_connection(("127.0.0.2", int(server.url.rpartition(":")[2])))
        word = re.search(r'name="word" value="([^"]+)"', client.get("/login").text)[1]
        for token, status in (("my-wrong-guess", 401), (TOKEN, 303)):
            assert client.post("/login", data={"word": word, "token": token}).status_code == status
        wrong = {"authorization": "Bearer my-wrong-guess"}
        assert httpx.get(f"{server.url}{API}/campaigns", headers=wrong).status_code == 401
        with engine.begin() as connection:
            connection.execute(sa.text("DROP TABLE upload"))
        failed = client.get("/new/some-upload")
        assert failed.status_code == 500
        with engine.begin() as connection:
            connection.execute(sa.text("ALTER TABLE campaign RENAME TO elsewhere"))
        assert client.get(f"/?token={TOKEN}").status_code == 500
        log = server.log.read_text()
    assert "upload" in log  # the failure is there
    for secret in (TOKEN, password, "my-wrong-guess"):
        assert secret not in log
        assert secret not in failed.text
