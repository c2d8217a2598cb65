"""The package's face: names, lazy loading, version."""

import subprocess
import sys
from importlib import metadata

import pytest

import rosenblatt


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        ).stdout.split()
    )


def test_every_public_name_is_there_and_documented():
    for name in rosenblatt.__all__:
        value = getattr(rosenblatt, name)
        assert name.startswith("__") or value.__doc__
    assert set(dir(rosenblatt)) == set(rosenblatt.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="perceptron"):
        rosenblatt.perceptron  # noqa: B018


def test_importing_it_loads_nothing_heavy():
    assert not {"numpy", "numba", "sklearn", "scipy", "pyarrow", "matplotlib"} & loaded_after(
        "import rosenblatt"
    )


def test_the_learner_does_not_need_scikit_learn():
    assert "sklearn" not in loaded_after(
        "from rosenblatt.learner import Learner; Learner().learn([[1.0]], [1])"
    )


def test_the_version_is_the_installed_one():
    assert rosenblatt.__version__ == metadata.version("rosenblatt")
