"""Streams and the command line, against river and Vowpal Wabbit; ratios of one run.

Peers that are not installed are left out and named: ``pip install vowpalwabbit river``.
``ROSENBLATT_BENCH_STREAM_MB`` sets the size of the stream that is generated on the fly (2,000). Real streams are read
from ``ROSENBLATT_DATA``, or beside this repository.
"""

import csv
import gzip
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.measure import Ratios, best_of, data_folder, milliseconds

STREAM_MB = int(os.environ.get("ROSENBLATT_BENCH_STREAM_MB", "2000"))
COMMAND_MB, FEATURES, NONZEROS = 90, 50_000, 75
MAIN = "import sys; from rosenblatt.cli import main; main()"
OWN = "import vowpalwabbit; vowpalwabbit.Workspace({options!r}).finish()"
FED = """
import vowpalwabbit
vw = vowpalwabbit.Workspace({options!r})
with open('{path}') as file:
    for line in file:
        label, _, pairs = line.partition(" ")
        vw.learn(f"{{label}} | {{pairs}}")
vw.finish()
"""
PEAK = """
import sys
from rosenblatt.cli import main
try:
    main()
finally:
    print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024, file=sys.stderr)
"""


def main() -> None:
    one_by_one(100_000)
    one_by_one(20_000)  # where the first batch, which meets names and classes, is a tenth of all
    every_rule(5_000)
    word_counts(2_000)
    with tempfile.TemporaryDirectory() as folder:
        whole_command(Path(folder))
    memory()
    pipelines()


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def one_by_one(examples: int) -> None:
    """``predict_one`` and ``learn_one`` in a loop, and ``learn_many`` in batches of 1,000; 20 named features."""
    import pandas as pd

    from rosenblatt import OnlineLearner

    rng = np.random.default_rng(0)
    names = [f"feature{k}" for k in range(20)]
    X = rng.normal(size=(examples, 20))
    y = (X[:, :5].sum(axis=1) > 0.3 * rng.normal(size=examples)).tolist()
    rows = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    starts = range(0, examples, 1000)
    frames = [(pd.DataFrame(X[a : a + 1000], columns=names), np.array(y[a : a + 1000])) for a in starts]
    dicts = [(rows[a : a + 1000], y[a : a + 1000]) for a in starts]

    def loop(model: Any) -> Any:
        for x, label in zip(rows, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)
        return model

    def many(blocks: list[Any]) -> Any:
        model = OnlineLearner()
        for block, labels in blocks:
            model.learn_many(block, labels)
        return model

    one, other = loop(OnlineLearner()).learner, many(frames).learner
    same = np.array_equal(one.weights("averaged"), other.weights("averaged"))
    table = Ratios(f"{examples:,} examples of 20 named features, against river's Perceptron in a loop")
    table.note(f"learn_many leaves the weights of the loop, to the last bit: {'yes' if same else 'NO'}")
    if not installed("river"):
        table.left_out("predict_one + learn_one, learn_many", "river is not installed: pip install river")
        table.show()
        return
    from river.linear_model import Perceptron

    ours, batches, lists, river = best_of(
        5,
        lambda: loop(OnlineLearner()),
        lambda: many(frames),
        lambda: many(dicts),
        lambda: loop(Perceptron()),
    )
    each = milliseconds
    size = f"{examples:,} examples"
    table.add(f"predict_one + learn_one, {size}", each(ours), each(river), river / ours, 2)
    table.add(f"learn_many, data frames of 1,000, {size}", each(batches), each(river), river / batches, 50)
    table.add(f"learn_many, lists of 1,000 dicts, {size}", each(lists), each(river), river / lists, 2)
    table.show()


