"""The service under load on loopback: predictions, durable feedback, both at once, a restart, and memory.

``python -m benchmarks service``. Server and load tool share this machine's cores; ratios are taken within one run, the
contestants taking turns. ``ROSENBLATT_JOURNAL`` is how many feedbacks the restart has behind it (1,000,000).
"""

import contextlib
import http.client
import importlib.util
import itertools
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

from benchmarks.measure import Ratios
from benchmarks.service_load import as_bodies, load, start, tool
from rosenblatt.mail.filter import import_sorted
from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.mail.message import read_mail
from rosenblatt.service.schemas import Example, ModelSettings
from rosenblatt.service.writer import LocalModels

SECONDS, ROUNDS = 3, 4
FEATURES, BODIES = 20, 64
JOURNAL = int(os.environ.get("ROSENBLATT_JOURNAL", "1000000"))
TAIL = 20_000  # at most so many feedbacks come after the newest snapshot, by default
PREDICTIONS = 1_000_000
CLASSES = 50
MAILS = 3000


def examples(n: int, seed: int = 0) -> Iterator[tuple[dict[str, float], str]]:
    """Yield examples of 20 named numbers, and labels that a plane separates but for a tenth of them."""
    rng = random.Random(seed)
    names = [f"feature{at}" for at in range(FEATURES)]
    for _ in range(n):
        values = [round(rng.uniform(-1, 1), 4) for _ in names]
        label = "ab"[(sum(values[:10]) > sum(values[10:])) ^ (rng.random() < 0.1)]
        yield dict(zip(names, values, strict=True)), label


PREDICT = as_bodies([{"features": x} for x, _ in examples(BODIES)])
FEEDBACK = as_bodies([{"features": x, "label": y} for x, y in examples(BODIES)])


def ask(port: int, method: str, path: str, message: Any = None) -> Any:
    """Send a request, again and again until somebody listens."""
    for _ in range(6000):
        wire = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with contextlib.closing(wire), contextlib.suppress(ConnectionRefusedError):
            body = None if message is None else json.dumps(message)
            wire.request(method, path, body, {"content-type": "application/json"} if body else {})
            return json.loads(wire.getresponse().read() or b"null")
        time.sleep(0.01)
    raise ConnectionError(f"nobody listens on port {port}")


