"""The long run: ``python -m tests.fuzz [--inputs N] [--first N] [--seconds S] [format ...]``.

Every mutant has a number and is always the same, so a finding is told by its number. The process stops at the first
finding, and where an input takes longer than ten seconds; the input at hand is kept in a file, for crashes. Where
atheris can be imported it goes on from our mutants with a tenth as many inputs, guided by what the Python code does.
"""

import argparse
import faulthandler
import importlib.util
import inspect
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import plain
from tests.fuzz.checks import CHECKS, guarded
from tests.fuzz.mutants import SEEDS, mutant

SLOWEST = 10  # seconds that an input may take; loops compiled the first time may take longer


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz")
    options.add_argument(
        "formats", nargs="*", metavar="format", help=f"of {', '.join(CHECKS)}; all by default"
    )
    options.add_argument("--inputs", type=int, default=1_000_000, help="mutants of every format (1000000)")
    options.add_argument("--first", type=int, default=0, help="number of the first mutant (0)")
    options.add_argument("--seconds", type=float, default=float("inf"), help="stop each format after so long")
    options.add_argument("--atheris", action="store_true", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if unknown := set(asked.formats) - set(CHECKS):
        options.error(f"no such format: {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    if asked.atheris:
        return guided(asked.formats[0], asked.inputs)
    faulthandler.enable()
    with guarded():
        for format in asked.formats or CHECKS:
            if not unguided(format, asked):
                return 1
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: no guided run (pip install atheris)")
        return 0
    runs = max(asked.inputs // 10, 1)
    commands = [
        [sys.executable, "-m", "tests.fuzz", "--atheris", "--inputs", str(runs), format]
        for format in asked.formats or CHECKS
    ]
    return max(subprocess.run(command, check=False).returncode for command in commands)


def unguided(format, asked) -> bool:
    """Check the mutants of a format; return whether all agree with the plain reader."""
    for text in SEEDS[format]:
        CHECKS[format](text)  # compiled
    start = told = time.monotonic()
    done = 0
    with tempfile.NamedTemporaryFile(prefix=f"fuzz-{format}-", delete=False) as at_hand:
        for number in range(asked.first, asked.first + asked.inputs):
            text = mutant(format, number)
            at_hand.seek(0)
            at_hand.write(text)
            at_hand.truncate()
            at_hand.flush()
            if done % 100 == 0:
                faulthandler.dump_traceback_later(100 * SLOWEST / 10, exit=True)
            try:
                CHECKS[format](text)
            except Exception as error:
                print(f"{format}: mutant {number}: {error!r}\n{text!r}\nkept in {at_hand.name}")
                return False
            done += 1
            now = time.monotonic()
            if now - told > 30:
                told = now
                print(
                    f"{format}: {done:,} of {asked.inputs:,}, {done / (now - start):,.0f} a second",
                    flush=True,
                )
            if now - start > asked.seconds:
                break
    faulthandler.cancel_dump_traceback_later()
    Path(at_hand.name).unlink()
    print(
        f"{format}: {done:,} mutants, all as a plain reader has it ({time.monotonic() - start:,.0f} s)",
        flush=True,
    )
    return True


def guided(format, runs) -> int:
    """Let atheris look for inputs; it ends the process itself at a finding."""
    import atheris

    with tempfile.TemporaryDirectory() as corpus, guarded():
        for number, text in enumerate([*SEEDS[format], *(mutant(format, n) for n in range(200))]):
            Path(corpus, str(number)).write_bytes(text)

        arguments = ["fuzz", f"-runs={runs}", f"-timeout={SLOWEST}", "-max_len=2000", "-verbosity=0", corpus]
        for name, function in vars(
            plain
        ).items():  # its branches are the grammar: what reaches new ones is kept
            if inspect.isfunction(function):
                setattr(plain, name, atheris.instrument_func(function))
        atheris.Setup(arguments, CHECKS[format])
        print(f"{format}: {runs:,} inputs of atheris", flush=True)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
