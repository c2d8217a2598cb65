"""The command line: one file per command. Nothing heavy is imported before a command needs it."""


def main() -> None:
    """Run the command line; the entry point of ``rosenblatt``."""
    import gc
    import signal
    import sys

    from rosenblatt.cli.later import load_later

    gc.set_threshold(1_000_000, 20, 20)  # what is loaded stays: looking through it takes a tenth of a start
    load_later()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that no file is left half-written
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no error
    try:
        from rosenblatt.cli.app import app

        app(prog_name="rosenblatt")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # nor need anybody look through it at the end: a fifth of a short command
