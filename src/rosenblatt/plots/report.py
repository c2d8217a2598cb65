"""A report: one HTML file that needs no network, written all at once."""

import base64
import io
import os
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.estimate import Bound, Estimate, fraction, given_percent, percent, percent_span
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.learner.scoring import decided
from rosenblatt.plots import page
from rosenblatt.plots.boundary import boundary
from rosenblatt.plots.canvas import PIP
from rosenblatt.plots.comparison import HEADS
from rosenblatt.plots.comparison import comparison as draw_comparison
from rosenblatt.plots.convergence import convergence
from rosenblatt.plots.ledger import ledger
from rosenblatt.plots.lemmas import lemmas
from rosenblatt.plots.probabilities import calibration, roc
from rosenblatt.plots.style import THEMES
from rosenblatt.storage import replacing

TOP = 15  # features in the chart of weights
MOST_CLASSES = 30  # in a confusion matrix
MOST_COLUMNS = 8  # classes that have a column each in the chart of weights
MOST_WRONG = 8  # rows listed as wrong


class HeldOut(NamedTuple):
    """Rows that the model that predicted them was not trained on."""

    labels: NDArray[Any]  # true
    predicted: NDArray[Any]
    probabilities: NDArray[np.float64] | None = None  # (rows, classes)
    numbers: NDArray[Any] | None = None  # how each row is called: its line in the file, say


