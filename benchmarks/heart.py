"""The training loop: one averaged pass against an epoch of scikit-learn, and against reading the data from memory."""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from benchmarks import large_pages
from benchmarks.measure import Ratios, best_of, data_folder, milliseconds, mnist
from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.loop import learn
from rosenblatt.core.order import in_given_order
from rosenblatt.core.rows import flat, laid_out, rows_of
from rosenblatt.core.state import TOTALS, State, new_running
from rosenblatt.data import read_all
from rosenblatt.jit import SKIP_VARIABLE
from rosenblatt.learner import Learner
from rosenblatt.rules import Euclidean, Rosenblatt


def dense_data(wrong: float = 0.0, n: int = 200_000, d: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows with a hidden boundary through them, and this share of the labels wrong.

    Both shares are measured, because an update costs more than a look: clean labels are mistaken in 3 % of a first
    pass, labels of which one in fifty is wrong in 11 %.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.where(X @ rng.normal(size=d).astype(np.float32) > 0, 1, -1)
    return X, np.where(rng.random(n) < wrong, -y, y)


def text_like_data(n: int = 200_000, d: int = 50_000, nonzeros: int = 75) -> tuple[csr_array, np.ndarray]:
    """Rows like messages: words by Zipf's law, two topics that use some words more than others."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], n)
    words = np.minimum((d ** rng.random((n, nonzeros))).astype(np.int64) - 1, d - 1)
    topical = rng.random((n, nonzeros)) < 0.25
    words = np.where(
        topical, 2 * (words // 2) + (y[:, None] > 0), words
    )  # a topic word has a twin in the other topic
    words.sort(axis=1)
    values = rng.integers(1, 4, n * nonzeros).astype(np.float64)
    starts = (np.arange(n + 1) * nonzeros).astype(np.int32)
    return csr_array((values, words.astype(np.int32).reshape(-1), starts), shape=(n, d)), y


def some_passes(X, y, passes: int = 1):
    """Return a function that makes averaged passes from zero weights, and the mistakes it makes."""
    rows, visits = rows_of(X), in_given_order(X.shape[0])
    signs = y.astype(np.int8)
    totals = np.zeros(1, TOTALS)

    def run():
        totals[:] = 0
        W, A = (laid_out(rows, np.zeros((1, X.shape[1] + 1), dtype)) for dtype in (X.dtype, np.float64))
        state = State(flat(rows, W), flat(rows, A), new_running(1), np.empty(1, X.dtype), totals)
        for _ in range(passes):
            learn(Rosenblatt(1.0), Euclidean(), rows, signs, visits, 1.0, state, NO_LEDGER, False)

    run()
    return run, int(totals["mistakes"][0])


def one_more_epoch(X, y, epochs: int = 6) -> tuple[float, float]:
    """Return what one more pass of ours and one more epoch of scikit-learn cost, setting up not counted."""
    from sklearn.linear_model import Perceptron

    def fit(max_iter):
        return lambda: Perceptron(max_iter=max_iter, tol=None, shuffle=False).fit(X, y)

    ours = [some_passes(X, y, passes)[0] for passes in (1, 1 + epochs)]
    times = best_of(5, *ours, fit(1), fit(1 + epochs))
    return (times[1] - times[0]) / epochs, (times[3] - times[2]) / epochs


def by_default(X, y, epochs: int = 6) -> tuple[list[float], list[float]]:
    """Return the times of a whole fit of one epoch, and of one more epoch: both estimators by default, shuffled."""
    from sklearn.linear_model import Perceptron as Theirs

    from rosenblatt import Perceptron

    def fits(estimator, **options):
        return [
            lambda n=n: estimator(max_iter=n, random_state=0, **options).fit(X, y) for n in (1, 1 + epochs)
        ]

    times = best_of(5, *fits(Perceptron, keep_ledger=False), *fits(Theirs, tol=None))
    return [times[0], times[2]], [(times[k + 1] - times[k]) / epochs for k in (0, 2)]


def passes(ratios: Ratios) -> None:
    for name, (X, y), against_theirs, against_read in (
        ("dense 200,000×100 float32, clean labels", dense_data(), 7.0, 0.7),
        ("dense 200,000×100 float32, 2 % of labels wrong", dense_data(0.02), 7.0, 0.7),
        ("CSR 200,000×50,000, 75 a row", text_like_data(), 1.4, 0.9),
    ):
        shares = [
            large_pages.lay(array) for array in ([X] if isinstance(X, np.ndarray) else [X.data, X.indices])
        ]
        run, mistakes = some_passes(X, y)
        w = np.ones(X.shape[1], X.dtype)
        ours, read = best_of(9, run, lambda X=X, w=w: X @ w)
        more, theirs = one_more_epoch(X, y)
        size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
        ratios.note(
            f"{name}: {mistakes:,} mistakes in {X.shape[0]:,} examples; X @ w reads {size / read / 1e9:.1f} GB/s, "
            f"{theirs / read:.1f}× as fast as a scikit-learn epoch; {100 * min(shares):.0f}% of it in large pages"
        )
        ratios.add(
            f"{name}: one more averaged pass / scikit-learn epoch",
            milliseconds(more),
            milliseconds(theirs),
            theirs / more,
            against_theirs,
        )
        whole, (ours_more, theirs_more) = by_default(X, y)
        what = "  both shuffling, as they do by default: one more epoch"
        ratios.add(what, milliseconds(ours_more), milliseconds(theirs_more), theirs_more / ours_more, 0.0)
        what = (
            "  a whole fit of one epoch, ours with margin, bound and both hypotheses measured (on all cores)"
        )
        ratios.add(what, *map(milliseconds, whole), whole[1] / whole[0], 0.0)
        ratios.add(
            f"{name}: first averaged pass / X @ w",
            milliseconds(ours),
            milliseconds(read),
            read / ours,
            against_read,
        )


def several_classes(ratios: Ratios, n: int = 50_000, classes: int = 20) -> None:
    """Sparse rows of twenty classes: ours against each other in one contest, or each against the rest as theirs."""
    from sklearn.linear_model import Perceptron as Theirs

    from rosenblatt import Perceptron

    X, _ = text_like_data(n)
    X.sum_duplicates()
    y = (X @ np.random.default_rng(1).normal(size=(X.shape[1], classes))).argmax(axis=1)
    epochs = 4
    contestants = [
        lambda maker=maker, n=n: maker(n).fit(X, y)
        for maker in (
            lambda n: Perceptron(max_iter=n, random_state=0, keep_ledger=False),
            lambda n: Perceptron(max_iter=n, random_state=0, keep_ledger=False, multi_class="ovr"),
            lambda n: Theirs(max_iter=n, random_state=0, tol=None),
        )
        for n in (1, 1 + epochs)
    ]
    times = best_of(2, *contestants)
    joint, each, theirs = ((times[k + 1] - times[k]) / epochs for k in (0, 2, 4))
    name = f"CSR {n:,}×50,000, {classes} classes: one more epoch"
    for how, ours in (("jointly", joint), ("each against the rest", each)):
        ratios.add(
            f"{name}, {how} / scikit-learn's", milliseconds(ours), milliseconds(theirs), theirs / ours, 0.0
        )


def digits(ratios: Ratios, folder: Path) -> None:
    from sklearn.linear_model import SGDClassifier

    X, y = mnist(folder, "train")
    Xt, yt = mnist(folder, "t10k")
    model = Learner(keep_ledger=False)

    def fit():
        nonlocal model
        model = Learner(keep_ledger=False)
        model.train(X, y, max_iter=5)

    (ours,) = best_of(3, fit)
    theirs = SGDClassifier(average=True, max_iter=5, tol=None)
    start = time.perf_counter()
    theirs.fit(X, y)
    seconds = time.perf_counter() - start
    ratios.add(
        "MNIST joint, averaged, 5 epochs / SGDClassifier(average)",
        milliseconds(ours),
        milliseconds(seconds),
        seconds / ours,
        15.0,
    )
    accuracy = float((model.predict(Xt) == yt).mean())
    ratios.add("MNIST test accuracy", f"{accuracy:.4f}", f"{theirs.score(Xt, yt):.4f}", accuracy, 0.92, "")


def census(ratios: Ratios, folder: Path) -> None:
    from sklearn.linear_model import LogisticRegression, Perceptron

    train, test = (read_all(folder / "libsvm" / name, schema=None) for name in ("a9a.gz", "a9a.t.gz"))
    Xt = test.X.copy()
    Xt.resize((Xt.shape[0], train.X.shape[1]))
    model = Learner()
    model.train(train.X, train.y, max_iter=1)
    accuracy = float((model.predict(Xt) == test.y).mean())
    theirs = Perceptron().fit(train.X, train.y).score(Xt, test.y)
    logistic = LogisticRegression(max_iter=1000).fit(train.X, train.y).score(Xt, test.y)
    ratios.add(
        "a9a, one pass averaged: test accuracy",
        f"{accuracy:.4f}",
        f"{theirs:.4f} (logistic {logistic:.4f})",
        accuracy,
        0.848,
        "",
    )


def commands(ratios: Ratios) -> None:
    """Time whole commands, the second time, against what they may take."""
    rng = np.random.default_rng(0)
    rosenblatt = str(Path(sys.executable).with_name("rosenblatt"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.svm"
        rows = rng.normal(size=(1000, 20))
        path.write_text(
            "".join(
                f"{1 if row[0] + row[1] > 0 else -1} "
                + " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(row))
                + "\n"
                for row in rows
            )
        )
        for what, command, limit in (
            ("import rosenblatt", [sys.executable, "-c", "import rosenblatt"], 0.1),
            ("rosenblatt --help", [rosenblatt, "--help"], 0.3),
            ("rosenblatt fit, 1,000 rows", [rosenblatt, "fit", str(path)], 1.0),
        ):
            (seconds,) = best_of(5, lambda c=command: subprocess.run(c, check=True, capture_output=True))
            if what.startswith("import"):
                (bare,) = best_of(5, lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
                seconds -= bare
            ratios.add(f"{what}: allowed / taken", f"{seconds:.3f} s", f"{limit:g} s", limit / seconds, 1.0)
        fresh = os.environ | {"XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": folder}
        start = time.perf_counter()
        subprocess.run([rosenblatt, "fit", str(path)], check=True, capture_output=True, env=fresh)
        first = time.perf_counter() - start
        what = "the same the first time ever, with the machine code of the package: later / first"
        ratios.add(what, f"{first:.2f} s", f"{seconds:.3f} s later", seconds / first, 0.0)
        for what, source in (
            ("dense rows, two classes", "sample:breast-cancer"),
            ("a LIBSVM file", str(path)),
        ):
            with tempfile.TemporaryDirectory() as cache:
                empty = os.environ | {"XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": cache, SKIP_VARIABLE: "off"}
                first, later = (cpu_of([rosenblatt, "fit", source], empty) for _ in range(2))
            name = f"CPU time of compiling for the first fit of {what}, without the package's machine code"
            ratios.add(name, f"{first - later:.1f} s", f"{later:.2f} s later", later / first, 0.0)


def cpu_of(command: list[str], environment: dict[str, str]) -> float:
    """Return the CPU time of a command, all its threads and processes."""
    before = os.times()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def memory(ratios: Ratios) -> None:
    """Measure the peak of a fit beside its data: weights, ledger, and the order of the visits."""
    X, y = dense_data()
    tracemalloc.start()
    model = Learner(keep_ledger=False)
    model.train(X, y, max_iter=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ratios.add(
        "memory of a fit beside the data: data / peak",
        f"{peak / 2**20:.0f} MiB",
        f"{X.nbytes / 2**20:.0f} MiB",
        X.nbytes / peak,
        1.0,
    )


def main() -> None:
    ratios = Ratios("The heart: best of several turns, all in one run; passes on one thread")
    with threadpool_limits(1):
        passes(ratios)
        several_classes(ratios)
    folder = data_folder()
    if folder is None:
        ratios.left_out("MNIST and a9a", "set ROSENBLATT_DATA to the folder of real data sets")
    else:
        digits(ratios, folder)
        census(ratios, folder)
    memory(ratios)
    commands(ratios)
    ratios.show()


if __name__ == "__main__":
    main()
