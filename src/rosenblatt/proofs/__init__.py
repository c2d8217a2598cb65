"""Margins, bounds, separability and cone programs: statements about data that check themselves."""

from importlib import import_module
from typing import Any

# Public name -> the module it lives in; loaded when used, because the learner needs only the bounds.
_HOME = {
    "Feasible": "rosenblatt.proofs.claims",
    "HardMargin": "rosenblatt.proofs.claims",
    "Infeasible": "rosenblatt.proofs.claims",
    "Inseparable": "rosenblatt.proofs.claims",
    "KernelProof": "rosenblatt.proofs.claims",
    "MistakeBound": "rosenblatt.proofs.bounds",
    "Proof": "rosenblatt.proofs.claims",
    "QuasiSeparable": "rosenblatt.proofs.claims",
    "Separable": "rosenblatt.proofs.claims",
    "SoftMargin": "rosenblatt.proofs.claims",
    "Undecided": "rosenblatt.proofs.claims",
    "add_slack": "rosenblatt.proofs.bounds",
    "bound_of": "rosenblatt.proofs.bounds",
    "first_failure": "rosenblatt.proofs.fast_check",
    "from_json": "rosenblatt.proofs.claims",
    "hard_margin": "rosenblatt.proofs.largest_margin",
    "hinge_bound": "rosenblatt.proofs.hinge",
    "kernel_separability": "rosenblatt.proofs.kernel",
    "margin": "rosenblatt.proofs.bounds",
    "margins": "rosenblatt.proofs.bounds",
    "mistake_bound": "rosenblatt.proofs.bounds",
    "radius": "rosenblatt.proofs.bounds",
    "separability": "rosenblatt.proofs.decision",
    "slack_bound": "rosenblatt.proofs.bounds",
    "soft_margin": "rosenblatt.proofs.hinge",
    "solve_cone": "rosenblatt.proofs.decision",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 (the names are strings of the table above)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt.proofs' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
