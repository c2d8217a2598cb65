"""What stands before every request: access, a number for each, limits, headers, and the two routes in a hurry.

``predict`` and ``feedback`` are answered here, from bytes to bytes; all else goes on to the application. The same
functions answer them there, so the document and the tests speak of what runs.
"""

import asyncio
import itertools
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from msgspec import UNSET

from rosenblatt.service.learner import Named
from rosenblatt.service.logs import request_id
from rosenblatt.service.messages import Predict, Prediction, Predictions, Problem
from rosenblatt.service.metrics import Metrics
from rosenblatt.service.model import Model
from rosenblatt.service.service import Service, one
from rosenblatt.service.sign_in import PATH as SIGN_IN
from rosenblatt.service.sign_in import SIGN_OUT, sign_in_page, signed_in, signed_out
from rosenblatt.service.wire import encode, read_feedback, read_large_predict, read_predict
from rosenblatt.web.connections import Connection
from rosenblatt.web.guard import (
    ANYBODY,
    API_HEADERS,
    PAGE_HEADERS,
    SECURITY_HEADERS,
    Guard,
    Unauthorised,
    header_fields,
    need,
)
from rosenblatt.web.refusals import (
    BadMessage,
    Busy,
    Left,
    NotAllowed,
    Refusal,
    TimedOut,
    TooLarge,
    WrongType,
)
from rosenblatt.web.settings import Settings

log = logging.getLogger("rosenblatt.requests")
API, MODELS = "/v1/", "/v1/models/"
STREAMED = ("/learn", "/snapshot")  # routes whose body is worked on while it arrives
SIGN_IN_BYTES = 4096
SMALL_BODY = 16 << 10  # bytes of a request that is answered on the loop at once
SMALL_WORK = 1 << 20  # bytes × classes of one
SLICE_SECONDS = 0.001  # that a large request has the loop at a time
MOST_PRODUCTS = 20_000_000  # names × classes of a request to predict
MOST_PRODUCTS_OF_ONE = 2_000_000  # of one of its examples, which is scored in one go
JSON = (b"content-type", b"application/json")
WAYS = ("models", "learn", "ledger", "explain", "snapshot", "predict", "feedback")  # that are counted by name
GOOD_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}").fullmatch
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Quick = Callable[[Service, str, bytes, dict[bytes, bytes]], Awaitable[bytes]]


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = (JSON,)


async def predict(service: Service, name: str, body: bytes, headers: dict[bytes, bytes]) -> bytes:
    """Answer a request to predict."""
    model = service.models.model(name)
    if len(body) > SMALL_BODY or len(body) * len(model.learner.labels) > SMALL_WORK:
        return await _predict_large(service, model, body)
    message = read_predict(body)
    told = service.models.answer(model, message, body)
    return encode(told[0] if message.examples is UNSET else Predictions(told))


async def _predict_large(service: Service, model: Model, body: bytes) -> bytes:
    """Answer a large request: decoded and cut into names beside the loop, scored on it a millisecond at a time.

    Each example is predicted by the model as it is then; between two of them it may have learned.
    """
    async with service.turn():
        message, named = await service.aside(_names_of_large, model, body)
        first = service.models.recent.keep(model.number, body)
        predictions = []
        began = time.perf_counter()
        for at, example in enumerate(named):
            predictions.append(Prediction(f"{first}.{at}", *model.predict(example, message.reasons)))
            if time.perf_counter() - began > SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
        single = message.examples is UNSET
        return await service.aside(encode, predictions[0] if single else Predictions(predictions))


def _names_of_large(model: Model, body: bytes) -> tuple[Predict, list[Named]]:
    """Return a request and its examples as named numbers, within the budget of names × classes."""
    message = read_large_predict(body)
    many: Any = message.examples
    named, products = [], 0
    classes = max(1, len(model.learner.labels))
    for at, example in enumerate([message] if many is UNSET else many):
        named.append(model.named(example))
        own = len(named[-1]) * classes
        products += own
        if own > MOST_PRODUCTS_OF_ONE:
            raise TooLarge(
                f"example {at} has {len(named[-1]):,} names, and model {model.name!r} {classes:,} classes: "
                f"names × classes may be {MOST_PRODUCTS_OF_ONE:,} in an example"
            )
        if products > MOST_PRODUCTS:
            raise TooLarge(
                f"names × classes may be {MOST_PRODUCTS:,} in a request, and model {model.name!r} has {classes:,} "
                f"classes: send the examples from number {at} on in another request"
            )
    return message, named


