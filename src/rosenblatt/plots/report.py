"""A report: one HTML file that needs no network, written all at once."""

import base64
import io
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rosenblatt.plots import page
from rosenblatt.plots.boundary import boundary
from rosenblatt.plots.canvas import PIP
from rosenblatt.plots.comparison import HEADS
from rosenblatt.plots.comparison import comparison as draw_comparison
from rosenblatt.plots.convergence import convergence
from rosenblatt.plots.ledger import ledger
from rosenblatt.plots.lemmas import lemmas
from rosenblatt.plots.style import THEMES
from rosenblatt.storage import replacing

TOP = 12  # features named for each class
MOST_CLASSES = 30  # in a confusion matrix


class Report:
    """What is known about a model on data, ready to be read.

    Parameters
    ----------
    title : str
    model : a fitted linear classifier, or a learner; the best of the comparison by default
    X, y : examples the model is shown on: for the confusion matrix and the pictures
    comparison : a ``Comparison``, for the table of learners
    proof : a proof of separability or of its absence
    feature_names : where the model has none of its own
    about : what the examples are, such as ``"held-out rows of adult.csv"``
    """

    def __init__(
        self,
        title: str = "rosenblatt report",
        *,
        model: Any = None,
        X: Any = None,
        y: Any = None,
        comparison: Any = None,
        proof: Any = None,
        feature_names: Sequence[str] | None = None,
        about: str = "",
    ) -> None:
        if model is None and comparison is not None and comparison.models:
            model = comparison.best
        self.title = title
        self.model = None if model is None else as_estimator(model)
        self.X, self.y = X, None if y is None else np.asarray(y)
        self.comparison = comparison
        self.proof = proof
        self.feature_names = feature_names
        self.about = about

    def to_html(self) -> str:
        """Return the page."""
        sections = [
            ("Learners compared", self._compared()),
            (f"What {self._name()} looks for", self._features()),
            ("Where it errs", self._confusion()),
            ("How it learned", self._pictures()),
            ("Proof", self._proved()),
        ]
        return page.page(self.title, self._subtitle(), [(head, text) for head, text in sections if text])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page beside the path, flush it to disk, and move it into place."""
        content = self.to_html().encode()
        with replacing(path) as file:
            file.write(content)

    def _name(self) -> str:
        return type(self.model).__name__ if self.model is not None else "the model"

    def _subtitle(self) -> str:
        told = [self.about] if self.about else []
        if self.X is not None:
            told.append(f"{self.X.shape[0]:,} rows, {self.X.shape[1]:,} features")
        elif self.comparison is not None:
            told.append(f"{self.comparison.n_rows:,} rows, {self.comparison.n_features:,} features")
        if self.model is not None:
            told.append(f"{len(self.model.classes_)} classes")
        return " · ".join(told)

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
        told = "held-out accuracy of every learner"
        drawn = self._figure(lambda theme: draw_comparison(self.comparison, theme=theme), told)
        return words + table + drawn

    def _features(self) -> str:
        if self.model is None or not hasattr(self.model, "coef_"):
            return ""
        from rosenblatt.learner.explain import explain_model

        weights = np.column_stack([self.model.intercept_, self.model.coef_])
        names = self.feature_names
        if names is None:
            names = getattr(self.model, "feature_names_in_", None)
        return page.feature_tables(explain_model(weights, self.model.classes_, names, TOP))

    def _confusion(self) -> str:
        if self.model is None or self.X is None or self.y is None:
            return ""
        predicted = self.model.predict(self.X)
        labels = np.union1d(np.asarray(self.model.classes_), self.y)
        right = f"<p>{(predicted == self.y).mean():.2%} of {self.y.size:,} rows are right.</p>"
        if labels.size > MOST_CLASSES:
            return right
        counts = np.zeros((labels.size, labels.size), np.int64)
        np.add.at(counts, (np.searchsorted(labels, self.y), np.searchsorted(labels, predicted)), 1)
        return right + page.confusion_table(labels.tolist(), counts)

    def _pictures(self) -> str:
        if self.model is None:
            return ""
        model, found = self.model, []
        if self.X is not None and self.y is not None and self.X.shape[1] == 2:
            found.append(
                self._figure(lambda theme: boundary(model, self.X, self.y, theme=theme), "the boundary")
            )
        learner = getattr(model, "learner_", None)
        if hasattr(model, "mistakes_") and len(model.mistakes_):
            found.append(self._figure(lambda theme: convergence(model, theme=theme), "mistakes over time"))
        kept = getattr(learner, "ledger", None)
        if kept is not None and len(kept):
            if self._has_lemmas():
                trace = model.trace((model.coef_, model.intercept_))
                words = "the two lemmas of the mistake bound"
                found.append(self._figure(lambda theme: lemmas(trace, theme=theme), words))
            found.append(self._figure(lambda theme: ledger(model, theme=theme), "the ledger"))
        return f'<div class="pictures">{"".join(found)}</div>' if found else ""

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
        from html import escape

        return (
            f"<p><strong>{escape(type(self.proof).__name__)}</strong></p><pre>{escape(str(self.proof))}</pre>"
        )

    def _figure(self, draw: Callable[[str], Any], words: str) -> str:
        return page.figure({theme: picture(draw, theme) for theme in THEMES}, words)


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


def as_estimator(model: Any) -> Any:
    """Return a learner with the face of an estimator; an estimator as it is."""
    if hasattr(model, "decision_function"):
        return model
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
