"""A lab of one's own on a free port, and a real Chromium to look at it."""

import subprocess
import sys
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.browsing import chromium, window

from rosenblatt.lab.computing import Share

# What notifications said: they go away by themselves, after as many seconds as a busy machine may take to look.
SAID = """
window.said = [];
new MutationObserver(changes => {
  for (const {addedNodes} of changes)
    for (const node of addedNodes)
      if (node.nodeType === 1 && (node.matches('.q-notification') || node.querySelector('.q-notification')))
        window.said.push(node.textContent);
}).observe(document, {childList: true, subtree: true});
"""
SIZES = {"desktop": (1440, 900), "phone": (390, 844)}


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch):
    """Let proofs in this process take as long as they need: they may have to be compiled first."""
    monkeypatch.setattr(Share, "seconds", None)


@pytest.fixture(scope="session")
def address():
    """Where a lab answers, started as a user starts it."""
    pytest.importorskip("nicegui")
    command = [
        sys.executable,
        "-c",
        "from rosenblatt.cli import main; main()",
        "lab",
        "--port",
        "0",
        "--no-open",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lab:
        line = lab.stdout.readline().strip()
        assert line.startswith("http://127.0.0.1:")
        yield line
        lab.terminate()


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window; let go after each module: while it is held, no test may run an event loop."""
    with chromium() as browser:
        yield browser


class Visitor:
    """A browser window that notes what went wrong in it."""

    def __init__(self, browser, address, size="desktop", theme="light", **more):
        width, height = SIZES[size]
        self.address, self.troubles, self.outside = address, [], []
        self.context = window(
            browser,
            viewport={"width": width, "height": height},
            color_scheme=theme,
            accept_downloads=True,
            **more,
        )
        self.context.add_init_script(SAID)
        self.page = self.context.new_page()
        self.page.on("console", self._noted)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", self._asked)

    def _noted(self, message):
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)

    def _asked(self, request):
        if not request.url.startswith(
            (self.address, self.address.replace("http", "ws", 1), "data:", "blob:")
        ):
            self.outside.append(request.url)

    def open(self, path):
        """Open a page and wait until it is connected."""
        self.page.goto(self.address + path)
        self.page.wait_for_function("window.socket && window.socket.connected")
        return self.page

    @property
    def query(self):
        """The state in the address line."""
        return dict(parse_qsl(urlsplit(self.page.url).query, keep_blank_values=True))

    def until(self, **wanted):
        """Wait until the address line says so; None for a value that is not there."""
        for name, value in wanted.items():
            self.page.wait_for_function(
                "([name, value]) => new URL(location.href).searchParams.get(name) === value",
                arg=[name, None if value is None else str(value)],
            )

    def hear(self, words):
        """Wait until a notification said this, gone again or not."""
        self.page.wait_for_function("words => window.said.some(said => said.includes(words))", arg=words)

    def close(self):
        """Leave, and complain about what went wrong."""
        self.context.close()
        assert self.troubles == []
        assert self.outside == []


@pytest.fixture
def visit(address, browser):
    """Visitors, each of whom must meet no trouble."""
    came = []

    def visitor(**more):
        came.append(Visitor(browser, address, **more))
        return came[-1]

    yield visitor
    for each in came:
        each.close()
