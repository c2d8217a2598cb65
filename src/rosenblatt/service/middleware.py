"""The middleware that every request passes before a route, as one list: :func:`middleware`.

Pure ASGI, built once. From the outside in: metrics; request id, response headers and error answers; host and origin;
authentication; rate limits. The three inner layers raise a refusal or return the awaitable of the next layer; only the
two outer ones, which act after the response, are coroutines. :mod:`rosenblatt.web.connections` limits bytes and time
before all of this; :class:`LimitPageBodies` limits the bodies of pages.
"""

import asyncio
import itertools
import logging
import math
import os
import re
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from rosenblatt.service.metrics import Metrics
from rosenblatt.service.schemas import Problem, encode
from rosenblatt.service.sessions import SIGN_IN, Sessions, sign_in_page
from rosenblatt.web.connections import Connection, address_of
from rosenblatt.web.guard import (
    ANYBODY,
    API_HEADERS,
    PAGE_HEADERS,
    SECURITY_HEADERS,
    TOKEN_NEEDED,
    Guard,
    Unauthorised,
    bearer_token,
    check_fields,
    cookie_value,
    need,
)
from rosenblatt.web.refusals import Busy, Left, Refusal, TimedOut, TooLarge, TooMany, WrongType
from rosenblatt.web.settings import Settings

log = logging.getLogger("rosenblatt.requests")
request_id: ContextVar[str] = ContextVar("request_id", default="")
API = "/v1/"
API_PATHS = ("/healthz", "/readyz", "/metrics", "/openapi.json")
STREAMED = ("/learn", "/snapshot")  # routes whose body is worked on while it arrives
MOST_CLIENTS = 10_000  # whose rates are remembered
WRITES = frozenset(("POST", "PUT", "DELETE"))
WORDS = {404: "not_found", 405: "method_not_allowed"}
JSON = (b"content-type", b"application/json")
GOOD_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}").fullmatch
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]


class RequestState(msgspec.Struct, gc=False):
    """What the middleware knows about a request; under ``scope["rosenblatt"]``."""

    fields: dict[bytes, bytes]
    id: str
    api: bool  # whether its path belongs to the API and not to pages
    headers: Headers  # that are added to the response
    allowed: str | None = None  # the scope of its token or session, once that is decided
    identity: str | None = None  # whose token or session it is, for rate limits
    session: bytes | None = None  # id of the session that it brought in its cookie
    status: int = 0  # of the response, once it has begun


def middleware(settings: Settings, metrics: Metrics, guard: Guard, sessions: Sessions) -> list[Middleware]:
    """Return the middleware of the service, the outermost first."""
    return [
        Middleware(CountRequests, metrics, settings.log_requests),
        Middleware(AnswerRequests),
        Middleware(CheckOrigin, guard),
        Middleware(Authenticate, settings, guard, sessions),
        Middleware(LimitRates, settings),
    ]


class CountRequests:
    """Counts requests and their seconds by route, and logs those that failed."""

    def __init__(self, app: App, metrics: Metrics, log_all: bool) -> None:
        self.app, self.metrics, self.log_all = app, metrics, log_all

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        await self.app(scope, receive, send)
        took = time.perf_counter() - began
        state: RequestState = scope["rosenblatt"]
        status = state.status or 499
        self.metrics.count(scope["path"], status, took)
        if status >= 400 or self.log_all:
            log.log(
                logging.ERROR if status >= 500 else logging.INFO,
                "%s %s %d",
                scope["method"],
                scope["path"][:200],
                status,
                extra={"request_id": state.id, "status": status, "milliseconds": round(1000 * took, 2)},
            )


