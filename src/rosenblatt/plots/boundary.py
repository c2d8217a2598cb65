"""The boundary of a classifier in the plane: normal vector, margin band, misclassified points."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.estimate import percent
from rosenblatt.plots.canvas import in_words, keyed, new_axes, titled
from rosenblatt.plots.geometry import Box, alike, border_in_box, box_around, line_in_box
from rosenblatt.plots.style import (
    LINE,
    MARK,
    MISTAKE,
    NORMAL_VECTOR,
    RING,
    TEXT,
    TINT,
    Theme,
    class_looks,
)

GRID = 301
ON_THE_MARGIN = 1e-6  # relative tolerance for rows on the margin


def boundary(
    clf: Any, X: Any, y: Any, *, ax: Any = None, theme: "str | Theme" = "light", title: str | None = None
) -> Any:
    """Draw a fitted classifier on data of two features, and return the axes.

    The half-planes have the colour of their class, the boundary is a line, **w** an arrow from it. If the data are
    separated, the margin band is dashed and the rows on it are ringed; misclassified rows are ringed in vermillion.
    Any number of classes; a model without weights (a pipeline, a vote) is drawn from its scores.
    """
    X, y = two_features(X), np.asarray(y)
    ax, look = new_axes(ax, theme)
    box, classes = box_around(X), np.asarray(clf.classes_)
    _tint(ax, clf, box, classes)
    weights = plane_weights(clf)
    predicted = clf.predict(X)
    if weights is None:
        _from_scores(ax, clf, box, look)
    elif len(weights) == 1:
        _line(ax, weights[0], box, look)
        _normal_vector(ax, weights[0], X, box)
        _band(ax, weights[0], X, np.where(y == classes[-1], 1.0, -1.0), box, look)
    else:
        _borders(ax, weights, box, look)
    points(ax, X, y, classes, look)
    wrong = predicted != y
    if wrong.any():
        rings(ax, X[wrong], MISTAKE, f"misclassified ({int(wrong.sum())})", gid="misclassified")
    ax.set_xlim(box.low[0], box.high[0])
    ax.set_ylim(box.low[1], box.high[1])
    if alike(box.spans):
        ax.set_aspect("equal", adjustable="box")
    names = getattr(clf, "feature_names_in_", ["$x_1$", "$x_2$"])
    right = f"{percent((~wrong).mean())} right"
    titled(ax, look, title or f"{type(clf).__name__}: {right}", str(names[0]), str(names[1]))
    keyed(ax, look)
    return ax


def two_features(X: Any) -> NDArray[np.float64]:
    """Return dense rows of two features; raise ValueError for others."""
    rows: NDArray[np.float64] = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(
            f"a picture in the plane needs two features, X has shape {rows.shape}: choose two columns"
        )
    return rows


def plane_weights(clf: Any) -> NDArray[np.float64] | None:
    """Return ``(hyperplanes, 1 + 2)`` weights, bias first; None for a model without weights."""
    try:
        coef, intercept = np.atleast_2d(clf.coef_), np.atleast_1d(clf.intercept_)
    except AttributeError:
        return None
    if coef.shape[1] != 2:
        return None
    return np.column_stack([np.broadcast_to(intercept, coef.shape[:1]), coef]).astype(np.float64)


def points(ax: Any, X: NDArray[np.float64], y: NDArray[Any], classes: NDArray[Any], theme: Theme) -> None:
    """Draw examples, with a marker and a colour per class."""
    for label, look in zip(classes, class_looks(list(classes)), strict=True):
        own = y == label
        ax.scatter(
            *X[own].T,
            s=MARK,
            c=look.colour,
            marker=look.mark,
            edgecolors=theme.paper,
            linewidths=0.7,
            label=f"y = {label}" if isinstance(label, int | float | np.number) else str(label),
            hatch=look.hatch or None,
            zorder=3,
            gid=f"class {label}",
        )


def rings(ax: Any, X: NDArray[np.float64], colour: str, label: str, gid: str, zorder: float = 4) -> None:
    """Ring some points."""
    ax.scatter(
        *X.T,
        s=RING,
        facecolors="none",
        edgecolors=colour,
        linewidths=1.9,
        label=label,
        zorder=zorder,
        gid=gid,
    )


def _tint(ax: Any, clf: Any, box: Box, classes: NDArray[Any]) -> None:
    from matplotlib.colors import to_rgba

    xs, ys = (np.linspace(box.low[axis], box.high[axis], GRID) for axis in (0, 1))
    grid = np.column_stack([each.ravel() for each in np.meshgrid(xs, ys)])
    labels = np.searchsorted(classes, clf.predict(grid)).reshape(GRID, GRID)
    colours = np.array([to_rgba(look.colour, TINT) for look in class_looks(list(classes))])
    ax.imshow(
        colours[labels],
        origin="lower",
        extent=(box.low[0], box.high[0], box.low[1], box.high[1]),
        aspect="auto",
        interpolation="nearest",
        zorder=0,
    )


def _line(ax: Any, weights: NDArray[np.float64], box: Box, theme: Theme) -> None:
    segment = line_in_box(weights[1:], weights[0], box)
    if segment is not None:
        ax.plot(*segment.T, color=theme.ink, lw=LINE, zorder=2.5, gid="boundary")


def _normal_vector(ax: Any, weights: NDArray[np.float64], X: NDArray[np.float64], box: Box) -> None:
    """Draw w from the point of the boundary nearest to the middle of the data."""
    w, b = weights[1:], weights[0]
    norm = float(np.linalg.norm(w))
    if norm == 0.0:
        return
    segment = line_in_box(w, b, box)
    if segment is None:
        return
    middle = X.mean(axis=0)
    along = segment[1] - segment[0]
    share = float(np.clip((middle - segment[0]) @ along / (along @ along), 0.15, 0.85))
    foot = segment[0] + share * along
    tip = foot + w / norm * 0.16 * float(box.spans.min())
    ax.annotate(
        "",
        xy=tip,
        xytext=foot,
        arrowprops={
            "arrowstyle": "-|>",
            "color": NORMAL_VECTOR,
            "lw": 2.6,
            "mutation_scale": 18,
            "shrinkA": 0,
            "shrinkB": 0,
        },
        zorder=5,
        gid="normal vector",
    )
    text = tip + w / norm * 0.035 * float(box.spans.min())
    label = ax.text(
        *text,
        "w",
        color=NORMAL_VECTOR,
        fontsize=TEXT + 3,
        fontweight="bold",
        ha="center",
        va="center",
        zorder=6,
    )
    _halo(label, ax.get_facecolor())


def _band(
    ax: Any,
    weights: NDArray[np.float64],
    X: NDArray[np.float64],
    signs: NDArray[np.float64],
    box: Box,
    theme: Theme,
) -> None:
    """Draw the margin as dashed lines and ring the rows on it, if the data are separated."""
    w, b = weights[1:], weights[0]
    norm = float(np.linalg.norm(w))
    if norm == 0.0:
        return
    distance = signs * (X @ w + b) / norm
    margin = float(distance.min())
    if margin <= 0.0:
        return
    label: str | None = f"margin γ = {in_words(margin)}"
    for side in (margin, -margin):
        segment = line_in_box(w, b + side * norm, box)
        if segment is not None:
            ax.plot(
                *segment.T, color=theme.ink, lw=1.3, ls=(0, (5, 4)), zorder=2.4, gid="margin", label=label
            )
            label = None
    rings(ax, X[distance <= margin * (1 + ON_THE_MARGIN)], theme.ink, "on the margin", gid="on the margin")


def _borders(ax: Any, weights: NDArray[np.float64], box: Box, theme: Theme) -> None:
    for i, j in combinations(range(len(weights)), 2):
        segment = border_in_box(weights, i, j, box)
        if segment is not None:
            ax.plot(*segment.T, color=theme.ink, lw=LINE, zorder=2.5, gid="boundary", solid_capstyle="round")


def _from_scores(ax: Any, clf: Any, box: Box, theme: Theme) -> None:
    """Draw the boundary of a model without weights from its scores on a grid."""
    xs, ys = (np.linspace(box.low[axis], box.high[axis], GRID) for axis in (0, 1))
    grid = np.column_stack([each.ravel() for each in np.meshgrid(xs, ys)])
    scores = np.asarray(clf.decision_function(grid))
    if scores.ndim == 1:
        fields = [scores]
    else:
        best = np.sort(scores, axis=1)
        fields = [
            scores[:, k] - np.where(scores[:, k] == best[:, -1], best[:, -2], best[:, -1])
            for k in range(scores.shape[1])
        ]
    for field in fields:
        if field.min() < 0.0 < field.max():
            ax.contour(
                xs,
                ys,
                field.reshape(GRID, GRID),
                levels=[0.0],
                colors=[theme.ink],
                linewidths=LINE,
                zorder=2.5,
            )


def _halo(text: Any, colour: Any) -> None:
    from matplotlib.patheffects import withStroke

    text.set_path_effects([withStroke(linewidth=3.5, foreground=colour)])
