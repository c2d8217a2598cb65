"""Proofs that are false, or about another claim than the caller's, are refused by both verifiers."""

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from tests.proofs.mutations import small_table

from rosenblatt.proofs import (
    Feasible,
    Infeasible,
    Inseparable,
    KernelProof,
    Separable,
    Undecided,
    checker,
    first_failure,
    from_json,
    hard_margin,
    kernel_separability,
    separability,
    soft_margin,
    solve_cone,
)

XOR, XOR_LABELS = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
HALF = (Fraction(1, 2), Fraction(1, 2))


def both(proof, X, y, **claim):
    """Return whether the proof is accepted, by the fast verifier and by the small checker alike."""
    fast = first_failure(proof, X, y, **claim) is None
    try:
        checker.check(checker.load_proof(proof.to_json()), small_table(X, y), **claim)
        small = True
    except (checker.Refused, TypeError, AttributeError):
        small = False
    assert fast == small
    return fast


def test_a_separator_of_constraints_is_none_of_labelled_rows():
    forged = Separable(
        classes=(1,),
        fit_intercept=True,
        n_rows=4,
        n_features=2,
        hyperplanes=((Fraction(0), Fraction(0), Fraction(1)),),
        margin=1.0,
        radius=2.0,
        bound=4.0,
        rows=(0, 1, 2, 3),
        least=Fraction(1),
    )
    assert both(forged, XOR, [1, 1, 1, 1])  # one class: true
    assert not both(forged, XOR, XOR_LABELS)
    assert not both(forged, XOR, None)
    assert not both(dataclasses.replace(forged, classes=()), XOR, None)


def test_infeasible_speaks_of_constraints_without_classes():
    A = [[1.0], [1.0]]
    for classes in ((0, 1), (1,), ()):
        forged = Infeasible(classes, False, 2, 1, rows=(0, 1), weights=HALF)
        assert not both(forged, A, [0, 1], fit_intercept=False)
        assert not both(forged, A, None)
    true = Infeasible((), False, 2, 1, rows=(0, 1), weights=HALF)
    assert both(true, [[1.0], [-1.0]], None)
    assert not both(true, [[1.0], [-1.0]], [1, 1], fit_intercept=False)
    w = Feasible((), False, 2, 1, hyperplanes=((Fraction(1),),))
    assert both(w, A, None)
    assert not both(w, A, [1, 1], fit_intercept=False)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "change",
    [
        {"upper": -1.0},
        {"upper": 0.0},
        {"lower": 1e300},
        {"lower": float("nan")},
        {"lower": float("inf"), "upper": float("inf")},
        {"weights": 1e-162},
        {"weights": 0},
        {"weights": -1},
        {"least": 1e200},
        {"least": Fraction(10**200)},
        {"rows": ()},
    ],
    ids=str,
)
def test_bounds_that_are_not_bounds(change, classes):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 2)).tolist(), (np.arange(40) % classes).tolist()
    proof = separability(X, y, time_limit=0.0)
    assert isinstance(proof, Undecided)
    assert both(proof, X, y)
    if "weights" in change:
        value = change["weights"]
        weights = [Fraction(value) if isinstance(value, int) else value] * len(proof.weights)
        change = {"weights": tuple(weights)}
    assert not both(dataclasses.replace(proof, **change), X, y)


def test_labels_are_compared_exactly():
    X, big = [[0.0], [1.0], [2.0]], 2**53
    y = [big, big + 1, big]
    proof = separability(X, y)
    assert isinstance(proof, Inseparable)
    assert both(proof, X, y)
    assert separability(X, [float(big), big + 1, big]).classes == (big, big + 1)
    merged = separability(X, [big, big, big])
    for labels in (y, [float(big), big + 1, big]):
        assert not both(merged, X, labels)
    assert not merged.verify(X, np.array(y))
    assert not merged.verify(X, np.array(y, dtype=np.uint64))
    assert (
        separability([[0.0], [1.0]], np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)).classes[1]
        == 2**64 - 1
    )


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "a\0"],
        ["a", "b\0c"],
        [1, "1"],
        [True, 1],
        [True, 2],
        [False, 0.0],
        [1.0, float("nan")],
        [1.0, float("inf")],
        [b"a", b"b"],
        [None, "a"],
        [Fraction(1, 3), 1],
        np.array([1, 2], dtype="datetime64[s]"),
        np.array([b"a", b"b"]),
        np.array(["a\0b", "c"]),
        np.array(["a", None], dtype=object),
        np.array([1, "1"], dtype=object),
    ],
    ids=repr,
)
def test_labels_that_cannot_be_told_apart_exactly_are_refused(labels):
    X = [[0.0], [1.0]]
    with pytest.raises(ValueError, match=r"label"):
        separability(X, labels)
    proof = separability(X, ["a", "b"])
    assert not proof.verify(X, labels)


