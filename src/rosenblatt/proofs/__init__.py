"""Margins, bounds, separability and cone programs: statements about data that check themselves."""

from rosenblatt.proofs.bounds import MistakeBound, bound_of, margin, mistake_bound, radius
from rosenblatt.proofs.inseparable import Inseparable, QuasiSeparable
from rosenblatt.proofs.proof import Proof, from_json
from rosenblatt.proofs.separability import separability
from rosenblatt.proofs.separable import Separable, Undecided

__all__ = [
    "Inseparable",
    "MistakeBound",
    "Proof",
    "QuasiSeparable",
    "Separable",
    "Undecided",
    "bound_of",
    "from_json",
    "margin",
    "mistake_bound",
    "radius",
    "separability",
]
