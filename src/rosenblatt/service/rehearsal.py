"""Learn once before anybody waits for it: loops are then loaded, or compiled the first time on a machine."""

from collections.abc import Iterable

from msgspec.structs import replace

from rosenblatt.service.messages import ModelSettings
from rosenblatt.service.model import Model

LABELS = "aabcc"  # one class, two classes, and several


def rehearse(served: Iterable[ModelSettings] = ()) -> int:
    """Let throw-away models learn and predict as those that are served do, and one made by default; return how many.

    Inside a request this would hold up every other one for seconds.

    >>> rehearse([ModelSettings(rule="margin"), ModelSettings(rule="margin", classes=["x", "y"])])
    2
    """
    every = [ModelSettings(), *served]
    kinds = {(each.rule, each.hypothesis, each.multi_class): each for each in every}
    for settings in kinds.values():
        model = Model(0, "rehearsal", replace(settings, labels="text", classes=[], hash_bits=0))
        for seq, label in enumerate(LABELS):
            model.learn(seq, {"x": 1.0, "y": float(seq)}, label)
            model.predict({"x": 1.0})
    return len(kinds)
