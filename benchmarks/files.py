"""Files and streams, against those who read them elsewhere; ratios of one run.

``ROSENBLATT_BENCH_MB`` sets the size of the generated files (300). Peers that are not installed are left out and
named: ``pip install vowpalwabbit river pandas``. Elec2 is read from ``ROSENBLATT_DATA`` where that is set.
"""

import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MB = int(os.environ.get("ROSENBLATT_BENCH_MB", "300"))
FEATURES, NONZEROS = 50_000, 75
ROW = "{:<62} {:>9} {:>9} {:>8}  {}"


def main() -> None:
    print(ROW.format("files and streams", "peer s", "ours s", "ratio", "asked"))
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


def tell(what: str, peer: float | None, ours: float, asked: str) -> None:
    ratio = f"{peer / ours:.1f}x" if peer else "-"
    print(ROW.format(what, f"{peer:.3f}" if peer else "absent", f"{ours:.3f}", ratio, asked), flush=True)


def seconds(work, repeat: int = 1) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


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


def libsvm_rows(svm: Path, vw: Path) -> None:
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import Perceptron

    from rosenblatt.data import open_examples
    from rosenblatt.learner import Learner
    from rosenblatt.streams.cache import kept_batches
    from rosenblatt.streams.training import train_on_stream

    def ours() -> None:
        train_on_stream(Learner(keep_ledger=False), open_examples(svm, batch_rows=None), svm, passes=1)

    def scikit() -> None:
        X, y = load_svmlight_file(str(svm))
        X.indices, X.indptr = (
            X.indices.astype(np.int32),
            X.indptr.astype(np.int32),
        )  # Perceptron takes no int64
        Perceptron(max_iter=1, tol=None).fit(X, y)

    ours()  # compiled
    one = seconds(ours, 3)
    tell(f"{MB} MB LIBSVM to model, 1 pass, against scikit-learn", seconds(scikit), one, "40x")
    kept = kept_batches(open_examples(svm, batch_rows=None), svm, {})
    later = seconds(lambda: train_on_stream(Learner(keep_ledger=False), kept, svm, passes=3)) / 3
    text = cached = None
    if installed("vowpalwabbit"):
        options = "--loss_function hinge --holdout_off --quiet -b 18 --no_stdin"
        text = seconds(lambda: run_vw(f"{options} -d {vw}"))
        with tempfile.TemporaryDirectory() as folder:
            cache = f"{options} -d {vw} --cache_file {folder}/a.cache -k"
            two, four = (seconds(lambda n=n: run_vw(f"{cache} --passes {n}")) for n in (2, 4))
        cached = (four - two) / 2
    tell("the same against Vowpal Wabbit, text", text, one, "3x")
    tell("a later pass from the cache, against Vowpal Wabbit's", cached, later, "8x")
    Path(kept.path).unlink()


def run_vw(options: str) -> None:
    code = f"import vowpalwabbit; vowpalwabbit.Workspace({options!r}).finish()"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def csv_row(csv: Path) -> None:
    from rosenblatt.data import open_examples
    from rosenblatt.learner import Learner
    from rosenblatt.streams.training import train_on_stream

    def ours() -> None:
        train_on_stream(Learner(keep_ledger=False), open_examples(csv, batch_rows=None), csv, passes=1)

    def pandas() -> None:
        import pandas as pd
        from sklearn.linear_model import Perceptron

        table = pd.read_csv(csv)
        Perceptron(max_iter=1, tol=None).fit(table.iloc[:, :-1], table.y)

    peer = seconds(pandas) if installed("pandas") else None
    tell(f"{MB} MB CSV to model, against pandas and scikit-learn", peer, seconds(ours), "5x")


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
        options = "--loss_function hinge --holdout_off --quiet -b 18 --no_stdin"
        peer = seconds(lambda: run_vw(f"{options} -d {vw}"))
    tell("whole command, 90 MB, against the vw package", peer, seconds(ours, 2), "1.5x")


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

        peer = min(seconds(lambda: loop(Perceptron())) for _ in range(3))
    tell(
        "predict_one + learn_one, 20,000 examples, against river",
        peer,
        seconds(lambda: loop(OnlineLearner()), 3),
        "2x",
    )
    tell("learn_many by 1,000, against river's loop", peer, seconds(many, 3), "50x")


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
