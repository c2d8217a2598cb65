"""Modules that are loaded later are whole when they are used."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from rosenblatt.cli.later import LATER, load_later
load_later()
import numba, numpy as np, scipy.sparse
multiplied = numba.njit(lambda a, b: a @ b)(np.eye(2), 3 * np.eye(2)).sum()
waiting = [name for name in LATER if type(sys.modules.get(name)).__name__ == "_Later"]
import scipy.linalg
from scipy.linalg import solve
norm = float(scipy.linalg.norm([3.0, 4.0]))
np.testing.assert_allclose(solve(np.eye(2), np.ones(2)), 1.0)
told = {"waiting": waiting, "norm": norm, "product": float(multiplied), "all": "norm" in scipy.linalg.__all__}
told["missing"] = hasattr(scipy.linalg, "nothing_of_the_kind")
print(json.dumps(told))
"""


def test_they_wait_until_they_are_used_and_then_are_themselves():
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    told = json.loads(answer.stdout)
    assert {"scipy.linalg", "numpy.f2py"} <= set(told["waiting"])
    assert told == {**told, "norm": 5.0, "product": 6.0, "all": True, "missing": False}
