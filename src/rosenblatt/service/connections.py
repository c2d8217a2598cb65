"""Connections that do not get to waste the service's time: few enough, and quick enough with their headers."""

from typing import Any

from rosenblatt.service.settings import Settings

HEADER_SECONDS = 15.0
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: 89\r\n\r\n"
    b'{"error":"busy","message":"too many connections: try again in a moment.","request_id":""}'
)


def careful_protocol(settings: Settings) -> Any:
    """Return uvicorn's protocol with a limit on connections, and on the time that headers may take."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:  # without httptools uvicorn chooses its own, which limits the size of headers
        return "auto"

    class Careful(HttpToolsProtocol):
        """A connection that is closed when its headers do not come, and refused when there are too many."""

        _timer: Any = None

        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= settings.most_connections:
                transport.write(FULL)
                transport.close()
                self.refused = True
                return
            super().connection_made(transport)
            self._wait_for_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._headers_came()
            if not getattr(self, "refused", False):
                super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if not getattr(self, "refused", False):
                super().data_received(data)

        def on_message_begin(self) -> None:
            if self._timer is None:
                self._wait_for_headers()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._headers_came()
            super().on_headers_complete()

        def _wait_for_headers(self) -> None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._too_slow)

        def _headers_came(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _too_slow(self) -> None:
            self._timer = None
            if not self.transport.is_closing():
                self.transport.close()

    return Careful
