"""What every test of the command line needs."""

import signal

import pytest


@pytest.fixture(autouse=True)
def _interruptible():
    """Let commands be interrupted: a run in the background of a shell ignores Ctrl-C, and so would they."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, before)
