"""Accuracy of the mail filter on real mail before each correction, and the time of a correction."""

import gzip
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Ratios, best_of, data_folder, milliseconds

MESSAGES = 2000
ACCURACY = 0.93
HALF_A_POINT = 0.005
AT_ONCE = 0.1  # seconds in which an answer feels immediate


def main() -> None:
    table = Ratios(f"Mail: {MESSAGES:,} messages as a stream, each marked before it is learned from")
    folder = data_folder()
    path = None if folder is None else folder / "text" / "enron_1_3.jsonl.gz"
    if path is None or not path.is_file():
        table.left_out("Enron mail", "needs text/enron_1_3.jsonl.gz in ROSENBLATT_DATA")
        table.show()
        return
    boxes: dict[str, list[Any]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            boxes.setdefault(row["box"], []).append(row)
    for box, rows in boxes.items():
        ours, undecided, strict = _ours(rows[:MESSAGES])
        theirs = _theirs(rows[:MESSAGES])
        table.add(
            f"{box}: right, by the side it leans to", f"{ours:.4f}", f"{theirs:.4f}", ours, ACCURACY, ""
        )
        what = f"{box}: right, {undecided} undecided counted as wrong"
        table.add(what, f"{strict:.4f}", f"{theirs:.4f}", strict, ACCURACY, "")
        mine, svc = _held_out(rows)
        what = f"{box}: held out, the last quarter after learning the rest in order"
        table.add(what, f"{mine:.4f}", f"{svc:.4f}", mine, svc - HALF_A_POINT, "")
    sms = folder / "text" / "sms_spam.tsv.gz"  # type: ignore[operator]
    if sms.is_file():
        with gzip.open(sms, "rt", encoding="utf-8") as lines:
            pairs = [line.rstrip("\n").split("\t", 1) for line in lines]
        mine, svc = _held_out([{"text": f"\n{text}", "label": label} for label, text in pairs])
        what = "SMS spam: held out, the last quarter after learning the rest in order"
        table.add(what, f"{mine:.4f}", f"{svc:.4f}", mine, svc - HALF_A_POINT, "")
    else:
        table.left_out("SMS spam", "needs text/sms_spam.tsv.gz in ROSENBLATT_DATA")
    _by_hand(table, boxes["enron1"])
    table.note(
        "theirs: scikit-learn's hinge SGD (passive-aggressive, C=1) on hashed words, partial_fit one by one; held out, "
        "tf-idf with LinearSVC, fitted to the same messages at once"
    )
    table.show()


def _named(rows: list[Any]) -> list[dict[str, float]]:
    from rosenblatt.mail.features import features
    from rosenblatt.mail.message import read_mail

    return [features(read_mail(row["text"].encode())) for row in rows]


def _label(row: Any) -> str:
    return "important" if row["label"] == "ham" else "not"


def _ours(rows: list[Any]) -> tuple[float, int, float]:
    from rosenblatt.mail.marks import SETTINGS
    from rosenblatt.service.model import Model

    model = Model(1, "mail", SETTINGS)
    undecided = wrong = 0
    for seq, (named, row) in enumerate(zip(_named(rows), rows, strict=True), 1):
        told = model.predict(named)
        undecided += told.undecided
        wrong += told.undecided or told.label != _label(row)
        model.learn(seq, named, _label(row), brief=True)
    return 1 - model.counts.mistakes / len(rows), undecided, 1 - wrong / len(rows)


def _held_out(rows: list[Any]) -> tuple[float, float]:
    """Return the accuracy on the last quarter: of the filter, which learned the rest one by one, and of LinearSVC.

    The filter learns by the rule that an import of the rest chooses.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    from rosenblatt.mail.filter import choose_settings
    from rosenblatt.service.model import Model

    cut = 3 * len(rows) // 4
    named = _named(rows)
    model = Model(1, "mail", choose_settings(zip(named[:cut], map(_label, rows), strict=False)))
    for seq, (each, row) in enumerate(zip(named[:cut], rows, strict=False), 1):
        model.learn(seq, each, _label(row), brief=True)
    ours = sum(
        model.predict(each).label == _label(row) for each, row in zip(named[cut:], rows[cut:], strict=True)
    )
    words = TfidfVectorizer()
    svc = LinearSVC().fit(
        words.fit_transform([row["text"] for row in rows[:cut]]), [row["label"] for row in rows[:cut]]
    )
    theirs = svc.predict(words.transform([row["text"] for row in rows[cut:]]))
    right = sum(label == row["label"] for label, row in zip(theirs, rows[cut:], strict=True))
    return ours / (len(rows) - cut), right / (len(rows) - cut)


def _theirs(rows: list[Any]) -> float:
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    words = HashingVectorizer(
        n_features=1 << 18, binary=True, norm=None, alternate_sign=False, stop_words="english"
    )
    X = words.transform([row["text"] for row in rows])
    learner = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0)
    right = 0
    for at, row in enumerate(rows):
        if at:
            right += learner.predict(X[at])[0] == row["label"]
        learner.partial_fit(X[at], [row["label"]], classes=["ham", "spam"])
    return right / len(rows)


def _by_hand(table: Ratios, rows: list[Any]) -> None:
    """Measure what a person waits for: marking a screen anew, learning durably, taking an answer back."""
    from rosenblatt.mail.filter import import_sorted
    from rosenblatt.mail.mailbox import Mailbox
    from rosenblatt.mail.marks import MODEL, Marks
    from rosenblatt.mail.message import read_mail
    from rosenblatt.service.schemas import Example
    from rosenblatt.service.writer import LocalModels

    with tempfile.TemporaryDirectory() as folder:
        models = LocalModels(Path(folder))
        box = Mailbox(Path(folder))
        began = time.perf_counter()
        import_sorted(models, box, [(read_mail(row["text"].encode()), _label(row)) for row in rows])
        each = (time.perf_counter() - began) / len(rows)
        table.add(f"import of {len(rows):,} messages, each", milliseconds(each), "", 0.005 / each, 1.0)
        marks = Marks(_named(rows[:MESSAGES]))
        [seconds] = best_of(5, lambda: marks.look(models.model(MODEL)))
        table.add(f"mark {MESSAGES:,} messages anew", milliseconds(seconds), "", AT_ONCE / seconds, 1.0)
        models.snapshot(MODEL)
        named = _named(rows[:1])[0]

        def there_and_back() -> None:
            change = models.feedback(MODEL, "not", Example(features=named))  # type: ignore[arg-type]
            models.undo(MODEL, change.seq)

        [seconds] = best_of(3, there_and_back)
        table.add("learn durably, and take it back exactly", milliseconds(seconds), "", 1.0 / seconds, 1.0)
        box.close()
        models.close(snapshot=False)


if __name__ == "__main__":
    main()
