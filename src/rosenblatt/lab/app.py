"""The lab as a web application: its pages, behind a guard, on loopback."""

import socket
from typing import Any

LOOPBACK = "127.0.0.1"
PORT = 8137
TITLE = "rosenblatt lab"
BUILDING_SECONDS = 60.0  # in which the first network of a page must be built
RECONNECT_SECONDS = 30.0  # that a browser which lost its connection finds its page again


def make_app() -> Any:
    """Return the application; it can be made once in a process."""
    from fastapi import FastAPI, Request
    from fastapi.responses import PlainTextResponse
    from nicegui import Client, ui
    from nicegui import app as pages

    from rosenblatt.lab.frame import NotFoundPage
    from rosenblatt.lab.game import GamePage
    from rosenblatt.lab.gates import GatesPage
    from rosenblatt.lab.guard import OwnPagesOnly
    from rosenblatt.lab.lessons import LessonsPage
    from rosenblatt.lab.networks import NetworksPage
    from rosenblatt.lab.playground import PlaygroundPage
    from rosenblatt.web.theme import THEMES

    @pages.exception_handler(404)  # type: ignore[untyped-decorator]
    async def not_found(request: Request, error: Exception) -> Any:
        if request.url.path.startswith("/_nicegui"):
            return PlainTextResponse("not found", status_code=404)
        with Client(ui.page(""), request=request) as client:
            NotFoundPage(request.url.path)
        return client.build_response(request, 404)

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @ui.page("/", title=TITLE)  # type: ignore[untyped-decorator]
    def playground(request: Request) -> None:
        PlaygroundPage(request.query_params)

    @ui.page("/game", title=f"Game · {TITLE}")  # type: ignore[untyped-decorator]
    def game(request: Request) -> None:
        GamePage(request.query_params)

    @ui.page("/gates", title=f"Gates · {TITLE}")  # type: ignore[untyped-decorator]
    def gates(request: Request) -> None:
        GatesPage(request.query_params)

    @ui.page("/networks", title=f"Networks · {TITLE}", response_timeout=BUILDING_SECONDS)  # type: ignore[untyped-decorator]
    async def networks(request: Request) -> None:
        await NetworksPage.open(request.query_params)

    @ui.page("/lessons", title=f"Lessons · {TITLE}")  # type: ignore[untyped-decorator]
    @ui.page("/lessons/{name}", title=f"Lessons · {TITLE}")  # type: ignore[untyped-decorator]
    def lesson(name: str = "", theme: str = "auto") -> None:
        LessonsPage(name, theme if theme in THEMES else "auto")

    ui.run_with(
        app, title=TITLE, favicon=ICON, show_welcome_message=False, reconnect_timeout=RECONNECT_SECONDS
    )
    return OwnPagesOnly(app)


def listening(port: int) -> socket.socket:
    """Return a socket on loopback; port 0 takes a free one."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind((LOOPBACK, port))
        own.listen(128)  # who comes before the pages are ready waits
    except OSError as error:
        own.close()
        raise ValueError(
            f"port {port} is taken ({error.strerror}): choose another with --port, or 0 for a free one"
        ) from None
    return own


def address_of(own: socket.socket) -> str:
    """Return the address to open."""
    return f"http://{LOOPBACK}:{own.getsockname()[1]}"


def serve(own: socket.socket) -> None:
    """Answer requests until interrupted."""
    import uvicorn

    from rosenblatt.web.connections import limited_protocol
    from rosenblatt.web.settings import Settings

    config = uvicorn.Config(
        make_app(), http=limited_protocol(Settings()), log_level="warning", ws_max_size=1 << 20
    )
    uvicorn.Server(config).run(sockets=[own])


def warm_up() -> None:
    """Take a step and prove a few things, so that what must be compiled is compiled before a page is open."""
    from rosenblatt.lab.learners import PlaygroundState
    from rosenblatt.lab.playground import PlaygroundSession

    for data in ("separable", "xor", "circles"):
        session = PlaygroundSession(PlaygroundState(data=data, n=12, proof=True))
        session.insight.seconds = None  # on a slow computer, compiling takes longer than an answer may
        session.update()
        session.scene()
        _ = session.insight.best


ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#fff"/>'
    '<path d="M5 27L27 5" stroke="#1B1F24" stroke-width="3"/><circle cx="10" cy="10" r="5" fill="#0072B2"/>'
    '<rect x="17" y="17" width="10" height="10" fill="#E69F00"/></svg>'
)
