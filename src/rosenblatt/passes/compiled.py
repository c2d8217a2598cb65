"""How the hot loops are compiled. A pass is also made of the rules it was specialised on, in ``rules/``."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

from rosenblatt.machine_code import MachineCode

MACHINE_CODE = MachineCode("compiled", "rules", "passes", "core")
# NaN and infinity must stay visible, so never "nnan" or "ninf".
FASTMATH = {"reassoc", "nsz", "contract", "arcp"}

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a hot loop: the GIL released, sums free to be reordered, machine code kept on disk."""
    return MACHINE_CODE.compiled(function, fastmath=FASTMATH)


def compiled_part(function: F) -> F:
    """Compile a function that only compiled loops call: its code becomes part of theirs, on disk too.

    It has no cache of its own, so that it may take a rule: the code of a rule defined elsewhere must not be stored.
    """
    part: F = numba.njit(nogil=True, fastmath=FASTMATH, _nrt=False)(function)
    return part


def exactly_compiled(function: F) -> F:
    """Compile a hot loop whose floating-point operations run in the order they are written (IEEE 754)."""
    return MACHINE_CODE.compiled(function)


def compiled_for_rules(function: F) -> F:
    """Compile a hot loop that takes a rule as its first argument and makes no array of its own.

    Rules of this package come from the disk cache. A rule defined elsewhere is compiled once a process:
    its source is not part of the cache's name, and a stale step would be a wrong one.
    """
    # Without `_nrt` numba counts references for every row it looks at: ten atomic operations a visit.
    return _for_rules(function, {"fastmath": FASTMATH, "_nrt": False})


def compiled_around_rules(function: F) -> F:
    """Compile what wraps such a loop (its ``compiled`` attribute) and makes arrays for it."""
    return _for_rules(function, {"fastmath": FASTMATH})


def _for_rules(function: F, options: dict[str, Any]) -> F:
    kept = MACHINE_CODE.compiled(function, **options)
    fresh = numba.njit(nogil=True, **options)(function)

    def run(rule: Any, *arguments: Any) -> Any:
        ours = type(rule).__module__.startswith("rosenblatt.rules.")
        return (kept if ours else fresh)(rule, *arguments)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.compiled = kept  # type: ignore[attr-defined]  # what other compiled functions call
    return run  # type: ignore[return-value]
