"""Who may do what: loopback by default, tokens and scopes elsewhere, no other site, no endless waiting."""

import asyncio
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from tests.patience import SECONDS
from tests.service.server import served
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.sync import client

from rosenblatt.service import server as serving
from rosenblatt.service.routes import ROUTES
from rosenblatt.service.server import check, create_app, listening
from rosenblatt.service.sessions import Sessions, read_tokens
from rosenblatt.web import connections
from rosenblatt.web.guard import Forbidden, Guard, Misdirected
from rosenblatt.web.settings import Settings

TOKENS = {scope: f"{scope}-0123456789abcdef" for scope in ("read", "feedback", "admin")}


def connect(url, **options):
    """Open a websocket, patiently."""
    return client.connect(url, open_timeout=SECONDS, ping_interval=None, **options)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with served(
        tmp_path_factory.mktemp("guarded") / "store",
        tokens=tuple(TOKENS.items()),
        allowed_hosts=("mail.example",),
    ) as found:
        found.client.headers["authorization"] = f"Bearer {TOKENS['admin']}"
        found.put("m")
        del found.client.headers["authorization"]
        yield found


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory):
    with served(tmp_path_factory.mktemp("open") / "store") as found:
        found.put("m")
        yield found


def asked(service, scope, method, path, **options):
    headers = {"authorization": f"Bearer {TOKENS[scope]}"} if scope else {}
    return service.client.request(method, path, headers=headers, **options).status_code


@pytest.mark.parametrize(
    ("method", "path", "body", "needed"),
    [
        ("GET", "/v1/models", None, "read"),
        ("GET", "/v1/models/m", None, "read"),
        ("GET", "/v1/models/m/ledger", None, "read"),
        ("GET", "/v1/models/m/explain", None, "read"),
        ("GET", "/v1/models/m/snapshot", None, "read"),
        ("GET", "/metrics", None, "read"),
        ("POST", "/v1/models/m/predict", {"text": "a"}, "read"),
        ("POST", "/v1/models/m/feedback", {"text": "a", "label": "x"}, "feedback"),
        ("POST", "/v1/models/m/learn", {"text": "a", "label": "x"}, "feedback"),
        ("PUT", "/v1/models/other", {}, "admin"),
        ("DELETE", "/v1/models/other", None, "admin"),
        ("PUT", "/v1/models/m/snapshot", {}, "admin"),
    ],
)
def test_every_way_needs_its_scope(guarded, method, path, body, needed):
    order = ["read", "feedback", "admin"]
    for scope in order:
        status = asked(guarded, scope, method, path, json=body)
        assert (status == 403) == (order.index(scope) < order.index(needed)), (scope, status)
    assert asked(guarded, None, method, path, json=body) == 401


def test_a_wrong_token_opens_nothing(guarded):
    for wrong in (
        "Bearer nonsense",
        "Bearer",
        f"Basic {TOKENS['admin']}",
        f"Bearer {TOKENS['admin']}x",
        "Bearer \xff",
    ):
        answer = guarded.client.get("/v1/models", headers={b"authorization": wrong.encode("latin-1")})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.client.get("/healthz").status_code == 200  # a probe needs none


def test_a_browser_signs_in_with_a_cookie_that_scripts_cannot_read(guarded):
    page = guarded.client.get("/", headers={"accept": "text/html"})
    assert page.status_code == 401
    assert "<form" in page.text
    assert "style-src 'unsafe-inline'" in page.headers["content-security-policy"]
    assert len(page.headers.get_list("content-security-policy")) == 1
    wrong = guarded.client.post("/sign-in", data={"token": "<script>"})
    assert wrong.status_code == 401
    assert "<script>" not in wrong.text
    right = guarded.client.post("/sign-in", data={"token": TOKENS["read"]})
    assert right.status_code == 303
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guarded.client.get("/v1/models").status_code == 200
    guarded.client.cookies.clear()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000", "192.168.0.7"])
def test_names_of_this_machine_and_addresses_are_ours(open_to_all, host):
    assert open_to_all.client.get("/v1/models", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", ""]
)
def test_a_name_that_was_rebound_to_this_machine_is_not(open_to_all, host):
    answer = open_to_all.client.get("/v1/models", headers={"host": host})
    assert answer.status_code in (400, 421)


