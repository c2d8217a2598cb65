"""Kill -9 at random moments under load: what was acknowledged is there once, every model bit for bit its replay.

The load (:mod:`tests.service.load`) creates, teaches, snapshots, undoes and deletes models of several rules and
hypotheses, whose names and classes come in over time. The oracle is a plain sequence of ``learn`` on what the clients
sent, in the order of the sequence numbers that were acknowledged; it never reads the journal's content or a snapshot.
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.service.load import NAMES, SETTINGS, bits

from rosenblatt.service.maintenance import compact, verify
from rosenblatt.service.model import Model

ROUNDS = int(os.environ.get("ROSENBLATT_KILLS", "50"))
SNAPSHOT_EVERY = 25
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork, no kill -9")


class Oracle:
    """A model as clients know it: what they sent and what was acknowledged, learned one after the other."""

    def __init__(self, number, name, settings):
        self.number, self.name, self.settings = number, name, SETTINGS[settings]
        self.rows = {}  # seq -> (features, label)
        self._model, self._learned = None, []

    def bits(self):
        """Return the digest of a plain replay; only what is new is learned unless something was taken back."""
        wanted = sorted(self.rows)
        if self._model is None or wanted[: len(self._learned)] != self._learned:
            self._model, self._learned = Model(self.number, self.name, self.settings), []
        for seq in wanted[len(self._learned) :]:
            features, label = self.rows[seq]
            self._model.replay(seq, features, label)
        self._learned = wanted
        return bits(self._model)


class Journal:
    """What is on disk after a kill, read with plain SQL."""

    def __init__(self, folder):
        self.folder = folder
        with contextlib.closing(sqlite3.connect(folder / "journal.sqlite3")) as db:
            self.models = dict(db.execute("SELECT number, name FROM models"))
            self.keys = {
                (model, key): seq for model, key, seq in db.execute("SELECT model, key, seq FROM keys")
            }
            self.rows = {}
            for seq, model in db.execute("SELECT seq, model FROM journal ORDER BY seq"):
                self.rows.setdefault(model, []).append(seq)
            self.bases = dict(db.execute("SELECT model, seq FROM bases"))
            self.owners = set()
            for table in ("journal", "keys", "ledger", "snapshots", "bases"):
                self.owners |= {row[0] for row in db.execute(f"SELECT DISTINCT model FROM {table}")}


class Load:
    """The process that becomes services, and what its clients said."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.load", str(folder), str(SNAPSHOT_EVERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )

    def round(self, seed, resend, rng):
        """Start a service, kill it after some acknowledgements; return how its models were and all that was said."""
        self.process.stdin.write((json.dumps({"seed": seed, "resend": resend}) + "\n").encode())
        self.process.stdin.flush()
        start = self.line()
        left, later = rng.randrange(1, 90), rng.choice([0.0, rng.uniform(0.0, 0.01)])
        said = []
        while left:
            said.append(self.line())
            left -= "done" in said[-1]
        time.sleep(later)  # any moment, not only that of an answer
        os.kill(start["pid"], signal.SIGKILL)
        while "dead" not in (line := self.line()):
            said.append(line)
        return start, said

    def line(self):
        line = json.loads(self.process.stdout.readline())
        assert "failed" not in line, line
        return line

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class World:
    """What must be true of the store, from what clients said alone."""

    def __init__(self):
        self.oracles = {}  # by number
        self.deleted = set()
        self.acknowledged = 0

    def hear(self, said):
        """Take in acknowledgements; return what had been begun and was not answered."""
        open_ = {}
        for line in said:
            if "begun" in line:
                open_[line["begun"]] = line
            elif "refused" in line:
                begun = open_.pop(line["refused"])
                assert line["status"] in (404, 409, 410), (begun, line)
            else:
                self.acknowledge(open_.pop(line["done"]), line["answer"])
        return list(open_.values())

    def acknowledge(self, begun, answer):
        what, number = begun["what"], begun.get("model")
        if what == "create" and answer is not None:
            self.oracles[answer] = Oracle(answer, begun["name"], begun["settings"])
        elif what == "delete" and answer:
            self.deleted.add(number)
            self.oracles.pop(number, None)
        elif what == "undo" and answer is not None and number in self.oracles:
            self.oracles[number].rows.pop(begun["seq"], None)
        elif what == "feedback" and answer is not None:
            self.acknowledged += 1
            self.learn(begun, answer[0], repeated=answer[1])

    def learn(self, begun, seq, repeated=False):
        oracle = self.oracles.get(begun["model"])
        if oracle is not None and not repeated:
            assert seq not in oracle.rows
            oracle.rows[seq] = (begun["features"], begun["label"])

    def settle(self, begun, journal):
        """Find out on disk whether something took effect that was not answered; return what may be sent again."""
        what, number = begun["what"], begun.get("model")
        if what == "create":
            for known, name in journal.models.items():
                if name == begun["name"] and known not in self.oracles and known not in self.deleted:
                    self.oracles[known] = Oracle(known, name, begun["settings"])
        elif what == "delete" and number not in journal.models:
            self.deleted.add(number)
            self.oracles.pop(number, None)
        elif what == "undo" and number in self.oracles:
            gone = begun["seq"] not in journal.rows.get(number, ())
            if gone and begun["seq"] > journal.bases.get(number, 0):
                self.oracles[number].rows.pop(begun["seq"], None)
        elif what == "feedback" and number in self.oracles:
            seq = journal.keys.get((number, begun["key"]))
            if seq is not None and seq not in self.oracles[number].rows:
                self.learn(begun, seq)
            return {name: begun[name] for name in ("name", "model", "key", "features", "label")}
        return None

    def compare(self, journal):
        """Assert that the journal has what was acknowledged, no more and no less, and nothing of what was deleted."""
        assert {number: oracle.name for number, oracle in self.oracles.items()} == journal.models
        for number, oracle in self.oracles.items():
            after = [seq for seq in sorted(oracle.rows) if seq > journal.bases.get(number, 0)]
            assert journal.rows.get(number, []) == after, (number, oracle.name)
        assert journal.owners <= set(journal.models)


def test_killed_at_random_moments_every_model_is_bit_for_bit_its_replay(tmp_path):
    folder, rng, world, resend = tmp_path / "store", random.Random(2026), World(), []
    load = Load(folder)
    kinds = set()
    try:
        for number in range(ROUNDS + 1):
            start, said = load.round(number, resend, rng)
            expected = {str(oracle.number): oracle.bits() for oracle in world.oracles.values()}
            assert start["offline"] == []
            assert start["models"] == expected, number
            open_ = world.hear(said)
            journal = Journal(folder)
            # deletes last: what was begun before them may have been stored first and have gone with them
            open_.sort(key=lambda begun: begun["what"] == "delete")
            resend = [message for begun in open_ if (message := world.settle(begun, journal)) is not None]
            world.compare(journal)
            kinds |= {oracle.settings.rule for oracle in world.oracles.values()}
            if number % 20 == 19:
                compact(folder)
    finally:
        load.close()
    assert world.acknowledged > ROUNDS
    assert len(kinds) > 3
    assert world.deleted
    assert len(world.oracles) <= len(NAMES)
    general, verdicts = verify(folder)
    assert not any(verdict.problems for verdict in verdicts)
    left = [problem for problem in general if "files that no model owns" not in problem]
    assert left == []  # a killed process may leave a file, which the next start removes
    compact(folder)
    assert verify(folder)[0] == []
