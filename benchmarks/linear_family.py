"""Models of sums beside one read of the data, and passes with other rules, against scikit-learn in one run."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.heart import dense_data
from benchmarks.measure import Ratios, milliseconds
from rosenblatt.linear.closest_centroid import ClosestCentroid
from rosenblatt.linear.logistic_regression import LogisticRegression
from rosenblatt.linear.naive_bayes import NaiveBayes
from rosenblatt.linear.perceptron import Perceptron
from rosenblatt.rules import Pegasos


def best_of(runs: int, *contestants) -> list[float]:
    """Return the least CPU time of each contestant; all run in one thread, and a busy machine is no part of it."""
    for contestant in contestants:
        contestant()
    times = [[] for _ in contestants]
    for _ in range(runs):
        for own, contestant in zip(times, contestants, strict=True):
            start = time.thread_time()
            contestant()
            own.append(time.thread_time() - start)
    return [min(own) for own in times]


def spread_data(n: int = 200_000, d: int = 50_000, nonzeros: int = 75) -> tuple[csr_array, np.ndarray]:
    """Rows with as many distinct columns each, spread over all of them; the label leans on a hidden boundary."""
    rng = np.random.default_rng(0)
    stride = d // nonzeros
    columns = (np.arange(nonzeros) * stride + rng.integers(0, stride, (n, nonzeros))).astype(np.int32)
    starts = (np.arange(n + 1) * nonzeros).astype(np.int32)
    X = csr_array((rng.random(n * nonzeros), columns.reshape(-1), starts), shape=(n, d))
    hidden = rng.normal(size=d)
    return X, np.where(X @ hidden > 0, 1, -1)


def ones_of(X):
    """Return the same matrix with ones where it has positive values."""
    if isinstance(X, np.ndarray):
        return (X > 0).astype(X.dtype)
    return csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)


def adding(ratios: Ratios, name: str, X, y) -> None:
    """Compare fits that need sums only with the sum itself, and with scikit-learn's."""
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.neighbors import NearestCentroid

    binary = ones_of(X)
    for what, data, ours, theirs in (
        ("ClosestCentroid", X, ClosestCentroid(), NearestCentroid()),
        ("NaiveBayes", binary, NaiveBayes(binarize=None), BernoulliNB(binarize=None)),
    ):
        fit, read = best_of(
            15, lambda ours=ours, data=data: ours.fit(data, y), lambda data=data: data.sum(axis=0)
        )
        ratios.add(
            f"{name}: {what}.fit / X.sum(axis=0)", milliseconds(fit), milliseconds(read), read / fit, 1 / 1.5
        )
        try:
            (peer,) = best_of(3, lambda theirs=theirs, data=data: theirs.fit(data, y))
        except MemoryError as error:
            ratios.left_out(f"{name}: {what}.fit / scikit-learn's", f"scikit-learn's fails: {error}")
            continue
        ratios.add(
            f"{name}: {what}.fit / scikit-learn's", milliseconds(fit), milliseconds(peer), peer / fit, 1.0
        )


def epoch(ratios: Ratios, name: str, X, y, asked: float, epochs: int = 4) -> None:
    """Compare one more epoch of online logistic regression, averaged, with one of SGDClassifier without and with."""
    from sklearn.linear_model import SGDClassifier

    def ours(passes):
        return lambda: LogisticRegression("online", max_iter=passes).fit(X, y)

    def theirs(passes, average=False):
        return lambda: SGDClassifier(loss="log_loss", max_iter=passes, tol=None, average=average).fit(X, y)

    contestants = (ours, theirs, lambda passes: theirs(passes, average=True))
    times = best_of(5, *(each(passes) for each in contestants for passes in (1, 1 + epochs)))
    mine, peer, averaged = ((more - one) / epochs for one, more in zip(times[::2], times[1::2], strict=True))
    for what, seconds, wanted in (("its", peer, asked), ("its, averaged as ours is:", averaged, asked)):
        ratios.add(
            f"{name}: logistic epoch / SGDClassifier, {what} epoch",
            milliseconds(mine),
            milliseconds(seconds),
            seconds / mine,
            wanted,
        )
    accuracy = (LogisticRegression("online", max_iter=5).fit(X, y).score(X, y), theirs(5)().score(X, y))
    ratios.note(
        f"{name}: accuracy after 5 epochs, logistic {accuracy[0]:.4f}, SGDClassifier {accuracy[1]:.4f}"
    )


