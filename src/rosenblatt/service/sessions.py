"""Access to the service: tokens from a file, and sessions of browsers that signed in with one."""

import hashlib
import os
import re
import secrets
import shlex
import time
from collections.abc import Callable, MutableMapping
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from rosenblatt.web.guard import SCOPES, Guard, Unauthorised, set_cookie
from rosenblatt.web.settings import Settings

SHORTEST = 16
TOKEN = re.compile(r"[!-~]+").fullmatch  # visible ASCII


def read_tokens(path: str | Path) -> tuple[tuple[str, str], ...]:
    """Return (scope, token) for every line ``SCOPE TOKEN`` of a file; a token alone has the scope ``admin``.

    Empty lines, and lines whose first character is ``#``, are left out; a ``#`` elsewhere belongs to the token.
    The file must be readable by its owner alone.
    """
    _need_private(path)
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not UTF-8 text: write 'SCOPE TOKEN' on every line") from None
    tokens: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        scope, token = ("admin", words[0]) if len(words) == 1 else (words[0], words[1])
        if len(words) > 2 or scope not in SCOPES:
            raise ValueError(
                f"{path}:{number}: expected 'SCOPE TOKEN' with SCOPE one of {', '.join(SCOPES)}; "
                "a comment stands on a line of its own that begins with '#'"
            )
        if len(token) < SHORTEST or not TOKEN(token):
            raise ValueError(
                f"{path}:{number}: a token has at least {SHORTEST} visible ASCII characters; "
                "make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        if any(token == known for _, known in tokens):
            raise ValueError(
                f"{path}:{number}: this token is given twice: keep the line with the scope it has"
            )
        tokens.append((scope, token))
    if not tokens:
        raise ValueError(f"{path}: no token in it: write 'SCOPE TOKEN' on a line")
    return tuple(tokens)


def _need_private(path: str | Path) -> None:
    """Raise ValueError where others than its owner may read or change a file; its mode is never changed here."""
    if os.name != "posix":  # elsewhere the mode says nothing about others
        return
    mode = Path(path).stat().st_mode & 0o777
    if mode & 0o077:
        raise ValueError(
            f"{path}: its mode is {mode:04o}, so others can use the tokens in it: chmod 600 {shlex.quote(str(path))}"
        )


SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
Answered = tuple[int, bytes, tuple[tuple[bytes, bytes], ...]]
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>rosenblatt: sign in</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:26em;margin:15vh auto;padding:0 1em}}
input,button{{font:inherit;padding:.5em;width:100%;box-sizing:border-box;margin-top:.5em}}</style>
<h1>rosenblatt</h1><form method="post" action="{path}"><label>Token
<input name="token" type="password" autocomplete="current-password" autofocus required></label>
<button>Sign in</button><p role="alert">{message}</p></form></html>"""
STYLED = (
    b"content-security-policy",
    b"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
)
MOST_SESSIONS = 10_000  # the oldest ends where there would be more


class Session(NamedTuple):
    """A browser that has signed in."""

    scope: str
    token: str  # the digest of the token it signed in with
    until: float


class Sessions:
    """Browsers that have signed in, in the memory of this process: a restart signs everybody out.

    A session is known by a random id; only the id's digest is held here, and only the id goes to the browser, never
    the token.

    >>> sessions = Sessions(60)
    >>> cookie = sessions.begin("read", b"a token").encode()
    >>> sessions.find(cookie).scope, sessions.find(b"something else")
    ('read', None)
    >>> sessions.end(cookie)
    >>> sessions.find(cookie)
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        self._sessions: dict[str, Session] = {}

    @staticmethod
    def digest(secret: bytes) -> str:
        """Return the digest under which a secret is known here."""
        return hashlib.blake2b(secret, digest_size=16).hexdigest()

    def begin(self, scope: str, token: bytes) -> str:
        """Begin a session; return its id."""
        now = self._clock()
        for key in [key for key, each in self._sessions.items() if each.until <= now]:
            del self._sessions[key]
        while len(self._sessions) >= MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        identifier = secrets.token_urlsafe(32)
        self._sessions[self.digest(identifier.encode())] = Session(
            scope, self.digest(token), now + self.seconds
        )
        return identifier

    def find(self, identifier: bytes) -> Session | None:
        """Return the session of an id, None where there is none or its time is over."""
        session = self._sessions.get(self.digest(identifier)) if identifier else None
        return session if session is not None and self._clock() < session.until else None

    def end(self, identifier: bytes) -> None:
        """End a session."""
        self._sessions.pop(self.digest(identifier), None)


def is_encrypted(scope: MutableMapping[str, Any], settings: Settings) -> bool:
    """Whether a request came by TLS, to this server or to a trusted proxy before it."""
    peer = scope.get("client") or ("", 0)
    proxied = peer[0] in settings.trusted_proxies
    return scope["scheme"] == "https" or (
        proxied and scope["rosenblatt"].fields.get(b"x-forwarded-proto", b"").strip().lower() == b"https"
    )


def sign_in_page(status: int, message: str = "") -> Answered:
    """Return the page that asks for a token."""
    page = PAGE.format(path=SIGN_IN, message=escape(message))
    return status, page.encode(), ((b"content-type", b"text/html; charset=utf-8"), STYLED)


def sign_in(guard: Guard, sessions: Sessions, body: bytes, cookie: bytes, secure: bool) -> Answered:
    """Answer a form with a token: a new session for a right one, the page again for a wrong one."""
    token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0].strip().encode("utf-8", "replace")
    try:
        scope = guard.scope_of(token)
    except Unauthorised:
        return sign_in_page(401, "This token is not known here.")
    sessions.end(cookie)  # an id from before signing in, which somebody else may know, stands for nothing
    identifier = sessions.begin(scope, token)
    fields = set_cookie(identifier, secure, int(sessions.seconds))
    return 303, b"", ((b"location", b"/"), (b"set-cookie", fields))


def sign_out(sessions: Sessions, cookie: bytes, secure: bool) -> Answered:
    """End the session, take the cookie back, and show the page that asks for a token."""
    sessions.end(cookie)
    return 303, b"", ((b"location", SIGN_IN.encode()), (b"set-cookie", set_cookie("", secure, 0)))