def every_rule(examples: int) -> None:
    """``predict_one`` and ``learn_one`` of every rule, against those of the perceptron; 20 named features."""
    from rosenblatt import OnlineLearner, rules

    rng = np.random.default_rng(0)
    X = rng.normal(size=(examples, 20))
    scores = X @ rng.normal(size=(20, 5))
    labels = {"two classes": (scores[:, 0] > 0).tolist(), "five classes": scores.argmax(axis=1).tolist()}
    rows = [{f"feature{k}": value for k, value in enumerate(x)} for x in X.tolist()]
    table = Ratios(f"predict_one + learn_one of {examples:,} examples: every rule against the perceptron")

    def loop(rule: Any, multi_class: str, y: list[Any]) -> Callable[[], None]:
        def run() -> None:
            model = OnlineLearner(rule=rule, multi_class=multi_class)
            for x, label in zip(rows, y, strict=True):
                model.predict_one(x)
                model.learn_one(x, label)

        return run

    for rule in (*(name for name in rules.BY_NAME if name != "rosenblatt"), rules.ALMA(p=4.0)):
        for kind, multi_class in (
            ("two classes", "joint"),
            ("five classes", "joint"),
            ("five classes", "ovr"),
        ):
            ours, plain = best_of(
                3, loop(rule, multi_class, labels[kind]), loop("rosenblatt", multi_class, labels[kind])
            )
            what = f"{rule}, {kind}, {multi_class}"
            table.add(what, milliseconds(ours), milliseconds(plain), plain / ours, 1 / 3)
    table.show()


