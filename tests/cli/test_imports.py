"""What a command imports before it answers: imports are most of the time of a short command."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
sys.argv = ["rosenblatt", *sys.argv[1:]]
from rosenblatt.cli import main
try:
    main()
except SystemExit as error:
    code = error.code
print(json.dumps({"code": code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""
NEVER = {  # by no short command: their imports take from a tenth of a second to more than one
    "sklearn",
    "pandas",
    "polars",
    "matplotlib",
    "scipy.stats",
    "scipy.optimize",
    "scipy.sparse",
    "asyncio",
    "fastapi",
    "nicegui",
    "onnx",
    "torch",
    "dask",
    "pyspark",
    "highspy",
    "flint",
    "IPython",
    "pydantic",
}
TABLE = "length,width,kind\n" + "".join(f"{i % 7}.5,{i % 5}.25,{'ab'[i % 2]}\n" for i in range(40))


def imported_by(*arguments, folder):
    """Run a command in a process of its own and return the names of the modules it imported."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    own = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}  # of these tests
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=own)
    result = json.loads(process.stderr.splitlines()[-1])
    assert result["code"] in (0, None), process.stderr
    return set(result["modules"])


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_imports_no_command_and_nothing_numeric(arguments, tmp_path):
    modules = imported_by(*arguments, folder=tmp_path)
    assert not modules & (NEVER | {"numpy", "numba", "scipy", "pyarrow", "rich", "rosenblatt.data"})
    assert not [name for name in modules if name.startswith("rosenblatt.cli.commands.")]


def test_help_of_a_command_imports_that_command_alone(tmp_path):
    modules = imported_by("fit", "--help", folder=tmp_path)
    assert not modules & (NEVER | {"numpy", "numba", "scipy", "pyarrow"})
    assert [name for name in modules if name.startswith("rosenblatt.cli.commands.")] == [
        "rosenblatt.cli.commands.fit"
    ]


def test_a_small_fit_imports_what_it_needs(tmp_path):
    (tmp_path / "table.csv").write_text(TABLE)
    modules = imported_by("fit", "table.csv", folder=tmp_path)
    unused = {"proofs.claims", "storage", "core.kernel_loop", "core.scaling", "core.single", "streams"}
    assert not modules & (NEVER | {"scipy.special", "scipy._lib._array_api"})
    assert not modules & {f"rosenblatt.{name}" for name in unused}


def test_a_small_fit_of_categories_and_gaps_loads_no_data_frames(tmp_path):
    rows = [f"{i % 7 or ''};{'xyz'[i % 3]};{2 if i % 2 else '1,5'};{'ab'[i % 2]}\n" for i in range(40)]
    (tmp_path / "table.csv").write_text("size;colour;price;kind\n" + "".join(rows))
    for command in (["fit", "table.csv", "--no-estimate"], ["stream", "table.csv"]):
        assert not imported_by(*command, folder=tmp_path) & (NEVER - {"scipy.sparse"})


def test_stored_machine_code_is_loaded_without_the_compiler(tmp_path):
    """The first run may have to compile; the second loads code, and numba's registries are not for that."""
    (tmp_path / "table.csv").write_text(TABLE)
    for _ in range(2):
        modules = imported_by("fit", "table.csv", folder=tmp_path)
    assert not modules & {"scipy.linalg", "numba.np.arraymath", "numba.np.polynomial"}


def test_a_fit_of_numbers_needs_no_arrow(tmp_path):
    (tmp_path / "table.svm").write_text("".join(f"{i % 2} 1:{i % 7}.5 2:{i % 5}\n" for i in range(40)))
    modules = imported_by("fit", "table.svm", folder=tmp_path)
    assert not modules & (NEVER - {"scipy.sparse"} | {"pyarrow"})


def test_mail_and_store_commands_load_no_web_framework(tmp_path):
    letter = "From ann@example.org\nFrom: ann@example.org\nSubject: {0}\n\nabout the {0}\n\n"
    (tmp_path / "Starred.mbox").write_text(letter.format("budget"))
    (tmp_path / "INBOX.mbox").write_text(letter.format("sale"))
    store = ["--data", "store"]
    for command in (
        ["mail", "import", ".", "--important", "Starred", "--rest", "INBOX", *store],
        ["mail", "sort", "INBOX.mbox", *store],
        ["store", "verify", *store],
    ):
        modules = imported_by(*command, folder=tmp_path)
        assert not modules & {"fastapi", "starlette", "uvicorn", "nicegui", "prometheus_client"}
