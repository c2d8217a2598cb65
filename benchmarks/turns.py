"""A process that times rows of one version of rosenblatt, asked line by line: ``python turns.py`` (see against.py).

It runs under the old and under the new version, so it uses only names that are public in both. Every row is prepared
and warmed up once; a line on standard input names a row and is answered by the seconds of one run: on the clock, and
of processors (this process and the commands it started).
"""

import asyncio
import atexit
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib import import_module
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
    if not learn:  # predictions need classes and weights
        learner.learn_many(*examples)

    def run() -> None:
        for x, y in zip(*examples, strict=True):
            learner.predict_one(x)
            if learn:
                learner.learn_one(x, y)

    return run


def in_frames(probabilities: bool = True) -> Run:
    """Learn from data frames; without probabilities, which versions before 0.2 do not keep."""
    import inspect

    import pandas as pd

    from rosenblatt import OnlineLearner

    X, y = dense(50_000, 20)
    frames = [
        pd.DataFrame(X[lo : lo + 1000], columns=[f"x{k}" for k in range(20)]) for lo in range(0, 50_000, 1000)
    ]
    optional = "calibrated" in inspect.signature(OnlineLearner).parameters
    learner = OnlineLearner(**({"calibrated": False} if optional and not probabilities else {}))

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


def fit_alone(path: str) -> Run:
    """The command ``fit`` without an estimate on new rows, which versions before 0.2 do not make."""
    estimates = importlib.util.find_spec("rosenblatt.learner.estimate") is not None
    return command("fit", path, *(["--no-estimate"] if estimates else []))


def libsvm_file(rows: int = 2_000, features: int = 5_000, nonzeros: int = 30) -> str:
    path = Path(tempfile.mkdtemp()) / "data.svm"
    X, y = text(rows, features, nonzeros)
    with path.open("w") as file:
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip((X.indices[part] + 1).tolist(), X.data[part].tolist(), strict=True)
            file.write(f"{y[i]} " + " ".join(f"{j}:{v:g}" for j, v in pairs) + "\n")
    return str(path)


def write_lines(name: str, lines: Iterable[str]) -> str:
    path = Path(tempfile.mkdtemp()) / name
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return str(path)


def table_file(rows: int, gaps: float = 0.0, categories: bool = False) -> str:
    """A CSV of 30 columns of numbers, some missing, or of 4 and 4 of categories."""
    rng = np.random.default_rng(0)
    X, y = dense(rows, 4 if categories else 30)
    cells = np.round(X.astype(float), 4).astype(str)
    cells[rng.random(cells.shape) < gaps] = ""
    if categories:
        words = rng.integers(0, [200, 3, 50, 2], (rows, 4)).astype(str)
        cells = np.hstack([cells, np.char.add("level ", words)])
    header = ",".join([*(f"x{k}" for k in range(cells.shape[1])), "y"])
    return write_lines(
        "data.csv", [header, *(f"{','.join(row)},{label}" for row, label in zip(cells, y, strict=True))]
    )


def texts(n: int) -> list[tuple[str, int]]:
    """Made-up reviews of about 200 words: (text, label)."""
    rng = np.random.default_rng(0)
    words = (40_000 ** rng.random((n, 200))).astype(np.int64)
    return [
        (" ".join(f"w{k}" for k in row), int(label))
        for row, label in zip(words, rng.integers(0, 2, n), strict=True)
    ]


def text_file(n: int, form: str) -> str:
    if form == "csv":
        return write_lines("data.csv", ["text,label", *(f"{words},c{label}" for words, label in texts(n))])
    if form == "vw":
        return write_lines("data.vw", (f"{label} | {words}" for words, label in texts(n)))
    return write_lines(
        "data.jsonl", (f'{{"text": "{words}", "label": "c{label}"}}' for words, label in texts(n))
    )


def one_pass(path: str, **options: Any) -> Run:
    """A model of a file by one pass in its order."""
    from rosenblatt.data import open_examples
    from rosenblatt.learner import Learner

    train = _train_on_stream()

    def run() -> None:
        train(Learner(keep_ledger=False), open_examples(path, batch_rows=None, **options), path, passes=1)

    return run


def cache_passes(path: str) -> Run:
    """Five passes, four of them from the cache between passes."""
    from rosenblatt.data import open_examples
    from rosenblatt.learner import Learner

    train = _train_on_stream()
    return lambda: train(Learner(keep_ledger=False), open_examples(path, batch_rows=None), path, passes=5)


def _train_on_stream() -> Run:
    try:
        module = import_module("rosenblatt.streams.train")
    except ImportError:
        module = import_module("rosenblatt.streams.training")  # before version 0.2
    return module.train_on_stream  # type: ignore[no-any-return]


def read_whole(path: str, **options: Any) -> Run:
    from rosenblatt.data import read_all

    return lambda: read_all(path, **options)


