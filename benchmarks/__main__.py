"""Run every benchmark, or those named: ``python -m benchmarks [heart proofs ...] [--write FOLDER]``.

``python -m benchmarks heart linear_family kernel streams --against COMMIT`` compares with another version instead; it
exits with 1 where a row is slower.
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


def main(arguments: list[str]) -> None:
    folder = None
    if "--write" in arguments:
        at = arguments.index("--write")
        folder = Path(arguments[at + 1]) if at + 1 < len(arguments) else sys.exit("--write needs a folder")
        arguments = arguments[:at] + arguments[at + 2 :]
    if "--against" in arguments:
        from benchmarks.against import compare
        from benchmarks.turns import ROWS

        at = arguments.index("--against")
        commit = arguments[at + 1] if at + 1 < len(arguments) else sys.exit("--against needs a commit")
        named = arguments[:at] + arguments[at + 2 :]
        if unknown := set(named) - set(ROWS):
            sys.exit(f"no rows for {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
        sys.exit(min(1, compare(named or list(ROWS), commit)))
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
