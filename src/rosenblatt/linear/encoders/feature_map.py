"""Feature maps: data that no hyperplane separates, moved to where one does."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.validation import check_is_fitted, validate_data

KINDS = ("squares", "products", "polynomial")


class FeatureMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """``φ(x)``: the features themselves, and what is made of them.

    No always-one feature is added: the bias is the learner's. Sparse rows stay sparse (a function gets what
    comes and may return either).

    Parameters
    ----------
    kind : str or callable, default="polynomial"
        ``squares``: every feature and its square; ``products``: every feature and every product of ``degree``
        or fewer different ones; ``polynomial``: every monomial of degree 1 to ``degree``; a function of the whole
        matrix that returns another with as many rows.
    degree : int, default=2
        Of the products or the polynomial.
    names : list of str, optional
        Names for what a function returns; ``phi0``, ``phi1``, … by default.

    Attributes
    ----------
    n_features_in_, n_features_out_ : int

    Examples
    --------
    >>> FeatureMap("squares").fit_transform([[1.0, -2.0]])
    array([[ 1., -2., 1., 4.]])
    >>> FeatureMap().fit([[1.0, -2.0]]).get_feature_names_out()
    array(['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2'], dtype=object)
    """

    def __init__(
        self,
        kind: str | Callable[[Any], Any] = "polynomial",
        *,
        degree: int = 2,
        names: list[str] | None = None,
    ) -> None:
        self.kind = kind
        self.degree = degree
        self.names = names

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how many features come in and go out."""
        if not callable(self.kind) and self.kind not in KINDS:
            raise ValueError(f"kind must be a function or one of {', '.join(KINDS)}, got {self.kind!r}")
        if not isinstance(self.degree, int | np.integer) or self.degree < 1:
            raise ValueError(f"degree must be 1 or more, got {self.degree!r}")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if self.kind in ("products", "polynomial"):
            self._polynomial = PolynomialFeatures(
                int(self.degree), interaction_only=self.kind == "products", include_bias=False
            ).fit(X)
            self.n_features_out_ = int(self._polynomial.n_output_features_)
        else:
            self.n_features_out_ = int(self._mapped(X).shape[1])
        if self.names is not None and len(self.names) != self.n_features_out_:
            raise ValueError(f"names holds {len(self.names)} names for {self.n_features_out_} features")
        return self

    def transform(self, X: Any) -> Any:
        """Return ``φ(x)`` for every row."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        mapped = self._polynomial.transform(X) if self.kind in ("products", "polynomial") else self._mapped(X)
        if mapped.shape[1] != self.n_features_out_:
            raise ValueError(
                f"kind returned {mapped.shape[1]} features, but {self.n_features_out_} when it was fitted"
            )
        return csr_array(mapped) if _is_sparse(mapped) else mapped

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return names such as ``x0^2`` and ``x0 x1``."""
        check_is_fitted(self)
        names_in = OneToOneFeatureMixin.get_feature_names_out(self, input_features)  # as they came
        if self.names is not None:
            return np.array(self.names, dtype=object)
        if callable(self.kind):
            return np.array([f"phi{place}" for place in range(self.n_features_out_)], dtype=object)
        if self.kind == "squares":
            return np.array([*names_in, *(f"{name}^2" for name in names_in)], dtype=object)
        return np.asarray(self._polynomial.get_feature_names_out(names_in), dtype=object)

    def _mapped(self, X: Any) -> Any:
        if self.kind == "squares":
            return hstack([X, X.multiply(X)], format="csr") if _is_sparse(X) else np.hstack([X, X * X])
        assert callable(self.kind)
        mapped: Any = self.kind(X)
        mapped = mapped if _is_sparse(mapped) else np.asarray(mapped, dtype=np.float64)
        if mapped.ndim != 2 or mapped.shape[0] != X.shape[0]:
            raise ValueError(f"kind must return {X.shape[0]} rows of features, got shape {mapped.shape}")
        return mapped

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")
