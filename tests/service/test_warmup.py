"""After the rehearsal nobody waits for machine code."""

import json
import os
import select
import socket
import subprocess
import sys

import httpx
import pytest
from tests.patience import SECONDS

LEARNS = """
import gc
import sys
from numba.core.dispatcher import Dispatcher
from rosenblatt.service.schemas import Example, ModelSettings
from rosenblatt.service.writer import LocalModels
from rosenblatt.service.warmup import rehearse

settings = ModelSettings(rule=sys.argv[2], multi_class=sys.argv[3])
if sys.argv[4] == "rehearsed":
    rehearse([settings])

def loaded():
    return sum(len(each.signatures) for each in gc.get_objects() if isinstance(each, Dispatcher))

before = loaded()
models = LocalModels(sys.argv[1], recent_bytes=1 << 16)
models.create("m", settings)
for label in "ababcbc":
    models.feedback("m", label, Example(features={"x": 1.0, label: 2.0}))
models.predict("m", [Example(features={"x": 1.0})])
models.close(snapshot=False)
print(loaded() - before)
"""


@pytest.mark.parametrize("kind", [("rosenblatt", "joint"), ("passive-aggressive", "ovr")])
def test_what_was_rehearsed_is_not_loaded_in_a_request(kind, tmp_path):
    def loaded(when):
        words = [sys.executable, "-c", LEARNS, str(tmp_path / when), *kind, when]
        return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)

    assert loaded("cold") > 0
    assert loaded("rehearsed") == 0


def test_others_are_served_while_a_rule_is_compiled_for_the_first_time(tmp_path):
    """With an empty cache: a model of an unseen rule is made, and its first feedback learned, while others predict."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    words = [
        sys.executable,
        "-m",
        "rosenblatt",
        "serve",
        "--no-pages",
        "--port",
        "0",
        "--data",
        str(tmp_path / "store"),
    ]
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            address = server.stdout.readline().split()[-1]
            with httpx.Client(base_url=address, timeout=SECONDS) as client:
                assert client.get("/readyz").status_code == 200
                assert client.put("/v1/models/m").status_code == 201
                assert (
                    client.post("/v1/models/m/feedback", json={"text": "a", "label": "x"}).status_code == 200
                )
                rule = json.dumps({"rule": "margin"}).encode()
                put = b"PUT /v1/models/n HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%b" % (
                    len(rule),
                    rule,
                )
                assert predicted_until_answered(client, address, put) > 0
                assert len(list((tmp_path / "cache").rglob("rehearsed-*/margin-*"))) == 1  # once a machine
                body = json.dumps({"text": "a", "label": "x"}).encode()
                post = (
                    b"POST /v1/models/n/feedback HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%b"
                )
                predicted_until_answered(client, address, post % (len(body), body))
                assert client.get("/v1/models/n").json()["clock"] == 1
        finally:
            server.terminate()
    assert list(
        (tmp_path / "cache").rglob("rehearsed-*/margin-*")
    )  # compiled by a child, for every later process


def predicted_until_answered(client, address, request):
    """Send a request; return how many predictions of another client were answered before it was."""
    host, _, port = address.removeprefix("http://").partition(":")
    answered = 0
    with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
        wire.sendall(request)
        while not select.select([wire], [], [], 0.1)[0]:  # the processor is the compiler's meanwhile
            assert client.post("/v1/models/m/predict", json={"text": "a"}).status_code == 200
            answered += 1
        assert wire.recv(4096).split()[1] in (b"200", b"201")
    return answered


def test_a_rule_is_compiled_by_a_child_once(monkeypatch, tmp_path):
    """The mark of that is written whether or not there was a folder for it."""
    from rosenblatt.service import warmup
    from rosenblatt.service.schemas import ModelSettings

    started = []
    monkeypatch.setattr(warmup, "_mark", lambda settings: tmp_path / "not" / "there" / settings.rule)
    monkeypatch.setattr(warmup, "rehearse", lambda served: None)
    monkeypatch.setattr(warmup.subprocess, "run", lambda command, **_: started.append(command))
    monkeypatch.setattr(warmup, "is_ready", lambda settings: False)
    for _ in range(2):
        warmup.prepare(ModelSettings(rule="romma"))
    assert len(started) == 1
