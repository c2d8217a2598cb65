"""The routes of the API. Each declares the scope that it needs; bodies are decoded by msgspec, not by FastAPI."""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractAsyncContextManager
from pathlib import Path as File
from typing import Annotated, Any, BinaryIO

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.responses import Response
from fastapi.routing import APIRoute
from msgspec import UNSET, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from rosenblatt.service.learner import Named
from rosenblatt.service.middleware import Bodies, need_json, need_size, respond
from rosenblatt.service.model import Model
from rosenblatt.service.schemas import (
    MODEL_NAME,
    Change,
    Explained,
    Feedback,
    Learned,
    Ledger,
    ModelInfo,
    ModelList,
    ModelOffline,
    ModelSettings,
    Portraits,
    Predict,
    Prediction,
    Predictions,
    Problem,
    encode,
    read_feedback,
    read_predict,
    read_settings,
)
from rosenblatt.service.sessions import SIGN_IN, SIGN_OUT, is_encrypted, sign_in, sign_in_page, sign_out
from rosenblatt.service.snapshots import model_from_file
from rosenblatt.service.writer import Bulk, Service, one
from rosenblatt.web.guard import LEVELS, PAGE_HEADERS, Forbidden, cookie_value, need
from rosenblatt.web.refusals import BadMessage, Left, Refusal, TimedOut, TooLarge
from rosenblatt.web.settings import Settings

Name = Annotated[str, Path(pattern=MODEL_NAME, description="Name of a model.")]
MOST_LINES = 1000
BYTES = "application/vnd.safetensors"
SIGN_IN_BYTES = 4096
DOWNLOADED_AT_ONCE = 256 << 10  # bytes of a file that are sent together
SMALL_BODY = 16 << 10  # bytes of a request that is answered on the loop at once
SMALL_WORK = 1 << 20  # bytes × classes of one
SMALL_SCORES = 5_000  # examples × classes of one; an example costs as much as EXAMPLE_SCORES besides
EXAMPLE_SCORES = 50
SLICE_SECONDS = 0.001  # that the lines of a bulk have the loop at a time
READ_SECONDS = 0.005  # for which a large request keeps its model from learning
MOST_PRODUCTS = 20_000_000  # names × classes of a request to predict
MOST_PRODUCTS_OF_ONE = 2_000_000  # of one of its examples, which is scored in one go
LONG_LINE = 16 << 10  # bytes of a line that is read beside the loop
REF = "#/components/schemas/{name}"
FAILURES = {
    400: "The request makes no sense.",
    401: "A token is needed.",
    403: "The token's scope does not reach, or the request comes from another site.",
    404: "There is no such model or prediction.",
    408: "The body did not arrive in time.",
    409: "It contradicts what is there.",
    410: "The prediction is no longer remembered.",
    413: "It is more than the service takes.",
    415: "The body is of a kind that is not taken.",
    421: "The host is not one of this service's.",
    422: "The message is not what was expected.",
    429: "Too much is waiting; try again after Retry-After seconds.",
    503: "The store cannot be written to, or the service is closing; try again after Retry-After seconds.",
}
_parts: dict[str, Any] = {}


class Needs:
    """The scope that a route needs, as a dependency of FastAPI: it is checked before the route's parameters are."""

    def __init__(self, scope: str) -> None:
        if scope not in LEVELS:
            raise ValueError(f"{scope!r} is not a scope: choose one of {', '.join(LEVELS)}")
        self.scope = scope

    async def __call__(self, request: Request) -> None:
        """Raise a refusal where the request's scope does not reach."""
        self.check(request.scope)

    def check(self, scope: Any) -> None:
        """Raise a refusal where the scope of the request does not reach."""
        state = scope.get("rosenblatt")
        if state is None or state.allowed is None:
            raise Forbidden("no middleware has decided what this request may do")
        need(state.allowed, self.scope)