async def feedback(service: Service, name: str, body: bytes, headers: dict[bytes, bytes]) -> bytes:
    """Learn from a feedback; answer once it is on disk."""
    large = len(body) > SMALL_BODY
    if large:
        async with service.turn():
            message = await service.aside(read_feedback, body)
    else:
        message = read_feedback(body)
    key = message.key if message.key is not UNSET else None
    if key is None and b"idempotency-key" in headers:
        key = _header_key(headers[b"idempotency-key"])
    prediction = message.prediction if message.prediction is not UNSET else None
    given = not (message.features is message.vector is message.text is UNSET)
    asked = (name, message.label, message if given else None, prediction, key)
    if large or (prediction is not None and service.models.recent.length(prediction) > SMALL_BODY):
        async with service.turn():
            fresh = await service.aside(service.models.fresh, *asked)
    else:
        fresh = service.models.fresh(*asked)
    return encode(one(await service.submit((fresh,))))


QUICK: dict[str, tuple[Quick, str]] = {"predict": (predict, "read"), "feedback": (feedback, "feedback")}


def _header_key(raw: bytes) -> str:
    key = raw.decode("latin-1").strip()
    if not 1 <= len(key) <= 128:
        raise BadMessage("Idempotency-Key must have 1 to 128 characters")
    return key