class Server:
    """A process that listens on a port of loopback."""

    def __init__(self, arguments: list[str], port: int) -> None:
        self.url, self.port = f"http://127.0.0.1:{port}", port
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def ask(self, method: str, path: str, message: Any = None) -> Any:
        """Send a request, again and again until somebody listens."""
        return ask(self.port, method, path, message)

    def resident(self) -> float:
        """Return the memory that it has, in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def stop(self) -> None:
        """Tell it to stop, and wait."""
        self.process.terminate()
        self.process.wait()


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def ours(folder: Path, pages: bool = False) -> Server:
    port = free_port()
    command = "from rosenblatt.cli import main; main()"
    options = ["serve", "--data", str(folder), "--port", str(port), *([] if pages else ["--no-pages"])]
    return Server(["-c", command, *options], port)


def plain() -> Server:
    port = free_port()
    return Server(["-m", "benchmarks.service_plain", str(port)], port)


def flush_seconds(folder: Path) -> float:
    """Return how long the disk takes to make 8 kB durable, in the middle of 50 tries."""
    took = []
    with (folder / "flushed").open("wb") as file:
        for _ in range(50):
            began = time.perf_counter()
            file.write(bytes(8192))
            file.flush()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return sorted(took)[25]


def rates(table: Ratios, folder: Path) -> None:
    """Predict against plain FastAPI, feedback against predict, and the tail of predict while feedback runs."""
    service, peer = ours(folder), plain()
    service.ask("PUT", "/v1/models/m")
    peer.ask("POST", "/predict", {"features": {"a": 1.0}})
    model = f"{service.url}/v1/models/m"
    load(f"{model}/feedback", FEEDBACK, 1)
    runs = [
        (
            load(f"{peer.url}/predict", PREDICT, SECONDS),
            load(f"{model}/predict", PREDICT, SECONDS),
            load(f"{model}/feedback", FEEDBACK, SECONDS),
        )
        for _ in range(ROUNDS)
    ]
    peer.stop()
    assert not any(each.failed for run in runs for each in run)
    theirs, predict, feedback = (max(run[at].rate for run in runs) for at in range(3))
    table.add(
        "predict, 20 features, 5 reasons, 16 connections, one process",
        f"{predict:,.0f}/s",
        f"{theirs:,.0f}/s FastAPI + Pydantic",
        predict / theirs,
        1.3,
    )
    table.add(
        "feedback, on disk before it is acknowledged", f"{feedback:,.0f}/s", f"{predict:,.0f}/s predict",
        feedback / predict, 0.7,
    )  # fmt: skip
    half = feedback / 2
    tails = []
    pause = max(1, round(16_000 / half - 16_000 / feedback))  # milliseconds, after each answer
    connections = 16
    for _ in range(2 * ROUNDS):
        beside = start(f"{model}/feedback", FEEDBACK, SECONDS + 1, connections, delay=pause)
        found = load(f"{model}/predict", PREDICT, SECONDS)
        rate = beside.result().rate
        tails.append((rate >= 0.9 * half, found.p50 / found.p99, rate, found))
        if rate < 0.9 * half:  # predictions push it aside: push back
            connections, pause = (connections, pause // 2) if pause else (connections + 8, 0)
    reached, _, rate, found = max(tails)
    table.add(
        f"p99 of predict while feedback runs at {rate:,.0f}/s "
        f"({'half of its most' if reached else f'not quite half: {half:,.0f}/s'}), within 5 times p50",
        f"p99 {1000 * found.p99:.2f} ms",
        f"p50 {1000 * found.p50:.2f} ms",
        5 * found.p50 / found.p99,
        1.0,
    )
    service.stop()


def memory(table: Ratios, folder: Path) -> None:
    """A million predictions, a thousand to a request, and what the process has before and after."""
    service = ours(folder)
    many = {"examples": [{"features": x} for x, _ in examples(1000)]}
    for _ in range(PREDICTIONS // 10_000):
        service.ask("POST", "/v1/models/m/predict", many)
    before = service.resident()
    for _ in range(PREDICTIONS // 1000):
        service.ask("POST", "/v1/models/m/predict", many)
    after = service.resident()
    service.stop()
    table.add(
        f"memory after {PREDICTIONS:,} predictions more", f"{after:.1f} MB", f"{before:.1f} MB before",
        before / after, 0.97,
    )  # fmt: skip


def restart(table: Ratios, folder: Path) -> None:
    """A store with a million feedbacks; how long until a new process is ready to take the next."""
    models = LocalModels(folder)
    models.create("m")
    for count in (JOURNAL - TAIL, TAIL):
        models.learn("m", ((Example(features=x), y) for x, y in examples(count, seed=count)))
        if count != TAIL:
            models.snapshot("m")
    models.close(snapshot=False)
    times = []
    for _ in range(3):
        service = ours(folder)
        answer = service.ask("GET", "/readyz")
        times.append(time.perf_counter() - service.began)
        assert answer == {"status": "ready"}
        assert service.ask("GET", "/v1/models/m")["clock"] == JOURNAL
        service.process.kill()  # without a snapshot, so that the next one has as much to do
        service.process.wait()
    table.add(
        f"restart with {JOURNAL:,} feedbacks journalled, {TAIL:,} after the snapshot",
        f"{min(times):.2f} s",
        "5 s",
        5 / min(times),
        1.0,
    )


def ask_for_much(port: int, begun: Any) -> None:
    """Send predicts as large as allowed, explain and fingerprint, for ever."""
    rng = random.Random(0)
    names = [f"name {at}" for at in range(10_000)]
    many = [{"features": dict.fromkeys(rng.sample(names, 100), 1.0)} for _ in range(1000)]
    while True:
        answer = ask(port, "POST", "/v1/models/wide/predict", {"examples": many})
        identifier = answer["predictions"][0]["id"]
        for path in (f"/explain?prediction={identifier}", "/explain", "?fingerprint=true"):
            ask(port, "GET", f"/v1/models/wide{path}")
        begun.set()


def beside_large_requests(table: Ratios, folder: Path) -> None:
    """The tail of one client's predict while another explains, fingerprints and sends predicts as large as allowed."""
    service = ours(folder)
    service.ask("PUT", "/v1/models/wide", {"classes": [f"class {at}" for at in range(CLASSES)]})
    names = [f"name {at}" for at in range(10_000)]
    for at in range(4):
        wide = {"features": dict.fromkeys(names, 1.0), "label": f"class {at}"}
        service.ask("POST", "/v1/models/wide/feedback", wide)
    idle = slowest_of_hundred(service, SECONDS)
    spawning = multiprocessing.get_context("spawn")
    begun = spawning.Event()
    other = spawning.Process(target=ask_for_much, args=(service.port, begun))
    other.start()
    begun.wait()
    busy = min(slowest_of_hundred(service, SECONDS) for _ in range(ROUNDS))
    assert other.is_alive()
    other.kill()
    other.join()
    service.stop()
    table.add(
        f"p99 of predict while another client explains, fingerprints and sends 1,000 examples, {CLASSES} classes: "
        "within 60 ms",
        f"{1000 * busy:.1f} ms",
        f"{1000 * idle:.1f} ms idle",
        0.060 / busy,
        1.0,
    )


