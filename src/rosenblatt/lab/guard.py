"""Who may use a lab: pages of its own on this computer, or a class that joined with a token.

A server on loopback is reachable by every page that a browser has open. ``Host`` names the address that the browser
believes it talks to, so a foreign name that was made to point here (DNS rebinding) is refused; ``Origin`` names the
page that asks, so another site's page is refused too, on the websocket as elsewhere.

A lab for a class (``--host 0.0.0.0``) asks everybody for its token, once: the join link brings it and leaves a cookie
that is signed with a secret of this process, and has a visitor's number in it, by which pages are counted.
"""

import asyncio
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
from rosenblatt.web.refusals import Refusal, TooLarge, TooMany
from rosenblatt.web.settings import Settings

POLLING = "/_nicegui_ws"
COOKIE = b"rosenblatt_lab"
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # that are not taken for each other
TOKEN_LETTERS = 8
GUESSES, GUESSES_EACH = (
    2000,
    60,
)  # wrong tokens in a minute, from everywhere and from one address; there are 31⁸
MINUTE = 60.0
UPLOAD_SECONDS = 60.0  # in which a body must have arrived
LARGEST_BODY = (4 << 20) + (64 << 10)  # bytes: of an upload, with what surrounds it
BURST, EACH_SECOND = 800.0, 60.0  # messages and requests of one visitor: at once, and in the long run
LARGE = 10_000  # bytes of a message that count as one more message
POLLED = 16  # messages that one request may bring where there is no websocket
MOST_SOCKETS, MOST_REQUESTS = 16, 48  # of one visitor that are open at once
MOST_REMEMBERED = 1000  # visitors whose traffic is counted, who have nothing open


class NotJoined(Refusal):
    """A request to a lab for a class without its cookie."""

    status, error = 401, "not_joined"


class Traffic:
    """What one visitor sends: messages beyond a rate wait, sockets and requests beyond a number are refused."""

    def __init__(self) -> None:
        self.open = {"websocket": 0, "http": 0}
        self._credit, self._counted = BURST, time.monotonic()

    @property
    def idle(self) -> bool:
        """Whether nothing is open."""
        return not any(self.open.values())

    def enter(self, kind: str) -> None:
        """Count a socket or a request, or raise a refusal."""
        if self.open[kind] >= {"websocket": MOST_SOCKETS, "http": MOST_REQUESTS}[kind]:
            raise TooMany("too many connections of yours are open: close some pages of this lab")
        self.open[kind] += 1

    def wait(self, messages: float, now: float) -> float:
        """Count some messages, and return how many seconds they have to wait."""
        self._credit = min(BURST, self._credit + EACH_SECOND * (now - self._counted)) - messages
        self._counted = now
        return max(0.0, -self._credit / EACH_SECOND)


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
    _wrong: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=GUESSES))
    _traffic: dict[str, Traffic] = field(default_factory=dict)

    @property
    def join_link(self) -> str:
        """The link that lets a visitor in."""
        return f"{self.address}/join?token={quote(self.token)}"

    @property
    def pages_per_address(self) -> int:
        """How many pages one address may have open: not all, though a proxy may be the address of a whole class."""
        return max(self.pages_each, self.most_pages // 2)

    def admit(self, token: str, address: str, now: float) -> str:
        """Return a cookie for who brings the right token, or raise a refusal."""
        while self._wrong and now - self._wrong[0][0] >= MINUTE:
            self._wrong.popleft()
        own = sum(where == address for _, where in self._wrong)
        if own >= GUESSES_EACH or len(self._wrong) >= GUESSES:
            raise TooMany("too many wrong tokens in the last minute: wait a minute, then use the join link")
        if not hmac.compare_digest(token.strip().lower().encode(), self.token.encode()):
            self._wrong.append((now, address))
            raise NotJoined("This is not the token of this lab. Ask for the join link.")
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
        raise NotJoined("This lab asks for its token. Open the join link, or type the token.")

    def traffic(self, visitor: str) -> Traffic:
        """Return what a visitor sends."""
        if visitor not in self._traffic:
            if len(self._traffic) >= MOST_REMEMBERED:
                self._traffic = {who: own for who, own in self._traffic.items() if not own.idle}
            self._traffic[visitor] = Traffic()
        return self._traffic[visitor]

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
        kind = scope["type"]
        if kind not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        traffic = None
        try:
            headers = header_fields(scope)
            self._guard.check(scope.get("method", "GET"), scope["path"], headers, scope.get("scheme", "http"))
            _check_length(headers)
            if self.room is not None:
                if kind == "http" and scope["path"] == "/join":
                    await self._join(scope, send)
                    return
                scope["visitor"] = self.room.visitor(headers.get(b"cookie", b""))
                traffic = self.room.traffic(scope["visitor"])
                traffic.enter(kind)
        except Refusal as refused:
            await self._refuse(scope, receive, send, refused)
            return
        connection: Connection | None = scope.get("state", {}).get("connection")
        if (
            connection is not None
        ):  # without a permission it is closed, a websocket after a quarter of a minute
            connection.permit(None if kind == "websocket" else UPLOAD_SECONDS)
        try:
            if traffic is not None and kind == "http":
                await _take_turn(traffic, POLLED if scope["path"].startswith(POLLING) else 1)
            await self.app(scope, _limited(receive, traffic), _with_headers(send, self._headers))
        finally:
            if traffic is not None:
                traffic.open[kind] -= 1

    async def _join(self, scope: dict[str, Any], send: Any) -> None:
        """Answer the join link: a cookie, and on to the page."""
        assert self.room is not None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        address = scope["client"][0] if scope.get("client") else ""
        cookie = self.room.admit(query.get("token", [""])[0], address, time.monotonic())
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


def _check_length(headers: dict[bytes, bytes]) -> None:
    """Refuse a body by the length that it declares."""
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared[:20]) > LARGEST_BODY:
        raise TooLarge(f"the body has {int(declared[:20]):,} bytes; the lab takes {LARGEST_BODY:,}")


