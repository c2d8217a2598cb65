"""rosenblatt: learn linear decision boundaries by correcting mistakes, and prove what was learned."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> the module it lives in. Importing rosenblatt loads none of them; using a name loads its own.
_HOME = {
    "MaxMargin": "rosenblatt.linear.max_margin",
    "Perceptron": "rosenblatt.linear.perceptron",
    "add_slack": "rosenblatt.proofs",
    "hinge_bound": "rosenblatt.proofs",
    "mistake_bound": "rosenblatt.proofs",
    "proof_trace": "rosenblatt.learner.trace",
    "rules": "rosenblatt.rules",
    "separability": "rosenblatt.proofs",
    "solve_cone": "rosenblatt.proofs",
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 (the names are strings of the table above)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    module = import_module(_HOME[name])
    value = module if name == _HOME[name].rpartition(".")[2] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
