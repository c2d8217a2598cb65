"""Who may do what: hosts, origins, tokens and scopes, decided before anything else looks at a request."""

import hmac
import ipaddress
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from typing import Any

from rosenblatt.service.refusals import Refusal
from rosenblatt.service.settings import Settings

SCOPES = ("read", "feedback", "admin")  # each includes those before it
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
COOKIE = "rosenblatt"
OPEN_PATHS = ("/healthz", "/readyz", "/sign-in")

# On every answer. NiceGUI needs inline scripts and eval; nothing may come from, or be sent to, elsewhere.
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
PAGE_HEADERS: tuple[tuple[bytes, bytes], ...] = (  # of pages that say themselves what they load
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
    """No token, or not a right one."""

    status, error = 401, "unauthorised"


class Misdirected(Refusal):
    """A host name that is not this service's: a page elsewhere may be rebinding its name to this machine."""

    status, error = 421, "misdirected"


class Guard:
    """Decides by the headers of a request whether it may go on, and how far.

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

    def check(self, method: str, path: str, headers: dict[bytes, bytes], scheme: str) -> str:
        """Return the scope that a request has, or raise a refusal."""
        host = headers.get(b"host", b"")
        if not self._host_is_ours(host):
            raise Misdirected(
                f"host {_shown(host)} is not one of this service; name it with --allow-host if it should be"
            )
        origin = headers.get(b"origin")
        if origin is not None and not self._same_site(origin, host):
            raise Forbidden(f"requests from {_shown(origin)} are not taken: only from pages of this service")
        if headers.get(b"sec-fetch-site") == b"cross-site" and headers.get(b"sec-fetch-mode") != b"navigate":
            raise Forbidden("requests from pages of other sites are not taken")
        if not self._tokens:
            return "admin"
        if path in OPEN_PATHS:
            return "read"
        return self._scope_of(_token(headers))

    def _scope_of(self, token: bytes) -> str:
        """Return the scope of a token; every token is compared, each in constant time."""
        found = None
        for scope, known in self._tokens:
            if hmac.compare_digest(known, token):
                found = scope
        if found is None:
            raise Unauthorised("a token is needed: send it as 'Authorization: Bearer TOKEN'")
        return found

    def knows(self, token: str) -> bool:
        """Whether a token is one of ours."""
        try:
            self._scope_of(token.encode("utf-8", "surrogatepass"))
        except Unauthorised:
            return False
        return True

    def _host_allowed(self, host: bytes) -> bool:
        name = _host_name(host)
        return name in self._names or _is_address(name)  # an address cannot be rebound


def need(scope: str, wanted: str) -> None:
    """Raise a refusal where a scope does not include the wanted one."""
    if SCOPES.index(scope) < SCOPES.index(wanted):
        raise Forbidden(f"this token may {scope}; here {wanted} is needed")


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
    scheme, found, rest = origin.lower().partition(b"://")
    return bool(found) and scheme in (b"http", b"https") and rest == host.lower()


def _token(headers: dict[bytes, bytes]) -> bytes:
    kind, _, token = headers.get(b"authorization", b"").partition(b" ")
    if kind.lower() == b"bearer" and token.strip():
        return token.strip()
    if b"cookie" in headers:
        try:
            cookies: Any = SimpleCookie(headers[b"cookie"].decode("latin-1"))
        except CookieError:
            return b""
        if COOKIE in cookies:
            return bytes(cookies[COOKIE].value.encode("latin-1", "replace"))
    return b""
