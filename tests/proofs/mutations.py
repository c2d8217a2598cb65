"""Proofs of every kind, and mutations of their JSON."""

import copy
import json
from fractions import Fraction

import numpy as np
from tests.proofs.families import generate

from rosenblatt.proofs import checker, hard_margin, kernel_separability, separability, soft_margin, solve_cone

ODD = [
    None,
    True,
    0,
    -1,
    0.5,
    "",
    "1",
    "1/2",
    "1/0",
    [],
    [[]],
    {},
    {"float": "inf"},
    {"float": "0x1.0p+9999"},
    {"float": "-0x1.0p+0"},
    10**30,
    "9" * 5000,
]


def prove(seed):
    """Return a proof of some kind about small data, and its claim (X, y, fit_intercept); None where there is none."""
    case = generate(seed)
    X, y, fit_intercept = case.X, case.y.tolist(), case.fit_intercept
    ways = [
        lambda: (separability(X, y, fit_intercept), y, fit_intercept),
        lambda: (separability(X, y, fit_intercept, time_limit=0.0), y, fit_intercept),
        lambda: (solve_cone(X), None, fit_intercept),
        lambda: (hard_margin(X, y, fit_intercept), y, fit_intercept),
        lambda: (hard_margin(X, y, fit_intercept, penalise_intercept=False), y, fit_intercept),
        lambda: (soft_margin(X, y, 1.0, fit_intercept, max_iter=20), y, fit_intercept),
        lambda: (kernel_separability(X, y), y, False),
    ]
    try:
        proof, labels, intercept = ways[seed // 17 % len(ways)]()
    except (ValueError, OverflowError):  # no margin, or no integers
        return None
    return proof, X, labels, intercept


def mutated(text, rng):
    """Return the JSON of a proof with one to three things changed."""
    content = json.loads(text)
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        holder, key = _place(content, rng)
        value, way = holder[key], rng.random()
        if way < 0.25:
            holder[key] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
        elif way < 0.7:
            holder[key] = _nudged(value, rng)
        elif way < 0.8:
            del holder[key]
        elif isinstance(value, list) and value:
            value.append(copy.deepcopy(value[int(rng.integers(len(value)))]))
        else:
            names = sorted(content)
            holder[key] = copy.deepcopy(content[names[int(rng.integers(len(names)))]])
    return json.dumps(content)


def _place(content, rng):
    """Return a random place inside nested lists and objects."""
    places = []

    def walk(holder):
        for key in sorted(holder) if isinstance(holder, dict) else range(len(holder)):
            if key != "format":
                places.append((holder, key))
            if isinstance(holder[key], list | dict):
                walk(holder[key])

    walk(content)
    return places[int(rng.integers(len(places)))] if places else (content, "format")


def _nudged(value, rng):
    if isinstance(value, bool) or value is None:
        return [True, False, None][int(rng.integers(3))]
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1]))
    if isinstance(value, list):
        return [value[i] for i in rng.permutation(len(value)).tolist()]
    if isinstance(value, str) and value.startswith(("0x", "-0x")):
        try:
            return float(np.nextafter(float.fromhex(value), float(rng.choice([-np.inf, np.inf])))).hex()
        except OverflowError:
            return "0x1.0p+0"
    if isinstance(value, str):
        try:
            f = Fraction(value)
        except (ValueError, ZeroDivisionError):
            return value + "x"
        return str([-f, 2 * f, f / 2, f + 1, f * Fraction(10**20 + 1, 10**20)][int(rng.integers(5))])
    return value


def small_table(rows, labels):
    """Return rows of numbers as the small checker reads them from a file; zeros are left out."""
    return checker.Table([{j: v for j, v in enumerate(row) if v} for row in rows], len(rows[0]), labels)
