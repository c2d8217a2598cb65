"""The API as a client meets it: predict, tell the truth, learn from many, look, download, upload."""

import json
import socket
import time

import pytest
from tests.patience import SECONDS
from tests.service.server import served

from rosenblatt.service.metrics import AT_ONCE, Metrics
from rosenblatt.service.models import Models
from rosenblatt.streams.online import OnlineLearner

SPAM = {"features": {"free": 2, "offer": 1, "sky": "grey", "urgent": True, "old": None}}
HAM = {"features": {"lunch": 1, "noon": 1.5}}


@pytest.fixture
def service(tmp_path):
    with served(tmp_path / "store") as found:
        found.put("mail")
        yield found


def taught(service, name="mail"):
    for example, label in ((SPAM, "spam"), (HAM, "ham")):
        assert service.post(f"{name}/feedback", label=label, **example).status_code == 200


def test_a_correction_is_learned_at_once(service):
    taught(service)
    first = service.post("mail/predict", **HAM).json()
    assert (first["label"], first["undecided"]) == ("ham", False)
    change = service.post("mail/feedback", prediction=first["id"], label="spam").json()
    assert (change["right"], change["predicted"], change["moved"], change["repeated"]) == (
        False,
        "ham",
        True,
        False,
    )
    assert {each["feature"] for each in change["changed"]} == {"(bias)", "lunch", "noon"}
    for _ in range(3):
        service.post("mail/feedback", label="spam", **HAM)
    assert service.post("mail/predict", **HAM).json()["label"] == "spam"


def test_a_model_that_knows_nothing_says_so(service):
    told = service.post("mail/predict", **HAM).json()
    assert told["label"] is None
    assert told["undecided"] is True


def test_reasons_are_parts_of_the_margin(service):
    taught(service)
    told = service.post("mail/predict", reasons=100, **SPAM).json()
    assert {each["feature"] for each in told["reasons"]} <= {"(bias)", "free", "offer", "sky=grey", "urgent"}
    assert sum(each["contribution"] for each in told["reasons"]) == pytest.approx(told["margin"])
    assert len(service.post("mail/predict", reasons=2, **SPAM).json()["reasons"]) == 2


def test_many_examples_are_predicted_in_order(service):
    taught(service)
    told = service.post("mail/predict", examples=[SPAM, HAM, {}], reasons=0).json()["predictions"]
    assert [each["label"] for each in told[:2]] == ["spam", "ham"]
    ids = [each["id"] for each in told]
    assert len(set(ids)) == 3
    explained = service.get("mail/explain", prediction=ids[1]).json()
    assert {part["feature"] for part in explained["parts"]} <= {"(bias)", "lunch", "noon"}
    assert sum(part["contribution"] for part in explained["parts"]) == pytest.approx(explained["score"])


def test_features_vectors_and_text_are_named_numbers(service):
    service.post(
        "mail/feedback", label="a", vector=[1.0, 0.0, 2.5], text="Free LUNCH, free!", features={"n": 3}
    )
    service.post("mail/feedback", label="b", vector=[0.5], text="noon")
    names = {
        each["feature"]
        for portrait in service.get("mail/explain").json()["classes"]
        for each in portrait["features"]
    }
    assert names >= {"x2", "text:free", "text:lunch", "n"}
    assert service.get("mail").json()["features"] == 7


def test_hashed_features_are_called_by_their_names(service):
    service.put("hashed", hash_bits=12)
    taught(service, "hashed")
    told = service.get("hashed/explain").json()["classes"]
    assert {each["feature"] for each in told[0]["features"]} == {"lunch", "noon"}
    assert service.post("hashed/predict", **HAM).json()["reasons"][0]["feature"] in {
        "lunch",
        "noon",
        "(bias)",
    }


def test_an_undecided_model_says_i_do_not_know(service):
    service.put("careful", undecided_below=1.5)
    taught(service, "careful")
    doubtful, sure = (service.post("careful/predict", features={"lunch": n}).json() for n in (0.5, 50))
    assert (doubtful["undecided"], sure["undecided"]) == (True, False)
    assert doubtful["margin"] < 1.5 <= sure["margin"]


