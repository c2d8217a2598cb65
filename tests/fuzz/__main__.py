"""The long run: ``python -m tests.fuzz [--inputs N] [--first N] [--seconds S] [--jobs N] [kind ...]``.

Every mutant has a number and is always the same, so a finding is reported by its number. A kind stops at its first
finding, and where an input takes longer than ten seconds; a text at hand is kept in a file, for crashes. Kinds run in
processes of their own, as many at a time as there are cores. Where atheris can be imported it goes on from the mutants
of the text formats with a tenth as many inputs, guided by what the Python code does.
"""

import argparse
import faulthandler
import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz import plain
from tests.fuzz.checks import CHECKS, guarded
from tests.fuzz.mutants import SEEDS, mutant

SLOWEST = 10  # seconds that a text may take; loops compiled the first time may take longer
MODULES = {  # kinds that are no text formats: each has FULL, prepare() and check(number)
    "proofs": "tests.fuzz.proofs",
    "models": "tests.fuzz.model_files",
    "arrow": "tests.fuzz.arrow_files",
    "mail": "tests.fuzz.mail_messages",
}


class Text:
    """Mutants of a text format, compared with a plain reader."""

    FULL = 1_000_000

    def __init__(self, format):
        self.format = format
        self.at_hand = tempfile.NamedTemporaryFile(prefix=f"fuzz-{format}-", delete=False)  # noqa: SIM115 (kept)

    def prepare(self):
        for text in SEEDS[self.format]:
            CHECKS[self.format](text)  # compiled

    def check(self, number):
        text = mutant(self.format, number)
        self.at_hand.seek(0)
        self.at_hand.write(text)
        self.at_hand.truncate()
        self.at_hand.flush()
        if number % 100 == 0:
            faulthandler.dump_traceback_later(100 * SLOWEST / 10, exit=True)
        try:
            CHECKS[self.format](text)
        except Exception as error:
            raise AssertionError(f"{text!r}, kept in {self.at_hand.name}") from error

    def close(self):
        faulthandler.cancel_dump_traceback_later()
        self.at_hand.close()
        Path(self.at_hand.name).unlink()


def main() -> int:
    kinds = [*CHECKS, *MODULES]
    options = argparse.ArgumentParser(prog="python -m tests.fuzz")
    options.add_argument("kinds", nargs="*", metavar="kind", help=f"of {', '.join(kinds)}; all by default")
    options.add_argument("--inputs", type=int, help="mutants of every kind (each kind's own full number)")
    options.add_argument("--first", type=int, default=0, help="number of the first mutant (0)")
    options.add_argument("--seconds", type=float, default=float("inf"), help="stop each kind after so long")
    options.add_argument("--jobs", type=int, default=os.cpu_count(), help="kinds at a time (one per core)")
    options.add_argument("--atheris", action="store_true", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if unknown := set(asked.kinds) - set(kinds):
        options.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(kinds)}")
    if asked.atheris:
        return guided(asked.kinds[0], asked.inputs)
    chosen = asked.kinds or kinds
    if len(chosen) == 1:
        faulthandler.enable()
        return 0 if unguided(chosen[0], asked) else 1
    shared = ["--first", str(asked.first), "--seconds", str(asked.seconds)]
    shared += [] if asked.inputs is None else ["--inputs", str(asked.inputs)]
    commands = [[sys.executable, "-m", "tests.fuzz", *shared, kind] for kind in chosen]
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: no guided run (pip install atheris)")
    else:
        runs = str(max((asked.inputs or Text.FULL) // 10, 1))
        texts = [kind for kind in chosen if kind in CHECKS]
        commands += [
            [sys.executable, "-m", "tests.fuzz", "--atheris", "--inputs", runs, kind] for kind in texts
        ]
    with ThreadPoolExecutor(max(1, asked.jobs)) as pool:
        return max(pool.map(lambda command: subprocess.run(command, check=False).returncode, commands))


def unguided(kind, asked) -> bool:
    """Check the mutants of a kind; return whether there was no finding."""
    with guarded():
        own = Text(kind) if kind in CHECKS else importlib.import_module(MODULES[kind])
        own.prepare()
        inputs = asked.inputs or own.FULL
        start = reported = time.monotonic()
        done = 0
        for number in range(asked.first, asked.first + inputs):
            try:
                own.check(number)
            except Exception as error:
                print(f"{kind}: mutant {number}: {error!r}", flush=True)
                return False
            done += 1
            now = time.monotonic()
            if now - reported > 30:
                reported = now
                print(f"{kind}: {done:,} of {inputs:,}, {done / (now - start):,.0f} a second", flush=True)
            if now - start > asked.seconds:
                break
        if isinstance(own, Text):
            own.close()
    print(f"{kind}: {done:,} mutants, no finding ({time.monotonic() - start:,.0f} s)", flush=True)
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
