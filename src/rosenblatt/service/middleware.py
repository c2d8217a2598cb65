"""What every request passes before a route, one class per concern, composed in one list: :func:`middleware`.

Pure ASGI, from the outside in: request id and headers of the response, metrics, refusals, host, origin,
authentication, rate limits, bodies of pages. Limits on bytes and time before any of this are those of
:mod:`rosenblatt.web.connections`.
"""

import asyncio
import itertools
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from rosenblatt.service.metrics import Metrics
from rosenblatt.service.schemas import Problem, encode
from rosenblatt.service.sessions import SIGN_IN, RateLimit, Sessions, address_of_client, sign_in_page
from rosenblatt.web.connections import Connection
from rosenblatt.web.guard import (
    ANYBODY,
    API_HEADERS,
    PAGE_HEADERS,
    SECURITY_HEADERS,
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
WAYS = ("models", "learn", "ledger", "explain", "snapshot", "predict", "feedback")  # that are counted by name
WRITES = frozenset(("POST", "PUT", "DELETE"))
WORDS = {404: "not_found", 405: "method_not_allowed"}
JSON = (b"content-type", b"application/json")
GOOD_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}").fullmatch
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]


class RequestState:
    """What the middleware knows about a request; under ``scope["rosenblatt"]``."""

    __slots__ = ("allowed", "api", "fields", "headers", "id", "identity", "status")

    def __init__(self, fields: dict[bytes, bytes], identifier: str, api: bool) -> None:
        self.fields, self.id = fields, identifier
        self.api = api  # whether its path belongs to the API and not to pages
        self.headers = API_HEADERS if api else SECURITY_HEADERS  # that are added to the response
        self.allowed: str | None = None  # the scope of its token or session, once that is decided
        self.identity: str | None = None  # whose token or session it is, for rate limits
        self.status = 0  # of the response, once it has begun


def middleware(settings: Settings, metrics: Metrics, guard: Guard, sessions: Sessions) -> list[Middleware]:
    """Return the middleware of the service, the outermost first."""
    return [
        Middleware(RequestIds),
        Middleware(CountRequests, metrics, settings.log_requests),
        Middleware(AnswerRefusals),
        Middleware(CheckHost, guard),
        Middleware(CheckOrigin, guard),
        Middleware(Authenticate, settings, guard, sessions),
        Middleware(LimitRates, settings),
        Middleware(LimitPageBodies, settings.mail_bytes),
    ]


