"""Which rows a kernel estimator takes, and how they are checked: numpy, CSR, data frames, tensors on any device."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from rosenblatt.data.labels import exact_if_listed
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.learner.kernel.device import is_foreign, to_numpy
from rosenblatt.linear.base import INPUT
from rosenblatt.linear.epoch_trained import effective_weight


class RowsFromAnywhere:
    """Tensors stay where they are and are checked by the learner; the rest is checked as scikit-learn does."""

    kernel: Any
    device: str | None
    class_weight: Any
    n_features_in_: int
    learner_: KernelLearner

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        reset, y = reset or self._is_wider(X), exact_if_listed(y)
        if is_foreign(X):
            y = column_or_1d(to_numpy(y) if is_foreign(y) else y, warn=True)
            if X.ndim == 2 and not X.shape[0]:
                raise ValueError("X has no rows: there is nothing to learn from")
            if reset:
                self.n_features_in_ = int(X.shape[1]) if X.ndim == 2 else 0
        else:
            X, y = validate_data(self, X, y, reset=reset, **INPUT)
        check_classification_targets(y)
        return X, y

    def _is_wider(self, X: Any) -> bool:
        """Return whether this is a batch of a Gram matrix with columns for examples that came since the last one."""
        shape = tuple(getattr(X, "shape", ()))
        if not (isinstance(self.kernel, str) and self.kernel == "precomputed" and len(shape) == 2):
            return False
        return bool(shape[1] > self.n_features_in_ and shape[1] >= self.learner_.rows_seen + shape[0])

    def _rows(self, X: Any) -> Any:
        return X if is_foreign(X) else validate_data(self, X, reset=False, **INPUT)

    def _weights(self, y: NDArray[Any], sample_weight: Any) -> NDArray[np.float64] | None:
        here = to_numpy(sample_weight) if is_foreign(sample_weight) else sample_weight
        return effective_weight(y, here, self.class_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self.device is None
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
