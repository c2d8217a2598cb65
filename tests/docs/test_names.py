"""Every public name is in the API reference, and the reference names nothing that is not there."""

import re
from importlib import import_module
from types import ModuleType

import pytest
from tests.docs.places import DOCS, public_names, value_of

from rosenblatt.rules import BY_NAME

REFERENCE = (DOCS / "api.rst").read_text(encoding="utf-8")


def entries():
    """Return (where it is looked up, the value) of every entry of the reference."""
    module, found = "rosenblatt", []
    for line in REFERENCE.splitlines():
        if here := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = here[1]
        elif entry := re.match(r"(?:   |\.\. py:data:: )([\w.]+)$", line):
            found.append((module, entry[1]))
        elif line == ".. every-rule::":
            found += [(module, cls.__name__) for cls in BY_NAME.values()]
    return found


def resolved(module, dotted):
    home, _, name = f"{module}.{dotted}".rpartition(".")
    return getattr(import_module(home), name)


@pytest.mark.parametrize(("module", "name"), entries())
def test_what_the_reference_names_is_there(module, name):
    assert resolved(module, name) is not None
    assert not any(part.startswith("_") for part in f"{module}.{name}".split(".")), "a private name"


@pytest.mark.parametrize(("home", "name"), public_names())
def test_every_public_name_is_in_the_reference(home, name):
    value = value_of(home, name)
    if isinstance(value, ModuleType):  # its own names are listed instead
        assert f".. currentmodule:: {value.__name__}" in REFERENCE
        return
    listed = [(module, entry) for module, entry in entries() if entry.rpartition(".")[2] == name]
    assert any(resolved(module, entry) is value for module, entry in listed), (
        f"{home}.{name} is public but not in docs/api.rst: add it to its section"
    )


@pytest.mark.parametrize(("home", "name"), public_names())
def test_every_public_function_and_class_has_a_docstring(home, name):
    value = value_of(home, name)
    if callable(value):
        assert value.__doc__, f"{home}.{name} has no docstring"