def batch(ratios: Ratios) -> None:
    """Compare a batch fit of logistic regression with scikit-learn's behind a scaler, on sets that it ships."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine
    from sklearn.linear_model import LogisticRegression as Theirs
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    sets = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
    data = {name: (*load(return_X_y=True), StandardScaler()) for name, load in sets.items()}
    data["20 classes, 20,000 words, sparse"] = (*word_data(2_000, 20_000), MaxAbsScaler())
    for name, (X, y, scaler) in data.items():
        peer = make_pipeline(scaler, Theirs(max_iter=1000))
        ours, theirs = best_of(
            3, lambda X=X, y=y: LogisticRegression().fit(X, y), lambda X=X, y=y, peer=peer: peer.fit(X, y)
        )
        what = f"{name}: batch LogisticRegression.fit / scikit-learn's with a scaler"
        ratios.add(what, milliseconds(ours), milliseconds(theirs), theirs / ours, 0.8)


def word_data(
    n: int = 11_000, d: int = 100_000, words: int = 75, classes: int = 20
) -> tuple[csr_array, np.ndarray]:
    """Texts of several classes as rows of norm one: words by Zipf's law, and each class uses some more often."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    zipf = np.arange(1, d + 1) ** -1.05
    drawn = np.minimum(np.searchsorted(np.cumsum(zipf / zipf.sum()), rng.random((n, words))), d - 1)
    own = rng.random((n, words)) < 0.3
    drawn = np.where(own, np.minimum(drawn // classes * classes + y[:, None], d - 1), drawn)
    starts = (np.arange(n + 1) * words).astype(np.int32)
    X = csr_array((np.ones(drawn.size), drawn.reshape(-1).astype(np.int32), starts), shape=(n, d))
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    X.data /= np.repeat(np.sqrt((X.multiply(X)).sum(axis=1)), np.diff(X.indptr))
    return X, y


def pegasos(ratios: Ratios) -> None:
    """Compare one epoch of Pegasos on 20 classes of text with one of SGDClassifier, which keeps no average.

    ``fit`` with a ledger also measures every hypothesis on the texts: the perceptron stands beside it.
    """
    from sklearn.linear_model import SGDClassifier

    classes = np.arange(20)
    for d, lam, asked in ((100_000, 1e-4, 1.0), (1_000_000, 1e-4, 1.0), (100_000, 1e-6, 0.0)):
        X, y = word_data(d=d)
        name = f"20 classes, {d:,} words, λ={lam:g}"

        def epoch_of(estimator: Any, X: Any = X, y: Any = y) -> Callable[[], Any]:
            return lambda: clone(estimator).partial_fit(X, y, classes)

        multi_class = ("joint", "ovr")
        rules = [Perceptron(rule=Pegasos(lam), multi_class=each, keep_ledger=False) for each in multi_class]
        peer, *ours = best_of(5, epoch_of(SGDClassifier(alpha=lam)), *map(epoch_of, rules))
        for each, seconds in zip(multi_class, ours, strict=True):
            what = f"{name}: partial_fit of Pegasos, {each} / SGDClassifier's"
            ratios.add(what, milliseconds(seconds), milliseconds(peer), peer / seconds, asked)
    X, y = word_data()
    for each in multi_class:
        options = {"multi_class": each, "max_iter": 1, "shuffle": False}
        fits = [Perceptron(rule=rule, **options) for rule in (Pegasos(), "rosenblatt")]
        seconds, plain = best_of(2, *(lambda own=own, X=X, y=y: own.fit(X, y) for own in fits))
        what = f"20 classes, 100,000 words: fit with a ledger, {each}, Pegasos / perceptron"
        ratios.add(what, milliseconds(seconds), milliseconds(plain), plain / seconds, 0.5)


def main() -> None:
    ratios = Ratios("The linear family: one thread, best of several turns, all in one run")
    with threadpool_limits(1):
        for name, (X, y), asked in (
            ("dense 200,000×100 float32", dense_data(), 5.0),
            ("CSR 200,000×50,000, 75 a row", spread_data(), 1.1),
        ):
            adding(ratios, name, X, y)
            epoch(ratios, name, X, y, asked)
        pegasos(ratios)
        batch(ratios)
    ratios.show()


if __name__ == "__main__":
    main()
