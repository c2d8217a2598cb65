"""The server: the application, its logs, and the opening and closing of its store.

One process, one event loop; on SIGTERM it answers what was asked, writes snapshots and returns.
"""

import asyncio
import contextlib
import gc
import ipaddress
import json
import logging
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from rosenblatt import __version__
from rosenblatt.service.metrics import Metrics
from rosenblatt.service.middleware import Bodies, middleware, request_id
from rosenblatt.service.models import Models, open_models
from rosenblatt.service.routes import ROUTES, Needs, with_messages
from rosenblatt.service.sessions import Sessions
from rosenblatt.service.warmup import rehearse
from rosenblatt.service.writer import Service
from rosenblatt.web.guard import Guard
from rosenblatt.web.settings import Settings

log = logging.getLogger("rosenblatt.service")
Mount = Callable[[Any], None]  # adds pages to the application
DRAIN_SECONDS = 10
KEEP_ALIVE_SECONDS = 30
RESERVED_FILES = 256  # of the store, logs and libraries, beside one for each connection
SWITCH_SECONDS = 0.0005  # the journal's thread needs the interpreter for microseconds, but soon
RECORD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}


class JsonLines(logging.Formatter):
    """A record as a JSON object: time, level, message, the request, and what else was said with it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id.get():
            fields["request_id"] = request_id.get()
        fields |= {key: value for key, value in vars(record).items() if key not in RECORD_FIELDS}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, ensure_ascii=False)


def configure_logging(level: str = "info") -> None:
    """Send the logs of the service and of uvicorn to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("rosenblatt", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())


class Application(FastAPI):
    """FastAPI behind our middleware alone, with the schemas of our messages in its document."""

    service: Service  # once it has started
    bodies: Bodies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, without FastAPI's telemetry, which looks for its configuration at every request."""
        scope["app"] = self
        if scope["type"] == "lifespan":
            await self.router(scope, receive, send)
            return
        if self.middleware_stack is None:
            self.middleware_stack = self.build_middleware_stack()
        await self.middleware_stack(scope, receive, send)

    def build_middleware_stack(self) -> Any:
        """Return the router inside our middleware, which answers errors itself, so Starlette's layers are left out."""
        app: Any = self.router.app
        for cls, arguments, options in reversed(self.user_middleware):
            app = cls(app, *arguments, **options)
        return app

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            self.openapi_schema = with_messages(super().openapi())
        return self.openapi_schema


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
        metrics.watch(service)
        app.state.service = app.service = service  # type: ignore[attr-defined]
        try:
            yield
        finally:
            await service.stop()
            log.info("the store is closed", extra={"models": opened.names})

    metrics, guard, sessions = Metrics(), Guard(settings), Sessions(settings.session_seconds)
    app = Application(
        title="rosenblatt",
        description="Predict, be corrected, learn at once, lose nothing.",
        version=__version__,
        lifespan=life,
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,  # the router has it, with a scope
        routes=list(ROUTES),  # as they are, so that their scopes can be checked
        middleware=middleware(settings, metrics, guard, sessions),
    )
    app.state.pages = None  # the mounted pages, which the middleware protects as a whole
    app.state.settings, app.state.metrics = settings, metrics
    app.state.guard, app.state.sessions, app.bodies = guard, sessions, Bodies(settings)
    return app


def check_scopes(app: FastAPI) -> None:
    """Raise ValueError for a route that declares no scope.

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


def check(settings: Settings) -> list[str]:
    """Validate the settings: return warnings; raise ValueError for what is not allowed."""
    open_to_others = not is_loopback(settings.host)
    if open_to_others and not settings.tokens:
        raise ValueError(
            f"--host {settings.host} can be reached by others: give a --token-file, or stay on 127.0.0.1"
        )
    if bool(settings.tls_certificate) != bool(settings.tls_key):
        raise ValueError("--tls-cert and --tls-key belong together: give both")
    for file in filter(None, (settings.tls_certificate, settings.tls_key)):
        if not Path(file).is_file():
            raise ValueError(f"{file}: there is no such file for --tls-cert or --tls-key")
    remarks = []
    if open_to_others and not settings.tls_certificate:
        remarks.append(
            "tokens and examples travel in clear text: use --tls-cert and --tls-key, or a proxy that encrypts"
        )
    return remarks


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listening(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say, or say why there is none."""
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise ValueError(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}") from None