class Report:
    """A page about a model, its data and how far it can be trusted.

    Parameters
    ----------
    title : str
    model : fitted linear classifier or learner, optional
        The best of the comparison by default.
    X, y : array-like, optional
        Examples the model is shown on: standardised weights, pictures, and the confusion matrix where nothing was
        held out.
    estimate : Estimate, optional
        Figures on rows that were not learned from (:mod:`rosenblatt.learner.estimate`).
    held_out : HeldOut, optional
        Those rows, for the errors and the probabilities.
    certificate : Bound, optional
        A bound on the error of this model.
    columns : sequence of ColumnReport, optional
        How the columns of a table were read.
    comparison : Comparison, optional
        The table of learners.
    proof : optional
        A proof of separability or of its absence.
    feature_names : sequence of str, optional
        Where the model has none of its own.
    about : str
        What the examples are, such as ``"adult.csv"``.
    command : str
        The command that repeats the training.
    """

    def __init__(
        self,
        title: str = "rosenblatt report",
        *,
        model: Any = None,
        X: Any = None,
        y: Any = None,
        estimate: Estimate | None = None,
        held_out: HeldOut | None = None,
        certificate: Bound | None = None,
        columns: Sequence[Any] | None = None,
        comparison: Any = None,
        proof: Any = None,
        feature_names: Sequence[str] | None = None,
        about: str = "",
        command: str = "",
    ) -> None:
        if model is None and comparison is not None and comparison.models:
            model = comparison.best
        self.title = title
        self.model = None if model is None else as_estimator(model)
        self.X, self.y = X, None if y is None else np.asarray(y)
        self.estimate, self.held_out, self.certificate = estimate, held_out, certificate
        self.columns = columns
        self.comparison = comparison
        self.proof = proof
        self.feature_names = feature_names
        self.about = about
        self.command = command

    def to_html(self) -> str:
        """Return the page."""
        sections = [
            page.Section("How the columns were read", self._columns()),
            page.Section("Which columns matter", self._features()),
            page.Section("Where it errs", self._errors()),
            page.Section("Can its probabilities be believed?", self._probabilities()),
            page.Section("Learners compared", self._compared(), wide=True),
            page.Section("Is it separable?", self._proved(), wide=True),
            page.Section("How it learned", self._pictures(), wide=True),
        ]
        return page.page(
            self.title, self._subtitle(), self._summary(), [each for each in sections if each.html]
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page beside the path, flush it to disk, and move it into place."""
        content = self.to_html().encode()
        with replacing(path) as file:
            file.write(content)

    def _subtitle(self) -> str:
        parts = [self.about] if self.about else []
        if self.model is not None:
            parts.append(type(self.model).__name__.removesuffix("Face"))
        if self.command:
            parts.append(self.command)
        return " · ".join(parts)

    def _summary(self) -> str:
        """Return the top of the page: what was learned from what, and how well it does, in sentences and figures."""
        cards, sentences = [], []
        size = _size(self.X, self.comparison)
        if size is not None:
            n, p = size
            classes = [] if self.model is None else [str(label) for label in self.model.classes_]
            shown = ", ".join(classes[:6]) + (" …" if len(classes) > 6 else "")
            telling = f" to tell {len(classes)} classes apart: {escape(shown)}" if classes else ""
            sentences.append(f"Learned from {_counted(n, 'row')} with {_counted(p, 'feature')}{telling}.")
            cards.append(page.Card(f"{n:,}", "rows learned from"))
        figures = self.estimate
        best = None if self.comparison is None else self.comparison.rows[0]
        if best is not None and not best.note and figures is None:
            sentences.append(
                f"{escape(best.learner)} is right on <strong>{percent(best.accuracy)}</strong> of held-out rows "
                f"({self.comparison.folds} folds), the most of {_counted(len(self.comparison.models), 'learner')}: as "
                "the best of several figures it is somewhat too high."
            )
            cards.insert(
                0, page.Card(percent(best.accuracy, short=True), "right on held-out rows", best.learner)
            )
        if figures is not None:
            span = percent_span(figures.low, figures.high)
            doubt = "" if figures.better_than_majority else " It is not shown to be better than that."
            sentences.append(
                f"It is right on <strong>{percent(figures.accuracy)}</strong> of rows that were not learned from "
                f"({escape(figures.how)}; {given_percent(figures.confidence)} interval {span}). Always answering "
                f"“{escape(str(figures.majority))}” would be right on {percent(figures.majority_accuracy)}.{doubt}"
            )
            cards.insert(0, page.Card(percent(figures.accuracy, short=True), "right on new rows", span))
            cards.insert(
                1,
                page.Card(
                    percent(figures.majority_accuracy, short=True),
                    "right by the majority class",
                    f"always “{figures.majority}”",
                ),
            )
        elif self.model is not None and self.X is not None and self.y is not None:
            right = float(np.mean(self.model.predict(self.X) == self.y))
            sentences.append(
                f"It is right on {percent(right)} of the {_counted(self.y.size, 'row')} shown here, which it may have "
                "learned from: this is no estimate for new rows."
            )
        if self.certificate is not None:
            bound = self.certificate
            sentences.append(f"{escape(str(bound)[:1].upper() + str(bound)[1:])}.")
            cards.insert(
                1,
                page.Card(
                    f"≤ {percent(bound.error, rounding='up', short=True)}",
                    "wrong on new rows",
                    f"{given_percent(bound.confidence)} confidence",
                ),
            )
        if figures is not None and self.proof is None:
            sentences += self._separated()
        if self.proof is not None:
            verdict = type(self.proof).__name__
            words = {
                "Separable": "yes",
                "Inseparable": "no",
                "QuasiSeparable": "only with rows on the boundary",
            }
            cards.append(page.Card(words.get(verdict, "undecided"), "separable by a hyperplane"))
        return page.summary(sentences, cards)

    def _separated(self) -> list[str]:
        """Return a sentence about the rows learned from; none where there is no hyperplane."""
        if self.model is None or not hasattr(self.model, "coef_") or self.X is None or self.y is None:
            return []
        wrong = int(np.sum(np.asarray(self.model.predict(self.X)) != self.y))
        if wrong:
            rows = f"{wrong:,} of the {_counted(self.y.size, 'row')} learned from"
            return [
                f"Its boundary does not separate the classes: {rows} "
                f"{'lies' if wrong == 1 else 'lie'} on the wrong side."
            ]
        return ["Its boundary separates the classes: every row learned from lies on its own side."]

    def _columns(self) -> str:
        return "" if not self.columns else page.columns_table(self.columns)

    def _compared(self) -> str:
        if self.comparison is None:
            return ""
        words = (
            f"<p>Accuracy, its spread and the mistakes are of held-out rows in {self.comparison.folds} folds. "
            "Losses and margin are means and minimum over all rows, at ‖w‖ = 1; seconds, one fit on all rows.</p>"
        )
        table = page.comparison_table(self.comparison, HEADS)
        if not self.comparison.models:
            return words + table
        picture_of = "held-out accuracy of every learner"
        drawn = self._figure(lambda theme: draw_comparison(self.comparison, theme=theme), picture_of)
        return f"{words}{table}{drawn}"

    def _features(self) -> str:
        if self.model is None or not hasattr(self.model, "coef_"):
            return ""
        from rosenblatt.learner.explain import names_or_numbers

        weights = np.asarray(self.model.coef_, dtype=np.float64)
        names = self.feature_names
        if names is None:
            names = getattr(self.model, "feature_names_in_", None)
        names = names_or_numbers(names, weights.shape[1])
        deviations = None if self.X is None else column_deviations(self.X)
        words = "Weights of the features as they are"
        if deviations is not None and deviations.size == weights.shape[1]:
            weights = weights * deviations
            words = "Each bar is a weight times the standard deviation of its feature"
        top = np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:TOP]
        top = top[np.abs(weights[:, top]).max(axis=0) > 0.0]
        classes = [str(label) for label in self.model.classes_]
        more = f" The {top.size} largest of {weights.shape[1]:,}." if weights.shape[1] > top.size else ""
        return page.weight_chart(
            [names[j] for j in top], weights[:, top], classes, MOST_COLUMNS, f"{words}.{more}"
        )

    def _errors(self) -> str:
        held = self.held_out
        if held is not None:
            labels, predicted = held.labels, held.predicted
            right = int((predicted == labels).sum())
            words = f"{right:,} of {_counted(labels.size, 'row')} not learned from are right."
        elif self.model is not None and self.X is not None and self.y is not None:
            labels, predicted = self.y, self.model.predict(self.X)
            right = int((predicted == labels).sum())
            words = (
                f"{right:,} of the {_counted(labels.size, 'row')} shown here are right; "
                "it may have learned from them."
            )
        else:
            return ""
        distinct = np.unique(np.concatenate([np.asarray(labels), np.asarray(predicted)]))
        if self.model is not None and held is None:
            distinct = np.union1d(np.asarray(self.model.classes_), labels)
        html = f"<p>{escape(words)}</p>"
        if distinct.size <= MOST_CLASSES:
            counts = np.zeros((distinct.size, distinct.size), np.int64)
            np.add.at(counts, (np.searchsorted(distinct, labels), np.searchsorted(distinct, predicted)), 1)
            html += page.confusion_table(distinct.tolist(), counts)
        return html + self._confident_errors()

    def _confident_errors(self) -> str:
        """Return the wrong rows that the model was surest of."""
        held = self.held_out
        if held is None or held.probabilities is None:
            return ""
        wrong = np.flatnonzero(held.predicted != held.labels)
        if not wrong.size:
            return "<p>No new row was predicted wrongly.</p>"
        sure = held.probabilities[wrong].max(axis=1)
        first = wrong[np.argsort(-sure, kind="stable")[:MOST_WRONG]]
        rows = np.arange(1, held.labels.size + 1) if held.numbers is None else held.numbers
        return page.wrong_rows_table(
            [
                (
                    str(rows[at]),
                    str(held.labels[at]),
                    str(held.predicted[at]),
                    float(held.probabilities[at].max()),
                )
                for at in first
            ],
            "row" if held.numbers is None else "line",
        )

    def _probabilities(self) -> str:
        held = self.held_out
        if held is None or held.probabilities is None or self.model is None:
            return ""
        probabilities, classes = held.probabilities, np.asarray(self.model.classes_)
        if classes.size == 2:
            happened, probability = held.labels == classes[1], probabilities[:, 1]
            event = f"the class is “{classes[1]}”"
            drawings = [
                (lambda theme: calibration(happened, probability, theme=theme), "calibration"),
                (lambda theme: roc(happened, probability, theme=theme), "ROC curve"),
            ]
        else:
            happened = classes[np.argmax(probabilities, axis=1)] == held.labels
            probability = probabilities.max(axis=1)
            event = "the most probable class is the true one"
            drawings = [(lambda theme: calibration(happened, probability, theme=theme), "calibration")]
        words = f"The event is that {event}. On the dotted line, 80% probable means right in 80% of the rows."
        if self.estimate is not None and self.estimate.log_loss == self.estimate.log_loss:
            words += (
                f" Log loss {fraction(self.estimate.log_loss)}, Brier score {fraction(self.estimate.brier)}."
            )
        figures = "".join(self._figure(draw, name) for draw, name in drawings)
        return f'<p>{escape(words)}</p><div class="pictures">{figures}</div>'

    def _pictures(self) -> str:
        if self.model is None:
            return ""
        model, figures = self.model, []
        if self.X is not None and self.y is not None and self.X.shape[1] == 2:
            figures.append(
                self._figure(lambda theme: boundary(model, self.X, self.y, theme=theme), "the boundary")
            )
        learner = getattr(model, "learner_", None)
        if isinstance(model, KernelPerceptronFace):
            return f'<div class="pictures">{"".join(figures)}</div>' if figures else ""
        if hasattr(model, "mistakes_") and len(model.mistakes_):
            figures.append(self._figure(lambda theme: convergence(model, theme=theme), "mistakes over time"))
        updates = getattr(learner, "ledger", None)
        if updates is not None and len(updates):
            if self._has_lemmas():
                trace = model.trace((model.coef_, model.intercept_))
                words = "the two lemmas of the mistake bound"
                figures.append(self._figure(lambda theme: lemmas(trace, theme=theme), words))
            figures.append(self._figure(lambda theme: ledger(model, theme=theme), "the ledger", table=True))
        return f'<div class="pictures">{"".join(figures)}</div>' if figures else ""

    def _has_lemmas(self) -> bool:
        model: Any = self.model
        return bool(
            getattr(model, "converged_", False)
            and len(model.classes_) == 2
            and hasattr(model, "trace")
            and model.margin_ > 0.0
            and model.hypothesis != "voted"
        )

    def _proved(self) -> str:
        if self.proof is None:
            return ""
        return (
            f"<p><strong>{escape(type(self.proof).__name__)}</strong></p><pre>{escape(str(self.proof))}</pre>"
        )

    def _figure(self, draw: Callable[[str], Any], words: str, table: bool = False) -> str:
        return page.figure({theme: picture(draw, theme) for theme in THEMES}, words, table)


def column_deviations(X: Any) -> NDArray[np.float64]:
    """Return the standard deviation of every column of a dense or sparse matrix.

    >>> column_deviations(np.array([[1.0, 0.0], [3.0, 0.0]]))
    array([1., 0.])
    """
    if hasattr(X, "tocsc"):
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0), dtype=np.float64).ravel()
        return np.sqrt(np.maximum(square - mean * mean, 0.0))
    return np.asarray(np.std(np.asarray(X, dtype=np.float64), axis=0))


def _size(X: Any, comparison: Any) -> tuple[int, int] | None:
    if X is not None:
        return int(X.shape[0]), int(X.shape[1])
    return None if comparison is None else (comparison.n_rows, comparison.n_features)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def write_report(path: str | os.PathLike[str], title: str = "rosenblatt report", **what: Any) -> None:
    """Write one self-contained HTML file; takes what :class:`Report` takes.

    >>> import pathlib, tempfile
    >>> from rosenblatt import Perceptron
    >>> X, y = np.array([[2.0, 1.0], [-1.0, -2.0]]), np.array(["in", "out"])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
    >>> write_report(path, "Two points", model=Perceptron().fit(X, y), X=X, y=y)
    >>> path.read_text()[:15]
    '<!doctype html>'
    """
    Report(title, **what).write(path)


class KernelPerceptronFace:
    """A kernel learner with the attributes of an estimator that pictures read."""

    def __init__(self, learner: KernelLearner) -> None:
        self.learner_, self.classes_ = learner, learner.classes
        self.n_features_in_ = learner.n_features
        self.mistakes_ = np.array([epoch.mistakes for epoch in learner.epochs])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores by the averaged hypothesis."""
        return np.asarray(self.learner_.scores(X, "averaged"))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row."""
        return np.asarray(decided(self.decision_function(X), self.classes_))


def as_estimator(model: Any) -> Any:
    """Return a learner with the face of an estimator; an estimator as it is."""
    if hasattr(model, "decision_function"):
        return model
    if isinstance(model, KernelLearner):
        return KernelPerceptronFace(model)
    if hasattr(model, "epochs"):  # the learner of a Perceptron
        from rosenblatt.linear.perceptron import Perceptron

        face = Perceptron(model.rule, multi_class=model.multi_class, fit_intercept=bool(model.bias_input))
        face.learner_, face.classes_ = model, model.classes
        face.n_features_in_, face.n_iter_ = model.n_features, len(model.epochs)
        return face
    from rosenblatt.linear.hyperplane import Hyperplane

    weights = model.weights()
    return Hyperplane(weights[:, 1:], weights[:, 0], model.classes)


def picture(draw: Callable[[str], Any], theme: str) -> str:
    """Draw without a display, and return the picture as a data address (SVG, its text as paths)."""
    try:
        import matplotlib as mpl
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(PIP) from error
    target = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "rosenblatt", "backend": "svg"}):
        figure = np.ravel(draw(theme))[0].get_figure()
        figure.savefig(target, format="svg", metadata={"Date": None}, facecolor=figure.get_facecolor())
        plt.close(figure)
    return "data:image/svg+xml;base64," + base64.b64encode(target.getvalue()).decode()
