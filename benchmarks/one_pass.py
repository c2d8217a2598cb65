"""One pass over sparse text: accuracy and time of NAG beside Vowpal Wabbit's defaults; ratios of one run.

Every set is written as Vowpal Wabbit's text and read from there by both, from the file to the model, each row predicted
before it is learned from. Times are CPU times of the process, all threads: both read and learn in several. Real sets
are read from ``ROSENBLATT_DATA``; made ones are there always. Vowpal Wabbit that is not installed is left out and
named: ``pip install vowpalwabbit``.
"""

import gzip
import importlib.util
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.linear_family import word_data
from benchmarks.measure import Ratios, data_folder, milliseconds

RUNS = 3
RULES = ("nag", "nag-logistic", "scinol", "arow")


def lines_of(X: csr_array, y: Any, classes: int) -> Iterator[str]:
    """Yield the rows of a matrix as Vowpal Wabbit's text, in a random order."""
    for i in np.random.default_rng(1).permutation(X.shape[0]).tolist():
        start, stop = X.indptr[i], X.indptr[i + 1]
        label = y[i] + 1 if classes > 2 else 2 * y[i] - 1
        pairs = zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist(), strict=True)
        yield f"{label} | {' '.join(f'f{j}:{v:g}' for j, v in pairs)}\n"


def words_of(texts: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Yield texts as counts of their words, in a random order."""
    every = list(texts)
    for i in np.random.default_rng(1).permutation(len(every)).tolist():
        label, text = every[i]
        counts = Counter(re.findall(r"[a-z0-9']+", text.lower()))
        yield f"{label} | {' '.join(f'w{word}:{count}' for word, count in counts.items())}\n"


def libsvm(path: Path) -> Callable[[], Iterator[str]]:
    from sklearn.datasets import load_svmlight_file

    def lines() -> Iterator[str]:
        X, y = load_svmlight_file(str(path))
        return lines_of(csr_array(X), (y == y.max()).astype(int), 2)

    return lines


def sets() -> dict[str, tuple[int, Callable[[], Iterator[str]]]]:
    """Return the number of classes of every set, and its lines."""

    def made(classes: int, words: int) -> Callable[[], Iterator[str]]:
        return lambda: lines_of(*word_data(20_000, words=words, classes=classes), classes)

    def units() -> Iterator[str]:
        rng = np.random.default_rng(3)
        X = rng.normal(size=(20_000, 20))
        y = (X @ rng.normal(size=20) + rng.normal(size=20_000) > 0.0).astype(int)
        return lines_of(csr_array(X * 10.0 ** rng.uniform(-3, 3, 20)), y, 2)

    every: dict[str, tuple[int, Callable[[], Iterator[str]]]] = {
        "made text, 2 classes": (2, made(2, 40)),
        "made text, 20 classes": (20, made(20, 75)),
        "columns in other units": (2, units),
    }
    folder = data_folder()
    if folder is None:
        return every
    sms, enron = folder / "text" / "sms_spam.tsv.gz", folder / "text" / "enron_1_3.jsonl.gz"

    def short() -> Iterator[str]:
        with gzip.open(sms, "rt", encoding="utf-8") as file:
            rows = [(1 if line.startswith("spam") else -1, line.partition("\t")[2]) for line in file]
        return words_of(rows)

    def mails() -> Iterator[str]:
        with gzip.open(enron, "rt", encoding="utf-8") as file:
            rows = [(1 if row["label"] == "spam" else -1, row["text"]) for row in map(json.loads, file)]
        return words_of(rows)

    if sms.exists():
        every["sms"] = (2, short)
    if enron.exists():
        every["enron mails"] = (2, mails)
    for name in ("a9a", "w8a", "mushrooms"):
        path = folder / "libsvm" / f"{name}.gz"
        if path.exists():
            every[name] = (2, libsvm(path))
    return every


def ours(path: Path, rule: str, multi_class: str) -> tuple[float, float]:
    """Return progressive accuracy and CPU seconds, from the file to the model."""
    from rosenblatt.data import ReadOptions, open_examples
    from rosenblatt.streams.rows_learner import AUTO, RowsLearner

    started = time.process_time()
    if rule == AUTO:  # what ``rosenblatt stream`` does with such a file by default
        learner = RowsLearner(AUTO, multi_class=multi_class, scale=False)
    else:
        learner = RowsLearner("last", rule=rule, multi_class=multi_class)
    right = 0
    for batch in open_examples(path, ReadOptions(format="vw", grow=True)):
        right += int(learner.progress(batch.X, batch.y, batch.weight).sum())
    return right / learner.rows, time.process_time() - started


def theirs(path: Path, classes: int) -> tuple[float, float]:
    """Return the same of Vowpal Wabbit at its defaults; with several classes, one against all."""
    import vowpalwabbit

    started = time.process_time()
    kind = "--binary" if classes == 2 else f"--oaa {classes}"
    model = vowpalwabbit.Workspace(f"{kind} --quiet --no_stdin -d {path}")
    accuracy = 1.0 - model.get_sum_loss() / model.get_weighted_examples()
    model.finish()
    return accuracy, time.process_time() - started


def main() -> None:
    table = Ratios("One pass over Vowpal Wabbit's text, file to model, against vw at its defaults")
    peer = importlib.util.find_spec("vowpalwabbit") is not None
    for name, (classes, lines) in sets().items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.vw"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(lines())
            multi_class = "ovr" if classes > 2 else "joint"
            ours(path, "nag", multi_class)  # compile
            turns = [
                (ours(path, "nag", multi_class), theirs(path, classes) if peer else (0.0, 0.0))
                for _ in range(RUNS)
            ]
            (accuracy, _), (their_accuracy, _) = turns[0]
            seconds, their_seconds = (min(turn[who][1] for turn in turns) for who in (0, 1))
            others = ", ".join(f"{rule} {ours(path, rule, multi_class)[0]:.4f}" for rule in RULES[1:])
            if not peer:
                table.left_out(f"{name}: nag {accuracy:.4f}", "vowpalwabbit is not installed")
                continue
            table.add(
                f"{name}: progressive accuracy, nag / vw",
                f"{accuracy:.4f}",
                f"{their_accuracy:.4f}",
                accuracy / their_accuracy,
                (their_accuracy - 0.01) / their_accuracy,
            )
            chosen, _ = ours(path, "auto", "joint")
            table.add(
                f"{name}: progressive accuracy, stream's default / vw",
                f"{chosen:.4f}",
                f"{their_accuracy:.4f}",
                chosen / their_accuracy,
                (their_accuracy - 0.01) / their_accuracy,
            )
            table.add(
                f"{name}: CPU time, nag / vw",
                milliseconds(seconds),
                milliseconds(their_seconds),
                their_seconds / seconds,
                1.0,
            )
            table.note(f"{name}: {others}")
    table.show()


if __name__ == "__main__":
    main()
