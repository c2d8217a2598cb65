"""The parity contract: the same examples in the same order give the same model, however they arrive.

Every rule, two and three classes, weighted and not, every way in. Exactly equal where every step is a sum of integers;
elsewhere the same mistakes, and weights within 1e-9.
"""

import bz2
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from tests.cli.commands import run_well
from tests.rules.table import TABLE
from tests.service.server import served

from rosenblatt import Perceptron, rules
from rosenblatt.data import open_examples, read_all
from rosenblatt.data.arrow_batches import write_batches
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner
from rosenblatt.service.writer import LocalModels
from rosenblatt.streams.online import OnlineLearner
from rosenblatt.streams.train import train_on_stream

NAMES = ["a", "b", "c", "d"]
LABELS = [-1, 3, 7]
N = 60
RULES = {**{name: rules.BY_NAME[name]() for name in TABLE}, "alma p=4": rules.ALMA(p=4.0)}


class Examples(NamedTuple):
    """What is learned from, and by which rule."""

    rule: Any
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    folder: Any

    @property
    def classes(self):
        return np.unique(self.y)

    def part(self, lo, hi, convert=lambda X: X):
        weight = None if self.weight is None else self.weight[lo:hi]
        return convert(self.X[lo:hi]), self.y[lo:hi], weight


def examples_for(name, classes, weighted, exact, folder):
    """Integers where they give exact steps, else normal numbers, separable where the rule needs that."""
    rng = np.random.default_rng(len(name) + classes)
    X = rng.integers(-3, 4, size=(N, 4)).astype(float) if exact else rng.normal(size=(N, 4))
    labels = rng.integers(0, classes, N)
    if TABLE[name.partition(" ")[0]].separable_only:
        X = rng.normal(size=(20 * N, 4))
        scores = X @ rng.normal(size=(classes, 4)).T
        top = np.sort(scores, axis=1)
        clear = top[:, -1] - top[:, -2] > 0.5
        X, labels = X[clear][:N], np.argmax(scores[clear], axis=1)[:N]
    labels[:classes] = (
        np.arange(classes)[: labels[:classes].size] if not _separable(name) else labels[:classes]
    )
    y = np.array(LABELS)[labels]
    weight = rng.choice([0.5, 1.0, 2.0], N) if weighted else None
    return Examples(RULES[name], X, y, weight, folder)


def _separable(name):
    return TABLE[name.partition(" ")[0]].separable_only


# Ways in


def fitted(examples, convert=lambda X: X):
    clf = Perceptron(examples.rule, shuffle=False, max_iter=1)
    return clf.fit(convert(examples.X), examples.y, sample_weight=examples.weight).learner_


def int64_csr(X):
    sparse = csr_array(X)
    return csr_array(
        (sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)), shape=X.shape
    )


def as_integers(X):
    return X.astype(np.int64) if (np.rint(X) == X).all() else X


def partial(examples, size, convert=lambda X: X):
    clf = Perceptron(examples.rule)
    for lo in range(0, N, size):
        X, y, weight = examples.part(lo, lo + size, convert)
        clf.partial_fit(X, y, classes=examples.classes if lo == 0 else None, sample_weight=weight)
    return clf.learner_


def one_by_one(examples):
    learner = Learner(examples.rule)
    for i in range(N):
        X, y, weight = examples.part(i, i + 1)
        learner.learn(X, y, weight, classes=examples.classes)
    return learner


def from_file(examples, path, **options):
    return learned(examples, open_examples(path, **options))


def learned(examples, batches):
    learner = Learner(examples.rule)
    for batch in batches:
        learner.learn(batch.X, batch.y, batch.weight, classes=examples.classes)
    return learner


def written(examples, name, lines):
    path = examples.folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def libsvm(examples):
    return written(
        examples,
        "data.svm",
        (
            f"{label} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v)
            for row, label in zip(examples.X.tolist(), examples.y.tolist(), strict=True)
        ),
    )


def vowpal_wabbit(examples):
    weights = [""] * N if examples.weight is None else [f"{each!r} " for each in examples.weight.tolist()]
    return written(
        examples,
        "data.vw",
        (
            f"{label} {weight}| " + " ".join(f"{n}:{v!r}" for n, v in zip(NAMES, row, strict=True))
            for row, label, weight in zip(examples.X.tolist(), examples.y.tolist(), weights, strict=True)
        ),
    )


