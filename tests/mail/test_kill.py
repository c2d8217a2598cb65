"""Killed at any moment: what was acknowledged is there, once, and journal, box and model say the same."""

import random
import subprocess
import sys
from pathlib import Path

from tests.mail.messages import letter

from rosenblatt.mail.filter import settle
from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.mail.marks import MODEL, SETTINGS
from rosenblatt.mail.message import read_mail
from rosenblatt.service.schemas import Example
from rosenblatt.service.writer import LocalModels

ROUNDS = 4
ROOT = Path(__file__).parents[2]


def killed_after(folder, seed, lines):
    """Let answers be given until so many were acknowledged; kill; return all that was acknowledged."""
    command = [sys.executable, "-m", "tests.mail.answering", str(folder), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        told = [process.stdout.readline().split() for _ in range(lines + 1)]
        process.kill()
        told += [line.split() for line in process.stdout if line.endswith("\n")]
    assert told[0] == ["ready"]
    return told[1:]


def test_what_was_acknowledged_is_there_once_and_all_records_agree(tmp_path):
    folder, rng = tmp_path / "store", random.Random(3)
    models = LocalModels(folder, recent_bytes=1 << 16)
    models.create(MODEL, SETTINGS)
    box = Mailbox(folder)
    box.add([read_mail(letter(seed, seed % 2 == 0)) for seed in range(20)])
    box.close()
    models.close()
    said = undone = 0
    for seed in range(ROUNDS):
        told = killed_after(folder, seed, rng.randrange(3, 60))
        said += sum(line[0] == "said" for line in told)
        undone += sum(line[0] == "undone" for line in told)
        models = LocalModels(folder, recent_bytes=1 << 16)
        box = Mailbox(folder)
        settle(models, box)
        number = models.model(MODEL).number
        rows = box._read(
            "SELECT message, label, seq, undone FROM answers WHERE model = ? ORDER BY seq", (number,)
        )
        assert all(seq is not None for _, _, seq, taken in rows if not taken)
        assert said <= len(rows) <= said + 1  # one may have been on its way
        assert undone <= sum(taken > 0 for *_, taken in rows) <= undone + 1
        standing = [(message, label) for message, label, _, taken in rows if not taken]
        assert [entry.label for entry in models.store.entries(number, 0)] == [label for _, label in standing]
        assert fingerprint(models) == fingerprint_of(tmp_path / f"clean{seed}", box, standing)
        models.close(snapshot=False)
        box.close()
        said, undone = len(rows), sum(taken > 0 for *_, taken in rows)


def fingerprint(models):
    return models.info(MODEL, fingerprint=True).fingerprint


def fingerprint_of(folder, box, answers):
    """Return the fingerprint of a clean model that was told these answers, in order."""
    clean = LocalModels(folder, recent_bytes=1 << 16)
    clean.create(MODEL, SETTINGS)
    clean.learn(MODEL, [(Example(features=box.features(message)), label) for message, label in answers])
    found = fingerprint(clean)
    clean.close(snapshot=False)
    return found
