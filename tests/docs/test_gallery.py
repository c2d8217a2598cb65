"""Every example of the gallery runs, without a warning, and makes its picture."""

import re
import runpy

import matplotlib as mpl
import pytest
from tests.docs.places import EXAMPLES

mpl.use("Agg")
from matplotlib import pyplot as plt

SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))


def test_there_are_enough():
    assert len(SCRIPTS) >= 15


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs_and_draws_one_picture(script, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    try:
        runpy.run_path(str(script), run_name="__main__")
        assert len(plt.get_fignums()) == 1
        figure = plt.gcf()
        figure.canvas.draw()
        assert any(axes.get_title(loc="left") for axes in figure.axes)
    finally:
        plt.close("all")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_opens_with_a_title_and_a_text(script):
    opening = re.match(r'r"""\n(.+)\n=+\n\n(.+?)"""', script.read_text(encoding="utf-8"), re.DOTALL)
    assert opening
    assert len(opening[2].split()) > 20
