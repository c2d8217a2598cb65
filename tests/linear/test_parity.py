"""The parity contract: the same examples in the same order give the same model, however they arrive."""

import bz2
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from tests.service.server import served

from rosenblatt import Perceptron
from rosenblatt.data import open_examples, read_all
from rosenblatt.data.arrow_batches import write_batches
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner
from rosenblatt.service.models import Models
from rosenblatt.streams.online import OnlineLearner
from rosenblatt.streams.training import train_on_stream

NAMES = ["a", "b", "c", "d"]


def fitted(X, y):
    return Perceptron(shuffle=False, max_iter=1).fit(X, y)


def int64_csr(X):
    sparse = csr_array(X)
    return csr_array(
        (sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)), shape=X.shape
    )


def partial(X, y, size):
    clf = Perceptron()
    for lo in range(0, len(y), size):
        clf.partial_fit(X[lo : lo + size], y[lo : lo + size], classes=np.unique(y) if lo == 0 else None)
    return clf


def one_by_one(X, y):
    learner = Learner()
    for i in range(len(y)):
        learner.learn(X[i : i + 1], y[i : i + 1], classes=np.unique(y))
    return learner


def libsvm_file(X, y, folder):
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v)
        for row, label in zip(X, y, strict=True)
    )
    path = folder / "data.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


def csv_file(X, y, folder):
    path = folder / "data.csv"
    pd.DataFrame(X, columns=NAMES).assign(y=y).to_csv(path, index=False)
    return path


def learned_from(examples):
    learner = Learner()
    for batch in examples:
        learner.learn(batch.X, batch.y, classes=[-1, 3, 7])
    return learner


def text_file(X, y, folder, name, head, pair):
    lines = (
        head.format(label) + " ".join(pair.format(n, float(v)) for n, v in zip(NAMES, row, strict=True))
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    )
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def json_file(X, y, folder):
    rows = pd.DataFrame(X, columns=NAMES).assign(y=y).to_dict("records")
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "data.jsonl"


def parquet_file(X, y, folder):
    pd.DataFrame(X, columns=NAMES).assign(y=y).to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


def packed_parts(X, y, folder):
    lines = libsvm_file(X, y, folder).read_bytes().splitlines(keepends=True)
    for part, (lo, hi) in enumerate([(0, 50), (50, 51), (51, 120)]):
        (folder / f"part{part}.svm.bz2").write_bytes(bz2.compress(b"".join(lines[lo:hi])))
    return str(folder / "part*.svm.bz2")


def converted(X, y, folder):
    with (folder / "data.arrow").open("wb") as file:
        write_batches(file, open_examples(libsvm_file(X, y, folder), batch_rows=17))
    return folder / "data.arrow"


def streamed(X, y, folder):
    path = libsvm_file(X, y, folder)
    return train_on_stream(Learner(), open_examples(path, batch_rows=13), path, passes=1).learner


def online(X, y, folder, many):
    learner = OnlineLearner()
    learner.add_classes([-1, 3, 7])
    if many == "dicts":
        for lo in range(0, len(y), 50):
            part = [dict(zip(NAMES, row, strict=True)) for row in X[lo : lo + 50].tolist()]
            learner.learn_many(part, y[lo : lo + 50].tolist())
    elif many:
        learner.learn_many(pd.DataFrame(X, columns=NAMES), y)
    else:
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            learner.learn_one(dict(zip(NAMES, row, strict=True)), label)
    trimmed = learner.learner
    trimmed.W, trimmed.A = trimmed.W[:, :5], trimmed.A[:, :5]
    return trimmed


def service(X, y, folder, after):
    """Over HTTP into the journal; then the model as a restarted server has it."""
    with served(folder / "store") as running:
        running.put("m", labels="integer", classes=[-1, 3, 7])
        lines = [{"vector": row, "label": label} for row, label in zip(X.tolist(), y.tolist(), strict=True)]
        if after == "bulk":
            content = "".join(json.dumps(line) + "\n" for line in lines)
            assert running.client.post("/v1/models/m/learn", content=content.encode()).status_code == 200
        else:
            for line in lines:
                running.post("m/predict", vector=line["vector"])
                assert running.post("m/feedback", **line).status_code == 200
    if after == "replay":  # of the journal, from its beginning
        for file in (folder / "store" / "snapshots").iterdir():
            file.unlink()
    models = Models(folder / "store", recent_bytes=1 << 18)
    learner = models.model("m").learner.learner
    models.close()
    learner.W, learner.average_offset = learner.W[:, :5], learner.average_offset[:, :5]
    return learner