def address(settings: Settings, sock: socket.socket) -> str:
    """Return where the service can be called."""
    host = f"[{settings.host.strip('[]')}]" if ":" in settings.host else settings.host
    scheme = "https" if settings.tls_certificate else "http"
    return f"{scheme}://{host}:{sock.getsockname()[1]}"


def application(settings: Settings, models: Any = None, mount_pages: Mount | None = None) -> Any:
    """Return the application, with the pages that ``mount_pages`` adds to it."""
    app = create_app(settings, models)
    if mount_pages is not None:
        mount_pages(app)
    return app


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return how connections are encrypted, None where they are not; without renegotiation, which costs the server."""
    if settings.tls_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    return context


def within_file_limit(settings: Settings) -> tuple[Settings, list[str]]:
    """Raise the process's limit of open files; return settings that keep within it, and remarks."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return settings, []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.most_connections + RESERVED_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return settings, []
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most >= wanted:
        return settings, []
    room = max(most // 2, most - RESERVED_FILES)
    remark = f"this process may open {most:,} files: {room:,} connections at a time (raise it with ulimit -n {wanted})"
    return replace(settings, most_connections=room), [remark]


def server(settings: Settings, models: Any = None, mount_pages: Mount | None = None) -> Any:
    """Return a server that is ready to run on a socket."""
    import uvicorn

    from rosenblatt.web.connections import limited_protocol

    config = uvicorn.Config(
        application(settings, models, mount_pages),
        http=limited_protocol(settings, tls_context(settings)),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        ws_max_size=settings.body_bytes,
    )
    return uvicorn.Server(config)


def serve(settings: Settings, mount_pages: Mount | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; then answer open requests, write snapshots, and return."""
    remarks = check(settings)
    models = open_models(settings)
    try:
        rehearse(model.settings for model in models)
        settings, more = within_file_limit(settings)
        sock = listening(settings)
    except BaseException:
        models.close()
        raise
    configure_logging()
    for remark in (*remarks, *more):
        log.warning(remark)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(100_000, 50, 100)  # requests make no cycles; looking for some takes longer than they do
    with sock, contextlib.suppress(KeyboardInterrupt):
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: None)  # the server drains, and then raises it once more
        running = server(settings, models, mount_pages)
        gc.collect()
        gc.freeze()
        where = address(settings, sock)
        log.info("listening", extra={"address": where, "data": str(settings.data)})
        print(f"rosenblatt serves {settings.data} at {where}", flush=True)
        running.run(sockets=[sock])


def checked(settings: Settings) -> dict[str, Any]:
    """Validate the settings by opening socket and store; return a summary, or raise where serving would fail."""
    remarks = check(settings)
    if settings.tls_certificate:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.tls_certificate, settings.tls_key)
    with listening(settings) as sock:
        where = address(settings, sock)
    models = open_models(settings)
    try:
        scopes = sorted({scope for scope, _ in settings.tokens})
        return {
            "address": where,
            "store": str(settings.data),
            "models": [f"{each.name}: {each.learner.rows:,} examples" for each in models] or "none yet",
            "offline": [str(each.refusal()) for each in models.offline.values()] or "none",
            "tokens": ", ".join(scopes) if scopes else "none: everybody on this machine may do everything",
            "remarks": [*remarks, *(f"{file}: {reason}" for file, reason in models.passed_over)] or "none",
        }
    finally:
        models.close()
