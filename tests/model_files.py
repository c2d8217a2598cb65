"""A small model file of every kind: what old files are made of, and what mutants are made from.

``python -m tests.model_files FOLDER`` writes one of each and ``record.json`` with what they say; the files under
``tests/fixtures/v0.1/models`` were written so by the commit before the step that checks every tensor.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from rosenblatt import rules
from rosenblatt.data.schema import Column, TableSchema
from rosenblatt.data.tables.preprocess import Preprocessing
from rosenblatt.engines import fit_local
from rosenblatt.engines import training as engine_training
from rosenblatt.engines.history import Checkpoint
from rosenblatt.learner import Learner
from rosenblatt.learner.additive import BinaryBayes, Centroids
from rosenblatt.learner.files import load_model, save_learner, save_model
from rosenblatt.learner.kernel import KernelLearner, load_kernel_learner, save_kernel_learner
from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.learner.regression import RealLearner
from rosenblatt.linear.perceptron import Perceptron
from rosenblatt.service.model import Model
from rosenblatt.service.schemas import ModelSettings
from rosenblatt.streams.model_file import load_stream, save_stream
from rosenblatt.streams.online import OnlineLearner
from rosenblatt.streams.rows_learner import RowsLearner

FEATURES = 4


def numbers(rows=24, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rows, FEATURES)) + 0.25
    return X, rng.integers(0, classes, rows)


def learner(
    rule="rosenblatt", classes=2, *, ledger=True, sparse=False, dtype=np.float64, weighted=False, **options
):
    X, y = numbers(classes=classes)
    X = X.astype(dtype)
    made = Learner(rule, **options)
    weight = np.tile([0.5, 1.0, 2.5], 8) if weighted else None
    made.train(csr_array(X * (np.abs(X) > 1)) if sparse else X, y, max_iter=3, sample_weight=weight)
    return lambda path: save_learner(made, path, ledger=ledger and made.ledger is not None)


def labelled(labels):
    X, y = numbers(classes=len(labels))
    made = Learner(seed=7)
    made.train(X, np.asarray(labels)[y], max_iter=2)
    return lambda path: save_learner(
        made, path, about={"hypothesis": "survivor", "note": "labels"}, ledger=True
    )


def grown(multi_class):
    """Two classes that become four, and features that join, batch by batch."""
    X, y = numbers(classes=2)
    more, other = numbers(classes=4, seed=1)
    made = Learner(multi_class=multi_class)
    made.learn(csr_array(X[:, :3]), y)
    made.learn(csr_array(more), other)
    return lambda path: save_learner(made, path, ledger=True)


def started():
    X, y = numbers()
    made = Learner("passive-aggressive")
    made.start_from(np.ones((1, FEATURES)), 0.5, classes=[0, 1])
    made.learn(X, y)
    return lambda path: save_learner(made, path, ledger=True)


def dual(classes=2, *, sparse=False, rule="rosenblatt", ledger=True, **options):
    X, y = numbers(classes=classes)
    if options.get("kernel") == "precomputed":
        X = (X @ X.T + 1.0) ** 2
    made = KernelLearner(rule, **options)
    made.train(csr_array(X) if sparse else X, y, max_iter=3, evaluate=options.get("budget") is None)
    return lambda path: save_kernel_learner(made, path, ledger=ledger)


def real():
    X, y = numbers()
    made = RealLearner(rules.WidrowHoff(eta=0.01))
    made.train(X, y + X[:, 0], max_iter=2)
    return lambda path: save_model(made, path, about={"estimator": "PerceptronRegressor"})


def summed(made):
    X, y = numbers(classes=3)
    made.learn(X > 0 if made.kind == "naive-bayes" else X, np.array(["a", "b", "c"])[y])
    return lambda path: save_model(made, path)


def planes():
    made = FixedWeights(np.arange(15.0).reshape(3, 5), np.array(["z", "a", "m"]))
    return lambda path: save_model(made, path)


def events(rows=30, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rows):
        x = {f"word{rng.integers(12)}": float(rng.integers(1, 4)) for _ in range(3)}
        yield x, ("spam", "ham", "news")[int(rng.integers(3))]


def online(hypothesis="averaged", **options):
    made = OnlineLearner(hypothesis, **options)
    for x, y in events():
        made.learn_one(x, y)
    return made.save


def table_stream(hypothesis="averaged"):
    made = RowsLearner(hypothesis, rule="pegasos" if hypothesis == "averaged" else "rosenblatt")
    X, y = numbers(classes=2)
    made.progress(csr_array(np.abs(X)), np.array(["no", "yes"])[y])
    columns = (Column("age"), Column("town", ("Paris", "Rome", "")))
    fitted = Preprocessing(4, (0,), "refuse", (0.5,), (0.5,), (2.0,))
    schema = TableSchema(columns, "play", "text", preprocessing=fitted)
    return lambda path: save_stream(made, path, schema, {"right": 11})


def served(**settings):
    made = Model(1, "m", ModelSettings(**settings))
    for seq, (x, y) in enumerate(events(), 1):
        made.learn(seq, x, y)
    return made.save


def checkpoint(**options):
    """The file that a run on three shards leaves when it is stopped after its second epoch."""

    def save(path):
        X, y = numbers(classes=3)

        def stop(epoch):
            if epoch.number == 2:
                raise KeyboardInterrupt

        try:
            fit_local(Perceptron(max_iter=4, **options), X, y, shards=3, checkpoint=path, on_epoch=stop)
        except KeyboardInterrupt:
            return

    return save


FILES = {
    "learner": {
        "binary": learner,
        "binary-without-ledger": lambda: learner(ledger=False),
        "binary-without-intercept": lambda: learner(fit_intercept=False),
        "float32": lambda: learner(dtype=np.float32),
        "weighted": lambda: learner(weighted=True),
        "joint-sparse": lambda: learner(classes=3, sparse=True),
        "ovr": lambda: learner(classes=3, multi_class="ovr"),
        "grown-joint": lambda: grown("joint"),
        "grown-ovr": lambda: grown("ovr"),
        "started": started,
        "arow": lambda: learner("arow", 3),
        "alma": lambda: learner("alma"),
        "alma-p4": lambda: learner(rules.ALMA(p=4.0), 3),
        "alma-p4-ovr": lambda: learner(rules.ALMA(p=4.0), 3, multi_class="ovr"),
        "pegasos": lambda: learner("pegasos", 3),
        "romma": lambda: learner("romma"),
        "paum": lambda: learner("paum"),
        "margin": lambda: learner("margin"),
        "logistic": lambda: learner("logistic"),
        "passive-aggressive": lambda: learner("passive-aggressive", 3),
        "passive-aggressive-squared": lambda: learner("passive-aggressive-squared"),
        "widrow-hoff": lambda: learner(rules.WidrowHoff(eta=0.01)),
        "labels-text": lambda: labelled(["é", "ö"]),
        "labels-number": lambda: labelled([0.5, 1.5, 2.5]),
        "labels-bool": lambda: labelled([False, True]),
        "labels-object": lambda: labelled(np.array(["p", "q"], object)),
        "real": real,
        "centroid": lambda: summed(Centroids()),
        "naive-bayes": lambda: summed(BinaryBayes(0.5)),
        "planes": planes,
    },
    "kernel": {
        "poly": dual,
        "poly-float32-sparse": lambda: dual(3, sparse=True, degree=3, dtype="float32"),
        "rbf-ovr": lambda: dual(3, kernel="rbf", gamma=0.5, multi_class="ovr"),
        "linear-slack": lambda: dual(kernel="linear", delta=1.5, fit_intercept=True, rule="pegasos"),
        "precomputed": lambda: dual(kernel="precomputed"),
        "without-ledger": lambda: dual(ledger=False),
        "budget-oldest": lambda: dual(3, budget=6),
        "budget-random": lambda: dual(budget=5, forget="random"),
        "budget-project": lambda: dual(budget=20, forget="project", tolerance=0.1, kernel="rbf", gamma=0.5),
    },
    "stream": {
        "online": online,
        "online-last-forgetting": lambda: online("averaged", forget=90.0, multi_class="ovr"),
        "online-hashed": lambda: online(hash_bits=5),
        "online-voted": lambda: online("voted"),
        "online-arow": lambda: online(rule="arow"),
        "online-scaled": lambda: online("last", scale=True),
        "online-auto": lambda: online("auto"),
        "table": table_stream,
        "table-survivor": lambda: table_stream("survivor"),
    },
    "service": {
        "words": served,
        "hashed": lambda: served(hash_bits=5, rule="passive-aggressive"),
        "ovr-forgetting": lambda: served(multi_class="ovr", forget=64.0, hypothesis="last"),
        "arow": lambda: served(rule="arow", fit_intercept=False),
    },
    "checkpoint": {
        "uniform": checkpoint,
        "ovr": lambda: checkpoint(multi_class="ovr"),
        "arow": lambda: checkpoint(rule="arow"),
    },
}
CHECKPOINT_OPTIONS = {"uniform": {}, "ovr": {"multi_class": "ovr"}, "arow": {"rule": "arow"}}


def load(kind, name, path):
    """Load a file as those who write it do; return its learner."""
    if kind == "kernel":
        return load_kernel_learner(path)[0]
    if kind == "stream":
        if name.startswith("online"):
            return OnlineLearner.load(path)
        return load_stream(path, RowsLearner)[0]
    if kind == "service":
        settings = SERVED[name]
        model = Model(1, "m", settings)
        model.load(path)
        return model.learner
    if kind == "checkpoint":
        return run_of(name, path).load()[0]
    return load_model(path)[0]


SERVED = {
    "words": ModelSettings(),
    "hashed": ModelSettings(hash_bits=5, rule="passive-aggressive"),
    "ovr-forgetting": ModelSettings(multi_class="ovr", forget=64.0, hypothesis="last"),
    "arow": ModelSettings(rule="arow", fit_intercept=False),
}


def run_of(name, path):
    """Return the checkpoint of the run that :func:`checkpoint` stops, at another path."""
    X, y = numbers(classes=3)
    found = []

    class Found(Checkpoint):
        def load(self):
            found.append(self)
            raise KeyboardInterrupt

    before, engine_training.Checkpoint = engine_training.Checkpoint, Found
    try:
        fit_local(Perceptron(max_iter=4, **CHECKPOINT_OPTIONS[name]), X, y, shards=3, checkpoint=path)
    except KeyboardInterrupt:
        pass
    finally:
        engine_training.Checkpoint = before
    found[0].__class__ = Checkpoint
    return found[0]


def inner(model):
    """Return the learner inside a stream."""
    return getattr(model, "learner", model)


def described(kind, name, path):
    """Return what a file says: a digest of every loaded number, and the scores of some rows."""
    model = load(kind, name, path)
    own = inner(model)
    digest = hashlib.blake2b(digest_size=16)
    for part in ("W", "average_offset", "S", "running", "totals", "sums", "counts", "pocket", "support_rows"):
        array = getattr(own, part, None)
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    if getattr(own, "ledger", None) is not None:
        digest.update(own.ledger.entries.tobytes())
    classes = None if own.classes is None else own.classes.tolist()
    said = {"classes": classes, "digest": digest.hexdigest(), "scores": {}}
    X, _ = numbers(rows=5, seed=9)
    if kind == "kernel" and own.precomputed:
        X = np.eye(5, own.n_features)
    X = np.resize(X, (5, own.n_features)) if X.shape[1] != own.n_features else X
    names = ["last"] if not hasattr(own, "ledger") else ["last", "averaged"]
    if getattr(own, "ledger", None) is not None:
        names += ["voted", "survivor", "random"]
    if getattr(own, "pocket", None) is not None and kind in ("learner", "kernel"):
        names.append("pocket")
    for hypothesis in names:
        said["scores"][hypothesis] = np.asarray(own.scores(X, hypothesis), float).tolist()
    return said


def write_all(folder):
    """Write every file, and what it says."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {}
    for kind, files in FILES.items():
        for name, build in files.items():
            path = folder / f"{kind}-{name}.safetensors"
            build()(path)
            record[path.name] = described(kind, name, path)
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(said)}" for name, said in record.items())
    (folder / "record.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
