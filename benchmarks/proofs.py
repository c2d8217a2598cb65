"""The time of proofs against HiGHS on the whole problem.

Run with ``python -m benchmarks.proofs``. Times of one run are compared as ratios: the machine may be noisy. Real data
(``ROSENBLATT_DATA``, scikit-learn's own sets) are timed against HiGHS called directly, simplex or interior point,
whichever is quicker on them, in CPU seconds, taking turns.
"""

import csv
import gzip
import json
import re
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.measure import Ratios, best_of, data_folder, mnist
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


def against_highs(ratios: Ratios, name: str, A: Any, asked: float) -> None:
    """Add a row: our cone solver, verified, against HiGHS on the same matrix."""
    ours, answer = seconds(solve_cone, A, repeat=3)
    assert answer.verify(A)
    theirs, _ = seconds(linprog, A)
    _row(ratios, f"{name}: {type(answer).__name__}", ours, theirs, asked)


def _row(ratios: Ratios, what: str, ours: float, theirs: float, asked: float) -> None:
    stopped = " (stopped)" if theirs >= LIMIT else ""
    ratios.add(what, f"{ours * 1e3:,.1f} ms", f"HiGHS {theirs:.2f} s{stopped}", theirs / ours, asked)


def run(ratios: Ratios) -> None:
    solve_cone(cone_with_margin(100, 5, 0.01))  # compiled code is loaded once
    solve_cone(cone_with_margin(100, 5, 1e-12))
    against_highs(ratios, "cone 20,000×200, margin 0.01", cone_with_margin(20_000, 200, 0.01), 200)
    against_highs(ratios, "cone 20,000×50, margin 0.003", cone_with_margin(20_000, 50, 0.003), 30)
    for gamma in (1e-6, 1e-8):
        for n, d in ((20_000, 50), (100_000, 20)):
            A = cone_with_margin(n, d, gamma, pairs=d // 2)
            against_highs(ratios, f"cone {n:,}×{d}, margin {gamma:g}", A, 10)
    flipped(ratios)
    for n, d in ((100, 5), (300, 10), (900, 20), (900, 60)):
        against_highs(ratios, f"cone {n}×{d}, margin 0.01", cone_with_margin(n, d, 0.01), 2 / 3)
        X, y = flipped_labels(n, d, 0.3)
        against_highs(ratios, f"contradictory {n}×{d}", signed(X, y), 2 / 3)
    thin = cone_with_margin(20_000, 50, 1e-16, pairs=20)
    ours, answer = seconds(solve_cone, thin)
    assert answer.verify(thin)
    ratios.add("cone 20,000×50, margin 1e-16: allowed / taken", f"{ours:.2f} s", "seconds", 10 / ours, 1)
    million(ratios)
    wide(ratios)
    real(ratios)


def signed(X: Any, y: Any) -> Any:
    """Write ``y (x, 1)`` as the rows of a cone."""
    if not isinstance(X, np.ndarray):
        ones = sp.csr_array(np.ones((X.shape[0], 1)))
        return sp.csr_array(sp.diags_array(np.where(y > 0, 1.0, -1.0)) @ sp.hstack([X, ones], format="csr"))
    return np.column_stack([X, np.ones(len(X))]) * np.where(y > 0, 1.0, -1.0)[:, None]


def flipped(ratios: Ratios) -> None:
    X, y = flipped_labels(100_000, 100, 0.01)
    ours, proof = seconds(separability, X, y, repeat=3)
    assert isinstance(proof, Inseparable)
    assert proof.verify(X, y)
    theirs, _ = seconds(linprog, signed(X, y))
    _row(ratios, f"100,000×100, 1% flipped: {len(proof.culprits)} culprits", ours, theirs, 20)


def million(ratios: Ratios) -> None:
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
    check, holds = seconds(lambda: proof.verify(A, y, fit_intercept=False), repeat=3)
    assert holds
    one_pass, _ = seconds(scores, A, ExactVector(proof.hyperplanes[0], False), repeat=3)
    product, _ = seconds(lambda: A @ proof.w, repeat=3)
    name = "1,000,000×50, margin 0.01"
    memory = 1 + grown / A.nbytes
    ratios.add(
        f"{name}: twice the data / memory taken", f"{ours:.2f} s", f"{memory:.2f}× the data", 2 / memory, 1
    )
    ratios.add(
        f"{name}: two scoring passes / verifying",
        f"{check * 1e3:.0f} ms",
        f"one pass {one_pass * 1e3:.0f} ms, X @ w {product * 1e3:.0f} ms",
        2 * one_pass / check,
        1,
    )


def bag_of_words(texts: list[str]) -> Any:
    """Count the words of every text: a CSR matrix, one column per word."""
    known: dict[str, int] = {}
    columns, starts = [], [0]
    for text in texts:
        columns += [known.setdefault(word, len(known)) for word in re.findall(r"\S+", text.lower())]
        starts.append(len(columns))
    X = sp.csr_array((np.ones(len(columns)), columns, starts), shape=(len(texts), len(known)))
    X.sum_duplicates()
    return X


def mail_and_messages(folder: Path) -> Any:
    """Yield (name, X, y) of real text: SMS, mail, and the more frequent words of both."""
    with gzip.open(folder / "text" / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t", 1) for line in file if "\t" in line]
    sms = (
        bag_of_words([text for _, text in pairs]),
        np.array([label == "spam" for label, _ in pairs], dtype=int),
    )
    with gzip.open(folder / "text" / "enron_1_3.jsonl.gz", "rt", encoding="utf-8") as file:
        mails = [json.loads(line) for line in file]
    mail = (
        bag_of_words([m["text"] for m in mails]),
        np.array([m["label"] == "spam" for m in mails], dtype=int),
    )
    some = np.random.default_rng(0).choice(len(mails), 1200, replace=False)
    yield "SMS words", *sms
    yield "1,200 mails, words", mail[0][some], mail[1][some]
    yield "mail words", *mail
    for name, (X, y), least in (("SMS", sms, 5), ("mail", mail, 20), ("mail", mail, 200)):
        often = np.bincount(X.indices, minlength=X.shape[1]) >= least
        yield f"{name}, words in {least} or more", X[:, np.flatnonzero(often)], y


def zipf_words(n: int, d: int, words: int = 60, flipped: float = 0.0) -> Any:
    """Make texts of words drawn by Zipf's law, and labels that a hyperplane gives, some of them flipped."""
    rng = np.random.default_rng(0)
    lengths = rng.poisson(words, n) + 1
    chance = np.cumsum(1 / np.arange(1, d + 1) ** 1.05)
    drawn = np.minimum(np.searchsorted(chance / chance[-1], rng.random(lengths.sum())), d - 1)
    X = sp.csr_array((np.ones(len(drawn)), drawn, np.append(0, np.cumsum(lengths))), shape=(n, d))
    X.sum_duplicates()
    scores = X @ rng.standard_normal(d)
    return X, ((scores > np.median(scores)) ^ (rng.random(n) < flipped)).astype(int)


def wide(ratios: Ratios) -> None:
    """Many more columns than rows; HiGHS answers only whether a separator exists, so touching is left open here."""
    cases = [
        ("made words, 2,000 texts", *zipf_words(2000, 40_000)),
        ("made words, 20,000 texts, 2% flipped", *zipf_words(20_000, 69_000, flipped=0.02)),
    ]
    folder = data_folder()
    if folder is None or not (folder / "text").is_dir():
        ratios.left_out("words of mail and SMS", "needs the folder text in ROSENBLATT_DATA")
    else:
        cases += mail_and_messages(folder)
    for name, X, y in cases:
        proof = separability(X, y, touching=False)
        assert proof.verify(X, y)
        A = signed(X, y)
        ours, theirs = best_of(3, lambda X=X, y=y: separability(X, y, touching=False), lambda A=A: linprog(A))
        what = f"{name}, {X.shape[0]:,}×{X.shape[1]:,} sparse: {type(proof).__name__}"
        ratios.add(what, f"{ours * 1e3:,.1f} ms", f"HiGHS {theirs * 1e3:,.1f} ms", theirs / ours, 2 / 3)


Problem = tuple[str, Any, Any]  # name, X, y


def pairs_of_classes(X: Any, y: Any, digits: Any = None) -> Iterator[Problem]:
    """Yield every two classes, or the pairs asked for."""
    classes = np.unique(y).tolist()
    for a, b in digits or [(a, b) for i, a in enumerate(classes) for b in classes[i + 1 :]]:
        rows = np.flatnonzero((y == a) | (y == b))
        yield f"{a} or {b}", X[rows], (y[rows] == b).astype(np.int64)


def one_against_rest(X: Any, y: Any) -> Iterator[Problem]:
    for label in np.unique(y).tolist():
        yield f"{label} or another", X, (y == label).astype(np.int64)


def numeric_table(path: Path) -> tuple[Any, Any]:
    """Read the columns of a CSV file that are numbers, and the labels in the last one."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    rows = rows if _is_number(rows[0][0]) else rows[1:]
    columns = [j for j in range(len(rows[0]) - 1) if all(_is_number(row[j]) for row in rows)]
    X = np.array([[float(row[j]) for j in columns] for row in rows])
    return X, np.array([row[-1] for row in rows])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def standardised(X: Any) -> Any:
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def real_data(ratios: Ratios) -> Iterator[tuple[str, list[Problem]]]:
    """Yield (name, problems) of every real dataset that is here; what is not here is named in the table."""
    folder = data_folder()
    for name in ("sonar", "ionosphere", "banknote_authentication", "iris", "adult_train", "elec"):
        path = None if folder is None else folder / "uci" / f"{name}.csv"
        if path is not None and not path.exists():
            path = (folder / "streams" if name == "elec" else folder / "uci") / f"{name}.csv.gz"
        if path is None or not path.exists():
            ratios.left_out(name, "needs the folders uci and streams in ROSENBLATT_DATA")
        else:
            X, y = numeric_table(path)
            yield name, [*pairs_of_classes(X, y), *([("all classes", X, y)] if name == "iris" else [])]
    try:
        from sklearn import datasets
    except ImportError:
        ratios.left_out("wine, breast cancer, diabetes, digits", "needs scikit-learn")
    else:
        X, y = datasets.load_wine(return_X_y=True)
        yield "wine", [*pairs_of_classes(X, y), ("all classes", X, y)]
        yield "breast cancer", [("", *datasets.load_breast_cancer(return_X_y=True))]
        X, y = datasets.load_diabetes(return_X_y=True)
        yield "diabetes", [("above the median", X, (y > np.median(y)).astype(np.int64))]
        X, y = datasets.load_digits(return_X_y=True)
        yield "digits", [*one_against_rest(X, y), ("even or odd", X, y % 2), ("all classes", X, y)]
        for name in ("heart_scale", "mushrooms", "a9a", "a9a.t", "w8a"):
            path = None if folder is None else folder / "libsvm" / f"{name}.gz"
            if path is None or not path.exists():
                ratios.left_out(name, "needs the folder libsvm in ROSENBLATT_DATA")
            else:
                with gzip.open(path) as file:
                    X, y = datasets.load_svmlight_file(file)
                yield name, [("", sp.csr_array(X), (y == y[0]).astype(np.int64))]
    if folder is None or not (folder / "mnist").is_dir():
        ratios.left_out("MNIST", "needs the folder mnist in ROSENBLATT_DATA")
    else:
        X, y = mnist(folder, "train", np.float64)
        pixels = np.rint(X * 255).astype(np.uint8)
        for pair in ((0, 1), (3, 5), (4, 9)):
            yield "MNIST", list(pairs_of_classes(pixels, y, [pair]))


def scalings(X: Any) -> Iterator[tuple[str, Any]]:
    """Yield X as it is and, where it is dense, as two kinds of floats that use all of their digits."""
    yield "as they are", X
    if isinstance(X, np.ndarray):
        yield "/255", X / 255.0
        yield "standardised", standardised(X)


def demand_rows(X: Any, y: Any) -> Any:
    """Write every demand ``a·w > 0`` as a row: ``y (x, 1)``, or ``(x, 1) ⊗ (e_y − e_c)`` of three classes or more."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 2:
        return sp.csr_array(signed(X, codes))
    extended = sp.csr_array(np.column_stack([X, np.ones(len(X))]))
    parts = []
    for c in range(len(classes)):
        for other in set(range(len(classes))) - {c}:
            block = np.zeros((1, len(classes)))
            block[0, c], block[0, other] = 1.0, -1.0
            parts.append(sp.kron(sp.csr_array(block), extended[codes == c], format="csr"))
    return sp.csr_array(sp.vstack(parts, format="csr"))


def highs(A: Any, solver: str, limit: float) -> bool:
    """Ask HiGHS whether ``A w ≥ 1`` has a solution; return whether it answered within ``limit`` seconds."""
    import highspy

    n, d = A.shape
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = d, n
    program.col_cost_ = np.zeros(d)
    program.col_lower_, program.col_upper_ = np.full(d, -np.inf), np.full(d, np.inf)
    program.row_lower_, program.row_upper_ = np.ones(n), np.full(n, np.inf)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_, program.a_matrix_.index_ = A.indptr, A.indices
    program.a_matrix_.value_ = A.data
    solving = highspy.Highs()
    solving.setOptionValue("output_flag", False)
    solving.setOptionValue("solver", solver)
    solving.setOptionValue("time_limit", limit)
    solving.passModel(program)
    solving.run()
    return bool(solving.getModelStatus() != highspy.HighsModelStatus.kTimeLimit)


def in_turns(X: Any, y: Any) -> tuple[float, float, Any]:
    """Return the least CPU seconds of ours and of HiGHS, both from X and y to the answer, and our answer, verified."""
    proof = separability(X, y, touching=False)
    assert proof.verify(X, y)
    ours, theirs, limit, turn, turns = np.inf, np.inf, LIMIT, 0, 1
    while turn < turns:
        before = time.process_time()
        separability(X, y, touching=False)
        ours = min(ours, time.process_time() - before)
        for solver in ("ipm", "simplex"):
            before, started = time.process_time(), time.perf_counter()
            if highs(demand_rows(X, y), solver, limit):
                theirs = min(theirs, time.process_time() - before)
                limit = min(limit, 2 * (time.perf_counter() - started) + 0.1)  # the slower one need not end
        turn += 1
        turns = int(np.clip(0.3 / (ours + theirs), 1, 50))
    return ours, min(theirs, LIMIT), proof


def real(ratios: Ratios) -> None:
    """Real data: one row per dataset, for the scaling and the classes where ours is slowest beside HiGHS."""
    for dataset, problems in real_data(ratios):
        measured = []
        for classes, X, y in problems:
            for scaling, scaled in scalings(X):
                ours, theirs, proof = in_turns(scaled, y)
                n, d = X.shape
                name = f"{' '.join(filter(None, (dataset, classes)))}, {scaling}, {n:,}×{d}: {type(proof).__name__}"
                measured.append((theirs / ours, name, ours, theirs))
        ratio, name, ours, theirs = min(measured)
        worst = f"{name} (slowest of {len(measured)})" if len(measured) > 1 else name
        ratios.add(worst, f"{ours * 1e3:,.1f} ms", f"HiGHS {theirs * 1e3:,.1f} ms", ratio, 2 / 3)


def main() -> None:
    ratios = Ratios("Proofs against scipy.optimize.linprog (HiGHS) on the whole problem, one run")
    run(ratios)
    ratios.show()


if __name__ == "__main__":
    main()
