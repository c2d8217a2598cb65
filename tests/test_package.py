"""The package's face: names, lazy loading, version."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from types import SimpleNamespace

import pytest
from tests.docs.places import ROOT

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


def test_the_readme_of_an_index_has_no_link_into_a_checkout():
    pytest.importorskip("hatchling", reason="hatchling builds the package; it comes with the extra [dev]")
    build = runpy.run_path(str(ROOT / "hatch_build.py"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for files in ("", "https://example.org/v1/"):
        links = re.findall(r"\]\(([^)\s]+)\)", build["absolute_links"](text, files))
        assert [link for link in links if not link.startswith("https://")] == []
        assert any(link.startswith(f"{files}docs/images/") for link in links) == bool(files)


@pytest.mark.parametrize(("status", "warnings"), [(0, 0), (1, 1)])
def test_a_build_compiles_with_the_dependencies_that_pip_names(monkeypatch, tmp_path, status, warnings):
    """``pip install .`` makes the dependencies of a build importable by PYTHONPATH alone."""
    pytest.importorskip("hatchling", reason="hatchling builds the package; it comes with the extra [dev]")
    build = runpy.run_path(str(ROOT / "hatch_build.py"))
    started, shown = [], []
    app = SimpleNamespace(display_warning=shown.append)
    hook = build["MachineCodeHook"](str(tmp_path), {}, None, None, str(tmp_path), "wheel", app)

    def run(command, env, **_):
        started.append(env["PYTHONPATH"].split(os.pathsep))
        return SimpleNamespace(returncode=status)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("PYTHONPATH", "dependencies of pip")
    hook.initialize("standard", {"artifacts": []})
    monkeypatch.delenv("PYTHONPATH")
    hook.initialize("standard", {"artifacts": []})
    assert started == [[str(tmp_path / "src"), "dependencies of pip"], [str(tmp_path / "src")]]
    assert len(shown) == 2 * warnings


def test_all_is_every_extra_but_that_for_gpus_and_those_of_development():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    (everything,) = extras["all"]
    listed = set(everything.removeprefix("rosenblatt[").removesuffix("]").split(","))
    assert listed == set(extras) - {"all", "gpu", "docs", "dev"}


def test_a_wheel_holds_the_machine_code_of_its_own_python_only(monkeypatch, tmp_path):
    """A checkout in which several versions of Python were used has the code of each."""
    builder = pytest.importorskip(
        "hatchling.builders.wheel", reason="hatchling builds the package; it comes with the extra [dev]"
    )
    (tmp_path / "hatch_build.py").write_bytes((ROOT / "hatch_build.py").read_bytes())
    (tmp_path / "README.md").write_text("a package")
    (tmp_path / ".gitignore").write_text("src/rosenblatt/machine_code/\n*.nbc\n")
    (tmp_path / "docs" / "lessons").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    own = sys.implementation.cache_tag
    for tag in (own, "cpython-310"):
        folder = tmp_path / "src" / "rosenblatt" / "machine_code" / f"x86-64-v3-{tag}" / "loops-1"
        folder.mkdir(parents=True)
        (folder / "loop.nbc").touch()
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    [wheel] = builder.WheelBuilder(str(tmp_path)).build(directory=str(tmp_path), versions=["standard"])
    names = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".nbc")]
    assert names == [f"rosenblatt/machine_code/x86-64-v3-{own}/loops-1/loop.nbc"]
