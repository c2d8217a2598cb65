"""A server on a free port of loopback, in a thread of this process, and a client for it."""

import contextlib
import threading

import httpx
from tests.patience import SECONDS

from rosenblatt.service.models import Models
from rosenblatt.service.server import address, listening, server
from rosenblatt.web.settings import Settings


class Served:
    """A running service: its client, its settings, its store."""

    def __init__(self, settings, models, url):
        self.settings, self.models, self.url = settings, models, url
        self.client = httpx.Client(base_url=url, timeout=SECONDS)

    def put(self, name, **settings):
        answer = self.client.put(f"/v1/models/{name}", json=settings)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def post(self, path, **message):
        return self.client.post(f"/v1/models/{path}", json=message)

    def get(self, path, **query):
        return self.client.get(f"/v1/models/{path}", params=query)


@contextlib.contextmanager
def served(folder, **options):
    """Serve a folder until the end of the block; then drain and close."""
    usual = {"recent_bytes": 1 << 18, "body_seconds": SECONDS}  # a loop that compiles reads no body meanwhile
    settings = Settings(data=folder, port=0, pages=False, **{**usual, **options})
    limits = {name: options[name] for name in ("model_bytes", "memory_bytes") if name in options}
    models = Models(
        folder, recent_bytes=settings.recent_bytes, most_pages=settings.most_pages, **limits
    )  # as version 0.1 opens them too: what was wrong with it is shown by the same tests
    sock = listening(settings)
    running = server(settings, models)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]})
    thread.start()
    found = Served(settings, models, address(settings, sock))
    try:
        yield found
    finally:
        found.client.close()
        running.should_exit = True
        thread.join()
        sock.close()