def on_threads(data: tuple[Any, Any], shards: int, **options: Any) -> Run:
    from rosenblatt import Perceptron
    from rosenblatt.engines import fit_local

    return lambda: fit_local(Perceptron(max_iter=3, random_state=0, **options), *data, shards=shards)


def on_dask() -> Run:
    """Fit on two worker processes; the blocks stay in their memory."""
    import dask.array as da
    import distributed

    from rosenblatt import Perceptron
    from rosenblatt.engines import fit_dask

    client = distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    X, y = dense()
    arrays = client.persist([da.from_array(X, chunks=(50_000, -1)), da.from_array(y, chunks=50_000)])
    return lambda: fit_dask(Perceptron(max_iter=3, random_state=0), *arrays, client=client)


def on_spark() -> Run:
    """Fit on a cached DataFrame of 0.4 GB of doubles, with two cores."""
    import warnings

    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as sf

    from rosenblatt import Perceptron
    from rosenblatt.engines import fit_spark

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = (
        session.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "2g").getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    features = sf.array(*(sf.randn(seed) for seed in range(100)))
    frame = session.range(0, 500_000, 1, 4).select(features.alias("features"))
    frame = frame.withColumn("label", sf.expr("features[0] + features[1] > 0")).persist()
    frame.count()
    return lambda: fit_spark(Perceptron(max_iter=3, random_state=0), frame, features="features")


# Click, and wait until the page says another state and was painted.
LAB_STEP = """name => new Promise(done => {
  const button = [...document.querySelectorAll('.lab-steps button')].find(b => b.innerText.trim().endsWith(name));
  const said = () => document.querySelector('.lab-status').textContent;
  const before = said(), started = performance.now();
  const look = () => said() === before ? setTimeout(look, 1)
    : requestAnimationFrame(() => setTimeout(() => done((performance.now() - started) / 1000), 0));
  button.click();
  look();
})"""
LAB_STATES = {
    "the plane": "/?n=500&data=overlapping&clock=500",
    "four learners beside": "/?n=500&data=overlapping&clock=500&beside=perceptron.logistic.centroid.gaussian",
    "polynomial map, degree 3": "/?n=500&data=moons&noise=0.8&space=polynomial-3&clock=500",
    "Gaussian kernel": "/?n=500&data=moons&noise=0.8&space=kernel-rbf&clock=100",
}
LAB_STEPS = 5  # clicks that are timed together


def in_the_lab(path: str) -> Run:
    """Step through a state of the lab in Chromium, from click to redrawn page."""
    import shutil

    from playwright.sync_api import sync_playwright

    program = "from rosenblatt.cli import main; main()"
    command = [sys.executable, "-c", program, "lab", "--port", "0", "--no-open"]
    lab = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    atexit.register(lab.terminate)
    assert lab.stdout is not None
    address = lab.stdout.readline().strip()
    playwright = sync_playwright().start()
    atexit.register(playwright.stop)
    found = shutil.which("chromium") or shutil.which("google-chrome")
    browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address + path)
    page.wait_for_function("window.socket && window.socket.connected")
    return lambda: [page.evaluate(LAB_STEP, "Step") for _ in range(LAB_STEPS)]


def served(path: str, bodies: list[bytes], connections: int = 8, requests: int = 100) -> Run:
    """Requests to a server of its own, which has learned from a hundred feedbacks, over some connections at a time."""
    port, lines = _started_server(), [_json({**_example(k), "label": "ab"[k % 2]}) for k in range(100)]
    for method, where, body in (("PUT", "", b"{}"), ("POST", "/learn", b"\n".join(lines))):
        asyncio.run(_ask(port, [_request(method, f"/v1/models/m{where}", body)]))
    ready = [_request("POST", f"/v1/models/m/{path}", body) for body in bodies]
    every = [ready[k % len(ready)] for k in range(requests)]

    async def all_connections() -> None:
        await asyncio.gather(*(_ask(port, every) for _ in range(connections)))

    return lambda: asyncio.run(all_connections())


