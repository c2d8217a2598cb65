"""Ctrl-C, as a real signal to a real process: what was learned is kept and said."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from tests.cli.commands import run_well

from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner

MAIN = "from rosenblatt.cli import main; main()"
STRUCK = """
import os, signal, sys
from rosenblatt.learner import Learner
from rosenblatt.cli import main
times, learned = int(sys.argv.pop(1)), Learner._visit_rows
def struck(self, *arguments):
    if len(self.epochs) == 2:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
    return learned(self, *arguments)
Learner._visit_rows = struck
main()
"""
LOST = """
import ctypes, os, signal, sys
from rosenblatt.cli import main
from rosenblatt.cli.reading import read_to_train
from rosenblatt.learner import Learner
def strike():
    ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))()  # what it raises is thrown away
learned = Learner.visit
def struck(self, *arguments):
    if len(self.epochs) == 2:
        strike()
    return learned(self, *arguments)
Learner.visit = struck
import rosenblatt.cli.fit.memory as in_memory
in_memory.read_to_train = lambda *arguments: (strike(), read_to_train(*arguments))[1]
main()
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a child")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    X, y = rng.integers(-4, 5, (300, 5)), rng.integers(0, 2, 300)  # noise: no pass is clean
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) + "\n"
        for row, label in zip(X, y, strict=True)
    )
    (tmp_path / "a.svm").write_text("".join(lines))
    return tmp_path


def start(program, *arguments):
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("options", [[], ["--no-shuffle", "--ledger", "none"], ["--json"]])
def test_a_fit_in_memory_ends_with_the_pass_under_way(files, options):
    model = files / "m.safetensors"
    process = start(STRUCK, 1, "fit", files / "a.svm", "--passes", 1000, "-m", model, *options)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "stopping after this pass" in err
    assert f"the model is that of 3 whole passes; saved in {model}" in err
    if "--json" in options:
        assert json.loads(out)["interrupted"] is True
        options = []
    else:
        assert "no, interrupted after 3 passes" in out
    run_well(["fit", str(files / "a.svm"), "--passes", "3", "-m", str(files / "three"), *options])
    got, expected = (load_learner(path)[0] for path in (model, files / "three"))
    assert [epoch.mistakes for epoch in got.epochs] == [epoch.mistakes for epoch in expected.epochs]
    for hypothesis in ("last", "averaged"):
        assert np.array_equal(got.weights(hypothesis), expected.weights(hypothesis))


def test_a_second_interrupt_gives_up(files):
    process = start(STRUCK, 2, "fit", files / "a.svm", "--passes", 1000, "-m", files / "m")
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("interrupted: nothing was saved; ")
    assert not (files / "m").exists()


def struck_in_the_third_pass(*arguments):
    """Fit for ever, and interrupt it from outside, at a time of no one's choosing; return what it said."""
    process = start(MAIN, "fit", *arguments, "--passes", 10**7)
    for line in process.stdout:
        if json.loads(line)["pass"] >= 3:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    return out, err


def test_a_fit_out_of_core_keeps_the_last_whole_pass(files):
    model = files / "m.safetensors"
    options = ["--out-of-core", "--no-shuffle", "--every", "300", "--json", "-m", model]
    out, err = struck_in_the_third_pass(files / "a.svm", *options)
    last = json.loads(out.splitlines()[-1])
    passes = last["passes"]
    assert passes >= 2  # the third may have been under way
    assert f"the model is that of {passes} whole passes; saved in {model}" in err
    got = load_learner(model)[0]
    assert got.clock == 300 * passes
    assert len(last["mistakes"]) == passes == len(got.epochs)


def test_a_fit_that_is_interrupted_before_its_pocket_is_chosen_predicts_by_the_average(files):
    model = files / "m.safetensors"
    options = ["--out-of-core", "--hypothesis", "pocket", "--every", "300", "--json", "-m", model]
    out, err = struck_in_the_third_pass(files / "a.svm", *options)
    assert "interrupted before the pocket was chosen: the model predicts by 'averaged'" in err
    assert json.loads(out.splitlines()[-1])["hypothesis"] == "averaged"
    assert run_well(["predict", str(model), str(files / "a.svm")]).stdout.count("\n") == 300


def test_an_interrupt_that_c_code_throws_away_is_not_lost(files):
    words = ["--passes", 1000, "-m", files / "m"]
    process = start(LOST, "fit", files / "a.svm", "--out-of-core", *words)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert f"the model is that of 2 whole passes; saved in {files / 'm'}" in err
    assert "Traceback" not in err
    (files / "m").unlink()
    process = start(LOST, "fit", files / "a.svm", *words)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert err == f"interrupted: nothing was saved; {files / 'm'} is not written\n"
    assert not (files / "m").exists()


def test_a_stream_that_is_interrupted_has_written_what_it_saw(files):
    model = files / "m.safetensors"
    process = start(MAIN, "stream", "-", "--format", "libsvm", "--every", 100, "--json", "-m", model)
    process.stdin.write((files / "a.svm").read_text())
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["rows"] == 100
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "interrupted after" in err
    assert isinstance(load_learner(model)[0], Learner)