def test_an_allowed_name_is_ours(guarded):
    answer = guarded.client.get("/healthz", headers={"host": "mail.example:443"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1.evil.example", "file://", "http://127.0.0.1:1"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_pages_of_other_sites_may_not_ask(open_to_all, origin, method):
    path = "/v1/models/m/predict" if method == "POST" else "/v1/models"
    answer = open_to_all.client.request(method, path, headers={"origin": origin}, json={"text": "a"})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_our_own_pages_may(open_to_all):
    own = open_to_all.url
    assert open_to_all.client.get("/v1/models", headers={"origin": own}).status_code == 200


def test_a_fetch_from_another_site_is_refused_without_an_origin_too(open_to_all):
    cross = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert open_to_all.client.get("/v1/models", headers=cross).status_code == 403


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"host": "evil.example"}, {"origin": "null"}]
)
def test_websockets_are_checked_like_pages(open_to_all, headers):
    url = open_to_all.url.replace("http", "ws") + "/_nicegui_ws/socket.io/"
    host, _, port = open_to_all.url.removeprefix("http://").partition(":")
    lines = {"host": f"{host}:{port}", **headers}
    request = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
        wire.sendall(
            f"GET /_nicegui_ws/ HTTP/1.1\r\n{request}connection: upgrade\r\nupgrade: websocket\r\n"
            "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        assert b" 403 " in wire.recv(4096).split(b"\r\n")[0]
    with pytest.raises(InvalidStatus), connect(url, origin="http://evil.example"):
        pass


def test_a_websocket_needs_a_token_where_pages_do(guarded):
    url = guarded.url.replace("http", "ws") + "/_nicegui_ws/"
    with pytest.raises(InvalidStatus), connect(url):
        pass


def test_answers_tell_browsers_to_keep_still(open_to_all):
    for path in ("/v1/models", "/nothing"):
        headers = open_to_all.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_other_addresses_need_tokens():
    assert check(Settings()) == []
    with pytest.raises(ValueError, match="--token-file"):
        check(Settings(host="0.0.0.0"))
    assert "clear text" in check(Settings(host="0.0.0.0", tokens=(("admin", "x" * 20),)))[0]


def token_file(folder, content, mode=0o600):
    path = folder / "tokens"
    path.write_text(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no token"),
        ("# nothing\n", "no token"),
        ("short", "at least 16"),
        ("0123456789abcde\N{LATIN SMALL LETTER E WITH ACUTE}", "at least 16"),
        ("root 0123456789abcdef", "SCOPE"),
        ("read a b", "SCOPE"),
        ("read 0123456789abcdef # mine", "a line of its own"),
        ("0123456789abcdef #mine", "a line of its own"),
    ],
)
def test_a_bad_token_file_is_named_with_its_line(tmp_path, content, reason):
    with pytest.raises(ValueError, match=reason):
        read_tokens(token_file(tmp_path, content))


def test_a_hash_belongs_to_a_token_and_begins_a_comment_line(tmp_path):
    path = token_file(tmp_path, "# mine\n0123456789abc#ef\n\nread   #fedcba9876543210\n")
    assert read_tokens(path) == (("admin", "0123456789abc#ef"), ("read", "#fedcba9876543210"))


def test_a_token_with_two_scopes_and_a_file_that_is_no_text_are_refused(tmp_path):
    path = token_file(tmp_path, "read 0123456789abcdef\nadmin 0123456789abcdef\n")
    with pytest.raises(ValueError, match=":2: this token is given twice"):
        read_tokens(path)
    path.write_bytes(b"\xff\xfe0123456789abcdef")
    with pytest.raises(ValueError, match=r"tokens.*: not UTF-8 text"):
        read_tokens(path)


@pytest.mark.skipif(os.name != "posix", reason="modes say nothing about others here")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o660])
def test_a_token_file_that_others_can_read_is_refused(tmp_path, mode):
    path = token_file(tmp_path, "read 0123456789abcdef\n", mode)
    with pytest.raises(ValueError, match=f"mode is {mode:04o}.*chmod 600 .*tokens"):
        read_tokens(path)
    assert path.stat().st_mode & 0o777 == mode  # never changed silently


