"""Modules that others load and nobody uses, loaded when somebody does: a command starts a fifth sooner.

scipy copies every name of numpy, and so loads ``numpy.f2py`` and ``numpy.testing``; numba looks for a BLAS in
``scipy.linalg``, and for a parser of configuration files that are not there.
"""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

LATER = ("numpy.f2py", "numpy.testing", "scipy.linalg", "yaml")


class _Later(ModuleType):
    """A module that fills itself the first time it is asked for something that it does not have yet."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # what the import system asks for
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        spec: Any = self.__spec__
        spec.loader.fill(self)
        return getattr(self, name)


class _LoadedLater:  # a Loader: importlib.abc, which says so, takes a seventh of --help to load
    """Makes the module at once; its code runs when it is needed."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Later(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it for later."""

    def fill(self, module: ModuleType) -> None:
        spec: Any = module.__spec__
        spec.loader = module.__loader__ = self._loader
        module.__class__ = ModuleType
        self._loader.exec_module(module)


class _Finder:
    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in LATER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _LoadedLater(spec.loader)  # type: ignore[assignment]  # a Loader in all but name
        return spec


def load_later() -> None:
    """Let the modules of :data:`LATER` be loaded when they are used."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
