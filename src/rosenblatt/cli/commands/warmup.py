"""``rosenblatt warmup``: everyday work, done once so that its machine code is compiled and stored.

What is compiled is recorded, not listed: commands run on small files, and estimators are fitted on small matrices, as
users do. ``rosenblatt warmup`` does that for exactly this CPU, into the user's cache; a build of the package does it
for the level of CPUs that it ships code for, into a folder of the package (``python -m
rosenblatt.cli.commands.warmup FOLDER``).
"""

import contextlib
import hashlib
import io
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli.output import counted, note

Task = tuple[str, ...]  # the name of a function below, and its arguments

ROWS = 24
COMMANDS = (
    # how tables, sparse files and text are read and learned from
    "fit {table} --model {folder}/table.safetensors --report {folder}/report.html",
    "fit {table} --auto",
    "fit {table} --certify 0.9",
    "fit {table} --rule arow --folds 3 --json",
    "fit {three_classes} --model {folder}/three.safetensors",
    "fit {three_classes} --auto",
    "fit {numbers} --out-of-core --no-cache",
    "fit {numbers} --task regression --target height",
    "fit {libsvm} --model {folder}/libsvm.safetensors",
    "fit {libsvm} --auto",
    "fit {libsvm} --engine local",
    "fit {libsvm} --out-of-core --no-cache",
    "fit {vw} --model {folder}/vw.safetensors",
    "fit {vw} --out-of-core --no-cache",
    "fit {json_lines} --target label --model {folder}/json.safetensors",
    "fit {text} --model {folder}/text.safetensors",
    "fit {mail} --target X-Label",
    "fit sample:digits --passes 2",
    *(
        f"fit {{table}} --learner {each}"
        for each in (
            "centroid",
            "naive-bayes --param binarize=0.5",
            "multinomial-bayes --no-scale",
            "logistic",
        )
    ),
    "fit {numbers} --learner naive-bayes --param binarize=0.5",
    "fit {numbers} --learner kernel",
    "fit {numbers} --learner kernel --kernel rbf",
    "fit {numbers} --map quadratic",
    "predict {folder}/table.safetensors {table} --proba",
    "predict {folder}/three.safetensors {three_classes} --scores",
    "predict {folder}/libsvm.safetensors {libsvm}",
    "predict {folder}/json.safetensors {json_lines}",
    "evaluate {folder}/table.safetensors {table}",
    "evaluate {folder}/libsvm.safetensors {libsvm}",
    "explain {folder}/table.safetensors {table} --row 1",
    "info {table}",
    "compare {numbers}",
    "compare {three_classes} --prove --report {folder}/report.html",
    *(
        f"prove {{{each}}} -o {{folder}}/{each}.json"
        for each in ("table", "numbers", "noisy", "three_classes", "libsvm")
    ),
    "prove {pure}",
    "prove sample:breast-cancer",
    "prove sample:iris",
    "prove sample:xor",
    "prove sample:separable",
    "verify {folder}/numbers.json {numbers}",
    "verify {folder}/noisy.json {noisy}",
    "verify {folder}/three_classes.json {three_classes}",
    "verify {folder}/libsvm.json {libsvm}",
    "solve {constraints}",
    "stream {table}",
    "stream {numbers} --rule rosenblatt",
    "stream {three_classes}",
    "stream {json_lines} --target label --model {folder}/stream.safetensors",
    "stream sample:wine",
    "stream sample:breast-cancer",
    "stream {libsvm}",
    "stream {vw}",
    "stream {mail} --target X-Label",
    "convert {table} {folder}/table.arrow",
    "convert {libsvm} {folder}/libsvm.arrow",
)
STREAMED = ("rosenblatt", "passive-aggressive", "arow", "logistic")  # rules that learn from single examples
COMPLETE = "complete"  # the file that lists the tasks whose code is in a folder


