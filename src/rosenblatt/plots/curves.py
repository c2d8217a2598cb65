"""Curves that need no data: three losses on one axis, and the sigmoid against the step."""

from typing import Any

import numpy as np

from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import BLUE, GREEN, LINE, ORANGE, TEXT, Theme, for_text


def losses(*, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw the losses of ``z = y·f(x)``: perceptron, hinge, logistic and zero-one.

    They are ``max(0, −z)``, ``max(0, 1 − z)``, ``log₂(1 + e⁻ᶻ)`` and 1 for a mistake.
    """
    ax, look = new_axes(ax, theme)
    z = np.linspace(-3.0, 3.0, 601)
    ax.axvline(0.0, color=look.grid, lw=1.2, zorder=0)
    ax.plot([-3, 0, 0, 3], [1, 1, 0, 0], color=look.faint, lw=1.4, ls=(0, (1, 2)), gid="mistake")
    curves = {
        "perceptron": (np.maximum(0.0, -z), BLUE, "-"),
        "hinge": (np.maximum(0.0, 1.0 - z), ORANGE, (0, (6, 2))),
        "logistic": (np.logaddexp(0.0, -z) / np.log(2.0), GREEN, (0, (3, 1.5, 1, 1.5))),
    }
    for name, (loss, colour, dashes) in curves.items():
        ax.plot(z, loss, color=colour, lw=LINE + 0.6, ls=dashes, gid=name)
    notes = {
        "logistic  $\\log_2(1+e^{-z})$": (-2.05, 3.72, GREEN),
        "hinge  $\\max(0,\\,1-z)$": (-0.62, 2.02, ORANGE),
        "perceptron\n$\\max(0,\\,-z)$": (-2.92, 1.6, BLUE),
        "a mistake": (-2.92, 0.74, look.faint),
    }
    for text, (x, height, colour) in notes.items():
        ax.text(x, height, text, color=for_text(colour, look), fontsize=TEXT, va="center")
    ax.set_xlim(-3.0, 3.0)
    ax.set_ylim(-0.12, 4.6)
    titled(ax, look, "What a score costs", "$z = y\\,f(x)$: how far on the right side", "loss")
    return ax


def sigmoid(*, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw the sigmoid of logistic regression and the step function of the perceptron."""
    ax, look = new_axes(ax, theme)
    z = np.linspace(-6.0, 6.0, 601)
    ax.axhline(0.5, color=look.grid, lw=1.2, zorder=0)
    ax.axvline(0.0, color=look.grid, lw=1.2, zorder=0)
    ax.plot(z, 1.0 / (1.0 + np.exp(-z)), color=GREEN, lw=LINE + 0.6, gid="sigmoid")
    ax.plot([-6, 0], [0, 0], color=BLUE, lw=LINE + 0.6, gid="step")
    ax.plot([0, 6], [1, 1], color=BLUE, lw=LINE + 0.6, gid="step")
    ax.plot([0], [0.5], "o", mfc=look.paper, mec=BLUE, mew=2, ms=8, gid="undecided")
    ax.text(1.0, 0.62, "logistic  $1/(1+e^{-f(x)})$", color=for_text(GREEN, look), fontsize=TEXT)
    ax.text(-5.8, 0.14, "perceptron: the step", color=for_text(BLUE, look), fontsize=TEXT)
    ax.text(-0.35, 0.5, "I don't know", color=look.ink, fontsize=TEXT, ha="right", va="center")
    ax.set_xlim(-6, 6)
    ax.set_ylim(-0.06, 1.06)
    titled(ax, look, "Soft and hard decisions", "$f(x) = w\\cdot x + b$", "belief in class +1")
    return ax