def frame(examples):
    return pd.DataFrame(examples.X, columns=NAMES).assign(y=examples.y)


def csv(examples):
    frame(examples).to_csv(examples.folder / "data.csv", index=False)
    return examples.folder / "data.csv"


def json_lines(examples):
    return written(examples, "data.jsonl", map(json.dumps, frame(examples).to_dict("records")))


def parquet(examples):
    frame(examples).to_parquet(examples.folder / "data.parquet")
    return examples.folder / "data.parquet"


def compressed_parts(examples):
    lines = libsvm(examples).read_bytes().splitlines(keepends=True)
    for part, (lo, hi) in enumerate([(0, 30), (30, 31), (31, N)]):
        (examples.folder / f"part{part}.svm.bz2").write_bytes(bz2.compress(b"".join(lines[lo:hi])))
    return str(examples.folder / "part*.svm.bz2")


def converted(examples):
    with (examples.folder / "data.arrow").open("wb") as file:
        write_batches(file, open_examples(vowpal_wabbit(examples), batch_rows=17))
    return examples.folder / "data.arrow"


def out_of_core(examples):
    path = vowpal_wabbit(examples)
    return train_on_stream(Learner(examples.rule), open_examples(path, batch_rows=13), path, passes=1).learner


def online(examples, teach):
    learner = OnlineLearner(rule=examples.rule)
    learner.add_classes(examples.classes)
    teach(learner, examples)
    trimmed = learner.learner
    trimmed.W, trimmed.average_offset = trimmed.W[:, :5], trimmed.average_offset[:, :5]
    return trimmed


def by_one(learner, examples):
    weights = [1.0] * N if examples.weight is None else examples.weight.tolist()
    for row, label, weight in zip(examples.X.tolist(), examples.y.tolist(), weights, strict=True):
        learner.learn_one(dict(zip(NAMES, row, strict=True)), label, weight)


def by_frames(learner, examples):
    learner.learn_many(pd.DataFrame(examples.X, columns=NAMES), examples.y, examples.weight)


def by_dicts(learner, examples):
    for lo in range(0, N, 25):
        X, y, weight = examples.part(lo, lo + 25)
        dicts = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
        learner.learn_many(dicts, y.tolist(), weight)


def command_line(examples, write, *options):
    described = rules.to_dict(examples.rule)
    name = described.pop("name")
    defaults = rules.to_dict(rules.BY_NAME[name]())
    chosen = [f"--param={key}={value}" for key, value in described.items() if value != defaults[key]]
    model = examples.folder / "m"
    words = [
        "fit",
        write(examples),
        "--rule",
        name,
        *chosen,
        "--passes",
        1,
        "--no-shuffle",
        "--no-scale",
        "-m",
        model,
        *options,
    ]
    run_well([str(word) for word in words])
    return load_learner(model)[0]


class Way(NamedTuple):
    """A way in, and whether it can carry the weight of an example."""

    learn: Callable[[Examples], Learner]
    weighted: bool = True


def _file(write, weighted=False, **options):
    return Way(lambda examples: from_file(examples, write(examples), **options), weighted)


def _fit(convert):
    return Way(lambda examples: fitted(examples, convert))


def _command(write, *options, weighted=False):
    return Way(lambda examples: command_line(examples, write, *options), weighted)


