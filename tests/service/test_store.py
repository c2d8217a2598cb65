"""A store that something happened to: damage, a full disk, a second owner, a clock that goes backwards."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.service.server import served

from rosenblatt.service import store as store_module
from rosenblatt.service.maintenance import Export, compact, verify
from rosenblatt.service.recent import Recent
from rosenblatt.service.schemas import Example, ModelSettings
from rosenblatt.service.store import Fresh, Locked, Store, StoreBroken
from rosenblatt.service.writer import LocalModels
from rosenblatt.web.refusals import BadMessage, Gone, Offline

ROOM = 1 << 16


def opened(folder, **options):
    return LocalModels(folder, recent_bytes=ROOM, **options)


def examples(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        features = {f"f{rng.randrange(30)}": rng.uniform(-1, 1) for _ in range(5)}
        yield Example(features=features), rng.choice("ab")


def taught(folder, n=50, one_by_one=False):
    """Return models with two snapshots, and some feedback after the newer one."""
    models = opened(folder)
    models.create("m")
    for seed in (0, 1, 2):
        if seed:
            models.snapshot("m")
        for pairs in [[pair] for pair in examples(seed, n)] if one_by_one else [examples(seed, n)]:
            models.learn("m", pairs)
    return models


def fingerprint(models):
    return models.info("m", fingerprint=True).fingerprint


def snapshots(folder):
    """Return the files of snapshots, the newest first."""
    return sorted(
        (folder / "snapshots").glob("*.safetensors"), key=lambda file: -int(file.stem.split("-")[1])
    )


def flipped(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("place", [3, 40, -1, "middle"])
@pytest.mark.parametrize("both", [False, True])
def test_a_flipped_bit_in_a_snapshot_falls_back_to_the_one_before(tmp_path, place, both):
    models = taught(tmp_path)
    before = fingerprint(models)
    models.close(snapshot=False)
    newest, older = snapshots(tmp_path)
    for file in (newest, older) if both else (newest,):
        flipped(file, file.stat().st_size // 2 if place == "middle" else place)
    again = opened(tmp_path)
    assert [tried.file for tried in again.passed_over] == (
        [newest.name, older.name] if both else [newest.name]
    )
    assert again.replayed == (150 if both else 100)
    assert fingerprint(again) == before
    again.close(snapshot=False)
    _, [verdict] = verify(tmp_path)
    assert len(verdict.problems) == (2 if both else 1)
    assert verdict.fingerprint == before


@pytest.mark.parametrize("harm", ["cut", "empty", "gone"])
def test_half_a_snapshot_is_passed_over(tmp_path, harm):
    models = taught(tmp_path)
    before = fingerprint(models)
    models.close(snapshot=False)
    newest = snapshots(tmp_path)[0]
    if harm == "gone":
        newest.unlink()
    else:
        newest.write_bytes(newest.read_bytes()[: 100 if harm == "cut" else 0])
    again = opened(tmp_path)
    assert again.replayed == 100
    assert fingerprint(again) == before
    again.close()


def left_behind(folder):
    """Leave a store as a killed process does: its log not yet in the database."""
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path;"
        "from tests.service.test_store import taught; taught(Path(sys.argv[1]), one_by_one=True); os._exit(9)"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program, str(folder), str(root)], check=False)


def test_a_truncated_log_is_served_only_where_nothing_was_lost_that_a_snapshot_has(tmp_path):
    left_behind(tmp_path / "whole")
    size = (tmp_path / "whole" / "journal.sqlite3-wal").stat().st_size
    assert size > 100_000
    rng, clocks, reasons = random.Random(3), set(), set()
    for at, cut in enumerate([size // 3, *(rng.randrange(size) for _ in range(7)), size - 9000, size - 20]):
        folder = tmp_path / str(at)
        shutil.copytree(tmp_path / "whole", folder)
        (folder / "journal.sqlite3-shm").unlink()
        with (folder / "journal.sqlite3-wal").open("r+b") as log:
            log.truncate(cut)
        try:
            models = opened(folder)
        except StoreBroken as error:  # cut before the model was made
            reasons.add(str(error))
            continue
        if "m" in models.offline:
            reasons.add(models.offline["m"].reason)
            assert models.store.journal_size() < 100
        else:
            clock = models.info("m").clock
            seqs = [entry.seq for entry in models.store.entries(models.model("m").number, 0)]
            assert seqs == list(range(1, clock + 1))
            assert clock >= 100
            clocks.add(clock)
        models.close(snapshot=False)
    assert len(clocks) >= 2
    assert any("holds feedback up to 100" in reason for reason in reasons)


def test_a_damaged_feedback_is_named_not_learned(tmp_path):
    models = taught(tmp_path)
    models.close(snapshot=False)
    with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
        [features] = db.execute("SELECT features FROM journal WHERE seq = 140").fetchone()
        db.execute("UPDATE journal SET features = ? WHERE seq = 140", (features.replace(b"0.", b"1.", 1),))
    db.close()
    models = opened(tmp_path)
    with pytest.raises(Offline, match=r"feedback 140 is damaged.*rosenblatt store repair --model m"):
        models.model("m")
    models.close()
    _, [verdict] = verify(tmp_path)
    assert any("140" in problem for problem in verdict.problems)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "journal.sqlite3").write_bytes(b"nonsense" * 1000)
    with pytest.raises(StoreBroken, match="cannot be opened as a store"):
        opened(tmp_path)


def test_a_second_owner_is_refused_and_the_first_goes_on(tmp_path):
    models = opened(tmp_path)
    models.create("m")
    with pytest.raises(Locked, match=rf"another process \({os.getpid()}\) has this store open"):
        opened(tmp_path)
    models.feedback("m", "a", Example(features={"x": 1.0}))
    models.close()
    opened(tmp_path).close()


def test_a_clock_that_goes_backwards_changes_nothing(tmp_path, monkeypatch):
    moments = iter(range(10**9, 0, -1000))
    monkeypatch.setattr(store_module.time, "time", lambda: float(next(moments)))
    models = taught(tmp_path)
    before = fingerprint(models)
    models.close(snapshot=False)
    monkeypatch.undo()
    again = opened(tmp_path)
    assert again.replayed == 50
    assert fingerprint(again) == before
    assert [line.seq for line in again.ledger("m", 0, 1000)] == sorted(
        line.seq for line in again.ledger("m", 0, 1000)
    )
    again.close()


def test_a_key_is_taken_once_within_a_batch_and_for_ever(tmp_path):
    store = Store(tmp_path)
    number = store.add_model("m", ModelSettings())
    batch = [Fresh(number, {"x": float(at)}, "a", key) for at, key in enumerate(["k", None, "l"])]
    first = store.append([*batch, batch[0]])
    assert [(kept.seq, kept.repeated) for kept in first] == [(1, False), (2, False), (3, False), (1, True)]
    other = batch[0]._replace(label="b")
    assert store.append([other])[0] == (1, True, True)
    store.close()
    store = Store(tmp_path)
    assert store.append([batch[2], batch[1]]) == [(3, True, False), (4, False, False)]
    store.close()


def test_sequence_numbers_are_never_used_again(tmp_path):
    models = taught(tmp_path)
    last = models.store.last_seq
    models.close()
    compact(tmp_path)
    models = opened(tmp_path)
    assert models.feedback("m", "a", Example(features={"x": 1.0})).seq == last + 1
    models.close()


def test_nor_those_of_a_model_that_was_deleted(tmp_path):
    models = taught(tmp_path)
    models.create("other")
    models.delete("m")
    models.close()
    models = opened(tmp_path)
    assert models.feedback("other", "a", Example(features={"x": 1.0})).seq == 151
    models.close()


def test_compaction_keeps_the_model_its_keys_and_its_ledger(tmp_path):
    models = taught(tmp_path)
    models.feedback("m", "a", Example(features={"x": 1.0}), key="k")
    before, lines = fingerprint(models), models.ledger("m", 0, 1000)
    models.close()
    told = compact(tmp_path)
    assert told["feedbacks_dropped"] == 151
    models = opened(tmp_path)
    assert fingerprint(models) == before
    assert models.ledger("m", 0, 1000) == lines
    assert models.feedback("m", "a", Example(features={"x": 1.0}), key="k").repeated
    for example, label in examples(7, 20):
        models.feedback("m", label, example)
    after = fingerprint(models)
    models.close(snapshot=False)
    again = opened(tmp_path)
    assert again.replayed == 20
    assert fingerprint(again) == after
    again.close()
    general, [verdict] = verify(tmp_path)
    assert (general, verdict.problems, verdict.fingerprint) == ([], (), after)


def test_a_damaged_base_is_said_not_guessed(tmp_path):
    taught(tmp_path).close()
    compact(tmp_path)
    with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
        db.execute("UPDATE bases SET content = zeroblob(length(content))")
    db.close()
    models = opened(tmp_path)
    with pytest.raises(Offline, match="restore the store from a copy"):
        models.model("m")
    models.close()


def test_an_export_teaches_the_same_model(tmp_path):
    models = taught(tmp_path / "one")
    before = fingerprint(models)
    models.close()
    with served(tmp_path / "two") as service:
        service.put("m")
        told = service.client.post("/v1/models/m/learn", content=b"\n".join(Export(tmp_path / "one", None)))
        assert told.json()["learned"] == 150
        assert service.get("m", fingerprint=True).json()["fingerprint"] == before


def test_a_bad_example_ends_a_bulk_after_all_before_it_are_learned(tmp_path):
    models = opened(tmp_path)
    models.create("m")
    with pytest.raises(BadMessage, match="label is 7"):
        models.learn("m", [(Example(text="a"), "x"), (Example(text="b"), "y"), (Example(text="c"), 7)])
    assert models.info("m").clock == 2
    models.close()


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    taught(tmp_path).close()
    (tmp_path / "snapshots" / ".1-100.safetensors.abc").write_bytes(b"half")
    (tmp_path / ".download-x").mkdir()
    opened(tmp_path).close()
    assert not [*tmp_path.glob(".*"), *(tmp_path / "snapshots").glob(".*")]


# A disk that takes no more


def test_a_full_store_refuses_feedback_and_goes_on_predicting(tmp_path):
    with served(tmp_path / "store", most_pages=40) as service:
        service.put("m")
        taken, answer = 0, None
        for example, label in examples(0, 5000):
            message = {"features": {**example.features, "padding" * 20: 1.0}, "label": label}
            answer = service.post("m/feedback", **message)
            if answer.status_code != 200:
                break
            taken += 1
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert "was not learned from" in answer.json()["message"]
        assert service.client.get("/readyz").status_code == 503
        assert service.get("m").json()["clock"] == taken
        assert service.post("m/predict", text="still there").status_code == 200
        before = service.get("m", fingerprint=True).json()["fingerprint"]
        service.models.store._db.execute("PRAGMA max_page_count=100000")  # somebody made room
        assert service.post("m/feedback", text="again", label="a").status_code == 200
        assert service.client.get("/readyz").status_code == 200
        after = service.get("m", fingerprint=True).json()["fingerprint"]
        assert after != before
    again = opened(tmp_path / "store")
    assert again.info("m").clock == taken + 1
    assert fingerprint(again) == after
    again.close()


SMALL_DISK = """
import resource, signal, sys
from pathlib import Path
from rosenblatt.service.schemas import Example
from rosenblatt.service.writer import LocalModels
models = LocalModels(sys.argv[1], recent_bytes=1 << 16)
models.create("before")  # what is compiled for it is written to files, too: before they may not grow
for at in range(3):
    models.feedback("before", "ab"[at % 2], Example(features={f"f{at}": 1.0 + at}))
