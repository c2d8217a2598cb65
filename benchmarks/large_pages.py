"""Memory in large pages: in small ones a pass takes up to 1.4 times as long, and who comes late gets those."""

import ctypes
import re
from pathlib import Path
from typing import Any

LARGE, COLLAPSE = 1 << 21, 25  # MADV_COLLAPSE, Linux 6.1


def lay(array: Any) -> float:
    """Ask Linux to lay an array in large pages, and return the share that lies in them (nan elsewhere)."""
    first = array.ctypes.data
    try:
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for at in range(-(-first // LARGE) * LARGE, first + array.nbytes - LARGE, LARGE):
            madvise(at, LARGE, COLLAPSE)
        told = Path("/proc/self/smaps").read_text().splitlines()
    except (OSError, AttributeError):
        return float("nan")
    inside = False
    for line in told:
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if head:
            inside = int(head[1], 16) <= first + array.nbytes // 2 < int(head[2], 16)
        elif inside and line.startswith("AnonHugePages:"):
            return min(1.0, 1024 * int(line.split()[1]) / array.nbytes)
    return float("nan")
