"""Tokens from a file: who has one may use the service as far as its scope goes."""

from pathlib import Path

from rosenblatt.service.security import SCOPES

SHORTEST = 16


def read_tokens(path: str | Path) -> tuple[tuple[str, str], ...]:
    """Return (scope, token) for every line ``scope token`` of a file; a token alone may do everything."""
    found = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        scope, token = ("admin", words[0]) if len(words) == 1 else (words[0], words[-1])
        if len(words) > 2 or scope not in SCOPES:
            raise ValueError(f"{path}:{number}: expected 'SCOPE TOKEN' with SCOPE one of {', '.join(SCOPES)}")
        if len(token) < SHORTEST or not token.isascii():
            raise ValueError(
                f"{path}:{number}: a token has at least {SHORTEST} ASCII characters; "
                "make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        found.append((scope, token))
    if not found:
        raise ValueError(f"{path}: no token in it: write 'SCOPE TOKEN' on a line")
    return tuple(found)
