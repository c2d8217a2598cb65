"""Mounts the pages on the application: NiceGUI behind the API's routes, the mailbox opened with the store."""

import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import Match

from rosenblatt.mail.filter import MailFilter
from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.service.middleware import LimitPageBodies
from rosenblatt.service.store import StoreBroken
from rosenblatt.service.writer import Service
from rosenblatt.web.refusals import Refusal

log = logging.getLogger("rosenblatt.service")
API = ("/v1", "/healthz", "/readyz", "/metrics", "/openapi.json", "/sign-in", "/sign-out")
TITLE = "Inbox — mail filter"
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#fff"/>'
    '<path d="M4 9h24v15H4z" fill="none" stroke="#1B1F24" stroke-width="2.5"/><path d="M4 9l12 9 12-9" fill="none" '
    'stroke="#1B1F24" stroke-width="2.5"/><circle cx="25" cy="8" r="6" fill="#0072B2"/></svg>'
)
BUILD_SECONDS = 60.0  # that a page may take to be built: the box may be large, and the machine busy
RECONNECT_SECONDS = 30.0  # that a browser which lost its connection finds its page again
_served: list[
    FastAPI
] = []  # the application whose pages are shown; NiceGUI has one of everything in a process


def mount(app: FastAPI) -> None:
    """Serve the pages under the paths that the API leaves free."""
    if find_spec("nicegui") is None:
        raise ValueError(
            "the pages need NiceGUI: pip install 'rosenblatt[service]', or serve with --no-pages"
        )
    from nicegui import ui

    inner = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[Any]:
        async with inner(app) as state, _opened(app.state.service) as app.state.mail_filter:
            yield state

    app.router.lifespan_context = life
    if not _served:
        _register(ui)
    _served[:] = [app]
    ui.run_with(
        app, title=TITLE, favicon=ICON, show_welcome_message=False, reconnect_timeout=RECONNECT_SECONDS
    )
    pages = app.state.pages = app.router.routes[-1]
    behind = _BehindTheApi(app, pages.app)  # type: ignore[attr-defined]
    pages.app = LimitPageBodies(behind, app.state.settings.mail_bytes)  # type: ignore[attr-defined]


@contextlib.asynccontextmanager
async def _opened(service: Service) -> AsyncIterator[MailFilter | str]:
    """Yield the filter, or the reason why there is none: a damaged mailbox must not stop the API."""
    try:
        box = Mailbox(service.models.store.folder)
    except StoreBroken as error:
        log.error("the mail filter is not served", extra={"reason": str(error)})  # noqa: TRY400 (said to people)
        yield str(error)
        return
    mail_filter = MailFilter(service, box)
    try:
        await mail_filter.settle()
    except (Refusal, sqlite3.Error) as error:
        log.error("answers about mail wait to be learned", extra={"reason": str(error)})  # noqa: TRY400 (later)
    try:
        yield mail_filter
    finally:
        box.close()


def _register(ui: Any) -> None:
    from fastapi import Request

    from rosenblatt.mail.pages.frame import trouble
    from rosenblatt.mail.pages.inbox import InboxPage
    from rosenblatt.mail.pages.model_page import ModelPage

    @ui.page("/", title=TITLE, response_timeout=BUILD_SECONDS)  # type: ignore[untyped-decorator]
    async def inbox(request: Request) -> None:
        mail_filter = _served[0].state.mail_filter
        if isinstance(mail_filter, str):
            trouble(mail_filter)
        else:
            await InboxPage(mail_filter, dict(request.query_params)).show()

    @ui.page("/model", title="Model — mail filter", response_timeout=BUILD_SECONDS)  # type: ignore[untyped-decorator]
    async def model(request: Request) -> None:
        mail_filter = _served[0].state.mail_filter
        if isinstance(mail_filter, str):
            trouble(mail_filter)
        else:
            await ModelPage(mail_filter, dict(request.query_params)).show()


class _BehindTheApi:
    """Passes paths outside the API to the pages; a wrong path or method of the API stays an error of the API."""

    def __init__(self, app: FastAPI, pages: Any) -> None:
        self._app, self._pages = app, pages

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        path = scope["path"]
        if scope["type"] == "http" and any(path == own or path.startswith(own + "/") for own in API):
            matches = [route.matches({**scope, "root_path": ""})[0] for route in self._app.router.routes[:-1]]
            raise HTTPException(405 if Match.PARTIAL in matches else 404)
        await self._pages(scope, receive, send)
