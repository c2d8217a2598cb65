"""Memory that ends where the process may not read: a scanner that looks one byte too far is killed at once."""

import ctypes
import mmap
import weakref

import numpy as np

PAGES = 64
NO_ACCESS = 0


class Guarded:
    """A place for texts, each ending right before a page that must not be touched."""

    def __init__(self):
        size = (PAGES + 1) * mmap.PAGESIZE
        self._map = mmap.mmap(-1, size)
        self._bytes = np.frombuffer(self._map, np.uint8)
        last = self._bytes.ctypes.data + PAGES * mmap.PAGESIZE
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(last), ctypes.c_size_t(mmap.PAGESIZE), NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
        self._looked_at = lambda: None

    @property
    def free(self):
        """Whether the text it held last is no longer looked at."""
        return self._looked_at() is None

    def holding(self, text):
        """Return the bytes of a text as scanners see them, at the end of the memory that may be read."""
        end = PAGES * mmap.PAGESIZE
        if len(text) > end:
            raise ValueError("too long a text for this memory")
        data = self._bytes[end - len(text) : end]
        data.flags.writeable = True
        data[:] = np.frombuffer(text, np.uint8)
        data.flags.writeable = False
        self._looked_at = weakref.ref(data)
        return data
