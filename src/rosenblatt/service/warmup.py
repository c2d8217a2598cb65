"""Compile the loops that a model needs before a request waits for them; later starts on the machine only load them.

The server warms up the default rule and the rules of its stored models before it is ready. Another rule is compiled by
a child process, since compiling holds the interpreter; this process only loads the result.
"""

import itertools
import logging
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from llvmlite import binding

from rosenblatt.jit import CodeCache
from rosenblatt.service.model import Model
from rosenblatt.service.schemas import ModelSettings

log = logging.getLogger("rosenblatt.service")
LABELS = "aabcc"  # one class, two classes, and several
COMPILE_SECONDS = 300.0
HYPOTHESES: tuple[Literal["averaged", "last"], ...] = ("averaged", "last")
MULTI_CLASS: tuple[Literal["joint", "ovr"], ...] = ("joint", "ovr")
_ready: set[str] = set()  # rules whose machine code this process has loaded
_preparing = threading.Lock()  # one at a time: compiling takes all of a core
_code = CodeCache("rehearsed", "core", "rules", "learner", "streams", "service")


def is_ready(settings: ModelSettings) -> bool:
    """Whether a model with these settings learns and predicts without compiling or loading anything."""
    return settings.rule in _ready


def rehearse(served: Iterable[ModelSettings] = ()) -> int:
    """Compile by training throw-away models with the default rule and every rule that is served; return how many rules.

    >>> rehearse([ModelSettings(rule="margin"), ModelSettings(rule="margin", classes=["x", "y"])])
    2
    """
    rules = {each.rule: each for each in [ModelSettings(), *served]}
    for settings in rules.values():
        if settings.rule in _ready:
            continue
        for hypothesis, multi_class in itertools.product(HYPOTHESES, MULTI_CLASS):
            plain = ModelSettings(
                rule=settings.rule,
                parameters=settings.parameters,
                hypothesis=hypothesis,
                multi_class=multi_class,
            )
            model = Model(0, "rehearsal", plain)
            for seq, label in enumerate(LABELS):
                model.learn(seq, {"x": 1.0, "y": float(seq)}, label)
                model.predict({"x": 1.0})
        _ready.add(settings.rule)
    return len(rules)


def prepare(settings: ModelSettings) -> None:
    """Make a rule ready, from any thread: compile it in a child process unless that was done before, and load it."""
    with _preparing:
        if is_ready(settings):
            return
        mark = _mark(settings)
        if mark is not None and not mark.exists():
            log.info("compiling in a child process", extra={"rule": settings.rule})
            try:
                subprocess.run(
                    [sys.executable, "-P", "-m", __name__, msgspec.json.encode(settings).decode()],
                    check=True,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=COMPILE_SECONDS,
                )
                mark.parent.mkdir(parents=True, exist_ok=True)  # not there where the code came with the wheel
                mark.touch()
            except (OSError, subprocess.SubprocessError) as error:  # it is compiled here, beside the loop
                log.warning("the child process failed", extra={"rule": settings.rule, "reason": str(error)})
        rehearse([settings])


def _mark(settings: ModelSettings) -> Path | None:
    """Return the file that says that a rule was compiled for this version on this processor; None without a cache."""
    folder = _code.folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder / f"{settings.rule}-{binding.get_host_cpu_name()}"


if __name__ == "__main__":
    rehearse([msgspec.json.decode(sys.argv[1], type=ModelSettings)])
