"""The lab as a web application: its pages behind a guard, on loopback or for a class."""

import errno
import socket
from collections.abc import Collection
from typing import Any

from rosenblatt.lab.computing import Share
from rosenblatt.lab.guard import ClassRoom

LOOPBACK = "127.0.0.1"
PORT = 8137
TITLE = "rosenblatt lab"
MOST_PAGES = 200  # on this computer alone
BUILDING_SECONDS = 60.0  # in which the state of a link must be computed
RECONNECT_SECONDS = 30.0  # that a browser which lost its connection finds its page again
LARGEST_MESSAGE = 256 << 10  # bytes, of a websocket
MOST_RESENT = 30  # messages to it that are stored meanwhile; beyond, it loads the page of its address again


EVERYWHERE = ("0.0.0.0", "::")


class Visitors:
    """The pages that are open, and whose they are: a page above the limits is refused, not built."""

    def __init__(self, room: ClassRoom | None) -> None:
        self.room = room
        self._pages: dict[str, tuple[str, str]] = {}  # id of a page -> its visitor, and the address of that
        self._shares: dict[str, Share] = {}  # by visitor
        self._addresses: dict[str, Share] = {}  # what all visitors of an address compute together

    def refusal(self, visitor: str, address: str, alive: Collection[str]) -> str:
        """Say why a visitor gets no further page, or nothing where one is free; ``alive`` are the ids of all pages."""
        if self.room is None:
            return "" if len(alive) <= MOST_PAGES else f"{MOST_PAGES} pages of this lab are open: close some."
        self._pages = {page: who for page, who in self._pages.items() if page in alive}
        if sum(who[0] == visitor for who in self._pages.values()) >= self.room.pages_each:
            return f"You have {self.room.pages_each} pages of this lab open: close one, then load this page again."
        if len(self._pages) >= self.room.most_pages:
            return f"This lab is full: {self.room.most_pages} pages are open. Try again in a minute."
        if sum(who[1] == address for who in self._pages.values()) >= self.room.pages_per_address:
            return f"{self.room.pages_per_address} pages of this lab are open from your address: close one."
        if not self.share(visitor, address).allowed():
            return "This lab is shared: it computes for others now. Load this page again in a few seconds."
        return ""

    def share(self, visitor: str, address: str) -> Share:
        """Return what a visitor may compute, on all pages together; on this computer alone every page has its own."""
        if self.room is None:
            return Share()
        if visitor not in self._shares:
            for shares, present in (
                (self._shares, {who for who, _ in self._pages.values()}),
                (self._addresses, {where for _, where in self._pages.values()}),
            ):
                for gone in [who for who in shares if who not in present and not shares[who].spent()]:
                    del shares[gone]
            own = self._addresses.setdefault(address, Share())
            self._shares[visitor] = Share(limited=True, seconds=self.room.seconds, address=own)
        return self._shares[visitor]

    def enter(self, visitor: str, address: str, page: str) -> None:
        """Note a page of a visitor."""
        self._pages[page] = (visitor, address)


