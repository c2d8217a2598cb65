"""The online learner: examples as dicts, one at a time, with an open vocabulary and open classes."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.single import NOT_FINITE
from rosenblatt.data.json_lines import flattened
from rosenblatt.data.labels import exact_labels
from rosenblatt.data.named_schema import NamedSchema
from rosenblatt.learner.explain import Explanation, explain_row
from rosenblatt.streams.laying import Example
from rosenblatt.streams.model_file import load_stream, save_stream
from rosenblatt.streams.named_learner import NamedLearner
from rosenblatt.streams.names import NameSketch


class OnlineLearner(NamedLearner):
    """Learns from one example at a time; an example is a dict of named features.

    A number counts as it is; text becomes ``name=value``; true is 1, false and None are nothing. Features and classes
    are taken in as they appear.

    Parameters
    ----------
    hypothesis : what predicts: ``"averaged"``, ``"last"``, or, from a ledger that grows with every update,
        ``"voted"``, ``"survivor"``, ``"random"``
    rule, multi_class, fit_intercept, seed : as of :class:`~rosenblatt.learner.Learner`
    hash_bits : hash names into ``2**hash_bits`` features instead of keeping a vocabulary
    forget : half-life of the average in examples, for streams that drift; None weighs all alike

    Notes
    -----
    **Guarantee.** ``learn_many`` leaves exactly the weights that ``learn_one`` on the same examples leaves, and both
    those of the batch learner on the same rows in the same order.

    Examples
    --------
    >>> learner = OnlineLearner("averaged")
    >>> learner.learn_one({"free": 2, "offer": 1}, "spam")
    >>> learner.learn_one({"lunch": 1, "at": "noon"}, "ham")
    >>> learner.predict_one({"free": 1}), learner.predict_one({"at": "noon"})
    ('spam', 'ham')
    """

    def __init__(
        self,
        hypothesis: str = "averaged",
        *,
        rule: Any = "rosenblatt",
        multi_class: str = "joint",
        fit_intercept: bool = True,
        hash_bits: int = 0,
        forget: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            hypothesis,
            rule=rule,
            multi_class=multi_class,
            fit_intercept=fit_intercept,
            forget=forget,
            seed=seed,
        )
        self.hash_bits = hash_bits
        self._set_vocabulary(NamedSchema(bits=hash_bits), NameSketch())
        if hash_bits:
            self.add_features(1 << hash_bits)
        self._forget_desk()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in order of appearance; none where they are hashed."""
        return self._vocabulary.names

    # One example

    def predict_one(self, x: Example) -> Any:
        """Return the class of an example; the first class where none is ahead, None before any is known."""
        if x != self._held:
            if not self.simple or not self.labels:
                return self._scored(x)[0] if self.labels else None
            self._lay(x, False)
        code = self._predict(self._address)
        return self._answers[code] if code != NOT_FINITE else self._refuse([x])

    def learn_one(self, x: Example, y: Any, weight: float = 1.0) -> None:
        """Learn from an example: predict, compare, move as the rule says."""
        truth = self._truth_of.get(y)
        if truth is None:
            flattened({str(key): value for key, value in x.items()})  # a bad example brings no class
            truth = self._meet_one(y)
        if weight != 1.0 or not self.simple:
            self._learn_slowly(x, y, weight)
            return
        if x != self._whole:
            self._lay(x, True)
        self._truth_there[0] = truth
        if self._learn(self._rule, self._geometry, self._address) == NOT_FINITE:
            self._refuse([x])
        if self.forget is None:
            self.rows += 1
        else:
            self._passed(1)

    def predict_proba_one(self, x: Example) -> dict[Any, float]:
        """Return a number for every class, one in all: the logistic of the scores.

        They are probabilities in earnest under the rule ``logistic`` only.
        """
        if len(self.labels) < 2:
            return dict.fromkeys(self.labels, 1.0)
        scores = self._scored(x)[1]
        if scores.size == 1:
            scores = np.array([0.0, scores[0]])
        odds = np.exp(scores - scores.max())
        return dict(zip(self.labels, (odds / odds.sum()).tolist(), strict=False))

    def explain_one(self, x: Example, label: Any = None, against: Any = None) -> Explanation:
        """Say what every feature of an example added to its score."""
        n = max(len(self._vocabulary), 0)
        row = self._matrix(self._rows([x], grow=False), n)
        weights = self.learner.weights("averaged" if self.hypothesis == "averaged" else "last")
        names: Sequence[str] = self.names
        if self.hash_bits:  # the example at hand knows its names, also where two of them share a feature
            called = [f"#{place}" for place in range(n)]
            for name in flattened({str(key): value for key, value in x.items()}):
                place = self._vocabulary.place(name)
                called[place] = name if called[place].startswith("#") else f"{called[place]} + {name}"
            names = called
        return explain_row(
            weights[:, : n + 1], row, self.learner.classes, names, label=label, against=against
        )

    def top_features(self, most: int = 20) -> dict[str, float | dict[Any, float]]:
        """Return the features with the largest weights by name, the largest first: their weight, or one for each class.

        Hashed features are called by the name that was heard for them most of the time.
        """
        weights = self.learner.weights("averaged" if self.hypothesis == "averaged" else "last")
        size = np.abs(weights[:, 1:]).max(axis=0)
        order = np.argsort(-size, kind="stable")[:most]
        names = self.names
        told: dict[str, float | dict[Any, float]] = {}
        for at in order[size[order] > 0].tolist():
            name = self._sketch.name(at) if self.hash_bits else names[at]
            each = weights[:, 1 + at].tolist()
            told[name] = each[0] if len(each) == 1 else dict(zip(self.labels, each, strict=True))
        return told

    # Many examples

    def learn_many(self, X: Any, y: Iterable[Any], sample_weight: Any = None) -> Self:
        """Learn from many examples, exactly as from one after the other.

        ``X`` is a data frame, an Arrow table or a dict of columns, which is fast, or a list of dicts.
        """
        X = X if hasattr(X, "__len__") else list(X)
        rows = self._rows(X, grow=True)
        labels = exact_labels(y if hasattr(y, "__len__") else list(y))
        self._truth_of = {}
        self._sketch.prune(self.learner.W)
        if not self.simple:
            if not np.isfinite(rows.values).all():
                self._refuse(X)
            self.learn_rows(self._matrix(rows, len(self._vocabulary)), labels, sample_weight)
            return self
        self.add_features(len(self._vocabulary))
        if not self._learn_block(rows, labels, sample_weight):
            self._refuse(X)
        return self

    def predict_many(self, X: Any) -> NDArray[Any]:
        """Return the classes of many examples."""
        X = X if hasattr(X, "__len__") else list(X)
        rows = self._rows(X, grow=False)
        if not np.isfinite(rows.values).all():
            self._refuse(X)
        return self.learner.predict(self._matrix(rows, self.learner.n_features), self.hypothesis)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, all or nothing; reading it back goes on as if it had never stopped."""
        schema = NamedSchema(() if self.hash_bits else self.names, self.hash_bits)
        save_stream(self, path, schema, {"online": True}, self._sketch if self.hash_bits else None)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote, or the command ``stream``."""
        found, schema, told = load_stream(path, cls)
        if not isinstance(schema, NamedSchema):
            raise ValueError(f"{path}: the features of this model have no names")  # noqa: TRY004 (a file, not a type)
        found.hash_bits = schema.bits
        found._set_vocabulary(schema, told["names"])
        return found

    # Inside

    def _learn_slowly(self, x: Example, y: Any, weight: float) -> None:
        self.learn_many([x], [y], None if weight == 1.0 else [weight])

    def _scored(self, x: Example) -> tuple[Any, NDArray[np.float64]]:
        row = self._matrix(self._rows([x], grow=False), self.learner.n_features)
        if not self.learner.clock:
            return self.labels[0], np.zeros(len(self.labels))
        scores = np.atleast_1d(self.learner.scores(row, self.hypothesis)[0])
        return self.learner.predict(row, self.hypothesis).tolist()[0], scores
