"""Accuracy of the default beside scaled logistic regression, of a choice beside an SVM, and the time of folds.

Same rows and folds for all; times beside accuracies.
"""

import csv
import gzip
import json
import random
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.measure import Ratios, data_folder, milliseconds, mnist
from rosenblatt import Perceptron, PerceptronCV, rules
from rosenblatt.data import read_all
from rosenblatt.learner import Learner
from rosenblatt.learner.examples import CheckedExamples, checked_examples, max_row_sqnorm
from rosenblatt.learner.models import TrainingOptions, trainer
from rosenblatt.learner.models.options import passes_for, with_default_rule
from rosenblatt.learner.scoring import decided
from rosenblatt.learner.selection import Folds, Trial, holdout, out_of_fold, stratified_folds

LARGE = 5000  # rows from which one fifth is held out, instead of five folds
FEW = 1000  # rows of a set on which kernels are compared
DEFAULT = rules.PassiveAggressive(C=0.1)  # what ``fit`` learns tables by

Table = tuple[str, np.ndarray, np.ndarray]


def small_sets() -> Iterator[Table]:
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, *getattr(datasets, f"load_{name}")(return_X_y=True)
    yield "moons", *datasets.make_moons(600, noise=0.25, random_state=0)
    for number, (n, d, classes) in enumerate(((300, 20, 2), (1000, 30, 3), (2000, 10, 4))):
        options = {"n_informative": d // 2, "n_classes": classes, "flip_y": 0.05, "random_state": number}
        yield f"mixture {number + 1}", *datasets.make_classification(n, d, **options)
    folder = data_folder()
    if folder is not None:
        for name in ("sonar", "ionosphere", "banknote_authentication"):
            cells = np.genfromtxt(folder / "uci" / f"{name}.csv", delimiter=",", dtype=str)
            with np.errstate(all="ignore"):
                numeric = np.char.isnumeric(np.char.replace(np.char.lstrip(cells[0], "-"), ".", ""))
            rows = cells if numeric[0] else cells[1:]
            yield name, rows[:, :-1].astype(float), rows[:, -1]
        X, y = datasets.load_svmlight_file(str(folder / "libsvm" / "heart_scale.gz"))
        yield "heart", X.toarray(), y


def curved_sets() -> Iterator[Table]:
    """Sets that no hyperplane divides well."""
    yield "circles", *datasets.make_circles(600, noise=0.15, factor=0.5, random_state=0)
    yield (
        "quantiles",
        *datasets.make_gaussian_quantiles(n_samples=800, n_features=6, n_classes=3, random_state=1),
    )
    yield "hastie", *datasets.make_hastie_10_2(2000, random_state=1)


def large_sets(folder: Path) -> Iterator[Table]:
    X, y = datasets.load_svmlight_file(str(folder / "libsvm" / "a9a.gz"))
    yield "a9a", X.toarray(), y
    yield "adult", *_adult(folder / "uci" / "adult_train.csv.gz")
    with gzip.open(folder / "streams" / "elec.csv.gz", "rt") as lines:
        cells = np.array([line.strip().split(",") for line in lines][1:])
    yield "elec", cells[:, :-1].astype(float), cells[:, -1]
    X, y = mnist(folder, "train", np.float64)
    yield "MNIST, 10,000 rows", X[:10_000], y[:10_000]


def _adult(path: Path) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    table = pd.read_csv(path, skipinitialspace=True, header=None)
    return pd.get_dummies(table.iloc[:, :-1]).to_numpy(float), table.iloc[:, -1].astype(str).to_numpy()


def folds_of(y: np.ndarray) -> tuple[Folds, np.ndarray]:
    labels = np.unique(y, return_inverse=True)[1]
    return (stratified_folds(labels, 5, 7) if y.size < LARGE else holdout(labels, 0.2, 7)), labels


def compared(
    X: np.ndarray, y: np.ndarray, models: dict[str, object], losses: bool = False
) -> dict[str, list[float]]:
    """Return mean accuracy, mean log loss and seconds of training of every model, scaled, on the same folds."""
    folds, labels = folds_of(y)
    figures: dict[str, list[list[float]]] = {name: [] for name in models}
    for k in range(folds.number):
        train, test = folds.train(k), folds.test(k)
        for name, model in models.items():
            pipeline = make_pipeline(StandardScaler(), model)
            if not k:
                pipeline.fit(X[train], labels[train])  # compiles
            start = time.process_time()
            pipeline.fit(X[train], labels[train])
            seconds = time.process_time() - start
            loss = log_loss(labels[test], pipeline.predict_proba(X[test])) if losses else np.nan
            figures[name].append([pipeline.score(X[test], labels[test]), loss, seconds])
    return {name: np.mean(each, axis=0).tolist() for name, each in figures.items()}


def default_against_logistic_regression() -> None:
    ratios = Ratios("the default on standardised columns against scaled LogisticRegression, in one thread")
    folder = data_folder()
    sets = [*small_sets(), *([] if folder is None else large_sets(folder))]
    differences = []
    for name, X, y in sets:
        models = {
            "ours": Perceptron(DEFAULT, max_iter=passes_for(y.size), keep_ledger=False),
            "theirs": LogisticRegression(max_iter=1000),
        }
        with threadpool_limits(1):  # threads of a busy machine wait for each other, and their waiting counts
            mine, peer = compared(X, y, models).values()
        differences.append(mine[0] - peer[0])
        what = f"{name} ({X.shape[0]:,} × {X.shape[1]}): accuracy {mine[0]:.4f} against {peer[0]:.4f}; time"
        ratios.add(what, milliseconds(mine[2]), milliseconds(peer[2]), peer[2] / mine[2], 0.0)
    mean = 100 * float(np.mean(differences))
    ratios.add("mean difference of accuracy, points", f"{mean:+.2f}", "0.00", 1.0 + mean / 100, 1.0)
    if folder is None:
        ratios.left_out("adult, a9a, elec, MNIST", "ROSENBLATT_DATA is not set")
    ratios.show()


def choice_against_svm() -> None:
    ratios = Ratios("PerceptronCV against scaled SVC and LogisticRegressionCV")
    rows = []
    for name, X, y in [*small_sets(), *curved_sets()]:
        models = {
            "ours": PerceptronCV(standardise=False),
            "SVC": SVC(),
            "LogisticRegressionCV": LogisticRegressionCV(max_iter=1000),
        }
        mine, svm, logistic = compared(X[:FEW], y[:FEW], models).values()
        rows.append((mine[0], svm[0], logistic[0]))
        ratios.note(
            f"{name}: {mine[0]:.4f}, SVC {svm[0]:.4f}, LogisticRegressionCV {logistic[0]:.4f}; {mine[2]:.1f} s"
        )
    mine, svm, logistic = 100 * np.mean(rows, axis=0)
    ratios.add("mean accuracy / SVC's less 0.3 points", f"{mine:.2f}", f"{svm:.2f}", mine / (svm - 0.3), 1.0)
    ratios.add(
        "mean accuracy / LogisticRegressionCV's and two points",
        f"{mine:.2f}",
        f"{logistic:.2f}",
        mine / (logistic + 2),
        1.0,
    )
    X, y = datasets.make_classification(5000, 20, n_informative=10, n_classes=3, flip_y=0.05, random_state=0)
    PerceptronCV().fit(X[:200], y[:200])  # compiles
    start = time.process_time()
    ours = PerceptronCV().fit(X, y)
    middle = time.process_time()
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1.0, 10.0, 100.0, 1000.0]}, cv=5
    )
    grid.fit(X, y)
    mine, peer = middle - start, time.process_time() - middle
    ratios.add(
        f"5,000 rows: PerceptronCV (score {ours.best_score_:.4f}) / GridSearchCV(SVC) ({grid.best_score_:.4f})",
        f"{mine:.1f} s",
        f"{peer:.1f} s",
        peer / mine,
        1.0,
    )
    ratios.show()


