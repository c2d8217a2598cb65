"""Files and streams, against those who read them elsewhere; ratios of one run.

``ROSENBLATT_BENCH_MB`` sets the size of the generated files (100; 1000 for the sizes that were asked for). Every row
shows seconds on the clock and seconds of processors: on a machine that others use only the latter can be compared,
and ours is then the sum over its threads. ``cold`` rows drop the file from the system's memory before every run.
Peers that are not installed are left out and named: ``pip install vowpalwabbit river pandas``. Elec2 is read from
``ROSENBLATT_DATA`` where that is set.
"""

import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MB = int(os.environ.get("ROSENBLATT_BENCH_MB", "100"))
RUNS = 3  # of everyone; the shortest counts
FEATURES, NONZEROS = 50_000, 75
ROW = "{:<58} {:>8} {:>8} {:>7} {:>8} {:>8} {:>7}  {}"
VW_OPTIONS = "--loss_function hinge --holdout_off --quiet -b 18 --no_stdin"


class Spent(NamedTuple):
    """What a run took."""

    clock: float
    processors: float  # seconds of all threads and of the processes that were started


def main() -> None:
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start, files of {MB} MB")
    print(
        ROW.format("files and streams", "peer s", "ours s", "ratio", "peer cpu", "ours cpu", "ratio", "asked")
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        here = Path(folder)
        svm, vw, csv = here / "a.svm", here / "a.vw", here / "a.csv"
        write_text(svm, vw, MB)
        write_csv(csv, MB)
        libsvm_rows(svm, vw)
        csv_row(csv)
        whole_command(here)
    online_rows()
    memory_row()
    elec_row()


def tell(what: str, peer: Spent | None, ours: Spent, asked: str) -> None:
    if peer is None:
        print(ROW.format(what, "absent", f"{ours.clock:.3f}", "-", "-", f"{ours.processors:.3f}", "-", asked))
        return
    clock = f"{peer.clock / ours.clock:.1f}x"
    processors = f"{peer.processors / ours.processors:.1f}x"
    numbers = (f"{peer.clock:.3f}", f"{ours.clock:.3f}", clock)
    cpu = (f"{peer.processors:.3f}", f"{ours.processors:.3f}", processors)
    print(ROW.format(what, *numbers, *cpu, asked), flush=True)


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


def write_text(svm: Path, vw: Path, megabytes: int) -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=FEATURES)
    block = []
    for _ in range(4000):
        index = np.unique(rng.integers(1, FEATURES, NONZEROS))
        value = np.round(rng.random(index.size), 4)
        label = 1 if weights[index] @ value > 0 else -1
        pairs = " ".join(map("%d:%g".__mod__, zip(index.tolist(), value.tolist(), strict=True)))
        block.append((f"{label} {pairs}\n", f"{label} | {pairs}\n"))
    for path, part in ((svm, 0), (vw, 1)):
        text = "".join(lines[part] for lines in block).encode()
        with path.open("wb") as file:
            for _ in range(max(1, megabytes * 10**6 // len(text))):
                file.write(text)


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


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def train(path: Path, **options: Any) -> Any:
    """Make a model of a file, one pass in its order."""
    from rosenblatt.data import open_examples
    from rosenblatt.learner import Learner
    from rosenblatt.streams.training import train_on_stream

    examples = open_examples(path, batch_rows=None, **options)
    return train_on_stream(Learner(keep_ledger=False), examples, path, passes=1)


def libsvm_rows(svm: Path, vw: Path) -> None:
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
    tell("LIBSVM to model, 1 pass, against scikit-learn", peer, one, "40x")
    tell("the same, cold", spent(scikit, 1, svm), spent(lambda: train(svm), 1, svm), "")
    train(vw)
    text = spent(lambda: run_vw(f"{VW_OPTIONS} -d {vw}"), RUNS) if installed("vowpalwabbit") else None
    tell("the same LIBSVM against Vowpal Wabbit, its text", text, one, "3x")
    tell("Vowpal Wabbit text to model, against Vowpal Wabbit", text, spent(lambda: train(vw), RUNS), "")
    cache_row(svm, vw)


def cache_row(svm: Path, vw: Path) -> None:
    from rosenblatt.data import open_examples
    from rosenblatt.learner import Learner
    from rosenblatt.streams.cache import kept_batches
    from rosenblatt.streams.training import train_on_stream

    kept = kept_batches(open_examples(svm, batch_rows=None), svm, {})
    three = spent(lambda: train_on_stream(Learner(keep_ledger=False), kept, svm, passes=3), 3)
    later = Spent(three.clock / 3, three.processors / 3)
    cached = None
    if installed("vowpalwabbit"):
        with tempfile.TemporaryDirectory() as folder:
            cache = f"{VW_OPTIONS} -d {vw} --cache_file {folder}/a.cache -k"
            two, four = (spent(lambda n=n: run_vw(f"{cache} --passes {n}")) for n in (2, 4))
        cached = Spent((four.clock - two.clock) / 2, (four.processors - two.processors) / 2)
    tell("a later pass from the cache, against Vowpal Wabbit's", cached, later, "8x")
    Path(kept.path).unlink()


def run_vw(options: str) -> None:
    code = f"import vowpalwabbit; vowpalwabbit.Workspace({options!r}).finish()"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def csv_row(csv: Path) -> None:
    def pandas() -> None:
        import pandas as pd
        from sklearn.linear_model import Perceptron

        table = pd.read_csv(csv)
        Perceptron(max_iter=1, tol=None).fit(table.iloc[:, :-1], table.y)

    train(csv)  # compiled
    peer = spent(pandas, RUNS) if installed("pandas") else None
    tell("CSV to model, against pandas and scikit-learn", peer, spent(lambda: train(csv), RUNS), "5x")
    cold = spent(pandas, 1, csv) if installed("pandas") else None
    tell("the same, cold", cold, spent(lambda: train(csv), 1, csv), "")


def whole_command(folder: Path) -> None:
    svm, vw = folder / "b.svm", folder / "b.vw"
    write_text(svm, vw, 90)
    command = ["fit", str(svm), "--passes", "1", "--no-shuffle", "--no-ledger"]
    code = f"from rosenblatt.cli import main; import sys; sys.argv[1:] = {command!r}; main()"

    def ours() -> None:
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    ours()
    peer = None
    if installed("vowpalwabbit"):
        peer = spent(lambda: run_vw(f"{VW_OPTIONS} -d {vw}"), RUNS)
    tell("whole command, 90 MB, against the vw package", peer, spent(ours, RUNS), "1.5x")


def online_rows() -> None:
    import pandas as pd

    from rosenblatt.streams.online import OnlineLearner

    rng = np.random.default_rng(0)
    names = [f"feature{k}" for k in range(20)]
    X = rng.normal(size=(20_000, 20))
    y = (X[:, :5].sum(axis=1) > 0.3 * rng.normal(size=20_000)).tolist()
    rows = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    blocks = [
        (pd.DataFrame(X[a : a + 1000], columns=names), np.array(y[a : a + 1000]))
        for a in range(0, 20_000, 1000)
    ]

    def loop(model) -> None:
        for x, label in zip(rows, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    def many() -> None:
        model = OnlineLearner()
        for block, labels in blocks:
            model.learn_many(block, labels)

    loop(OnlineLearner())
    many()
    peer = None
    if installed("river"):
        from river.linear_model import Perceptron

        peer = spent(lambda: loop(Perceptron()), 3)
    tell(
        "predict_one + learn_one, 20,000 examples, against river",
        peer,
        spent(lambda: loop(OnlineLearner()), 3),
        "2x",
    )
    tell("learn_many by 1,000, against river's loop", peer, spent(many, 3), "50x")


def memory_row() -> None:
    """Feed a generated stream through standard input and ask the kernel for the peak."""
    megabytes = 4 * MB
    code = (
        "from rosenblatt.data import open_examples; from rosenblatt.learner import Learner;"
        "from rosenblatt.streams.training import train_on_stream;"
        "examples = open_examples('-', format='libsvm', batch_rows=None);"
        "train_on_stream(Learner(keep_ledger=False), examples, '-', passes=1);"
        "status = open('/proc/self/status').read().split('VmHWM:')[1]; print(int(status.split()[0]) // 1024)"
    )
    with tempfile.TemporaryDirectory() as folder:
        piece = Path(folder, "piece.svm")
        write_text(piece, Path(folder, "piece.vw"), 4)
        text = piece.read_bytes()
        peaks = []
        for size in (megabytes // 4, megabytes):
            child = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for _ in range(size * 10**6 // len(text)):
                child.stdin.write(text)
            child.stdin.close()
            peaks.append(int(child.stdout.read()))
            child.wait()
    print(
        f"peak memory of a stream of {megabytes // 4} MB: {peaks[0]} MB; of {megabytes} MB: {peaks[1]} MB (under 400)"
    )


def elec_row() -> None:
    data = os.environ.get("ROSENBLATT_DATA")
    path = Path(data or "", "streams", "elec.csv.gz")
    if not data or not path.exists():
        print("Elec2: set ROSENBLATT_DATA to measure it")
        return
    from rosenblatt.data import open_examples
    from rosenblatt.streams.rows_learner import RowsLearner

    for forget in (None, 100.0, 20.0):
        learner, right, rows = RowsLearner(forget=forget), 0, 0
        for batch in open_examples(path, batch_rows=None, at_once=True):
            right += int(learner.progress(batch.X, batch.y).sum())
            rows += batch.y.size
        print(f"Elec2 progressive accuracy, averaged, forget={forget}: {right / rows:.4f}")
    learner, right, rows = RowsLearner("last"), 0, 0
    for batch in open_examples(path, batch_rows=None, at_once=True):
        right += int(learner.progress(batch.X, batch.y).sum())
        rows += batch.y.size
    print(f"Elec2 progressive accuracy, last: {right / rows:.4f}")
    if installed("river"):
        import gzip

        from river.linear_model import Perceptron

        model, right, rows = Perceptron(), 0, 0
        with gzip.open(path, "rt") as file:
            names = next(file).strip().split(",")
            for line in file:
                values = line.strip().split(",")
                x = dict(zip(names[:-1], map(float, values[:-1]), strict=True))
                label = values[-1] == "1"
                right += model.predict_one(x) == label
                model.learn_one(x, label)
                rows += 1
        print(f"Elec2 progressive accuracy, river Perceptron: {right / rows:.4f}")


if __name__ == "__main__":
    main()
    print(f"peak memory of this benchmark: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