def command_line(X, y, folder, *options, write=libsvm_file):
    from tests.cli.commands import run_well

    words = ["fit", write(X, y, folder), "--passes", 1, "--no-shuffle", "-m", folder / "m", *options]
    run_well([str(word) for word in words])
    return load_learner(folder / "m")[0]


WAYS_IN = {
    "csr int32": lambda X, y, folder: fitted(csr_array(X), y),
    "csr int64": lambda X, y, folder: fitted(int64_csr(X), y),
    "fortran order": lambda X, y, folder: fitted(np.asfortranarray(X), y),
    "nested lists": lambda X, y, folder: fitted(X.tolist(), y.tolist()),
    "integers": lambda X, y, folder: (
        fitted(X.astype(np.int64), y) if (np.rint(X) == X).all() else fitted(X, y)
    ),
    "pandas": lambda X, y, folder: fitted(pd.DataFrame(X, columns=NAMES), pd.Series(y)),
    "polars": lambda X, y, folder: fitted(pl.DataFrame(X, schema=NAMES), y),
    "arrow": lambda X, y, folder: fitted(pa.table({n: X[:, k] for k, n in enumerate(NAMES)}), y),
    "partial_fit by 7": lambda X, y, folder: partial(X, y, 7),
    "partial_fit by 1": lambda X, y, folder: partial(X, y, 1),
    "partial_fit csr by 13": lambda X, y, folder: partial(csr_array(X), y, 13),
    "learn one by one": lambda X, y, folder: one_by_one(X, y),
    "libsvm file": lambda X, y, folder: learned_from(open_examples(libsvm_file(X, y, folder), batch_rows=17)),
    "csv file": lambda X, y, folder: learned_from(open_examples(csv_file(X, y, folder), batch_rows=17)),
    "vowpal wabbit file": lambda X, y, folder: learned_from(
        open_examples(text_file(X, y, folder, "data.vw", "{} | ", "{}:{!r}"), batch_rows=17)
    ),
    "json lines": lambda X, y, folder: learned_from(open_examples(json_file(X, y, folder), batch_rows=17)),
    "parquet": lambda X, y, folder: learned_from(open_examples(parquet_file(X, y, folder), batch_rows=17)),
    "csv at once": lambda X, y, folder: learned_from(open_examples(csv_file(X, y, folder), at_once=True)),
    "packed parts": lambda X, y, folder: learned_from(open_examples(packed_parts(X, y, folder))),
    "converted": lambda X, y, folder: learned_from(open_examples(converted(X, y, folder))),
    "out of core": streamed,
    "learn_one": lambda X, y, folder: online(X, y, folder, many=False),
    "learn_many": lambda X, y, folder: online(X, y, folder, many=True),
    "service, then its snapshot": lambda X, y, folder: service(X, y, folder, after="snapshot"),
    "service, then a replay of its journal": lambda X, y, folder: service(X, y, folder, after="replay"),
    "service, in bulk": lambda X, y, folder: service(X, y, folder, after="bulk"),
    "learn_many of dicts": lambda X, y, folder: online(X, y, folder, many="dicts"),
    "command line": command_line,
    "command line, csv": lambda X, y, folder: command_line(X, y, folder, write=csv_file),
    "command line, out of core": lambda X, y, folder: command_line(X, y, folder, "--out-of-core"),
    "command line, out of core, converted": lambda X, y, folder: command_line(
        X, y, folder, "--out-of-core", write=converted
    ),
    "whole file": lambda X, y, folder: learned_from([read_all(csv_file(X, y, folder))]),
}


def weights(model, hypothesis):
    return (model if isinstance(model, Learner) else model.learner_).weights(hypothesis)


@pytest.mark.parametrize("way", WAYS_IN)
def test_integer_data_give_exactly_the_same_model(way, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(120, 4)).astype(float)
    y = rng.choice([-1, 3, 7], 120)
    expected, got = fitted(X, y), WAYS_IN[way](X, y, tmp_path)
    for hypothesis in ("last", "averaged"):
        assert np.array_equal(weights(got, hypothesis), weights(expected, hypothesis))


@pytest.mark.parametrize("way", WAYS_IN)
def test_float_data_give_the_same_mistakes_and_nearly_the_same_weights(way, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    y = rng.choice([-1, 3, 7], 120)
    expected, got = fitted(X, y), WAYS_IN[way](X, y, tmp_path)
    learner = got if isinstance(got, Learner) else got.learner_
    assert learner.mistakes == expected.n_mistakes_
    for hypothesis in ("last", "averaged"):
        np.testing.assert_allclose(weights(got, hypothesis), weights(expected, hypothesis), rtol=1e-9)
