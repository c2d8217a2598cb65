"""The command line: one file per command. Nothing heavy is imported before a command needs it."""


def main() -> None:
    """Run the command line; the entry point of ``rosenblatt``."""
    import signal
    import sys

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that no file is left half-written
    try:
        from rosenblatt.cli.app import app

        app(prog_name="rosenblatt")
    except KeyboardInterrupt:
        sys.exit(130)
