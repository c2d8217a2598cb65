"""Commands whose options are read as they stand: typer loads pydantic (a twentieth of a second) to read a number.

What is plainly right is taken; whatever is not is left to typer, whose words the user then reads.
"""

import re
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

INTEGER, DECIMAL = re.compile(r"-?\d{1,18}"), re.compile(r"-?\d{1,15}(\.\d{1,15})?(e-?\d{1,2})?")
NOT_PLAIN = object()


class PlainCommand(TyperCommand):
    """A command of typer's that reads plain values by itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, ``--help`` among them."""
        return _plainly(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The same for what stands before the name of a command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, ``--help`` among them."""
        return _plainly(super().get_params(ctx))


def _plainly(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "_runtime_param", 0) is None:  # where typer keeps how a value is read
            param._runtime_param = _Plain()
    return params


class _Plain:
    """Reads the values of one parameter."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = bool(param.multiple or param.nargs == -1)
        found = plain_value(value, param.type_descriptor, several)
        if found is not NOT_PLAIN:
            return found
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def plain_value(value: Any, described: Any, several: bool) -> Any:
    """Return a value as its annotation wants it, or ``NOT_PLAIN``."""
    info = described.parameter_info
    if getattr(info, "min", None) is not None or getattr(info, "max", None) is not None:
        return None if value is None else NOT_PLAIN
    if value is None:
        return () if several else None
    kinds = [kind for kind in _alternatives(described.annotation) if kind is not type(None)]
    if len(kinds) != 1:
        return NOT_PLAIN
    if not several:
        return _one(value, kinds[0])
    if get_args(kinds[0]) == (str,) and not isinstance(value, str) and all(type(v) is str for v in value):
        return list(value)
    return NOT_PLAIN


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _one(value: Any, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return value if type(value) is str and value in get_args(kind) else NOT_PLAIN
    if type(value) is kind:
        return value
    if kind is int and type(value) is str and INTEGER.fullmatch(value):
        return int(value)
    if kind is float and type(value) is str and DECIMAL.fullmatch(value):
        return float(value)
    return NOT_PLAIN
