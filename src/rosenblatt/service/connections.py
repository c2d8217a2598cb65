"""Connections that do not get to waste the service's time: few enough, and quick enough with their requests."""

from typing import Any

from rosenblatt.service.settings import Settings

SECONDS = 15.0  # in which headers must come, and so much of a body:
LEAST_BYTES = 1024
MOST_HEADER_BYTES = 64 << 10
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: 89\r\n\r\n"
    b'{"error":"busy","message":"too many connections: try again in a moment.","request_id":""}'
)


def careful_protocol(settings: Settings) -> Any:
    """Return uvicorn's protocol with a limit on connections, and on the time that a request may take to come."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:  # without httptools uvicorn chooses its own, which limits the size of headers
        return "auto"

    class Careful(HttpToolsProtocol):
        """A connection that is closed when its request does not come, and refused when there are too many."""

        _timer: Any = None
        _arrived = 0  # bytes, since the timer was set
        _refused = False
        _in_headers = False

        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= settings.most_connections:
                self._refused = True
                transport.write(FULL)
                transport.close()
                return
            super().connection_made(transport)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._came()
            if not self._refused:
                super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._refused:
                return
            self._arrived += len(data)
            super().data_received(data)
            if self._in_headers and self._arrived > MOST_HEADER_BYTES and not self.transport.is_closing():
                self.transport.close()

        def on_message_begin(self) -> None:
            self._in_headers = True
            if self._timer is None:
                self._wait()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._in_headers = False
            self._arrived = LEAST_BYTES  # the body's time begins
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._came()
            super().on_message_complete()

        def handle_websocket_upgrade(self) -> None:
            self._came()  # from here on another protocol has the connection
            super().handle_websocket_upgrade()

        def _wait(self) -> None:
            self._arrived = 0
            self._timer = self.loop.call_later(SECONDS, self._look)

        def _came(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _look(self) -> None:
            """Close a connection whose request comes too slowly, or not at all."""
            self._timer = None
            if self._arrived >= LEAST_BYTES:
                self._wait()
            elif not self.transport.is_closing():
                self.transport.close()

    return Careful
