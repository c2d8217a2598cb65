"""Training where the data are: threads in this process, Dask, Spark. An engine is imported when it is used."""

from importlib import import_module
from typing import Any

_HOME = {
    "evaluate_dask": "rosenblatt.engines.dask",
    "evaluate_spark": "rosenblatt.engines.spark",
    "fit_dask": "rosenblatt.engines.dask",
    "fit_local": "rosenblatt.engines.local",
    "fit_spark": "rosenblatt.engines.spark",
    "predict_dask": "rosenblatt.engines.dask",
    "transform_dask": "rosenblatt.engines.dask",
    "transform_spark": "rosenblatt.engines.spark",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 (the names are strings of the table above)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt.engines' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