async def _take_turn(traffic: Traffic, messages: float) -> None:
    seconds = traffic.wait(messages, time.monotonic())
    if seconds > 0.0:
        await asyncio.sleep(seconds)


def _limited(receive: Any, traffic: Traffic | None) -> Any:
    """Return a ``receive`` that ends a body which is too large, and lets messages of a websocket wait their turn.

    A message that waits is not read, so the sender has to wait too.
    """
    taken = 0

    async def received() -> Any:
        nonlocal taken
        message = await receive()
        if message["type"] == "http.request":
            taken += len(message.get("body", b""))
            if taken > LARGEST_BODY:  # it came in chunks, without a declared length
                return {"type": "http.disconnect"}
        elif message["type"] == "websocket.receive" and traffic is not None:
            size = len(message.get("text") or message.get("bytes") or b"")
            await _take_turn(traffic, 1 + size / LARGE)
        return message

    return received


def local_path(address: str) -> str:
    """Return where to go after joining: a path of this server, or its first page.

    >>> local_path("/game?role=A"), local_path("//evil.example"), local_path("https://evil.example")
    ('/game?role=A', '/', '/')
    """
    plain = address.isascii() and address.isprintable() and "\\" not in address
    return address if plain and address.startswith("/") and not address.startswith("//") else "/"


def _door(scope: dict[str, Any], refused: Refusal) -> str:
    """Return the page that asks for the token, and leads on to the page that was wanted."""
    query = scope["query_string"].decode("latin-1")
    if scope["path"] == "/join":  # with a wrong token
        after = local_path(parse_qs(query).get("next", ["/"])[0])
    else:
        after = scope["path"] + (f"?{query}" if query else "")
    after = escape(after, quote=True)
    return (
        "<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>rosenblatt lab</title>"
        "<link rel=icon href='data:,'><style>:root{color-scheme:light dark}body{font:17px/1.5 system-ui,sans-serif;"
        "max-width:420px;margin:12vh auto;padding:0 16px;background:#F4F6F8;color:#1B1F24}"
        "input,button{font:inherit;padding:6px 10px;border:1px solid;border-radius:8px}input{width:9em}"
        "button{background:#0072B2;color:#fff;border-color:#0072B2;font-weight:600}"
        "@media(prefers-color-scheme:dark){body{background:#0D1115;color:#E8ECF0}}</style>"
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
