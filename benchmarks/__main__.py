"""Run every benchmark, or those named: ``python -m benchmarks [heart proofs ...]``."""

import sys
from importlib import import_module
from pathlib import Path

SUPPORT = {"__init__", "__main__", "measure", "kernel_gpu"}


def main() -> None:
    known = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in SUPPORT)
    chosen = sys.argv[1:] or known
    unknown = set(chosen) - set(known)
    if unknown:
        sys.exit(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in chosen:
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