def test_true_is_not_one_but_one_is_one_point_zero():
    X = [[0.0], [1.0]]
    proof = separability(X, [0, 1])
    assert both(proof, X, [0.0, 1.0])
    assert not both(proof, X, [False, True])
    assert not both(separability(X, [False, True]), X, [0, 1])
    assert not both(proof, X, ["0", "1"])


def test_classes_are_exactly_the_labels():
    X = [[0.0], [1.0]]
    proof = separability(X, [0, 1])
    assert not both(dataclasses.replace(proof, classes=(0, 1, 2)), X, [0, 1])
    assert not both(dataclasses.replace(proof, classes=(1, 0)), X, [0, 1])
    assert not both(dataclasses.replace(proof, classes=()), X, [0, 1])
    assert not both(dataclasses.replace(proof, classes=(0, 1.5)), X, [0, 1])
    assert not both(proof, X, [0, 2])
    assert not both(proof, X, [0, 1, 1])


LONG = np.longdouble(1) + np.finfo(np.longdouble).eps
INEXACT = {
    "int64": np.array([[2**53 + 1], [0]]),
    "uint64": np.array([[2**64 - 1], [0]], dtype=np.uint64),
    "longdouble": np.array([[LONG], [0]]),
    "longdouble past float64": np.array([[np.longdouble(10) ** 400], [0]]),
    "Fraction": np.array([[Fraction(1, 3)], [Fraction(0)]]),
    "Decimal": np.array([[Decimal("0.1")], [Decimal(0)]]),
    "huge Decimal": np.array([[Decimal("1e999999999")], [Decimal(0)]]),
    "huge int": np.array([[10**400], [0]], dtype=object),
    "a list with a float": [[2**53 + 1], [0.5]],
    "text": [["1"], ["0"]],
    "complex": np.array([[1j], [0]]),
    "sparse int64": sp.csr_array(np.array([[2**53 + 1], [0]])),
    "sparse longdouble": sp.coo_array((np.array([LONG]), ([0], [0])), shape=(2, 1)),
    "values given twice": sp.coo_array((np.array([1.0, 2.0**-60]), ([0, 0], [0, 0])), shape=(2, 1)),
    "small integers given twice": sp.coo_array(
        (np.array([100, 100], dtype=np.int8), ([0, 0], [0, 0])), shape=(2, 1)
    ),
}


@pytest.mark.parametrize("name", INEXACT)
def test_numbers_that_would_be_rounded_are_refused(name):
    if name.endswith("longdouble") and np.float64(LONG) == LONG:
        pytest.skip("long doubles are doubles here")
    X = INEXACT[name]
    with pytest.raises(ValueError, match="X"):
        separability(X, [0, 1])
    with pytest.raises(ValueError, match="A"):
        solve_cone(X)
    assert "exact" in first_failure(separability([[1.0], [0.0]], [0, 1]), X, [0, 1])


def test_numbers_of_other_types_that_are_floats_are_taken_exactly():
    floats = [[0.5, 3.0], [-0.25, 2.0]]
    proof = separability(floats, [0, 1])
    for kind in (Fraction, Decimal, np.longdouble, np.float32, np.float16):
        assert proof.verify(np.array([[kind(v) for v in row] for row in floats]), [0, 1])
    twice = sp.coo_array(([0.25, 0.25, 3.0, -0.25, 2.0], ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1])))
    assert proof.verify(twice, [0, 1])
    assert proof.verify(np.array(floats).astype(">f8"), [0, 1])


def test_without_an_intercept_a_proof_speaks_of_the_origin():
    X, y = [[1.0], [2.0]], [0, 1]
    none = separability(X, y, fit_intercept=False)
    assert isinstance(none, Inseparable)
    assert "No hyperplane through the origin" in str(none)
    assert both(none, X, y, fit_intercept=False)
    assert not both(none, X, y)
    assert not both(dataclasses.replace(none, fit_intercept=True), X, y)
    one = separability([[-1.0], [1.0]], y, fit_intercept=False)
    assert "A hyperplane through the origin puts" in str(one)
    assert not both(one, [[-1.0], [1.0]], y)
    assert "intercept" in one.why_not([[-1.0], [1.0]], y)


