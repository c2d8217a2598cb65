"""The first command with empty caches, beside a second command and scikit-learn's cold start.

Both have the operating system's file cache warm; only our cache of machine code is empty the first time.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import Ratios
from rosenblatt import jit

ASKED = 1 / 1.5  # warm / cold: the first within 1.5 times of a warm one
RUNS = 3
COMMANDS = {
    "fit, CSV": "fit table.csv --model m",
    "fit, LIBSVM": "fit sparse.svm",
    "fit --auto, CSV": "fit table.csv --auto",
    "predict": "predict m table.csv",
    "prove": "prove sample:breast-cancer",
    "compare": "compare sample:iris",
    "stream": "stream table.csv",
}
FIT = (
    "import numpy as np, scipy.sparse; X = np.random.default_rng(0).normal(size=(500, 20)); y = X[:, 0] > 0;"
)
OURS = FIT + "from rosenblatt import Perceptron; Perceptron().fit({matrix}, y)"
THEIRS = FIT + "from sklearn.linear_model import Perceptron; Perceptron().fit({matrix}, y)"
MATRICES = {
    "dense float64": "X",
    "dense float32": "X.astype('float32')",
    "CSR float64": "scipy.sparse.csr_matrix(X)",
    "CSR float32": "scipy.sparse.csr_matrix(X.astype('float32'))",
}
LAB = "from rosenblatt.lab.app import make_app, warm_up; make_app(); warm_up()"  # until the address would be printed
THEIR_COMMAND = (
    "import numpy as np; from sklearn.linear_model import Perceptron;"
    "from sklearn.model_selection import cross_val_score;"
    "D = np.genfromtxt('table.csv', delimiter=',', skip_header=1); X, y = D[:, :-1], D[:, -1];"
    "cross_val_score(Perceptron(), X, y); Perceptron().fit(X, y)"
)


def write_files(folder: Path) -> None:
    draws = np.random.default_rng(0)
    X = draws.normal(size=(500, 10)).round(3)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    header = ",".join([*(f"x{k}" for k in range(10)), "y"])
    np.savetxt(folder / "table.csv", np.column_stack([X, y]), "%g", ",", header=header, comments="")
    lines = [
        " ".join([str(2 * c - 1), *(f"{k + 1}:{v:g}" for k, v in enumerate(x))])
        for x, c in zip(X, y, strict=True)
    ]
    (folder / "sparse.svm").write_text("\n".join(lines) + "\n")


def seconds(code: list[str], folder: Path, cache: Path) -> float:
    """Return the time of a process with its caches in a folder."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *code],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return time.perf_counter() - started


def first_and_warm(code: list[str], folder: Path) -> tuple[float, float]:
    """Return the shortest of some first runs, each with an empty cache, and of as many second ones."""
    first, warm = [], []
    for turn in range(RUNS):
        cache = folder / f"cache{turn}"
        shutil.rmtree(cache, ignore_errors=True)
        first.append(seconds(code, folder, cache))
        warm.append(seconds(code, folder, cache))
    return min(first), min(warm)


def main() -> None:
    table = Ratios("The first minute: first run with empty caches / a warm one (asked: within 1.5 times)")
    beside = Ratios("The first minute: first run with empty caches / scikit-learn's cold start")
    if not any(jit.SHIPPED_FOLDER.rglob("complete")):
        table.note("No machine code was shipped with this installation: `make ready` builds it.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        theirs = min(seconds(["-c", THEIR_COMMAND], folder, folder / "cache") for _ in range(RUNS))
        for what, command in COMMANDS.items():
            cold, warm = first_and_warm(["-m", "rosenblatt", *command.split()], folder)
            table.add(what, f"{cold:.2f} s", f"{warm:.2f} s warm", warm / cold, ASKED)
            if what == "fit, CSV":
                beside.add(f"{what}, five folds", f"{cold:.2f} s", f"{theirs:.2f} s", theirs / cold, 1.0)
        cold, warm = first_and_warm(["-c", LAB], folder)
        table.add("lab, until it listens", f"{cold:.2f} s", f"{warm:.2f} s warm", warm / cold, ASKED)
        for what, matrix in MATRICES.items():
            cold, warm = first_and_warm(["-c", OURS.format(matrix=matrix)], folder)
            table.add(f"Perceptron().fit, {what}", f"{cold:.2f} s", f"{warm:.2f} s warm", warm / cold, ASKED)
            theirs = min(
                seconds(["-c", THEIRS.format(matrix=matrix)], folder, folder / "cache") for _ in range(RUNS)
            )
            beside.add(
                f"a new process: import, Perceptron().fit, {what}",
                f"{cold:.2f} s",
                f"{theirs:.2f} s",
                theirs / cold,
                1.0,
            )
    table.show()
    beside.show()
