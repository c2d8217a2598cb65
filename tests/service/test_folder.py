"""The folder of a store: private, locked, and damaged; stores of version 0.1."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import run, run_well
from tests.service.server import served
from tests.service.test_store import examples, fingerprint, left_behind, opened, taught

from rosenblatt.mail.mailbox import Mailbox, StoredMail
from rosenblatt.service.maintenance import compact, verify
from rosenblatt.service.model import Model
from rosenblatt.service.schemas import Example
from rosenblatt.service.snapshots import digest_of
from rosenblatt.service.store import Locked, OpenToOthers, Store, StoreBroken, settings_from
from rosenblatt.web.refusals import Conflict

OLD = Path(__file__).parents[1] / "fixtures" / "v0.1"
posix = pytest.mark.skipif(os.name != "posix", reason="no such permissions")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# Permissions


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_is_private_whatever_the_umask(tmp_path, umask):
    folder, before = tmp_path / "new" / "store", os.umask(umask)
    try:
        models = taught(folder)
        Mailbox(folder).close()
        models.predict("m", [Example(text="hello")])
        paths = [folder, *folder.rglob("*")]
        assert {"journal.sqlite3-wal", "recent", "lock", "snapshots"} <= {path.name for path in paths}
        assert {path: oct(mode(path)) for path in paths if mode(path) & 0o077} == {}
        models.close()
        compact(folder)
    finally:
        os.umask(before)
    assert [path for path in [folder, *folder.rglob("*")] if mode(path) & 0o077] == []


@posix
@pytest.mark.parametrize("bits", [0o755, 0o750, 0o701, 0o770, 0o777])
def test_a_folder_that_others_can_read_is_refused_with_the_command_that_mends_it(tmp_path, bits):
    folder = tmp_path / "a store"
    taught(folder).close()
    folder.chmod(bits)
    with pytest.raises(OpenToOthers, match=f"chmod go-rwx '{folder}'") as refused:
        opened(folder)
    assert mode(folder) == bits  # never changed silently
    for command in (["serve", "--check", "--port", "0"], ["store", "verify"], ["store", "compact"]):
        answer = run([*command, "--data", str(folder)])
        assert answer.exit_code == 2
        assert f"chmod go-rwx '{folder}'" in answer.stderr
    subprocess.run(["sh", "-c", str(refused.value).partition("with: ")[2]], check=True)
    opened(folder).close()


@posix
def test_a_folder_of_snapshots_that_others_can_read_is_refused(tmp_path):
    taught(tmp_path).close()
    (tmp_path / "snapshots").chmod(0o755)
    with pytest.raises(OpenToOthers, match=f"chmod go-rwx {tmp_path / 'snapshots'}"):
        opened(tmp_path)


# The lock


@pytest.mark.parametrize("harm", ["delete", "replace"])
def test_deleting_a_file_does_not_free_the_lock(tmp_path, harm):
    models = opened(tmp_path)
    (tmp_path / "lock").unlink()
    if harm == "replace":
        (tmp_path / "lock").write_bytes(b"1")
    with pytest.raises(Locked):
        opened(tmp_path)
    models.create("m")
    models.close()
    opened(tmp_path).close()


def test_an_owner_of_the_version_before_is_respected(tmp_path):
    """It locked the file alone."""
    fcntl = pytest.importorskip("fcntl")
    opened(tmp_path).close()
    with (tmp_path / "lock").open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(Locked):
            opened(tmp_path)
    opened(tmp_path).close()


@pytest.mark.parametrize("harm", ["delete", "replace"])
def test_a_journal_that_is_no_longer_there_is_not_written_to(tmp_path, harm):
    """SQLite would go on writing to a file that has no name: acknowledged, and lost."""
    with served(tmp_path / "store") as service:
        service.put("m")
        journal = tmp_path / "store" / "journal.sqlite3"
        assert service.post("m/feedback", text="a", label="x").status_code == 200
        moved = journal.rename(tmp_path / "elsewhere")
        if harm == "replace":
            shutil.copy(moved, journal)
        answer = service.post("m/feedback", text="b", label="y")
        assert answer.status_code == 503
        assert "deleted or replaced" in answer.json()["message"]
        assert service.client.get("/readyz").status_code == 503
        moved.rename(journal)


# Damage


def test_a_flipped_bit_in_the_log_takes_the_model_offline_and_repair_brings_it_back(tmp_path):
    """SQLite drops everything after a damaged frame of its log: half the rows, though snapshots hold them."""
    folder = tmp_path / "store"
    left_behind(folder)
    log = folder / "journal.sqlite3-wal"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(bytes(content))
    (folder / "journal.sqlite3-shm").unlink()
    models = opened(folder)
    assert "m" in models.offline
    assert "holds feedback up to 100" in models.offline["m"].reason
    models.create("other")
    assert models.feedback("other", "a", Example(text="x")).seq > 100  # no number is used twice
    models.close()
    again = opened(folder)
    assert "m" in again.offline  # still, though the journal is as long as the snapshot again
    again.close()
    verdict = run(["store", "verify", "--data", str(folder)])
    assert verdict.exit_code == 1
    run_well(["store", "repair", "--data", str(folder), "--model", "m"])
    models = opened(folder)
    assert models.info("m").clock == 100
    expected = opened(tmp_path / "replayed")
    expected.create("m")
    for seed in (0, 1):
        expected.learn("m", examples(seed, 50))
    assert fingerprint(models) == fingerprint(expected)
    expected.close()
    models.close()
    run_well(["store", "verify", "--data", str(folder)])


@pytest.mark.parametrize("damage", ["a column of another name", "a page of zeros"])
def test_a_journal_whose_tables_cannot_be_read_is_refused_with_the_way_out(tmp_path, damage):
    """SQLite opens such a file, and fails where its pages are read."""
    taught(tmp_path).close()
    path = tmp_path / "journal.sqlite3"
    content = bytearray(path.read_bytes())
    with sqlite3.connect(path) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'models'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    if damage == "a page of zeros":
        content[(root - 1) * size : root * size] = bytes(size)
    else:
        content[:size] = content[:size].replace(b"settings", b"sEttingz")
    path.write_bytes(bytes(content))
    with pytest.raises(StoreBroken, match="restore the folder from a copy"):
        opened(tmp_path)
    for command in ("serve --check", "store verify", "store compact", "store export --model m"):
        answer = run([*command.split(), "--data", str(tmp_path)])
        assert answer.exit_code == 2, command
        assert "restore the folder from a copy" in " ".join(answer.output.split())


@pytest.mark.parametrize("seq", [20, 140])
def test_a_damaged_row_is_reported_and_never_learned(tmp_path, seq):
    models = taught(tmp_path)
    before = fingerprint(models)
    models.close(snapshot=False)
    with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
        db.execute("UPDATE journal SET label = ? WHERE seq = ?", (b'"b"' if seq == 20 else b'"q"', seq))
        db.execute("UPDATE journal SET checksum = checksum + 1 WHERE seq = ?", (seq,))
    db.close()
    models = opened(tmp_path)
    if seq == 20:  # the newest snapshot holds what the row said
        assert fingerprint(models) == before
    else:
        assert "feedback 140 is damaged" in models.offline["m"].reason
    models.close(snapshot=False)
    assert run(["store", "verify", "--data", str(tmp_path)]).exit_code == 1
    repaired = run_well(["store", "repair", "--data", str(tmp_path), "--model", "m"]).stdout
    assert ("dropped 140" in repaired) == (seq == 140)
    models = opened(tmp_path)
    assert models.info("m").clock == (150 if seq == 20 else 149)
    models.close()


def test_random_flips_in_the_database_stop_at_the_model_they_hit(tmp_path):
    """Whatever bit of the database is wrong: served as it was, offline, or refused in words; never another model."""
    models = taught(tmp_path / "whole", n=20)
    before = fingerprint(models)
    models.close(snapshot=False)
    content = (tmp_path / "whole" / "journal.sqlite3").read_bytes()
    outcomes = set()
    for at in range(100, len(content), len(content) // 24):
        folder = tmp_path / str(at)
        shutil.copytree(tmp_path / "whole", folder)
        flipped = bytearray(content)
        flipped[at] ^= 4
        (folder / "journal.sqlite3").write_bytes(bytes(flipped))
        try:
            models = opened(folder)
        except ValueError:
            outcomes.add("refused")
            continue
        if "m" in models.offline or "m" not in models:
            outcomes.add("offline")
        else:
            assert fingerprint(models) == before
            outcomes.add("served")
        models.close(snapshot=False)
    assert "served" in outcomes


# Version 0.1


@pytest.fixture
def old(tmp_path):
    """A store that version 0.1 wrote: seven models and mail, two snapshots of each, feedback after them."""
    shutil.copytree(OLD / "store", tmp_path / "store")
    for path in [tmp_path / "store", *(tmp_path / "store").rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o644)  # its files were readable, in a folder that was not
    return tmp_path / "store"


def test_a_store_of_version_0_1_opens_with_the_models_it_was_closed_with(old):
    """Feedback after the snapshots is replayed: equal in every bit, or up to rounding."""
    written = json.loads((OLD / "store.json").read_text())
    models = opened(old)
    assert not models.offline
    assert models.passed_over == []
    for name, clock in written["clocks"].items():
        info = models.info(name, fingerprint=True)
        assert info.clock == clock, name
        if info.fingerprint != written["fingerprints"][name]:
            learner, weights = models.model(name).learner, np.array(written["weights"][name])
            replayed = learner.learner.weights(learner.hypothesis)[:, : weights.shape[1]]
            np.testing.assert_allclose(replayed, weights, rtol=0, atol=1e-9 * np.abs(weights).max())
    with pytest.raises(Conflict):
        models.feedback("plain", "x", Example(features={"new": 1.0}), key="plain-0")
    models.feedback("late", 7, Example(features={"new": 1.0}))
    after = {name: models.info(name, fingerprint=True).fingerprint for name in models.names}
    models.close(snapshot=False)
    again = opened(old)
    assert {name: again.info(name, fingerprint=True).fingerprint for name in again.names} == after
    again.close()


def test_a_store_of_version_0_1_verifies_compacts_and_keeps_its_mail(old):
    general, verdicts = verify(old, [StoredMail()])
    assert general == []
    assert not any(verdict.problems for verdict in verdicts)
    assert sum(verdict.feedbacks for verdict in verdicts) == 7 * 24 + 4
    compact(old, [StoredMail()])
    box = Mailbox(old)
    assert box.count() == 4
    box.close()
    run_well(["store", "verify", "--data", str(old)])


def test_the_lock_is_between_processes_too(tmp_path):
    models = opened(tmp_path)
    (tmp_path / "lock").unlink()
    program = "import sys; from rosenblatt.service.writer import LocalModels; LocalModels(sys.argv[1])"
    answer = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "another process (" in answer.stderr
    models.close()


@pytest.mark.parametrize(("factor", "noticed"), [(1.0 + 1e-12, False), (1.001, True)])
def test_verify_compares_snapshots_with_a_replay_up_to_rounding(tmp_path, factor, noticed):
    """Another version or CPU may round products differently; anything more is another model."""
    taught(tmp_path).close()
    store = Store(tmp_path)
    [(number, name, settings)] = store.models()
    seq, file, _ = store.snapshots(number)[0]
    path = tmp_path / "snapshots" / file
    model = Model(number, name, settings_from(settings))
    model.load(path)
    model.learner.learner.W *= factor
    model.save(path)
    path.chmod(0o600)
    with store.transaction() as db:
        db.execute("UPDATE snapshots SET digest = ? WHERE seq = ?", (digest_of(path), seq))
    store.close()
    [verdict] = verify(tmp_path)[1]
    assert (f"snapshot {file} is not what a replay of the journal gives" in verdict.problems) == noticed
