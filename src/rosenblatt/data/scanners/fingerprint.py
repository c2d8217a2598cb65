"""A fingerprint of a file's content, several gigabytes a second: four lanes of multiply and rotate."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data.scanners.compiled import compiled, compiled_with_arrays

PRIME = np.uint64(0x9E3779B185EBCA87)
OTHER = np.uint64(0xC2B2AE3D27D4EB4F)
LEFT, RIGHT = np.uint64(31), np.uint64(33)
S29, S32 = np.uint64(29), np.uint64(32)


def fingerprint(path: str) -> str:
    """Return 256 bits that differ, for all that chance can do, wherever the content of two files does.

    >>> fingerprint("/dev/null")
    '0-...'
    """
    size = Path(path).stat().st_size
    if not size:
        return "0-" + "0" * 64
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        data = np.frombuffer(content, np.uint8)
        whole = size // 32 * 32
        lanes = _lanes(data[:whole].view(np.uint64))
        rest = np.zeros(32, np.uint8)
        rest[: size - whole] = data[whole:]
        lanes = _mixed(_more(lanes, rest.view(np.uint64)))
        del data
    return f"{size}-" + "".join(f"{lane:016x}" for lane in lanes.tolist())


@compiled_with_arrays
def _lanes(words: Any) -> Any:
    lanes = np.array([1, 2, 3, 4], np.uint64) * PRIME
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    for k in range(0, words.size, 4):
        a = _rotated(a ^ words[k] * OTHER) * PRIME
        b = _rotated(b ^ words[k + 1] * OTHER) * PRIME
        c = _rotated(c ^ words[k + 2] * OTHER) * PRIME
        d = _rotated(d ^ words[k + 3] * OTHER) * PRIME
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d
    return lanes


@compiled
def _rotated(word: Any) -> Any:
    return (word << LEFT) | (word >> RIGHT)


@compiled_with_arrays
def _more(lanes: Any, words: Any) -> Any:
    for k in range(4):
        lanes[k] = _rotated(lanes[k] ^ words[k] * OTHER) * PRIME
    return lanes


@compiled_with_arrays
def _mixed(lanes: Any) -> Any:
    """Let every lane speak in every other."""
    for _ in range(2):
        for k in range(4):
            mixed = lanes[k] ^ _rotated(lanes[(k + 1) % 4]) * OTHER
            mixed = (mixed ^ (mixed >> S29)) * PRIME
            lanes[k] = mixed ^ (mixed >> S32)
    return lanes
