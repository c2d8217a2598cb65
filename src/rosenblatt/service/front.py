"""What stands before every request: who may come in, a number for each, limits, headers, and the two quick ways.

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

from rosenblatt.service.logs import request_id
from rosenblatt.service.messages import Predictions, Problem
from rosenblatt.service.metrics import Metrics
from rosenblatt.service.refusals import BadMessage, Left, Refusal, TimedOut, TooLarge, WrongType
from rosenblatt.service.security import API_HEADERS, PAGE_HEADERS, SECURITY_HEADERS, Guard, Unauthorised, need
from rosenblatt.service.service import Service, one
from rosenblatt.service.settings import Settings
from rosenblatt.service.sign_in import PATH as SIGN_IN
from rosenblatt.service.sign_in import sign_in_page, signed_in
from rosenblatt.service.wire import encode, read_feedback, read_predict

log = logging.getLogger("rosenblatt.requests")
API, MODELS = "/v1/", "/v1/models/"
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
    message = read_predict(body)
    told = service.models.answer(model, message, body)
    return encode(told[0] if message.examples is UNSET else Predictions(told))


async def feedback(service: Service, name: str, body: bytes, headers: dict[bytes, bytes]) -> bytes:
    """Learn from a feedback; answer once it is on disk."""
    message = read_feedback(body)
    key = message.key if message.key is not UNSET else None
    if key is None and b"idempotency-key" in headers:
        key = _header_key(headers[b"idempotency-key"])
    prediction = message.prediction if message.prediction is not UNSET else None
    given = not (message.features is message.vector is message.text is UNSET)
    fresh = service.models.fresh(name, message.label, message if given else None, prediction, key)
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
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id")
        number = (
            given.decode()
            if given is not None and GOOD_ID(given)
            else f"{self._prefix}-{next(self._number):x}"
        )
        path, method = scope["path"], scope["method"]
        route = path if path in ("/healthz", "/readyz", "/metrics") else "other"
        try:
            allowed = self.guard.check(method, path, headers, scope["scheme"])
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

    # The two quick ways

    async def _quick(
        self, name: str, what: str, allowed: str, headers: dict[bytes, bytes], receive: Receive
    ) -> Answer:
        work, scope = QUICK[what]
        need(allowed, scope)
        need_json(headers)
        body = await read_body(receive, self.settings.body_bytes, self.settings.body_seconds)
        return Answer(200, await work(self.state.service, name, body, headers))

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
        if path == SIGN_IN and scope["method"] == "POST":
            body = await read_body(receive, 4096, self.settings.body_seconds)
            answer = signed_in(self.guard, body, scope["scheme"])
            await _send(send, Answer(*answer), number)
            return answer[0]
        api = path.startswith(API) or path in ("/healthz", "/readyz", "/metrics", "/openapi.json")
        if not api:
            need(allowed, "feedback")
        scope.setdefault("state", {})
        scope["state"] = {**scope["state"], "allowed": allowed, "request_id": number}
        added = [*(API_HEADERS if api else SECURITY_HEADERS), (b"x-request-id", number.encode())]
        told: list[int] = []
        token = request_id.set(number)

        async def adding(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                told.append(message["status"])
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        limit = None if api else self.settings.upload_bytes
        try:
            await self.app(scope, _limited(receive, limit) if limit else receive, adding)
        except Exception:
            if not told:
                raise
            log.exception("internal error", extra={"path": path})  # the application has answered
        finally:
            request_id.reset(token)
        return told[0] if told else 499

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
            allowed = self.guard.check("GET", scope["path"], dict(scope["headers"]), scope["scheme"])
            need(allowed, "feedback")
        except Refusal as refusal:
            log.warning("websocket refused", extra={"reason": str(refusal)})
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refusal.error})
            return
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


async def read_body(receive: Receive, limit: int, seconds: float) -> bytes:
    """Return the whole body of a request, or refuse it where it is too large or too slow."""
    message = await receive()  # the connection is closed where it does not come
    if message["type"] == "http.disconnect":
        raise Left("the client went away")
    body: bytes = message.get("body", b"")
    parts, size = [body], len(body)
    if not message.get("more_body") and size <= limit:
        return body
    try:
        async with asyncio.timeout(seconds):
            while message.get("more_body"):
                if size > limit:
                    raise TooLarge(f"the body is larger than {limit:,} bytes: send less at a time")
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Left("the client went away")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
    except TimeoutError:
        raise TimedOut(f"the body did not arrive within {seconds:g} s") from None
    if size > limit:
        raise TooLarge(f"the body is larger than {limit:,} bytes: send less at a time")
    return b"".join(parts)


def _limited(receive: Receive, limit: int) -> Receive:
    size = 0

    async def counted() -> dict[str, Any]:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise TooLarge(f"the body is larger than {limit:,} bytes: send less at a time")
        return message

    return counted


async def _send(send: Send, answer: Answer, number: str) -> None:
    headers = [
        *answer.headers,
        (b"content-length", str(len(answer.body)).encode()),
        (b"x-request-id", number.encode()),
        *(API_HEADERS if answer.headers[0] is JSON else PAGE_HEADERS),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
