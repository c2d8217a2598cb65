"""Cumulative mistakes over time, and their bound."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.plots.canvas import in_words, new_axes, titled
from rosenblatt.plots.style import LINE, MISTAKE, TEXT, Theme, for_text

FAR = 8.0  # a bound this many times the mistakes is drawn on a logarithmic scale


def convergence(clf: Any, *, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw the cumulative mistakes of a training run, and their bound.

    ``clf`` is a fitted ``Perceptron`` (every mistake, from its ledger; without a ledger, per epoch) or any learner with
    ``mistakes_`` per epoch.
    """
    ax, look = new_axes(ax, theme)
    times, total, unit = _mistakes(clf)
    n_mistakes = int(total[-1])
    if unit == "examples":
        ax.step(times, total, where="post", color=MISTAKE, lw=LINE + 0.4, gid="mistakes")
    else:
        ax.plot(times, total, "-o", color=MISTAKE, lw=LINE + 0.4, ms=5, gid="mistakes")
    ax.text(
        times[-1],
        total[-1],
        f" {n_mistakes:,} mistakes",
        color=for_text(MISTAKE, look),
        fontsize=TEXT,
        ha="right",
        va="bottom",
    )
    bound = float(getattr(clf, "mistake_bound_", np.inf))
    top = float(max(n_mistakes, 1))
    if np.isfinite(bound):
        ax.axhline(bound, color=look.ink, lw=1.8, ls=(0, (1, 2)), gid="bound")
        separated = float(getattr(clf, "margin_", -1.0)) > 0.0
        formula = "$R^2/\\gamma^2$" if separated else "hinge bound"
        ax.annotate(
            f"{formula} = {in_words(bound)}",
            (0.0, bound),
            xycoords=("axes fraction", "data"),
            xytext=(6, 5),
            textcoords="offset points",
            color=look.ink,
            fontsize=TEXT,
        )
        top = max(top, bound)
    if top > FAR * max(n_mistakes, 1):
        ax.set_yscale("log")
        ax.set_ylim(0.8, top * 2.2)
    else:
        ax.set_ylim(0.0, top * 1.16)
    ax.set_xlim(0.0, max(float(times[-1]), 1.0) * 1.02)
    ax.grid(axis="y", color=look.grid, lw=0.8)
    outcome = "a pass without a mistake" if getattr(clf, "converged_", False) else "not yet a clean pass"
    titled(ax, look, f"Mistakes over time: {outcome}", f"{unit} seen", "mistakes so far")
    return ax


def _mistakes(clf: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Return the times of the mistakes, their cumulative number, and the unit of time."""
    learner = getattr(clf, "learner_", None)
    ledger = getattr(learner, "ledger", None)
    if ledger is not None and learner is not None and learner.running.size == 1:
        wrong = ledger.entries[ledger.entries["score"] <= 0.0]
        times = np.concatenate([[0.0], wrong["clock"] + 1.0, [learner.clock]])
        cumulative = np.arange(wrong.size + 1, dtype=np.float64)
        return times, np.append(cumulative, cumulative[-1]), "examples"
    if not hasattr(clf, "mistakes_"):
        raise TypeError(f"{type(clf).__name__} counts no mistakes: use a Perceptron or a BatchPerceptron")
    per_pass = np.asarray(clf.mistakes_, dtype=np.float64)
    return np.arange(per_pass.size + 1.0), np.concatenate([[0.0], np.cumsum(per_pass)]), "passes"
