"""What makes Spark's Python workers slow between tasks, set right from within a task."""

import contextlib
import gc
import os
import socket
import stat
import sys

MOST_FILES = 64  # that are looked at: a worker has its socket among the first ones
_seen = [0]  # modules, when what was there was last set aside


def set_aside() -> None:
    """Take what this process has loaded out of what the garbage collector looks at.

    Spark collects garbage in its workers after every task, and a full collection walks over all that imports have made:
    with numba, pandas and scipy 50 ms of a core for a task that does nothing, in the way of the next one. What is set
    aside is still let go of when nobody refers to it; only circles among it would stay, and they are collected first.
    """
    if len(sys.modules) > _seen[0]:
        gc.collect()
        gc.freeze()
        _seen[0] = len(sys.modules)


def acknowledge() -> None:
    """Acknowledge what Java has sent, at once.

    Java sends what comes after the function only when what came before is acknowledged (Nagle), and the system puts off
    acknowledging for 40 ms where nothing is to be sent back: every task waited for as long. Sockets of another kind, as
    with ``spark.python.unix.domain.socket.enabled``, know no such wait.
    """
    if not hasattr(socket, "TCP_QUICKACK"):
        return
    for number in range(3, MOST_FILES):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                blocking = os.get_blocking(
                    number
                )  # a default time-out would change it, for Spark's own socket too
                with socket.socket(fileno=os.dup(number)) as own:
                    os.set_blocking(number, blocking)
                    if own.family in (socket.AF_INET, socket.AF_INET6):
                        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
