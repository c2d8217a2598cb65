"""Mistakes against the bound, over time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.plots.canvas import in_words, new_axes, titled
from rosenblatt.plots.style import LINE, MISTAKE, TEXT, Theme, for_text

FAR = 8.0  # a bound this many times the mistakes is drawn on a logarithmic scale


def convergence(clf: Any, *, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw how the mistakes of a training run add up, with what was promised about them.

    Takes a fitted ``Perceptron`` (every mistake, from its ledger; without a ledger, pass by pass) or any learner
    with ``mistakes_`` per pass.
    """
    ax, look = new_axes(ax, theme)
    when, total, unit = _mistakes(clf)
    made = int(total[-1])
    if unit == "examples":
        ax.step(when, total, where="post", color=MISTAKE, lw=LINE + 0.4, gid="mistakes")
    else:
        ax.plot(when, total, "-o", color=MISTAKE, lw=LINE + 0.4, ms=5, gid="mistakes")
    ax.text(
        when[-1],
        total[-1],
        f" {made:,} mistakes",
        color=for_text(MISTAKE, look),
        fontsize=TEXT,
        ha="right",
        va="bottom",
    )
    bound = float(getattr(clf, "mistake_bound_", np.inf))
    top = float(max(made, 1))
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
    if top > FAR * max(made, 1):
        ax.set_yscale("log")
        ax.set_ylim(0.8, top * 2.2)
    else:
        ax.set_ylim(0.0, top * 1.16)
    ax.set_xlim(0.0, max(float(when[-1]), 1.0) * 1.02)
    ax.grid(axis="y", color=look.grid, lw=0.8)
    said = "a pass without a mistake" if getattr(clf, "converged_", False) else "not yet a clean pass"
    titled(ax, look, f"Mistakes over time: {said}", f"{unit} seen", "mistakes so far")
    return ax


def _mistakes(clf: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Return when mistakes were made, how many there were by then, and what time is counted in."""
    learner = getattr(clf, "learner_", None)
    ledger = getattr(learner, "ledger", None)
    if ledger is not None and learner is not None and learner.running.size == 1:
        wrong = ledger.entries[ledger.entries["score"] <= 0.0]
        when = np.concatenate([[0.0], wrong["clock"] + 1.0, [learner.clock]])
        counted = np.arange(wrong.size + 1, dtype=np.float64)
        return when, np.append(counted, counted[-1]), "examples"
    if not hasattr(clf, "mistakes_"):
        raise TypeError(f"{type(clf).__name__} counts no mistakes: give a Perceptron or a BatchPerceptron")
    per_pass = np.asarray(clf.mistakes_, dtype=np.float64)
    return np.arange(per_pass.size + 1.0), np.concatenate([[0.0], np.cumsum(per_pass)]), "passes"