def warmup(
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", metavar="N", min=0, help="Number of processes that compile; 0 means one for every CPU."
        ),
    ] = 0,
) -> None:
    """Compile all loops for this CPU in advance.

    You rarely need this: the package contains machine code for common work on CPUs of the level x86-64-v3. Code for
    exactly this CPU gives the same results to the last bit, and passes over data may be up to a tenth faster. If the
    package was installed without machine code, warmup compiles what later commands would wait for. The code is stored
    in ~/.cache/rosenblatt, or below XDG_CACHE_HOME.

    \b
    Examples:
      rosenblatt warmup
      rosenblatt warmup --jobs 1
      rosenblatt warmup --jobs 4
    """
    folders, failures = compile_natively(jobs)
    for failure in failures:
        note(failure)
    for folder in folders:
        files = [path.stat().st_size for path in folder.glob("*.nbc")]
        print(f"{folder}: {counted(len(files), 'loop')}, {sum(files) / 1e6:.1f} MB")
    if failures:
        raise typer.Exit(1)


def tasks() -> list[Task]:
    """Return what is to be done, the longest first.

    >>> len({each for each in tasks() if each[0] == "learn"}) > 60
    True
    """
    from rosenblatt import rules

    matrices = [(dtype, layout) for dtype in ("float64", "float32") for layout in ("dense", "csr")]
    return [
        ("commands", "table"),
        ("commands", "prove"),
        ("commands", "sparse"),
        ("commands", "others"),
        *(("estimators", *matrix) for matrix in matrices),
        *([("pages",)] if all(find_spec(name) for name in ("nicegui", "msgspec")) else []),
        *(("learn", name, *matrix) for name in rules.BY_NAME for matrix in matrices),
    ]


