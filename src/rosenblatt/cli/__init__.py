"""The command line: one file per command. Nothing heavy is imported before a command needs it."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect cyclic garbage rarely, and not at exit: for a process that runs one command and ends.

    Importing numba and numpy creates a million objects that live until the end. Collections while they are created take
    a third of the CPU time of a short command, and a last one at exit a fifth. Whatever a command allocates besides is
    freed by reference counts.
    """
    import gc

    gc.set_threshold(1_000_000, 20, 20)
    try:
        yield
    finally:
        gc.freeze()


def main() -> None:
    """Run the command line; the entry point of ``rosenblatt``."""
    import signal
    import sys

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that no file is left half-written
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no error
    with rare_collections():
        try:
            from rosenblatt.cli.app import app

            app(prog_name="rosenblatt")
        except KeyboardInterrupt:
            sys.exit(130)
