"""Kill -9 at random moments under load: what was acknowledged is there, once, and the model is the journal's."""

import contextlib
import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.patience import SECONDS

from rosenblatt.service.care import verify
from rosenblatt.service.model import Model
from rosenblatt.service.models import Models
from rosenblatt.service.store import Store

ROUNDS = int(os.environ.get("ROSENBLATT_KILLS", "50"))
CLIENTS = 4
SNAPSHOT_EVERY = 60

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork, no kill -9")


class Killed(Exception):
    """The server is gone."""


class Client:
    """Sends feedback until the server dies; what was in flight then is sent again to the next server."""

    def __init__(self, number):
        self.number, self.count, self.rng = number, 0, random.Random(number)
        self.flying = None  # sent, and not acknowledged
        self.acknowledged = {}  # key -> seq

    def fresh(self):
        self.count += 1
        features = {f"f{self.rng.randrange(40)}": round(self.rng.uniform(-2, 2), 3) for _ in range(6)}
        label = self.rng.choice(["a", "b", "c"] if self.count > 30 else ["a", "b"])  # a class that comes late
        return {"features": features, "label": label, "key": f"{self.number}-{self.count}"}

    def run(self, port, acknowledged):
        """Send until the connection breaks; tell of every acknowledgement."""
        wire = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        try:
            while True:
                if self.flying is None:
                    self.flying = self.fresh()
                message = dict(self.flying)
                if self.rng.random() < 0.3:  # by the id of a prediction
                    told = asked(wire, "predict", {"features": message["features"], "reasons": 1})
                    del message["features"]
                    message["prediction"] = told["id"]
                change = asked(wire, "feedback", message)
                assert self.acknowledged.setdefault(message["key"], change["seq"]) == change["seq"]
                if self.rng.random() < 0.1:  # a client that did not hear the answer
                    again = asked(wire, "feedback", message)
                    assert (again["seq"], again["repeated"]) == (change["seq"], True)
                self.flying = None
                acknowledged()
        except (OSError, http.client.HTTPException, Killed):
            pass
        finally:
            wire.close()


def asked(wire, way, message):
    wire.request("POST", f"/v1/models/m/{way}", json.dumps(message), {"content-type": "application/json"})
    answer = wire.getresponse()
    content = answer.read()
    if not content:
        raise Killed
    assert answer.status == 200, content
    return json.loads(content)


class Zygote:
    """The process that becomes servers."""

    def __init__(self, folder):
        program = Path(__file__).with_name("zygote.py")
        self.process = subprocess.Popen(
            [sys.executable, str(program), str(folder), str(SNAPSHOT_EVERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def server(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        pid, port = self.process.stdout.readline().split()
        return int(pid), int(port)

    def wait_for_death(self):
        assert self.process.stdout.readline() == "dead\n"

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def one_round(zygote, clients, rng):
    """Start a server, load it, kill it at an acknowledgement while others fly; return its first fingerprint."""
    pid, port = zygote.server()
    wire = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    wire.request("GET", "/v1/models/m?fingerprint=true")
    found = json.loads(wire.getresponse().read())["fingerprint"]
    wire.close()
    lock, left, later = threading.Lock(), [rng.randrange(1, 120)], rng.choice([0.0, rng.uniform(0.0, 0.02)])

    def acknowledged():
        with lock:
            left[0] -= 1
            struck = left[0] == 0
        if struck:
            time.sleep(later)  # any moment, not only that of an answer
            os.kill(pid, signal.SIGKILL)

    threads = [threading.Thread(target=client.run, args=(port, acknowledged)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    zygote.wait_for_death()
    return found


def journal_of(folder):
    """Return seq by key, and how many feedbacks there are."""
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite3")) as db:
        keys = dict(db.execute("SELECT key, seq FROM keys"))
        count, distinct = db.execute("SELECT count(*), count(DISTINCT seq) FROM journal").fetchone()
    assert count == distinct == len(keys) == len(set(keys.values()))
    return keys


def test_killed_at_random_moments_nothing_is_lost_and_nothing_twice(tmp_path):
    folder = tmp_path / "store"
    models = Models(folder, recent_bytes=1 << 18)
    models.create("m")
    number, settings = models.model("m").number, models.model("m").settings
    models.close()
    clean = Model(number, "m", settings)  # a replay from nothing, never through a snapshot
    clients, rng = [Client(at) for at in range(CLIENTS)], random.Random(2026)
    zygote = Zygote(folder)
    try:
        for _ in range(ROUNDS):
            store = Store(folder)
            for entry in store.entries(number, clean.counts.seq):
                clean.replay(*entry)
            store.close()
            assert one_round(zygote, clients, rng) == clean.learner.fingerprint()
            keys = journal_of(folder)
            for client in clients:
                assert all(keys[key] == seq for key, seq in client.acknowledged.items())
    finally:
        zygote.close()
    assert sum(len(client.acknowledged) for client in clients) > ROUNDS
    general, [verdict] = verify(folder)
    assert (general, verdict.problems) == ([], ())
    assert verdict.feedbacks == len(journal_of(folder))
    assert not [file.name for file in (folder / "snapshots").iterdir() if file.name.startswith(".")]


def test_a_server_told_to_stop_answers_first_and_leaves_nothing_to_replay(tmp_path):
    folder = tmp_path / "store"
    models = Models(folder, recent_bytes=1 << 18)
    models.create("m")
    models.close()
    zygote = Zygote(folder)
    client = Client(0)
    try:
        pid, port = zygote.server()
        left = [40]

        def acknowledged():
            left[0] -= 1
            if left[0] == 0:
                os.kill(pid, signal.SIGTERM)

        client.run(port, acknowledged)
    finally:
        zygote.close()
    models = Models(folder, recent_bytes=1 << 18)
    assert models.replayed == 0
    assert models.info("m").clock == len(journal_of(folder))
    models.close()
