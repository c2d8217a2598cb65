"""From a file to a model, against other readers and learners; ratios of one run.

``ROSENBLATT_BENCH_MB`` sets the size of the generated files (100; 1000 for the sizes that were asked for). Every row
shows seconds on the clock and seconds of processors: on a machine that others use only the latter can be compared,
and ours is then the sum over its threads. ``cold`` rows drop the file from the system's memory before every run.
Peers that are not installed are left out and named: ``pip install vowpalwabbit pandas``.
"""

import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import Ratios

MB = int(os.environ.get("ROSENBLATT_BENCH_MB", "100"))
RUNS = 7  # of everyone; the shortest counts
FEATURES, NONZEROS = 50_000, 75
CATEGORIES = {"colour": 5, "city": 50, "answer": 3, "letter": 4}  # of the table with text: how many each has
VW_OPTIONS = "--loss_function hinge --holdout_off --quiet -b 18 --no_stdin"


class Spent(NamedTuple):
    """What a run took."""

    clock: float
    processors: float  # seconds of all threads and of the processes that were started


def main() -> None:
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load not known"
    table = Ratios(f"Files of {MB} MB to a model; seconds on the clock (of processors); {load} at the start")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        svm, vw, csv = here / "a.svm", here / "a.vw", here / "a.csv"
        write_text(svm, vw, MB)
        write_csv(csv, MB)
        libsvm_rows(table, svm, vw)
        csv_row(table, csv)
        mixed, gaps = here / "mixed.csv", here / "gaps.csv"
        write_tables(mixed, gaps, MB // 2)
        table_rows(table, mixed, gaps)
    table.show()


def tell(table: Ratios, what: str, peer: Spent | None, ours: Spent, asked: float = 0.0) -> None:
    if peer is None:
        table.left_out(what, "the peer is not installed")
        return
    seconds = (f"{each.clock:.3g} s ({each.processors:.3g})" for each in (ours, peer))
    table.add(what, *seconds, peer.clock / ours.clock, asked)


def spent(work: Callable[[], Any], repeat: int = 1, cold: Path | None = None) -> Spent:
    """Return the least that some runs took."""
    clocks, processors = [], []
    for _ in range(repeat):
        if cold is not None:
            forget(cold)
        start, before = time.perf_counter(), _processor_seconds()
        work()
        clocks.append(time.perf_counter() - start)
        processors.append(_processor_seconds() - before)
    return Spent(min(clocks), max(min(processors), 1e-9))


def _processor_seconds() -> float:
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usage)


