"""The command line as a process of its own: what it imports, its pipes, its signals, its exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import run_well

MAIN = "import sys; from rosenblatt.cli import main; main()"
WHAT_WAS_IMPORTED = """
import json, sys
from rosenblatt.cli import main
try:
    main()
except SystemExit as end:
    print(json.dumps({"code": end.code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""
PEAK = """
import sys
from rosenblatt.cli import main
try:
    main()
finally:
    print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0], file=sys.stderr)
"""
KILLED_WHILE_WRITING = """
import os, signal, sys
import rosenblatt.cli.commands.predict as predict
from rosenblatt.cli import main
label_texts, number = predict.label_texts, getattr(signal, sys.argv.pop(1))
def struck(*arguments):
    os.kill(os.getpid(), number)
    return label_texts(*arguments)
predict.label_texts = struck
main()
"""

HELD_WHILE_COMPILING = """
import sys
from numba.core import event
from rosenblatt import jit
from rosenblatt.cli import main
class Hold(event.Listener):
    def on_start(self, event):
        sys.stdin.read()
    def on_end(self, event):
        pass
event.register("numba:compile", Hold())
main()
"""


def start(program, *arguments, **options):
    environment = {**os.environ, "COLUMNS": "80", **options.pop("env", {})}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **options)


def imported(*arguments):
    answer = start(WHAT_WAS_IMPORTED, *arguments)
    told = json.loads(answer.stderr.splitlines()[-1])
    assert told["code"] in (0, None), answer.stderr
    return set(told["modules"])


@pytest.fixture
def files(tmp_path):
    rows = [(1.5 * k % 7 - 3, 0.377 * k % 5, "in" if 1.5 * k % 7 > 3 else "out") for k in range(400)]
    (tmp_path / "a.csv").write_text("x,z,y\n" + "".join(f"{x},{z},{y}\n" for x, z, y in rows))
    (tmp_path / "a.svm").write_text("".join(f"{1 if y == 'in' else -1} 1:{x} 2:{z}\n" for x, z, y in rows))
    return tmp_path


def test_the_package_run_as_a_module_is_the_command(files):
    def told(program, *arguments):
        command = [sys.executable, *program, *map(str, arguments)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        return answer.returncode, answer.stdout, answer.stderr

    for arguments in (["--version"], ["predict"], ["info", files / "nowhere"]):
        assert told(["-m", "rosenblatt"], *arguments) == told(["-c", MAIN], *arguments)
    assert told(["-m", "rosenblatt"], "fit", "--help")[1].startswith("Usage: rosenblatt fit ")


def test_help_and_version_import_nothing_heavy():
    for arguments in (["--help"], ["fit", "--help"], ["--version"]):
        assert not imported(*arguments) & {"numpy", "numba", "scipy", "pyarrow", "rich", "sklearn", "pandas"}


@pytest.mark.parametrize(
    ("name", "not_needed"), [("a.csv", {"sklearn", "pandas"}), ("a.svm", {"sklearn", "pandas", "pyarrow"})]
)
def test_fit_imports_what_it_needs(files, name, not_needed):
    never = {"matplotlib", "flint", "pyarrow.dataset"}
    options = ["--passes", "3", "--eta", "0.5", "--hypothesis", "last", "--json"]
    assert not imported("fit", files / name, "-m", files / "m", *options) & (not_needed | never)
    assert "sklearn" not in imported("predict", files / "m", files / name, "-o", files / "labels.csv")


def test_a_pipe_gets_no_bar_and_no_colour(files):
    for _ in range(2):  # the first may compile, and say so
        answer = start(MAIN, "fit", files / "a.csv", env={"FORCE_COLOR": ""})
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert "\x1b" not in answer.stdout
    assert all(line == line.rstrip() for line in answer.stdout.splitlines())


@pytest.mark.parametrize("options", [[], ["--auto"]])
def test_a_fit_says_that_it_compiles_while_it_does(files, options):
    """The process stands still where it begins to compile, and has said so on a pipe."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(files), "ROSENBLATT_SHIPPED_CODE": "off"}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", HELD_WHILE_COMPILING, "fit", str(files / "a.csv"), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
    ) as process:
        line = process.stderr.readline()
        process.kill()
    assert line.startswith("compiling for this CPU, once")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_gets_a_bar_on_standard_error(files):
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", MAIN, "fit", str(files / "a.csv"), "--json"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    shown = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        while True:  # as it is drawn: a terminal that nobody reads holds 8 kB, and a slow fit draws more
            try:
                part = os.read(ours, 65536)
            except OSError:  # how a pseudo-terminal says that nobody writes to it any more
                break
            if not part:
                break
            shown += part
        answer = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    assert b"scoring" in shown
    assert json.loads(answer)["rows"] == 400


def test_bad_input_is_a_message_and_a_traceback_only_where_asked_for(files):
    (files / "bad.csv").write_text("x,y\n1,a\ninf,b\n")
    answer = start(MAIN, "fit", files / "bad.csv")
    assert answer.returncode == 65
    assert answer.stderr.startswith(f"{files / 'bad.csv'}:3:")
    assert len(answer.stderr.splitlines()) == 1
    assert "Traceback" in start(MAIN, "--debug", "fit", files / "bad.csv").stderr
    assert "Traceback" in start(MAIN, "fit", files / "bad.csv", env={"ROSENBLATT_DEBUG": "1"}).stderr


@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupted_command_leaves_what_was_there(files, signal, code):
    run_well(f"fit {files / 'a.csv'} -m {files / 'm'}")
    (files / "labels.csv").write_text("before")
    there = {path.name for path in files.iterdir()}
    source, output = files / "a.csv", files / "labels.csv"
    answer = start(KILLED_WHILE_WRITING, signal, "predict", files / "m", source, "-o", output)
    assert answer.returncode == code, answer.stderr
    assert "Traceback" not in answer.stderr
    assert output.read_text() == "before"
    assert {path.name for path in files.iterdir()} == there


def test_a_closed_pipe_is_no_error(files):
    run_well(f"fit {files / 'a.csv'} -m {files / 'm'}")
    long = files / "long.csv"
    long.write_text("x,z\n" + "1,2\n" * 100_000)
    command = [sys.executable, "-c", MAIN, "predict", str(files / "m"), str(long)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().strip() in (b"in", b"out")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_rows_may_come_from_standard_input(files):
    text = (files / "a.svm").read_text()
    answer = start(
        MAIN, "fit", "-", "--json", "-m", files / "m", input=text, env={"PYTHONWARNINGS": "always"}
    )
    assert json.loads(answer.stdout)["rows"] == 400
    assert "ResourceWarning" not in answer.stderr
    labels = start(MAIN, "predict", files / "m", "-", input=text).stdout
    assert set(labels.split()) == {"-1", "1"}
    assert labels.count("\n") == 400


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel does not tell the peak")
def test_memory_is_honoured_out_of_core(tmp_path):
    """A shuffle of these rows would hold them all, and copies of them, were it not told otherwise."""
    row = " ".join(f"{j}:0.{j}" for j in range(1, 400))
    with (tmp_path / "a.svm").open("w") as file:
        file.writelines(f"{k % 2} {row} {k % 7 + 400}:1\n" for k in range(9000))
    words = ["fit", tmp_path / "a.svm", "--out-of-core", "--memory", "300MB", "--passes", "2", "--no-cache"]
    start(MAIN, *words)  # compiled, which takes memory of its own
    answer = start(PEAK, *words)
    assert answer.returncode == 0, answer.stderr
    assert int(answer.stderr.split()[-1]) < 300 << 10