def make_app(room: ClassRoom | None = None) -> Any:
    """Return the application, for this computer or for a class; it can be made once in a process."""
    from fastapi import FastAPI, Request
    from fastapi.responses import PlainTextResponse
    from nicegui import Client, ui
    from nicegui import app as pages

    from rosenblatt.lab.frame import PAGES, draw_message
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
            path = request.url.path
            draw_message(path, "This page does not exist", f"The lab has no page at {path[:200]}.")
        return client.build_response(request, 404)

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    visitors = Visitors(room)
    if room is not None:
        pages.state.public_address = room.address

    def admitted(request: Request) -> Share | None:
        """Return what the visitor of a page may compute; where there is no room, None, and the page says why."""
        visitor, page = request.scope.get("visitor", ""), ui.context.client.id
        address = request.client.host if request.client is not None else ""
        refusal = visitors.refusal(visitor, address, set(Client.instances) - {page})
        if refusal:
            draw_message(request.url.path, "No room", refusal)
            return None
        visitors.enter(visitor, address, page)
        return visitors.share(visitor, address)

    def opener(page: Any) -> Any:
        async def opened(request: Request) -> None:
            share = admitted(request)
            if share is not None:
                await page.open(request.query_params, share)

        return opened

    for page in (PlaygroundPage, GamePage, GatesPage, NetworksPage):
        title = TITLE if page.path == "/" else f"{dict(PAGES)[page.path]} · {TITLE}"
        ui.page(page.path, title=title, response_timeout=BUILDING_SECONDS)(opener(page))

    @ui.page("/lessons", title=f"Lessons · {TITLE}")  # type: ignore[untyped-decorator]
    @ui.page("/lessons/{name}", title=f"Lessons · {TITLE}")  # type: ignore[untyped-decorator]
    def lesson(request: Request, name: str = "", theme: str = "auto") -> None:
        if admitted(request) is not None:
            LessonsPage(name, theme if theme in THEMES else "auto")

    ui.run_with(
        app,
        title=TITLE,
        favicon=ICON,
        show_welcome_message=False,
        reconnect_timeout=RECONNECT_SECONDS,
        message_history_length=MOST_RESENT,
    )
    return OwnPagesOnly(app, room)


def listening(port: int, host: str = LOOPBACK) -> socket.socket:
    """Return a socket on loopback or on another address of this computer; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    own = socket.socket(family, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind((host, port))
        own.listen(128)  # who comes before the pages are ready waits
    except OSError as error:
        own.close()
        if error.errno != errno.EADDRINUSE:
            raise ValueError(
                f"host {host} is no address of this computer ({error.strerror}): 0.0.0.0 takes all of them"
            ) from None
        raise ValueError(
            f"port {port} is taken ({error.strerror}): choose another with --port, or 0 for a free one"
        ) from None
    return own


def address_of(own: socket.socket) -> str:
    """Return the address to open: that of this computer in its network, where the socket is on all addresses."""
    host, port = own.getsockname()[:2]
    if host in EVERYWHERE:
        host = _network_address(own.family)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _network_address(family: int) -> str:
    """Return the address of this computer on the way to others; asking for it sends nothing."""
    v6 = family == socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("2001:db8::1" if v6 else "192.0.2.1", 9))  # addresses reserved for documentation
            return str(probe.getsockname()[0])
        except OSError:  # no network
            return "::1" if v6 else LOOPBACK


def serve(own: socket.socket, room: ClassRoom | None = None) -> None:
    """Answer requests until interrupted."""
    import uvicorn
    from threadpoolctl import threadpool_limits

    from rosenblatt.web.connections import limited_protocol
    from rosenblatt.web.settings import Settings

    limits = Settings()
    if room is not None:  # no address can take all connections, though a proxy may be that of a whole class
        most = 4 * room.most_pages
        limits = Settings(most_connections=most, most_connections_per_address=most * 3 // 4)
    config = uvicorn.Config(
        make_app(room), http=limited_protocol(limits), log_level="warning", ws_max_size=LARGEST_MESSAGE
    )
    # A plane has 500 points: more threads for one product only wait for each other, and for other visitors' threads.
    with threadpool_limits(1, "blas"):
        uvicorn.Server(config).run(sockets=[own])


def warm_up() -> None:
    """Take a step and prove a few things, so that what must be compiled is compiled before a page is open."""
    from rosenblatt.lab.learners import PlaygroundState
    from rosenblatt.lab.playground import PlaygroundSession

    for data in ("separable", "xor", "circles"):
        session = PlaygroundSession(PlaygroundState(data=data, n=12, proof=True))
        session.share.seconds = None  # on a slow computer, compiling takes longer than an answer may
        session.update()
        session.scene()
        _ = session.insight.best


ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#fff"/>'
    '<path d="M5 27L27 5" stroke="#1B1F24" stroke-width="3"/><circle cx="10" cy="10" r="5" fill="#0072B2"/>'
    '<rect x="17" y="17" width="10" height="10" fill="#E69F00"/></svg>'
)
