"""Is this version slower than another? Rows of both run in turns: ``python -m benchmarks heart --against COMMIT``.

``--rows PATTERN`` runs only the rows whose name (``heart: fit, dense``) matches a regular expression. ``--turns N``
sets how often each version runs, which is seven times or more: an interval of 95% needs as many. ``--time cpu``
compares seconds of processors, summed over threads and commands, as a machine that others use asks for.

The other commit is checked out into a worktree beside the caches. It runs in this environment where its dependencies
allow the versions installed here, else in one that is made for it. A row is slower only where the whole 95% interval of
the median of its ratios lies beyond 5%.

Both versions run code that was compiled for this CPU. Shipped code would be there for this version alone, and it has
half the vector width of code compiled on a CPU with AVX-512.
"""

import math
import os
import random
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement
from rich.progress import track
from rich.table import Table

from benchmarks.measure import console, milliseconds
from benchmarks.turns import ROWS
from rosenblatt.jit import SKIP_VARIABLE

TURNS = 15  # of each version; an order statistic interval at 95% needs seven or more
FEW_TURNS = 7  # of rows that take seconds
BEYOND = 1.05
ROOT = Path(__file__).resolve().parents[1]


class Version:
    """A process that times rows of one version of the package."""

    def __init__(self, python: str, source: Path) -> None:
        path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        self._process = subprocess.Popen(
            [python, str(ROOT / "benchmarks" / "turns.py")],
            env=os.environ | {"PYTHONPATH": path, SKIP_VARIABLE: "off"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def time(self, row: str, processors: bool = False) -> float:
        """Return the seconds of one run of a row: on the clock, or of processors."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(row + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that ran {row!r} stopped: see above")
        return float(answer.split()[processors])

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def checked_out(commit: str) -> tuple[str, Path]:
    """Return the Python and the sources of another commit, from a worktree that is made once."""
    digest = _git("rev-parse", "--verify", f"{commit}^{{commit}}")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tree = cache / "rosenblatt" / "against" / digest[:12]
    if not (tree / "src").is_dir():
        _git("worktree", "prune")
        _git("worktree", "add", "--detach", str(tree), digest)
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if all(map(installed, project["dependencies"])):
        return sys.executable, tree / "src"
    python, finished = tree / ".venv" / "bin" / "python", tree / ".venv" / "finished"
    if not finished.exists():  # also where an installation was interrupted
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(tree / ".venv")], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--editable", f"{tree}[dev]"], check=True
        )
        finished.touch()
    return str(python), tree / "src"


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def installed(requirement: str) -> bool:
    """Whether this environment has a version that a requirement allows.

    >>> installed("numpy>=1.26"), installed("numpy<1"), installed("no-such-package")
    (True, False, False)
    """
    wanted = Requirement(requirement)
    if wanted.marker is not None and not wanted.marker.evaluate():
        return True
    try:
        return wanted.specifier.contains(version(wanted.name), prereleases=True)
    except PackageNotFoundError:
        return False


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """Return the median and an interval that holds the true one with 95%: order statistics, no distribution assumed.

    >>> median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    (4.0, 1.0, 7.0)
    """
    values, n = sorted(values), len(values)
    below = 0
    while below + 1 < n / 2 and 2 * sum(math.comb(n, k) for k in range(below + 2)) / 2**n <= 0.05:
        below += 1
    median = (values[(n - 1) // 2] + values[n // 2]) / 2
    return median, values[below], values[n - 1 - below]


def rows_matching(questions: list[str], pattern: str = "") -> list[tuple[str, str]]:
    """Return the question and the name of every row that a regular expression matches.

    >>> rows_matching(["heart", "kernel"], "RBF, [av]")
    [('kernel', 'predict, RBF, averaged'), ('kernel', 'predict, RBF, voted')]
    """
    rows = [(question, row) for question in questions for row in ROWS[question]]
    return [(question, row) for question, row in rows if re.search(pattern, f"{question}: {row}")]


def compare(
    questions: list[str], commit: str, pattern: str = "", turns: int | None = None, processors: bool = False
) -> int:
    """Time rows of these questions in both versions, print the table, and return how many are slower."""
    if turns is not None and turns < FEW_TURNS:
        raise ValueError(f"--turns must be {FEW_TURNS} or more, got {turns}: fewer give no interval of 95%")
    rows = rows_matching(questions, pattern)
    if not rows:
        raise ValueError(f"no row of {', '.join(questions)} matches {pattern!r}")
    python, source = checked_out(commit)
    slower, table = (
        0,
        Table(
            title=f"this version against {commit}{', seconds of processors' if processors else ''}",
            title_justify="left",
        ),
    )
    for column in ("row", "this", commit, "theirs / this", "95% interval", ""):
        table.add_column(column, justify="left" if column == "row" else "right")
    order = random.Random(0)
    for question, row in track(rows, "rows", console=console, transient=True):
        versions = [Version(sys.executable, ROOT / "src"), Version(python, source)]
        n_turns = turns or (FEW_TURNS if "command" in row else TURNS)
        times: list[list[float]] = [[], []]
        try:
            for _ in range(n_turns):
                for k in order.sample((0, 1), 2):
                    times[k].append(versions[k].time(row, processors))
        finally:
            for version in versions:
                version.close()
        ratios = [theirs / ours for ours, theirs in zip(*times, strict=True)]
        median, low, high = median_interval(ratios)
        is_slower = high < 1 / BEYOND
        slower += is_slower
        verdict = "slower" if is_slower else "faster" if low > BEYOND else ""
        ours, theirs = (milliseconds(median_interval(each)[0]) for each in times)
        table.add_row(
            f"{question}: {row}", ours, theirs, f"{median:.3f}", f"{low:.3f} to {high:.3f}", verdict
        )
    console.print(table)
    console.print(f"{turns_note(turns)} load {os.getloadavg()[0]:.1f}; {slower} of {len(rows)} rows slower")
    return slower


def turns_note(turns: int | None) -> str:
    """Say how often each version ran."""
    if turns is not None:
        return f"{turns} turns of each version in random order;"
    return f"{TURNS} turns of each version in random order ({FEW_TURNS} for whole commands);"
