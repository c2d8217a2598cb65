"""Large requests: budgeted, read beside the loop, scored in slices; everybody else is answered meanwhile."""

import contextlib
import json
import select
import socket

import httpx
import pytest
from tests.patience import SECONDS, wait_until
from tests.service.server import served

from rosenblatt.data.words import Words
from rosenblatt.service.model import Model, settings_of
from rosenblatt.service.writer import MOST_DOWNLOADS

CLASSES = [f"class {at}" for at in range(50)]
NAMES = 20_000


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with served(tmp_path_factory.mktemp("large") / "store", recent_bytes=16 << 20) as running:
        running.put("m", classes=CLASSES)
        running.put("many", classes=[f"class {at}" for at in range(1000)])
        lines = "\n".join(
            json.dumps({"label": CLASSES[at], "vector": [0.0] * at + [1.0]}) for at in range(len(CLASSES))
        )
        assert running.client.post("/v1/models/m/learn", content=lines).json()["learned"] == len(CLASSES)
        wide = {f"name {at}": 1.0 for at in range(10_000)}
        assert running.post("m/feedback", label=CLASSES[0], features=wide).status_code == 200
        yield running


def examples(n, names):
    """Return that many examples, each with other names."""
    return [
        {"features": {f"name {(at * 37 + each) % 10_000}": 1.0 for each in range(names)}} for at in range(n)
    ]


LARGE = {
    "predict": ("POST", "/v1/models/m/predict", {"examples": examples(1000, 110)}),
    "texts": (
        "POST",
        "/v1/models/m/predict",
        {"examples": [{"text": f"offer {at} " * 190} for at in range(1000)]},
    ),
    "small, of many examples": ("POST", "/v1/models/m/predict", {"examples": [{}] * 1000}),
    "one text": ("POST", "/v1/models/m/predict", {"text": "free offer " * 90_000}),
    "feedback": ("POST", "/v1/models/m/feedback", {"text": "free offer " * 90_000, "label": CLASSES[1]}),
}


@pytest.mark.parametrize("kind", LARGE)
def test_others_are_answered_while_a_large_request_is_worked_on(service, kind):
    method, path, message = LARGE[kind]
    body = json.dumps(message).encode()
    host, _, port = service.url.removeprefix("http://").partition(":")
    answered = 0
    with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
        wire.sendall(head.encode() + body)
        while not select.select([wire], [], [], 0)[0]:
            assert service.post("m/predict", vector=[1.0, 2.0]).status_code == 200
            answered += 1
        assert b" 200 " in wire.recv(65536).split(b"\r\n")[0]
    assert answered >= 2  # one that waited for the large request would be the only one


def test_names_times_classes_are_budgeted(service):
    features = {f"name {at}": 1.0 for at in range(10_000)}
    answer = service.post("many/predict", features=features)
    assert answer.status_code == 413
    assert "names × classes may be 2,000,000 in an example" in answer.json()["message"]
    answer = service.post("many/predict", examples=examples(40, 600))
    assert answer.status_code == 413
    assert "names × classes may be 20,000,000 in a request" in answer.json()["message"]
    assert service.post("m/predict", features=features).status_code == 200


def test_a_large_predict_answers_as_small_ones_do(service):
    many = examples(40, 200)
    together = service.post("m/predict", examples=many, reasons=3).json()["predictions"]
    for example, prediction in zip(many, together, strict=True):
        alone = service.post("m/predict", **example, reasons=3).json()
        assert {**alone, "id": 0} == {**prediction, "id": 0}
    explained = service.client.get("/v1/models/m/explain", params={"prediction": together[7]["id"]}).json()
    assert explained["label"] == together[7]["label"]
    assert service.post("m/feedback", prediction=together[7]["id"], label=CLASSES[3]).status_code == 200


def test_a_body_beyond_the_limit_is_refused_with_the_way_out(service):
    body = json.dumps({"examples": [{"text": "x " * 400_000}] * 3}).encode()
    for path in ("predict", "feedback"):
        answer = service.client.post(f"/v1/models/m/{path}", content=body)
        assert answer.status_code == 413
        assert "larger than 2,097,152 bytes" in answer.json()["message"]
        assert "NDJSON" in answer.json()["message"]


