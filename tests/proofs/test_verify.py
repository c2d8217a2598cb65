"""A proof that was tampered with is rejected, whatever was changed."""

import dataclasses
import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from rosenblatt.proofs import from_json, separability, solve_cone

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR_LABELS = np.array([0, 1, 1, 0])
rng = np.random.default_rng(11)
WIDE = rng.standard_normal((60, 3))
WIDE_LABELS = (WIDE @ [1.0, -1.0, 0.5] > 0.1).astype(int)
TOUCHING, TOUCHING_LABELS = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
THREE = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.5, 0.2], [4.0, 1.0], [1.0, 5.0]])
THREE_LABELS = np.array([0, 1, 2, 0, 1, 2])
CASES = {
    "inseparable": (XOR, XOR_LABELS),
    "separable": (WIDE, WIDE_LABELS),
    "quasi": (TOUCHING, TOUCHING_LABELS),
    "three classes": (THREE, THREE_LABELS),
    "three classes, contradictory": (np.vstack([THREE, THREE[1:2]]), np.append(THREE_LABELS, 2)),
}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    X, y = CASES[request.param]
    return separability(X, y), X, y


def test_an_honest_proof_holds(case):
    proof, X, y = case
    assert proof.why_not(X, y) is None
    assert proof.why_not(X.tolist(), y.tolist()) is None


def _variants(value):
    """Change one thing inside a field at a time."""
    if isinstance(value, bool) or value is None:
        yield not value
    elif isinstance(value, Fraction):
        yield from (-value, value + Fraction(1, 10**30)) if value else (Fraction(1),)
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield -value
    elif isinstance(value, tuple):
        for i, each in enumerate(value):
            for changed in _variants(each):
                yield (*value[:i], changed, *value[i + 1 :])
        if value:
            yield value[:-1]
            yield (*value, value[-1])


def test_every_single_change_is_noticed(case):
    proof, X, y = case
    for field in dataclasses.fields(proof):
        if field.name == "hyperplanes":
            continue  # another hyperplane may prove the same: judged below
        for changed in _variants(getattr(proof, field.name)):
            tampered = dataclasses.replace(proof, **{field.name: changed})
            assert tampered.why_not(X, y) is not None, (field.name, changed)


def test_a_sign_changed_in_a_separator_is_noticed():
    proof = separability(WIDE, WIDE_LABELS)
    plane = proof.hyperplanes[0]
    for j in range(len(plane)):
        turned = (*plane[:j], -plane[j], *plane[j + 1 :])
        assert not dataclasses.replace(proof, hyperplanes=(turned,)).verify(WIDE, WIDE_LABELS)


def test_a_hyperplane_on_the_wrong_side_is_noticed():
    proof = separability(TOUCHING, TOUCHING_LABELS)
    turned = tuple(tuple(-value for value in plane) for plane in proof.hyperplanes)
    assert "wrong side" in dataclasses.replace(proof, hyperplanes=turned).why_not(TOUCHING, TOUCHING_LABELS)
    still = tuple(tuple(Fraction(0) for _ in plane) for plane in proof.hyperplanes)
    assert dataclasses.replace(proof, hyperplanes=still).why_not(TOUCHING, TOUCHING_LABELS) is not None


def test_stronger_claims_than_the_truth_are_noticed():
    proof = separability(WIDE, WIDE_LABELS)
    for change in (
        {"margin": np.nextafter(proof.margin, 1.0) * (1 + 1e-12)},
        {"radius": proof.radius * (1 - 1e-12)},
        {"bound": proof.bound * (1 - 1e-12)},
        {"least": proof.least * 2},
        {"least": proof.least / 2},
        {"rows": ()},
    ):
        assert not dataclasses.replace(proof, **change).verify(WIDE, WIDE_LABELS), change


def test_another_dataset_is_noticed(case):
    proof, X, y = case
    used = getattr(proof, "culprits", proof.rows)[0]
    moved = X.copy()
    moved[used] += 0.125 if len(proof.classes) < 3 else 8.0
    assert not proof.verify(moved, y)
    assert not proof.verify(X[:-1], y[:-1])
    assert not proof.verify(X[:, :1] if X.shape[1] > 1 else np.hstack([X, X]), y)


def test_one_label_changed_is_noticed(case):
    proof, X, y = case
    used = getattr(proof, "culprits", proof.rows)[0]
    flipped = y.copy()
    flipped[used] = proof.classes[(list(proof.classes).index(y[used]) + 1) % len(proof.classes)]
    assert not proof.verify(X, flipped)
    foreign = y.copy()
    foreign[used] = 99
    assert "label" in proof.why_not(X, foreign)


def test_one_sign_changed_is_noticed(case):
    proof, X, y = case
    moved = X.copy()
    row = next(i for i in getattr(proof, "culprits", proof.rows) if np.any(X[i]))
    moved[row] = -moved[row]
    assert not proof.verify(moved, y)


def test_a_truncated_or_foreign_file_is_refused(tmp_path, case):
    proof, X, y = case
    path = tmp_path / "proof.json"
    text = proof.to_json(path)
    assert from_json(path).verify(X, y)
    for cut in (len(text) // 2, len(text) - 3, 10):
        path.write_text(text[:cut], encoding="utf-8")
        with pytest.raises(ValueError, match=r"proof\.json"):
            from_json(path)
    content = json.loads(text)
    for key in content:
        partial = {name: value for name, value in content.items() if name != key}
        with pytest.raises(ValueError, match="proof"):
            from_json(json.dumps(partial))
    with pytest.raises(ValueError, match="not a rosenblatt proof"):
        from_json("{}")


def test_nonsense_in_a_field_never_passes(case):
    proof, X, y = case
    content = json.loads(proof.to_json())
    for key in content:
        if key in ("format", "version", "answer"):
            continue
        for nonsense in ("1/0", "inf", {"float": "nan"}, [[["1"]]], -1, None, "2"):
            if content[key] == nonsense:
                continue
            try:
                tampered = from_json(json.dumps({**content, key: nonsense}))
            except ValueError:
                continue
            assert not tampered.verify(X, y), (key, nonsense)


def test_cone_answers_are_checked():
    A = np.array([[1.0, 0.0], [1.0, 1.0], [0.5, -0.25]])
    answer = solve_cone(A)
    assert answer.verify(A)
    assert not answer.verify(-A)
    halved = dataclasses.replace(answer, hyperplanes=(tuple(v / 1024 for v in answer.hyperplanes[0]),))
    assert "below 1" in halved.why_not(A)
    none = solve_cone(np.vstack([A, -A[1:2]]))
    assert none.verify(np.vstack([A, -A[1:2]]))
    assert not none.verify(np.vstack([A, A[1:2]]))


def test_values_that_are_not_finite_are_not_proved():
    proof = separability(XOR, XOR_LABELS)
    broken = XOR.copy()
    broken[2, 1] = np.nan
    assert "finite" in proof.why_not(broken, XOR_LABELS)


def test_a_proof_is_read_by_a_process_that_has_made_none(tmp_path):
    path = tmp_path / "proof.json"
    separability([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]).to_json(path)
    code = "import sys; from rosenblatt.proofs import from_json; print(type(from_json(sys.argv[1])).__name__)"
    told = subprocess.run(
        [sys.executable, "-c", code, path], check=True, capture_output=True, text=True
    ).stdout
    assert told.strip() == "Inseparable"
