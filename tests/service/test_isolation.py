"""Nothing is journalled that cannot be replayed, and a model that cannot be rebuilt takes no other model with it."""

import json
import sqlite3
import zlib

import httpx
import pytest
from tests.cli.commands import run, run_well
from tests.service.server import served

from rosenblatt.service.maintenance import repair, verify
from rosenblatt.service.schemas import Example, ModelSettings, feedback_on
from rosenblatt.service.store import Fresh, Store
from rosenblatt.service.writer import LocalModels
from rosenblatt.web.refusals import BadMessage, Offline, Refusal

ROOM = 1 << 16
BAD_FEEDBACKS = [
    {"label": "a\0"},
    {"label": "\0"},
    {"label": "a\0b"},
    {"label": "\ud800"},
    {"label": ""},
    {"label": "a" * 513},
    {"label": None},
    {"label": True},
    {"label": 1.5},
    {"features": {"x\0": 1.0}},
    {"features": {"\udfff": 1.0}},
    {"features": {"": 1.0}},
    {"features": {"x": "a\0"}},
    {"features": {"x" * 513: 1.0}},
    {"features": {"x": float("nan")}},
    {"features": {"x": float("inf")}},
    {"features": {"x": 1e31}},
    {"features": {"x": 10**400}},
    {"features": {"x": [1.0]}},
    {"vector": [float("-inf")]},
    {"key": "k\0"},
    {"key": "\ud800"},
    {"key": "k" * 129},
    {"key": ""},
]


def opened(folder, **options):
    return LocalModels(folder, recent_bytes=ROOM, **options)


def features(**numbers):
    return Example(features={name: float(value) for name, value in numbers.items()})


def fingerprints(models):
    return {name: models.info(name, fingerprint=True).fingerprint for name in models.names}


@pytest.mark.parametrize("bad", BAD_FEEDBACKS, ids=lambda bad: ascii(bad)[:50])
@pytest.mark.parametrize("labels", ["text", "integer"])
def test_what_a_replay_could_not_read_is_refused_before_it_is_journalled(tmp_path, bad, labels):
    models = opened(tmp_path)
    models.create("m", ModelSettings(labels=labels))
    good = {"label": "a" if labels == "text" else 1, "features": {"x": 1.0}, "key": None}
    models.feedback("m", good["label"], features(x=1))
    before = fingerprints(models)
    message = {**good, **bad}
    example = Example(
        **{name: message[name] for name in ("features", "vector") if name in bad} or {"features": {"x": 1.0}}
    )
    with pytest.raises(BadMessage):
        models.feedback("m", message["label"], example, key=message["key"])
    with pytest.raises(BadMessage):
        models.learn("m", [(example, message["label"])]) if bad.keys() != {"key"} else models.feedback(
            "m", good["label"], example, key=message["key"]
        )
    assert models.store.journal_size() == 1
    models.close(snapshot=False)
    again = opened(tmp_path)
    assert not again.offline
    assert fingerprints(again) == before
    again.close()


@pytest.mark.parametrize("label", ["a\\u0000", "\\u0000", "b\\u0000c"])
def test_one_feedback_over_http_does_not_stop_the_store(tmp_path, label):
    with served(tmp_path / "store") as service:
        service.put("m")
        body = f'{{"features": {{"x": 1.0}}, "label": "{label}"}}'
        kind = {"content-type": "application/json"}
        answer = service.client.post("/v1/models/m/feedback", content=body, headers=kind)
        assert answer.status_code == 422
        assert "NUL" in answer.json()["message"]
        answer = service.client.post("/v1/models/m/learn", content=body)
        assert answer.status_code == 422
        assert service.client.put("/v1/models/n", json={"classes": ["a", "b\0"]}).status_code == 422
    general, [verdict] = verify(tmp_path / "store")
    assert (general, verdict.problems, verdict.feedbacks) == ([], (), 0)


@pytest.mark.parametrize(
    "settings",
    [
        {"classes": ["a\0"]},
        {"classes": ["\ud800"]},
        {"classes": [1]},
        {"parameters": {"C": float("nan")}},
        {"rule": "pegasos", "parameters": {"lam": 1e-300}},
        {"rule": "alma", "parameters": {"p": 1e5}},
        {"rule": "no such rule"},
        {"undecided_below": float("inf")},
    ],
    ids=str,
)
def test_settings_that_could_not_be_replayed_make_no_model(tmp_path, settings):
    models = opened(tmp_path)
    with pytest.raises(Refusal):
        models.create("m", ModelSettings(**settings))
    assert models.store.models() == []
    models.close()


