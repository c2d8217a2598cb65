"""The kernel perceptron on MNIST: a pass against the matrix products that it needs, the vote against `last`, and SVC.

``python -m benchmarks kernel``; with ``ROSENBLATT_SVC=1`` scikit-learn's SVC is trained on MNIST too, which takes
minutes; on made, noisy rows it always is. On a machine that others use, ``ROSENBLATT_CPU_TIME=1
OPENBLAS_NUM_THREADS=1`` compares seconds of one core instead.
"""

import os
import time

import numpy as np

from benchmarks.measure import Ratios, data_folder, mnist
from rosenblatt.kernel import KernelPerceptron
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.learner.kernel.blocks import CPU_BLOCK

clock = time.process_time if os.environ.get("ROSENBLATT_CPU_TIME") else time.perf_counter
WIDTH = 2048  # columns of a product, as the learner cuts them


def product_speed(X: np.ndarray, seconds: float = 0.5) -> float:
    """Return the operations a second that numpy reaches on the learner's shapes."""
    A, B = X[:CPU_BLOCK], X[CPU_BLOCK : CPU_BLOCK + WIDTH]
    start, times = clock(), 0
    while clock() - start < seconds:
        A @ B.T
        times += 1
    return 2.0 * A.size * WIDTH * times / (clock() - start)


def trained_in_passes(X: np.ndarray, y: np.ndarray, table: Ratios) -> tuple[KernelLearner, float]:
    """Train three passes and hold each against its products; return the seconds of all, the measuring included."""
    passes, speeds = [], [product_speed(X)]
    learner = KernelLearner(degree=4, multi_class="ovr")
    begun = clock()
    start = [begun]

    def on_epoch(epoch):
        now = clock()
        rows = np.unique(learner.ledger.entries["row"][-epoch.updates :]).size
        speeds.append(product_speed(X))
        passes.append((now - start[0], rows))
        start[0] = clock()

    learner.train(X, y, max_iter=3, on_epoch=on_epoch)
    whole = clock() - begun
    for k, (seconds, rows) in enumerate(passes):
        # Every row meets the rows updated in the pass and those of its own block.
        needed = 2.0 * X.size * (rows + CPU_BLOCK) / np.mean(speeds[k : k + 2])
        what = f"pass {k + 1}: {learner.epochs[k].mistakes:,} mistakes"
        table.add(what, f"{seconds:.2f} s", f"{needed:.2f} s of products", needed / seconds, 1 / 1.5)
    return learner, whole


def predicted(learner: KernelLearner, Xt: np.ndarray, yt: np.ndarray, table: Ratios) -> dict[str, float]:
    """Time the vote against ``last``; return test errors in % by hypothesis."""
    clf = KernelPerceptron(degree=4, multi_class="ovr", max_iter=3)
    clf.learner_, clf.classes_, clf.n_features_in_ = learner, learner.classes, Xt.shape[1]
    took, errors = {}, {}
    for name in ("last", "averaged", "voted"):
        begun = clock()
        errors[name] = 100 * float((clf.use(name).predict(Xt) != yt).mean())
        took[name] = clock() - begun
        table.note(f"{name}: test error {errors[name]:.2f} %, 10,000 rows in {took[name]:.2f} s")
    last, voted = took["last"], took["voted"]
    table.add("vote of 10,000 rows", f"{voted:.2f} s", f"{last:.2f} s last", last / voted, 0.5)
    return errors


def against_svc(seconds: float, error: float, parts: list[np.ndarray], table: Ratios) -> None:
    """Hold three passes, and the test error of the vote after them, against scikit-learn's SVC."""
    what = "three passes against SVC"
    if not os.environ.get("ROSENBLATT_SVC"):
        table.left_out(what, "takes minutes: set ROSENBLATT_SVC=1")
        return
    from sklearn.svm import SVC

    X, y, Xt, yt = parts
    begun = clock()
    svc = SVC(kernel="poly", degree=4, cache_size=2000).fit(X, y)
    theirs = clock() - begun
    table.add(what, f"{seconds:.1f} s", f"{theirs:.1f} s", theirs / seconds, 10)
    wrong = 100 * float((svc.predict(Xt) != yt).mean())
    what = "test error of voted: points below SVC's"
    table.add(what, f"{error:.2f} %", f"{wrong:.2f} %", wrong - error, -0.4, unit=" points")


def noisy(features: int, n: int = 5400) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two classes that no plane separates, a tenth of the labels wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, features))
    y = (X @ rng.normal(size=features) + 0.3 * (X[:, :5] ** 2).sum(axis=1) > 1.5).astype(int)
    return X, np.where(rng.random(n) < 0.1, 1 - y, y)


def noisy_against_svc(turns: int = 7) -> None:
    """Hold ten epochs on noisy rows against scikit-learn's SVC, fit against fit, in turns."""
    from sklearn.svm import SVC

    table = Ratios("kernel perceptron, rbf, 5,400 made rows, a tenth of the labels wrong")
    KernelPerceptron("rbf", max_iter=2).fit(*noisy(20, 600))  # compile
    for features in (20, 100):
        X, y = noisy(features)
        ours, theirs = [], []
        for _ in range(turns):
            for seconds, model in (
                (ours, KernelPerceptron("rbf", max_iter=10)),
                (theirs, SVC(gamma=1 / features)),
            ):
                begun = clock()
                model.fit(X, y)
                seconds.append(clock() - begun)
        mine, svc = float(np.median(ours)), float(np.median(theirs))
        ratio = float(np.median(np.divide(theirs, ours)))
        table.add(f"ten epochs against SVC, {features} features", f"{mine:.2f} s", f"{svc:.2f} s", ratio, 1)
    table.show()


def main() -> None:
    noisy_against_svc()
    folder = data_folder()
    if folder is None:
        table = Ratios("kernel perceptron, MNIST")
        table.left_out("everything", "needs mnist in ROSENBLATT_DATA")
        table.show()
        return
    X, y, Xt, yt = parts = [*mnist(folder, "train"), *mnist(folder, "t10k")]
    KernelLearner(degree=4, multi_class="ovr").train(X[:1500], y[:1500], max_iter=2)  # compile
    table = Ratios("kernel perceptron, MNIST, 10 classes ovr, poly 4, float32")
    learner, seconds = trained_in_passes(X, y, table)
    errors = predicted(learner, Xt, yt, table)
    against_svc(seconds, errors["voted"], parts, table)
    table.left_out(
        "the same on a GPU", "a run of its own: python benchmarks/kernel_gpu.py FOLDER; docs/kernel.md"
    )
    table.show()


if __name__ == "__main__":
    main()