def forget(path: Path) -> None:
    """Ask the system to drop a file from its memory: the next reader waits for the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_text(svm: Path, vw: Path, megabytes: int, wrong: float = 0.0) -> None:
    """Write the same rows again and again, each time with other labels wrong."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=FEATURES)
    block = []
    for _ in range(4000):
        index = np.unique(rng.integers(1, FEATURES, NONZEROS))
        value = np.round(rng.random(index.size), 4)
        label = 1 if weights[index] @ value > 0 else -1
        pairs = " ".join(map("%d:%g".__mod__, zip(index.tolist(), value.tolist(), strict=True)))
        block.append((label, pairs))
    size = sum(len(pairs) + 4 for _, pairs in block)
    with svm.open("w") as plain, vw.open("w") as barred:
        for _ in range(max(1, megabytes * 10**6 // size)):
            turned = np.where(rng.random(len(block)) < wrong, -1, 1).tolist()
            for (label, pairs), turn in zip(block, turned, strict=True):
                plain.write(f"{label * turn} {pairs}\n")
                barred.write(f"{label * turn} | {pairs}\n")


def write_csv(path: Path, megabytes: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 30))
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    text = "".join(
        ",".join(f"{v:.6f}" for v in row) + f",{label}\n" for row, label in zip(X, y, strict=True)
    ).encode()
    with path.open("wb") as file:
        file.write((",".join(f"x{k}" for k in range(30)) + ",y\n").encode())
        for _ in range(max(1, megabytes * 10**6 // len(text))):
            file.write(text)


def write_tables(mixed: Path, gaps: Path, megabytes: int) -> None:
    """Write a table with four columns of text among twenty of numbers, and one where 4% of the rows lack a number."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 20))
    y = X[:, :5].sum(axis=1) > 0
    words = [rng.choice([f"{name}{k}" for k in range(n)], 5000) for name, n in CATEGORIES.items()]
    cells = [[f"{value:.6f}" for value in row] for row in X]
    names = ",".join(f"x{k}" for k in range(20))
    told = [",".join([*row, *own, str(label)]) for row, *own, label in zip(cells, *words, y, strict=True)]
    _repeat(mixed, f"{names},{','.join(CATEGORIES)},y", told, megabytes)
    for row in range(0, 5000, 25):
        cells[row][row % 20] = ""
    told = [",".join([*row, str(int(label))]) for row, label in zip(cells, y, strict=True)]
    _repeat(gaps, f"{names},y", told, megabytes)


def _repeat(path: Path, header: str, rows: list[str], megabytes: int) -> None:
    text = "".join(row + "\n" for row in rows).encode()
    with path.open("wb") as file:
        file.write(header.encode() + b"\n")
        for _ in range(max(1, megabytes * 10**6 // len(text))):
            file.write(text)


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def train(path: Path, **options: Any) -> Any:
    """Make a model of a file, one pass in its order."""
    from rosenblatt.data import open_examples
    from rosenblatt.learner import Learner
    from rosenblatt.streams.train import train_on_stream

    examples = open_examples(path, batch_rows=None, **options)
    return train_on_stream(Learner(keep_ledger=False), examples, path, passes=1)


def libsvm_rows(table: Ratios, svm: Path, vw: Path) -> None:
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import Perceptron

    def scikit() -> None:
        X, y = load_svmlight_file(str(svm))
        X.indices, X.indptr = (
            X.indices.astype(np.int32),
            X.indptr.astype(np.int32),
        )  # Perceptron takes no int64
        Perceptron(max_iter=1, tol=None).fit(X, y)

    train(svm)  # compiled
    peer, one = spent(scikit, RUNS), spent(lambda: train(svm), RUNS)
    tell(table, "LIBSVM to model, 1 pass, against scikit-learn", peer, one, 40)
    tell(table, "the same, cold", spent(scikit, 1, svm), spent(lambda: train(svm), 1, svm))
    train(vw)
    text = spent(lambda: run_vw(f"{VW_OPTIONS} -d {vw}"), RUNS) if installed("vowpalwabbit") else None
    tell(table, "the same LIBSVM against Vowpal Wabbit, its text", text, one, 3)
    tell(table, "Vowpal Wabbit text to model, against Vowpal Wabbit", text, spent(lambda: train(vw), RUNS))
    cache_row(table, "a later pass from the cache, without mistakes, against Vowpal Wabbit's", svm, vw, 8)
    write_text(svm, vw, MB, wrong=0.05)
    cache_row(
        table, "a later pass from the cache, one label in twenty wrong, against Vowpal Wabbit's", svm, vw, 8
    )


def cache_row(table: Ratios, what: str, svm: Path, vw: Path, asked: float = 0.0) -> None:
    """Compare what a second pass of ours adds to a first with what four more add to two of Vowpal Wabbit's."""
    from rosenblatt.data import open_examples
    from rosenblatt.learner import Learner
    from rosenblatt.streams.cache import cached_batches
    from rosenblatt.streams.train import train_on_stream

    cached_rows = cached_batches(open_examples(svm, batch_rows=None), svm, {})

    def passes(number: int) -> Spent:
        return spent(
            lambda: train_on_stream(Learner(keep_ledger=False), cached_rows, svm, passes=number), RUNS
        )

    passes(2)  # compiled and mapped
    later, cached = _more(passes(1), passes(2), 1), None
    if installed("vowpalwabbit"):
        with tempfile.TemporaryDirectory() as folder:
            cache = f"{VW_OPTIONS} -d {vw} --cache_file {folder}/a.cache -k"
            few, more = (spent(lambda n=n: run_vw(f"{cache} --passes {n}"), 3) for n in (2, 6))
        cached = _more(few, more, 4)
    tell(table, what, cached, later, asked)
    Path(cached_rows.path).unlink()


def _more(few: Spent, more: Spent, passes: int) -> Spent:
    return Spent((more.clock - few.clock) / passes, (more.processors - few.processors) / passes)


def run_vw(options: str) -> None:
    code = f"import vowpalwabbit; vowpalwabbit.Workspace({options!r}).finish()"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def csv_row(table: Ratios, csv: Path) -> None:
    def pandas() -> None:
        import pandas as pd
        from sklearn.linear_model import Perceptron

        read = pd.read_csv(csv)
        Perceptron(max_iter=1, tol=None).fit(read.iloc[:, :-1], read.y)

    train(csv)  # compiled
    peer = spent(pandas, RUNS) if installed("pandas") else None
    tell(table, "CSV to model, against pandas and scikit-learn", peer, spent(lambda: train(csv), RUNS), 5)
    cold = spent(pandas, 1, csv) if installed("pandas") else None
    tell(table, "the same, cold", cold, spent(lambda: train(csv), 1, csv))


def table_rows(table: Ratios, mixed: Path, gaps: Path) -> None:
    def pandas_mixed() -> None:
        import pandas as pd
        from sklearn.compose import make_column_transformer
        from sklearn.linear_model import Perceptron
        from sklearn.preprocessing import OneHotEncoder

        read = pd.read_csv(mixed)
        encoder = make_column_transformer(
            (OneHotEncoder(), list(CATEGORIES)), remainder="passthrough", sparse_threshold=1.0
        )
        Perceptron(max_iter=1, tol=None).fit(encoder.fit_transform(read.iloc[:, :-1]), read.y)

    def pandas_gaps() -> None:
        import pandas as pd
        from sklearn.linear_model import Perceptron

        read = pd.read_csv(gaps).dropna()
        Perceptron(max_iter=1, tol=None).fit(read.iloc[:, :-1], read.y)

    for what, path, peer in (("text", mixed, pandas_mixed), ("gaps", gaps, pandas_gaps)):
        train(path, skip_bad=True)  # compiled
        theirs = spent(peer, RUNS) if installed("pandas") else None
        ours = spent(partial(train, path, skip_bad=True), RUNS)
        tell(table, f"a table with {what}, half as large, against pandas and scikit-learn", theirs, ours)


if __name__ == "__main__":
    main()
    print(f"peak memory of this benchmark: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
