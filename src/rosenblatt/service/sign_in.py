"""Signing in and out by a page: the token goes into a cookie that scripts cannot read and other sites cannot send."""

from html import escape
from urllib.parse import parse_qs

from rosenblatt.web.guard import Guard, cookie_with

PATH = "/sign-in"
SIGN_OUT = "/sign-out"
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


def sign_in_page(status: int, message: str = "") -> Answered:
    """Return the page that asks for a token."""
    page = PAGE.format(path=PATH, message=escape(message))
    return status, page.encode(), ((b"content-type", b"text/html; charset=utf-8"), STYLED)


def signed_in(guard: Guard, body: bytes, scheme: str) -> Answered:
    """Answer a form with a token: a cookie for a right one, the page again for a wrong one."""
    token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0].strip()
    if not guard.knows(token):
        return sign_in_page(401, "This token is not known here.")
    return 303, b"", ((b"location", b"/"), (b"set-cookie", cookie_with(token, scheme)))


def signed_out(scheme: str) -> Answered:
    """Take the cookie back, and show the page that asks for a token."""
    return 303, b"", ((b"location", PATH.encode()), (b"set-cookie", cookie_with("", scheme)))