async def started(app):
    async with app.router.lifespan_context(app):
        pass


def test_a_route_without_a_scope_is_an_error_at_the_start(tmp_path):
    for add in (
        lambda app: app.add_api_route("/v1/secret", lambda: {}),
        lambda app: app.add_route("/secret", lambda request: None),
        lambda app: app.mount("/files", lambda *_: None),
    ):
        app = create_app(Settings(data=tmp_path / "store"))
        add(app)
        with pytest.raises(ValueError, match=r"(/v1/secret|/secret|/files) declares no scope"):
            asyncio.run(started(app))


def test_a_route_that_no_middleware_decided_about_is_refused():
    app = FastAPI(routes=list(ROUTES))

    async def ask():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
            await client.get("/v1/models")

    with pytest.raises(Forbidden):
        asyncio.run(ask())


def test_a_host_header_with_a_token_is_checked_first():
    with pytest.raises(Misdirected):
        Guard(Settings(tokens=(("admin", "x" * 20),))).check("GET", "/", {b"host": b"evil"}, "http")


def waited(wire):
    with contextlib.suppress(ConnectionResetError):
        while wire.recv(4096):
            pass


def test_slow_requests_are_closed_by_the_server(tmp_path):
    with served(tmp_path / "store", header_seconds=0.05, tokens=tuple(TOKENS.items())) as service:
        post = b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\n"
        for part in (
            b"",
            b"\r\n",
            b"GET / HTTP/1.1\r\nhost:",
            post + b"content-length: 9\r\n\r\n{",
            post + b"content-length: 9\r\nexpect: 100-continue\r\n\r\n",
            post + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
            post + b"connection: upgrade\r\nupgrade: websocket\r\ncontent-length: 9\r\n\r\n{",
            post + b"connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 9\r\n\r\n{",
            b"POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nt",
        ):
            with opened(service) as wire:
                wire.sendall(part)
                waited(wire)  # returns when the service closes it


@pytest.mark.parametrize("part", [b"x", b"x-field: value\r\n", b"1\r\nx\r\n"], ids=["byte", "field", "chunk"])
def test_what_keeps_coming_slowly_is_closed_all_the_same(tmp_path, part):
    start = b"POST /sign-in HTTP/1.1\r\nhost: localhost\r\n"
    if part.startswith(b"1"):
        start += b"transfer-encoding: chunked\r\n\r\n"
    with (
        served(tmp_path / "store", header_seconds=0.2, tokens=tuple(TOKENS.items())) as service,
        opened(service) as wire,
    ):
        wire.settimeout(0.01)
        wire.sendall(start)
        assert closed_while_sending(wire, part)


def test_empty_lines_do_not_keep_an_idle_connection_open(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", 0.2)
    with served(tmp_path / "store", header_seconds=0.2) as service, opened(service) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b" 200 " in wire.recv(4096)
        wire.settimeout(0.01)
        assert closed_while_sending(wire, b"\r\n")


def test_an_answer_that_nobody_takes_does_not_hold_a_connection(tmp_path):
    with served(tmp_path / "store", header_seconds=0.2) as service, opened(service) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asked = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 20
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while True:  # until the service closes; it reads on only while answers are taken
                wire.sendall(asked)
        assert service.client.get("/healthz").status_code == 200


def closed_while_sending(wire, part):
    """Send a part again and again; return once the service has closed the connection."""
    try:
        while True:
            wire.sendall(part)
            with contextlib.suppress(TimeoutError):
                if not wire.recv(4096):
                    return True
    except (BrokenPipeError, ConnectionResetError):
        return True


def opened(service, **options):
    host, _, port = service.url.removeprefix("http://").removeprefix("https://").partition(":")
    return socket.create_connection((host, int(port)), timeout=SECONDS, **options)


BUSY = b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n"


def test_too_many_busy_connections_are_refused(tmp_path):
    with (
        served(tmp_path / "store", most_connections=2, header_seconds=SECONDS) as service,
        contextlib.ExitStack() as held,
    ):
        answers = []
        for _ in range(4):
            wire = held.enter_context(opened(service))
            wire.sendall(BUSY)
            answers.append(wire.recv(4096))
        assert [b" 503 " in answer for answer in answers] == [False, False, True, True]
        assert b"retry-after: 1" in answers[-1]


def test_an_idle_connection_makes_room_for_a_new_one(tmp_path):
    with (
        served(tmp_path / "store", most_connections=2, header_seconds=SECONDS) as service,
        contextlib.ExitStack() as held,
    ):
        for _ in range(8):
            wire = held.enter_context(opened(service))
            wire.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b" 200 " in wire.recv(4096)


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n",
        b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        b"content-length: 99\r\n\r\n{",
    ],
    ids=["silent", "headers", "body", "upgrade"],
)
@pytest.mark.parametrize(
    "limits", [{"most_connections": 8}, {"most_connections_per_address": 8}], ids=["in all", "of an address"]
)
def test_anonymous_connections_shut_nobody_out(tmp_path, begin, limits):
    with (
        served(tmp_path / "store", tokens=tuple(TOKENS.items()), header_seconds=SECONDS, **limits) as service,
        contextlib.ExitStack() as held,
    ):
        service.client.headers["authorization"] = f"Bearer {TOKENS['admin']}"
        service.put("m")
        for _ in range(40):
            held.enter_context(opened(service)).sendall(begin)
            assert service.post("m/predict", text="a").status_code == 200


