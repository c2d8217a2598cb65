"""The ways of the API that are not in a hurry, as FastAPI routes; predict and feedback are documented here too."""

import asyncio
import tempfile
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from rosenblatt.service import front
from rosenblatt.service.bulk import learn_lines
from rosenblatt.service.document import described
from rosenblatt.service.messages import (
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
)
from rosenblatt.service.service import Service
from rosenblatt.service.snapshots import model_from_file
from rosenblatt.service.wire import encode, read_settings
from rosenblatt.web.refusals import Left, TimedOut, TooLarge
from rosenblatt.web.settings import Settings

Name = Annotated[str, Path(pattern=MODEL_NAME, description="Name of a model.")]
MOST_LINES = 1000
router = APIRouter()
BYTES = "application/vnd.safetensors"


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


def _told(message: Any, status: int = 200) -> Response:
    return Response(encode(message), status, media_type="application/json")


async def _body(request: Request) -> bytes:
    headers = dict(request.scope["headers"])
    front.need_json(headers)
    bodies: front.Bodies = request.app.front.bodies
    body, held = await bodies.read(request.receive, headers)  # type: ignore[arg-type]
    bodies.held -= held
    return body


@router.get("/v1/models", **described("List all models", ModelList, needs="read"))
async def list_models(request: Request) -> Response:
    """Every model and how it stands."""
    models = _service(request).models
    offline = [ModelOffline(each.name, each.reason) for each in models.offline.values()]
    return _told(ModelList([models.info(name) for name in models.names], offline))


@router.put(
    "/v1/models/{name}",
    **described("Make a model", ModelInfo, takes=ModelSettings, also={201: ModelInfo}, needs="admin"),
)
async def put_model(name: Name, request: Request) -> Response:
    """Make a model with settings, or with none; one that is there with the same settings stays as it is."""
    body = await _body(request)
    new = await _service(request).create(name, read_settings(body) if body else ModelSettings())
    return _told(_service(request).models.info(name), 201 if new else 200)


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
    return _told(info)


@router.delete("/v1/models/{name}", status_code=204, **described("Delete a model", None, needs="admin"))
async def delete_model(name: Name, request: Request) -> Response:
    """Forget a model and all that it was told."""
    await _service(request).delete(name)
    return Response(status_code=204)


@router.post(
    "/v1/models/{name}/predict",
    **described("Predict", (Prediction, Predictions), takes=Predict, needs="read"),
)
async def predict(name: Name, request: Request) -> Response:
    """Predict one example, or many under ``examples``: label, score, margin, whether it is undecided, and why."""
    found = await front.predict(_service(request), name, await _body(request), {})
    return Response(found, media_type="application/json")


@router.post(
    "/v1/models/{name}/feedback", **described("Tell the truth", Change, takes=Feedback, needs="feedback")
)
async def feedback(name: Name, request: Request) -> Response:
    """Learn the true label of a prediction, by its id, or of an example; answered once it is durable.

    A key (in the message, or as the header ``Idempotency-Key``) makes it safe to send again.
    """
    body = await _body(request)
    found = await front.feedback(_service(request), name, body, dict(request.scope["headers"]))
    return Response(found, media_type="application/json")


@router.post(
    "/v1/models/{name}/learn",
    **described("Learn from many", Learned, takes=Feedback, lines=True, needs="feedback"),
)
async def learn(name: Name, request: Request) -> Response:
    """Learn from NDJSON, a feedback on every line, while it arrives.

    A bad line ends it: the answer names the line, and says how many before it were learned from.
    """
    headers, settings = dict(request.scope["headers"]), _settings(request)
    front.need_json(headers)
    front.need_size(headers, settings.upload_bytes)
    service = _service(request)
    service.models.model(name)
    return _told(await learn_lines(service, name, request.stream(), settings))


@router.get("/v1/models/{name}/ledger", **described("Read the ledger", Ledger, needs="read"))
async def ledger(
    name: Name,
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**62, description="Lines after this place in the journal.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = 100,
) -> Response:
    """Every example that was told wrong or that moved the weights, in order."""
    service = _service(request)
    number = service.models.model(name).number
    await service.write_ledger()
    lines = await asyncio.to_thread(service.models.store.ledger, number, after, limit)
    return _told(Ledger(lines, lines[-1].seq if len(lines) == limit else None))


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
        return _told(await service.explain(name, prediction))
    return _told(await service.portraits(name, top))


@router.get("/v1/models/{name}/snapshot", **described("Download a model", bytes, needs="read"))
async def download(name: Name, request: Request) -> Response:
    """The model as a file that every command reads (safetensors)."""
    content = await _service(request).file_of(name)
    kept = {"content-disposition": f'attachment; filename="{name}.safetensors"'}
    return Response(content, media_type=BYTES, headers=kept)


@router.put(
    "/v1/models/{name}/snapshot", **described("Upload a model", ModelInfo, takes=bytes, needs="admin")
)
async def upload(name: Name, request: Request) -> Response:
    """Put a model file in the place of what is there; what was in the journal before no longer counts."""
    service, settings = _service(request), _settings(request)
    front.need_size(dict(request.scope["headers"]), settings.upload_bytes)
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
    return _told(service.models.info(name))


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
    return _told({"status": "alive"})


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
    return _told(state, 200 if problem is None else 503)


@router.get("/openapi.json", include_in_schema=False, **described("This document", dict, needs="read"))
async def openapi_document(request: Request) -> Response:
    """The OpenAPI document; it is made by the first request that asks for it, beside the loop."""
    document = await asyncio.to_thread(request.app.openapi)
    return Response(encode(document), media_type="application/json")


@router.get("/metrics", **described("Metrics", str, needs="read"))
async def metrics(request: Request) -> Response:
    """What is counted, in Prometheus' format."""
    page = request.app.state.metrics.page(_service(request))
    return Response(page, media_type="text/plain; version=0.0.4")
