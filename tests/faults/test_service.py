"""What was wrong with the service in version 0.1, shown over HTTP, on the command line and in the store's folder.

Run with the code of version 0.1, every test here fails at an assertion.
"""

import contextlib
import json
import os
import select
import shutil
import socket
import sqlite3
import stat
import zlib
from pathlib import Path

import pytest
from tests.cli.commands import run
from tests.patience import SECONDS
from tests.service.server import served

STORE = Path(__file__).parents[1] / "fixtures" / "v0.1" / "store"
TOKENS = {scope: f"{scope}-0123456789abcdef" for scope in ("read", "admin")}
posix = pytest.mark.skipif(os.name != "posix", reason="no such permissions")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with served(tmp_path_factory.mktemp("served") / "store") as running:
        running.put("m")
        yield running


@contextlib.contextmanager
def wire_to(service):
    host, _, port = service.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
        yield wire


def status_of(service, request):
    with wire_to(service) as wire:
        wire.sendall(request)
        return int(wire.recv(4096).split(b" ")[1])


# Nothing is journalled that cannot be replayed, and models stand alone


def test_one_feedback_does_not_stop_the_store(tmp_path):
    with served(tmp_path / "store") as running:
        running.put("m")
        answer = running.post("m/feedback", features={"x": 1.0}, label="a\0")
        assert answer.status_code == 422
    for command in ("store verify", "store compact", "serve --check --port 0"):
        assert run(f"{command} --data {tmp_path / 'store'}").exit_code == 0


def test_a_row_that_cannot_be_replayed_takes_one_model_offline(tmp_path):
    folder = tmp_path / "store"
    with served(folder) as running:
        for name in ("one", "two"):
            running.put(name)
            assert running.post(f"{name}/feedback", features={"x": 1.0}, label="a").status_code == 200
    with sqlite3.connect(folder / "journal.sqlite3") as db:  # as version 0.1 journalled it
        [number], [seq] = (
            db.execute("SELECT number FROM models WHERE name = 'two'").fetchone(),
            db.execute("SELECT max(seq) + 1 FROM journal").fetchone(),
        )
        label, row = b'"a\\u0000"', b'{"x":1.0}'
        checksum = zlib.crc32(row, zlib.crc32(label, seq * 2654435761 + number & 0xFFFFFFFF))
        db.execute("INSERT INTO journal VALUES (?, ?, 0, ?, ?, ?)", (seq, number, label, row, checksum))
    db.close()
    answer = run(f"serve --check --port 0 --data {folder}")
    assert answer.exit_code == 0, answer.output
    with served(folder) as running:
        assert running.post("one/predict", features={"x": 1.0}).status_code == 200
        offline = running.post("two/predict", features={"x": 1.0})
        assert offline.status_code == 503
        assert "store repair" in offline.json()["message"]


def test_the_recovered_model_is_bit_for_bit_the_same(tmp_path):
    """A third class, a snapshot, a new name, a kill."""
    feedbacks = [("b", {"x": 1.0}), ("a", {"y": 1.0}), ("b", {"x": -1.0}), ("c", {"y": 2.0})]
    with served(tmp_path / "store", snapshot_every=len(feedbacks)) as running:
        running.put("m")
        for label, features in feedbacks:
            assert running.post("m/feedback", features=features, label=label).status_code == 200
        for _ in range(10_000):
            if list((tmp_path / "store" / "snapshots").glob("[0-9]*.safetensors")):
                break
            running.get("m")
        answer = running.post("m/feedback", features={"new": 0.0, "x": 1.0}, label="a")
        assert answer.status_code == 200
        before = running.get("m", fingerprint=True).json()
        shutil.copytree(tmp_path / "store", tmp_path / "killed")  # as kill -9 leaves it
    (tmp_path / "killed").chmod(0o700)
    with served(tmp_path / "killed") as running:
        after = running.get("m", fingerprint=True).json()
    assert after["clock"] == before["clock"] == 5
    assert after["fingerprint"] == before["fingerprint"]


# Before authentication


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b'cookie: a="' + b"\\" * 20_000 + b'"\r\n', 431),
        (b"x: " + b"y" * 30_000 + b"\r\n", 431),
        (b"host: localhost\r\n", 400),
    ],
    ids=["a long cookie", "a long field", "two hosts"],
)
def test_limits_come_before_parsing(service, fields, status):
    request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + fields + b"\r\n"
    assert status_of(service, request) == status


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
def test_an_upgrade_with_a_body_that_never_comes_is_closed(tmp_path, protocol):
    limits = {"body_seconds": 0.2, "tokens": tuple(TOKENS.items())}
    with served(tmp_path / "store", **limits) as running, wire_to(running) as wire:
        wire.sendall(
            b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n"
            b"upgrade: " + protocol + b"\r\ncontent-length: 9\r\n\r\n{"
        )
        parts = [b"begun"]
        while parts[-1] and select.select([wire], [], [], 5)[0]:
            parts.append(wire.recv(4096))
        assert parts[-1] == b""  # closed