@pytest.mark.parametrize(
    "rule", ["widrow-hoff", "rosenblatt", "passive-aggressive", "arow", "alma", "logistic"]
)
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_numbers_that_would_overflow_the_weights_stop_nothing(tmp_path, rule, multi_class):
    """Widrow and Hoff's rule diverges on features of 1e30: the model stays finite, replayable and compactable."""
    models = opened(tmp_path)
    parameters = {"C": 1e6} if rule.startswith("passive") else {}
    models.create("m", ModelSettings(rule=rule, multi_class=multi_class, parameters=parameters))
    models.create("other")
    refused = 0
    for at in range(40):
        try:
            models.feedback(
                "m", "abc"[at % 3], features(x=1e30, y=-1e30 if at % 2 else 1e-30, **{f"n{at}": 1})
            )
        except BadMessage:
            refused += 1
    assert refused or rule != "widrow-hoff"
    models.feedback("other", "a", features(x=1))
    assert not models.offline
    assert json.dumps([told.score for told in models.predict("m", [features(x=1.0)])], allow_nan=False)
    before = fingerprints(models)
    models.close(snapshot=False)
    again = opened(tmp_path)
    assert fingerprints(again) == before
    for model in again:
        again.write_base(model)
    again.close()
    general, verdicts = verify(tmp_path)
    assert general == []
    assert {verdict.model: verdict.fingerprint for verdict in verdicts} == before
    assert not any(verdict.problems for verdict in verdicts)


def test_overflow_is_the_same_for_those_that_wait_together(tmp_path):
    """Feedbacks that were checked before the weights had grown are in the journal; a replay leaves out the same."""
    models = opened(tmp_path)
    models.create("m", ModelSettings(rule="widrow-hoff"))
    waiting = [models.fresh("m", feedback_on("ab"[at % 2], features(x=1e30))) for at in range(30)]
    outcomes, reasons = [], set()
    for fresh, kept in zip(waiting, models.store.append(waiting), strict=True):
        try:
            outcomes.append(models.learned(fresh, kept).seq)
        except BadMessage as refusal:
            reasons.add(str(refusal))
    assert 0 < len(outcomes) < 30
    assert all("grown beyond 1e75" in reason for reason in reasons)
    before = fingerprints(models)
    models.close(snapshot=False)
    again = opened(tmp_path)
    assert (again.replayed, fingerprints(again)) == (30, before)
    again.close()


# Stores that already hold what cannot be replayed


def with_bad_row(folder, label=b'"a\\u0000"', row=b'{"x":1.0}', checksum=None):
    """Make a store of three models, the second of which has a row as the version before wrote it."""
    models = opened(folder)
    for name in ("one", "two", "three"):
        models.create(name)
        models.learn(name, [(features(**{word: 1}), label) for word, label in ("xa", "yb", "za")])
    number, seq = models.model("two").number, models.store.last_seq + 1
    models.close(snapshot=False)
    if checksum is None:
        checksum = zlib.crc32(row, zlib.crc32(label, seq * 2654435761 + number & 0xFFFFFFFF))
    with sqlite3.connect(folder / "journal.sqlite3") as db:
        db.execute("INSERT INTO journal VALUES (?, ?, 0, ?, ?, ?)", (seq, number, label, row, checksum))
    db.close()
    return seq


BAD_ROWS = [
    {},
    {"label": b'"\\ud800"'},
    {"label": b"[]"},
    {"label": b"nonsense"},
    {"row": b'{"x": null}'},
    {"row": b"[1]"},
    {"row": b'{"x": 1e999}'},
    {"row": b'{"y": 1.0}', "checksum": 7},
]


