"""Memory is limited by classes times features and over all models, before anything is journalled."""

import asyncio
import contextlib
import gc
import re
import socket
import tracemalloc
import weakref

import httpx
import pytest
from tests.cli.commands import run, run_well
from tests.patience import wait_until
from tests.service.server import served
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rosenblatt.service import writer as service_module
from rosenblatt.service.models import Models
from rosenblatt.service.schemas import Example, ModelSettings, feedback_on
from rosenblatt.service.writer import LocalModels, Service
from rosenblatt.web.refusals import Offline, StoreDown, TooLarge

ROOM = 1 << 16
MB = 1 << 20


def opened(folder, **options):
    return LocalModels(folder, recent_bytes=ROOM, **options)


def until_refused(act, most):
    """Call until a refusal; return how often it was not refused."""
    for at in range(most):
        try:
            act(at)
        except TooLarge as refusal:
            return at, str(refusal)
    raise AssertionError("never refused")


def names(first, n):
    return Example(features={f"n{at}": 1.0 for at in range(first, first + n)})


@pytest.mark.parametrize("rule", ["rosenblatt", "arow"])
def test_classes_times_features_are_limited_before_the_journal(tmp_path, rule):
    models = opened(tmp_path, model_bytes=4 * MB)
    models.create("m", ModelSettings(rule=rule, classes=[f"c{at}" for at in range(200)]))
    tracemalloc.start()
    taken, reason = until_refused(lambda at: models.feedback("m", "c1", names(100 * at, 100)), 100)
    assert re.search(r"200 classes of .* features.*4 MB.*--model-memory", reason)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 2 < taken < 20
    assert models.store.journal_size() == taken
    assert models.model("m").learner.memory() <= 4 * MB
    assert peak < 40 * MB  # while it grows there are two of it, and an answer lists what moved
    models.feedback("m", "c1", names(0, 100))  # what it knows it still learns
    models.close()
    again = opened(tmp_path, model_bytes=4 * MB)
    assert again.info("m").clock == taken + 1
    again.close()


def test_new_classes_count_as_much_as_new_names(tmp_path):
    models = opened(tmp_path, model_bytes=4 * MB)
    models.create("m")
    models.feedback("m", "c0", names(0, 5000))
    taken, reason = until_refused(lambda at: models.feedback("m", f"c{at + 1}", names(0, 1)), 1000)
    assert "classes of 5,000 features" in reason
    assert 10 < taken < 60
    models.close()


def test_feedbacks_that_wait_together_are_counted_together(tmp_path):
    """Each alone fits; checked one after the other before any was learned, they must not all be taken."""
    models = opened(tmp_path, model_bytes=4 * MB)
    models.create("m", ModelSettings(classes=[f"c{at}" for at in range(100)]))
    waiting = []
    until_refused(lambda at: waiting.append(models.fresh("m", feedback_on("c1", names(200 * at, 200)))), 100)
    assert len(waiting) > 2
    same = [
        models.fresh("m", feedback_on("c1", names(0, 200))) for _ in range(50)
    ]  # the same names again take nothing more
    for fresh, kept in zip([*waiting, *same], models.store.append([*waiting, *same]), strict=True):
        models.learned(fresh, kept)
    assert models.model("m").learner.memory() <= 4 * MB
    assert not models.model("m").reserved
    models.close()


def test_all_models_together_are_limited(tmp_path):
    models = opened(tmp_path, model_bytes=5 * MB, memory_bytes=7 * MB)
    wide = [f"c{at}" for at in range(100)]
    for name in ("one", "two"):
        models.create(name, ModelSettings(classes=wide))
        models.feedback(name, "c1", names(0, 1500))
    with pytest.raises(TooLarge, match=r"all models\s+together .*--memory"):
        models.feedback("two", "c1", names(1500, 600))
    models.delete("one")
    models.feedback("two", "c1", names(1500, 600))
    assert until_refused(lambda at: models.create(f"m{at}"), 1000)[0] > 2
    models.close()


@pytest.mark.parametrize(
    "settings", [{"hash_bits": 24, "classes": [f"c{at}" for at in range(1000)]}, {"hash_bits": 24}]
)
def test_a_model_that_is_too_large_from_the_start_is_not_made(tmp_path, settings):
    with served(tmp_path / "store", model_bytes=4 * MB) as service:
        answer = service.client.put("/v1/models/m", json=settings)
        assert answer.status_code == 413
        assert "2**24 hashed features" in answer.json()["message"]
        assert service.client.get("/v1/models").json()["models"] == []
        service.put("n", classes=["a", "b"])
        many = {f"n{at}": 1.0 for at in range(5_000)}
        for at in range(3, 100):
            answer = service.post("n/feedback", features=many, label=f"c{at}")
            if answer.status_code != 200:
                break
        assert answer.status_code == 413
        assert service.client.get("/readyz").status_code == 200


