"""The service as an application: the API, documented by FastAPI, and the life of the store behind it."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from rosenblatt import __version__
from rosenblatt.service.api import router
from rosenblatt.service.document import Needs, with_messages
from rosenblatt.service.front import Front
from rosenblatt.service.logs import request_id
from rosenblatt.service.messages import Problem
from rosenblatt.service.metrics import Metrics
from rosenblatt.service.models import Models, open_models
from rosenblatt.service.rehearsal import rehearse
from rosenblatt.service.service import Service
from rosenblatt.service.wire import encode
from rosenblatt.web.refusals import Refusal
from rosenblatt.web.settings import Settings

log = logging.getLogger("rosenblatt.service")
WORDS = {404: "not_found", 405: "method_not_allowed"}


class Application(FastAPI):
    """FastAPI behind the front: nothing reaches a route or a page before the front has looked at it."""

    front: Front

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        await self.front(scope, receive, send)


def create_app(settings: Settings, models: Models | None = None) -> FastAPI:
    """Return the application; its service is ``app.state.service`` once it has started.

    The store of the settings is opened when it starts, unless its models are given; it is closed when it stops.
    """

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        check_scopes(app)
        opened = models or open_models(settings)
        service = Service(opened, snapshot_every=settings.snapshot_every, most_waiting=settings.most_waiting)
        for file, reason in opened.passed_over:
            log.error("a snapshot was passed over", extra={"file": file, "reason": reason})
        for offline in opened.offline.values():
            log.error("a model is offline", extra={"model": offline.name, "reason": offline.reason})
        await asyncio.to_thread(rehearse, [model.settings for model in opened])
        log.info("the store is open", extra={"models": opened.names, "replayed": opened.replayed})
        service.start()
        app.state.service = service
        try:
            yield
        finally:
            await service.stop()
            log.info("the store is closed", extra={"models": opened.names})

    app = Application(
        title="rosenblatt",
        description="Predict, be corrected, learn at once, lose nothing.",
        version=__version__,
        lifespan=life,
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,  # the router has it, with a scope
        routes=list(router.routes),  # as they are, so that their scopes can be checked
    )
    app.state.pages = None  # the mounted pages, which the front protects as a whole
    app.state.settings = settings
    app.state.metrics = Metrics()
    app.front = Front(super(Application, app).__call__, settings, app.state, app.state.metrics)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _no_way)
    app.add_exception_handler(Exception, _our_fault)
    document = app.openapi

    def documented() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = with_messages(document())
        return app.openapi_schema

    app.openapi = documented  # type: ignore[method-assign]
    return app


def check_scopes(app: FastAPI) -> None:
    """Raise ValueError where a route does not say who may use it.

    >>> app = create_app(Settings())
    >>> app.add_api_route("/v1/secret", lambda: {})
    >>> check_scopes(app)
    Traceback (most recent call last):
    ValueError: GET /v1/secret declares no scope: add **described(..., needs=SCOPE) to its decorator
    """
    for route in app.routes:
        if route is app.state.pages:
            continue
        dependencies = route.dependencies if isinstance(route, APIRoute) else []
        if not any(isinstance(each.dependency, Needs) for each in dependencies):
            methods = ",".join(sorted(getattr(route, "methods", None) or ["any method"]))
            path = getattr(route, "path", route)
            raise ValueError(
                f"{methods} {path} declares no scope: add **described(..., needs=SCOPE) to its decorator"
            )


def _problem(status: int, error: str, message: str, refusal: Refusal | None = None) -> Response:
    told = Problem(error, message, request_id.get(), refusal.learned if refusal else None)
    headers = {"retry-after": str(refusal.retry_after)} if refusal and refusal.retry_after else None
    return Response(encode(told), status, headers, "application/json")


async def _refused(request: Request, refusal: Any) -> Response:
    return _problem(refusal.status, refusal.error, str(refusal), refusal)


async def _our_fault(request: Request, error: Exception) -> Response:
    return _problem(500, "internal_error", "something is wrong with the service, not the request")


async def _not_valid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    where = " ".join(str(part) for part in first["loc"])
    return _problem(422, "bad_message", f"{where}: {first['msg']}")


async def _no_way(request: Request, error: Any) -> Response:
    told = f"{request.method} {request.url.path[:200]}: {error.detail}"
    answer = _problem(error.status_code, WORDS.get(error.status_code, "bad_request"), told)
    answer.headers.update(error.headers or {})
    return answer