def test_signing_out_takes_the_cookie_back(tmp_path):
    with served(tmp_path / "store", tokens=tuple(TOKENS.items())) as running:
        form = f"token={TOKENS['read']}"
        kind = {"content-type": "application/x-www-form-urlencoded"}
        assert running.client.post("/sign-in", content=form, headers=kind).status_code == 303
        assert running.client.get("/v1/models").status_code == 200
        answer = running.client.post("/sign-out")
        assert answer.status_code == 303
        running.client.cookies.extract_cookies(answer)
        assert running.client.get("/v1/models").status_code == 401


# With a token


def test_names_times_classes_are_budgeted(service):
    service.put("many", classes=[f"c{n}" for n in range(300)])
    answer = service.post("many/predict", features={f"n{n}": 1.0 for n in range(10_000)})
    assert answer.status_code == 413


@pytest.mark.parametrize("kind", ["features", "texts"])
def test_others_are_answered_while_a_large_predict_is_worked_on(service, kind):
    classes, names = [f"class {n}" for n in range(50)], {f"n{n}": 1.0 for n in range(400)}
    service.put(kind, classes=classes)
    for label in classes[:2]:
        service.post(f"{kind}/feedback", features=names, label=label)
    examples = [{"features": names}] * 400 if kind == "features" else [{"text": "offer n1 n2 " * 180}] * 900
    body, answered = json.dumps({"examples": examples}).encode(), 0
    with wire_to(service) as wire:
        head = f"POST /v1/models/{kind}/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: "
        wire.sendall(f"{head}{len(body)}\r\n\r\n".encode() + body)
        while not select.select([wire], [], [], 0)[0]:
            assert service.client.get("/v1/models").status_code == 200
            answered += 1
    assert answered >= 2  # one that waited for the large request would be the only one


def test_classes_times_features_are_limited(service):
    settings = {"hash_bits": 22, "classes": [f"c{n}" for n in range(60)]}  # 2 GB of weights
    assert service.client.put("/v1/models/large", json=settings).status_code in (413, 422)


def test_what_a_deleted_model_left_is_reported_and_swept(tmp_path):
    folder = tmp_path / "store"
    with served(folder) as running:
        running.put("m")
        running.post("m/feedback", text="hello", label="a")
    secret = b"secret of a deleted model"
    with sqlite3.connect(folder / "journal.sqlite3") as db:
        db.execute("INSERT INTO journal VALUES (900, 77, 0, ?, ?, 0)", (b'"a"', secret))
    db.close()
    (folder / "snapshots" / "77-900.safetensors").write_bytes(secret)
    assert run(f"store verify --data {folder}").exit_code == 1
    assert run(f"store compact --data {folder}").exit_code == 0
    assert [path.name for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()] == []
    assert run(f"store verify --data {folder}").exit_code == 0


# Files


@posix
def test_files_of_a_store_are_private(tmp_path):
    before = os.umask(0o022)
    try:
        with served(tmp_path / "new" / "store") as running:
            running.put("m")
            running.post("m/feedback", text="hello", label="a")
        folder = tmp_path / "new" / "store"
        paths = [folder, *folder.rglob("*")]
        assert [path for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
    finally:
        os.umask(before)


@posix
def test_a_folder_that_others_can_read_is_refused_and_not_changed(tmp_path):
    folder = tmp_path / "store"
    with served(folder) as running:
        running.put("m")
    folder.chmod(0o755)
    answer = run(f"serve --check --port 0 --data {folder}")
    assert answer.exit_code == 2, answer.output
    assert f"chmod go-rwx {folder}" in " ".join(answer.output.split())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


@posix
def test_a_token_file_that_others_can_read_is_refused(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("admin 0123456789abcdef0123456789abcdef\n", encoding="utf-8")
    command = f"serve --check --port 0 --data {tmp_path / 'store'} --token-file {tokens}"
    tokens.chmod(0o644)
    assert run(command).exit_code == 2
    tokens.chmod(0o600)
    assert run(command).exit_code == 0


def test_a_hash_belongs_to_a_token(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("read 0123456#89abcdef\n", encoding="utf-8")
    tokens.chmod(0o600)
    answer = run(f"serve --check --port 0 --data {tmp_path / 'store'} --token-file {tokens}")
    assert answer.exit_code == 0, answer.output


def test_deleting_a_file_does_not_free_the_lock(tmp_path):
    folder = tmp_path / "store"
    with served(folder) as running:
        running.put("m")
        (folder / "lock").unlink()
        assert run(f"store compact --data {folder}").exit_code == 2
        assert running.post("m/feedback", text="hello", label="a").status_code == 200


def test_a_flipped_bit_in_the_log_loses_no_feedback_in_silence(tmp_path):
    with served(tmp_path / "store", snapshot_every=20) as running:
        running.put("m")
        for n in range(60):
            running.post("m/feedback", features={f"n{n % 7}": 1.0, "w": n % 3}, label="ab"[n % 2])
        folder = shutil.copytree(tmp_path / "store", tmp_path / "killed")  # as kill -9 leaves it
    folder.chmod(0o700)
    log = folder / "journal.sqlite3-wal"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(bytes(content))
    (folder / "journal.sqlite3-shm").unlink()
    with served(folder) as running:
        answer = running.get("m")
    assert (answer.status_code, answer.json().get("clock")) in ((503, None), (200, 60))