def slowest_of_hundred(service: Server, seconds: float) -> float:
    """Return the 99th percentile of the seconds that a predict takes, one after the other."""
    one = {"features": {"name 1": 1.0, "name 2": -1.0}}
    took, until = [], time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        service.ask("POST", "/v1/models/wide/predict", one)
        took.append(time.perf_counter() - began)
    return sorted(took)[len(took) * 99 // 100]


def click_through_mail(port: int, program: str, begun: Any) -> None:
    """Correct messages, take it back, search, open messages and look at the model page in a browser, for ever."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(120_000)
        for turn in itertools.count():
            page.goto(f"http://127.0.0.1:{port}/")
            rows = page.locator(".mail-row")
            rows.first.wait_for()
            begun.set()
            for at in range(5):
                word = ("Important", "Not important")[(at + turn) % 2]
                rows.nth(at).get_by_role("button", name=word, exact=True).click()
                rows.nth(at).locator(".mail-change").wait_for()
            page.get_by_role("button", name="undo").click()
            rows.nth(6).locator(".mail-subject").click()
            page.get_by_label("Search messages").fill(f"subject {turn % 10}")
            page.wait_for_timeout(500)
            page.goto(f"http://127.0.0.1:{port}/model")
            page.locator(".mail-ledger").wait_for()


def beside_mail(table: Ratios, folder: Path) -> None:
    """The tail of one client's predict while a person clicks through an inbox of some thousand messages."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    what = f"p99 of predict while a browser clicks through {MAILS:,} messages of mail: within 60 ms"
    if program is None or importlib.util.find_spec("playwright") is None:
        table.left_out(what, "needs Chromium and playwright")
        return
    models, box = LocalModels(folder), None
    try:
        box = Mailbox(folder)
        import_sorted(
            models, box, ((read_mail(mail(at)), ("important", "not")[at % 2]) for at in range(MAILS))
        )
        models.create("wide", ModelSettings(classes=["a", "b"]))
    finally:
        if box is not None:
            box.close()
        models.close()
    service = ours(folder, pages=True)
    service.ask("GET", "/readyz")
    idle = slowest_of_hundred(service, SECONDS)
    spawning = multiprocessing.get_context("spawn")
    begun = spawning.Event()
    person = spawning.Process(target=click_through_mail, args=(service.port, program, begun))
    person.start()
    begun.wait(120)
    busy = min(slowest_of_hundred(service, 2 * SECONDS) for _ in range(ROUNDS))
    assert person.is_alive()
    person.terminate()
    person.join()
    service.stop()
    table.add(what, f"{1000 * busy:.1f} ms", f"{1000 * idle:.1f} ms idle", 0.060 / busy, 1.0)


def mail(at: int) -> bytes:
    """Return a made-up message."""
    rng = random.Random(at)
    words = " ".join("".join(rng.choices("abcdefgh", k=4)) for _ in range(150))
    kind = "budget contract" if at % 2 == 0 else "sale prize"
    head = f"From: a{at % 50}@b{at % 7}.example\nSubject: subject {at} {kind}\nDate: {formatdate(1e9 + 600 * at)}\n"
    return f"{head}\n{kind} {words}".encode()


def main() -> None:
    table = Ratios(f"the service on loopback; load by {tool()}, which shares {os.cpu_count()} cores with it")
    with tempfile.TemporaryDirectory() as folder:
        flush = flush_seconds(Path(folder))
        rates(table, Path(folder) / "rates")
        memory(table, Path(folder) / "rates")
        beside_large_requests(table, Path(folder) / "large")
        beside_mail(table, Path(folder) / "mail")
        restart(table, Path(folder) / "restart")
    most = 16 / flush
    table.note(
        f"a flush of this disk took {1000 * flush:.2f} ms before the run: "
        f"16 connections that wait for theirs make at most {most:,.0f} feedbacks a second"
    )
    if os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1):
        table.note("the machine was busy with other things: trust the ratios, not the rates")
    table.show()


if __name__ == "__main__":
    main()