def probabilities() -> None:
    ratios = Ratios("log loss: Platt scaling on out-of-fold scores")
    models = {
        "ours": Perceptron(DEFAULT, max_iter=passes_for(FEW), probability=True),
        "LogisticRegression": LogisticRegression(max_iter=1000),
        "CalibratedClassifierCV": CalibratedClassifierCV(TheirPerceptron()),
    }
    rows = []
    for name, X, y in small_sets():
        losses = [each[1] for each in compared(X, y, models, losses=True).values()]
        rows.append(losses)
        ratios.note(
            f"{name}: {losses[0]:.3f}, LogisticRegression {losses[1]:.3f}, calibrated {losses[2]:.3f}"
        )
    ours, *others = np.mean(rows, axis=0)
    for name, other in zip([*models][1:], others, strict=True):
        ratios.add(f"mean log loss / that of {name}", f"{ours:.4f}", f"{other:.4f}", other / ours, 1.0)
    ratios.show()


def texts() -> None:
    """Compare the default on text with tf-idf and LinearSVC: accuracy on a fifth held out, and from file to model."""
    ratios = Ratios(
        "text, from file to model: fit by AROW on tf-idf rows against TfidfVectorizer and LinearSVC"
    )
    folder = data_folder()
    if folder is None:
        ratios.left_out("texts", "ROSENBLATT_DATA is not set")
        ratios.show()
        return
    with tempfile.TemporaryDirectory() as place:
        for name, rows in text_sets(folder):
            random.Random(0).shuffle(rows)
            cut, train = len(rows) * 4 // 5, Path(place, "train.csv")
            with train.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("label", "text"), *rows[:cut]])
            held_out, labels = [text for _, text in rows[cut:]], np.array([label for label, _ in rows[cut:]])
            mine, peer = _our_texts(train, held_out, labels), _their_texts(train, held_out, labels)
            what = f"{name}, {len(rows):,} rows: accuracy {mine[0]:.4f} against {peer[0]:.4f}; time"
            ratios.add(what, milliseconds(mine[1]), milliseconds(peer[1]), peer[1] / mine[1], 1.0)
            behind = 100 * (mine[0] - peer[0])
            ratios.add(
                "difference of accuracy, points / -0.5",
                f"{behind:+.2f}",
                "-0.50",
                1.0 + (behind + 0.5) / 100,
                1.0,
            )
    ratios.show()


