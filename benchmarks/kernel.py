"""The kernel perceptron on MNIST: a pass against the matrix products it needs, the vote against `last`, and SVC.

``python -m benchmarks kernel``; with ``ROSENBLATT_SVC=1`` scikit-learn's SVC is trained too, which takes minutes.
"""

import os
import time

import numpy as np

from benchmarks.measure import Ratios, console, data_folder, mnist
from rosenblatt.kernel import KernelPerceptron
from rosenblatt.learner.dual import DualLearner
from rosenblatt.learner.dual.blocks import ROWS_HERE

WIDTH = 2048  # columns of a product, as the learner cuts them


def product_speed(X: np.ndarray, seconds: float = 0.5) -> float:
    """Return the operations a second that numpy reaches on the learner's shapes."""
    A, B = X[:ROWS_HERE], X[ROWS_HERE : ROWS_HERE + WIDTH]
    start, times = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        A @ B.T
        times += 1
    return 2.0 * A.size * WIDTH * times / (time.perf_counter() - start)


def main() -> None:
    folder = data_folder()
    if folder is None:
        console.print("kernel: no data folder (set ROSENBLATT_DATA): nothing measured")
        return
    X, y = mnist(folder, "train")
    Xt, yt = mnist(folder, "t10k")
    X, Xt = (np.ascontiguousarray(A, dtype=np.float32) for A in (X, Xt))
    scale = max(1.0, float(X.max()))
    X /= np.float32(scale)
    Xt /= np.float32(scale)
    DualLearner(degree=4, multi_class="ovr").train(X[:1500], y[:1500], max_iter=2)  # compile
    table = Ratios("kernel perceptron, MNIST, 10 classes ovr, poly 4, float32")
    passes, speeds = [], []
    start = [time.perf_counter()]

    def on_epoch(epoch):
        now = time.perf_counter()
        rows = np.unique(learner.ledger.entries["row"][-epoch.updates :]).size
        speeds.append(product_speed(X))
        passes.append((now - start[0], rows))
        start[0] = time.perf_counter()

    learner = DualLearner(degree=4, multi_class="ovr")
    speeds.append(product_speed(X))
    begun = start[0] = time.perf_counter()
    learner.train(X, y, max_iter=3, on_epoch=on_epoch)
    whole = time.perf_counter() - begun
    # A pass is over with the rows of the next one brought up to date: half of its products fall after it.
    passes.append((time.perf_counter() - start[0], 0))
    for k in range(3):
        (seconds, rows), (after, _) = passes[k], passes[k + 1]
        halves = rows / 2 + (passes[k - 1][1] / 2 if k else 0)
        needed = 2.0 * X.size * (halves + ROWS_HERE) / np.mean(speeds[k : k + 2])
        table.add(
            f"pass {k + 1}: {learner.epochs[k].mistakes:,} mistakes",
            f"{seconds:.2f} s",
            f"{needed:.2f} s of products",
            needed / seconds,
            1 / 1.5,
        )
        del after
    clf = KernelPerceptron(degree=4, multi_class="ovr", max_iter=3)
    clf.learner_, clf.classes_, clf.n_features_in_ = learner, learner.classes, 784
    took = {}
    for name in ("last", "averaged", "voted"):
        begun = time.perf_counter()
        wrong = 100 * (clf.use(name).predict(Xt) != yt).mean()
        took[name] = time.perf_counter() - begun
        console.print(f"{name}: test error {wrong:.2f} %, 10,000 rows in {took[name]:.2f} s")
    table.add(
        "vote of 10,000 rows",
        f"{took['voted']:.2f} s",
        f"{took['last']:.2f} s last",
        took["last"] / took["voted"],
        0.5,
    )
    if os.environ.get("ROSENBLATT_SVC"):
        from sklearn.svm import SVC

        begun = time.perf_counter()
        svc = SVC(kernel="poly", degree=4, cache_size=2000).fit(X, y)
        theirs = time.perf_counter() - begun
        console.print(f"SVC: test error {100 * (svc.predict(Xt) != yt).mean():.2f} %")
        table.add("three passes against SVC", f"{whole:.1f} s", f"{theirs:.1f} s", theirs / whole, 10)
    table.show()


if __name__ == "__main__":
    main()
