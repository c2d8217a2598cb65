"""Models of iterative parameter mixing that must not change: rules, classes, shards, and both ways of mixing.

``python -m tests.engines.golden`` writes ``golden.json`` from the code it runs on. It was written by the commit before
the engines were rebuilt (8b5c5fb); record again only where a change of a figure is intended, and say so in the
changelog. ``--digest`` prints one digest of every bit instead.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from tests.engines.data import noisy

from rosenblatt import ClosestCentroid, LogisticRegression, NaiveBayes, Perceptron, merge, rules
from rosenblatt.engines import fit_local

RECORD = Path(__file__).with_name("golden.json")
ESTIMATORS = {
    "rosenblatt": lambda: Perceptron(max_iter=3, random_state=0),
    "one-vs-rest, balanced": lambda: Perceptron(
        multi_class="ovr", class_weight="balanced", max_iter=3, random_state=1
    ),
    "margin, given order": lambda: Perceptron("margin", shuffle=False, max_iter=3),
    "pegasos": lambda: Perceptron("pegasos", max_iter=3, random_state=2),
    "arow": lambda: Perceptron("arow", max_iter=3, random_state=3),
    "alma": lambda: Perceptron(rules.ALMA(p=4.0), max_iter=3, random_state=4),
    "logistic": lambda: LogisticRegression("online", lam=0.01, max_iter=3, random_state=5),
    "centroid": ClosestCentroid,
    "naive Bayes": lambda: NaiveBayes(binarize=0.5),
}
FORMS = {"dense": np.asarray, "sparse": csr_array, "float32": np.float32}


def models():
    """Yield the name and the fitted model of every case."""
    for name, estimator in ESTIMATORS.items():
        for classes in (2, 3):
            X, y = noisy(classes=classes)
            for form, convert in FORMS.items():
                for shards in (1, 3, 20) if form == "dense" else (3,):
                    for mixing in ("uniform", "mistakes") if shards > 1 else ("uniform",):
                        key = f"{name}, {classes} classes, {form}, {shards} shards, {mixing}"
                        yield key, fit_local(estimator(), convert(X), y, shards=shards, mixing=mixing)
    X, y = noisy(classes=3)
    for name in ("rosenblatt", "arow"):
        parts = [ESTIMATORS[name]().fit(X[part], y[part]) for part in (slice(0, 100), slice(100, 240))]
        yield f"merged {name}", merge(parts)


def summary_of(model):
    """Return the figures of a model that a record keeps."""
    said = {"coef": model.coef_.tolist(), "intercept": np.atleast_1d(model.intercept_).tolist()}
    if hasattr(model, "mixing_"):
        said |= {"mistakes": model.mixing_.mistakes.tolist(), "mixed": model.mixing_.mixed}
    return said


def digest_of(model):
    """Return a digest of every bit of a model's state."""
    digest = hashlib.blake2b(digest_size=16)
    for part in ("W", "average_offset", "S", "running", "totals", "sums", "counts"):
        array = getattr(model.learner_, part, None)
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr(getattr(model.learner_, "evaluations", None)).encode())
    if hasattr(model, "mixing_"):
        record = model.mixing_.as_json()
        digest.update(json.dumps({**record, "epoch_seconds": None}, sort_keys=True).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    if "--digest" in sys.argv:
        for key, model in models():
            print(digest_of(model), key)
    else:
        RECORD.write_text(json.dumps({key: summary_of(model) for key, model in models()}, indent=0))
