"""A figure for a notebook: a learner stepped through two columns of data, in the browser, without a server."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.order import Shuffle
from rosenblatt.core.rows import rows_of

MODULE = Path(__file__).with_name("perceptron.js")  # the ES module that learns and draws
MOST = 2000  # examples
MOST_ORDERS = 200  # passes whose order is sent along
RULES = {  # rules that the module has, and the parameters that it reads
    rules.Rosenblatt: "rosenblatt",
    rules.Margin: "margin",
    rules.PassiveAggressive: "passive-aggressive",
}
HYPOTHESES = ("last", "averaged", "voted")


def widget(clf: Any = None, X: Any = None, y: Any = None) -> Any:
    """Show a perceptron at work in a notebook: ``widget(X, y)`` or ``widget(clf, X, y)``.

    The figure steps through the examples one at a time, one update or one epoch at a time, and runs; points can be
    moved, added, flipped and erased. It shows the boundary, the mistakes against their bound, and whether the classes
    are separable. All of it is computed in the browser by the ES module of the lessons, which makes the updates of the
    library.

    Parameters
    ----------
    clf : Perceptron, optional
        Its rule, hypothesis, intercept and order of examples are used; where it is fitted, its boundary is drawn too.
        The default is a perceptron by Rosenblatt's rule that predicts by its last weights, on the rows as given.
    X : array-like of shape (n, 2)
        Two columns of numbers, at most 2000 rows.
    y : array-like of shape (n,)
        Two classes; the larger one is +1.

    Returns
    -------
    anywidget.AnyWidget
        With the traits ``clock``, ``mistakes`` and ``weights`` (bias first) of the state on screen.

    Raises
    ------
    ImportError
        Where anywidget is not installed: ``pip install "rosenblatt[widget]"``.

    Examples
    --------
    >>> import rosenblatt
    >>> figure = rosenblatt.widget([[2.0, 1.0], [-1.0, -2.0]], [1, 0])  # doctest: +SKIP
    """
    if y is None:  # widget(X, y)
        clf, X, y = None, clf, X
    if X is None or y is None:
        raise TypeError("widget takes X, y or clf, X, y: examples and their labels are missing")
    return _widget_class()(options=options_of(clf, X, y))


def options_of(clf: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return the options of the ES module: examples, rule, hypothesis, order."""
    points, labels, classes = _checked(X, y)
    options: dict[str, Any] = {
        "points": points.tolist(),
        "labels": labels.tolist(),
        "classes": [str(each) for each in classes],
        "hypothesis": "last",
    }
    if clf is None:
        return options
    rule = clf.resolved_rule()
    if type(rule) not in RULES:
        known = ", ".join(each.__name__ for each in RULES)
        raise ValueError(
            f"the widget learns by {known}, not by {type(rule).__name__}: see it in `rosenblatt lab`"
        )
    if clf.hypothesis not in HYPOTHESES:
        raise ValueError(
            f"the widget predicts by {', '.join(HYPOTHESES)}, not {clf.hypothesis!r}: see it in `rosenblatt lab`"
        )
    finite = {name: None if value == np.inf else value for name, value in rule._asdict().items()}
    options |= {
        "rule": RULES[type(rule)],
        "parameters": finite,
        "hypothesis": clf.hypothesis,
        "intercept": bool(clf.fit_intercept),
    }
    if clf.shuffle:
        seed = clf.random_state if isinstance(clf.random_state, int) else 0
        shuffle = Shuffle(rows_of(points), (labels > 0).astype(np.int64), seed=seed)
        passes = min(MOST_ORDERS, max(1, 200_000 // len(labels)))
        options["orders"] = [shuffle.epoch(k).order.tolist() for k in range(passes)]
    if clf.hypothesis != "voted" and hasattr(clf, "coef_") and clf.coef_.shape == (1, 2):
        fitted = [float(clf.intercept_[0]), *(float(value) for value in clf.coef_[0])]
        options["lines"] = [{"w": fitted, "label": "fitted"}]
    return options


def _checked(X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[Any]]:
    points = np.ascontiguousarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"X must have two columns to be drawn, got shape {points.shape}: choose two, as X[:, [0, 1]]"
        )
    if not np.isfinite(points).all():
        raise ValueError("X holds values that are not finite: leave those rows out")
    labels = np.asarray(y)
    if labels.shape != (len(points),):
        raise ValueError(
            f"y must have one label for each of the {len(points)} rows, got shape {labels.shape}"
        )
    if len(points) > MOST:
        raise ValueError(f"X has {len(points)} rows, and the figure draws {MOST}: draw a sample of them")
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"y must hold two classes, got {classes.size}: {classes[:5].tolist()}")
    return points, np.where(labels == classes[1], 1, -1), classes


@cache
def _widget_class() -> Any:
    """Return the widget class; anywidget is imported when the first widget is made."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError(
            f'rosenblatt.widget needs {error.name}: pip install "rosenblatt[widget]"', name=error.name
        ) from error

    class Figure(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = MODULE
        options = traitlets.Dict().tag(sync=True)
        clock = traitlets.Int(0).tag(sync=True)
        mistakes = traitlets.Int(0).tag(sync=True)
        weights = traitlets.List().tag(sync=True)

    return Figure
