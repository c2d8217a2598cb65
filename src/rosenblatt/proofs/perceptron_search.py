"""The perceptron itself as a search: fast wherever the margin is wide."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.passes import active_perceptron as passes
from rosenblatt.passes.signs import csr_rows
from rosenblatt.proofs.clock import Clock
from rosenblatt.proofs.cone import Cone, Float64s

SWEEPS = 25  # over all rows; in between, it cycles on the rows that some sweep got wrong
CYCLES = 50


def perceptron_search(cone: Cone, clock: Clock) -> tuple[Float64s, bool]:
    """Return weights for the working copy, and whether a sweep over all rows was clean (in floats)."""
    examples = cone.examples
    dense = isinstance(cone.work, np.ndarray)
    rows = cone.work if dense else csr_rows(cone.work)
    least = 1e-6 * cone.size
    state: tuple[Any, ...] = (rows, examples.signs, cone.bias, least)
    sweeps: Callable[..., int] = passes.dense_sweeps if dense else passes.sparse_sweeps
    w = np.zeros(cone.work.shape[1] + 1)
    if cone.joint:
        state = (rows, examples.codes, cone.bias, least)
        sweeps = passes.dense_joint_sweeps if dense else passes.sparse_joint_sweeps
        w = np.zeros((cone.k, cone.work.shape[1] + 1))
    everything = np.arange(len(examples.codes))
    mistaken, scratch = np.empty_like(everything), np.empty_like(everything)
    seen = np.zeros(len(everything), dtype=np.bool_)
    active = everything[:0]
    clean, stuck = False, 0
    for sweep in range(SWEEPS):
        count = sweeps(state, w, everything, 1, mistaken)
        clean = count == 0
        hopeless = sweep >= 2 and count > 10 + len(everything) // 100
        if clean or hopeless or clock.out_of_time():
            break
        wrong = mistaken[:count]
        active = np.append(active, wrong[~seen[wrong]])
        seen[wrong] = True
        stuck += sweeps(state, w, active, CYCLES, scratch) > 0
        if stuck >= 6:
            break  # not even the rows known to be hard come out clean
    if cone.joint:
        w = w[:-1] - w[-1]
    return w[..., : cone.width].reshape(-1), clean
