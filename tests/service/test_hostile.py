"""Hostile requests: each gets a 4xx with a body that says what is wrong, and the service goes on."""

import json
import random
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import SECONDS
from tests.service.server import served

from rosenblatt.service.schemas import strict
from rosenblatt.web.refusals import BadMessage

DEEP = 50_000
BAD_BODIES = {
    "nothing": b"",
    "not json": b"{nonsense",
    "not an object": b"[1, 2]",
    "null": b"null",
    "deep list": b"[" * DEEP,
    "deep list, closed": b"[" * DEEP + b"]" * DEEP,
    "deep object": b'{"features":' * DEEP,
    "deep value": b'{"features":{"a":' + b"[" * DEEP + b"]" * DEEP + b"}}",
    "nan": b'{"features":{"a":NaN}}',
    "infinity": b'{"features":{"a":Infinity}}',
    "minus infinity": b'{"features":{"a":-Infinity}}',
    "too large for a float": b'{"features":{"a":1e999}}',
    "an integer of 5000 digits": b'{"features":{"a":' + b"9" * 5000 + b"}}",
    "too large for us": b'{"features":{"a":1e31}}',
    "duplicate feature": b'{"features":{"a":1,"a":2}}',
    "duplicate feature, written otherwise": b'{"features":{"a":1,"\\u0061":2}}',
    "duplicate field": b'{"features":{"a":1},"features":{"b":1}}',
    "duplicate in many": b'{"examples":[{"features":{"a":1}},{"features":{"b":1,"b":1}}]}',
    "unknown field": b'{"features":{"a":1},"pickle":"gASV"}',
    "a list for a number": b'{"features":{"a":[1]}}',
    "an object for a number": b'{"features":{"a":{"b":1}}}',
    "a list for features": b'{"features":[1]}',
    "text for a vector": b'{"vector":"1,2"}',
    "a number for text": b'{"text":7}',
    "not utf-8": b'{"text":"\xff\xfe"}',
    "half a surrogate": b'{"text":"\\ud800"}',
    "control character": b'{"text":"\x01"}',
    "an empty name": b'{"features":{"":1}}',
    "a long name": b'{"features":{"' + b"n" * 600 + b'":1}}',
    "a long value": b'{"features":{"name":"' + b"v" * 600 + b'"}}',
    "too many features": json.dumps({"features": {str(n): 1 for n in range(10_001)}}).encode(),
    "too many examples": json.dumps({"examples": [{}] * 1001}).encode(),
    "too many reasons": b'{"features":{"a":1},"reasons":101}',
    "reasons as text": b'{"features":{"a":1},"reasons":"5"}',
    "trailing": b'{"features":{"a":1}} {}',
    "byte order mark": b'\xef\xbb\xbf{"features":{"a":1}}',
}


NAMES = st.text('ab":{}\\\n\u00e9', max_size=3)
VALUES = st.recursive(
    NAMES | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(NAMES, inner)).map(tuple),
)


def written(value, draw):
    """Write JSON, an object from pairs that may repeat a name; names in ASCII or as they are."""
    if isinstance(value, tuple):
        pairs = (f"{json.dumps(k, ensure_ascii=draw(st.booleans()))} :{written(v, draw)}" for k, v in value)
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(each, draw) for each in value) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def repeats_a_name(value):
    inside = [v for _, v in value] if isinstance(value, tuple) else value if isinstance(value, list) else []
    names = [name for name, _ in value] if isinstance(value, tuple) else []
    return len(set(names)) < len(names) or any(map(repeats_a_name, inside))


@given(VALUES, st.data())
def test_names_that_are_given_twice_are_found_wherever_they_are(value, data):
    read = strict(Any, lambda _: -1)
    body = written(value, data.draw).encode()
    if repeats_a_name(value):
        with pytest.raises(BadMessage, match="twice"):
            read(body)
    else:
        assert read(body) == json.loads(body)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with served(
        tmp_path_factory.mktemp("hostile") / "store", body_bytes=1 << 20, line_bytes=1 << 16
    ) as found:
        found.put("m", labels="text")
        found.put("n", labels="integer")
        found.post("m/feedback", label="a", features={"a": 1})
        yield found


def refused(answer, *statuses):
    assert answer.status_code in (statuses or (422,)), answer.text
    told = answer.json()
    assert set(told) >= {"error", "message", "request_id"}
    assert len(told["message"]) > 10
    return told["message"]


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
@pytest.mark.parametrize("way", ["predict", "feedback", "learn"])
def test_a_bad_body_is_refused_in_words(service, way, body):
    before = service.get("m").json()["clock"]
    if way != "predict":
        if body.rstrip().endswith(b"}"):
            body = body.rstrip()[:-1] + b',"label":"a"}'
        if b'"examples"' in body or b'"reasons"' in body or (way == "learn" and not body):
            return  # an unknown field there, and nothing to learn from
    answer = service.client.post(f"/v1/models/m/{way}", content=body)
    refused(answer, 422, 413)  # a line may be too long before it is read
    assert service.get("m").json()["clock"] == before