models.predict("before", [Example(features={"f1": 1.0})])
models.info("before", fingerprint=True)
models.create("m")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
taken = 0
try:
    for at in range(5000):
        models.feedback("m", "ab"[at % 2], Example(features={f"f{at % 50}": 1.0 + at}))
        taken += 1
except Exception as error:
    print(type(error).__name__, error, file=sys.stderr)
models.predict("m", [Example(features={"f1": 1.0})])
print(taken, models.info("m", fingerprint=True).fingerprint, flush=True)
import os; os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_disk_that_fills_up_loses_nothing_that_was_acknowledged(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, str(tmp_path)], capture_output=True, text=True, check=True
    )
    taken, known = told.stdout.split()
    assert 0 < int(taken) < 5000, told.stderr
    again = opened(tmp_path)
    assert again.info("m").clock - int(taken) in (
        0,
        1,
    )  # the one that failed may be there: it was not acknowledged
    if again.info("m").clock == int(taken):
        assert fingerprint(again) == known
    again.close()


READ_ONLY = """
import os, sys
from pathlib import Path
from rosenblatt.service.schemas import Example
from rosenblatt.service.writer import LocalModels
folder = Path(sys.argv[1])
models = LocalModels(folder, recent_bytes=1 << 16)
models.create("m")
models.feedback("m", "a", Example(features={"x": 1.0}))
models.close()
LocalModels(folder, recent_bytes=1 << 16).close()
for file in [folder, *folder.rglob("*")]:
    if os.getuid() == 0:
        os.chown(file, 65534, 65534)
for file in [folder, *folder.rglob("*")] if sys.argv[2] == "folder" else [folder / "journal.sqlite3"]:
    file.chmod(0o500 if file.is_dir() else 0o400)
if os.getuid() == 0:  # who may write everywhere
    os.setegid(65534)
    os.seteuid(65534)
try:
    LocalModels(folder, recent_bytes=1 << 16)
except (OSError, ValueError) as error:
    print(type(error).__name__, error)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions")
@pytest.mark.parametrize("what", ["folder", "journal"])
def test_a_read_only_store_is_refused_in_words(what):
    with tempfile.TemporaryDirectory() as above:  # which another user may enter
        Path(above).chmod(0o755)
        folder = Path(above) / "store"
        command = [sys.executable, "-c", READ_ONLY, str(folder), what]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        folder.chmod(0o700)
    assert str(folder) in told
    assert "ermission denied" in told or "readonly" in told or "read-only" in told or "unable to open" in told


# The ring of predictions


def test_the_ring_finds_what_it_has_not_overwritten(tmp_path):
    ring, rng = Recent(tmp_path / "recent", room=4096), random.Random(0)
    kept = {}
    for at in range(2000):
        payload = bytes(rng.randrange(256) for _ in range(rng.randrange(0, 300)))
        kept[f"{ring.keep(at, payload)}.0"] = (at, payload, 0)
        if rng.random() < 0.01:
            ring.close()
            ring = Recent(tmp_path / "recent", room=4096)
    found = 0
    for name, expected in kept.items():
        try:
            assert ring.find(name) == expected
            found += 1
        except Gone:
            assert expected[0] < 2000 - 13  # a ring of 4096 bytes holds at least so many
    assert found >= 13
    ring.close()


def test_the_ring_believes_nothing_that_was_changed(tmp_path):
    ring = Recent(tmp_path / "recent", room=4096)
    name = ring.keep(1, b"payload") + ".0"
    assert ring.dirty
    ring.close()
    flipped(tmp_path / "recent", 64 + 16 + 4 + 2)
    ring = Recent(tmp_path / "recent", room=4096)
    with pytest.raises(Gone):
        ring.find(name)
    ring.close()
    ring = Recent(tmp_path / "recent", room=8192)  # another size is another ring
    with pytest.raises(Gone):
        ring.find(name)
    ring.close()


def test_feedback_waits_for_nobody_longer_than_the_queue(tmp_path):
    with served(tmp_path / "store", most_waiting=0) as service:
        answer = service.client.put("/v1/models/m")
        assert answer.status_code == 201
        refused = service.post("m/feedback", text="a", label="b")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert service.get("m").json()["clock"] == 0
