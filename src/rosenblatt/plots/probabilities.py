"""Plots of probabilities: the calibration of a classifier, and its ROC curve."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import BLUE, LINE, TEXT, Theme, for_text

LEAST_ROWS = 5  # of a group


def calibration(
    happened: ArrayLike,
    probability: ArrayLike,
    *,
    groups: int = 10,
    ax: Any = None,
    theme: "str | Theme" = "light",
) -> Any:
    """Draw the frequency of an event against its predicted probability.

    Rows are sorted by probability and split into groups of equal size; each group is a point with the 95% interval
    (Wilson) of its frequency. Calibrated probabilities are on the diagonal.

    Parameters
    ----------
    happened : array-like of bool
        Whether the event happened, for every row.
    probability : array-like of float
        Its predicted probability.
    groups : int, default=10
        The largest number of groups; fewer with few rows.
    ax : matplotlib axes, optional
    theme : {"light", "dark"}, default="light"

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> calibration(rng.random(500) < p, p).get_xlabel()
    'predicted probability'
    """
    events, predicted = _checked(happened, probability)
    ax, look = new_axes(ax, theme, size=(5.6, 4.6))
    ax.plot([0, 1], [0, 1], color=look.faint, lw=1.2, ls=(0, (1, 2)), gid="diagonal")
    n_groups = max(1, min(groups, events.size // LEAST_ROWS))
    parts = np.array_split(np.argsort(predicted, kind="stable"), n_groups)
    mean = np.array([predicted[part].mean() for part in parts])
    share = np.array([events[part].mean() for part in parts])
    low, high = wilson_interval(share, np.array([part.size for part in parts]))
    ax.vlines(mean, low, high, color=BLUE, lw=2, alpha=0.5)
    ax.plot(mean, share, "-o", color=BLUE, lw=LINE, ms=6, gid="groups")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    _percent_axes(ax)
    ax.grid(color=look.grid, lw=0.8)
    titled(ax, look, "Calibration", "predicted probability", "how often it was right")
    return ax


def roc(happened: ArrayLike, score: ArrayLike, *, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw the ROC curve of a score: the true positive rate against the false positive rate.

    Parameters
    ----------
    happened : array-like of bool
        Whether a row is positive.
    score : array-like of float
        Larger for rows that look positive.
    ax : matplotlib axes, optional
    theme : {"light", "dark"}, default="light"

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> roc([False, False, True, True], [0.1, 0.4, 0.35, 0.8]).texts[0].get_text()
    'area 0.750'
    """
    events, scores = _checked(happened, score)
    ax, look = new_axes(ax, theme, size=(5.6, 4.6))
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(events[order])
    alarms = np.cumsum(~events[order])
    last_of_tie = np.flatnonzero(np.append(np.diff(scores[order]) != 0.0, True))
    true_rate = np.concatenate([[0.0], hits[last_of_tie] / max(1, hits[-1])])
    false_rate = np.concatenate([[0.0], alarms[last_of_tie] / max(1, alarms[-1])])
    ax.plot([0, 1], [0, 1], color=look.faint, lw=1.2, ls=(0, (1, 2)), gid="chance")
    ax.plot(false_rate, true_rate, color=BLUE, lw=LINE, gid="roc")
    area = float(np.sum(np.diff(false_rate) * (true_rate[1:] + true_rate[:-1])) / 2)
    ax.text(0.96, 0.06, f"area {area:.3f}", color=for_text(BLUE, look), fontsize=TEXT, ha="right")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    _percent_axes(ax)
    ax.grid(color=look.grid, lw=0.8)
    titled(ax, look, "ROC curve", "false alarms", "positives recognised")
    return ax


def wilson_interval(share: Any, n: Any, z: float = 1.959964) -> tuple[Any, Any]:
    """Return Wilson's 95% interval of a share of ``n`` rows.

    >>> low, high = wilson_interval(0.5, 100)
    >>> round(float(low), 3), round(float(high), 3)
    (0.404, 0.596)
    """
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return centre - half, centre + half


def _checked(happened: ArrayLike, value: ArrayLike) -> tuple[Any, Any]:
    events, values = np.asarray(happened, dtype=bool), np.asarray(value, dtype=np.float64)
    if events.ndim != 1 or events.shape != values.shape or events.size == 0:
        raise ValueError(
            f"expected two arrays of one length with at least one row, got shapes {events.shape} and {values.shape}"
        )
    return events, values


def _percent_axes(ax: Any) -> None:
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:.0%}")
