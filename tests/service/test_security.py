"""Who may do what: loopback by default, tokens and scopes elsewhere, no other site, no endless waiting."""

import contextlib
import socket
import threading
import time

import pytest
import uvicorn
from tests.patience import SECONDS
from tests.service.server import served
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.sync import client

from rosenblatt.service import connections, serving
from rosenblatt.service.security import Guard, Misdirected
from rosenblatt.service.serving import check, listening
from rosenblatt.service.settings import Settings
from rosenblatt.service.tokens import read_tokens

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


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no token"),
        ("# nothing\n", "no token"),
        ("short", "at least 16"),
        ("root 0123456789abcdef", "SCOPE"),
        ("read a b", "SCOPE"),
    ],
)
def test_a_bad_token_file_is_named_with_its_line(tmp_path, content, reason):
    (tmp_path / "t").write_text(content)
    with pytest.raises(ValueError, match=reason):
        read_tokens(tmp_path / "t")


def test_a_token_alone_may_do_everything(tmp_path):
    (tmp_path / "t").write_text("0123456789abcdef # mine\nread   fedcba9876543210\n")
    assert read_tokens(tmp_path / "t") == (("admin", "0123456789abcdef"), ("read", "fedcba9876543210"))


def test_a_host_header_with_a_token_is_checked_first():
    with pytest.raises(Misdirected):
        Guard(Settings(tokens=(("admin", "x" * 20),))).check("GET", "/", {b"host": b"evil"}, "http")


def waited(wire):
    with contextlib.suppress(ConnectionResetError):
        while wire.recv(4096):
            pass


def test_slow_requests_are_closed_and_too_many_connections_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "SECONDS", 0.05)
    with served(tmp_path / "store", most_connections=4) as service:
        host, _, port = service.url.removeprefix("http://").partition(":")
        for part in (
            b"",
            b"GET / HTTP/1.1\r\nhost:",
            b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{",
        ):
            with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
                wire.sendall(part)
                waited(wire)  # returns when the service closes it
    monkeypatch.setattr(connections, "SECONDS", SECONDS)
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", SECONDS)
    with served(tmp_path / "store", most_connections=2) as service, contextlib.ExitStack() as open_ones:
        host, _, port = service.url.removeprefix("http://").partition(":")
        answers = []
        for _ in range(4):
            wire = open_ones.enter_context(socket.create_connection((host, int(port)), timeout=SECONDS))
            wire.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            answers.append(wire.recv(4096))
        assert [b" 503 " in answer for answer in answers] == [False, False, True, True]
        assert b"retry-after: 1" in answers[-1]


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


def patiently_connected(url, monkeypatch):
    """Connect; where a busy machine let the handshake come too late, the service was right to close: allow more."""
    seconds = 0.2
    while seconds < SECONDS:
        monkeypatch.setattr(connections, "SECONDS", seconds)
        with contextlib.suppress(ConnectionClosed, InvalidMessage, OSError):
            return connect(url)
        seconds *= 2
    pytest.fail(f"no handshake came within {seconds / 2:g} s")


def test_a_websocket_may_stay_longer_than_a_request_may_take_to_come(monkeypatch):
    settings = Settings(port=0)
    config = uvicorn.Config(
        echo, http=connections.careful_protocol(settings), lifespan="off", log_config=None, access_log=False
    )
    running = uvicorn.Server(config)
    with listening(settings) as sock:
        url = f"ws://127.0.0.1:{sock.getsockname()[1]}/"
        thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            with patiently_connected(url, monkeypatch) as wire:
                until = time.monotonic() + 5 * connections.SECONDS
                while time.monotonic() < until:
                    wire.send("still here")
                    assert wire.recv(timeout=SECONDS) == "still here"
        finally:
            running.should_exit = True
            thread.join()
