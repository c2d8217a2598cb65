"""Machine code is stored where it cannot go stale, and shipped code gives the same bits as code compiled here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite import binding

from rosenblatt import jit
from rosenblatt.core.sums import count_different
from rosenblatt.data.scanners.compiled import CODE as SCANNERS
from rosenblatt.jit import CODE, FASTMATH, CodeCache, exactly_compiled, exactly_compiled_part

LEARN = "from rosenblatt.learner import Learner; Learner().learn([[1.0]], [1])"
TRAIN = """
import json, sys
from pathlib import Path
import numpy as np, scipy.sparse
import numba
from rosenblatt import jit, rules
jit.SHIPPED_FOLDER = Path(sys.argv[1])
jit.has_level()
if len(sys.argv) > 2:  # compile as on another CPU that has the level
    numba.config.CPU_NAME, numba.config.CPU_FEATURES = sys.argv[2], ""
from rosenblatt.learner import Learner
from rosenblatt.streams.online import OnlineLearner

draws = np.random.default_rng(0)
X = draws.normal(size=(50, 97))
X[draws.random(X.shape) < 0.3] = 0.0
bits = []
for rule, matrix in ((rules.AROW(), X), (rules.PassiveAggressive(), scipy.sparse.csr_matrix(X.astype(np.float32)))):
    learner = Learner(rule)
    for _ in range(3):
        learner.learn(matrix, draws.integers(0, 2, 50))
    bits.append(learner.weights("averaged").tobytes().hex())
for rule in (rules.Rosenblatt(), rules.AROW()):
    stream = OnlineLearner(rule=rule)
    for label in draws.integers(0, 5, 200):
        names = draws.choice(30, draws.integers(1, 9), replace=False)
        stream.learn_one({str(name): draws.normal() for name in names}, int(label))
    for array in (stream.learner.W, stream.learner.average_offset, stream.learner.running):
        bits.append(array.tobytes().hex())
print(json.dumps({"bits": bits, "seconds": jit.compile_seconds()}))
"""
ships = pytest.mark.skipif(not jit.can_ship(), reason="this CPU has not the level that code is shipped for")


def run(code, *arguments, **environment):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "ROSENBLATT_"))}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def code_in(folder):
    return {path.relative_to(folder) for path in folder.rglob("*.nbc")}


def test_the_folder_is_named_after_the_sources(monkeypatch):
    before = CodeCache("compiled", "rules").folder().name
    assert before == CodeCache("compiled", "rules").folder().name
    assert before != CodeCache("compiled", "rules", "core").folder().name
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"another source")
    assert before != CodeCache("compiled", "rules").folder().name


def test_the_folder_depends_on_sources_in_folders_of_folders(monkeypatch):
    before, read = CodeCache("compiled", "core").folder().name, Path.read_bytes
    changed = {"geometry/second_order.py": b"another source"}

    def read_bytes(path):
        return next((text for end, text in changed.items() if path.as_posix().endswith(end)), None) or read(
            path
        )

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert before != CodeCache("compiled", "core").folder().name


def test_a_second_process_finds_the_code_of_the_first(tmp_path):
    run(LEARN, NUMBA_CACHE_DIR=str(tmp_path), ROSENBLATT_SHIPPED_CODE="off")
    first = code_in(tmp_path)
    assert any("loop.learn" in path.name for path in first)
    times = {path: (tmp_path / path).stat().st_mtime_ns for path in first}
    run(LEARN, NUMBA_CACHE_DIR=str(tmp_path), ROSENBLATT_SHIPPED_CODE="off")
    assert times == {path: (tmp_path / path).stat().st_mtime_ns for path in code_in(tmp_path)}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder of code for the shipped level, built by another process, and the bits that it trained there."""
    folder = tmp_path_factory.mktemp("built")
    answer = json.loads(run(TRAIN, folder, ROSENBLATT_BUILD_CODE=str(folder), **jit.level_environment()))
    assert answer["seconds"] > 0
    return folder, answer["bits"]


@ships
def test_shipped_code_is_loaded_where_the_user_has_none(built, tmp_path):
    folder, bits = built
    answer = json.loads(run(TRAIN, folder, XDG_CACHE_HOME=str(tmp_path)))
    assert answer == {"bits": bits, "seconds": 0.0}
    assert not code_in(tmp_path)


@ships
def test_shipped_and_native_code_give_the_same_bits(built, tmp_path):
    folder, bits = built
    answer = json.loads(run(TRAIN, folder, XDG_CACHE_HOME=str(tmp_path), ROSENBLATT_SHIPPED_CODE="off"))
    assert answer["seconds"] > 0, "nothing was compiled, so nothing was compared"
    assert answer["bits"] == bits


@pytest.mark.skipif(
    not binding.get_host_cpu_features().get("avx512vl"), reason="this CPU cannot run code for AVX-512"
)
@ships
def test_code_for_wider_vectors_gives_the_same_bits(built, tmp_path):
    """Where sums may be reordered, LLVM gives them other lanes on every CPU."""
    folder, bits = built
    environment = {"XDG_CACHE_HOME": str(tmp_path), "ROSENBLATT_SHIPPED_CODE": "off"}
    assert json.loads(run(TRAIN, folder, "skylake-avx512", **environment))["bits"] == bits


@ships
def test_loading_code_does_not_load_what_compiling_needs(built, tmp_path):
    """Half of what numba would add to the start of a command."""
    folder, _ = built
    show = "\nprint(json.dumps([name for name in ('numba.np.linalg', 'numba.typed.typeddict') if name in sys.modules]))"
    answer = run(TRAIN + show, folder, XDG_CACHE_HOME=str(tmp_path))
    assert json.loads(answer.splitlines()[-1]) == []


