"""Tokens from a file: who has one may use the service as far as its scope goes."""

import os
import re
import shlex
from pathlib import Path

from rosenblatt.web.guard import SCOPES

SHORTEST = 16
TOKEN = re.compile(r"[!-~]+").fullmatch  # visible ASCII


def read_tokens(path: str | Path) -> tuple[tuple[str, str], ...]:
    """Return (scope, token) for every line ``SCOPE TOKEN`` of a file; a token alone may do everything.

    Empty lines, and lines whose first character is ``#``, are left out; a ``#`` elsewhere belongs to the token.
    The file must be readable by its owner alone.
    """
    _need_private(path)
    tokens = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), 1):
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
