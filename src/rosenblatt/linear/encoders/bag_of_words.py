"""The transformer ``BagOfWords``: from texts to sparse rows of words."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rosenblatt.data.words import DocumentCounts, Words, count_words


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
    tfidf : bool, default=False
        Weigh a word that occurs ``c`` times by ``(1 + ln c) · (1 + ln((1 + n) / (1 + df)))``, where ``df`` of the ``n``
        fitted texts contain it, and scale every row to length one, as scikit-learn's
        ``TfidfVectorizer(sublinear_tf=True)`` does. With ``binary`` every ``c`` is 1.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of every word; empty where words are hashed.
    n_texts_ : int
        How many texts were fitted; only with ``tfidf``.
    document_frequency_ : ndarray
        In how many of them every feature occurs; only with ``tfidf``.

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
        tfidf: bool = False,
    ) -> None:
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.binary = binary
        self.buckets = buckets
        self.tfidf = tfidf

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
        self._reset()
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add the words of more texts to the vocabulary."""
        words, texts = self._words(), checked_texts(X)
        if not hasattr(self, "vocabulary_"):
            self._reset()
        if self.tfidf or not words.buckets:
            self._count_texts(count_words(texts, words, self.vocabulary_, grow=not words.buckets).X)
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
        return self._weighed(count_words(checked_texts(X), self._words(), self.vocabulary_).X)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the vocabulary and encode the texts, reading each once."""
        words, texts = self._words(), checked_texts(X)
        self._reset()
        counts = count_words(texts, words, self.vocabulary_, grow=not words.buckets).X
        self._count_texts(counts)
        return self._weighed(counts)

    def _reset(self) -> None:
        self.vocabulary_: dict[str, int] = {}
        if self.tfidf:
            self.n_texts_, self.document_frequency_ = 0, np.zeros(0, np.int64)

    def _count_texts(self, counts: Any) -> None:
        """Add the texts of some rows to the document frequencies."""
        if self.tfidf:
            documents = DocumentCounts(self.n_texts_, self.document_frequency_)
            documents.update(counts)
            self.n_texts_, self.document_frequency_ = documents.documents, documents.frequency

    def _weighed(self, counts: Any) -> Any:
        """Return rows weighed by inverse document frequency, each of length one, where that is asked for."""
        if not self.tfidf:
            return counts
        return DocumentCounts(self.n_texts_, self.document_frequency_).tfidf().apply(counts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the words in the order of the columns; ``#0``, ``#1``, … where words are hashed."""
        check_is_fitted(self)
        names = [f"#{bucket}" for bucket in range(self.buckets)] if self.buckets else list(self.vocabulary_)
        return np.array(names, dtype=object)

    def _words(self) -> Words:
        shortest, longest = self.ngrams
        return Words(
            (shortest, longest), self.lowercase, "binary" if self.binary else "counts", self.buckets
        ).check()

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
