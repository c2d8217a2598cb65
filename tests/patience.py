"""How long a test waits before it calls a thing hung.

It says nothing about speed: a machine with much else to do, on which every loop is compiled for the first time, takes
minutes for what usually takes a moment.
"""

SECONDS = 600
EVENT_MS = 1000 * SECONDS  # as Playwright counts
