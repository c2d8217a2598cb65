"""Real mail as a stream: each message is marked before it is learned from."""

import gzip
import json

import pytest

from rosenblatt.mail.features import EVERYDAY, features, reasons
from rosenblatt.mail.marks import IMPORTANT, NOT, SETTINGS
from rosenblatt.mail.message import read_mail
from rosenblatt.service.model import Model

N = 2000


@pytest.fixture(scope="module")
def streams(data_folder):
    path = data_folder / "text" / "enron_1_3.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no Enron mail at {path}")
    boxes = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            boxes.setdefault(row["box"], []).append(row)
    return {box: rows[: N + 200] for box, rows in boxes.items()}


def test_progressive_accuracy_after_2000_messages_and_reasons_a_person_accepts(streams):
    for box, rows in streams.items():
        model = Model(1, "mail", SETTINGS)
        told, strictly = [], 0
        for seq, row in enumerate(rows, 1):
            label = IMPORTANT if row["label"] == "ham" else NOT
            named = features(read_mail(row["text"].encode()))
            if seq > N:
                scored = model.learner.score(named)
                told += reasons(zip(scored.names, scored.pushes(), strict=True), scored.score)
            else:
                found = model.predict(named)
                strictly += not found.undecided and found.label == label
                model.learn(seq, named, label, brief=True)
        accuracy = 1 - model.counts.mistakes / N
        print(
            f"{box}: {accuracy:.4f} of {N} messages marked right before they were learned from, "
            f"{strictly / N:.4f} with don't know counted as wrong"
        )
        assert accuracy >= 0.93
        assert strictly / N >= 0.93
        assert len(told) > 500
        for word, _ in told:
            assert word not in EVERYDAY
            assert all(part.isalpha() for part in word.replace("'", " ").split()), word
