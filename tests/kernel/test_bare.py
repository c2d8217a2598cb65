"""A GPU machine often allows no installs: numpy, scipy, scikit-learn, numba and torch are enough."""

import subprocess
import sys
from pathlib import Path

BARE = """
import sys

ABSENT = {"pyarrow", "safetensors", "flint", "typer", "click", "rich", "matplotlib", "pandas", "array_api_compat"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
sys.path.insert(0, sys.argv[1])
import freund_schapire, kernel_gpu
from rosenblatt.kernel import KernelPerceptron

X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
for budget in (None, 4):
    clf = KernelPerceptron(degree=2, max_iter=100, hypothesis="last", budget=budget).fit(X, y)
    assert clf.converged_ and clf.predict(X).tolist() == y
"""


def test_the_kernel_perceptron_and_its_benchmarks_need_no_other_package():
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    done = subprocess.run(
        [sys.executable, "-c", BARE, str(benchmarks)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