def test_a_connection_is_counted_until_it_is_closed():
    class Made:
        def __init__(self, address):
            self.address, self.transport, self.loop = address, self, self
            self.aborted = False

        def abort(self):
            self.aborted = True

        def time(self):
            return 0.0

        def call_later(self, *_):
            return None

    table = connections.ConnectionTable(Settings(most_connections=10, most_connections_per_address=4))
    first = [Made("a") for _ in range(4)]
    assert all(map(table.admit, first))
    table.identify(first[0])
    assert table.admit(Made("a"))
    assert [each.aborted for each in first] == [False, True, False, False]  # known, then the oldest
    others = [Made(f"b{at}") for at in range(9)]
    assert all(map(table.admit, others))
    assert first[2].aborted  # of the address that has most
    assert not first[0].aborted
    for each in list(table.connections):
        table.remove(each)
        table.remove(each)
    assert not table.connections
    assert not table.by_address
    assert not table.anonymous
    assert table.anonymous_count == 0


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b"cookie: a=" + b'"' + b"\\" * 62_000 + b'"\r\n', 431),
        (b"cookie: a=" + b"b" * 8_200 + b"\r\n", 431),
        (b"x: " + b"y" * 17_000 + b"\r\n", 431),
        (b"x: y\r\n" * 101, 431),
        (b"".join(b"x%d: %s\r\n" % (at, b"y" * 1000) for at in range(40)), 431),
        (b"host: localhost\r\n", 400),
        (b"host: evil.example\r\n", 400),
        (b"authorization: a\r\nauthorization: b\r\n", 400),
        (b"cookie: a=b\r\ncookie: a=c\r\n", 400),
        (b"content-length: 0\r\ncontent-length: 0\r\n", 400),
        (b"content-length: 1\r\ntransfer-encoding: chunked\r\n", 400),
        (b"accept: a\r\naccept: b\r\n", 200),
        (b"cookie: a=" + b'"' + b"\\" * 8_000 + b'"\r\n', 200),
    ],
)
def test_limits_of_header_fields(open_to_all, fields, status):
    with opened(open_to_all) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + fields + b"\r\n")
        assert b" %d " % status in wire.recv(4096).split(b"\r\n")[0]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1", 414),
        (b"GET /healthz?" + b"a=b&" * 3_000 + b" HTTP/1.1", 414),
        (b"GET /healthz?" + b"a=b&" * 2_000 + b" HTTP/1.1", 200),
        (b"GET http://evil.example/healthz HTTP/1.1", 400),
        (b"CONNECT evil.example:443 HTTP/1.1", 400),
        (b"OPTIONS * HTTP/1.1", 400),
        (b"GET /%00%ff/../v1/models%2f..%2f HTTP/1.1", 404),
    ],
)
def test_limits_of_the_request_line(open_to_all, line, status):
    with opened(open_to_all) as wire:
        wire.sendall(line + b"\r\nhost: localhost\r\n\r\n")
        assert b" %d " % status in wire.recv(4096).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "body",
    [
        b"1\r\n \r\n" * 60_000,
        b"1;" + b"e" * 400_000,
        b"0\r\n" + b"x: y\r\n" * 80_000,
        b"0\r\nx: " + b"y" * 400_000,
    ],
    ids=["tiny chunks", "chunk extension", "trailers", "a long trailer"],
)
def test_what_surrounds_chunks_is_limited(open_to_all, body):
    with opened(open_to_all) as wire:
        wire.sendall(
            b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            wire.sendall(body)
        waited(wire)  # the service closes it long before its deadline
    assert open_to_all.client.get("/healthz").status_code == 200


def test_tiny_chunks_are_not_all_parsed_before_they_are_refused():
    class Transport:
        closing, sent = False, b""

        def get_extra_info(self, name):
            return ("192.0.2.1", 5) if name == "peername" else None

        def write(self, data):
            self.sent += data

        def close(self):
            self.closing = True

        def is_closing(self):
            return self.closing

        def pause_reading(self):
            pass

    async def feed():
        transport, config = Transport(), uvicorn.Config(echo)
        protocol = connections.limited_protocol(Settings())(config, ServerState(), {})
        protocol.connection_made(transport)
        protocol.data_received(
            b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 40_000
        )
        assert transport.closing
        protocol.connection_lost(None)

    parsed = []
    on_body = HttpToolsProtocol.on_body

    def counted(self, body):
        parsed.append(body)
        on_body(self, body)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HttpToolsProtocol, "on_body", counted)
        asyncio.run(feed())
    assert 0 < len(parsed) <= connections.MAX_FRAMING_BYTES // connections.MIN_CHUNK_BYTES


