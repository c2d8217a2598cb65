"""The transformer ``FeatureMap``: squares, products and polynomials of the features."""

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
    """A feature map ``φ(x)``: the features, and functions of them that a hyperplane may need.

    No constant feature is added: the classifier learns a bias. Sparse rows stay sparse; a function receives dense or
    sparse rows as they were given and may return either.

    Parameters
    ----------
    kind : str or callable, default="polynomial"
        ``squares``: every feature and its square; ``products``: every feature and every product of at most ``degree``
        different ones; ``polynomial``: every monomial of degree 1 to ``degree``; or a function of the whole matrix
        that returns a matrix with the same number of rows.
    degree : int, default=2
        Degree of the products or of the polynomial.
    names : list of str, optional
        Names of the columns that a function returns; ``phi0``, ``phi1``, … by default.

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
        """Learn the number of input and output features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
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
        """Return ``φ(x)`` for every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        mapped = self._polynomial.transform(X) if self.kind in ("products", "polynomial") else self._mapped(X)
        if mapped.shape[1] != self.n_features_out_:
            raise ValueError(
                f"the function given as kind returned {mapped.shape[1]} features, but {self.n_features_out_} in fit"
            )
        return csr_array(mapped) if _is_sparse(mapped) else mapped

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the mapped features, such as ``x0^2`` and ``x0 x1``."""
        check_is_fitted(self)
        names_in = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        if self.names is not None:
            return np.array(self.names, dtype=object)
        if callable(self.kind):
            return np.array([f"phi{j}" for j in range(self.n_features_out_)], dtype=object)
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
            raise ValueError(
                f"the function given as kind must return {X.shape[0]} rows of features, got shape {mapped.shape}"
            )
        return mapped

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")