def commands(part: str) -> None:
    """Run commands on small files in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, working_in(folder):
        names = {"folder": folder, **write_files(Path(folder))}
        lines = [line for line in COMMANDS if _part_of(line) == part]
        failed = [line for line in lines if not run_command(line.format_map(names).split())]
    if failed:
        raise RuntimeError(f"these commands failed: {'; '.join(failed)}")


def _part_of(line: str) -> str:
    """Return the group of a command: all that read what one of them writes are in one."""
    if line.startswith(("prove", "verify", "solve", "compare")):
        return "prove"
    if any(word in line for word in ("{libsvm}", "{vw}", "{json_lines}", "{text}", "{mail}")):
        return "sparse"
    return "table" if "{table}" in line or "{three_classes}" in line else "others"


@contextlib.contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Change to a folder, and back."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_command(arguments: list[str]) -> bool:
    """Run a command in this process; return whether it did what was asked."""
    from rosenblatt.cli.app import app

    return app(arguments, prog_name="rosenblatt", standalone_mode=False) in (
        None,
        0,
        1,
    )  # 1: the answer is no


def write_files(folder: Path) -> dict[str, str]:
    """Write a small file of every common kind; return their paths by name."""
    people = [
        (
            20 + 7 * k % 50,
            1000.5 + 37 * k,
            ("red", "green", "blue")[k % 3],
            "yes" if k % 5 else "no",
            f"{k % 28 + 1:02}",
        )
        for k in range(ROWS)
    ]
    sides = [("no", "yes")[k * k % 7 > 2] for k in range(ROWS)]
    points = [(0.5 * (k % 6) - 1.2, 0.25 * (k // 6), (k * 5 % 11) / 4) for k in range(ROWS)]
    files = {
        "table.csv": ["age,income,colour,member,day,bought"]
        + [f"{a},{b},{c},{d},2024-03-{e},{y}" for (a, b, c, d, e), y in zip(people, sides, strict=True)],
        "three_classes.csv": ["width,height,depth,kind"]
        + [f"{a},{b},{c},{'abc'[k % 3]}" for k, (a, b, c) in enumerate(points)],
        "numbers.csv": ["width,height,depth,side"] + [f"{a},{b},{c},{int(a + b > 0)}" for a, b, c in points],
        "noisy.csv": ["width,height,side"] + [f"{a},{b},{k % 2}" for k, (a, b, _) in enumerate(points)],
        "constraints.csv": ["a,b,c"] + [f"{1 + k % 3},{k % 5},{k % 2}" for k in range(ROWS)],
        "libsvm.svm": [f"{(-1, 1)[k % 3 > 0]} 1:{k % 4} {2 + k % 5}:0.5 {9 + k}:1" for k in range(ROWS)],
        "pure.svm": [  # column 1 alone separates the classes, by too thin a margin for the perceptron
            f"{side} 1:{side * 0.5**k} 2:{k * 7 % 11 - 5}" for k, side in enumerate([-1, 1] * (ROWS // 2))
        ],
        "vw.vw": [f"{(-1, 1)[k % 3 > 0]} |words free:{k % 4} w{k % 5} x{k} |other size:0.5 :2" for k in range(ROWS)],
        "json_lines.jsonl": [f'{{"label": "{sides[k]}", "n": {k}, "colour": "c{k % 3}"}}' for k in range(ROWS)],
        "text.csv": ["subject,label"]
        + [f"\"a longer text with words such as w{k % 5} and w{k}, written out\",{sides[k]}" for k in range(ROWS)],
        "mail.mbox": [
            f"From a@example.org Thu Jan  1 00:00:00 2026\nSubject: w{k % 5} and w{k}\nX-Label: {sides[k]}\n\n"
            + f"words such as w{k}, over and over\n" * 60
            for k in range(ROWS)
        ],
    }  # fmt: skip
    paths = {}
    for name, lines in files.items():
        path = folder / name
        path.write_text("\n".join(lines) + "\n")
        paths[path.stem] = str(path)
    return paths


def matrix(dtype: str, layout: str) -> tuple[Any, Any, Any]:
    """Return a small matrix, two classes and three."""
    import numpy as np
    import scipy.sparse

    draws = np.random.default_rng(0)
    X = draws.normal(size=(ROWS, 6)).astype(dtype)
    three = np.arange(ROWS) % 3
    return scipy.sparse.csr_matrix(X) if layout == "csr" else X, (X[:, 0] > 0).astype(int), three


def learn(rule: str, dtype: str, layout: str) -> None:
    """Train by one rule: two classes and three, in one batch and in several, every hypothesis; and numbers."""
    from rosenblatt import Perceptron, PerceptronRegressor, rules

    X, two, three = matrix(dtype, layout)
    if rule == "widrow-hoff":
        PerceptronRegressor(max_iter=2).fit(X, two.astype(float)).predict(X)
    for y in (two, three):
        learner = Perceptron(rule=rules.BY_NAME[rule](), max_iter=2).fit(X, y)
        for hypothesis in ("last", "averaged", "voted", "pocket"):
            with contextlib.suppress(ValueError):  # some rules have no votes
                learner.use(hypothesis).predict(X)
        learner.partial_fit(X, y)


def stream(learner: Any) -> None:
    """Let a learner from single examples predict and learn."""
    for k in range(ROWS):
        example = {"a": 0.5 * k, "b": float(k % 3)}
        learner.predict_one(example)
        learner.learn_one(example, "abc"[k % 3])
        learner.learn_many([example], ["a"])


def estimators(dtype: str, layout: str) -> None:
    """Fit every other estimator, weights of examples, and decide separability."""
    import numpy as np
    from scipy.sparse import vstack

    import rosenblatt as own
    from rosenblatt.learner.scoring import MIN_NUMBERS_FOR_LOOP
    from rosenblatt.proofs.signs import ExactVector, exact_signs

    X, two, three = matrix(dtype, layout)
    for y in (two, three):
        own.Perceptron(multi_class="ovr").fit(X, y, sample_weight=np.arange(1.0, ROWS + 1)).decision_function(
            X
        )
        for each in (own.ClosestCentroid(), own.LogisticRegression(max_iter=3)):
            each.fit(X, y).predict(X)
        own.KernelPerceptron(max_iter=2).fit(X, y).predict(X)
        own.MaxMargin(C=1.0).fit(X, y).predict(X)
        own.separability(X, y).verify(X, y)
        own.Perceptron(max_iter=3).fit(X, y).explain(X[:1])
        many = [X] * (MIN_NUMBERS_FOR_LOOP // X.size + 1)
        own.Perceptron(max_iter=3).fit(X, y).predict(vstack(many) if layout == "csr" else np.vstack(many))
    own.NaiveBayes(binarize=0.0).fit(X, three).predict(X)
    own.MaxMargin().fit(X, two).predict(X)
    own.separability(X, np.arange(ROWS) % 2).verify(X, np.arange(ROWS) % 2)
    own.hinge_bound(X, two)
    exact_signs(
        X[:1].astype(float), ExactVector.of(np.zeros(X.shape[1]), bias=False)
    )  # floats do not decide it
    if (dtype, layout) == ("float64", "dense"):
        for learner in (own.OnlineLearner("auto"), *(own.OnlineLearner(rule=each) for each in STREAMED)):
            stream(learner)


def pages() -> None:
    """Prepare the lab and the service; they need the extra ``[service]``."""
    from rosenblatt.lab.app import warm_up
    from rosenblatt.service.warmup import rehearse

    warm_up()
    rehearse()


def run_task(task: Task) -> str:
    """Do one task, in a worker; return what went wrong, or nothing. What an interrupted task compiled is stored."""
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    work: Callable[..., None] = globals()[task[0]]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            work(*task[1:])
    except Exception as error:
        return f"{' '.join(task)}: {type(error).__name__}: {error}"
    return ""


def compile_all(todo: list[Task], workers: int, report: Callable[[int, int, float], None]) -> dict[Task, str]:
    """Do tasks in this many processes; return what went wrong, by task.

    ``report`` is called with tasks done, their number and the seconds so far.
    """
    started, wrong = time.perf_counter(), {}
    report(0, len(todo), 0.0)
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_end_with_parent) as pool:
        try:
            running = {pool.submit(run_task, task): task for task in todo}
            for done, finished in enumerate(as_completed(running), start=1):
                error = finished.exception()  # of the worker itself, as when memory ran out
                if message := str(error) if error else finished.result():
                    wrong[running[finished]] = message
                report(done, len(todo), time.perf_counter() - started)
        except BaseException:  # interrupted: what is under way would take minutes
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():
                worker.terminate()
            raise
    return wrong


def _end_with_parent() -> None:
    """In a worker: exit when the process that started it has ended, even by SIGKILL; leave Ctrl-C to that process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def progress(target: str) -> Callable[[int, int, float], None]:
    """Return a function that shows progress on one line of a terminal, or on a few lines elsewhere."""
    terminal = sys.stderr.isatty()

    def report(done: int, count: int, seconds: float) -> None:
        if terminal or done in (0, count):
            line = f"compiling for {target}: {done} of {count}, {seconds:.0f} s"
            print(
                f"\r{line}" if terminal else line,
                end="" if terminal and done < count else "\n",
                file=sys.stderr,
            )
            sys.stderr.flush()

    return report