class Front:
    """An ASGI application around another."""

    def __init__(self, app: Any, settings: Settings, state: Any, metrics: Metrics) -> None:
        self.app, self.settings, self.state, self.metrics = app, settings, state, metrics
        self.guard = Guard(settings)
        self.bodies = Bodies(settings)
        self._number = itertools.count()
        self._prefix = os.urandom(4).hex()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or hand on a request."""
        kind = scope["type"]
        if kind == "http":
            await self._http(scope, receive, send)
        elif kind == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        headers: dict[bytes, bytes] = {}
        number = ""
        path, method = scope["path"], scope["method"]
        route = path if path in ("/healthz", "/readyz", "/metrics") else "other"
        try:
            headers = header_fields(scope)
            number = self._number_of(headers)
            allowed = self.guard.check(method, path, headers, scope["scheme"])
            connection: Connection | None = scope["state"].get("connection") if "state" in scope else None
            if connection is not None and allowed is not ANYBODY and connection.is_waiting:
                self._permit(connection, path)
            parts: list[str] = path.split("/") if path.startswith(MODELS) else []
            if len(parts) == 5 and method == "POST" and parts[4] in QUICK:
                route = parts[4]
                answer = await self._quick(parts[3], parts[4], allowed, headers, receive)
            else:
                if path.startswith(API):
                    way = parts[4] if len(parts) == 5 else "models"
                    route = way if way in WAYS else "other"
                status = await self._handed_on(scope, receive, send, headers, allowed, number)
                self._note(route, method, path, status, began, number)
                return
        except Refusal as refusal:
            number = number or self._number_of({})
            answer = self._refused(refusal, path, headers, number)
        except Exception:
            request_id.set(number)
            log.exception("internal error", extra={"path": path})
            problem = Problem(
                "internal_error", "something is wrong with the service, not the request", number
            )
            answer = Answer(500, encode(problem))
        await _send(send, answer, number)
        self._note(route, method, path, answer.status, began, number)

    def _number_of(self, headers: dict[bytes, bytes]) -> str:
        """Return the number of a request: its own where it brought a good one."""
        own = headers.get(b"x-request-id")
        if own is not None and GOOD_ID(own):
            return own.decode()
        return f"{self._prefix}-{next(self._number):x}"

    def _permit(self, connection: Connection, path: str) -> None:
        """Tell the connection that this request is authorised, so that its body may take longer."""
        streamed = not path.startswith(API) or path.endswith(STREAMED)
        seconds = self.settings.stream_seconds if streamed else self.settings.body_seconds
        connection.permit(seconds + self.settings.header_seconds)  # later than an answer that says so

    # The two routes in a hurry

    async def _quick(
        self, name: str, what: str, allowed: str, headers: dict[bytes, bytes], receive: Receive
    ) -> Answer:
        work, scope = QUICK[what]
        need(allowed, scope)
        need_json(headers)
        body, held = await self.bodies.read(receive, headers)
        try:
            return Answer(200, await work(self.state.service, name, body, headers))
        finally:
            self.bodies.held -= held

    # All else

    async def _handed_on(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: dict[bytes, bytes],
        allowed: str,
        number: str,
    ) -> int:
        """Let the application answer, adding headers to what it says; return its status."""
        path = scope["path"]
        if path in (SIGN_IN, SIGN_OUT):
            answer = await self._sign(path, scope, receive, headers)
            await _send(send, answer, number)
            return answer.status
        api = path.startswith(API) or path in ("/healthz", "/readyz", "/metrics", "/openapi.json")
        if not api:
            need(allowed, "feedback")
        scope.setdefault("state", {})
        scope["state"] = {
            **scope["state"],
            "allowed": allowed,
            "request_id": number,
            "signed_in": self.guard.asks_for_tokens,
        }
        added = [*(API_HEADERS if api else SECURITY_HEADERS), (b"x-request-id", number.encode())]
        told: list[int] = []
        token = request_id.set(number)

        limit = None if api else PageBody(receive, self.settings.mail_bytes)

        async def adding(message: dict[str, Any]) -> None:
            if limit is not None and limit.exceeded and not told:
                return  # whatever the pages make of a body that ended: the answer is 413
            if message["type"] == "http.response.start":
                told.append(message["status"])
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        try:
            if not api:
                need_size(headers, self.settings.mail_bytes)
            await self.app(scope, limit or receive, adding)
        except Exception:
            if limit is not None and limit.exceeded and not told:
                raise too_large(self.settings.mail_bytes) from None
            if not told:
                raise
            log.exception("internal error", extra={"path": path})  # the application has answered
        finally:
            request_id.reset(token)
        if limit is not None and limit.exceeded and not told:
            raise too_large(self.settings.mail_bytes)
        return told[0] if told else 499

    async def _sign(self, path: str, scope: Scope, receive: Receive, headers: dict[bytes, bytes]) -> Answer:
        """Answer the pages for signing in and out."""
        method, scheme = scope["method"], scope["scheme"]
        if path == SIGN_IN and method == "GET":
            if not self.guard.asks_for_tokens:
                return Answer(303, b"", ((b"location", b"/"),))
            return Answer(*sign_in_page(200))
        if method != "POST":
            raise NotAllowed(f"{method} {path}: send POST")
        if path == SIGN_OUT:
            return Answer(*signed_out(scheme))
        body, held = await self.bodies.read(receive, headers, SIGN_IN_BYTES)
        self.bodies.held -= held
        return Answer(*signed_in(self.guard, body, scheme))

    def _refused(self, refusal: Refusal, path: str, headers: dict[bytes, bytes], number: str) -> Answer:
        page = not path.startswith(API) and b"text/html" in headers.get(b"accept", b"")
        if isinstance(refusal, Unauthorised) and page:
            return Answer(*sign_in_page(401))
        extra = ((b"retry-after", str(refusal.retry_after).encode()),) if refusal.retry_after else ()
        if isinstance(refusal, Unauthorised):
            extra = ((b"www-authenticate", b"Bearer"),)
        return Answer(
            refusal.status,
            encode(Problem(refusal.error, str(refusal), number, refusal.learned)),
            (JSON, *extra),
        )

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pages talk over websockets: the same host, origin and token as for pages."""
        try:
            allowed = self.guard.check("GET", scope["path"], header_fields(scope), scope["scheme"])
            need(allowed, "feedback")
        except Refusal as refusal:
            log.warning("websocket refused", extra={"reason": str(refusal)})
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refusal.error})
            return
        connection: Connection | None = scope.get("state", {}).get("connection")
        if connection is not None:
            connection.permit(None)
        await self.app(scope, receive, send)

    def _note(self, route: str, method: str, path: str, status: int, began: float, number: str) -> None:
        took = time.perf_counter() - began
        self.metrics.count(route, status, took)
        if status >= 400 or self.settings.log_requests:
            level = logging.ERROR if status >= 500 else logging.INFO
            log.log(
                level,
                "%s %s %d",
                method,
                path[:200],
                status,
                extra={"request_id": number, "status": status, "milliseconds": round(1000 * took, 2)},
            )


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
    return TooLarge(f"the body is larger than {limit:,} bytes: send less at a time")


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


async def _send(send: Send, answer: Answer, number: str) -> None:
    headers = [
        *answer.headers,
        (b"content-length", str(len(answer.body)).encode()),
        (b"x-request-id", number.encode()),
        *(API_HEADERS if answer.headers[0] is JSON else PAGE_HEADERS),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
