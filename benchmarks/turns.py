"""A process that times rows of one version of rosenblatt, asked line by line: ``python turns.py`` (see against.py).

It runs under the old and under the new version, so it uses only names that are public in both. Every row is prepared
and warmed up once; a line on standard input names a row and is answered by the seconds of one run.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

Run = Callable[[], Any]


def dense(n: int = 200_000, d: int = 100, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.argmax(X @ rng.normal(size=(d, classes)).astype(np.float32), axis=1)
    return X, np.where(rng.random(n) < 0.02, rng.integers(0, classes, n), y)


def text(
    n: int = 100_000, d: int = 50_000, nonzeros: int = 75, classes: int = 2
) -> tuple[csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    words = np.minimum((d ** rng.random((n, nonzeros))).astype(np.int64) - 1, d - 1)
    words = np.where(rng.random((n, nonzeros)) < 0.25, (words // classes) * classes + y[:, None], words) % d
    words.sort(axis=1)
    starts = (np.arange(n + 1) * nonzeros).astype(np.int32)
    values = rng.integers(1, 4, n * nonzeros).astype(np.float64)
    X = csr_array((values, words.astype(np.int32).reshape(-1), starts), shape=(n, d))
    X.sum_duplicates()
    return X, y


def named(n: int, words: int, vocabulary: int) -> tuple[list[dict[str, float]], list[int]]:
    rng = np.random.default_rng(0)
    chosen = (vocabulary ** rng.random((n, words))).astype(np.int64)
    return [{f"w{k}": 1.0 for k in row} for row in chosen.tolist()], rng.integers(0, 2, n).tolist()


def fit(estimator: Any, data: tuple[Any, Any]) -> Run:
    return lambda: estimator.fit(*data)


def fit_perceptron(data: tuple[Any, Any], **options: Any) -> Run:
    from rosenblatt import Perceptron

    return fit(Perceptron(max_iter=3, **options), data)


def by_batches(data: tuple[Any, Any]) -> Run:
    from rosenblatt import Perceptron

    def run() -> None:
        clf = Perceptron(keep_ledger=False)
        for lo in range(0, 20_000, 100):
            clf.partial_fit(data[0][lo : lo + 100], data[1][lo : lo + 100], classes=[0, 1])

    return run


def predict_rows(hypothesis: str) -> Run:
    from rosenblatt import Perceptron

    X, y = dense(20_000)
    clf = Perceptron(max_iter=2, hypothesis=hypothesis).fit(X, y)
    return lambda: clf.predict(X)


def family(name: str, data: tuple[Any, Any], **options: Any) -> Run:
    import rosenblatt

    return fit(getattr(rosenblatt, name)(**options), data)


def kernel(n: int, classes: int = 2, predict: str = "") -> Run:
    from rosenblatt import KernelPerceptron

    X, y = dense(n, 30, classes)
    model = KernelPerceptron("rbf", max_iter=3)
    if not predict:
        return lambda: model.fit(X, y)
    fitted = model.fit(X, y).use(predict)
    return lambda: fitted.predict(X[:1000])


def online(
    examples: tuple[list[dict[str, float]], list[int]], rule: str = "rosenblatt", learn: bool = True
) -> Run:
    from rosenblatt import OnlineLearner

    learner = OnlineLearner(rule=rule)

    def run() -> None:
        for x, y in zip(*examples, strict=True):
            learner.predict_one(x)
            if learn:
                learner.learn_one(x, y)

    return run


def in_frames() -> Run:
    import pandas as pd

    from rosenblatt import OnlineLearner

    X, y = dense(50_000, 20)
    frames = [
        pd.DataFrame(X[lo : lo + 1000], columns=[f"x{k}" for k in range(20)]) for lo in range(0, 50_000, 1000)
    ]
    learner = OnlineLearner()

    def run() -> None:
        for k, frame in enumerate(frames):
            learner.learn_many(frame, y[1000 * k : 1000 * k + 1000])

    return run


def command(*words: str, fresh: bool = False) -> Run:
    """A whole command in a process of its own; ``fresh``: on an empty cache of machine code."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            moved = {"XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": folder} if fresh else {}
            subprocess.run(
                [sys.executable, "-m", "rosenblatt", *words],
                env=os.environ | moved,
                check=True,
                capture_output=True,
            )

    return run


