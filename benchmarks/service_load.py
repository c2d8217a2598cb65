"""Load on a server over loopback: wrk where it is installed, else a small client of our own, which says so."""

import asyncio
import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

WRK = shutil.which("wrk")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
SCRIPT = """
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
local bodies = { %s }
local at = 0
request = function() at = at %% #bodies + 1; return wrk.format("POST", nil, nil, bodies[at]) end
%s
"""


class Load(NamedTuple):
    """What a server did under load."""

    rate: float  # requests a second
    p50: float
    p99: float
    failed: int


def tool() -> str:
    """Return the name of what makes the load."""
    return "wrk" if WRK else "a Python client (install wrk for a real one)"


def start(url: str, bodies: list[bytes], seconds: int, connections: int = 16, delay: int = 0) -> "Running":
    """Begin to post the bodies in turn; with a delay in milliseconds after each answer."""
    return Running(url, bodies, seconds, connections, delay)


def load(url: str, bodies: list[bytes], seconds: int, connections: int = 16) -> Load:
    """Post the bodies in turn, and return what happened."""
    return start(url, bodies, seconds, connections).result()


class Running:
    """Load under way."""

    def __init__(self, url: str, bodies: list[bytes], seconds: int, connections: int, delay: int) -> None:
        self._plan = (url, bodies, seconds, connections, delay)
        self._process: subprocess.Popen[str] | None = None
        if WRK is None:
            return
        texts = ", ".join(f"[[{body.decode()}]]" for body in bodies)
        pause = f"delay = function() return {delay} end" if delay else ""
        with tempfile.NamedTemporaryFile("w", suffix=".lua", delete=False) as file:
            file.write(SCRIPT % (texts, pause))
        self._script = Path(file.name)
        self._process = subprocess.Popen(
            [WRK, "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", file.name, url],
            stdout=subprocess.PIPE,
            text=True,
        )

    def result(self) -> Load:
        """Wait for the end, and return what happened."""
        if self._process is None:
            return asyncio.run(_by_hand(*self._plan))
        text = self._process.communicate()[0]
        self._script.unlink()
        failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        return Load(
            float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
            _percentile(text, 50),
            _percentile(text, 99),
            int(failed[1]) if failed else 0,
        )


def _percentile(text: str, percent: int) -> float:
    number, unit = re.search(rf"{percent}%\s+([\d.]+)(us|ms|s|m)", text).groups()  # type: ignore[union-attr]
    return float(number) * UNITS[unit]


async def _by_hand(url: str, bodies: list[bytes], seconds: int, connections: int, delay: int) -> Load:
    host, _, rest = url.removeprefix("http://").partition(":")
    port, _, path = rest.partition("/")
    took: list[float] = []
    failed = 0
    until = time.perf_counter() + seconds

    async def one(number: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection(host, int(port))
        at = number
        while time.perf_counter() < until:
            body = bodies[at % len(bodies)]
            at += 1
            began = time.perf_counter()
            head = f"POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"content-length: (\d+)", answer)[1]))  # type: ignore[index]
            failed += not answer.startswith(b"HTTP/1.1 2")
            took.append(time.perf_counter() - began)
            if delay:
                await asyncio.sleep(delay / 1000)
        writer.close()

    await asyncio.gather(*map(one, range(connections)))
    took.sort()
    return Load(len(took) / seconds, took[len(took) // 2], took[len(took) * 99 // 100], failed)


def as_bodies(messages: list[dict[str, object]]) -> list[bytes]:
    """Return messages as the bytes that are posted."""
    return [json.dumps(message).encode() for message in messages]
