"""How fast are proofs, against HiGHS on the whole problem? Every row of the table in docs/proofs.md.

Run with ``python -m benchmarks.proofs``. Times of one run are compared as ratios: the machine may be noisy.
"""

import time
import tracemalloc
from typing import Any

import numpy as np
from rich.console import Console

from rosenblatt.proofs import Inseparable, Separable, separability, solve_cone
from rosenblatt.proofs.signs import ExactVector, scores

LIMIT = 60.0  # seconds that HiGHS may take; a ratio that meets it is a lower bound


def cone_with_margin(n: int, d: int, gamma: float, pairs: int = 1, seed: int = 0) -> Any:
    """Make rows of about norm one whose largest margin is ``gamma``: pairs ``±v + gamma·w`` pin it down."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    A /= np.linalg.norm(A, axis=1)[:, None]
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    A *= np.sign(A @ w)[:, None]
    A += gamma * w
    for i, j in rng.choice(n, (pairs, 2), replace=False):
        v = rng.standard_normal(d)
        v -= (v @ w) * w
        v /= np.linalg.norm(v)
        A[i], A[j] = v + gamma * w, -v + gamma * w
    return A


def flipped_labels(n: int, d: int, share: float) -> Any:
    """Make two classes parted by a hyperplane, a share of the labels wrong."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal(d) > 0).astype(np.int64)
    wrong = rng.random(n) < share
    y[wrong] = 1 - y[wrong]
    return X, y


def seconds(function: Any, *arguments: Any, repeat: int = 1) -> Any:
    """Return the best time of some runs, and the answer."""
    best, answer = np.inf, None
    for _ in range(repeat):
        start = time.perf_counter()
        answer = function(*arguments)
        best = min(best, time.perf_counter() - start)
    return best, answer


def linprog(A: Any) -> Any:
    """Solve ``A w ≥ 1`` with HiGHS on the whole problem."""
    from scipy.optimize import linprog as highs

    n, d = A.shape
    return highs(
        np.zeros(d),
        A_ub=-A,
        b_ub=-np.ones(n),
        bounds=(None, None),
        method="highs",
        options={"time_limit": LIMIT},
    )


def against_highs(console: Console, name: str, A: Any, wanted: str) -> None:
    """Add a row: our cone solver, verified, against HiGHS on the same matrix."""
    ours, answer = seconds(solve_cone, A, repeat=3)
    assert answer.verify(A)
    theirs, _ = seconds(linprog, A)
    _row(
        console, (name, type(answer).__name__), ours, f"HiGHS {theirs:.2f} s", f"{theirs / ours:.3g}×", wanted
    )


def _row(console: Console, what: Any, ours: float, other: str, ratio: str, wanted: str) -> None:
    name, answer = what
    console.print(f"{name:<48}{answer:<13}{ours * 1e3:>9.1f} ms {other:>14} {ratio:>7}  wanted {wanted}")


def run(console: Console) -> None:
    console.print("[bold]proofs against scipy.optimize.linprog (HiGHS), one run[/bold]")
    solve_cone(cone_with_margin(100, 5, 0.01))  # compiled code is loaded once
    solve_cone(cone_with_margin(100, 5, 1e-12))
    against_highs(console, "cone 20,000×200, margin 0.01", cone_with_margin(20_000, 200, 0.01), "200×")
    against_highs(console, "cone 20,000×50, margin 0.003", cone_with_margin(20_000, 50, 0.003), "30×")
    for gamma in (1e-6, 1e-8):
        for n, d in ((20_000, 50), (100_000, 20)):
            A = cone_with_margin(n, d, gamma, pairs=d // 2)
            against_highs(console, f"cone {n:,}×{d}, margin {gamma:g}", A, "10×")
    flipped(console)
    for n, d in ((100, 5), (300, 10), (900, 20), (900, 60)):
        against_highs(console, f"cone {n}×{d}, margin 0.01", cone_with_margin(n, d, 0.01), "0.67×")
        X, y = flipped_labels(n, d, 0.3)
        against_highs(console, f"contradictory {n}×{d}", signed(X, y), "0.67×")
    thin = cone_with_margin(20_000, 50, 1e-16, pairs=20)
    ours, answer = seconds(solve_cone, thin)
    assert answer.verify(thin)
    _row(console, ("cone 20,000×50, margin 1e-16", type(answer).__name__), ours, "", "", "seconds")
    million(console)


def signed(X: Any, y: Any) -> Any:
    """Write ``y (x, 1)`` as the rows of a cone."""
    return np.column_stack([X, np.ones(len(X))]) * np.where(y > 0, 1.0, -1.0)[:, None]


def flipped(console: Console) -> None:
    X, y = flipped_labels(100_000, 100, 0.01)
    ours, proof = seconds(separability, X, y, repeat=3)
    assert isinstance(proof, Inseparable)
    assert proof.verify(X, y)
    theirs, _ = seconds(linprog, signed(X, y))
    name = (f"100,000×100, 1% flipped; {len(proof.culprits)} culprits", type(proof).__name__)
    _row(console, name, ours, f"HiGHS {theirs:.2f} s", f"{theirs / ours:.0f}×", "20×")


def million(console: Console) -> None:
    """A million rows: memory beside the data, and verification beside one pass over them."""
    A = cone_with_margin(1_000_000, 50, 0.01)
    y = np.ones(len(A), dtype=np.int64)
    y[::2] = -1
    A[::2] *= -1
    ours, proof = seconds(separability, A, y, False)
    tracemalloc.start()
    separability(A, y, False)
    grown = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(proof, Separable)
    check, holds = seconds(proof.verify, A, y, repeat=3)
    assert holds
    one_pass, _ = seconds(scores, A, ExactVector(proof.hyperplanes[0], False), repeat=3)
    product, _ = seconds(lambda: A @ proof.w, repeat=3)
    console.print(
        f"separability 1,000,000×50, margin 0.01: {ours:.2f} s, memory {1 + grown / A.nbytes:.2f}× the data (wanted "
        f"< 2×); verify {check * 1e3:.0f} ms = {check / one_pass:.2f} scoring passes of {one_pass * 1e3:.0f} ms "
        f"(wanted < 2), {check / product:.2f} of X @ w"
    )


def main() -> None:
    run(Console())


if __name__ == "__main__":
    main()