def test_a_key_makes_feedback_safe_to_send_again(service):
    first = service.post("mail/feedback", label="spam", key="k1", **SPAM).json()
    again = service.post("mail/feedback", label="spam", key="k1", **SPAM).json()
    assert (again["seq"], again["repeated"]) == (first["seq"], True)
    by_header = service.client.post(
        "/v1/models/mail/feedback", json={"label": "spam", **SPAM}, headers={"Idempotency-Key": "k1"}
    )
    assert by_header.json()["repeated"] is True
    assert service.get("mail").json()["clock"] == 1
    other = service.post("mail/feedback", label="ham", key="k1", **SPAM)
    assert other.status_code == 409
    assert "k1" in other.json()["message"]


def lines(*messages):
    return "".join(json.dumps(message) + "\n" for message in messages).encode()


def test_a_bulk_is_learned_while_it_arrives(service):
    message = [{"label": "spam" if at % 2 else "ham", **(SPAM if at % 2 else HAM)} for at in range(500)]
    body = lines(*message)
    pieces = (body[at : at + 777] for at in range(0, len(body), 777))
    told = service.client.post(
        "/v1/models/mail/learn", content=pieces, headers={"content-type": "application/x-ndjson"}
    ).json()
    assert (told["learned"], told["repeated"]) == (500, 0)
    assert service.get("mail").json()["clock"] == 500


def test_a_bad_line_ends_a_bulk_and_is_named(service):
    body = (
        lines({"label": "spam", **SPAM}, {"label": "ham", **HAM})
        + b"{nonsense\n"
        + lines({"label": "ham", **HAM})
    )
    answer = service.client.post("/v1/models/mail/learn", content=body)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith("line 3: not JSON")
    assert answer.json()["learned"]["learned"] == service.get("mail").json()["clock"] == 2


def test_the_ledger_has_every_mistake_and_every_move(service):
    taught(service)
    for label in ("ham", "spam", "ham", "ham"):
        service.post("mail/feedback", label=label, **HAM)
    info = service.get("mail").json()
    lines, after = [], 0
    while after is not None:
        page = service.get("mail/ledger", after=after, limit=2).json()
        lines += page["lines"]
        after = page["next"]
    assert [line["seq"] for line in lines] == sorted({line["seq"] for line in lines})
    assert (
        lines[-1]["mistakes"] == info["mistakes"] == sum(line["label"] != line["predicted"] for line in lines)
    )
    assert lines[-1]["updates"] == info["updates"]
    assert info["accuracy"] == pytest.approx(1 - info["mistakes"] / info["clock"])


def test_models_are_made_once_and_deleted_whole(service):
    assert service.client.put("/v1/models/mail", json={}).status_code == 200
    assert service.client.put("/v1/models/mail", json={"hypothesis": "last"}).status_code == 409
    taught(service)
    assert service.client.delete("/v1/models/mail").status_code == 204
    assert service.get("mail").status_code == 404
    assert service.client.put("/v1/models/mail").status_code == 201
    assert service.get("mail").json()["clock"] == 0
    assert service.get("mail/ledger").json()["lines"] == []


def test_a_snapshot_goes_out_and_comes_back(service, tmp_path):
    taught(service)
    content = service.client.get("/v1/models/mail/snapshot").content
    service.post("mail/feedback", label="spam", **HAM)
    assert service.client.put("/v1/models/twin/snapshot", content=content).status_code == 200
    before = service.get("twin", fingerprint=True).json()
    assert (before["clock"], before["classes"]) == (2, ["ham", "spam"])
    assert service.client.put("/v1/models/mail/snapshot", content=content).status_code == 200
    assert service.get("mail", fingerprint=True).json()["fingerprint"] == before["fingerprint"]
    service.post("mail/feedback", label="spam", **HAM)
    after = service.get("mail", fingerprint=True).json()["fingerprint"]
    (tmp_path / "file").write_bytes(content)
    assert OnlineLearner.load(tmp_path / "file").predict_one({"lunch": 1}) == "ham"
    assert after != before["fingerprint"]


def test_an_uploaded_model_survives_a_restart(tmp_path):
    with served(tmp_path / "store") as service:
        service.put("mail")
        taught(service)
        content = service.client.get("/v1/models/mail/snapshot").content
        service.client.put("/v1/models/twin/snapshot", content=content)
        service.post("twin/feedback", label="spam", **HAM)
        before = service.get("twin", fingerprint=True).json()
    for file in (tmp_path / "store" / "snapshots").iterdir():
        file.unlink()
    again = Models(tmp_path / "store", recent_bytes=1 << 18)
    assert again.info("twin", fingerprint=True).fingerprint == before["fingerprint"]
    again.close()


