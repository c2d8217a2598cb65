"""A server of one's own, started as a user starts it, and a real Chromium to look at its pages."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.lab.conftest import Visitor, browser  # noqa: F401 (a fixture)
from tests.mail.messages import letter, mbox, message
from tests.patience import SECONDS

from rosenblatt.mail.filter import import_sorted
from rosenblatt.mail.folders import sorted_mail
from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.mail.message import read_mail
from rosenblatt.service.writer import LocalModels

ARTEFACTS = Path(__file__).parents[3] / "build" / "screenshots"  # not in git


class Server:
    """``rosenblatt serve`` on a folder, at a free port; it can be killed and started again."""

    def __init__(self, folder, *options):
        self.folder, self._options = folder, options
        self.start()

    def start(self):
        """Start it and wait until it says where it is."""
        command = [sys.executable, "-c", "from rosenblatt.cli import main; main()", "serve", "--data", str(self.folder),
                   "--port", "0", *self._options]  # fmt: skip
        self.log = (self.folder.parent / f"{self.folder.name}.log").open("ab")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self._process.stdout.readline()
        assert " at http://127.0.0.1:" in line, Path(self.log.name).read_text()
        self.address = line.split()[-1]

    def ask(self, method, path, **options):
        """Ask it over HTTP, patiently: it may have to compile what it learns with."""
        return httpx.request(method, self.address + path, timeout=SECONDS, **options)

    def stop(self, kill=False):
        """Stop it, by a word or by force."""
        (self._process.kill if kill else self._process.terminate)()
        self._process.wait(SECONDS)
        self._process.stdout.close()
        self.log.close()


@pytest.fixture
def serve(tmp_path):
    """Servers, stopped in the end."""
    with contextlib.ExitStack() as running:

        def started(*options, name="store"):
            server = Server(tmp_path / name, *options)
            running.callback(server.stop)
            return server

        yield started


@pytest.fixture
def visit(browser):  # noqa: F811
    """Visitors, each of whom must meet no trouble: no error in the console, no request to elsewhere."""
    came = []

    def visitor(server, path="/", connected=True, **more):
        came.append(Visitor(browser, server.address, **more))
        if connected:
            came[-1].open(path)
        return came[-1]

    yield visitor
    for each in came:
        each.close()


@pytest.fixture
def keep_picture(request):
    """Keep a picture of a page under ``build/screenshots``, or in the folder that ROSENBLATT_ARTEFACTS names."""
    folder = Path(os.environ.get("ROSENBLATT_ARTEFACTS", ARTEFACTS))
    folder.mkdir(parents=True, exist_ok=True)

    def keep(page, name):
        path = folder / f"{name}.png"
        page.screenshot(path=path)
        assert path.stat().st_size > 10_000

    return keep


@pytest.fixture(scope="session")
def box_file(tmp_path_factory):
    """An mbox: two messages that matter, one that does not, one like the first, and some hostile ones."""
    path = tmp_path_factory.mktemp("mail") / "new.mbox"
    path.write_bytes(
        mbox(
            [
                message(
                    "Budget decision",
                    "The deadline for the contract is Friday.",
                    sender="ann@work.example",
                    hours=9,
                ),
                message("Contract review", "Please send your signature before the deadline.", hours=8),
                message(
                    "Great sale", "A discount and a prize, click to win", sender="shop@sale.example", hours=7
                ),
                message("Deadline moved", "The contract and the budget wait for a decision.", hours=6),
                message(
                    "<script>window.boom = 1</script><b>bold</b>",
                    "<img src=x onerror='window.boom = 2'> & {{ 7 * 7 }} javascript:alert(1)",
                    sender="<i>Mallory</i> <mallory@evil.example>",
                    html="<p>said in HTML</p><script>window.boom = 3</script><img src='http://evil.example/pixel.gif'>",
                    hours=5,
                ),
            ]
        )
    )
    return path


@pytest.fixture(scope="session")
def taught(tmp_path_factory):
    """A server whose filter has learned from sixty messages and has twenty new ones to mark."""
    folder = tmp_path_factory.mktemp("taught")
    for name, important in (("Starred", True), ("INBOX", False)):
        seeds = range(0 if important else 1, 60, 2)
        (folder / f"{name}.mbox").write_bytes(mbox([letter(seed, important) for seed in seeds]))
    models = LocalModels(folder / "store")
    box = Mailbox(models.store.folder)
    import_sorted(models, box, sorted_mail(folder, ["Starred"], ["INBOX"]))
    box.add([read_mail(letter(seed, seed % 3 == 0)) for seed in range(100, 120)])
    box.close()
    models.close()
    server = Server(folder / "store")
    yield server
    server.stop()