def test_a_pipeline_is_answered_in_order_and_limited(open_to_all):
    with opened(open_to_all) as wire:
        wire.sendall(
            b"".join(
                b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-request-id: n%d\r\n\r\n" % at
                for at in range(9)
            )
        )
        answer = b""
        while answer.count(b'{"status":"alive"}') < 9:
            answer += wire.recv(65536)
        places = [answer.index(b"x-request-id: n%d\r\n" % at) for at in range(9)]
        assert places == sorted(places)
    with opened(open_to_all) as wire:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            wire.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" * 5000)
        waited(wire)


@pytest.mark.parametrize(
    "host",
    [
        b"localhost:8000@evil.example",
        b"user@localhost",
        b"localhost:x",
        b"localhost:",
        b"[::1",
        b"local host",
    ],
)
def test_a_host_is_a_name_or_an_address_and_a_port(open_to_all, host):
    with opened(open_to_all) as wire:
        wire.sendall(b"GET /v1/models HTTP/1.1\r\nhost: " + host + b"\r\n\r\n")
        assert wire.recv(4096).split(b" ")[1] in (b"400", b"421")


def test_trailers_are_not_headers(guarded):
    with opened(guarded) as wire:
        wire.sendall(
            b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
            b"0\r\nauthorization: Bearer " + TOKENS["admin"].encode() + b"\r\n\r\n"
        )
        assert b" 401 " in wire.recv(4096)


def test_a_token_in_a_cookie_may_hold_any_visible_character(tmp_path):
    token = 'a;b,c"d\\e%f#g=h i'.replace(" ", "") + "0123456789"
    with served(tmp_path / "store", tokens=(("read", token),)) as service:
        cookie = service.client.post("/sign-in", data={"token": token}).headers["set-cookie"]
        pair = cookie.split(";")[0]
        headers = {"cookie": f"first=1; {pair}; last"}
        service.client.cookies.clear()
        assert service.client.get("/v1/models", headers=headers).status_code == 200
        assert service.client.get("/v1/models", headers={"cookie": f"x{pair}"}).status_code == 401


def test_endless_headers_are_cut_short(open_to_all):
    host, _, port = open_to_all.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        endless = b"".join(b"x-%d: %s\r\n" % (at, b"y" * 1000) for at in range(50_000))
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            wire.sendall(endless)
    big = {f"x-{at}": "y" * 1000 for at in range(20)}
    assert open_to_all.client.get("/healthz", headers=big).status_code == 200