def described(
    summary: str,
    gives: Any,
    *,
    needs: str,
    takes: Any = None,
    lines: bool = False,
    also: dict[int, Any] | None = None,
) -> dict[str, Any]:
    """Return the options of a FastAPI route: the scope it needs, and the schemas of its messages."""
    responses: dict[int | str, Any] = {
        status: {"description": options, "content": _content(Problem)} for status, options in FAILURES.items()
    }
    if gives is not None:
        responses[200] = {"description": "Done.", "content": _content(gives)}
    for status, kind in (also or {}).items():
        responses[status] = {"description": FAILURES.get(status, "Made."), "content": _content(kind)}
    options: dict[str, Any] = {
        "summary": summary,
        "responses": responses,
        "response_model": None,
        "dependencies": [Depends(Needs(needs))],
    }
    if takes is not None:
        content = _content(takes)
        if lines:
            content = {"application/x-ndjson": {"schema": {"type": "string"}}}
        options["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    return options


def _content(kind: Any) -> dict[str, Any]:
    if kind is bytes:
        return {"application/vnd.safetensors": {"schema": {"type": "string", "format": "binary"}}}
    if kind is str:
        return {"text/plain": {"schema": {"type": "string"}}}
    kinds = kind if isinstance(kind, tuple) else (kind,)  # one of several
    schemas, parts = msgspec.json.schema_components(kinds, ref_template=REF)
    _parts.update(parts)
    return {"application/json": {"schema": {"anyOf": [*schemas]} if len(schemas) > 1 else schemas[0]}}


def with_messages(document: dict[str, Any]) -> dict[str, Any]:
    """Return FastAPI's document with the schemas of the messages, and how to send a token."""
    parts = document.setdefault("components", {})
    parts.setdefault("schemas", {}).update(_parts)
    for leftover in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(leftover, None)
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"token": []}]
    return document


async def _predict_large(service: Service, model: Model, body: bytes) -> bytes:
    """Answer a large request beside the loop: decode it, then score its examples a few milliseconds at a time.

    Each example is predicted by the model as it is then; between two of them it may have learned.
    """
    async with service.turn():
        message, named = await service.aside(_names_of_large, model, body)
        first = service.models.recent.keep(model.number, body)
        predictions: list[Prediction] = []
        while len(predictions) < len(named):
            predictions += await service.read(
                _predict_some, model, named, len(predictions), first, message.reasons
            )
        single = message.examples is UNSET
        return await service.aside(encode, predictions[0] if single else Predictions(predictions))


def _predict_some(model: Model, named: list[Named], start: int, first: str, reasons: int) -> list[Prediction]:
    """Predict examples from ``start`` on until the time of a slice is over, at least one."""
    learner, until = model.learner.view(), time.perf_counter() + READ_SECONDS
    predictions = []
    for at in range(start, len(named)):
        predictions.append(Prediction(f"{first}.{at}", *model.predict(named[at], reasons, learner)))
        if time.perf_counter() > until:
            break
    return predictions


def _names_of_large(model: Model, body: bytes) -> tuple[Predict, list[Named]]:
    """Return a request and its examples as named numbers, within the budget of names × classes."""
    message = read_predict(body)
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


def _header_key(fields: dict[bytes, bytes]) -> str | UnsetType:
    if b"idempotency-key" not in fields:
        return UNSET
    key = fields[b"idempotency-key"].decode("latin-1").strip()
    if not 1 <= len(key) <= 128:
        raise BadMessage("Idempotency-Key must have 1 to 128 characters")
    return key


async def learn_lines(
    service: Service, name: str, pieces: AsyncIterator[bytes], settings: Settings
) -> Learned:
    """Learn from every line up to a bad one; the refusal then says what was learned before it."""
    bulk, number = Bulk(service), 0
    began = time.perf_counter()
    try:
        async for line in _lines(pieces, settings):
            number += 1
            if len(line) > LONG_LINE:
                async with service.turn():
                    message = await service.aside(read_feedback, line)
                    named = await service.aside(service.models.named_example, name, message)
                await bulk.add(service.models.reserve(name, named, message))
            elif line.strip():
                await bulk.add(service.models.fresh(name, read_feedback(line)))
            if time.perf_counter() - began > SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
        return await bulk.finish()
    except Refusal as refusal:
        await bulk.settle()
        with_line = type(refusal)(f"line {number}: {refusal}")
        with_line.learned = bulk.total
        raise with_line from None


async def _lines(pieces: AsyncIterator[bytes], settings: Settings) -> AsyncIterator[bytes]:
    parts: list[bytes] = []  # of a line whose end has not come
    held = size = 0
    until = asyncio.get_running_loop().time() + settings.stream_seconds
    while True:
        try:
            async with asyncio.timeout(settings.body_seconds):
                piece = await anext(pieces)
            size += len(piece)
        except StopAsyncIteration:
            break
        except ClientDisconnect:
            raise Left("the client went away") from None
        except TimeoutError:
            raise TimedOut(f"nothing arrived for {settings.body_seconds:g} s") from None
        if size > settings.upload_bytes:
            raise TooLarge(
                f"there are more than {settings.upload_bytes:,} bytes: send the lines after this one again"
            )
        if asyncio.get_running_loop().time() > until:
            raise TimedOut(
                f"a stream may take {settings.stream_seconds:g} s: send the lines after this one again"
            )
        first, *rest = piece.split(b"\n")
        held += len(first)
        if max(held, *map(len, rest), 0) > settings.line_bytes:
            raise TooLarge(f"a line after this one is longer than {settings.line_bytes:,} bytes")
        parts.append(first)
        if rest:
            yield b"".join(parts)
            *lines, last = rest
            for line in lines:
                yield line
            parts, held = [last], len(last)
    line = b"".join(parts)
    if line.strip():
        yield line


