"""Limits on connections, enforced before any application code runs: bytes, absolute times, and numbers of sockets.

Every limit here applies before authentication. The protocol counts bytes while it parses them, and keeps one deadline
for what it waits for next: TLS handshake, headers, body or the next request. One periodic sweep closes all connections
whose deadline has passed, so that no request needs a timer.
"""

import asyncio
import importlib.metadata
import inspect
import ipaddress
import ssl
from collections import Counter
from typing import Any, Protocol

import msgspec

from rosenblatt.web.settings import Settings

MAX_REQUEST_LINE_BYTES = 8 << 10
MAX_HEADER_BYTES = 32 << 10  # all header fields of a request together
MAX_FIELD_BYTES = 16 << 10  # name and value of one header field
MAX_COOKIE_BYTES = 8 << 10
MAX_FIELDS = 100
MAX_FRAMING_BYTES = 64 << 10  # chunk sizes, chunk extensions and trailers beyond half of the body's own bytes
MIN_CHUNK_BYTES = 5  # of framing around one chunk
MAX_PIPELINED = 32  # requests that wait behind one that is being answered
MIN_SENT_BYTES = 16 << 10  # of an answer, that a client takes within `header_seconds`
REASONS = {
    400: "Bad Request",
    414: "URI Too Long",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class Connection(Protocol):
    """What the application may change about the connection of a request, under ``scope["state"]["connection"]``."""

    @property
    def is_waiting(self) -> bool:
        """Whether it has to be permitted: its client is anonymous, or a body is still to come."""

    def permit(self, seconds: float | None) -> None:
        """Count the client as known; allow its body ``seconds`` since its headers, None: no limit (websockets)."""


def refusal_bytes(status: int, error: str, message: str) -> bytes:
    """Return a whole HTTP answer with a JSON problem, after which the connection is closed."""
    body = msgspec.json.encode({"error": error, "message": message, "request_id": ""})
    retry = "retry-after: 1\r\n" if status == 503 else ""
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\n{retry}content-type: application/json\r\n"
        f"x-content-type-options: nosniff\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


class RefusedRequest(Exception):
    """A request that breaks a limit of the protocol."""

    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(message)
        self.answer = refusal_bytes(status, error, message)


class ConnectionTable:
    """All open connections of a server: limits their number, closes one for a new one, closes overdue ones.

    A connection is anonymous until one of its requests was authorised. Anonymous ones take at most nine tenths of
    the places; beyond that, and where an address or the server is full, the oldest anonymous connection of the
    address that has most of them is closed for the newcomer, then the connection that has been idle longest. Only where
    all are busy with authorised requests is the newcomer refused.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.connections: dict[Any, None] = {}
        self.by_address: Counter[str] = Counter()
        self.anonymous: dict[str, dict[Any, None]] = {}
        self.anonymous_count = 0
        self.idle: dict[Any, None] = {}  # known, waiting for their next request, the longest first
        self._sweeper: asyncio.TimerHandle | None = None
        self._interval = min(1.0, settings.header_seconds / 4)

    def admit(self, connection: Any) -> bool:
        """Add a new connection, closing another if the table is full; return whether there was room."""
        most, address = self.settings.most_connections, connection.address
        if self.by_address[address] >= self.settings.most_connections_per_address:
            if not (self._close_first(self.anonymous.get(address, {})) or self._close_idle(address)):
                return False
        elif len(self.connections) >= most or self.anonymous_count >= most - most // 10:
            crowded = max(self.anonymous.values(), key=len, default={})
            full = len(self.connections) >= most
            if not self._close_first(crowded) and full and not self._close_idle(None):
                return False
        self.connections[connection] = None
        self.by_address[address] += 1
        self.anonymous.setdefault(address, {})[connection] = None
        self.anonymous_count += 1
        if self._sweeper is None:
            self._schedule(connection.loop)
        return True

    def identify(self, connection: Any) -> None:
        """Count a connection as known: one of its requests was authorised."""
        group = self.anonymous.get(connection.address)
        if group is not None and connection in group:
            del group[connection]
            self.anonymous_count -= 1
            if not group:
                del self.anonymous[connection.address]

    def remove(self, connection: Any) -> None:
        """Forget a connection that is closed."""
        if connection in self.connections:
            self.identify(connection)
            del self.connections[connection]
            self.idle.pop(connection, None)
            self.by_address[connection.address] -= 1
            if not self.by_address[connection.address]:
                del self.by_address[connection.address]

    def _close_first(self, group: dict[Any, None]) -> bool:
        for connection in group:
            self.remove(connection)
            connection.transport.abort()
            return True
        return False

    def _close_idle(self, address: str | None) -> bool:
        return self._close_first(
            {each: None for each in self.idle if address is None or each.address == address}
        )

    def _schedule(self, loop: Any) -> None:
        self._expected = loop.time() + self._interval
        self._sweeper = loop.call_later(self._interval, self._sweep, loop)

    def _sweep(self, loop: Any) -> None:
        """Close overdue connections; if the loop itself was late, extend all deadlines by as much."""
        now = loop.time()
        late = now - self._expected
        for connection in list(self.connections):
            if late > self._interval and connection.deadline is not None:
                connection.deadline += late
            elif connection.overdue(now):
                self.remove(connection)
                connection.transport.abort()
            elif connection.gone():
                self.remove(connection)
                connection.release()
        self._sweeper = None
        if self.connections:
            self._schedule(loop)


def address_of(peer: Any) -> str:
    """Return the address by which connections are counted: an IPv4 address, or the /64 network of an IPv6 address.

    >>> address_of(("192.0.2.7", 50000)), address_of(("2001:db8::1:2", 50000, 0, 0))
    ('192.0.2.7', '2001:db8::')
    """
    host = peer[0] if isinstance(peer, tuple) and peer else str(peer)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False).network_address)
    return host


USED_METHODS = {  # of uvicorn's protocol, with the names of their arguments: it is not a public interface
    "connection_made": ["transport"],
    "connection_lost": ["exc"],
    "data_received": ["data"],
    "send_400_response": ["msg"],
    "on_message_begin": [],
    "on_url": ["url"],
    "on_header": ["name", "value"],
    "on_headers_complete": [],
    "on_body": ["body"],
    "on_message_complete": [],
    "on_response_complete": [],
    "_start_asgi_task": ["cycle", "app"],
    "handle_websocket_upgrade": [],
}


def check_protocol(protocol: type) -> None:
    """Raise ValueError where uvicorn's protocol does not have the methods that the limits of this module extend."""
    for name, arguments in USED_METHODS.items():
        method = getattr(protocol, name, None)
        own = list(inspect.signature(method).parameters)[1:] if callable(method) else None
        if own != arguments:
            version = importlib.metadata.version("uvicorn")
            raise ValueError(
                f"uvicorn {version} has another {name} than the limits on connections extend: install the version that "
                "this release was tested with, pip install 'rosenblatt[service]'"
            )


def limited_protocol(settings: Settings, tls: ssl.SSLContext | None = None) -> Any:
    """Return uvicorn's HTTP protocol within the limits of this module; with ``tls`` it makes the handshake too."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        raise ValueError(
            "the server needs httptools: pip install httptools, or pip install 'rosenblatt[service]'"
        ) from None
    check_protocol(HttpToolsProtocol)
    table = ConnectionTable(settings)
    parent_on_header, parent_on_body = HttpToolsProtocol.on_header, HttpToolsProtocol.on_body

    class LimitedProtocol(HttpToolsProtocol):
        """One connection: counts bytes before and while they are parsed, and knows until when it may wait."""

        address = ""
        deadline: float | None = None  # until when the client must have sent what it owes
        _answer: bytes | None = None  # of a request that was refused by the parser
        _closed = False
        _upgraded = False
        _in_headers = False
        _in_body = False
        _early: bytes | None = None  # received before a handshake was begun or noticed to be over; else None
        _known = False  # one of its requests was authorised
        _owed_bytes = 0  # received since the last progress that an application sees
        _header_bytes = 0
        _chunk_bytes = 0  # of the framing of chunks beyond half of what they carried
        _body_began = 0.0
        _unsent: tuple[int, float] | None = None  # bytes in the write buffer, and since when no progress

        # The connection

        def connection_made(self, transport: Any) -> None:
            self.transport = transport
            self.address = address_of(transport.get_extra_info("peername"))
            if not table.admit(self):
                self._closed = True
                if tls is None:
                    transport.write(refusal_bytes(503, "busy", "too many connections: try again in a moment"))
                transport.close()
                return
            self.app_state = {**self.app_state, "connection": self}
            self.deadline = self.loop.time() + settings.header_seconds
            if tls is None:
                super().connection_made(transport)
                return
            self._early = b""
            task = self.loop.create_task(self._handshake(tls))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

        async def _handshake(self, context: ssl.SSLContext) -> None:
            """Make the TLS handshake; the deadline of the headers is running already.

            Bytes may come before the handshake begins: uvloop reads whatever :meth:`connection_made` asks for. They are
            handed to the new protocol in the turn of the loop in which it begins, before anything else is read. What
            comes decrypted before this task goes on waits for it.
            """
            begun = self.loop.create_task(
                self.loop.start_tls(
                    self.transport,
                    self,
                    context,
                    server_side=True,
                    ssl_handshake_timeout=settings.header_seconds,
                    ssl_shutdown_timeout=settings.header_seconds,
                )
            )
            try:
                await asyncio.sleep(0)  # it takes over the transport, which reads no more,
                await asyncio.sleep(0)  # and begins
                early, self._early = self._early, b""
                encryption: Any = self.transport.get_protocol()
                if early and encryption is not self:
                    encryption.get_buffer(len(early))[: len(early)] = early
                    encryption.buffer_updated(len(early))
                transport = await begun
            except (OSError, ssl.SSLError):  # a client that does not speak TLS, or went away
                transport = None
            if transport is None or self._closed:
                table.remove(self)
                self.transport.abort()
                return
            super().connection_made(transport)
            early, self._early = self._early, None
            if early:
                self.data_received(early)

        def connection_lost(self, exc: Exception | None) -> None:
            self._closed = True
            table.remove(self)
            if self.flow is not None:  # it was admitted, and is encrypted where it has to be
                super().connection_lost(exc)
            self.release()

        def release(self) -> None:
            """Drop references back to this connection, so that its memory is freed without garbage collection."""
            vars(self).update(parser=None, scope=None, cycle=None, app_state={})
            self.pipeline.clear()

        def overdue(self, now: float) -> bool:
            """Whether the client has taken too long to send its request or to receive an answer."""
            if self.deadline is not None and now > self.deadline:
                return True
            size = self.transport.get_write_buffer_size()
            if not size:
                self._unsent = None
            elif self._unsent is None or size <= self._unsent[0] - MIN_SENT_BYTES:
                self._unsent = (size, now)
            elif now - self._unsent[1] > settings.header_seconds:
                return True
            return False

        def gone(self) -> bool:
            """Whether a websocket, whose end another protocol sees, has been closed."""
            return (
                self._upgraded and self.transport.is_closing() and not self.transport.get_write_buffer_size()
            )

        @property
        def is_waiting(self) -> bool:
            """Whether it has to be permitted: its client is anonymous, or a body is still to come."""
            return self._in_body or not self._known

        def permit(self, seconds: float | None) -> None:
            """Count the client as known, and give its body more time."""
            table.identify(self)
            self._known = True
            if seconds is None:
                self.deadline = None
            elif self._in_body:
                self.deadline = self._body_began + seconds

        # Bytes

        def data_received(self, data: bytes) -> None:
            if self._closed:
                return
            if self._early is not None:
                self._early += data
                if self.transport.get_protocol() is self:
                    self.transport.pause_reading()
                return
            self._owed_bytes += len(data)
            super().data_received(data)
            limit = MAX_HEADER_BYTES + MAX_REQUEST_LINE_BYTES if self._in_headers else MAX_FRAMING_BYTES
            if self._owed_bytes > limit and not self._upgraded:
                self._answer = (_too_many_header_bytes() if self._in_headers else _too_much_framing()).answer
                self.send_400_response("")

        def send_400_response(self, msg: str) -> None:
            """Answer a request that cannot be parsed or breaks a limit, unless an answer has begun; then close."""
            if self._closed:
                return
            self._closed = True
            if self.cycle is None or self.cycle.response_complete:
                bad = refusal_bytes(400, "bad_request", "this is not a request of HTTP/1.1")
                self.transport.write(self._answer or bad)
            else:
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            self.deadline = self.loop.time() + settings.header_seconds
            self.transport.close()

        def _checked(self, refused: RefusedRequest) -> RefusedRequest:
            """Remember what to answer; the parser reports every exception of a callback alike."""
            self._answer = refused.answer
            return refused

        # One request

        def on_message_begin(self) -> None:
            if len(self.pipeline) >= MAX_PIPELINED:
                raise self._checked(
                    RefusedRequest(400, "bad_request", f"more than {MAX_PIPELINED} requests in a pipeline")
                )
            table.idle.pop(self, None)
            self.deadline = self.loop.time() + settings.header_seconds
            self._in_headers, self._in_body = True, False
            self._owed_bytes = self._header_bytes = self._chunk_bytes = 0
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            super().on_url(url)
            if len(self.url) > MAX_REQUEST_LINE_BYTES:
                message = f"the request line is longer than {MAX_REQUEST_LINE_BYTES:,} bytes"
                raise self._checked(RefusedRequest(414, "too_long", message))

        def on_header(self, name: bytes, value: bytes) -> None:
            size = len(name) + len(value)
            self._header_bytes += size
            if self._header_bytes > MAX_HEADER_BYTES or len(self.headers) >= MAX_FIELDS:
                raise self._checked(_too_many_header_bytes())
            if size > MAX_COOKIE_BYTES:
                self._check_long_field(name, size)
            if self._in_headers:  # trailers are counted and dropped: access was decided without them
                parent_on_header(self, name, value)

        def _check_long_field(self, name: bytes, size: int) -> None:
            limit = MAX_COOKIE_BYTES if name.lower() == b"cookie" else MAX_FIELD_BYTES
            if size > limit:
                shown = name[:40].decode("latin-1")
                message = f"the header field {shown!r} is longer than {limit:,} bytes"
                raise self._checked(RefusedRequest(431, "too_large", message))

        def on_headers_complete(self) -> None:
            fields = dict(self.headers)
            if not self.url.startswith(b"/"):
                message = "the target must be a path: this is not a proxy"
                raise self._checked(RefusedRequest(400, "bad_request", message))
            if b"upgrade" in fields:
                self._check_upgrade(fields)
            self._in_headers, self._in_body = False, True
            self._body_began = self.loop.time()
            self.deadline = self._body_began + settings.header_seconds
            self._owed_bytes = 0
            super().on_headers_complete()

        def _check_upgrade(self, fields: dict[bytes, bytes]) -> None:
            """Accept a websocket only as its standard defines it; a body would never be read."""
            body = fields.get(b"content-length", b"0").strip() != b"0" or b"transfer-encoding" in fields
            websocket = fields[b"upgrade"].strip().lower() == b"websocket"
            opening = (
                self.parser.get_method() == b"GET"
                and self.parser.get_http_version() == "1.1"
                and b"sec-websocket-key" in fields
                and fields.get(b"sec-websocket-version") == b"13"
                and b"upgrade"
                in [each.strip().lower() for each in fields.get(b"connection", b"").split(b",")]
                and (self.cycle is None or self.cycle.response_complete)
            )
            if body or (websocket and not opening):
                message = "a request with Upgrade must be GET over HTTP/1.1 without a body, with the fields of RFC 6455"
                raise self._checked(RefusedRequest(400, "bad_request", message))

        def on_chunk_header(self) -> None:
            """Stop parsing as soon as chunks carry too little, not only after all bytes that arrived with them."""
            self._chunk_bytes += MIN_CHUNK_BYTES
            if self._chunk_bytes > MAX_FRAMING_BYTES:
                raise self._checked(_too_much_framing())

        def on_body(self, body: bytes) -> None:
            size = len(body)
            left = self._owed_bytes - size * 3 // 2
            self._owed_bytes = left if left > 0 else 0
            if self._chunk_bytes:
                left = self._chunk_bytes - size // 2
                self._chunk_bytes = left if left > 0 else 0
            parent_on_body(self, body)

        def on_message_complete(self) -> None:
            self._in_body = False
            self._owed_bytes = 0
            self.deadline = None
            super().on_message_complete()
            if self.cycle is not None and self.cycle.response_complete:
                self._wait_for_next()

        def on_response_complete(self) -> None:
            """Go on with the next request; uvicorn's own would start a timer for every response."""
            self.server_state.total_requests += 1
            if self.transport.is_closing():
                return
            self.flow.resume_reading()
            if self.pipeline:
                self._start_asgi_task(*self.pipeline.pop())
            if self._in_body:  # an answer that did not wait for the body, such as 401: the rest is discarded
                latest = self.loop.time() + settings.header_seconds
                self.deadline = latest if self.deadline is None else min(self.deadline, latest)
            elif not self._in_headers and not self.pipeline and self.cycle.response_complete:
                self._wait_for_next()

        def _wait_for_next(self) -> None:
            """Begin to wait for the next request; only its first byte ends that, not an empty line before it."""
            self.deadline = self.loop.time() + self.timeout_keep_alive
            if self._known:
                table.idle[self] = None

        def handle_websocket_upgrade(self) -> None:
            self._upgraded = True
            table.idle.pop(self, None)
            self.deadline = self.loop.time() + settings.header_seconds  # until the application permits more
            super().handle_websocket_upgrade()

    return LimitedProtocol


def _too_many_header_bytes() -> RefusedRequest:
    message = f"more than {MAX_HEADER_BYTES:,} bytes or {MAX_FIELDS} fields in the headers"
    return RefusedRequest(431, "too_large", message)


def _too_much_framing() -> RefusedRequest:
    return RefusedRequest(
        400, "bad_request", "the chunks of the body are too small, or carry too much beside it"
    )