def test_bodies_in_memory_are_limited_together(tmp_path):
    with served(tmp_path / "store", bodies_bytes=1 << 20, recent_bytes=16 << 20) as service:
        service.put("m")
        body = json.dumps({"text": "x " * 400_000}).encode()
        assert service.client.post("/v1/models/m/predict", content=body).status_code == 200
        body = json.dumps({"examples": [{"text": "x " * 400_000}] * 2}).encode()
        assert service.client.post("/v1/models/m/predict", content=body).status_code == 429
        body = json.dumps({"text": "x " * 400_000}).encode()
        assert service.client.post("/v1/models/m/predict", content=body).status_code == 200


def test_a_bulk_is_limited_while_it_is_read(tmp_path):
    line = json.dumps({"text": "hello", "label": "a"}).encode() + b"\n"
    with served(tmp_path / "store", upload_bytes=100 * len(line)) as service:
        service.put("m")
        whole = service.client.post("/v1/models/m/learn", content=line * 101)
        assert whole.status_code == 413  # by its own account
        assert service.get("m").json()["clock"] == 0
        endless = (line for _ in range(10**9))
        with httpx.Client(base_url=service.url, timeout=SECONDS) as client:
            try:
                answer = client.post("/v1/models/m/learn", content=endless)
                assert answer.status_code == 413
                assert answer.json()["learned"]["learned"] <= 100
            except httpx.WriteError:  # closed while it was still being sent
                pass
        assert service.get("m").json()["clock"] <= 100


def test_lines_in_tiny_pieces_are_put_together(tmp_path):
    with served(tmp_path / "store") as service:
        service.put("m")
        lines = (
            json.dumps({"text": "hello", "label": "a"}) + "\n\n" + json.dumps({"text": "you", "label": "b"})
        )
        pieces = (lines[at : at + 16].encode() for at in range(0, len(lines), 16))
        assert service.client.post("/v1/models/m/learn", content=pieces).json()["learned"] == 2


def test_many_combining_marks_take_linear_time():
    marks = "\N{COMBINING ACUTE ACCENT}\N{COMBINING CEDILLA}"
    assert len(Words().cut("e" + marks * 200_000)) == 1
    assert (
        Words().cut("cafe\N{COMBINING ACUTE ACCENT} " * 3) == ["caf\N{LATIN SMALL LETTER E WITH ACUTE}"] * 3
    )


def test_a_long_text_is_cut_as_a_short_one():
    words = ["don't", "panic", "x1"] * 10_000
    assert Words().cut(" ".join(words)) == words


def test_features_of_every_class_are_budgeted(service):
    answer = service.get("many/explain", top=101)
    assert answer.status_code == 413
    assert "at most 100" in answer.json()["message"]
    assert len(service.get("many/explain", top=100).json()["classes"]) == 1000


def test_downloads_that_nobody_reads_are_few_and_not_in_memory(tmp_path):
    with served(tmp_path / "store") as service, contextlib.ExitStack() as wires:
        service.put("wide", hash_bits=20)  # 17 MB: more than sockets hold
        assert service.post("wide/feedback", label="a", features={"x": 1.0}).status_code == 200
        assert service.post("wide/feedback", label="b", features={"x": -1.0}).status_code == 200
        host, _, port = service.url.removeprefix("http://").partition(":")
        for _ in range(MOST_DOWNLOADS):
            wire = wires.enter_context(socket.create_connection((host, int(port)), timeout=SECONDS))
            wire.sendall(b"GET /v1/models/wide/snapshot HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b" 200 " in wire.recv(100).split(b"\r\n")[0]
        refused = service.get("wide/snapshot")
        assert refused.status_code == 429
        assert "being downloaded" in refused.json()["message"]
        assert service.post("wide/predict", features={"x": 1.0}).json()["label"] == "a"
        wires.close()
        wait_until(lambda: service.get("wide/snapshot").status_code == 200)
        file = tmp_path / "wide.safetensors"
        file.write_bytes(service.get("wide/snapshot").content)
        twin = Model(0, "twin", settings_of(file))
        twin.load(file)
        assert twin.learner.fingerprint() == service.get("wide", fingerprint=True).json()["fingerprint"]
        assert not list((tmp_path / "store").glob(".download-*"))
