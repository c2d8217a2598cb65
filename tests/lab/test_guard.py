"""The lab answers to its own pages only, on loopback."""

import asyncio
import socket
from urllib.parse import urlsplit

import pytest
from tests.cli.commands import run
from tests.patience import SECONDS

from rosenblatt.lab.app import address_of, listening
from rosenblatt.lab.guard import UPLOAD_SECONDS, OwnPagesOnly

PAGE = "GET / HTTP/1.1"
SOCKET = "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1"
UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
)


def status(address, request, host, origin=None):
    parts = urlsplit(address)
    upgrade = UPGRADE if request is SOCKET else "Connection: close\r\n"
    lines = f"{request}\r\nHost: {host.format(port=parts.port)}\r\n{upgrade}"
    if origin is not None:
        lines += f"Origin: {origin.format(port=parts.port)}\r\n"
    with socket.create_connection((parts.hostname, parts.port), timeout=SECONDS) as line:
        line.sendall((lines + "\r\n").encode())
        return int(line.makefile("rb").readline().split()[1])


@pytest.mark.parametrize("request_line", [PAGE, SOCKET], ids=["page", "websocket"])
@pytest.mark.parametrize(
    ("host", "origin", "good"),
    [
        ("127.0.0.1:{port}", None, True),
        ("localhost:{port}", "http://localhost:{port}", True),
        ("evil.example", None, False),
        ("evil.example:{port}", "http://evil.example:{port}", False),
        ("127.0.0.1:{port}", "http://evil.example", False),
        ("127.0.0.1:{port}", "null", False),
    ],
)
def test_only_own_pages_are_answered(address, request_line, host, origin, good):
    told = status(address, request_line, host, origin)
    assert told == (101 if request_line is SOCKET else 200) if good else told in (403, 421)


@pytest.mark.parametrize(("kind", "seconds"), [("websocket", None), ("http", UPLOAD_SECONDS)])
def test_the_connection_of_a_page_is_not_closed_as_that_of_a_stranger(kind, seconds):
    """A connection without permission is closed after 15 s; an own page's websocket stays as long as the page."""
    permitted, passed = [], []

    class Connection:
        def permit(self, seconds):
            permitted.append(seconds)

    async def app(scope, receive, send):
        passed.append(scope["type"])

    async def send(message):
        passed.append(message)

    def scope(host):
        headers = [(b"host", host)]
        return {"type": kind, "path": "/", "headers": headers, "state": {"connection": Connection()}}

    async def receive():
        return {}

    asyncio.run(OwnPagesOnly(app)(scope(b"localhost:8137"), receive, send))
    assert (passed, permitted) == ([kind], [seconds])
    asyncio.run(OwnPagesOnly(app)(scope(b"evil.example"), receive, send))
    assert permitted == [seconds]


def test_a_port_that_is_taken_is_named():
    with listening(0) as own:
        port = own.getsockname()[1]
        assert address_of(own) == f"http://127.0.0.1:{port}"
        with pytest.raises(ValueError, match=f"port {port} is taken"):
            listening(port)
        refused = run(["lab", "--port", str(port), "--no-open"])
        assert refused.exit_code == 2
        assert f"port {port} is taken" in refused.stderr
