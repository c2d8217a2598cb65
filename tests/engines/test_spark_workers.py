"""What is set right in Spark's workers: nothing is lost, nothing is left open, and garbage is still collected."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rosenblatt.engines.spark_workers import acknowledge

SET_ASIDE = """
import gc, weakref
from rosenblatt.engines.spark_workers import set_aside

class Ring:
    def __init__(self): self.own = self

before = weakref.ref(Ring())
set_aside()
assert before() is None, "circles are collected before the rest is set aside"
frozen = gc.get_freeze_count()
assert frozen > 1000
after = weakref.ref(Ring())
set_aside()
assert gc.get_freeze_count() == frozen, "nothing was loaded since"
assert after() is not None
gc.collect()
assert after() is None, "what comes later is collected as ever"
import colorsys
set_aside()
assert gc.get_freeze_count() > frozen
"""


def test_what_is_loaded_is_set_aside_once_and_garbage_is_still_collected():
    subprocess.run([sys.executable, "-c", SET_ASIDE], check=True)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts what is open as Linux tells it")
def test_connections_say_what_they_said_and_nothing_stays_open():
    listening = socket.create_server(("127.0.0.1", 0))
    here = socket.create_connection(listening.getsockname())
    there, _ = listening.accept()
    plain = socket.socketpair()
    with listening, here, there, plain[0], plain[1]:
        before = sorted(Path("/proc/self/fd").iterdir())
        acknowledge()
        assert sorted(Path("/proc/self/fd").iterdir()) == before
        for one, other in ((here, there), (there, here), plain):
            one.sendall(b"rows")
            assert other.recv(4) == b"rows"