def _started_server() -> int:
    """Start ``rosenblatt serve`` without pages, wait until it is ready, and return its port; it ends with us."""
    folder = tempfile.mkdtemp()
    words = ["serve", "--no-pages", "--port", "0", "--data", f"{folder}/store"]
    server = subprocess.Popen(
        [sys.executable, "-m", "rosenblatt", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    atexit.register(server.kill)
    assert server.stdout is not None
    return int(server.stdout.readline().rpartition(":")[2])


def _example(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "features": {f"feature{k}": round(float(value), 4) for k, value in enumerate(rng.normal(size=20))}
    }


def _json(message: Any) -> bytes:
    return json.dumps(message).encode()


def _request(method: str, path: str, body: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


async def _ask(port: int, requests: list[bytes]) -> None:
    """Send requests over one connection, each after the answer to the one before."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(head.decode())
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
    writer.close()


def mail_folder(messages: int = 1_000) -> str:
    """A folder with two mbox files of made-up messages, Starred and INBOX."""
    folder = Path(tempfile.mkdtemp())
    for name, first in (("Starred", 0), ("INBOX", 1)):
        parts = []
        for k in range(first, messages, 2):
            rng = np.random.default_rng(k)
            words = [f"word{w}x{name if w % 3 == 0 else ''}" for w in (2_000 ** rng.random(150)).astype(int)]
            letters = [re.sub(r"\d", lambda match: "abcdefghij"[int(match[0])], word) for word in words]
            date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(1.0e9 + 3600 * k))
            head = (
                f"From x\nFrom: a{k % 50}@b{k % 7}.example\nSubject: {' '.join(letters[:6])}\nDate: {date}\n"
            )
            parts.append(f"{head}\n{' '.join(letters)}\n\n")
        (folder / f"{name}.mbox").write_text("".join(parts), encoding="utf-8")
    return str(folder)


def import_mail() -> Run:
    folder = mail_folder()

    def run() -> None:
        with tempfile.TemporaryDirectory() as store:
            options = ["--important", "Starred", "--rest", "INBOX", "--data", f"{store}/store"]
            command("mail", "import", folder, *options)()

    return run


def sort_mail() -> Run:
    folder, store = mail_folder(), f"{tempfile.mkdtemp()}/store"
    command("mail", "import", folder, "--important", "Starred", "--rest", "INBOX", "--data", store)()
    return command("mail", "sort", f"{folder}/INBOX.mbox", "--data", store)


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
    "files": {
        "numeric CSV, one pass": lambda: one_pass(table_file(60_000)),
        "numeric CSV into memory": lambda: read_whole(table_file(60_000)),
        "CSV with gaps, one pass": lambda: one_pass(table_file(30_000, gaps=0.002), skip_bad=True),
        "CSV with categories, one pass": lambda: one_pass(table_file(60_000, categories=True)),
        "CSV of texts into memory": lambda: read_whole(text_file(4_000, "csv"), text="text"),
        "LIBSVM text, one pass": lambda: one_pass(libsvm_file(20_000, 20_000, 75)),
        "command, fit of a LIBSVM file, no estimate": lambda: fit_alone(libsvm_file(20_000, 20_000, 75)),
        "VW text, one pass": lambda: one_pass(text_file(4_000, "vw")),
        "LIBSVM text, five passes, four from the cache": lambda: cache_passes(
            libsvm_file(20_000, 20_000, 75)
        ),
        "JSON lines, one pass": lambda: one_pass(text_file(4_000, "jsonl")),
    },
    "streams": {
        "predict_one + learn_one, 20 names": lambda: online(named(5_000, 20, 60)),
        "predict_one + learn_one, 200 words": lambda: online(named(1_000, 200, 5_000)),
        "predict_one + learn_one, 20 names, AROW": lambda: online(named(2_000, 20, 60), "arow"),
        "predict_one, 200 words": lambda: online(named(1_000, 200, 5_000), learn=False),
        "learn_many, frames of 1,000": in_frames,
        "learn_many, frames of 1,000, no probabilities": lambda: in_frames(probabilities=False),
    },
    "engines": {
        "fit_local, dense, 2 shards": lambda: on_threads(dense(), 2),
        "fit_local, dense, 20 shards, AROW": lambda: on_threads(dense(50_000), 20, rule="arow"),
        "fit_local, CSR, 8 shards": lambda: on_threads(text(), 8),
        "fit_dask, dense, 4 blocks": on_dask,
        "fit_spark, 500,000×100, cached": on_spark,
    },
    "lab": {
        f"five steps, {what}, 500 points": lambda path=path: in_the_lab(path)
        for what, path in LAB_STATES.items()
    },
    "service": {
        "predict, 8 connections": lambda: served("predict", [_json(_example(k)) for k in range(64)]),
        "predict, 500 examples in a request": lambda: served(
            "predict", [_json({"examples": [_example(k) for k in range(500)]})], 2, 4
        ),
        "feedback, 8 connections": lambda: served(
            "feedback", [_json({**_example(k), "label": "ab"[k % 2]}) for k in range(64)]
        ),
        "learn, 5,000 lines": lambda: served(
            "learn", [b"\n".join(_json({**_example(k), "label": "ab"[k % 2]}) for k in range(5_000))], 1, 1
        ),
    },
    "mail": {
        "command, mail import of 1,000 messages": import_mail,
        "command, mail sort of 500 messages": sort_mail,
    },
}


def _processor_seconds() -> float:
    import resource  # not on Windows

    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usage)


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
        started, before = time.perf_counter(), _processor_seconds()
        prepared[name]()
        print(time.perf_counter() - started, max(_processor_seconds() - before, 1e-6), flush=True)


if __name__ == "__main__":
    main()
