"""How long a test waits before it calls a thing hung.

It says nothing about speed: a machine with much else to do, on which every loop is compiled for the first time, takes
minutes for what usually takes a moment.
"""

import time

SECONDS = 600
EVENT_MS = 1000 * SECONDS  # as Playwright counts


def wait_until(condition):
    """Ask again and again until a condition holds."""
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)
