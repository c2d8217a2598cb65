"""Only pages of this very server may talk to it: the service's checks of ``Host`` and ``Origin``, for pages too.

A server on loopback is reachable by every page that a browser has open. ``Host`` names the address that the browser
believes it talks to, so a foreign name that was made to point here (DNS rebinding) is refused; ``Origin`` names the
page that asks, so another site's page is refused too, on the websocket as elsewhere.
"""

from typing import Any

from rosenblatt.web.guard import SECURITY_HEADERS, Guard, header_fields
from rosenblatt.web.refusals import Refusal
from rosenblatt.web.settings import Settings


class OwnPagesOnly:
    """ASGI middleware that refuses what is not addressed to loopback, or was sent by a page from elsewhere."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._guard = Guard(Settings())

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass on what comes from an own page, refuse the rest."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        try:
            headers = header_fields(scope)
            self._guard.check(scope.get("method", "GET"), scope["path"], headers, scope.get("scheme", "http"))
        except Refusal as refused:
            await _refuse(scope, receive, send, refused)
        else:
            await self.app(scope, receive, _with_headers(send))


async def _refuse(scope: dict[str, Any], receive: Any, send: Any, refused: Refusal) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "not a page of this server"})
        return
    body = f"{refused}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Any) -> Any:
    async def sent(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *SECURITY_HEADERS]
        await send(message)

    return sent