def libsvm_file() -> str:
    path = Path(tempfile.mkdtemp()) / "data.svm"
    X, y = text(2_000, 5_000, 30)
    with path.open("w") as file:
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip((X.indices[part] + 1).tolist(), X.data[part].tolist(), strict=True)
            file.write(f"{y[i]} " + " ".join(f"{j}:{v:g}" for j, v in pairs) + "\n")
    return str(path)


# By question and name: what prepares a row and returns what is timed.
ROWS: dict[str, dict[str, Callable[[], Run]]] = {
    "heart": {
        "fit, dense 200,000×100 float32": lambda: fit_perceptron(dense(), keep_ledger=False),
        "fit, dense, ledger": lambda: fit_perceptron(dense(50_000)),
        "fit, dense, given order": lambda: fit_perceptron(dense(), shuffle=False, keep_ledger=False),
        "fit, dense, 10 classes": lambda: fit_perceptron(dense(50_000, 100, 10), keep_ledger=False),
        "fit, CSR 100,000×50,000": lambda: fit_perceptron(text(), keep_ledger=False),
        "fit, CSR, 20 classes": lambda: fit_perceptron(text(20_000, 20_000, 75, 20), keep_ledger=False),
        "partial_fit, batches of 100": lambda: by_batches(dense(20_000)),
        "predict, dense": lambda: predict_rows("averaged"),
        "predict, dense, voted": lambda: predict_rows("voted"),
        "command, fit sample:breast-cancer": lambda: command("fit", "sample:breast-cancer"),
        "command on an empty cache, fit sample:breast-cancer": lambda: command(
            "fit", "sample:breast-cancer", fresh=True
        ),
        "command on an empty cache, fit of a LIBSVM file": lambda: command("fit", libsvm_file(), fresh=True),
    },
    "linear_family": {
        f"fit, {rule}, {name}": lambda rule=rule, data=data: fit_perceptron(
            data(), rule=rule, keep_ledger=False
        )
        for rule in ("passive-aggressive", "pegasos", "logistic", "arow", "alma")
        for name, data in (("dense", lambda: dense(50_000)), ("CSR", lambda: text(20_000)))
    }
    | {
        "LogisticRegression, dense": lambda: family("LogisticRegression", dense(50_000), solver="online"),
        "ClosestCentroid, dense": lambda: family("ClosestCentroid", dense()),
        "NaiveBayes, CSR": lambda: family("NaiveBayes", text(), binarize=0.5),
        "PerceptronRegressor, dense": lambda: family("PerceptronRegressor", dense(50_000)),
    },
    "kernel": {
        "fit, RBF, 3,000 rows": lambda: kernel(3_000),
        "fit, RBF, 2,000 rows, 5 classes": lambda: kernel(2_000, 5),
        "predict, RBF, averaged": lambda: kernel(2_000, predict="averaged"),
        "predict, RBF, voted": lambda: kernel(2_000, predict="voted"),
    },
    "streams": {
        "predict_one + learn_one, 20 names": lambda: online(named(5_000, 20, 60)),
        "predict_one + learn_one, 200 words": lambda: online(named(1_000, 200, 5_000)),
        "predict_one + learn_one, 20 names, AROW": lambda: online(named(2_000, 20, 60), "arow"),
        "predict_one, 200 words": lambda: online(named(1_000, 200, 5_000), learn=False),
        "learn_many, frames of 1,000": in_frames,
    },
}


def main() -> None:
    """Answer every line with the seconds of one run of the row it names."""
    every = {name: prepare for rows in ROWS.values() for name, prepare in rows.items()}
    prepared: dict[str, Run] = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in prepared:
            prepared.clear()  # one row's data at a time
            prepared[name] = every[name]()
            if "empty cache" not in name:
                prepared[name]()
        started = time.perf_counter()
        prepared[name]()
        print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    main()
