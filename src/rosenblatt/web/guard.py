"""Access control by host, origin, token and scope, before any other code sees a request."""

import hmac
import ipaddress
import re
from collections import Counter
from functools import lru_cache
from typing import Any

from rosenblatt.web.refusals import Refusal
from rosenblatt.web.settings import Settings

SCOPES = ("read", "feedback", "admin")  # each includes those before it
ANYBODY = "anybody"  # may do what needs no token
LEVELS = (ANYBODY, *SCOPES)
RANKS = {scope: rank for rank, scope in enumerate(LEVELS)}
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
COOKIE = "rosenblatt"
TOKEN_NEEDED = "a token is needed: send it as 'Authorization: Bearer TOKEN'"
TOKEN_UNKNOWN = "this token is not known here: compare it with the lines of the file of --token-file"
OPEN_PATHS = ("/healthz", "/readyz", "/sign-in", "/sign-out")
HOST = re.compile(rb"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?").fullmatch
SINGLE_FIELDS = frozenset(  # read by this service: with two of them, another parser might read the other one
    b"host authorization cookie origin content-length content-type transfer-encoding upgrade expect idempotency-key "
    b"sec-fetch-site sec-fetch-mode sec-websocket-key sec-websocket-version x-request-id".split()
)

# For pages. NiceGUI needs inline scripts and eval; browsers load from, and send to, this server only.
SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (
        b"referrer-policy",
        b"same-origin",
    ),  # without any, a browser would not say where our own forms come from
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; "
        b"base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
    ),
)
PAGE_HEADERS: tuple[tuple[bytes, bytes], ...] = (  # of pages with a content security policy of their own
    *SECURITY_HEADERS[:5],
    (b"cache-control", b"no-store"),
)
API_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


class Forbidden(Refusal):
    """A host, an origin or a scope that is not allowed."""

    status, error = 403, "forbidden"


class Unauthorised(Refusal):
    """No token, or a wrong one."""

    status, error = 401, "unauthorised"


class Misdirected(Refusal):
    """A host name that is not this service's: a page elsewhere may be rebinding its name to this machine."""

    status, error = 421, "misdirected"


class RepeatedField(Refusal):
    """A header field that must be sent once."""


def header_fields(scope: dict[str, Any]) -> dict[bytes, bytes]:
    """Return the header fields of a request, and remove its cookies, so that no library parses them later.

    The standard library's parser of cookies takes quadratic time, and Starlette calls it for every request.

    >>> scope = {"headers": [(b"host", b"localhost"), (b"cookie", b"a=b")]}
    >>> header_fields(scope)[b"cookie"], scope["headers"]
    (b'a=b', [(b'host', b'localhost')])
    """
    fields = dict(scope["headers"])
    check_fields(scope, fields)
    return fields


def check_fields(scope: dict[str, Any], fields: dict[bytes, bytes]) -> None:
    """Raise a refusal if a field that must be sent once is repeated; remove the cookies from the scope."""
    pairs = scope["headers"]
    if len(fields) != len(pairs):
        for name, n in Counter(name for name, _ in pairs).items():
            if n > 1 and name in SINGLE_FIELDS:
                raise RepeatedField(f"the header field {name.decode()!r} is sent {n} times: send it once")
    if b"cookie" in fields:
        scope["headers"] = [pair for pair in pairs if pair[0] != b"cookie"]


class Guard:
    """Decides from the headers of a request whether it is accepted, and with which scope.

    >>> guard = Guard(Settings())
    >>> guard.check("GET", "/v1/models", {b"host": b"localhost:8000"}, "http")
    'admin'
    """

    def __init__(self, settings: Settings) -> None:
        self._tokens = [(scope, token.encode()) for scope, token in settings.tokens]
        names = {*LOOPBACK_NAMES, settings.host, *settings.allowed_hosts}
        self._names = frozenset(name.lower().strip("[]") for name in names)
        self._host_is_ours = lru_cache(maxsize=256)(self._host_allowed)
        self._same_site = lru_cache(maxsize=256)(_same_site)

    open_paths = OPEN_PATHS  # that need no token

    def check(self, method: str, path: str, headers: dict[bytes, bytes], scheme: str) -> str:
        """Return the scope that a request has by its host, its origin and its token, or raise a refusal."""
        self.check_host(headers)
        self.check_origin(headers)
        if not self._tokens:
            return "admin"
        if path in self.open_paths:
            return ANYBODY
        return self.scope_of(bearer_token(headers))

    def check_host(self, headers: dict[bytes, bytes]) -> None:
        """Raise a refusal where a request names a host that is not this service's."""
        host = headers.get(b"host", b"")
        if not self._host_is_ours(host):
            raise Misdirected(
                f"host {_shown(host)} is not one of this service; name it with --allow-host if it should be"
            )

    def check_origin(self, headers: dict[bytes, bytes]) -> None:
        """Raise a refusal where a request comes from a page of another site."""
        origin = headers.get(b"origin")
        if origin is not None and not self._same_site(origin, headers.get(b"host", b"")):
            raise Forbidden(f"requests from {_shown(origin)} are not taken: only from pages of this service")
        if headers.get(b"sec-fetch-site") == b"cross-site" and headers.get(b"sec-fetch-mode") != b"navigate":
            raise Forbidden("requests from pages of other sites are not taken")

    @property
    def asks_for_tokens(self) -> bool:
        """Whether anybody needs a token here."""
        return bool(self._tokens)

    def scope_of(self, token: bytes) -> str:
        """Return the scope of a token; every token is compared, each in constant time."""
        matched = None
        for scope, known in self._tokens:
            if hmac.compare_digest(known, token):
                matched = scope
        if matched is None:
            raise Unauthorised(TOKEN_UNKNOWN if token else TOKEN_NEEDED)
        return matched

    def _host_allowed(self, host: bytes) -> bool:
        if not HOST(host):
            return False
        name = _host_name(host)
        return name in self._names or _is_address(name)  # an address cannot be rebound


def need(scope: str, wanted: str) -> None:
    """Raise a refusal where a scope does not include the wanted one."""
    if RANKS[scope] < RANKS[wanted]:
        raise Forbidden(f"this token has the scope {scope!r}; {wanted!r} is needed here")


def _shown(header: bytes) -> str:
    return repr(header[:80].decode("latin-1"))


def _host_name(host: bytes) -> str:
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if text.count(":") == 1 else text


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same_site(origin: bytes, host: bytes) -> bool:
    """Whether a page of this origin was served under this host."""
    scheme, separator, rest = origin.lower().partition(b"://")
    return bool(separator) and scheme in (b"http", b"https") and rest == host.lower()


def bearer_token(headers: dict[bytes, bytes]) -> bytes:
    """Return the token that a request brings in ``Authorization``, empty where there is none."""
    kind, _, token = headers.get(b"authorization", b"").partition(b" ")
    return token.strip() if kind.lower() == b"bearer" else b""


def cookie_value(cookies: bytes) -> bytes:
    """Return this service's value in a ``Cookie`` header, empty where there is none; in linear time.

    >>> cookie_value(b'theme=dark; rosenblatt=abcdef; other="')
    b'abcdef'
    """
    for pair in cookies.split(b";"):
        name, _, value = pair.partition(b"=")
        if name.strip() == COOKIE.encode():
            return value.strip()
    return b""


def set_cookie(value: str, secure: bool, seconds: int) -> bytes:
    """Return the value of ``Set-Cookie`` that hands a session to a browser; with no seconds it is taken back.

    >>> set_cookie("abc", True, 60)
    b'rosenblatt=abc; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure'
    """
    flag = "; Secure" if secure else ""
    return f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{flag}".encode()