def test_a_kernel_proof_needs_a_kernel_and_a_proof_without_an_intercept():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    answer = kernel_separability(X, y)
    assert both(answer, X, y, fit_intercept=False)
    assert from_json(answer.to_json()) == answer
    assert not answer.verify(X, y, fit_intercept=True)
    gram = [[float((a @ b + 1) ** 2) for b in np.array(X)] for a in np.array(X)]
    with_intercept = KernelProof(separability(gram, y), 2, 1)
    for claim in (True, False):
        assert not both(with_intercept, X, y, fit_intercept=claim)
    for degree, coef0 in ((2, -1), (0, 1), (2, 1.0), (True, 1), (2, True), (10**9, 1), (2, 2), (3, 1)):
        assert not both(KernelProof(answer.proof, degree, coef0), X, y, fit_intercept=False)
    with pytest.raises(ValueError, match="coef0"):
        kernel_separability(X, y, coef0=-1)
    cone = KernelProof(solve_cone(gram), 2, 1)
    assert not both(cone, X, y, fit_intercept=False)


@pytest.mark.parametrize("penalise", [True, False])
def test_hard_margins_are_verified(penalise):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] > 0.1, "a", "b").tolist()
    best = hard_margin(X, y, penalise_intercept=penalise)
    X = X.tolist()
    assert both(best, X, y, expect="separable")
    assert from_json(best.to_json()) == best
    for change in (
        {"margin": best.margin * (1 + 1e-9)},
        {"upper": best.upper * (1 - 1e-9)},
        {"least": best.least * 2},
        {"least": Fraction(0)},
        {"penalise_intercept": not penalise},
        {"dual_weights": tuple(-weight for weight in best.dual_weights)},
        {"dual_weights": best.dual_weights[:-1]},
        {"dual_rows": best.dual_rows[::-1]},
        {"margin": best.upper * 2, "upper": best.upper * 2},
        {"hyperplanes": tuple(tuple(-v for v in plane) for plane in best.hyperplanes)},
        {"fit_intercept": False},
    ):
        assert not both(dataclasses.replace(best, **change), X, y), change


@pytest.mark.parametrize("classes", [2, 3])
def test_soft_margins_are_verified(classes):
    rng = np.random.default_rng(classes)
    X, y = rng.standard_normal((25, 3)), (np.arange(25) % classes).tolist()
    best = soft_margin(X, y, C=0.7)
    X = X.tolist()
    assert both(best, X, y, expect="soft-margin")
    assert from_json(best.to_json()) == best
    for change in (
        {"objective": best.objective * (1 - 1e-6)},
        {"lower": best.lower + 1e-6 * best.objective},
        {"C": best.C * 0.5},
        {"C": best.C * 2},
        {"C": 0.0},
        {"C": float("inf")},
        {"objective": -1.0, "lower": -2.0},
        {"dual_weights": tuple(2 * weight for weight in best.dual_weights)},
        {"dual_weights": tuple(-weight for weight in best.dual_weights)},
        {"n_iter": -1},
    ):
        assert not both(dataclasses.replace(best, **change), X, y), change


def test_expectations():
    proofs = {
        "separable": (separability([[0.0], [1.0]], [0, 1]), [[0.0], [1.0]], [0, 1]),
        "overlapping": (separability(XOR, XOR_LABELS), XOR, XOR_LABELS),
        "quasi-separable": (separability([[0.0], [0.0], [1.0]], [0, 1, 1]), [[0.0], [0.0], [1.0]], [0, 1, 1]),
        "feasible": (solve_cone([[1.0]]), [[1.0]], None),
        "infeasible": (solve_cone([[0.0]]), [[0.0]], None),
    }
    more = {"overlapping": {"inseparable"}, "quasi-separable": {"inseparable"}}
    for expected, (proof, X, y) in proofs.items():
        holds = {each for each in checker.EXPECTATIONS if both(proof, X, y, expect=each)}
        assert holds == {expected} | more.get(expected, set())
    with pytest.raises(ValueError, match="expect is 'seperable'"):
        proofs["separable"][0].verify([[0.0], [1.0]], [0, 1], expect="seperable")