class RequestIds:
    """Gives every request an id, its own where it brought a good one, and every response its headers."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._number = itertools.count()
        self._prefix = os.urandom(4).hex()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        fields = dict(scope["headers"])
        own = fields.get(b"x-request-id")
        good = own is not None and GOOD_ID(own)
        identifier = own.decode() if own is not None and good else f"{self._prefix}-{next(self._number):x}"
        path = scope["path"]
        state = RequestState(fields, identifier, path.startswith(API) or path in API_PATHS)
        scope["rosenblatt"] = state

        async def with_headers(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                state.status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-request-id", identifier.encode()),
                    *state.headers,
                ]
            await send(message)

        await self.app(scope, receive, with_headers)


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
        self.metrics.count(route_of(scope["path"]), status, took)
        if status >= 400 or self.log_all:
            log.log(
                logging.ERROR if status >= 500 else logging.INFO,
                "%s %s %d",
                scope["method"],
                scope["path"][:200],
                status,
                extra={"request_id": state.id, "status": status, "milliseconds": round(1000 * took, 2)},
            )


@lru_cache(maxsize=1024)
def route_of(path: str) -> str:
    """Return the name that a path is counted by."""
    if path.startswith(API):
        parts = path.split("/")
        way = parts[4] if len(parts) == 5 else "models"
        return way if way in WAYS else "other"
    return path if path in ("/healthz", "/readyz", "/metrics") else "other"


class AnswerRefusals:
    """Answers what was refused further inside, and what went wrong there, with a problem in JSON."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        state: RequestState = scope["rosenblatt"]
        token = request_id.set(state.id)
        try:
            await self.app(scope, receive, send)
        except Refusal as refusal:
            if scope["type"] == "websocket":
                log.warning("websocket refused", extra={"reason": str(refusal)})
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refusal.error})
            elif not state.status:
                await self._answer(scope, send, state, refusal)
            else:
                log.exception("refused after the response had begun", extra={"path": scope["path"]})
        except HTTPException as error:
            if scope["type"] != "http":
                raise
            message = f"{scope['method']} {scope['path'][:200]}: {error.detail}"
            own = tuple(
                (name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items()
            )
            problem = Problem(WORDS.get(error.status_code, "bad_request"), message, state.id)
            state.headers = API_HEADERS
            await respond(send, state, error.status_code, encode(problem), (JSON, *own))
        except RequestValidationError as error:
            first = error.errors()[0]
            where = " ".join(str(part) for part in first["loc"])
            problem = Problem("bad_message", f"{where}: {first['msg']}", state.id)
            await respond(send, state, 422, encode(problem))
        except Exception:
            if scope["type"] != "http":
                raise
            log.exception("internal error", extra={"path": scope["path"]})
            if not state.status:
                message = "something is wrong with the service, not the request"
                await respond(send, state, 500, encode(Problem("internal_error", message, state.id)))
        finally:
            request_id.reset(token)

    async def _answer(self, scope: Scope, send: Send, state: RequestState, refusal: Refusal) -> None:
        page = not scope["path"].startswith(API) and b"text/html" in state.fields.get(b"accept", b"")
        if isinstance(refusal, Unauthorised) and page:
            state.headers = PAGE_HEADERS
            await respond(send, state, *sign_in_page(401))
            return
        extra: Headers = ()
        if refusal.retry_after:
            extra = ((b"retry-after", str(refusal.retry_after).encode()),)
        if isinstance(refusal, Unauthorised):
            extra = ((b"www-authenticate", b"Bearer"),)
        state.headers = API_HEADERS
        problem = Problem(refusal.error, str(refusal), state.id, refusal.learned)
        await respond(send, state, refusal.status, encode(problem), (JSON, *extra))


async def respond(
    send: Send, state: RequestState, status: int, body: bytes, headers: Headers = (JSON,)
) -> None:
    """Send a response whose body is ready."""
    fields = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


class CheckHost:
    """Refuses hosts that are not this service's, and header fields that are sent twice; hides cookies from routes."""

    def __init__(self, app: App, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "lifespan":
            fields = scope["rosenblatt"].fields
            check_fields(scope, fields)
            self.guard.check_host(fields)
        await self.app(scope, receive, send)


class CheckOrigin:
    """Refuses requests that pages of other sites make."""

    def __init__(self, app: App, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "lifespan":
            self.guard.check_origin(scope["rosenblatt"].fields)
        await self.app(scope, receive, send)


class Authenticate:
    """Decides the scope of a request by its token or its session; pages as a whole need the scope ``feedback``."""

    def __init__(self, app: App, settings: Settings, guard: Guard, sessions: Sessions) -> None:
        self.app, self.settings, self.guard, self.sessions = app, settings, guard, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        kind = scope["type"]
        if kind == "lifespan":
            await self.app(scope, receive, send)
            return
        path, state = scope["path"], scope["rosenblatt"]
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
        await self.app(scope, receive, send)

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
        session = self.sessions.find(cookie_value(state.fields.get(b"cookie", b"")))
        if session is None:
            raise Unauthorised("a token is needed: send it as 'Authorization: Bearer TOKEN'")
        state.identity = session.token
        return session.scope


class LimitRates:
    """Refuses with 429 who signs in or writes more often than allowed: each token, and each address without one."""

    def __init__(self, app: App, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self._sign_ins = RateLimit(settings.sign_ins_per_minute)
        self._writes = RateLimit(settings.writes_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["method"] in WRITES:
            path, state = scope["path"], scope["rosenblatt"]
            if path == SIGN_IN:
                self._check(self._sign_ins, address_of_client(scope, self.settings), "sign-ins")
            elif path.startswith(API) and not path.endswith("/predict"):
                who = state.identity or address_of_client(scope, self.settings)
                self._check(self._writes, who, "writes")
        await self.app(scope, receive, send)

    def _check(self, limit: RateLimit, who: str, what: str) -> None:
        seconds = limit.take(who)
        if seconds:
            refusal = TooMany(f"more than {limit.per_minute:,} {what} a minute: try again in {seconds} s")
            refusal.retry_after = seconds
            raise refusal


class LimitPageBodies:
    """Ends bodies that pages receive once they are too large, and answers 413."""

    def __init__(self, app: App, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["rosenblatt"].api:
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
    """``receive`` for pages: a body that becomes too large ends there, and the pages see no more of it."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._limit = receive, limit
        self._size = 0

    @property
    def exceeded(self) -> bool:
        """Whether more came than may come."""
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
            raise WrongType(f"the body is {kind[:80]!r}; send JSON as application/json")


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
