"""Run every benchmark, or those named: ``python -m benchmarks [heart proofs ...] [--write FOLDER]``.

``python -m benchmarks heart linear_family kernel files streams engines service mail lab --against COMMIT`` compares
with another version instead; it exits with 1 where a row is slower. ``--rows PATTERN`` runs only the rows whose name
matches a regular expression, ``--turns N`` sets how often each version runs (7 or more), ``--time cpu`` compares
seconds of processors rather than of the clock.
"""

import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.measure import Ratios
from benchmarks.record import load, questions, write


def run(name: str) -> float:
    """Answer a question; return the seconds it took. What fails is told in its table, and the others go on."""
    started = time.perf_counter()
    try:
        import_module(f"benchmarks.{name}").main()
    except Exception as error:
        failed = Ratios(f"{name}: stopped by an error")
        failed.left_out("the rest of it", f"{type(error).__name__}: {error}")
        failed.show()
    return time.perf_counter() - started


def _options(arguments: list[str], *names: str) -> tuple[list[str], dict[str, str]]:
    """Return the arguments that belong to no option, and the value of every option.

    >>> _options(["heart", "--turns", "9"], "--turns")
    (['heart'], {'--turns': '9'})
    """
    words, options = iter(arguments), {}
    others = []
    for word in words:
        if word not in names:
            others.append(word)
            continue
        value = next(words, None)
        options[word] = sys.exit(f"{word} needs a value") if value is None else value
    return others, options


def main(arguments: list[str]) -> None:
    if "--help" in arguments:
        print(__doc__)
        return
    arguments, options = _options(arguments, "--write", "--against", "--rows", "--turns", "--time")
    folder = Path(options["--write"]) if "--write" in options else None
    if "--against" in options:
        from benchmarks.against import compare
        from benchmarks.turns import ROWS

        if unknown := set(arguments) - set(ROWS):
            sys.exit(f"no rows for {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
        if options.get("--time", "clock") not in ("clock", "cpu"):
            sys.exit("--time is clock or cpu")
        try:
            turns = int(options["--turns"]) if "--turns" in options else None
            slower = compare(
                arguments or list(ROWS),
                options["--against"],
                options.get("--rows", ""),
                turns,
                options.get("--time") == "cpu",
            )
        except ValueError as error:
            sys.exit(str(error))
        sys.exit(min(1, slower))
    if {"--rows", "--turns", "--time"} & set(options):
        sys.exit("--rows, --turns and --time need --against COMMIT")
    known = questions()
    unknown = set(arguments) - set(known)
    if unknown:
        sys.exit(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in arguments or known:
        print(f"--- {name}", flush=True)
        before, seconds = load(), run(name)
        print(f"--- {name}: {seconds:.0f} s", flush=True)
        if folder is not None:
            write(folder, name, seconds, before)  # after each: a long run that is stopped keeps what it has


if __name__ == "__main__":
    main(sys.argv[1:])