def _service(request: Request) -> Service:
    service: Service = request.scope["app"].service
    return service


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


def _json(message: Any, status: int = 200) -> Response:
    return Response(encode(message), status, media_type="application/json")


def _read_body(request: Request) -> Awaitable[tuple[bytes, int]]:
    """Return the JSON body of a request, and how many bytes of it to release after work."""
    fields = request.scope["rosenblatt"].fields
    need_json(fields)
    bodies: Bodies = request.scope["app"].bodies
    return bodies.read(request.receive, fields)  # type: ignore[arg-type]


class FileDownload(Response):
    """Sends a file piece by piece, with one piece in memory; stops if the client receives one too slowly."""

    def __init__(self, opened: AbstractAsyncContextManager[BinaryIO], title: str, seconds: float) -> None:
        super().__init__(media_type=BYTES, headers={"content-disposition": f'attachment; filename="{title}"'})
        self._opened, self._seconds = opened, seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the file."""
        async with self._opened as file:
            self.headers["content-length"] = str(os.fstat(file.fileno()).st_size)
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            more = True
            while more:
                piece = await asyncio.to_thread(file.read, DOWNLOADED_AT_ONCE)
                more = bool(piece)
                try:
                    async with asyncio.timeout(self._seconds):
                        await send({"type": "http.response.body", "body": piece, "more_body": more})
                except TimeoutError:  # the server closes a connection whose answer is not complete
                    return


class ParsedRoute(APIRoute):
    """A route whose parameters FastAPI parses; the exit stack that this needs is made for these routes only."""

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request that the router has matched to this route."""
        await AsyncExitStackMiddleware(super().handle)(scope, receive, send)


class DirectRoute(APIRoute):
    """A POST route of FastAPI, documented like every other, whose endpoint is called without FastAPI's parsing.

    Its scope is the one that its dependency declares. Its endpoint returns the JSON that is the response.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        [self._needs] = [each.dependency for each in self.dependencies if isinstance(each.dependency, Needs)]
        self._end = self.path_format.rpartition("}")[2]

    def matches(self, scope: Any) -> tuple[Match, Any]:
        """Match a request by its path, which has one parameter, the name of a model."""
        path = scope["path"]
        match = path.endswith(self._end) and scope["type"] == "http" and self.path_regex.match(path)
        return (Match.FULL, {"route": self, "path_params": match.groupdict()}) if match else (Match.NONE, {})

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request that the router has matched to this route."""
        if scope["method"] != "POST":
            raise HTTPException(405, headers={"allow": "POST"})
        self._needs.check(scope)
        content = await self.endpoint(scope["path_params"]["name"], Request(scope, receive))
        await respond(send, 200, content)


direct, router = APIRouter(route_class=DirectRoute), APIRouter(route_class=ParsedRoute)


@direct.post(
    "/v1/models/{name}/predict",
    **described("Predict", (Prediction, Predictions), takes=Predict, needs="read"),
)
async def predict(name: Name, request: Request) -> bytes:
    """Predict one example, or many under ``examples``: label, score, margin, whether it is undecided, and why."""
    service = _service(request)
    body, held = await _read_body(request)
    try:
        model = service.models.model(name)
        if len(body) > SMALL_BODY or len(body) * len(model.learner.labels) > SMALL_WORK:
            return await _predict_large(service, model, body)
        message = read_predict(body)
        many = message.examples
        if many is not UNSET and len(many) * (EXAMPLE_SCORES + len(model.learner.labels)) > SMALL_SCORES:
            return await _predict_large(service, model, body)
        predictions = service.models.answer(model, message, body)
        return encode(predictions[0] if many is UNSET else Predictions(predictions))
    finally:
        request.scope["app"].bodies.held -= held


