"""The kernel perceptron on MNIST: a pass against the matrix products it needs, the vote against `last`, and SVC.

``python -m benchmarks kernel``; with ``ROSENBLATT_SVC=1`` scikit-learn's SVC is trained too, which takes minutes. On a
machine that others use, ``ROSENBLATT_CPU_TIME=1 OPENBLAS_NUM_THREADS=1`` compares seconds of one core instead.
"""

import os
import time

import numpy as np

from benchmarks.measure import Ratios, data_folder, mnist
from rosenblatt.kernel import KernelPerceptron
from rosenblatt.learner.dual import DualLearner
from rosenblatt.learner.dual.blocks import ROWS_HERE

clock = time.process_time if os.environ.get("ROSENBLATT_CPU_TIME") else time.perf_counter
WIDTH = 2048  # columns of a product, as the learner cuts them


def product_speed(X: np.ndarray, seconds: float = 0.5) -> float:
    """Return the operations a second that numpy reaches on the learner's shapes."""
    A, B = X[:ROWS_HERE], X[ROWS_HERE : ROWS_HERE + WIDTH]
    start, times = clock(), 0
    while clock() - start < seconds:
        A @ B.T
        times += 1
    return 2.0 * A.size * WIDTH * times / (clock() - start)


def main() -> None:
    folder = data_folder()
    if folder is None:
        table = Ratios("kernel perceptron, MNIST")
        table.left_out("everything", "needs mnist in ROSENBLATT_DATA")
        table.show()
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
    start = [clock()]

    def on_epoch(epoch):
        now = clock()
        rows = np.unique(learner.ledger.entries["row"][-epoch.updates :]).size
        speeds.append(product_speed(X))
        passes.append((now - start[0], rows))
        start[0] = clock()

    learner = DualLearner(degree=4, multi_class="ovr")
    speeds.append(product_speed(X))
    begun = start[0] = clock()
    learner.train(X, y, max_iter=3, on_epoch=on_epoch)
    whole = clock() - begun
    for k, (seconds, rows) in enumerate(passes):
        # Every row meets the rows updated in the pass and those of its own block.
        needed = 2.0 * X.size * (rows + ROWS_HERE) / np.mean(speeds[k : k + 2])
        table.add(
            f"pass {k + 1}: {learner.epochs[k].mistakes:,} mistakes",
            f"{seconds:.2f} s",
            f"{needed:.2f} s of products",
            needed / seconds,
            1 / 1.5,
        )
    clf = KernelPerceptron(degree=4, multi_class="ovr", max_iter=3)
    clf.learner_, clf.classes_, clf.n_features_in_ = learner, learner.classes, 784
    took = {}
    for name in ("last", "averaged", "voted"):
        begun = clock()
        wrong = 100 * (clf.use(name).predict(Xt) != yt).mean()
        took[name] = clock() - begun
        table.note(f"{name}: test error {wrong:.2f} %, 10,000 rows in {took[name]:.2f} s")
    table.add(
        "vote of 10,000 rows",
        f"{took['voted']:.2f} s",
        f"{took['last']:.2f} s last",
        took["last"] / took["voted"],
        0.5,
    )
    if os.environ.get("ROSENBLATT_SVC"):
        from sklearn.svm import SVC

        begun = clock()
        svc = SVC(kernel="poly", degree=4, cache_size=2000).fit(X, y)
        theirs = clock() - begun
        table.note(f"SVC: test error {100 * (svc.predict(Xt) != yt).mean():.2f} %")
        table.add("three passes against SVC", f"{whole:.1f} s", f"{theirs:.1f} s", theirs / whole, 10)
    else:
        table.left_out("three passes against SVC", "takes minutes: set ROSENBLATT_SVC=1")
    table.left_out(
        "the same on a GPU", "a run of its own: python benchmarks/kernel_gpu.py FOLDER; docs/kernel.md"
    )
    table.show()


if __name__ == "__main__":
    main()
