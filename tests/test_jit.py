"""Machine code is kept where it cannot go stale, and never where it may not be written."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from rosenblatt import jit
from rosenblatt.jit import FASTMATH, CodeCache, exactly_compiled, exactly_compiled_part

LEARN = "from rosenblatt.learner import Learner; Learner().learn([[1.0]], [1])"


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_folder_is_named_after_the_sources(monkeypatch, tmp_path):
    before = Path(CodeCache("compiled", "rules").folder(str(tmp_path))).name
    assert before == Path(CodeCache("compiled", "rules").folder(str(tmp_path))).name
    assert before != Path(CodeCache("compiled", "rules", "core").folder(str(tmp_path))).name
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"another source")
    assert before != Path(CodeCache("compiled", "rules").folder(str(tmp_path))).name


def test_decorating_leaves_numbas_own_setting_alone():
    before = numba.config.CACHE_DIR
    jit.compiled(_some_loop)
    assert before == numba.config.CACHE_DIR


def _some_loop(x):
    return x


def test_a_second_process_finds_the_code_of_the_first(tmp_path):
    run(LEARN, NUMBA_CACHE_DIR=str(tmp_path))
    first = set(tmp_path.rglob("*.nbc"))
    assert any("learn" in path.name for path in first)
    run(LEARN, NUMBA_CACHE_DIR=str(tmp_path))
    assert set(tmp_path.rglob("*.nbc")) == first


def test_a_cache_that_cannot_be_made_is_no_obstacle(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert run(LEARN, XDG_CACHE_HOME=str(tmp_path / "file")) == ""


@pytest.mark.parametrize("exact", [exactly_compiled_part, exactly_compiled])
def test_an_exact_function_stays_exact_where_a_fast_one_calls_it_first(exact, monkeypatch, tmp_path):
    """Numba hands its options down to functions that have none of their own."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

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