WAYS_IN = {
    "csr int32": _fit(csr_array),
    "csr int64": _fit(int64_csr),
    "fortran order": _fit(np.asfortranarray),
    "nested lists": _fit(lambda X: X.tolist()),
    "integers": _fit(as_integers),
    "pandas": _fit(lambda X: pd.DataFrame(X, columns=NAMES)),
    "polars": _fit(lambda X: pl.DataFrame(X, schema=NAMES)),
    "arrow": _fit(lambda X: pa.table({name: X[:, k] for k, name in enumerate(NAMES)})),
    "partial_fit by 7": Way(lambda examples: partial(examples, 7)),
    "partial_fit by 1": Way(lambda examples: partial(examples, 1)),
    "partial_fit csr by 13": Way(lambda examples: partial(examples, 13, csr_array)),
    "learn one by one": Way(one_by_one),
    "libsvm file": _file(libsvm, batch_rows=17),
    "csv file": _file(csv, batch_rows=17),
    "csv at once": _file(csv, at_once=True),
    "whole file": Way(lambda examples: learned(examples, [read_all(csv(examples))]), weighted=False),
    "vowpal wabbit file": _file(vowpal_wabbit, weighted=True, batch_rows=17),
    "json lines": _file(json_lines, batch_rows=17),
    "parquet": _file(parquet, batch_rows=17),
    "compressed parts": _file(compressed_parts),
    "converted": _file(converted, weighted=True),
    "out of core": Way(out_of_core),
    "learn_one": Way(lambda examples: online(examples, by_one)),
    "learn_many of frames": Way(lambda examples: online(examples, by_frames)),
    "learn_many of dicts": Way(lambda examples: online(examples, by_dicts)),
    "command line": _command(libsvm),
    "command line, csv": _command(csv),
    "command line, out of core": _command(vowpal_wabbit, "--out-of-core", weighted=True),
    "command line, out of core, converted": _command(converted, "--out-of-core", weighted=True),
}


def assert_same(got, expected, exact):
    assert got.mistakes == expected.mistakes
    for hypothesis in ("last", "averaged"):
        own, other = got.weights(hypothesis), expected.weights(hypothesis)
        if exact:
            assert np.array_equal(own, other)
        else:
            np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


def is_exact(name):
    return name in TABLE and TABLE[name].exact


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    ("way", "weighted"),
    [
        (way, weighted)
        for way in WAYS_IN
        for weighted in (False, True)
        if WAYS_IN[way].weighted or not weighted
    ],
)
def test_the_way_in_does_not_change_the_model(way, name, classes, weighted, tmp_path):
    examples = examples_for(name, classes, weighted, is_exact(name), tmp_path)
    assert_same(WAYS_IN[way].learn(examples), fitted(examples), is_exact(name))


@pytest.mark.parametrize("way", ["one by one, then the snapshots", "one by one, then the journal", "in bulk"])
def test_the_service_learns_the_same_model_by_every_rule(way, tmp_path):
    """Over HTTP into the journal; then every model as a restarted server has it.

    There is no weighted variant: the service takes no weights (see the next test).
    """
    cases = {
        f"{number}-{classes}": (name, examples_for(name, classes, False, is_exact(name), tmp_path))
        for number, name in enumerate(RULES)
        for classes in (2, 3)
    }
    with served(tmp_path / "store") as running:
        for model, (name, examples) in cases.items():
            parameters = {"p": 4.0} if name == "alma p=4" else {}
            rule = name.partition(" ")[0]
            classes = examples.classes.tolist()
            running.put(model, labels="integer", classes=classes, rule=rule, parameters=parameters)
            lines = [
                {"vector": row, "label": label}
                for row, label in zip(examples.X.tolist(), examples.y.tolist(), strict=True)
            ]
            if way == "in bulk":
                content = "".join(json.dumps(line) + "\n" for line in lines)
                answer = running.client.post(f"/v1/models/{model}/learn", content=content.encode())
                assert answer.status_code == 200
            else:
                for line in lines:
                    assert running.post(f"{model}/feedback", **line).status_code == 200
    if way.endswith("journal"):
        for file in (tmp_path / "store" / "snapshots").iterdir():
            file.unlink()
    models = LocalModels(tmp_path / "store", recent_bytes=1 << 18)
    for model, (name, examples) in cases.items():
        learner = models.model(model).learner.learner
        learner.W, learner.average_offset = learner.W[:, :5], learner.average_offset[:, :5]
        assert_same(learner, fitted(examples), is_exact(name))
    models.close()


def test_the_service_refuses_weights(tmp_path):
    """Once it takes them, the test above must cover weighted examples too."""
    line = {"vector": [1.0, 2.0], "label": 3, "weight": 2.0}
    with served(tmp_path / "store") as running:
        running.put("m", labels="integer")
        assert running.post("m/feedback", **line).status_code == 422
        bulk = running.client.post("/v1/models/m/learn", content=json.dumps(line).encode())
        assert bulk.status_code == 422
    models = LocalModels(tmp_path / "store", recent_bytes=1 << 18)
    assert models.model("m").learner.rows == 0
    models.close()
