"""Who may use a lab: pages of its own on this computer, or a class that joined with a token.

A server on loopback is reachable by every page that a browser has open. ``Host`` names the address that the browser
believes it talks to, so a foreign name that was made to point here (DNS rebinding) is refused; ``Origin`` names the
page that asks, so another site's page is refused too, on the websocket as elsewhere.

A lab for a class (``--host 0.0.0.0``) asks everybody for its token, once: the join link brings it and leaves a cookie
that is signed with a secret of this process, and has a visitor's number in it, by which pages are counted.
"""

import hmac
import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import parse_qs, quote

from rosenblatt.web.connections import Connection
from rosenblatt.web.guard import SECURITY_HEADERS, Guard, header_fields
from rosenblatt.web.refusals import Refusal, TooMany
from rosenblatt.web.settings import Settings

COOKIE = b"rosenblatt_lab"
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # that are not taken for each other
TOKEN_LETTERS = 8
GUESSES = 200  # wrong tokens in a minute, from everywhere: 31⁸ tokens outlast them by a million years
MINUTE = 60.0
UPLOAD_SECONDS = 60.0  # in which a body must have arrived


class NotJoined(Refusal):
    """A request to a lab for a class without its cookie."""

    status, error = 401, "not_joined"


@dataclass
class ClassRoom:
    """A lab for a class: where it is, its token, and how many pages it has room for."""

    address: str  # under which others reach it
    token: str = field(default_factory=lambda: "".join(secrets.choice(LETTERS) for _ in range(TOKEN_LETTERS)))
    most_pages: int = 120
    pages_each: int = 6
    seconds: float = 3.0  # after which "is it separable" answers with what is known so far
    allowed_hosts: tuple[str, ...] = ()  # names under which it may be called, beside addresses
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _wrong: deque[float] = field(default_factory=lambda: deque(maxlen=GUESSES))

    @property
    def join_link(self) -> str:
        """The link that lets a visitor in."""
        return f"{self.address}/join?token={quote(self.token)}"

    def admit(self, token: str, now: float) -> str:
        """Return a cookie for who brings the right token, or raise a refusal."""
        if len(self._wrong) == GUESSES and now - self._wrong[0] < MINUTE:
            raise TooMany("too many wrong tokens in the last minute: wait a minute, then use the join link")
        if not hmac.compare_digest(token.strip().lower().encode(), self.token.encode()):
            self._wrong.append(now)
            raise NotJoined("this is not the token of this lab: ask for the join link")
        visitor = secrets.token_hex(8)
        return f"{visitor}.{self._signature(visitor)}"

    def visitor(self, cookies: bytes) -> str:
        """Return the visitor of a request by its cookies, or raise a refusal."""
        for pair in cookies.split(b";"):
            name, _, value = pair.strip().partition(b"=")
            if name == COOKIE:
                visitor, _, signature = value.decode("latin-1").partition(".")
                if hmac.compare_digest(signature.encode(), self._signature(visitor).encode()):
                    return visitor
        raise NotJoined("this lab asks for its token: open the join link, or type the token")

    def _signature(self, visitor: str) -> str:
        return hmac.new(self._secret, visitor.encode(), "sha256").hexdigest()


class OwnPagesOnly:
    """ASGI middleware that refuses foreign hosts and pages from elsewhere, and for a class whoever has not joined."""

    def __init__(self, app: Any, room: ClassRoom | None = None) -> None:
        self.app, self.room = app, room
        # over plain HTTP, a browser trusts loopback only: elsewhere it ignores this policy, and complains
        ignored = b"cross-origin-opener-policy" if room is not None else b""
        self._headers = [pair for pair in SECURITY_HEADERS if pair[0] != ignored]
        self._guard = Guard(Settings(allowed_hosts=room.allowed_hosts if room is not None else ()))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass on what comes from an own page, refuse the rest."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        try:
            headers = header_fields(scope)
            self._guard.check(scope.get("method", "GET"), scope["path"], headers, scope.get("scheme", "http"))
            if self.room is not None:
                if scope["type"] == "http" and scope["path"] == "/join":
                    await self._join(scope, send)
                    return
                scope["visitor"] = self.room.visitor(headers.get(b"cookie", b""))
        except Refusal as refused:
            await self._refuse(scope, receive, send, refused)
        else:
            connection: Connection | None = scope.get("state", {}).get("connection")
            if (
                connection is not None
            ):  # without a permission it is closed, a websocket after a quarter of a minute
                connection.permit(None if scope["type"] == "websocket" else UPLOAD_SECONDS)
            await self.app(scope, receive, _with_headers(send, self._headers))

    async def _join(self, scope: dict[str, Any], send: Any) -> None:
        """Answer the join link: a cookie, and on to the page."""
        assert self.room is not None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        cookie = self.room.admit(query.get("token", [""])[0], time.monotonic())
        headers = [
            (b"location", local_path(query.get("next", ["/"])[0]).encode()),
            (b"set-cookie", COOKIE + f"={cookie}; Path=/; HttpOnly; SameSite=Lax".encode()),
            (b"cache-control", b"no-store"),
            (b"content-length", b"0"),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": [*headers, *self._headers]})
        await send({"type": "http.response.body", "body": b""})

    async def _refuse(self, scope: dict[str, Any], receive: Any, send: Any, refused: Refusal) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "not a page of this server"})
            return
        kind, body = b"text/plain; charset=utf-8", f"{refused}\n"
        if isinstance(refused, NotJoined | TooMany):
            kind, body = b"text/html; charset=utf-8", _door(scope, refused)
        content = body.encode()
        headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode())]
        await send(
            {
                "type": "http.response.start",
                "status": refused.status,
                "headers": [*headers, *self._headers],
            }
        )
        await send({"type": "http.response.body", "body": content})


def local_path(address: str) -> str:
    """Return where to go after joining: a path of this server, or its first page.

    >>> local_path("/game?role=A"), local_path("//evil.example"), local_path("https://evil.example")
    ('/game?role=A', '/', '/')
    """
    plain = address.isascii() and address.isprintable() and "\\" not in address
    return address if plain and address.startswith("/") and not address.startswith("//") else "/"


def _door(scope: dict[str, Any], refused: Refusal) -> str:
    """Return the page that asks for the token."""
    wanted = scope["path"] if scope["path"] != "/join" else "/"
    query = scope["query_string"].decode("latin-1") if wanted != "/" or scope["path"] == "/" else ""
    after = escape(wanted + (f"?{query}" if query else ""), quote=True)
    return (
        "<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>rosenblatt lab</title>"
        "<style>body{font:17px/1.5 system-ui,sans-serif;max-width:420px;margin:12vh auto;padding:0 16px;"
        "color-scheme:light dark}input,button{font:inherit;padding:6px 10px}</style>"
        f"<h1>rosenblatt lab</h1><p>{escape(str(refused))}</p><form action=/join>"
        f"<input type=hidden name=next value='{after}'><label>Token <input name=token autofocus autocomplete=off>"
        "</label> <button>Join</button></form></html>"
    )


def _with_headers(send: Any, headers: list[tuple[bytes, bytes]]) -> Any:
    async def sent(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *headers]
        await send(message)

    return sent
