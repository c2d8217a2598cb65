"""Every public estimator, found by itself: a new one is checked without being listed."""

import inspect

from sklearn.base import BaseEstimator

import rosenblatt

_VALUES = {name: getattr(rosenblatt, name) for name in rosenblatt.__all__}
ESTIMATORS = {
    name: value
    for name, value in _VALUES.items()
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
}