@pytest.mark.parametrize(
    ("message", "name", "word"),
    [
        ({"features": {"a": 1}}, "m", "label"),
        ({"features": {"a": 1}, "label": 1}, "m", "labels of model 'm' are text"),
        ({"features": {"a": 1}, "label": "a"}, "n", "labels of model 'n' are integer"),
        ({"features": {"a": 1}, "label": True}, "n", "label"),
        ({"features": {"a": 1}, "label": 1.5}, "n", "label"),
        ({"features": {"a": 1}, "label": 2**60}, "n", "label"),
        ({"features": {"a": 1}, "label": ""}, "m", "label"),
        ({"features": {"a": 1}, "label": None}, "m", "label"),
        ({"label": "a"}, "m", "feedback needs"),
        ({"label": "a", "prediction": "nonsense"}, "m", "not the id of a prediction"),
        ({"label": "a", "prediction": "-1.0.0"}, "m", ""),
        ({"label": "a", "prediction": "0.00000000.0", "text": "x"}, "m", "not both"),
        ({"label": "a", "text": "x", "key": ""}, "m", "key"),
        ({"label": "a", "text": "x", "key": "k" * 129}, "m", "key"),
    ],
)
def test_bad_feedback_is_refused_in_words(service, message, name, word):
    assert word in refused(service.post(f"{name}/feedback", **message), 422, 410)


def test_a_forged_prediction_is_not_found(service):
    told = service.post("m/predict", features={"a": 1}).json()["id"]
    position, check, index = told.split(".")
    for forged in (
        f"{position}.{check}.7",
        f"{position}.{int(check, 16) ^ 1:08x}.{index}",
        f"{int(position, 16) + 1:x}.{check}.0",
        f"{10**15:x}.{check}.0",
    ):
        refused(service.post("m/feedback", prediction=forged, label="a"), 410, 422)


@pytest.mark.parametrize(
    "name", ["..", "%2e%2e", "a%2fb", "a b", "-a", "é", "a" * 65, "%00", "..%2f..%2fetc%2fpasswd"]
)
def test_a_name_is_never_a_path(service, name):
    refused(service.client.put(f"/v1/models/{name}", json={}), 404, 405, 422)
    refused(service.client.put(f"/v1/models/{name}/snapshot", content=b"x"), 404, 405, 422)


@pytest.mark.parametrize(
    "settings",
    [
        {"rule": "nonsense"},
        {"parameters": {"C": 1}},
        {"rule": "margin", "parameters": {"eta": -1}},
        {"hypothesis": "voted"},
        {"hash_bits": 60},
        {"forget": 0},
        {"ngrams": [2, 1]},
        {"classes": ["a", 1]},
        {"labels": "float"},
        {"unknown": 1},
        {"classes": [True]},
    ],
)
def test_settings_that_make_no_sense_are_refused(service, settings):
    refused(service.client.put("/v1/models/fresh", json=settings))
    assert service.get("fresh").status_code == 404


def test_what_is_too_large_is_refused_before_it_is_read(service):
    big = b'{"text":"' + b"x " * (1 << 20) + b'"}'
    assert "larger" in refused(service.client.post("/v1/models/m/predict", content=big), 413)
    line = b'{"label":"a","text":"' + b"x " * (1 << 16) + b'"}\n'
    assert "line" in refused(service.client.post("/v1/models/m/learn", content=line), 413)


def test_a_model_file_with_a_changed_header_is_taken_whole_or_refused(service):
    service.post("m/feedback", label="b", features={"b": 1})
    content = service.client.get("/v1/models/m/snapshot").content
    header = 8 + int.from_bytes(content[:8], "little")
    rng = random.Random(5)
    for _ in range(60):
        harmed = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            harmed[rng.randrange(8, header)] = rng.choice(b'0123456789"[]{},:aeinrst-.')
        answer = service.client.put("/v1/models/harmed/snapshot", content=bytes(harmed))
        if answer.status_code != 200:
            refused(answer, 422, 409)
        elif service.post("harmed/predict", features={"a": 1}).status_code != 200:
            raise AssertionError(bytes(harmed[:header]))
        service.client.delete("/v1/models/harmed")


def test_a_form_is_not_json(service):
    answer = service.client.post("/v1/models/m/feedback", data={"label": "a"})
    assert "application/json" in refused(answer, 415)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/nothing"), ("PATCH", "/v1/models/m"), ("GET", "/v1/models/m/predict")]
)
def test_ways_that_do_not_exist_say_so(service, method, path):
    refused(service.client.request(method, path), 404, 405)


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "after=-1", f"after={2**70}"])
def test_bad_queries_are_refused(service, query):
    refused(service.client.get(f"/v1/models/m/ledger?{query}"))


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/models/m/predict HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_not_http_does_no_harm(service, raw):
    host, _, port = service.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
        wire.sendall(raw)
        wire.shutdown(socket.SHUT_WR)
        answer = wire.recv(4096)
    assert not answer or b" 4" in answer.split(b"\r\n")[0] or b"404" in answer
    assert service.client.get("/readyz").status_code == 200
