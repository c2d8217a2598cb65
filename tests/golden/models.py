"""The models that must not change: every rule, number of classes, weighting and dtype, with all hypotheses.

``python -m tests.golden.models`` writes ``models.json`` from the code it runs on. It was written by the commit before
the core was rebuilt (bf08285); record again only where a change of a figure is intended, and say so in the changelog.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from tests.rules.table import TABLE

from rosenblatt import KernelPerceptron, Perceptron, rules

RECORD = Path(__file__).with_name("models.json")
EPOCHS = 3
FROM_LEDGER = ("voted", "survivor", "pocket", "random")
ROUNDING = 1e-9  # smaller steps are rounding


def data(classes: int, dtype: Any = np.float64, integer: bool = True) -> tuple[Any, Any, Any]:
    """Return small rows with gaps, labels that are not quite separable, and fractional weights.

    Integer rows are for rules whose every step is an integer; elsewhere they would make ties that rounding decides.
    """
    rng = np.random.default_rng(7)
    X = rng.integers(-3, 4, (60, 5)) * (rng.random((60, 5)) < 0.7)
    if not integer:
        X = X + np.round(rng.normal(0.0, 0.3, X.shape), 4) * (X != 0)
    hidden = rng.integers(-2, 3, (classes, 5))
    y = np.argmax(X @ hidden.T + rng.normal(0.0, 0.5, (60, classes)), axis=1)
    weight = rng.integers(1, 5, 60) / 2.0
    return X.astype(dtype), y, weight


def separable(classes: int, dtype: Any) -> tuple[Any, Any, Any]:
    """Return rows that a hyperplane (or one score per class) separates, for rules that need it."""
    X, _, weight = data(classes, dtype, integer=False)
    hidden = np.array([[3, -1, 2, 0, 1], [-2, 2, 0, 3, -1], [0, 1, -3, -1, 2]])[:classes]
    scores = np.sort(X @ hidden.T, axis=1)
    clear = scores[:, -1] - scores[:, -2] > 2.0
    return X[clear], np.argmax(X @ hidden.T, axis=1)[clear], weight[clear]


def linear_cases() -> dict[str, dict[str, Any]]:
    """Return the name and the settings of every linear model that is recorded."""
    cases = {}
    for name, row in TABLE.items():
        for number, rule in enumerate((rules.BY_NAME[name](), *row.tried)):
            for classes, multi_class in ((2, "joint"), (3, "joint"), (3, "ovr")):
                for weighted in (False, True):
                    for dtype in ("float64", "float32"):
                        if (dtype == "float32" and (number or weighted)) or (
                            number and classes == 3 and weighted
                        ):
                            continue
                        key = f"{name}-{number} {classes} {multi_class} {dtype}{' weighted' * weighted}"
                        cases[key] = {
                            "rule": rule,
                            "classes": classes,
                            "multi_class": multi_class,
                            "weighted": weighted,
                            "dtype": dtype,
                            "integer": row.exact,
                            "separable": row.separable_only,
                        }
    return cases


def layouts(X: Any) -> dict[str, Any]:
    """Return the same rows in every layout that training accepts."""
    sparse = csr_array(X)
    wide = csr_array(
        (sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)), shape=X.shape
    )
    return {"dense": X, "csr": sparse, "csr int64": wide}


def examples_of(case: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the examples of a case, the weights None where it has none."""
    dtype = np.dtype(case["dtype"])
    if case["separable"]:
        X, y, weight = separable(case["classes"], dtype)
    else:
        X, y, weight = data(case["classes"], dtype, case["integer"])
    return X, y, weight if case["weighted"] else None


def fitted(case: dict[str, Any], X: Any, y: Any, weight: Any) -> Perceptron:
    """Train the model of a case on rows in some layout."""
    model = Perceptron(case["rule"], multi_class=case["multi_class"], max_iter=EPOCHS, shuffle=False)
    return model.fit(X, y, weight)


def figures(model: Perceptron, X: Any) -> dict[str, Any]:
    """Return what must not change of a trained model."""
    entry: dict[str, Any] = {
        "mistakes": [int(count) for count in model.mistakes_],
        "clock": float(model.clock_),
        "converged": bool(model.converged_),
        "radius": float(model.radius_),
    }
    for hypothesis in ("last", "averaged"):
        own = model.use(hypothesis)
        entry[hypothesis] = np.hstack([own.intercept_[:, None], own.coef_]).astype(float).ravel().tolist()
    if model.learner_.ledger is not None:
        lines = model.ledger_[np.abs(model.ledger_["tau"]) > ROUNDING]
        entry["ledger"] = {
            "rows": [int(row) for row in lines["row"]],
            "sums": [float(lines["tau"].sum()), float(lines["sqnorm"].sum()), float(lines["clock"].sum())],
        }
        for hypothesis in FROM_LEDGER:
            scores = np.asarray(model.use(hypothesis).decision_function(X), float)
            entry[hypothesis] = [
                float(np.abs(scores).sum()),
                "".join(map(str, model.use(hypothesis).predict(X))),
            ]
    return entry


def kernel_cases() -> dict[str, KernelPerceptron]:
    """Return the kernel models that are recorded."""
    cases = {}
    for name in TABLE:
        rule = rules.BY_NAME[name]()
        if not isinstance(rules.geometry_of(rule), rules.Euclidean) or name in ("romma", "widrow-hoff"):
            continue
        for kernel in ("linear", "poly", "rbf"):
            cases[f"{name} {kernel}"] = KernelPerceptron(kernel, rule=rule, max_iter=EPOCHS, shuffle=False)
    for policy in ("oldest", "random", "project"):
        cases[f"budget {policy}"] = KernelPerceptron(
            "rbf", max_iter=EPOCHS, shuffle=False, budget=12, forget=policy
        )
    return cases


def kernel_figures(model: KernelPerceptron, X: Any) -> dict[str, Any]:
    """Return what must not change of a trained kernel model."""
    scores = np.asarray(model.decision_function(X), float)
    return {
        "mistakes": [int(count) for count in model.mistakes_],
        "scores": scores.ravel().tolist(),
        "predictions": "".join(map(str, model.predict(X))),
    }


def record() -> dict[str, Any]:
    """Train every case on dense rows and return all figures."""
    entries: dict[str, Any] = {}
    for key, case in linear_cases().items():
        X, y, weight = examples_of(case)
        entries[key] = figures(fitted(case, X, y, weight), X)
    for key, model in kernel_cases().items():
        for classes in (2, 3):
            X, y, _ = data(classes, integer=False)
            entries[f"kernel {key} {classes}"] = kernel_figures(model.fit(X, y), X)
    return entries


def rounded(value: Any) -> Any:
    """Return figures with floats of twelve digits: enough for the comparison, and exact for small dyadic numbers."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return {key: rounded(each) for key, each in value.items()} if isinstance(value, dict) else value


if __name__ == "__main__":
    lines = [
        f"{json.dumps(key)}: {json.dumps(rounded(entry), separators=(',', ':'))}"
        for key, entry in record().items()
    ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{RECORD.name}: {len(lines)} models, {RECORD.stat().st_size:,} bytes", file=sys.stderr)
