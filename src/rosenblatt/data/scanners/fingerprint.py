"""A fingerprint of a file's content at several gigabytes per second: four lanes of multiply and rotate."""

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
    """Return the size of a file and a 256-bit hash of its content; not cryptographic.

    >>> fingerprint("/dev/null")
    '0-...'
    """
    size = Path(path).stat().st_size
    if not size:
        return "0-" + "0" * 64
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        data = np.frombuffer(content, np.uint8)
        whole = size // 32 * 32
        lanes = _digest_words(data[:whole].view(np.uint64))
        rest = np.zeros(32, np.uint8)
        rest[: size - whole] = data[whole:]
        lanes = _mix(_update(lanes, rest.view(np.uint64)))
        del data
    return f"{size}-" + "".join(f"{lane:016x}" for lane in lanes.tolist())


@compiled_with_arrays
def _digest_words(words: Any) -> Any:
    lanes = np.array([1, 2, 3, 4], np.uint64) * PRIME
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    for k in range(0, words.size, 4):
        a = _rotate(a ^ words[k] * OTHER) * PRIME
        b = _rotate(b ^ words[k + 1] * OTHER) * PRIME
        c = _rotate(c ^ words[k + 2] * OTHER) * PRIME
        d = _rotate(d ^ words[k + 3] * OTHER) * PRIME
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d
    return lanes


@compiled
def _rotate(word: Any) -> Any:
    return (word << LEFT) | (word >> RIGHT)


@compiled_with_arrays
def _update(lanes: Any, words: Any) -> Any:
    for k in range(4):
        lanes[k] = _rotate(lanes[k] ^ words[k] * OTHER) * PRIME
    return lanes


@compiled_with_arrays
def _mix(lanes: Any) -> Any:
    """Mix all four lanes, so that every input word affects every output word."""
    for _ in range(2):
        for k in range(4):
            lane = lanes[k] ^ _rotate(lanes[(k + 1) % 4]) * OTHER
            lane = (lane ^ (lane >> S29)) * PRIME
            lanes[k] = lane ^ (lane >> S32)
    return lanes
