"""``rosenblatt serve``: predict, be corrected, learn at once, lose nothing, over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import refuse

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FOLDER", help="Folder of the store.", show_default="the user's data folder"
    ),
]


def need_service() -> None:
    """Refuse, with the pip line, where packages that the service needs are not installed."""
    from importlib.util import find_spec

    missing = [
        name for name in ("msgspec", "fastapi", "uvicorn", "prometheus_client") if find_spec(name) is None
    ]
    if missing:
        refuse(f"{', '.join(missing)} not installed: pip install 'rosenblatt[service]'")


def serve(
    data: Data = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; any but loopback needs a --token-file.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", help="Lines 'SCOPE TOKEN'; SCOPE is read, feedback or admin."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", metavar="NAME", help="A host name under which clients reach the service."
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate file; serves https.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Key file of the certificate.")
    ] = None,
    pages: Annotated[
        bool, typer.Option("--pages/--no-pages", help="Whether to serve the inbox and model pages too.")
    ] = True,
    snapshot_every: Annotated[
        int,
        typer.Option(
            "--snapshot-every", min=1, help="Write a snapshot of a model after this many feedbacks."
        ),
    ] = 20_000,
    model_memory: Annotated[
        int, typer.Option("--model-memory", metavar="MB", min=1, help="Memory limit of one model.")
    ] = 256,
    memory: Annotated[
        int, typer.Option("--memory", metavar="MB", min=1, help="Memory limit of all models together.")
    ] = 1024,
    writes_per_minute: Annotated[
        int,
        typer.Option(
            "--writes-per-minute",
            min=1,
            help="Limit of writes for one token, or one address without a token.",
        ),
    ] = 1_200_000,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy",
            metavar="ADDRESS",
            help="A proxy whose X-Forwarded-For and X-Forwarded-Proto headers are trusted.",
        ),
    ] = None,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Log every request.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Validate the configuration and exit.")] = False,
    json: opt.AsJson = False,
) -> None:
    """Serve models over HTTP, which learn from feedback at once.

    Feedback is on disk before it is acknowledged. Ctrl-C finishes open requests, writes snapshots and exits.

    \b
    Examples:
      rosenblatt serve
      rosenblatt serve --data ~/mail-filter --token-file tokens --port 8080
      rosenblatt serve --host 0.0.0.0 --token-file tokens --check
    """
    need_service()
    from rosenblatt.service.server import serve as run
    from rosenblatt.service.sessions import read_tokens
    from rosenblatt.web.settings import Settings, usual_folder

    settings = Settings(
        data=(data or usual_folder()).expanduser(),
        host=host,
        port=port,
        tokens=read_tokens(token_file) if token_file is not None else (),
        allowed_hosts=tuple(allow_host or ()),
        tls_certificate=None if tls_cert is None else str(tls_cert),
        tls_key=None if tls_key is None else str(tls_key),
        pages=pages,
        snapshot_every=snapshot_every,
        model_bytes=model_memory << 20,
        memory_bytes=memory << 20,
        writes_per_minute=writes_per_minute,
        trusted_proxies=tuple(trusted_proxy or ()),
        log_requests=log_requests,
    )
    if check:
        _check(settings, json)
        return
    if pages:
        from rosenblatt.mail.pages.mounting import mount

        run(settings, mount)
    else:
        run(settings)


def _check(settings: object, as_json: bool) -> None:
    """Open everything that serving would open, and report its state."""
    import json

    from rosenblatt.service.server import checked

    report = checked(settings)  # type: ignore[arg-type]
    if as_json:
        print(json.dumps(report))
        return
    for key, value in report.items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{key:<10} {line}")