def _nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("culprits", [0.0, 1, 2, 3]),
        ("culprits", [False, True, 2, 3]),
        ("culprits", [-4, 1, 2, 3]),
        ("culprits", ["0", 1, 2, 3]),
        ("culprits", {"0": 1}),
        ("culprits", "0123"),
        ("n_rows", 4.0),
        ("n_rows", True),
        ("n_features", None),
        ("fit_intercept", 1),
        ("fit_intercept", "true"),
        ("overlap", 1),
        ("overlap", "true"),
        ("weights", [0.25, 0.25, 0.25, 0.25]),
        ("weights", [{"float": "0x1.0p-2"}] * 4),
        ("weights", ["1/4", "1/4", "1/4", "0x1/0x4"]),
        ("weights", ["1/4", "1/4", "1/4", "1/-4"]),
        ("weights", ["1/4", "1/4", "1/4", "1/0"]),
        ("weights", ["1/4", "1/4", "1/4", " 1/4"]),
        ("weights", ["1/4", "1/4", "1/4", "1/4\n"]),
        ("weights", ["1/4", "1/4", "1/4", "²/4"]),
        ("weights", ["1/4", "1/4", "1/4", "9" * 300_000]),
        ("classes", [0, 1, 1]),
        ("classes", [1, 0]),
        ("classes", [0, {"float": "nan"}]),
        ("classes", [0, {"float": "0x1p99999"}]),
        ("classes", [0, {"float": "0x1.0p+9999"}]),
        ("classes", [0, {"float": "1.0"}]),
        ("classes", [0, {"float": "0x1.0p+0", "more": 1}]),
        ("classes", [0, 1.0]),
        ("classes", [0, "1"]),
        ("classes", [0, True]),
        ("classes", ["a", "b\0"]),
        ("classes", [[0], [1]]),
        ("classes", [None, 1]),
    ],
)
def test_every_field_is_of_its_type(field, value):
    content = {**json.loads(separability(XOR, XOR_LABELS).to_json()), field: value}
    text = json.dumps(content)
    with pytest.raises(ValueError, match=field):
        from_json(text)
    with pytest.raises(checker.Refused):
        checker.load_proof(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"format":' * 50_000,
        '{"format": "rosenblatt-proof", "version": 2, "answer": "Inseparable", "culprits": '
        + _nested(50_000)
        + "}",
        '{"format": "rosenblatt-proof", "version": 2, "answer": "KernelProof", "degree": 1, "coef0": 1, "proof": '
        + '{"answer": "KernelProof", "degree": 1, "coef0": 1, "proof": ' * 400
        + "{}"
        + "}" * 401,
        '{"format": "rosenblatt-proof", "version": 2, "answer": "Proof"}',
        '{"format": "rosenblatt-proof", "version": 2, "answer": "WithHyperplane"}',
        '{"format": "rosenblatt-proof", "version": 2, "answer": ["Separable"]}',
        '{"format": "rosenblatt-proof", "version": 2.0, "answer": "Separable"}',
        '{"format": "rosenblatt-proof", "version": true, "answer": "Separable"}',
        '{"format": "rosenblatt-proof", "version": 3, "answer": "Separable"}',
        '{"format": "rosenblatt-proof", "version": NaN}',
        '{"format": "rosenblatt-proof", "version": ' + "9" * 5000 + "}",
        '{"format": "rosenblatt-proof", "format": "rosenblatt-proof"}',
        '{"format": "rosenblatt-proof", "version": 2, "reading": 3}',
    ],
    ids=lambda text: text[:60],
)
def test_what_is_not_a_proof_is_one_sentence(text):
    with pytest.raises(ValueError, match="proof"):
        from_json(text)
    with pytest.raises(checker.Refused):
        checker.load_proof(text)


def test_an_unknown_field_is_refused():
    content = {**json.loads(separability(XOR, XOR_LABELS).to_json()), "trust": "me"}
    with pytest.raises(ValueError, match="'trust', which no Inseparable has"):
        from_json(json.dumps(content))
    with pytest.raises(checker.Refused):
        checker.load_proof(json.dumps(content))


def test_denominators_without_end_are_refused_before_they_fill_the_memory():
    n = 40_000
    weights = tuple(Fraction(1, 2 * i + 3) for i in range(n))  # their common denominator has 115,000 bits
    planes, rows = ((Fraction(0), Fraction(1)),), tuple(range(n))
    forged = Undecided((0, 1), True, n, 1, planes, -10.0, 10.0, Fraction(-1), rows, (), weights)
    X, y = np.zeros((n, 1)), np.arange(n) % 2
    assert "common denominator" in forged.why_not(X, y)
    few = dataclasses.replace(forged, rows=rows[:3], weights=weights[:3])
    assert few.verify(X, y)


