"""The group commit: order, failure and closing, as seen from the event loop."""

import asyncio
import sqlite3
import threading

import pytest
from tests.patience import SECONDS

from rosenblatt.service import writer
from rosenblatt.service.models import Models
from rosenblatt.service.schemas import Example, feedback_on
from rosenblatt.service.snapshots import freeze, model_from_file
from rosenblatt.service.store import OWNED
from rosenblatt.service.writer import LocalModels, Service
from rosenblatt.web.refusals import Closing, Conflict, StoreDown, Unknown

ROOM = 1 << 16


def example(at):
    return Example(features={f"f{at % 7}": 1.0 + at, "g": -0.5 * at})


async def running(folder, **options):
    service = Service(Models(folder, recent_bytes=ROOM), **options)
    service.start()
    await service.create("m")
    return service


def fingerprint_of(folder):
    for file in (folder / "snapshots").iterdir():
        file.unlink()  # so that the journal alone speaks
    models = LocalModels(folder, recent_bytes=ROOM)
    found = models.info("m", fingerprint=True)
    models.close()
    return found.clock, found.fingerprint


def test_many_at_once_share_a_flush_and_are_learned_in_the_journal_s_order(tmp_path):
    async def main():
        service = await running(tmp_path)
        flushed = threading.Event()  # the disk is busy until all have come
        before = asyncio.ensure_future(service.run(flushed.wait))
        coming = [
            asyncio.ensure_future(service.feedback("m", "ab"[at % 2], example(at))) for at in range(200)
        ]
        await asyncio.sleep(0)  # all are in the queue
        flushed.set()
        changes = await asyncio.gather(*coming)
        assert await before
        assert [change.clock for change in changes] == list(range(1, 201))
        assert [change.seq for change in changes] == list(range(1, 201))
        assert service.commits == 1
        told = service.models.info("m", fingerprint=True)
        await service.stop()
        return told.clock, told.fingerprint

    assert asyncio.run(main()) == fingerprint_of(tmp_path)


@pytest.mark.parametrize("there", [False, True])
def test_a_write_that_failed_leaves_model_and_journal_agreed(tmp_path, there):
    """Also where the disk said no, and had it nevertheless, while the next write was under way."""

    async def main():
        service = await running(tmp_path)
        await asyncio.gather(*(service.feedback("m", "ab"[at % 2], example(at)) for at in range(10)))
        append, failures = service.models.store.append, [2]

        def failing(fresh, ledger=()):
            if not failures[0]:
                return append(fresh, ledger)
            failures[0] -= 1
            if there:
                append(fresh, ledger)
            raise sqlite3.OperationalError("disk I/O error")

        service.models.store.append = failing
        tasks = []
        for at in range(40):
            tasks.append(asyncio.ensure_future(service.feedback("m", "ab"[at % 2], example(at), key=str(at))))
            await asyncio.sleep(0)
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [at for at, answer in enumerate(answers) if isinstance(answer, StoreDown)]
        assert refused
        failures[0] = 0
        again = await asyncio.gather(
            *(service.feedback("m", "ab"[at % 2], example(at), key=str(at)) for at in refused)
        )
        assert [change.repeated for change in again] == [there] * len(refused)
        told = service.models.info("m", fingerprint=True)
        assert told.clock == 50
        await service.stop()
        return told.clock, told.fingerprint

    assert asyncio.run(main()) == fingerprint_of(tmp_path)


def test_what_was_met_in_the_journal_is_not_learned_twice(tmp_path):
    models = LocalModels(tmp_path, recent_bytes=ROOM)
    models.create("m")
    fresh = models.fresh("m", feedback_on("a", example(1)))
    [kept] = models.store.append([fresh])
    models.catch_up(models.store.rows_after(0))
    assert models.learned(fresh, kept).seq == 1
    assert models.info("m").clock == 1
    models.close()


def test_snapshots_are_written_while_feedback_goes_on(tmp_path):
    async def main():
        service = await running(tmp_path, snapshot_every=50)
        for lo in range(0, 400, 20):
            await asyncio.gather(
                *(service.feedback("m", "ab"[at % 2], example(at)) for at in range(lo, lo + 20))
            )
        seqs = [seq for seq, _, _ in service.models.store.snapshots(1)]
        await service.stop()
        return seqs

    seqs = asyncio.run(main())
    assert len(seqs) == 2
    assert 300 <= seqs[0] <= 400
    files = {file.name for file in (tmp_path / "snapshots").iterdir()}
    assert files == {f"1-{seq}.safetensors" for seq in (400, seqs[0])} or len(files) == 2


def test_a_closing_service_answers_what_waits_and_takes_no_more(tmp_path):
    async def main():
        service = await running(tmp_path)
        tasks = [asyncio.ensure_future(service.feedback("m", "ab"[at % 2], example(at))) for at in range(50)]
        await asyncio.sleep(0)
        stopping = asyncio.ensure_future(service.stop())
        await asyncio.sleep(0)
        with pytest.raises(Closing):
            await service.feedback("m", "a", example(0))
        changes = await asyncio.gather(*tasks)
        await stopping
        return len(changes)

    assert asyncio.run(main()) == fingerprint_of(tmp_path)[0] == 50