@ships
def test_shipped_code_holds_no_path_of_the_machine_that_built_it(built):
    folder, _ = built
    for path in folder.rglob("*.nbc"):
        assert str(jit.PACKAGE).encode() not in path.read_bytes(), path.name


def test_damaged_code_is_not_loaded(monkeypatch, tmp_path):
    """Nor is code under the name of another signature: the file says what it was compiled for."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ROSENBLATT_SHIPPED_CODE", "off")

    def compiled_again():
        return CODE.compiled(count_different.py_func)

    for dtype in (np.float64, np.float32):
        assert compiled_again()(np.array([1, 2, 3], dtype), 2.0) == 2
    files = sorted(tmp_path.rglob("*.nbc"))
    assert len(files) == 2
    contents = [path.read_bytes() for path in files]
    for wrong in (contents[0][:-100], contents[1]):
        files[0].write_bytes(wrong)
        for dtype in (np.float64, np.float32):
            assert compiled_again()(np.array([1, 2, 3], dtype), 2.0) == 2
        assert files[0].read_bytes() != wrong
        assert files[1].read_bytes() == contents[1]


def test_code_for_a_level_is_not_loaded_for_a_lesser_cpu(tmp_path):
    show = "from rosenblatt import jit; print(jit.has_level(), jit.vector_bytes())"
    assert run(show, NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="").split() == ["False", "16"]


def test_everyday_work_compiles_nothing_where_code_is_shipped(tmp_path):
    """Also with another dtype and layout: what is not shipped would be compiled, which takes seconds."""
    if not all((code.shipped_folder(jit.SHIPPED_FOLDER) / "complete").exists() for code in (CODE, SCANNERS)):
        pytest.skip("no machine code of these sources: `make ready` compiles it")
    work = """
import contextlib, io, sys
import numpy as np, scipy.sparse
from rosenblatt import NaiveBayes, OnlineLearner, Perceptron, jit, separability
from rosenblatt.cli.app import app
from rosenblatt.data.words import Words, words_in
commands = ["fit sample:breast-cancer --model m", "fit sample:iris --auto", "predict m sample:breast-cancer",
    "prove sample:iris", "prove sample:breast-cancer", "stream sample:wine", "compare sample:iris --folds 2",
    f"prove {sys.argv[1]} --id loan --date opened --numeric income --numeric rate --decimal . --missing mean"]
for line in commands:
    with contextlib.redirect_stdout(io.StringIO()):
        assert app(line.split(), standalone_mode=False) in (None, 0, 1), line
    print(line, jit.compile_seconds())
X = np.random.default_rng(0).normal(size=(60, 5))
for matrix in (X, X.astype(np.float32), scipy.sparse.csr_matrix(X), scipy.sparse.csr_matrix(X.astype(np.float32))):
    for y in (X[:, 0] > 0, np.arange(60) % 4):
        Perceptron().fit(matrix, y).predict(matrix)
    print(type(matrix), matrix.dtype, jit.compile_seconds())
X.setflags(write=False)
separability(X, X[:, 0] > 0), Perceptron().fit(X, X[:, 0] > 0), NaiveBayes(binarize=0.0).fit(X, X[:, 0] > 0)
print("read-only rows", jit.compile_seconds())
Perceptron().fit(X, X[:, 0] > 0).predict(np.tile(X, (4000, 1)))
print("many rows to predict", jit.compile_seconds())
words_in(["one text of many words "] * 4000, Words(), ["subject:", "body:"])
print("a long text", jit.compile_seconds())
for learner in (OnlineLearner(), OnlineLearner("auto"), OnlineLearner(rule="arow")):
    for k in range(20):
        learner.predict_one({"a": 0.5 * k, "b": "c"})
        learner.learn_one({"a": 0.5 * k, "b": "c"}, k % 3)
    print(learner.hypothesis, "from single examples", jit.compile_seconds())
"""
    moved = f"import os; os.chdir({str(tmp_path)!r})\n" + work
    loans = Path(__file__).parents[1] / "examples" / "data" / "loans.csv"
    lines = run(moved, loans, XDG_CACHE_HOME=str(tmp_path)).splitlines()
    assert len(lines) == 18
    assert [line for line in lines if not line.endswith(" 0.0")] == []


def test_a_cache_that_cannot_be_made_is_no_obstacle(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert run(LEARN, XDG_CACHE_HOME=str(tmp_path / "file"), ROSENBLATT_SHIPPED_CODE="off") == ""


def test_with_an_unknown_numba_its_own_cache_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "_KNOWN_NUMBA", False)
    loop = jit.compiled(_some_loop)
    assert str(tmp_path) == numba.config.CACHE_DIR
    assert not jit.can_ship()
    assert loop(1.0) == 1.0
    assert code_in(tmp_path / "rosenblatt")


def _some_loop(x):
    return x


@pytest.mark.parametrize("exact", [exactly_compiled_part, exactly_compiled])
def test_an_exact_function_stays_exact_where_a_fast_one_calls_it_first(exact):
    """Numba hands its options down to functions that have none of their own."""

    def multiply_and_add(a, b, c):
        return a * b + c

    inner = exact(multiply_and_add)

    @numba.njit(fastmath=FASTMATH)
    def outer(a, b, c):
        return inner(a, b, c)

    outer(1.0, 2.0, 3.0)
    (code,) = inner.inspect_llvm().values()
    operations = [line for line in code.splitlines() if " = fmul" in line or " = fadd" in line]
    assert operations
    assert not any(flag in line for line in operations for flag in FASTMATH)