def test_few_culprits_among_many_columns_are_verified_in_time_linear_in_them():
    d = 400_000
    X = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [7, 7, d - 1, d - 1])), shape=(4, d))
    proof = Inseparable((0, 1), True, 4, d, (0, 1), (), HALF, None, (), (), ())
    assert proof.verify(X, [0, 1, 0, 0])
    assert not proof.verify(X, [0, 0, 1, 1])


@pytest.mark.parametrize("search", [hard_margin, soft_margin])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_margins_of_rows_whose_squares_overflow_are_refused_by_row(search, layout):
    X = layout(np.array([[1.0, 2.0], [1e308, -1e308], [-1e308, 1.7e308]]))
    with pytest.raises(ValueError, match="X has values in row 1 whose squares exceed"):
        search(X, [1, 0, 1])


TOKENS = ["NaN", "Infinity", "-Infinity", "1e999999999", "-1e999999999", "1e-999999999", "9" * 5000, "1.0"]


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token[:12])
@pytest.mark.parametrize("field", ["n_rows", "margin", "bound", "least", "rows", "hyperplanes", "classes"])
def test_number_tokens_that_readers_of_json_take_differently_are_refused(field, token):
    proof = separability([[0.0], [1.0]], [0, 1])
    text = json.dumps(json.loads(proof.to_json()) | {field: "here"})
    for value in (token, f"[{token}]", f"[[{token}]]", f'{{"float": {token}}}'):
        for read in (from_json, checker.load_proof):
            with pytest.raises(ValueError, match=r"proof|cannot be read"):
                read(text.replace('"here"', value))


def test_a_key_that_occurs_twice_is_refused_at_any_depth():
    text = separability([[0.0], [1.0]], [0, 1]).to_json()
    twice = text.replace('{\n  "float": ', '{\n  "float": "0x1.0p+0",\n  "float": ', 1)
    assert twice != text
    for read in (from_json, checker.load_proof):
        with pytest.raises(ValueError, match="twice"):
            read(twice)


ALL_KINDS = {
    "separable": (lambda: separability(XOR, [0, 0, 0, 1]), XOR, [0, 0, 0, 1], True),
    "inseparable": (lambda: separability(XOR, XOR_LABELS), XOR, XOR_LABELS, True),
    "quasi-separable": (
        lambda: separability([[0.0], [0.0], [1.0]], [0, 1, 1]),
        [[0.0], [0.0], [1.0]],
        [0, 1, 1],
        True,
    ),
    "undecided": (lambda: separability(XOR, [0, 0, 0, 1], time_limit=0.0), XOR, [0, 0, 0, 1], True),
    "feasible": (lambda: solve_cone([[1.0, 0.0], [1.0, 1.0]]), [[1.0, 0.0], [1.0, 1.0]], None, False),
    "infeasible": (lambda: solve_cone([[1.0], [-1.0]]), [[1.0], [-1.0]], None, False),
    "hard": (lambda: hard_margin(XOR, [0, 0, 0, 1]), XOR, [0, 0, 0, 1], True),
    "unpenalised": (
        lambda: hard_margin(XOR, [0, 0, 0, 1], penalise_intercept=False),
        XOR,
        [0, 0, 0, 1],
        True,
    ),
    "soft": (lambda: soft_margin(XOR, XOR_LABELS, 1.0), XOR, XOR_LABELS, True),
    "kernel": (lambda: kernel_separability(XOR, XOR_LABELS), XOR, XOR_LABELS, False),
}


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_proof_of_one_claim_is_decided_alike_for_every_other(kind):
    """Every kind of proof beside the data of every other, with and without an intercept, whatever is expected."""
    prove, own_X, own_y, intercept = ALL_KINDS[kind]
    proof = prove()
    assert both(proof, own_X, own_y, fit_intercept=intercept)
    for _, X, y, _ in ALL_KINDS.values():
        for fit_intercept in (True, False):
            proved = {
                expect
                for expect in checker.EXPECTATIONS
                if both(proof, X, y, fit_intercept=fit_intercept, expect=expect)
            }
            assert "separable" not in proved or y == [0, 0, 0, 1]
            assert "inseparable" not in proved or y in (XOR_LABELS, [0, 1, 1])