@direct.post(
    "/v1/models/{name}/feedback",
    **described("Give the true label", Change, takes=Feedback, needs="feedback"),
)
async def feedback(name: Name, request: Request) -> bytes:
    """Learn the true label of a prediction, by its id, or of an example; answered once it is durable.

    A key (in the message, or as the header ``Idempotency-Key``) makes it safe to send again.
    """
    service = _service(request)
    body, held = await _read_body(request)
    try:
        large = len(body) > SMALL_BODY
        if large:
            async with service.turn():
                message = await service.aside(read_feedback, body)
        else:
            message = read_feedback(body)
        if message.key is UNSET:
            message.key = _header_key(request.scope["rosenblatt"].fields)
        if message.prediction is not UNSET:
            large = large or service.models.recent.length(message.prediction) > SMALL_BODY
        if large:
            async with service.turn():
                named = await service.aside(service.models.named_example, name, message)
            fresh = service.models.reserve(name, named, message)
        else:
            fresh = service.models.fresh(name, message)
        return encode(one(await service.submit((fresh,))))
    finally:
        request.scope["app"].bodies.held -= held


@router.get("/v1/models", **described("List all models", ModelList, needs="read"))
async def list_models(request: Request) -> Response:
    """Every model and its state."""
    models = _service(request).models
    offline = [ModelOffline(each.name, each.reason) for each in models.offline.values()]
    return _json(ModelList([models.info(name) for name in models.names], offline))


@router.put(
    "/v1/models/{name}",
    **described("Create a model", ModelInfo, takes=ModelSettings, also={201: ModelInfo}, needs="admin"),
)
async def put_model(name: Name, request: Request) -> Response:
    """Create a model with settings, or with the defaults; one that exists with the same settings stays as it is."""
    body, held = await _read_body(request)
    request.scope["app"].bodies.held -= held
    new = await _service(request).create(name, read_settings(body) if body else ModelSettings())
    return _json(_service(request).models.info(name), 201 if new else 200)


@router.get("/v1/models/{name}", **described("Look at a model", ModelInfo, needs="read"))
async def get_model(
    name: Name,
    request: Request,
    fingerprint: Annotated[bool, Query(description="Also a digest of every bit of it.")] = False,
) -> Response:
    """Settings, classes, clock, mistakes, and how far its newest snapshot goes."""
    service = _service(request)
    digest = await service.fingerprint(name) if fingerprint else None
    info = service.models.info(name)
    info.fingerprint = digest
    return _json(info)


@router.delete("/v1/models/{name}", status_code=204, **described("Delete a model", None, needs="admin"))
async def delete_model(name: Name, request: Request) -> Response:
    """Delete a model and all feedback that it learned from."""
    await _service(request).delete(name)
    return Response(status_code=204)


@router.post(
    "/v1/models/{name}/learn",
    **described("Learn from many", Learned, takes=Feedback, lines=True, needs="feedback"),
)
async def learn(name: Name, request: Request) -> Response:
    """Learn from NDJSON, a feedback on every line, while it arrives.

    A bad line ends it: the answer names the line, and says how many before it were learned from.
    """
    headers, settings = request.scope["rosenblatt"].fields, _settings(request)
    need_json(headers)
    need_size(headers, settings.upload_bytes)
    service = _service(request)
    service.models.model(name)
    return _json(await learn_lines(service, name, request.stream(), settings))


@router.get("/v1/models/{name}/ledger", **described("Read the ledger", Ledger, needs="read"))
async def ledger(
    name: Name,
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**62, description="Lines after this place in the journal.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = 100,
) -> Response:
    """Every example that was predicted wrongly or that moved the weights, in order."""
    lines = await _service(request).ledger(name, after, limit)
    return _json(Ledger(lines, lines[-1].seq if len(lines) == limit else None))


@router.get("/v1/models/{name}/explain", **described("Explain", (Explained, Portraits), needs="read"))
async def explain(
    name: Name,
    request: Request,
    prediction: Annotated[str | None, Query(min_length=1, max_length=64, description="Its id.")] = None,
    top: Annotated[int, Query(ge=1, le=1000, description="Features of each class.")] = 20,
) -> Response:
    """What every feature adds to a prediction's score; without one, what speaks most for each class."""
    service = _service(request)
    if prediction is not None:
        return _json(await service.explain(name, prediction))
    return _json(await service.portraits(name, top))


@router.get("/v1/models/{name}/snapshot", **described("Download a model", bytes, needs="read"))
async def download(name: Name, request: Request) -> Response:
    """The model as a file that every command reads (safetensors)."""
    return FileDownload(
        _service(request).file_of(name), f"{name}.safetensors", _settings(request).body_seconds
    )