class AnswerRequests:
    """Gives every request an id (its own X-Request-ID if that is valid) and every response its headers.

    Refusals and errors of the layers inside are answered with a problem in JSON.
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self._number = itertools.count()
        self._prefix = os.urandom(4).hex()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        fields, path = dict(scope["headers"]), scope["path"]
        own = fields.get(b"x-request-id")
        good = own is not None and GOOD_ID(own)
        identifier = own.decode() if own is not None and good else f"{self._prefix}-{next(self._number):x}"
        api = path.startswith(API) or path in API_PATHS
        state = RequestState(fields, identifier, api, API_HEADERS if api else SECURITY_HEADERS)
        scope["rosenblatt"] = state

        def with_headers(message: dict[str, Any]) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                state.status = message["status"]
                own_headers = message.get("headers", ())
                message["headers"] = [*own_headers, (b"x-request-id", identifier.encode()), *state.headers]
            return send(message)

        token = request_id.set(identifier)
        try:
            await self.app(scope, receive, with_headers)
        except Exception as error:
            await self._answer(error, scope, receive, with_headers)
        finally:
            request_id.reset(token)

    async def _answer(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what was raised; an error outside a request of HTTP goes on to the server."""
        state: RequestState = scope["rosenblatt"]
        if scope["type"] != "http":
            if not isinstance(error, Refusal):
                raise error
            log.warning("websocket refused", extra={"reason": str(error)})
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": error.error})
        elif state.status:
            log.error("failed after the response had begun", extra={"path": scope["path"]}, exc_info=error)
        elif isinstance(error, Refusal):
            await self._refuse(error, scope, send, state)
        elif isinstance(error, HTTPException):
            message = f"{scope['method']} {scope['path'][:200]}: {error.detail}"
            problem = Problem(WORDS.get(error.status_code, "bad_request"), message, state.id)
            fields = [
                (name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items()
            ]
            state.headers = API_HEADERS
            await respond(send, error.status_code, encode(problem), (JSON, *fields))
        elif isinstance(error, RequestValidationError):
            first = error.errors()[0]
            where = " ".join(str(part) for part in first["loc"])
            problem = Problem("bad_message", f"{where}: {first['msg']}", state.id)
            await respond(send, 422, encode(problem))
        else:
            log.error("internal error", extra={"path": scope["path"]}, exc_info=error)
            message = "something is wrong with the service, not the request"
            await respond(send, 500, encode(Problem("internal_error", message, state.id)))

    async def _refuse(self, refusal: Refusal, scope: Scope, send: Send, state: RequestState) -> None:
        page = not scope["path"].startswith(API) and b"text/html" in state.fields.get(b"accept", b"")
        extra: Headers = ()
        if refusal.retry_after:
            extra = ((b"retry-after", str(refusal.retry_after).encode()),)
        if page and isinstance(refusal, Unauthorised | TooMany):
            message = f"{refusal}." if isinstance(refusal, TooMany) else ""
            status, body, fields = sign_in_page(refusal.status, message[:1].upper() + message[1:])
            state.headers = PAGE_HEADERS
            await respond(send, status, body, (*fields, *extra))
            return
        if isinstance(refusal, Unauthorised):
            extra = ((b"www-authenticate", b"Bearer"),)
        state.headers = API_HEADERS
        problem = Problem(refusal.error, str(refusal), state.id, refusal.learned)
        await respond(send, refusal.status, encode(problem), (JSON, *extra))


async def respond(send: Send, status: int, body: bytes, headers: Headers = (JSON,)) -> None:
    """Send a response whose body is ready."""
    fields = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


class CheckOrigin:
    """Refuses hosts that are not this service's, requests of other sites' pages, and header fields sent twice."""

    def __init__(self, app: App, guard: Guard) -> None:
        self.app, self.guard = app, guard

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request on, or refuse it."""
        fields = scope["rosenblatt"].fields
        check_fields(scope, fields)
        self.guard.check_host(fields)
        self.guard.check_origin(fields)
        return self.app(scope, receive, send)


class Authenticate:
    """Determines the scope of a request from its token or session; all pages need the scope ``feedback``."""

    def __init__(self, app: App, settings: Settings, guard: Guard, sessions: Sessions) -> None:
        self.app, self.settings, self.guard, self.sessions = app, settings, guard, sessions

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request on, or refuse it."""
        kind, path, state = scope["type"], scope["path"], scope["rosenblatt"]
        allowed = state.allowed = self._scope_of(path, state)
        if not state.api:
            if kind == "websocket" or path not in self.guard.open_paths:
                need(allowed, "feedback")
            scope["state"] = {**scope.get("state", {}), "signed_in": self.guard.asks_for_tokens}
        connection: Connection | None = scope["state"].get("connection") if "state" in scope else None
        if connection is not None:
            if kind == "websocket":
                connection.permit(None)
            elif allowed is not ANYBODY and connection.is_waiting:
                streamed = not path.startswith(API) or path.endswith(STREAMED)
                seconds = self.settings.stream_seconds if streamed else self.settings.body_seconds
                connection.permit(seconds + self.settings.header_seconds)  # later than an answer that says so
        if kind == "websocket" and state.session is not None:
            return self._while_signed_in(scope, receive, send, state.session)
        return self.app(scope, receive, send)

    def _scope_of(self, path: str, state: RequestState) -> str:
        if not self.guard.asks_for_tokens:
            return "admin"
        if path in self.guard.open_paths:
            return ANYBODY
        token = bearer_token(state.fields)
        if token:
            scope = self.guard.scope_of(token)
            state.identity = self.sessions.digest(token)
            return scope
        cookie = cookie_value(state.fields.get(b"cookie", b""))
        session = self.sessions.find(cookie)
        if session is None:
            raise Unauthorised(TOKEN_NEEDED)
        state.identity, state.session = session.token, cookie
        return session.scope

    def _while_signed_in(self, scope: Scope, receive: Receive, send: Send, session: bytes) -> Awaitable[None]:
        """Pass a websocket on until its session ends; every message in either direction looks."""

        async def received() -> dict[str, Any]:
            message = await receive()
            if self.sessions.find(session) is None:
                return {"type": "websocket.disconnect", "code": 1008}
            return message

        async def sent(message: dict[str, Any]) -> None:
            if message["type"] != "websocket.send" or self.sessions.find(session) is not None:
                await send(message)

        return self.app(scope, received, sent)


class RateLimit:
    """A token bucket for every client: so many requests a minute, of which a minute's worth may come at once.

    >>> limit = RateLimit(2, clock=lambda: 0.0)
    >>> [limit.take("a") for _ in range(3)], limit.take("b")
    ([0, 0, 30], 0)
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute, self._clock = per_minute, clock
        self._buckets: dict[str, tuple[float, float]] = {}  # requests left, and when

    def take(self, client: str) -> int:
        """Count a request; return 0, or after how many seconds there is room for it."""
        now, rate = self._clock(), self.per_minute / 60
        left, then = self._buckets.get(client, (float(self.per_minute), now))
        left = min(float(self.per_minute), left + (now - then) * rate)
        if left < 1.0:
            return max(1, math.ceil((1.0 - left) / rate))
        if len(self._buckets) >= MOST_CLIENTS and client not in self._buckets:
            self._buckets = dict(itertools.islice(self._buckets.items(), MOST_CLIENTS // 2, None))
        self._buckets[client] = (left - 1.0, now)
        return 0


@lru_cache(maxsize=1024)
def _network_of(address: str) -> str:
    return address_of((address, 0))


def address_of_client(scope: Scope, settings: Settings) -> str:
    """Return the address that rates are counted by; behind a trusted proxy, the one that it names last."""
    peer = scope.get("client") or ("", 0)
    if peer[0] in settings.trusted_proxies:
        forwarded = scope["rosenblatt"].fields.get(b"x-forwarded-for", b"").decode("latin-1")
        return _network_of(forwarded.rpartition(",")[2].strip() or str(peer[0]))
    return _network_of(str(peer[0]))


class LimitRates:
    """Refuses with 429 sign-ins and writes above the rate of their token, or of their address without a token."""

    def __init__(self, app: App, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self._sign_ins = RateLimit(settings.sign_ins_per_minute)
        self._writes = RateLimit(settings.writes_per_minute)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["method"] in WRITES:
            path, state = scope["path"], scope["rosenblatt"]
            if path == SIGN_IN:
                self._check(self._sign_ins, address_of_client(scope, self.settings), "sign-ins")
            elif path.startswith(API) and not path.endswith("/predict"):
                who = state.identity or address_of_client(scope, self.settings)
                self._check(self._writes, who, "writes")
        return self.app(scope, receive, send)

    def _check(self, limit: RateLimit, who: str, what: str) -> None:
        seconds = limit.take(who)
        if seconds:
            refusal = TooMany(f"more than {limit.per_minute:,} {what} a minute: try again in {seconds} s")
            refusal.retry_after = seconds
            raise refusal


class LimitPageBodies:
    """Wraps mounted pages: cuts off request bodies that become too large, and answers 413."""

    def __init__(self, app: App, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: RequestState = scope["rosenblatt"]
        need_size(state.fields, self.limit)
        body = PageBody(receive, self.limit)

        async def unless_exceeded(message: dict[str, Any]) -> None:
            if state.status or not body.exceeded:  # else the answer is 413, whatever the pages make of it
                await send(message)

        try:
            await self.app(scope, body, unless_exceeded)
        except Exception:
            if body.exceeded and not state.status:
                raise too_large(self.limit) from None
            raise
        if body.exceeded and not state.status:
            raise too_large(self.limit)


class PageBody:
    """``receive`` for pages: a body that becomes too large is cut off, and the page sees a disconnect."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._limit = receive, limit
        self._size = 0

    @property
    def exceeded(self) -> bool:
        """Whether more bytes came than the limit."""
        return self._size > self._limit

    async def __call__(self) -> dict[str, Any]:
        """Return the next piece of the body."""
        if not self.exceeded:
            message = await self._receive()
            self._size += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.exceeded else message


# Bodies that routes read whole


def need_json(headers: dict[bytes, bytes]) -> None:
    """Raise a refusal where a body says that it is not JSON."""
    kind = headers.get(b"content-type")
    if kind is not None and kind != b"application/json":
        base = kind.partition(b";")[0].strip().lower()
        if base not in (b"application/json", b"application/x-ndjson", b"application/jsonl"):
            shown = kind[:80].decode("latin-1")
            raise WrongType(f"the body is {shown!r}; send JSON as application/json")


def need_size(headers: dict[bytes, bytes], limit: int) -> None:
    """Raise a refusal where a body says itself that it is too large, before any of it is read."""
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared) > limit:
        raise too_large(limit)


