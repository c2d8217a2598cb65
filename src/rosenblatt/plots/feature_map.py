"""Data before and after a feature map."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.plots.boundary import boundary, points, rings, two_features
from rosenblatt.plots.canvas import keyed, new_axes, titled
from rosenblatt.plots.geometry import box_around
from rosenblatt.plots.style import LINE, MISTAKE, TINT, Theme, class_looks


class _Mapped:
    """A classifier of φ(x) as a function of x."""

    def __init__(self, fmap: Any, clf: Any) -> None:
        self.fmap, self.clf, self.classes_ = fmap, clf, clf.classes_

    def predict(self, X: Any) -> Any:
        return self.clf.predict(self.fmap(X))

    def decision_function(self, X: Any) -> Any:
        return self.clf.decision_function(self.fmap(X))


def feature_map(
    X: Any, y: Any, fmap: Any, clf: Any = None, *, ax: Any = None, theme: "str | Theme" = "light"
) -> Any:
    """Draw the boundary before and after a feature map, a curve and a line; return the two axes.

    With more than two mapped features, the right side shows the distance from the hyperplane against the principal
    direction within it.

    Parameters
    ----------
    X, y : array-like
        Data with two features and two classes.
    fmap : FeatureMap or callable
        The map ``φ``.
    clf : classifier, optional
        A linear classifier of ``φ(x)``, fitted here if it is not; by default a ``Perceptron``.
    """
    X, y = two_features(X), np.asarray(y)
    phi = _function(fmap, X)
    clf = _fitted(clf, phi(X), y)
    if len(clf.classes_) != 2:
        raise ValueError(f"the picture needs two classes, there are {len(clf.classes_)}")
    ax, look = new_axes(ax, theme, size=(12.0, 5.8), columns=2)
    boundary(_Mapped(phi, clf), X, y, ax=ax[0], theme=look, title="before: $x$")
    mapped = np.asarray(phi(X), dtype=np.float64)
    if mapped.shape[1] == 2:
        boundary(clf, mapped, y, ax=ax[1], theme=look, title="after: $\\varphi(x)$")
        ax[1].set_xlabel("$\\varphi_1$")
        ax[1].set_ylabel("$\\varphi_2$")
    else:
        _draw_projection(ax[1], clf, mapped, y, look)
    return ax


def _function(fmap: Any, X: NDArray[np.float64]) -> Any:
    if not hasattr(fmap, "transform"):
        return fmap
    from sklearn.base import clone

    fitted = clone(fmap).fit(X)
    return lambda rows: _dense(fitted.transform(rows))


def _dense(rows: Any) -> Any:
    return rows.toarray() if hasattr(rows, "toarray") else rows


def _fitted(clf: Any, X: Any, y: Any) -> Any:
    if clf is None:
        from rosenblatt.linear.perceptron import Perceptron

        return Perceptron(max_iter=1000, hypothesis="last").fit(X, y)
    return clf if hasattr(clf, "classes_") else clf.fit(X, y)


def _draw_projection(ax: Any, clf: Any, X: NDArray[np.float64], y: NDArray[Any], theme: Theme) -> None:
    """Draw examples by their distance from a hyperplane and along its principal direction."""
    w = np.asarray(clf.coef_, dtype=np.float64)[0]
    unit = w / max(float(np.linalg.norm(w)), 1e-300)
    distance = X @ unit + float(np.asarray(clf.intercept_)[0]) / max(float(np.linalg.norm(w)), 1e-300)
    inside = X - np.outer(X @ unit, unit)
    inside = inside - inside.mean(axis=0)
    along = inside @ np.linalg.svd(inside, full_matrices=False)[2][0]
    projected = np.column_stack([distance, along])
    box = box_around(projected)
    for side, look in zip((-1, 1), class_looks(list(clf.classes_)), strict=True):
        edge = box.low[0] if side < 0 else box.high[0]
        ax.axvspan(min(0.0, edge), max(0.0, edge), color=look.colour, alpha=TINT, lw=0, zorder=0)
    ax.axvline(0.0, color=theme.ink, lw=LINE, zorder=2, gid="boundary")
    points(ax, projected, y, np.asarray(clf.classes_), theme)
    wrong = clf.predict(X) != y
    if wrong.any():
        rings(ax, projected[wrong], MISTAKE, f"misclassified ({int(wrong.sum())})", gid="misclassified")
    ax.set_xlim(box.low[0], box.high[0])
    ax.set_ylim(box.low[1], box.high[1])
    titled(
        ax,
        theme,
        f"after: $\\varphi(x)$, {X.shape[1]} features, projected along the hyperplane",
        "distance from the hyperplane",
        "principal direction within it",
    )
    keyed(ax, theme)
