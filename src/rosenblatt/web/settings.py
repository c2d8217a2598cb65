"""Settings of a server."""

import os
from dataclasses import dataclass, field
from pathlib import Path

MODEL_BYTES = 256 << 20  # of memory that the weights and names of one model may take
MEMORY_BYTES = 1024 << 20  # of all models together


def usual_folder() -> Path:
    """Return the default folder of a user's data."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "rosenblatt"


@dataclass(frozen=True)
class Settings:
    """The settings of a server: store, address, access and limits."""

    data: Path = field(default_factory=usual_folder)
    host: str = "127.0.0.1"
    port: int = 8000
    tokens: tuple[
        tuple[str, str], ...
    ] = ()  # (scope, token); none: everybody on this machine may do everything
    allowed_hosts: tuple[str, ...] = ()  # names under which the service may be called, beside loopback's
    tls_certificate: str | None = None
    tls_key: str | None = None
    pages: bool = True
    body_bytes: int = 2 << 20  # of a JSON body, which is decoded in one call
    line_bytes: int = 2 << 20  # of a line of NDJSON
    upload_bytes: int = 1 << 30  # of a snapshot, or of all lines of one request to learn
    mail_bytes: int = (
        256 << 20
    )  # of an mbox that is uploaded on a page, and of every other body sent by pages
    bodies_bytes: int = 256 << 20  # of all large bodies that are being read or worked on
    header_seconds: float = 15.0  # for a handshake and headers, and for a body without an authorised token
    body_seconds: float = 30.0  # in which a body must have arrived, or its next piece where it is streamed
    stream_seconds: float = 3600.0  # in which a streamed body must have arrived
    most_connections: int = 1000
    most_connections_per_address: int = 512
    trusted_proxies: tuple[
        str, ...
    ] = ()  # addresses whose X-Forwarded-For and X-Forwarded-Proto are believed
    session_seconds: int = 12 * 3600  # after which a browser has to sign in again
    sign_ins_per_minute: int = 20  # from one address
    writes_per_minute: int = 1_200_000  # by one token, or from one address where no token is needed
    most_waiting: int = 2048
    model_bytes: int = MODEL_BYTES
    memory_bytes: int = MEMORY_BYTES
    snapshot_every: int = 20_000
    recent_bytes: int = 16 << 20
    log_requests: bool = False
    most_pages: int | None = None  # of the store, in pages of SQLite; for tests of a full disk