def test_a_store_that_needs_more_memory_than_is_allowed_opens_without_that_model(tmp_path):
    """What ran out of memory must not run out of it again at every start."""
    models = opened(tmp_path)
    for name in ("large", "small"):
        models.create(name)
        for at in range(20):
            models.feedback(name, f"c{at}", names(0, 4000 if name == "large" else 4))
    models.close(snapshot=False)
    for _ in ("from the journal", "from a snapshot"):
        again = opened(tmp_path, model_bytes=MB)
        assert again.names == ["small"]
        with pytest.raises(Offline, match=r"large.*1 MB.*--model-memory"):
            again.predict("large", [names(0, 1)])
        again.close()
        opened(tmp_path).close()  # writes a snapshot of both
    said = run_well(
        ["serve", "--check", "--port", "0", "--data", str(tmp_path), "--model-memory", "1"]
    ).stdout
    assert "--model-memory" in said
    run_well(["store", "compact", "--data", str(tmp_path)])  # a command has no such limit


def test_running_out_of_memory_in_a_replay_takes_one_model_offline(tmp_path, monkeypatch):
    models = opened(tmp_path)
    for name in ("one", "two"):
        models.create(name)
        models.feedback(name, "a", names(0, 3))
    models.close(snapshot=False)
    real = LocalModels._replay

    def short(self, model, entries, lines):
        if model.name == "one":
            raise MemoryError
        real(self, model, entries, lines)

    monkeypatch.setattr(LocalModels, "_replay", short)
    again = opened(tmp_path)
    assert (again.names, list(again.offline)) == (["two"], ["one"])
    again.close()


def test_limits_are_options_of_the_command(tmp_path):
    assert run(["serve", "--model-memory", "0", "--check", "--data", str(tmp_path)]).exit_code == 2


# Readiness


def test_readiness_follows_a_disk_that_fills_up_and_recovers(tmp_path, monkeypatch):
    monkeypatch.setattr(service_module, "PROBE_SECONDS", 0.05)
    with served(tmp_path / "store", most_pages=40) as service:
        service.put("m")
        while service.post("m/feedback", features={"padding" * 60: 1.0}, label="a").status_code == 200:
            pass
        answer = service.client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
        assert "full" in answer.json()["reason"]
        service.models.store._db.execute("PRAGMA max_page_count=100000")  # somebody made room
        answers = (service.client.get("/readyz").status_code for _ in range(2000))
        assert 200 in answers  # without a feedback that would find it out


def test_a_writer_that_died_is_not_ready_and_takes_no_feedback(tmp_path):
    async def die():
        service = Service(Models(tmp_path, recent_bytes=ROOM))
        service.start()
        await service.create("m")
        assert service.problem() is None
        await service._journal.stop()
        assert "restart the service" in service.problem()
        with pytest.raises(StoreDown, match="restart the service"):
            await service.feedback("m", "a", names(0, 1))
        assert not service.models.model("m").reserved
        service.models.close()

    asyncio.run(die())


@pytest.mark.parametrize("kind", ["answered", "refused", "nothing sent", "gone in the middle"])
def test_a_closed_connection_is_freed_without_a_search_for_cycles(tmp_path, monkeypatch, kind):
    begun = b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"
    connections, accepted, begin = weakref.WeakSet(), [], HttpToolsProtocol.__init__

    def noted(self, *arguments, **more):
        connections.add(self)
        accepted.append(id(self))
        begin(self, *arguments, **more)

    monkeypatch.setattr(HttpToolsProtocol, "__init__", noted)
    with served(tmp_path, most_connections_per_address=4) as service:
        service.put("m")
        service.client.close()
        gc.disable()
        try:
            for _ in range(5):
                if kind in ("answered", "refused"):
                    path = "m/predict" if kind == "answered" else "none/predict"
                    httpx.post(f"{service.url}/v1/models/{path}", json={"features": {"x": 1.0}})
                    continue
                port = int(service.url.rpartition(":")[2])
                with contextlib.closing(socket.create_connection(("127.0.0.1", port))) as wire:
                    wire.sendall(begun if kind == "gone in the middle" else b"")
            wait_until(lambda: len(accepted) == 6 and not connections)
        finally:
            gc.enable()
