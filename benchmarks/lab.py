"""The time of a step in the lab: at 500 points in a real browser, and for forty visitors who step at once."""

import asyncio
import json
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from benchmarks.measure import Ratios, milliseconds
from benchmarks.turns import LAB_STATES, LAB_STEP

ASKED = 0.1  # seconds
RUNS = 15
VISITORS, EVERY, LONG = 40, 2.0, 20.0  # seconds between two steps of a visitor, and of all
CROWD_ASKED = 0.15  # seconds, of the slowest step of twenty


@contextmanager
def lab(*options: str) -> Iterator[str]:
    """Start a lab of the version on the path; its first line is where it answers."""
    program = "from rosenblatt.cli import main; main()"
    command = [sys.executable, "-c", program, "lab", "--port", "0", "--no-open", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip()
        finally:
            running.terminate()


def main() -> None:
    steps_in_a_browser()
    forty_visitors()


def steps_in_a_browser() -> None:
    table = Ratios("The lab: from click to redrawn page, 500 points (asked: within 100 ms)")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        table.left_out("a step in the browser", "needs playwright and Chromium")
        table.show()
        return
    with lab() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        for what, path in LAB_STATES.items():
            page.goto(address + path)
            page.wait_for_function("window.socket && window.socket.connected")
            for name in ("Step", "Update"):
                times = []
                for _ in range(RUNS):
                    if page.get_by_role("button", name=name, exact=True).is_disabled():  # a clean pass
                        page.get_by_role("button", name="Restart").click()
                        page.wait_for_function("!location.href.includes('clock')")
                    times.append(page.evaluate(LAB_STEP, name))
                told = f"{milliseconds(min(times))}, median {milliseconds(statistics.median(times))}"
                table.add(f"{name.lower()}: {what}", told, milliseconds(ASKED), ASKED / min(times), 1.0)
        browser.close()
    table.show()


# A class


class Visitor:
    """One who joined: a page, its connection, and the button that steps it."""

    def __init__(self, join_link: str, number: int) -> None:
        self.join_link, self.number = join_link, number
        self.times: list[float] = []
        self._updated = asyncio.Event()

    async def come(self, session: Any) -> None:
        """Join, load a page of one's own, and connect as its script does."""
        import socketio

        address = f"{self.join_link}&next=/?n={60 + self.number}%26data=overlapping%26noise=0.6"
        async with session.get(address) as answer:
            page = await answer.text()
        found = re.search(r"\{'client_id': '([^']+)', 'next_message_id': (\d+)", page)
        assert found is not None
        self.client = found[1]
        elements = json.loads(re.search(r"String\.raw`(.*?)`", page, re.DOTALL)[1])  # type: ignore[index]
        self.button, listener = next(
            (int(key), each["events"][0]["listener_id"])
            for key, each in elements.items()
            if each.get("props", {}).get("label") == "Step"
        )
        self.listener = listener
        self.socket = socketio.AsyncClient(http_session=session)
        self.socket.on("update", self._update)
        parts = urlsplit(self.join_link)
        query = f"client_id={self.client}&next_message_id={found[2]}&implicit_handshake=true"
        query += f"&tab_id={self.client}&document_id={self.client}"
        await self.socket.connect(
            f"http://{parts.netloc}?{query}", transports=["websocket"], socketio_path="/_nicegui_ws/socket.io"
        )

    async def _update(self, _: Any) -> None:
        self._updated.set()

    async def step(self) -> None:
        """Press Step, and wait for what changes on the page."""
        self._updated.clear()
        started = perf_counter()
        event = {"id": self.button, "client_id": self.client, "listener_id": self.listener, "args": []}
        await self.socket.emit("event", event)
        await self._updated.wait()
        self.times.append(perf_counter() - started)


async def _crowd(join_link: str) -> list[float]:
    import aiohttp

    sessions = [aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) for _ in range(VISITORS)]
    visitors = [Visitor(join_link, number) for number in range(VISITORS)]
    for visitor, session in zip(visitors, sessions, strict=True):
        await visitor.come(session)

    async def visit(visitor: Visitor) -> None:
        await asyncio.sleep(EVERY * visitor.number / VISITORS)
        began = perf_counter()
        while perf_counter() - began < LONG:
            due = perf_counter() + EVERY
            await visitor.step()
            await asyncio.sleep(max(0.0, due - perf_counter()))

    await asyncio.gather(*(visit(visitor) for visitor in visitors))
    for visitor, session in zip(visitors, sessions, strict=True):
        await visitor.socket.disconnect()
        await session.close()
    return [seconds for visitor in visitors for seconds in visitor.times]


def forty_visitors() -> None:
    table = Ratios(f"A lab for a class: {VISITORS} visitors, each stepping every {EVERY:g} s")
    try:
        import aiohttp  # noqa: F401
        import socketio  # noqa: F401
    except ImportError as error:
        table.left_out("a step among forty", f"needs {error.name}")
        table.show()
        return
    with lab("--host", "0.0.0.0") as join_link:
        times = sorted(asyncio.run(_crowd(join_link)))
    p95 = times[int(0.95 * len(times))]
    told = f"p95 {milliseconds(p95)}, median {milliseconds(statistics.median(times))}, {len(times)} steps"
    table.add(
        "from the click to what changes, at the visitor",
        told,
        milliseconds(CROWD_ASKED),
        CROWD_ASKED / p95,
        1.0,
    )
    table.show()


if __name__ == "__main__":
    main()