async def echo(scope, receive, send):
    """Say back what a websocket says."""
    while True:
        message = await receive()
        if message["type"] == "websocket.connect":
            await send({"type": "websocket.accept"})
        elif message["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})
        else:
            return


def test_a_websocket_may_stay_longer_than_a_request_may_take_to_come():
    settings = Settings(port=0, header_seconds=1.0)

    async def permitting(scope, receive, send):
        scope["state"]["connection"].permit(None)
        await echo(scope, receive, send)

    config = uvicorn.Config(
        permitting,
        http=connections.limited_protocol(settings),
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    running = uvicorn.Server(config)
    with listening(settings) as sock:
        thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            with connect(f"ws://127.0.0.1:{sock.getsockname()[1]}/") as wire:
                until = time.monotonic() + 3 * settings.header_seconds
                while time.monotonic() < until:
                    wire.send("still here")
                    assert wire.recv(timeout=SECONDS) == "still here"
        finally:
            running.should_exit = True
            thread.join()


def test_a_websocket_that_the_application_does_not_permit_is_closed():
    settings = Settings(port=0, header_seconds=0.2)
    config = uvicorn.Config(
        echo, http=connections.limited_protocol(settings), lifespan="off", log_config=None, access_log=False
    )
    running = uvicorn.Server(config)
    with listening(settings) as sock:
        thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            url = f"ws://127.0.0.1:{sock.getsockname()[1]}/"
            with pytest.raises((ConnectionClosed, InvalidMessage, OSError)), connect(url) as wire:
                wire.recv(timeout=SECONDS)
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost that signs itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    words = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([openssl, *words, *files], cwd=folder, check=True, capture_output=True)
    return {"tls_certificate": str(folder / "cert.pem"), "tls_key": str(folder / "key.pem")}


def test_an_encrypted_service_answers_and_closes_what_is_not_encrypted_in_time(tmp_path, certificate):
    with served(tmp_path / "store", header_seconds=SECONDS, **certificate) as service:
        context = ssl.create_default_context(cafile=certificate["tls_certificate"])
        with httpx.Client(base_url=service.url, verify=context, timeout=SECONDS) as client:
            assert client.get("/healthz").status_code == 200
            assert client.put("/v1/models/m").status_code == 201
            cookie = client.post("/sign-out").headers["set-cookie"]
            assert "Secure" in cookie
        with opened(service) as wire:
            wire.sendall(b"GET / HTTP/1.1\r\n\r\n")
            waited(wire)  # not a handshake
    with served(tmp_path / "store", header_seconds=0.2, **certificate) as service:
        for part in (b"", b"\x16\x03\x01"):  # half a handshake
            with opened(service) as wire:
                wire.sendall(part)
                waited(wire)


# Sessions


def signed_in(service, scope="read", **headers):
    answer = service.client.post("/sign-in", data={"token": TOKENS[scope]}, headers=headers)
    assert answer.status_code == 303
    service.client.cookies.clear()
    return answer.headers["set-cookie"]


def with_cookie(service, cookie, method="GET", path="/v1/models"):
    headers = {"cookie": cookie.partition(";")[0]}
    return service.client.request(method, path, headers=headers).status_code


def test_a_cookie_holds_a_random_session_and_never_the_token(guarded):
    cookies = [signed_in(guarded) for _ in range(2)]
    assert cookies[0] != cookies[1]
    assert not any(TOKENS["read"] in cookie for cookie in cookies)
    assert all("HttpOnly" in cookie and "SameSite=Strict" in cookie for cookie in cookies)
    assert [with_cookie(guarded, cookie) for cookie in cookies] == [200, 200]
    assert with_cookie(guarded, f"rosenblatt={TOKENS['read']}") == 401  # a token is no session
    assert (
        with_cookie(guarded, cookies[0], "PUT", "/v1/models/mine") == 403
    )  # the token's scope is the session's


def test_signing_out_ends_the_session_on_the_server(guarded):
    first, second = signed_in(guarded), signed_in(guarded)
    assert with_cookie(guarded, first, "POST", "/sign-out") == 303
    assert (with_cookie(guarded, first), with_cookie(guarded, second)) == (401, 200)


def test_signing_in_again_ends_the_session_that_was_there(guarded):
    first = signed_in(guarded)
    second = signed_in(guarded, cookie=first.partition(";")[0])
    assert (with_cookie(guarded, first), with_cookie(guarded, second)) == (401, 200)


def test_a_session_ends_by_itself():
    now = [0.0]
    sessions = Sessions(60, clock=lambda: now[0])
    cookie = sessions.begin("read", b"token").encode()
    now[0] = 59.0
    assert sessions.find(cookie) is not None
    now[0] = 60.0
    assert sessions.find(cookie) is None


@pytest.mark.parametrize("trusted", [(), ("127.0.0.1",)])
def test_a_cookie_is_secure_behind_a_proxy_that_is_trusted(tmp_path, trusted):
    with served(tmp_path / "store", tokens=tuple(TOKENS.items()), trusted_proxies=trusted) as service:
        assert "Secure" not in signed_in(service)
        assert ("Secure" in signed_in(service, **{"x-forwarded-proto": "https"})) == bool(trusted)


# Rates


def test_sign_ins_from_one_address_are_limited(tmp_path):
    limits = {"sign_ins_per_minute": 3, "tokens": tuple(TOKENS.items()), "trusted_proxies": ("127.0.0.1",)}
    with served(tmp_path / "store", **limits) as service:
        guesses = [service.client.post("/sign-in", data={"token": "guess"}) for _ in range(5)]
        assert [each.status_code for each in guesses] == [401] * 3 + [429] * 2
        assert int(guesses[-1].headers["retry-after"]) > 0
        assert guesses[-1].json()["error"] == "too_many"
        browser = {"accept": "text/html"}
        page = service.client.post("/sign-in", data={"token": "guess"}, headers=browser)
        assert page.status_code == 429
        assert "More than 3 sign-ins a minute: try again in" in page.text
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert int(page.headers["retry-after"]) > 0
        elsewhere = {"x-forwarded-for": "198.51.100.7"}
        assert service.client.post("/sign-in", data={"token": "guess"}, headers=elsewhere).status_code == 401


def test_a_refusal_says_whether_a_token_is_missing_or_wrong_and_what_kind_of_body_came(guarded):
    missing, wrong = (
        guarded.client.get("/v1/models", headers=headers).json()["message"]
        for headers in ({}, {"authorization": "Bearer 0123456789abcdef-no"})
    )
    assert "a token is needed" in missing
    assert "token is not known" in wrong
    headers = {"authorization": f"Bearer {TOKENS['admin']}", "content-type": "text/xml"}
    refused = guarded.client.post("/v1/models/m/predict", content=b"<a/>", headers=headers)
    assert (refused.status_code, refused.json()["message"][:25]) == (415, "the body is 'text/xml'; s")


def test_writes_of_one_token_are_limited_and_reads_are_not(tmp_path):
    with served(tmp_path / "store", writes_per_minute=2, tokens=tuple(TOKENS.items())) as service:
        assert asked(service, "admin", "PUT", "/v1/models/m", json={}) == 201
        feedback = {"text": "a", "label": "x"}
        statuses = [
            asked(service, scope, "POST", "/v1/models/m/feedback", json=feedback)
            for scope in ("admin", "admin", "feedback", "feedback", "feedback")
        ]
        assert statuses == [200, 429, 200, 200, 429]
        assert {
            asked(service, "admin", "POST", "/v1/models/m/predict", json={"text": "a"}) for _ in range(9)
        } == {200}


def test_a_uvicorn_with_another_protocol_is_refused_at_the_start(monkeypatch):
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    connections.check_protocol(HttpToolsProtocol)
    monkeypatch.setattr(HttpToolsProtocol, "on_header", lambda self, header: None)
    with pytest.raises(ValueError, match=r"uvicorn .* on_header .*pip install"):
        connections.limited_protocol(Settings())
    monkeypatch.delattr(HttpToolsProtocol, "on_header")
    with pytest.raises(ValueError, match="on_header"):
        connections.check_protocol(HttpToolsProtocol)
