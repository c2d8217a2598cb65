"""The online learner inside river: its pipelines, its metrics, its ``progressive_val_score``.

``from rosenblatt.streams.river import RiverLearner``; its parameters are those of ``OnlineLearner``.
"""

from functools import cache
from importlib import import_module
from typing import Any

from rosenblatt.streams.online import OnlineLearner


@cache
def _river_learner() -> type:
    """Create the class on first use: nothing else needs river."""
    try:
        base: Any = import_module("river.base")
    except ImportError as error:
        raise ImportError("river is not installed: pip install river") from error

    class RiverLearner(base.Classifier):  # type: ignore[misc, unused-ignore]
        """A river classifier over :class:`~rosenblatt.streams.online.OnlineLearner`, with its parameters."""

        def __init__(
            self,
            hypothesis: str = "averaged",
            rule: str | None = None,
            multi_class: str = "joint",
            fit_intercept: bool = True,
            hash_bits: int = 0,
            forget: float | None = None,
            seed: int = 0,
            scale: bool | None = None,
        ) -> None:
            self.hypothesis = hypothesis
            self.rule = rule
            self.multi_class = multi_class
            self.fit_intercept = fit_intercept
            self.hash_bits = hash_bits
            self.forget = forget
            self.seed = seed
            self.scale = scale
            self._learner = OnlineLearner(
                hypothesis,
                rule=rule,
                multi_class=multi_class,
                fit_intercept=fit_intercept,
                hash_bits=hash_bits,
                forget=forget,
                seed=seed,
                scale=scale,
            )

        @property
        def _multiclass(self) -> bool:
            return True

        def learn_one(self, x: dict[Any, Any], y: Any) -> None:
            """Learn from an example."""
            self._learner.learn_one(x, y)

        def learn_many(self, X: Any, y: Any) -> None:
            """Learn from a data frame, exactly as from its rows one after the other."""
            self._learner.learn_many(X, y)

        def predict_one(self, x: dict[Any, Any], **more: Any) -> Any:
            """Return the class of an example."""
            return self._learner.predict_one(x)

        def predict_many(self, X: Any) -> Any:
            """Return the classes of a data frame."""
            import pandas as pd

            return pd.Series(self._learner.predict_many(X), index=X.index)

        def predict_proba_one(self, x: dict[Any, Any], **more: Any) -> dict[Any, float]:
            """Return the probability of every class."""
            return self._learner.predict_proba_one(x)

    RiverLearner.__qualname__ = "RiverLearner"  # the name that pickle looks up
    return RiverLearner


def __getattr__(name: str) -> Any:
    if name != "RiverLearner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _river_learner()