def test_a_model_may_be_deleted_and_made_again_under_feedback(tmp_path):
    async def main():
        service = await running(tmp_path)
        before = [asyncio.ensure_future(service.feedback("m", "a", example(at))) for at in range(20)]
        await asyncio.sleep(0)
        await service.delete("m")
        assert await service.create("m")
        assert not await service.create("m")
        await asyncio.gather(*before)
        await service.feedback("m", "b", example(1), key="k")
        with pytest.raises(Conflict):
            await service.feedback("m", "a", example(1), key="k")
        clock = service.models.info("m").clock
        await service.stop()
        return clock

    assert asyncio.run(main()) == fingerprint_of(tmp_path)[0] == 1


def test_a_snapshot_of_what_was_replaced_is_not_believed(tmp_path):
    models = LocalModels(tmp_path / "one", recent_bytes=ROOM)
    for name in ("m", "new"):
        models.create(name)
        models.learn(name, [(example(at), "ab"[(at + len(name)) % 2]) for at in range(10)])
    models.model("new").save(tmp_path / "file")
    old = freeze(models.model("m"))
    replacement = model_from_file("m", tmp_path / "file", None)
    replacement.number = models.model("m").number
    models.write_base(replacement)
    models.add(replacement)
    models.write_frozen(old)  # it was under way
    wanted = models.info("m", fingerprint=True).fingerprint
    models.close()
    again = LocalModels(tmp_path / "one", recent_bytes=ROOM)
    assert again.info("m", fingerprint=True).fingerprint == wanted
    again.close()


def test_two_make_the_same_model_at_once(tmp_path):
    async def main():
        service = await running(tmp_path)
        made = await asyncio.gather(*(service.create("new") for _ in range(5)))
        await service.stop()
        return made

    assert sum(asyncio.run(main())) == 1


def test_a_feedback_queued_behind_a_delete_leaves_no_row(tmp_path):
    """Both are in the queue before either is written: the feedback had found its model when it came."""

    async def main():
        service = await running(tmp_path)
        await service.feedback("m", "a", example(1))
        busy = threading.Event()
        blocked = asyncio.ensure_future(service.run(busy.wait))
        deleting = asyncio.ensure_future(service.delete("m"))
        await asyncio.sleep(0)
        late = asyncio.ensure_future(service.feedback("m", "b", example(2), key="late"))
        await asyncio.sleep(0)
        busy.set()
        await asyncio.gather(blocked, deleting)
        with pytest.raises(Unknown, match="deleted"):
            await late
        rows = [
            service.models.store._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in OWNED
        ]
        await service.stop()
        return rows

    assert asyncio.run(main()) == [0] * len(OWNED)


def test_what_is_committed_while_a_thread_reads_a_model_is_learned_afterwards_in_order(tmp_path):
    async def main():
        service = await running(tmp_path)
        reading, done = threading.Event(), threading.Event()

        def read():
            before = service.models.model("m").learner.fingerprint()
            reading.set()
            assert done.wait(SECONDS)
            return before == service.models.model("m").learner.fingerprint()

        still = asyncio.ensure_future(service.read(read))
        await asyncio.to_thread(reading.wait)
        coming = [asyncio.ensure_future(service.feedback("m", "ab"[at % 2], example(at))) for at in range(20)]
        while service.committed < 20:
            await asyncio.sleep(0)
        assert service.models.info("m").clock == 0
        assert service.models.predict("m", [example(0)])  # predictions do not wait
        done.set()
        assert await still
        changes = await asyncio.gather(*coming)
        assert [change.clock for change in changes] == list(range(1, 21))
        digest = service.models.info("m", fingerprint=True)
        await service.stop()
        return digest.clock, digest.fingerprint

    assert asyncio.run(main()) == fingerprint_of(tmp_path)


def test_others_have_the_loop_between_the_feedbacks_of_one_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "DELIVERY_SECONDS", -1.0)  # as if every feedback were slow to learn

    async def main():
        service = await running(tmp_path)
        fresh = [
            service.models.fresh("m", feedback_on("ab"[at % 2], example(at), key=f"key {at}"))
            for at in range(20)
        ]
        bulk = service.submit(fresh)
        later = asyncio.ensure_future(service.feedback("m", "a", example(20)))
        clocks = []
        while not later.done():
            clocks.append(service.models.info("m").clock)  # what a prediction would be made by
            await asyncio.sleep(0)
        assert set(range(20)) <= set(clocks)
        assert clocks == sorted(clocks)
        assert [change.clock for change in await bulk] == list(range(1, 21))
        assert (await later).clock == 21
        digest = service.models.info("m", fingerprint=True)
        await service.stop()
        return digest.clock, digest.fingerprint

    assert asyncio.run(main()) == fingerprint_of(tmp_path)
