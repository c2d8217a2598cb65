"""The service as an application: the API, documented by FastAPI, and the life of the store behind it."""

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI

from rosenblatt.service.models import Models
from rosenblatt.service.service import Service
from rosenblatt.service.settings import Settings


def create_app(settings: Settings) -> FastAPI:
    """Return the application; its service is ``app.state.service`` once it has started."""

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        models = Models(settings.data, recent_bytes=settings.recent_bytes, most_pages=settings.most_pages)
        service = Service(models, snapshot_every=settings.snapshot_every, most_waiting=settings.most_waiting)
        service.start()
        app.state.service = service
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(title="rosenblatt", lifespan=life, docs_url=None, redoc_url=None)
    app.state.settings = settings
    return app