@pytest.mark.parametrize("bad", BAD_ROWS, ids=str)
def test_a_model_that_cannot_be_rebuilt_is_offline_and_the_others_serve(tmp_path, bad):
    folder = tmp_path / "store"
    seq = with_bad_row(folder, **bad)
    with served(folder) as service:
        for name in ("one", "three"):
            assert service.post(f"{name}/feedback", text="a", label="a").status_code == 200
        for answer in (
            service.get("two"),
            service.post("two/predict", text="a"),
            service.post("two/feedback", text="a", label="a"),
            service.client.put("/v1/models/two", json={}),
        ):
            assert answer.status_code == 503
            assert answer.json()["error"] == "model_offline"
            assert f"feedback {seq}" in answer.json()["message"]
            assert "rosenblatt store repair --model two" in answer.json()["message"]
        [offline] = service.client.get("/v1/models").json()["offline"]
        assert offline["name"] == "two"
        ready = service.client.get("/readyz")
        assert (ready.status_code, ready.json()["offline"][:1]) == (200, "1")
        assert "rosenblatt_models_offline 1.0" in service.client.get("/metrics").text
    data = ["--data", str(folder)]
    assert "two" in run_well(["serve", "--check", "--port", "0", *data]).stdout
    verdict = run(["store", "verify", *data])
    assert verdict.exit_code == 1
    assert f"two: {folder}/journal" in verdict.stdout or f"two: feedback {seq}" in verdict.stdout
    compacted = run(["store", "compact", *data])
    assert compacted.exit_code == 1
    assert "store repair --model two" in compacted.stderr
    exported = run(["store", "export", *data, "--model", "two"])
    assert len(exported.stdout.splitlines()) in (3, 4)
    repaired = run_well(["store", "repair", *data, "--model", "two"]).stdout
    assert f"dropped {seq}" in repaired
    run_well(["store", "verify", *data])
    models = opened(folder)
    assert not models.offline
    assert models.info("two").clock == 3
    assert models.feedback("two", "a", features(x=1)).seq > seq
    models.close()


def test_an_offline_model_can_be_deleted(tmp_path):
    for way in ("http", "command"):
        folder = tmp_path / way
        with_bad_row(folder)
        if way == "http":
            with served(folder) as service:
                assert service.client.delete("/v1/models/two").status_code == 204
                assert service.put("two")["clock"] == 0
        else:
            run_well(["store", "delete", "--data", str(folder), "--model", "two"])
            run_well(["store", "verify", "--data", str(folder)])
        models = opened(folder)
        assert not models.offline
        models.close()


def test_settings_that_cannot_be_read_take_one_model_offline(tmp_path):
    with_bad_row(tmp_path)
    with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
        db.execute("UPDATE models SET settings = ? WHERE name = 'one'", (b'{"rule": 7}',))
    db.close()
    models = opened(tmp_path)
    assert models.names == ["three"]
    assert set(models.offline) == {"one", "two"}
    models.close()


def test_a_model_that_fails_while_it_learns_goes_offline_and_is_rebuilt_at_the_next_start(
    tmp_path, monkeypatch
):
    models = opened(tmp_path)
    for name in ("one", "two"):
        models.create(name)
        models.feedback(name, "a", features(x=1))
    learner = models.model("one").learner

    def fail(*_):
        raise RuntimeError("half-way")

    with monkeypatch.context() as patch:
        patch.setattr(learner, "learn_one", fail)
        with pytest.raises(Offline, match="half-way"):
            models.feedback("one", "b", features(x=2))
    with pytest.raises(Offline):
        models.predict("one", [features(x=1)])
    models.feedback("two", "b", features(x=2))
    models.close()
    again = opened(tmp_path)
    assert (
        again.info("one").clock == again.info("two").clock == 2
    )  # it is in the journal, and learned from now
    again.close()


def test_a_batch_with_one_bad_feedback_stores_the_others(tmp_path):
    """A key or a label that SQLite or JSON cannot take must not turn its neighbours in the queue away."""
    store = Store(tmp_path)
    number = store.add_model("m", ModelSettings())
    with pytest.raises(BadMessage):
        store.append([Fresh(number, {"x": 1.0}, "a\0")])
    assert store.append([Fresh(number, {"x": 1.0}, "a")])[0].seq == 1
    store.close()


def test_repair_of_a_sound_model_changes_nothing(tmp_path):
    with_bad_row(tmp_path)
    models = opened(tmp_path)
    before = fingerprints(models)
    models.close()
    assert repair(tmp_path, "one").dropped == ()
    models = opened(tmp_path)
    assert fingerprints(models) == before
    models.close()


def test_httpx_sends_what_the_test_means():
    """The escapes above arrive as NUL, not as a backslash."""
    assert httpx.Request("POST", "http://x", content='"a\\u0000"').content == b'"a\\u0000"'