@router.put(
    "/v1/models/{name}/snapshot", **described("Upload a model", ModelInfo, takes=bytes, needs="admin")
)
async def upload(name: Name, request: Request) -> Response:
    """Replace the model by a file; what was in the journal before no longer counts."""
    service, settings = _service(request), _settings(request)
    need_size(request.scope["rosenblatt"].fields, settings.upload_bytes)
    folder = service.models.store.folder / "snapshots"
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".upload-", suffix=".safetensors") as file:
        size = 0
        try:
            async for piece in _timely(request, settings.body_seconds):
                size += len(piece)
                if size > settings.upload_bytes:
                    raise TooLarge(f"the file is larger than {settings.upload_bytes:,} bytes")
                await asyncio.to_thread(file.write, piece)
        except TimeoutError:
            raise TimedOut(f"nothing arrived for {settings.body_seconds:g} s") from None
        file.flush()
        there = service.models.model(name).settings if name in service.models else None
        model = await asyncio.to_thread(model_from_file, name, File(file.name), there)
    await service.adopt(name, model)
    return _json(service.models.info(name))


async def _timely(request: Request, seconds: float) -> Any:
    pieces = request.stream()
    while True:
        try:
            async with asyncio.timeout(seconds):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except ClientDisconnect:
            raise Left("the client went away") from None
        yield piece


@router.get("/healthz", **described("Is it alive?", dict[str, str], needs="anybody"))
async def healthz() -> Response:
    """Answers while the process lives."""
    return _json({"status": "alive"})


@router.get(
    "/readyz", **described("Is it ready?", dict[str, str], also={503: dict[str, str]}, needs="anybody")
)
async def readyz(request: Request) -> Response:
    """Answers 200 while feedback can be made durable, 503 while it cannot; ``offline`` counts models not served."""
    service = _service(request)
    problem = service.problem()
    state = {"status": "ready"} if problem is None else {"status": "not ready", "reason": problem}
    if service.models.offline:
        state["offline"] = f"{len(service.models.offline)} of the models: see GET /v1/models"
    return _json(state, 200 if problem is None else 503)


@router.get("/openapi.json", include_in_schema=False, **described("This document", dict, needs="read"))
async def openapi_document(request: Request) -> Response:
    """The OpenAPI document; it is made by the first request that asks for it, beside the loop."""
    document = await asyncio.to_thread(request.app.openapi)
    return Response(encode(document), media_type="application/json")


@router.get("/metrics", **described("Metrics", str, needs="read"))
async def metrics(request: Request) -> Response:
    """What is counted, in Prometheus' format."""
    page = request.app.state.metrics.page()
    return Response(page, media_type="text/plain; version=0.0.4")


# Signing in and out


@router.get(SIGN_IN, include_in_schema=False, **described("Sign in", str, needs="anybody"))
async def ask_for_token(request: Request) -> Response:
    """The page that asks for a token."""
    if not request.app.state.guard.asks_for_tokens:
        return Response(status_code=303, headers={"location": "/"})
    return _page(request, sign_in_page(200))


@router.post(SIGN_IN, include_in_schema=False, **described("Sign in", str, needs="anybody"))
async def begin_session(request: Request) -> Response:
    """Begin a session for a right token."""
    state, fields = request.app.state, request.scope["rosenblatt"].fields
    bodies: Bodies = request.scope["app"].bodies
    body, held = await bodies.read(request.receive, fields, SIGN_IN_BYTES)  # type: ignore[arg-type]
    bodies.held -= held
    cookie, secure = cookie_value(fields.get(b"cookie", b"")), is_encrypted(request.scope, state.settings)
    return _page(request, sign_in(state.guard, state.sessions, body, cookie, secure))


@router.post(SIGN_OUT, include_in_schema=False, **described("Sign out", str, needs="anybody"))
async def end_session(request: Request) -> Response:
    """End the session of a browser."""
    state, fields = request.app.state, request.scope["rosenblatt"].fields
    cookie = cookie_value(fields.get(b"cookie", b""))
    return _page(request, sign_out(state.sessions, cookie, is_encrypted(request.scope, state.settings)))


def _page(request: Request, answer: tuple[int, bytes, tuple[tuple[bytes, bytes], ...]]) -> Response:
    """Return a page that brings its own policy of what it loads."""
    status, body, headers = answer
    request.scope["rosenblatt"].headers = PAGE_HEADERS
    response = Response(body, status)
    response.raw_headers.extend(headers)
    return response


ROUTES = [*direct.routes, *router.routes]  # the two that are asked for most come first
