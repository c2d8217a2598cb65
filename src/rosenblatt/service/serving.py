"""A server for the application: one process, one loop, drained and snapshotted when it is told to stop."""

import contextlib
import gc
import importlib
import importlib.util
import ipaddress
import logging
import signal
import socket
import ssl
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from rosenblatt.service.logs import set_up
from rosenblatt.web.settings import Settings

log = logging.getLogger("rosenblatt.service")
DRAIN_SECONDS = 10
KEEP_ALIVE_SECONDS = 30
RESERVED_FILES = 256  # of the store, logs and libraries, beside one for each connection
SWITCH_SECONDS = 0.0005  # the journal's thread needs the interpreter for microseconds, but soon


def check(settings: Settings) -> list[str]:
    """Return what a careful person would think twice about; raise ValueError for what is not allowed."""
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
    told = []
    if open_to_others and not settings.tls_certificate:
        told.append(
            "tokens and examples travel in clear text: use --tls-cert and --tls-key, or a proxy that encrypts"
        )
    return told


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


def application(settings: Settings, models: Any = None) -> Any:
    """Return the application, with its pages where they are wanted."""
    from rosenblatt.service.app import create_app

    app = create_app(settings, models)
    if settings.pages and importlib.util.find_spec("rosenblatt.service.pages") is not None:
        importlib.import_module("rosenblatt.service.pages").mount(app)
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


def server(settings: Settings, models: Any = None) -> Any:
    """Return a server that is ready to run on a socket."""
    import uvicorn

    from rosenblatt.web.connections import limited_protocol

    config = uvicorn.Config(
        application(settings, models),
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


def serve(settings: Settings) -> None:
    """Serve until told to stop; then answer what was asked, write snapshots, and return."""
    from rosenblatt.service.models import open_models
    from rosenblatt.service.rehearsal import rehearse

    remarks = check(settings)
    models = open_models(settings)
    try:
        rehearse(model.settings for model in models)
        settings, more = within_file_limit(settings)
        sock = listening(settings)
    except BaseException:
        models.close(snapshot=False)
        raise
    set_up()
    for remark in (*remarks, *more):
        log.warning(remark)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(100_000, 50, 100)  # requests make no cycles; looking for some takes longer than they do
    with sock, contextlib.suppress(KeyboardInterrupt):
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: None)  # the server drains, and then raises it once more
        running = server(settings, models)
        gc.collect()
        gc.freeze()
        where = address(settings, sock)
        log.info("listening", extra={"address": where, "data": str(settings.data)})
        print(f"rosenblatt serves {settings.data} at {where}", flush=True)
        running.run(sockets=[sock])
