"""The same learners where the data are: threads in this process, Dask, Spark. An engine is imported when it is used."""

from importlib import import_module
from typing import Any

_HOME = {
    "evaluate_dask": "rosenblatt.engines.on_dask",
    "evaluate_spark": "rosenblatt.engines.on_spark",
    "fit_dask": "rosenblatt.engines.on_dask",
    "fit_local": "rosenblatt.engines.fitting",
    "fit_spark": "rosenblatt.engines.on_spark",
    "predict_dask": "rosenblatt.engines.on_dask",
    "transform_dask": "rosenblatt.engines.on_dask",
    "transform_spark": "rosenblatt.engines.on_spark",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 (the names are strings of the table above)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt.engines' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
