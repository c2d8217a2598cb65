"""The kernel perceptron on a GPU: seconds a pass, all degrees and hypotheses, mistakes beside the CPU's.

Usage: python benchmarks/kernel_gpu.py FOLDER [SECONDS]

FOLDER holds MNIST as its four idx files (gzip). The script needs python3, numpy, scipy, numba and torch and the
package's sources; it stops by itself after SECONDS (default 420), and prints what it has.
"""

import gzip
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

STARTED = time.perf_counter()
PASSES = 30
NAMES = ("last", "averaged", "voted", "survivor", "random")


def say(*words):
    print(f"[{time.perf_counter() - STARTED:7.2f}]", *words, flush=True)


def idx(path, offset, *shape):
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset).reshape(-1, *shape)


def mnist(folder, dtype="float32"):
    folder = Path(folder)
    parts = []
    for name in ("train", "t10k"):
        parts.append((idx(folder / f"{name}-images-idx3-ubyte.gz", 16, 784) / 255.0).astype(dtype))
        parts.append(idx(folder / f"{name}-labels-idx1-ubyte.gz", 8).astype(np.int64))
    return parts


class Timer:
    """Seconds of every pass, and a stop when time is over."""

    def __init__(self, until):
        self.seconds, self.last, self.until = [], time.perf_counter(), until

    def __call__(self, epoch):
        """Note the time of a pass."""
        now = time.perf_counter()
        self.seconds.append(now - self.last)
        self.last = now
        if now - STARTED > self.until:
            raise TimeoutError(f"time is over in pass {epoch.number}")


def trained(X, y, passes, until, shuffle=True, **options):
    from rosenblatt.learner.kernel import KernelLearner

    learner = KernelLearner(kernel="poly", multi_class="ovr", **options)
    timer = Timer(until)
    learner.train(X, y, max_iter=passes, shuffle=shuffle, on_epoch=timer)
    return learner, timer.seconds


def main(folder, limit):
    import numba
    import torch

    device = "cuda" if torch.cuda.is_available() else None
    say(
        "python",
        sys.version.split()[0],
        "torch",
        torch.__version__,
        "numba",
        numba.__version__,
        "numpy",
        np.__version__,
    )
    say(
        "device",
        torch.cuda.get_device_name(0) if device else "none: the CPU stands in",
        "cores",
        os.cpu_count(),
    )
    X, y, Xt, yt = mnist(folder)
    say("MNIST read", X.shape, Xt.shape)
    Xg, Xtg = (torch.as_tensor(A, device=device or "cpu") for A in (X, Xt))
    trained(Xg[:2000], y[:2000], 2, limit, degree=4)[0].scores(Xtg[:100], "voted")
    say("compiled and warm")
    if device:
        A = Xg[:4096]
        for _ in range(3):
            A @ Xg[:8192].T
        torch.cuda.synchronize()
        t = time.perf_counter()
        for _ in range(20):
            A @ Xg[:8192].T
        torch.cuda.synchronize()
        say("float32 product", f"{20 * 2 * 4096 * 8192 * 784 / (time.perf_counter() - t) / 1e12:.1f} TFLOP/s")
        t = time.perf_counter()
        for _ in range(20):
            torch.ones((512, 512), device=device).cpu()
        say("1 MiB to the CPU", f"{(time.perf_counter() - t) / 20 * 1e6:.0f} µs")

    for block in (1024, 2048, 3072, 4096):
        learner, seconds = trained(Xg, y, 5, limit, degree=4, block_size=block)
        say(f"poly 4, block {block}: seconds a pass", [f"{s:.4f}" for s in seconds])
        say("  mistakes", [e.mistakes for e in learner.epochs], "support rows", learner.n_support)
    every = [trained(Xg, y, PASSES, limit, degree=4)[1] for _ in range(10)]
    say("poly 4 to convergence, ten times: first passes", [f"{seconds[0]:.4f}" for seconds in every])
    later = np.concatenate([seconds[1:] for seconds in every])
    say(f"  later passes: median {np.median(later):.4f}, slowest {later.max():.4f} s of {later.size}")
    given = [trained(Xg, y, 1, limit, degree=4, shuffle=False)[1][0] for _ in range(5)]
    say("  first passes in the given order, without keys to sort by", [f"{s:.4f}" for s in given])
    say(f"  share of all passes within 0.06 s: {np.mean(np.concatenate(every) <= 0.06):.3f}")

    t, table = time.perf_counter(), []
    for degree in range(1, 7):
        start = time.perf_counter()
        learner, seconds = trained(Xg, y, PASSES, limit, degree=degree)
        learned = time.perf_counter() - start
        errors = {}
        for name in NAMES:
            for normalise in (False, True):
                if name == "voted" and normalise:
                    continue
                wrong = learner.predict(Xtg, name, normalise=normalise) != yt
                errors[name + ("/norm" if normalise else "")] = 100 * wrong.mean()
        whole = time.perf_counter() - start
        table.append((degree, learned, whole, learner.mistakes, learner.n_support, errors))
        say(f"degree {degree}: {len(seconds)} passes in {learned:.2f} s, with all hypotheses {whole:.2f} s,")
        say(
            f"  median pass {np.median(seconds):.4f} s, mistakes {learner.mistakes}, support {learner.n_support}"
        )
        say("  test error %", {k: round(float(v), 2) for k, v in errors.items()})
    say(f"{PASSES} passes, degrees 1 to 6, all hypotheses: {time.perf_counter() - t:.2f} s")

    start = time.perf_counter()
    learner, seconds = trained(Xg, y, 10, limit, degree=4, tf32=True)
    say(
        "TF32, poly 4: mistakes",
        [e.mistakes for e in learner.epochs],
        "median pass",
        f"{np.median(seconds):.4f}",
    )

    for dtype, n in (("float32", 60_000), ("float64", 60_000)):
        there, _ = trained(Xg[:n].to(getattr(torch, dtype)), y[:n], 3, limit, degree=4)
        say(dtype, "GPU mistakes", [e.mistakes for e in there.epochs], "support", there.n_support)
        here, seconds = trained(X[:n].astype(dtype), y[:n], 3, limit, degree=4)
        say(dtype, "CPU mistakes", [e.mistakes for e in here.epochs], "support", here.n_support,
            "seconds", [f"{s:.2f}" for s in seconds])  # fmt: skip
        both = [there.ledger.entries["row"], here.ledger.entries["row"]]
        say(dtype, "same updates in the same order:", bool(np.array_equal(*both)))


if __name__ == "__main__":
    try:
        main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 420.0)
    except TimeoutError as over:
        say(over)
    say("done")