def processors() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compile_natively(workers: int) -> tuple[list[Path], list[str]]:
    """Compile for exactly this CPU into the user's cache; return its folders, and what went wrong."""
    from llvmlite import binding

    from rosenblatt.data.scanners.compiled import CODE as SCANNERS
    from rosenblatt.jit import CODE, SKIP_VARIABLE

    os.environ[SKIP_VARIABLE] = "off"  # in the workers: shipped code would be loaded instead
    wrong = compile_all(tasks(), workers or processors(), progress(binding.get_host_cpu_name()))
    return [code.folder() for code in (CODE, SCANNERS)], list(wrong.values())


def build(root: Path) -> None:
    """Compile for the shipped level below a folder, as far as it has not the code of exactly these sources.

    The file ``complete`` lists the tasks that were done, with a digest of this module: installing an extra adds some,
    and an edited task is done again. Code of other versions of the sources is removed. Where no code can be shipped,
    nothing is done.
    """
    from rosenblatt.data.scanners.compiled import CODE as SCANNERS
    from rosenblatt.jit import BUILD_VARIABLE, CODE, SHIPPED_LEVEL, can_ship, level_environment

    if not can_ship():
        return
    folders = [code.shipped_folder(root) for code in (CODE, SCANNERS)]
    marks = [folder / COMPLETE for folder in folders]
    done = set.intersection(*(set(mark.read_text().splitlines() if mark.exists() else ()) for mark in marks))
    work = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]  # what tasks do
    lines = {task: " ".join((*task, work)) for task in tasks()}
    todo = [task for task, line in lines.items() if line not in done]
    if not todo:
        return
    for stale in {*folders[0].parent.glob("*-*")} - {*folders}:
        shutil.rmtree(stale)
    os.environ.update(level_environment(), **{BUILD_VARIABLE: str(root)})  # for the workers
    wrong = compile_all(todo, processors(), progress(SHIPPED_LEVEL))
    print(*wrong.values(), sep="\n", end="\n" if wrong else "", file=sys.stderr)
    for mark in marks:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text("".join(f"{line}\n" for task, line in lines.items() if task not in wrong))


if __name__ == "__main__":
    from rosenblatt.jit import SHIPPED_FOLDER

    build(Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED_FOLDER)