def test_what_is_not_a_model_is_not_taken(service):
    for content in (b"", b"nonsense", b"\x00" * 4096):
        answer = service.client.put("/v1/models/other/snapshot", content=content)
        assert answer.status_code == 422
        assert "not a model" in answer.json()["message"]
    assert service.get("other").status_code == 404


def test_predictions_are_known_after_a_restart(tmp_path):
    with served(tmp_path / "store") as service:
        service.put("mail")
        taught(service)
        told = service.post("mail/predict", **HAM).json()
    with served(tmp_path / "store") as service:
        assert service.post("mail/feedback", prediction=told["id"], label="ham").status_code == 200
        service.put("other")
        assert service.post("other/feedback", prediction=told["id"], label="ham").status_code == 404


def test_a_prediction_that_was_overwritten_is_gone(service):
    taught(service)
    first = service.post("mail/predict", **HAM).json()["id"]
    long = {"text": "word " * 20_000}
    for _ in range(4):
        service.post("mail/predict", reasons=0, **long)
    answer = service.post("mail/feedback", prediction=first, label="ham")
    assert answer.status_code == 410
    assert "send the example itself" in answer.json()["message"]


def test_health_and_metrics(service):
    taught(service)
    assert service.client.get("/healthz").json() == {"status": "alive"}
    assert service.client.get("/readyz").json() == {"status": "ready"}
    page = service.client.get("/metrics").text
    assert 'rosenblatt_requests_total{route="feedback",status="200"} 2.0' in page
    assert 'rosenblatt_model_clock{model="mail"} 2.0' in page
    assert "rosenblatt_feedbacks_journalled_total 2.0" in page


def test_every_request_is_counted_once_however_many_there_are():
    metrics, n = Metrics(), 3 * AT_ONCE + 7
    for at in range(n):
        metrics.count(f"/v1/models/m/{('predict', 'feedback')[at % 2]}", (200, 429)[at % 4 == 3], 0.003)
    for _ in range(2):  # looking counts nothing
        page = metrics.page().decode()
        assert f'rosenblatt_requests_total{{route="predict",status="200"}} {(n + 1) // 2}.0' in page
        assert f'rosenblatt_requests_total{{route="feedback",status="429"}} {n // 4}.0' in page
        assert f'rosenblatt_request_seconds_bucket{{le="0.005",route="feedback"}} {n // 2}.0' in page
        assert 'rosenblatt_request_seconds_bucket{le="0.0025",route="feedback"} 0.0' in page


def test_what_is_counted_does_not_grow_with_what_is_asked(service):
    for at in range(50):
        service.client.get(f"/v1/models/mail/{at}")
        service.client.get(f"/v1/{at}")
        service.client.get(f"/{at}")
    routes = {
        line.partition('route="')[2].partition('"')[0]
        for line in service.client.get("/metrics").text.splitlines()
    }
    assert len(routes) < 10


@pytest.mark.parametrize(("method", "way"), [("GET", ""), ("POST", "/predict"), ("GET", "/explain")])
def test_our_own_fault_is_said_without_a_traceback(service, monkeypatch, method, way):
    def broken(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(service.models, "model", broken)
    answer = service.client.request(method, f"/v1/models/mail{way}", json={} if method == "POST" else None)
    assert (answer.status_code, answer.json()["error"]) == (500, "internal_error")
    assert "secret" not in answer.text
    monkeypatch.undo()
    assert service.get("mail").status_code == 200


def test_a_client_that_goes_away_in_the_middle_leaves_what_it_had_told(service):
    host, _, port = service.url.removeprefix("http://").partition(":")
    body = lines({"label": "spam", **SPAM}, {"label": "ham", **HAM})
    for way, clock in (("feedback", 0), ("learn", 2)):
        with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
            head = f"POST /v1/models/mail/{way} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 9999\r\n\r\n"
            wire.sendall(head.encode() + body)
            wire.shutdown(socket.SHUT_WR)
            wire.recv(4096)
        until = time.monotonic() + SECONDS
        while (found := service.get("mail").json()["clock"]) < clock and time.monotonic() < until:
            pass  # it is noticed soon
        assert found == clock


def test_the_answer_carries_the_request_s_id(service):
    answer = service.client.get("/v1/models/none", headers={"x-request-id": "abc-1"})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == "abc-1"
    made = service.client.post("/v1/models/mail/predict", json=HAM, headers={"x-request-id": "a b;c"})
    assert made.headers["x-request-id"] != "a b;c"