def word_counts(examples: int) -> None:
    """``predict_one`` and ``learn_one`` of texts as dicts of word counts; the vocabulary grows all the time."""
    from rosenblatt import OnlineLearner

    table = Ratios(f"{examples:,} texts as dicts of word counts, predict_one + learn_one, against river")
    if not installed("river"):
        table.left_out("dicts of word counts", "river is not installed: pip install river")
        table.show()
        return
    from river.linear_model import LogisticRegression, Perceptron

    rng = np.random.default_rng(0)
    zipf = np.arange(1, 30_001) ** -1.05
    cumulated = np.cumsum(zipf / zipf.sum())

    def loop(model: Any, xs: list[dict[str, int]], y: list[bool]) -> None:
        for x, label in zip(xs, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    for words in (100, 300, 800):
        xs = []
        for _ in range(examples):
            drawn, counts = np.unique(np.searchsorted(cumulated, rng.random(words)), return_counts=True)
            order = rng.permutation(drawn.size)
            xs.append(
                {f"w{k}": n for k, n in zip(drawn[order].tolist(), counts[order].tolist(), strict=True)}
            )
        y = (rng.random(examples) < 0.5).tolist()
        perceptron, logistic, theirs, their_logistic = best_of(
            3,
            lambda xs=xs, y=y: loop(OnlineLearner(), xs, y),
            lambda xs=xs, y=y: loop(OnlineLearner("last", rule="logistic"), xs, y),
            lambda xs=xs, y=y: loop(Perceptron(), xs, y),
            lambda xs=xs, y=y: loop(LogisticRegression(), xs, y),
        )
        size, each = f"{np.mean([len(x) for x in xs]):.0f} words", milliseconds
        table.add(f"{size}: Perceptron", each(perceptron), each(theirs), theirs / perceptron, 2)
        table.add(
            f"{size}: LogisticRegression", each(logistic), each(their_logistic), their_logistic / logistic, 2
        )
    table.show()


def text_block(rows: int = 4000, bar: bool = False) -> bytes:
    """Return LIBSVM text, or Vowpal Wabbit's."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=FEATURES)
    lines = []
    for _ in range(rows):
        index = np.unique(rng.integers(1, FEATURES, NONZEROS))
        value = np.round(rng.random(index.size), 4)
        label = 1 if weights[index] @ value > 0 else -1
        pairs = " ".join(map("%d:%g".__mod__, zip(index.tolist(), value.tolist(), strict=True)))
        lines.append(f"{label} {'| ' if bar else ''}{pairs}\n")
    return "".join(lines).encode()


def repeated(block: bytes, megabytes: int) -> Iterator[bytes]:
    for _ in range(max(1, megabytes * 10**6 // len(block))):
        yield block


def whole_command(folder: Path) -> None:
    """From nothing to a model: interpreter, imports, reading, one pass, what is printed.

    Vowpal Wabbit does not read LIBSVM text: its package is fed the file line by line, which took it less than writing
    the text anew and reading that. Beside it, its own reader on text that somebody had written for it.
    """
    svm, vw, small = folder / "a.svm", folder / "a.vw", folder / "small.svm"
    for path, bar in ((svm, False), (vw, True)):
        with path.open("wb") as file:
            file.writelines(repeated(text_block(bar=bar), COMMAND_MB))
    small.write_bytes(text_block(1000))
    model = folder / "m.safetensors"

    # As of a package that pip installed, whose modules are not parsed anew by every command.
    installed_like = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def command(*arguments: Any) -> Callable[[], Any]:
        words = [sys.executable, "-c", MAIN, *map(str, arguments)]
        return lambda: subprocess.run(words, check=True, capture_output=True, env=installed_like)

    once = ("--passes", 1, "--no-shuffle", "--model", model)
    contestants = {
        "fit, 1,000 rows": command("fit", small),
        "fit, 90 MB, one pass, not measured after it": command(
            "fit", svm, *once, "--out-of-core", "--no-measure"
        ),
        "fit, 90 MB, one pass, out of core": command("fit", svm, *once, "--out-of-core"),
        "fit, 90 MB, one pass, in memory": command("fit", svm, *once, "--no-ledger"),
        "fit, 90 MB, one pass, all hypotheses": command("fit", svm, *once),
        "stream, 90 MB": command("stream", svm, "--every", 10**6, "--model", folder / "s.safetensors"),
    }
    peers = {}
    if installed("vowpalwabbit"):
        options = f"--loss_function hinge --holdout_off --quiet -b 18 -f {folder / 'vw.model'}"
        ways = {
            "vw's package on the same file": FED.format(options=options, path=svm),
            "vw on its own text, written beforehand": OWN.format(options=f"{options} --no_stdin -d {vw}"),
        }
        for what, code in ways.items():
            words = [sys.executable, "-c", code]
            peers[what] = lambda words=words: subprocess.run(
                words, check=True, capture_output=True, env=installed_like
            )
    times = dict(zip([*contestants, *peers], best_of(3, *contestants.values(), *peers.values()), strict=True))
    table = Ratios("Whole commands, start-up included, against the vw package on 90 MB")
    for what in contestants:
        ours = times[what]
        if "1,000" in what:
            table.note(f"{what}: {milliseconds(ours)} (asked: well under a second)")
        elif not peers:
            why = "vowpalwabbit is not installed: pip install vowpalwabbit"
            table.left_out(f"{what}: {milliseconds(ours)}", why)
        for peer in peers if "1,000" not in what else ():
            theirs = times[peer]
            table.add(f"{what} / {peer}", milliseconds(ours), milliseconds(theirs), theirs / ours, 1.5)
    table.show()


def memory() -> None:
    """Feed a stream that is generated on the fly through a pipe, and ask the kernel for the peak."""
    block = text_block()
    table = Ratios(f"Peak memory of a stream through a pipe, {STREAM_MB:,} MB against an eighth of it")
    ways = {
        "stream -": ["stream", "-", "--format", "libsvm", "--every", str(10**7)],
        "fit - --out-of-core --passes 1": [
            "fit",
            "-",
            "--format",
            "libsvm",
            "--out-of-core",
            "--passes",
            "1",
        ],
    }
    for what, words in ways.items():
        more = ["--no-shuffle"] if "fit" in what else []
        peaks = []
        for size in (STREAM_MB // 8, STREAM_MB):
            child = subprocess.Popen(
                [sys.executable, "-c", PEAK, *words, *more],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            assert child.stdin is not None
            assert child.stderr is not None
            for piece in repeated(block, size):
                child.stdin.write(piece)
            child.stdin.close()
            peaks.append(int(child.stderr.read().split()[-1]))
            child.wait()
        table.add(f"{what}: 400 MB / its peak", f"{peaks[1]} MB", f"{peaks[0]} MB", 400 / peaks[1], 1.0)
        table.add(f"{what}: flat", f"{peaks[1]} MB", f"{peaks[0]} MB", peaks[0] / peaks[1], 0.9)
    table.show()


def pipelines() -> None:
    """Progressive accuracy and time of the automatic learner against river's pipelines, one example after the other."""
    accuracies = Ratios("OnlineLearner('auto') against the best of river's pipelines: progressive accuracy")
    times = Ratios("The same: time for predict_one and learn_one, an example")
    if not installed("river"):
        accuracies.left_out("pipelines", "river is not installed: pip install river")
        accuracies.show()
        return
    from river import linear_model, preprocessing

    from rosenblatt import OnlineLearner

    scaled = preprocessing.StandardScaler
    theirs: dict[str, Callable[[], Any]] = {
        "StandardScaler | LogisticRegression": lambda: scaled() | linear_model.LogisticRegression(),
        "StandardScaler | PAClassifier": lambda: scaled() | linear_model.PAClassifier(),
        "StandardScaler | Perceptron": lambda: scaled() | linear_model.Perceptron(),
        "ALMAClassifier": linear_model.ALMAClassifier,
        "LogisticRegression": linear_model.LogisticRegression,
        "PAClassifier": linear_model.PAClassifier,
    }

    def run(model: Any, rows: list[dict[str, Any]], labels: list[bool]) -> tuple[float, float]:
        """Return progressive accuracy and processor seconds an example."""
        right, began = 0, process_time()
        for x, label in zip(rows, labels, strict=True):
            right += model.predict_one(x) == label
            model.learn_one(x, label)
        return right / len(rows), (process_time() - began) / len(rows)

    for name, (rows, labels) in drifting_and_not():
        run(OnlineLearner("auto"), rows[:100], labels[:100])  # compiles
        best, best_accuracy, best_time = "", 0.0, 0.0
        for pipeline, make in theirs.items():
            accuracy, took = run(make(), rows, labels)
            if accuracy > best_accuracy:
                best, best_accuracy, best_time = pipeline, accuracy, took
        accuracy, took = run(OnlineLearner("auto"), rows, labels)
        what = f"{name}, {len(rows):,} rows / {best}"
        accuracies.add(what, f"{accuracy:.4f}", f"{best_accuracy:.4f}", accuracy / best_accuracy, 1.0)
        times.add(what, f"{1e6 * took:.1f} µs", f"{1e6 * best_time:.1f} µs", best_time / took, 2.0)
    accuracies.show()
    times.show()


def drifting_and_not() -> Iterator[tuple[str, tuple[list[dict[str, Any]], list[bool]]]]:
    """Yield streams of two classes, as dicts: real ones where the data folder is, and two that drift by design."""
    rng = np.random.default_rng(0)
    n, d = 30_000, 10
    Z = rng.normal(size=(n, d))
    X = Z * np.exp(2.0 * rng.normal(size=d)) + 5.0 * rng.normal(size=d)
    turns = np.repeat(rng.normal(size=(6, d)), n // 6, axis=0)  # the boundary jumps five times
    yield "jumping boundary", _dicts(X, (Z * turns).sum(axis=1) + 0.3 * rng.normal(size=n) > 0)
    angle = np.linspace(0.0, 4.0 * np.pi, n)
    turned = np.cos(angle) * Z[:, 0] + np.sin(angle) * Z[:, 1] + 0.2 * rng.normal(size=n)
    yield "turning boundary", _dicts(X, turned > 0)
    folder = data_folder()
    if folder is None:
        return
    with gzip.open(folder / "streams" / "elec.csv.gz", "rt") as file:
        table = np.array([line.split(",") for line in list(file)[1:]], dtype=float)
    yield "electricity prices", _dicts(table[:, :-1], table[:, -1] == 1)
    with gzip.open(folder / "uci" / "adult_train.csv.gz", "rt") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15 and row[0].isdigit()]
    cells = [
        {
            f"{k}" if _is_number(cell) else f"{k}={cell}": float(cell) if _is_number(cell) else 1.0
            for k, cell in enumerate(row[:-1])
        }
        for row in rows
    ]
    yield "census income, table", (cells, [row[-1].startswith(">50K") for row in rows])
    with gzip.open(folder / "libsvm" / "a9a.gz", "rt") as file:
        lines = [line.split() for line in file]
    vectors = [{pair.partition(":")[0]: float(pair.partition(":")[2]) for pair in line[1:]} for line in lines]
    yield "census income, a9a", (vectors, [line[0] == "+1" for line in lines])
    with gzip.open(folder / "text" / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n").partition("\t") for line in file]
    words = [dict(Counter(re.findall(r"\w+", text.lower()))) for _, _, text in texts]
    yield "text messages, counts of words", (words, [label == "spam" for label, _, _ in texts])


def _dicts(X: Any, y: Any) -> tuple[list[dict[str, Any]], list[bool]]:
    names = [f"x{k}" for k in range(X.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).lstrip("-").isdigit()


if __name__ == "__main__":
    main()
