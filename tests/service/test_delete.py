"""What is deleted is gone: ordered with what waits in the queue, and after ``compact`` in no byte of any file."""

import asyncio
import random
import sqlite3
import threading

import pytest
from tests.cli.commands import run, run_well
from tests.service.server import served

from rosenblatt.service.maintenance import compact, verify
from rosenblatt.service.models import Models
from rosenblatt.service.schemas import Example, ModelSettings
from rosenblatt.service.writer import LocalModels, Service
from rosenblatt.web.refusals import Unknown

ROOM = 1 << 16
MARKER = "Xyzzy7Marker"
TABLES = ("journal", "keys", "ledger", "snapshots", "bases")


def opened(folder, **options):
    return LocalModels(folder, recent_bytes=ROOM, **options)


def files_with(folder, marker=MARKER):
    """Return the files of a folder that hold a text, in UTF-8 or UTF-16."""
    wanted = [marker.lower().encode(), marker.lower().encode("utf-16-le")]
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(text in path.read_bytes().lower() for text in wanted)
    ]


def rows_of_no_model(folder):
    with sqlite3.connect(folder / "journal.sqlite3") as db:
        counts = [
            db.execute(
                f"SELECT count(*) FROM {table} WHERE model NOT IN (SELECT number FROM models)"
            ).fetchone()[0]
            for table in TABLES
        ]
    db.close()
    return sum(counts)


def teach(models, name, marker, n=40):
    rng = random.Random(n)
    for at in range(n):
        features = {f"{marker}{rng.randrange(50)}": 1.0, "x": rng.uniform(-1, 1)}
        models.feedback(name, rng.choice([marker, "other"]), Example(features=features), key=f"{marker}-{at}")
        if at % 10 == 0:
            models.predict(name, [Example(features=features)])
            models.snapshot(name)


def test_after_compaction_no_file_holds_a_byte_of_what_was_deleted(tmp_path):
    folder = tmp_path / "store"
    models = opened(folder)
    for name, marker in (("kept", "Stays"), ("gone", MARKER), (f"named-{MARKER}", MARKER)):
        models.create(name, ModelSettings(classes=[marker]))
        teach(models, name, marker)
    models.close()
    compact(folder)  # so that there are bases
    models = opened(folder)
    teach(models, "gone", f"{MARKER}again", 30)
    teach(models, "kept", "Staysagain", 30)
    (folder / "snapshots" / ".upload-abc.safetensors").write_bytes(MARKER.encode())
    (folder / ".download-x").mkdir()
    (folder / ".download-x" / "model.safetensors").write_bytes(MARKER.encode())
    assert files_with(folder)
    for name in ("gone", f"named-{MARKER}"):
        models.delete(name)
    models.close()
    run_well(["store", "compact", "--data", str(folder)])
    assert files_with(folder) == []
    assert files_with(folder, "stays")
    run_well(["store", "verify", "--data", str(folder)])


def test_deletes_under_load_leave_no_row_and_no_file(tmp_path):
    """Feedback, snapshots and undo of the same model wait in the queue while it is deleted, again and again."""
    folder = tmp_path / "store"

    async def load():
        service = Service(Models(folder, recent_bytes=ROOM), snapshot_every=7)
        service.start()
        stop, refused = asyncio.Event(), [0]

        async def teach_forever(client):
            rng, at = random.Random(client), 0
            while not stop.is_set():
                at += 1
                name = f"m{rng.randrange(3)}"
                try:
                    await service.create(name)
                    many = [
                        service.feedback(
                            name,
                            rng.choice("abc"),
                            Example(features={f"n{at}-{k}": 1.0}),
                            key=f"{client}-{at}-{k}",
                        )
                        for k in range(4)
                    ]
                    changes = await asyncio.gather(*many, return_exceptions=True)
                    refused[0] += sum(isinstance(change, Unknown) for change in changes)
                    unexpected = [
                        each
                        for each in changes
                        if isinstance(each, Exception) and not isinstance(each, Unknown)
                    ]
                    assert not unexpected
                    if at % 3 == 0:
                        await service.snapshot(name)
                    if at % 5 == 0 and not isinstance(changes[0], Unknown):
                        await service.undo(name, changes[0].seq)
                except Unknown:
                    refused[0] += 1

        async def delete_often():
            for _ in range(60):
                while not service.models.names:
                    await asyncio.sleep(0)
                await service.delete(service.models.names[0])
            stop.set()

        await asyncio.gather(delete_often(), *(teach_forever(client) for client in range(5)))
        assert refused[0] > 0
        await service.stop()

    asyncio.run(load())
    assert rows_of_no_model(folder) == 0
    general, verdicts = verify(folder)
    assert general == []
    assert not any(verdict.problems for verdict in verdicts)


def test_a_feedback_that_waits_behind_a_delete_is_refused_with_404(tmp_path):
    with served(tmp_path / "store") as service:
        service.put("m")
        statuses = []

        def send():
            with_own = service.post("m/feedback", features={"x": 1.0}, label="a")
            statuses.append(with_own.status_code)

        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads[:4]:
            thread.start()
        assert service.client.delete("/v1/models/m").status_code == 204
        for thread in threads[4:]:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) <= {200, 404}
        assert statuses.count(404) >= 4
    assert rows_of_no_model(tmp_path / "store") == 0


@pytest.fixture
def littered(tmp_path):
    """A store as the version before left it: rows and files of models that were deleted."""
    folder = tmp_path / "store"
    models = opened(folder)
    models.create("m")
    models.learn("m", [(Example(text="hello"), "a"), (Example(text="you"), "b")])
    models.close()
    with sqlite3.connect(folder / "journal.sqlite3") as db:
        db.execute("INSERT INTO journal VALUES (900, 77, 0, ?, ?, 0)", (b'"a"', MARKER.encode()))
        db.execute("INSERT INTO keys VALUES (77, ?, 900, 0)", (MARKER,))
        db.execute("INSERT INTO ledger VALUES (77, 900, 1, ?, 'null', 0, 0, 0, 0)", (MARKER.encode(),))
        db.execute("INSERT INTO snapshots VALUES (77, 900, '77-900.safetensors', '', 0)")
    db.close()
    for name in ("77-900.safetensors", "77-1.safetensors", ".77-2.safetensors.abc"):
        (folder / "snapshots" / name).write_bytes(MARKER.encode())
    return folder


def test_orphans_are_reported_and_swept_at_start(littered):
    verdict = run(["store", "verify", "--data", str(littered)])
    assert verdict.exit_code == 1
    for part in (
        "1 journal rows",
        "1 ledger rows",
        "1 keys rows",
        "snapshot or temporary files",
        "store compact",
    ):
        assert part in verdict.stdout
    assert rows_of_no_model(littered) == 4  # looking changes nothing
    models = opened(littered)
    assert (
        models.feedback("m", "a", Example(text="more")).seq == 901
    )  # a number that was used is not used again
    models.close()
    assert rows_of_no_model(littered) == 0
    assert len(list((littered / "snapshots").iterdir())) == 2  # at close, and of the start before
    run_well(["store", "verify", "--data", str(littered)])


def test_orphans_are_swept_by_compaction(littered):
    compact(littered)
    assert files_with(littered) == []
    run_well(["store", "verify", "--data", str(littered)])
