"""The transformer ``BagOfWords``: from texts to sparse rows of words."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rosenblatt.data.words import Words, count_words


class BagOfWords(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode texts as sparse rows, one feature per word; :meth:`partial_fit` extends the vocabulary.

    Words enter the vocabulary in order of appearance, so that any split into batches gives the same features, and
    the columns of earlier words do not change. A word is a sequence of letters, digits and their combining marks in
    any script; an apostrophe joins two (``don't``).

    Parameters
    ----------
    ngrams : (int, int), default=(1, 1)
        The smallest and the largest number of consecutive words that make a feature.
    lowercase : bool, default=True
        Convert texts to lower case first.
    binary : bool, default=True
        The value of a word is 1 where it occurs; with False it is the number of its occurrences.
    buckets : int, default=0
        Hash words into this many features instead of storing a vocabulary (CRC-32, the same on every machine).

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of every word; empty where words are hashed.

    Examples
    --------
    >>> bag = BagOfWords().fit(["free prize"])
    >>> bag.partial_fit(["free call"]).get_feature_names_out()
    array(['free', 'prize', 'call'], dtype=object)
    >>> bag.transform(["Free! FREE! and unheard of"]).toarray()
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        *,
        ngrams: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        binary: bool = True,
        buckets: int = 0,
    ) -> None:
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.binary = binary
        self.buckets = buckets

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary of the texts; an earlier vocabulary is discarded.

        Parameters
        ----------
        X : iterable of str
        y : ignored

        Returns
        -------
        self
        """
        self.vocabulary_: dict[str, int] = {}
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add the words of more texts to the vocabulary."""
        words, texts = self._words(), checked_texts(X)
        if not hasattr(self, "vocabulary_"):
            self.vocabulary_ = {}
        if not words.buckets:
            count_words(texts, words, self.vocabulary_, grow=True)
        return self

    def transform(self, X: Any) -> Any:
        """Encode texts; words that are not in the vocabulary are ignored.

        Parameters
        ----------
        X : iterable of str

        Returns
        -------
        csr_array of shape (texts, features)
        """
        check_is_fitted(self)
        return count_words(checked_texts(X), self._words(), self.vocabulary_).X

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the vocabulary and encode the texts, reading each once."""
        words, texts = self._words(), checked_texts(X)
        self.vocabulary_ = {}
        return count_words(texts, words, self.vocabulary_, grow=not words.buckets).X

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the words in the order of the columns; ``#0``, ``#1``, … where words are hashed."""
        check_is_fitted(self)
        names = [f"#{bucket}" for bucket in range(self.buckets)] if self.buckets else list(self.vocabulary_)
        return np.array(names, dtype=object)

    def _words(self) -> Words:
        shortest, longest = self.ngrams
        return Words((shortest, longest), self.lowercase, self.binary, self.buckets).check()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def checked_texts(X: Any) -> list[str]:
    """Return texts as a list of strings; raise ValueError where one is not a string.

    >>> checked_texts("one text")
    Traceback (most recent call last):
    ValueError: X is one text: give a list of texts, [X] for this one
    """
    if isinstance(X, str | bytes):
        raise ValueError("X is one text: give a list of texts, [X] for this one")  # noqa: TRY004
    if not isinstance(X, Iterable):
        raise ValueError(f"X must be a list of texts, got {type(X).__name__}")  # noqa: TRY004
    texts = X.tolist() if isinstance(X, np.ndarray) else list(X)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"X has {text!r:.40} in row {row}, not a text: a text is a string")  # noqa: TRY004
    return texts
