"""Run every benchmark, or those named: ``python -m benchmarks [heart proofs ...] [--write FOLDER]``."""

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.record import write

SUPPORT = {"__init__", "__main__", "measure", "record", "kernel_gpu"}


def main(arguments: list[str]) -> None:
    folder = None
    if "--write" in arguments:
        at = arguments.index("--write")
        folder = Path(arguments[at + 1]) if at + 1 < len(arguments) else sys.exit("--write needs a folder")
        arguments = arguments[:at] + arguments[at + 2 :]
    known = sorted(
        path.stem
        for path in Path(__file__).parent.glob("*.py")
        if path.stem not in SUPPORT and "\ndef main(" in path.read_text(encoding="utf-8")
    )
    unknown = set(arguments) - set(known)
    if unknown:
        sys.exit(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in arguments or known:
        import_module(f"benchmarks.{name}").main()
        if folder is not None:
            write(folder, name)  # after each: a long run that is stopped keeps what it has


if __name__ == "__main__":
    main(sys.argv[1:])
