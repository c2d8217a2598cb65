"""Contours of the perceptron criterion E(w), with the path of its gradient descent."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.plots.canvas import keyed, new_axes, titled
from rosenblatt.plots.style import GREEN, PINK, TEXT, Theme

LEVELS = 14
STEPS = 200


def criterion(
    X: Any,
    y: Any,
    *,
    start: Any = None,
    eta: float | None = None,
    ax: Any = None,
    theme: "str | Theme" = "light",
) -> Any:
    """Draw contours of ``E(w) = −Σ yᵢ w·xᵢ`` over misclassified examples, and the path of gradient descent.

    With one feature the weights are ``(w, b)``; with two they are ``(w₁, w₂)`` and there is no bias. The path starts at
    ``start`` (opposite to the mean of the examples by default) and follows ``w ← w + η Σ yᵢ xᵢ`` until ``E(w) = 0``.
    """
    rows, names = _signed(X, y)
    scale = float(np.linalg.norm(rows, axis=1).max())
    begin = -2.0 * rows.mean(axis=0) / max(float(np.linalg.norm(rows.mean(axis=0))), 1e-12)
    begin = (
        begin + 0.6 * np.array([-begin[1], begin[0]])
        if start is None
        else np.asarray(start, dtype=np.float64)
    )
    rate = eta if eta is not None else 0.12 * float(np.linalg.norm(begin)) / (scale * max(len(rows) / 4, 1.0))
    path = descend(rows, begin, rate)
    ax, look = new_axes(ax, theme)
    reach = 1.25 * max(float(np.abs(path).max()), 1e-9)
    axis = np.linspace(-reach, reach, 241)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    field = energy(rows, grid.reshape(-1, 2)).reshape(grid.shape[:2])
    shades = _shades(look)
    ax.contourf(axis, axis, field, levels=LEVELS, cmap=shades, zorder=0)
    ax.contour(axis, axis, field, levels=LEVELS, colors=[look.faint], linewidths=0.7, zorder=1)
    if (field == 0.0).any():
        ax.contourf(axis, axis, field == 0.0, levels=[0.5, 1.5], colors=[GREEN], alpha=0.28, zorder=1.5)
        inside = grid[field == 0.0].mean(axis=0)
        ax.text(*inside, "E(w) = 0", color=look.ink, fontsize=TEXT, ha="center", va="center", zorder=4)
    ax.plot(*path.T, "-o", color=PINK, lw=2.2, ms=4.5, zorder=3, label="gradient descent", gid="path")
    ax.plot(*path[0], "o", color=look.paper, mec=PINK, mew=2.2, ms=10, zorder=3.5, label="start", gid="start")
    ax.plot(*path[-1], "*", color=PINK, mec=look.ink, mew=0.8, ms=17, zorder=3.6, label="end", gid="end")
    ax.set_aspect("equal", adjustable="box")
    titled(ax, look, "The perceptron criterion E(w)", names[0], names[1])
    keyed(ax, look)
    return ax


def energy(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``E(w)`` for every row of weights, from rows ``yᵢxᵢ``."""
    return np.asarray(np.maximum(0.0, -(weights @ rows.T)).sum(axis=1))


def descend(rows: NDArray[np.float64], start: NDArray[np.float64], eta: float) -> NDArray[np.float64]:
    """Return the weights of every step of the gradient descent, the start first."""
    path = [np.asarray(start, dtype=np.float64)]
    for _ in range(STEPS):
        wrong = rows @ path[-1] <= 0.0
        if not wrong.any():
            break
        path.append(path[-1] + eta * rows[wrong].sum(axis=0))
    return np.array(path)


def _signed(X: Any, y: Any) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Return ``yᵢxᵢ`` in the space of two weights."""
    X = np.asarray(X, dtype=np.float64)
    X = X.reshape(len(X), -1)
    classes = np.unique(np.asarray(y))
    if classes.size != 2 or X.shape[1] not in (1, 2):
        raise ValueError(
            f"E(w) is drawn for two classes and one or two features, not {classes.size} and {X.shape[1]}"
        )
    names = ("$w_1$", "$w_2$")
    if X.shape[1] == 1:
        X, names = np.column_stack([X, np.ones(len(X))]), ("weight $w$", "bias $b$")
    return X * np.where(np.asarray(y) == classes[1], 1.0, -1.0)[:, None], names


def _shades(theme: Theme) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("paper", [theme.paper, theme.grid])