def too_large(limit: int) -> TooLarge:
    """Return the refusal of a body that is too large."""
    return TooLarge(
        f"the body is larger than {limit:,} bytes: send fewer examples at a time, or feedback as NDJSON to .../learn"
    )


class Bodies:
    """Bodies of requests, read whole: none too large, none too slow, not too many large ones at a time."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.held = 0  # bytes of large bodies that are being read or worked on

    async def read(
        self, receive: Receive, headers: dict[bytes, bytes], limit: int | None = None
    ) -> tuple[bytes, int]:
        """Return the body of a request, and how many bytes of it to release after work: none for a small one."""
        limit = self.settings.body_bytes if limit is None else limit
        message = await receive()  # the connection is closed where it does not come
        if message["type"] == "http.disconnect":
            raise Left("the client went away")
        body: bytes = message.get("body", b"")
        if not message.get("more_body"):
            if len(body) > limit:
                raise too_large(limit)
            return body, 0
        if b"content-length" in headers:
            need_size(headers, limit)
        large = _Large(self, limit)
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                return await large.rest(receive, body)
        except TimeoutError:
            large.release()
            raise TimedOut(f"the body did not arrive within {self.settings.body_seconds:g} s") from None
        except BaseException:
            large.release()
            raise


class _Large:
    """A body of several pieces, counted among all such bodies while they come."""

    def __init__(self, bodies: Bodies, limit: int) -> None:
        self._bodies, self._limit = bodies, limit
        self._pieces = bytearray()

    async def rest(self, receive: Receive, first: bytes) -> tuple[bytes, int]:
        """Return all of the body, and its size."""
        self._add(first)
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Left("the client went away")
            self._add(message.get("body", b""))
            more = message.get("more_body", False)
        return bytes(self._pieces), len(self._pieces)

    def _add(self, piece: bytes) -> None:
        self._pieces += piece
        self._bodies.held += len(piece)
        if len(self._pieces) > self._limit:
            raise too_large(self._limit)
        if self._bodies.held > self._bodies.settings.bodies_bytes:
            work = f"{self._bodies.held:,} bytes of requests are being worked on"
            raise Busy(f"{work}: try again in a moment")

    def release(self) -> None:
        """Count the body no longer."""
        self._bodies.held -= len(self._pieces)