def text_sets(folder: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    with gzip.open(folder / "text" / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        yield "text messages", [(a, b) for a, _, b in (line.rstrip("\n").partition("\t") for line in file)]
    with gzip.open(folder / "text" / "enron_1_3.jsonl.gz", "rt", encoding="utf-8") as file:
        mails = [json.loads(line) for line in file]
    plain = str.maketrans("\r\n\0", "   ")
    yield "mail, spam", [(mail["label"], mail["text"].translate(plain)) for mail in mails]
    ham = [mail for mail in mails if mail["label"] == "ham"]
    yield "mail, whose box", [(mail["box"], mail["text"].translate(plain)) for mail in ham]


def _our_texts(train: Path, held_out: list[str], labels: np.ndarray) -> tuple[float, float]:
    """Return accuracy and processor seconds from file to model."""
    options = TrainingOptions(ledger="none")
    test = train.with_name("test.csv")
    with test.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("label", "text"), *zip(labels, held_out, strict=True)])
    times = []
    for _ in range(3):  # the first compiles
        start = time.process_time()
        data = read_all(train, target="label", text=("text",))
        rows = with_default_rule(options, data.schema)
        model = trainer(rows)(rows, data.X, data.y, None, lambda *_: True)
        times.append(time.process_time() - start)
    rows_of_test = read_all(test, schema=data.schema)
    scores = model.scores(rows_of_test.X, model.hypothesis)
    return float((decided(scores, model.classes) == labels).mean()), min(times)


def _their_texts(train: Path, held_out: list[str], labels: np.ndarray) -> tuple[float, float]:
    csv.field_size_limit(1 << 30)
    times = []
    for _ in range(3):
        start = time.process_time()
        with train.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
        words = TfidfVectorizer(sublinear_tf=True)
        model = LinearSVC().fit(words.fit_transform([text for _, text in rows]), [label for label, _ in rows])
        times.append(time.process_time() - start)
    return float(model.score(words.transform(held_out), labels)), min(times)


def cost_of_folds() -> None:
    ratios = Ratios("out-of-fold scores of five folds against five fits, CPU time, five epochs")
    rng = np.random.default_rng(0)
    for n, d in ((60_000, 200), (12_000, 1000), (2000, 20)):
        X = rng.normal(size=(n, d))
        y = X @ rng.normal(size=d) + rng.normal(size=n) * np.sqrt(d) / 4 > 0
        examples = checked_examples(X, y)
        folds = stratified_folds(examples.labels, 5)
        trial = Trial(lambda: Learner("passive-aggressive", keep_ledger=False), max_iter=5)

        def separately(examples=examples, folds=folds, trial=trial) -> None:
            for k in range(5):
                rows = folds.train(k)
                X = examples.X[rows]
                part = CheckedExamples(X, examples.classes, examples.labels[rows], None, max_row_sqnorm(X))
                learner = trial.new_learner()
                learner.train_checked(part, max_iter=5)
                learner.scores(examples.X[folds.test(k)])

        seconds = []
        for work in (partial(out_of_fold, examples, folds, trial), separately):
            work()
            times = []
            for _ in range(3):
                start = time.process_time()
                work()
                times.append(time.process_time() - start)
            seconds.append(min(times))
        ratios.add(f"{n:,} × {d}", *map(milliseconds, seconds), seconds[1] / seconds[0], 1.0)
    ratios.show()


def main() -> None:
    warnings.simplefilter("ignore")
    cost_of_folds()
    default_against_logistic_regression()
    choice_against_svm()
    probabilities()
    texts()
