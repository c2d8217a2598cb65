"""The curves of a model are those of its journal."""

import numpy as np
from tests.mail.messages import letter

from rosenblatt.mail.bound import Bounded, bound_on
from rosenblatt.mail.features import features
from rosenblatt.mail.marks import IMPORTANT, MODEL, NOT, SETTINGS
from rosenblatt.mail.message import read_mail
from rosenblatt.mail.pages.model_page import History, _accuracy, history
from rosenblatt.service.schemas import Example
from rosenblatt.service.store import Entry
from rosenblatt.service.writer import LocalModels


def test_mistakes_and_shares_are_those_that_were_made(tmp_path):
    models = LocalModels(tmp_path / "store", recent_bytes=1 << 16)
    models.create(MODEL, SETTINGS)
    wrong = []
    for seed in range(80):
        important = seed % 3 == 0
        change = models.feedback(
            MODEL,
            IMPORTANT if important else NOT,
            Example(features=features(read_mail(letter(seed, important)))),
        )
        wrong.append(not change.right)
    models.write_ledger()
    past = history(models.store, models.model(MODEL))
    assert past.clock.tolist() == list(range(1, 81))
    assert past.mistakes.tolist() == np.cumsum(wrong).tolist()
    assert np.allclose(past.right, 1 - np.cumsum(wrong) / past.clock)
    assert len(past.lines) >= sum(wrong)
    assert past.lines[0].seq > past.lines[-1].seq
    models.close(snapshot=False)


def test_all_is_written_only_where_all_was_right():
    clock = np.array([1.0, 30_000.0])
    for right, shown in ((29_999 / 30_000, "&gt;99.9%"), (1.0, "100.0%")):
        past = History(clock, np.zeros(2), np.array([1.0, right]), np.ones(2), [])
        assert f"all: {shown}" in _accuracy(past)


def test_the_bound_holds_whatever_the_order_and_also_where_nothing_separates():
    rng = np.random.default_rng(5)
    named = [
        (features(read_mail(letter(seed, seed % 2 == 0))), IMPORTANT if seed % 2 == 0 else NOT)
        for seed in range(60)
    ]
    noisy = [*named, (named[0][0], NOT), (named[1][0], IMPORTANT)]
    for rows, separable in ((named, True), (noisy, False)):
        for _ in range(3):
            order = rng.permutation(len(rows))
            entries = [Entry(seq, *rows[at]) for seq, at in enumerate(order, 1)]
            bound = bound_on(entries, C=1.0)
            assert isinstance(bound, Bounded)
            assert bound.separable is separable
            assert _mistakes(entries) <= bound.bound
    assert isinstance(bound_on([Entry(1, {"a": 1.0}, NOT)], C=1.0), str)


def _mistakes(entries):
    """Count the mistakes of PA-I, written plainly."""
    w: dict[str, float] = {}
    mistakes = 0
    for _, named, label in entries:
        y = 1.0 if label == NOT else -1.0
        x = {**named, "": 1.0}
        score = sum(w.get(name, 0.0) * value for name, value in x.items())
        mistakes += y * score <= 0
        loss = max(0.0, 1.0 - y * score)
        tau = min(1.0, loss / sum(value * value for value in x.values()))
        for name, value in x.items():
            w[name] = w.get(name, 0.0) + tau * y * value
    return mistakes
