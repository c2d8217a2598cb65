"""A parameter that a docstring describes exists; a constructor's parameters are all described where any is."""

import inspect
import re
import warnings

import pytest
from numpydoc.docscrape import NumpyDocString
from tests.docs.places import public_names, value_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a section of our own, which numpydoc does not know
    NumpyDocString.sections = NumpyDocString.sections | {"Guarantee": []}


def documented():
    """Return every public function and class, and every public method that the package defines."""
    seen = {}
    for home, name in public_names():
        value = value_of(home, name)
        if inspect.isclass(value):
            seen[f"{home}.{name}"] = value
            for method, member in inspect.getmembers(value, inspect.isroutine):
                ours = str(getattr(member, "__module__", "")).startswith("rosenblatt")
                if ours and not method.startswith("_"):
                    seen[f"{home}.{name}.{method}"] = member
        elif inspect.isfunction(value):
            seen[f"{home}.{name}"] = value
    return sorted(seen.items())


def names_in(entry):
    """Return the names before the colon: ``coef_, intercept_ : ndarray`` has two; prose has none."""
    return [name.lstrip("*") for name in re.split(r",\s*", entry) if name]


def described_by(value):
    return [
        name
        for parameter in NumpyDocString(inspect.getdoc(value) or "")["Parameters"]
        for name in names_in(parameter.name or parameter.type)
    ]


@pytest.mark.parametrize(
    ("path", "value"), documented(), ids=lambda given: given if isinstance(given, str) else ""
)
def test_described_parameters_exist(path, value):
    described = described_by(value)
    if not described:
        return
    taken = inspect.signature(value).parameters
    unknown = [name for name in described if name not in taken]
    assert not unknown, f"{path} describes {unknown}, but takes {list(taken)}"


@pytest.mark.parametrize(
    ("path", "value"),
    [(path, value) for path, value in documented() if inspect.isclass(value)],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_class_that_describes_parameters_describes_all(path, value):
    described = described_by(value)
    if not described:
        return
    missing = [name for name in inspect.signature(value).parameters if name not in described]
    assert not missing, f"{path} takes {missing}, which its docstring does not describe"
