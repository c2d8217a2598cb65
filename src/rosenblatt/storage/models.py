"""The declaration of every kind of model file: header fields, tensors, the attributes they hold, and their relations.

Compiled loops do not check class indices, row numbers, clocks and scales, so a file is compared with its declaration
before a model is built from it. Streams, snapshots of the service and checkpoints of engines are learners with
additional fields in ``about``.
"""

import math
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.core.kernel_loop import FORGETTING_COST
from rosenblatt.core.ledger import ENTRY
from rosenblatt.core.scaling import LARGEST_VALUE, STATISTICS
from rosenblatt.core.state import RUNNING, TOTALS
from rosenblatt.data.schema import schema_from_dict
from rosenblatt.data.tables.preprocess import features_before
from rosenblatt.storage import schema
from rosenblatt.storage.schema import (
    ANY_OBJECT,
    COUNTS,
    NON_NEGATIVE,
    POSITIVE,
    Arrays,
    Content,
    Field,
    Item,
    Kind,
    Maybe,
    Object,
    OneOf,
    Range,
    Symbols,
    Tensor,
    Whole,
    array,
    number_or_infinity,
    records,
    refuse,
    refuse_first,
    rows,
)

FLOATS, FLOAT, INT = ("float32", "float64"), ("float64",), ("int64",)
COUNT = Whole()


# --- Header fields ----------------------------------------------------------------------------------------------------


def rule(value: Any, place: str) -> None:
    """Check that a value is a rule of this package with its parameters in range."""
    schema.check(value, Object({"name": OneOf(tuple(rules.BY_NAME))}, others=True), place)
    for name, item in value.items():
        if name != "name":
            number_or_infinity(item, f"{place}.{name}")
    try:
        rules.from_dict(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{place} is not a valid rule: {error}") from None


KERNELS: dict[str, dict[str, Any]] = {
    "poly": {"degree": Whole(1, 2**31), "gamma": POSITIVE, "coef0": Range(), "halvings": Whole(0, 1000)},
    "rbf": {"gamma": POSITIVE},
    "linear": {},
    "precomputed": {},
    "function": {"function": str},  # the name of a caller's function
}


def kernel(value: Any, place: str) -> None:
    """Check that a value is a kernel with its parameters in range."""
    schema.check(value, Object({"name": OneOf(tuple(KERNELS))}, others=True), place)
    schema.check(value, Object({"name": str, **KERNELS[value["name"]]}), place)
    if value["name"] == "poly" and value["halvings"] * value["degree"] > 1000:
        refuse(f"{place}.halvings", value["halvings"], "a unit of at most 2^1000")


def evaluations(value: Any, place: str) -> None:
    """Check the margin, bound and accuracy of hypotheses on their training data."""
    each = (number_or_infinity, number_or_infinity, Range(0.0, 1.0))
    schema.check(value, Object({}, dict.fromkeys(hypotheses.NAMES, each)), place)
    for name, (_, bound, _) in value.items():
        if float(bound) < 0.0:
            refuse(f"{place}.{name}[1]", bound, "a bound of 0 or more")


CALIBRATIONS: dict[str, dict[str, Any]] = {
    "platt": {"slope": [Range(0.0, 1e150)], "offset": [Range(-1e150, 1e150)]},
    "venn-abers": {"edges": [[Range()]], "values": [[Range(0.0, 1.0)]]},
}
MAX_GROUPS = 256  # of scores, see rosenblatt.learner.calibration


def calibration(value: Any, place: str) -> None:
    """Check the parameters of probabilities."""
    schema.check(value, Object({"method": OneOf(tuple(CALIBRATIONS))}, others=True), place)
    fields = CALIBRATIONS[value["method"]]
    schema.check(value, Object({"method": str, **fields}), place)
    one, other = (value[name] for name in fields)
    if len(one) != len(other):
        refuse(f"{place}.{[*fields][1]}", other, f"{len(one)} of them")
    if value["method"] == "venn-abers":
        for number, (edges, values) in enumerate(zip(one, other, strict=True)):
            if len(edges) >= MAX_GROUPS or any(a >= b for a, b in pairwise(edges)):
                refuse(f"{place}.edges[{number}]", edges, f"fewer than {MAX_GROUPS} ascending numbers")
            if len(values) != len(edges) + 1 or any(a > b for a, b in pairwise(values)):
                refuse(f"{place}.values[{number}]", values, f"{len(edges) + 1} numbers that do not fall")


RUNNING_GROUPS = 128  # of scores, see rosenblatt.learner.calibration.RunningCalibration


def running_calibration(value: Any, place: str) -> None:
    """Check the counts of scores that a stream keeps for its probabilities."""
    group = (Whole(0, 1), Whole(0, RUNNING_GROUPS - 1), POSITIVE, Range())
    column = Object({"limit": NON_NEGATIVE, "groups": [group]})
    fields = {"half_life": Whole(8, 2**48), "rows": COUNT, "due": COUNT}
    schema.check(value, Object({**fields, "columns": [column], "fitted": Maybe(calibration)}), place)
    fitted = value["fitted"]
    if fitted is not None and (fitted["method"] != "platt" or len(fitted["slope"]) != len(value["columns"])):
        refuse(f"{place}.fitted", fitted, f"Platt scaling of {len(value['columns'])} columns")


def held_out(value: Any, place: str) -> None:
    """Check the results of a model on rows held out."""
    counts = {"thresholds": [NON_NEGATIVE], "answered": [COUNT], "errors": [COUNT]}
    fields = {"rows": Whole(1), "wrong": COUNT, "confidence": Range(0.0, 1.0 - 2**-53, above=0.0), **counts}
    schema.check(value, Object(fields), place)
    thresholds, answered, errors = (value[name] for name in counts)
    if not 1 <= len(thresholds) == len(answered) == len(errors) <= MAX_GROUPS:
        refuse(place, value, f"from 1 to {MAX_GROUPS} thresholds, and counts for each")
    if thresholds[-1] != 0.0 or any(a < b for a, b in pairwise(thresholds)):
        refuse(f"{place}.thresholds", thresholds, "numbers that descend to 0")
    for name, total, of in (("answered", value["rows"], answered), ("errors", value["wrong"], errors)):
        if of[-1] != total or any(a > b for a, b in pairwise(of)):
            refuse(f"{place}.{name}", of, f"counts that ascend to {total}")
    if any(wrong > of for wrong, of in zip(errors, answered, strict=True)):
        refuse(f"{place}.errors", errors, "at most as many as were answered")


def _maybe_int(value: Any) -> int | None:
    return None if value is None else int(value)


LEARNER_FIELDS = {
    "rule": Field(rule, setting=True, to_json=rules.to_dict, from_json=rules.from_dict),
    "multi_class": Field(OneOf(("joint", "ovr")), setting=True),
    "fit_intercept": Field(bool, "bias_input", setting=True, to_json=bool),
    "seed": Field(Whole(-schema.INTEGERS, schema.INTEGERS), setting=True),
    "rows_seen": Field(COUNT),
    "start_norm": Field(Range(0.0, 1e154), from_json=float),
    "converged": Field(bool),
    "epochs": Field(
        [(COUNT, COUNT)],
        to_json=lambda epochs: [[epoch.mistakes, epoch.updates] for epoch in epochs],
        from_json=lambda counts: [(number, *pair) for number, pair in enumerate(counts, 1)],
    ),
    "standings": Field(  # the name that files have for it
        evaluations,
        "evaluations",
        to_json=lambda each: {name: [schema.json_number(x) for x in values] for name, values in each.items()},
        from_json=lambda each: {name: tuple(map(float, values)) for name, values in each.items()},
    ),
}
KERNEL_FIELDS = {name: field for name, field in LEARNER_FIELDS.items() if name != "start_norm"} | {
    "kernel": Field(kernel, setting=True),
    "dtype": Field(OneOf(FLOATS), setting=True),
    "delta": Field(NON_NEGATIVE, setting=True),
    "budget": Field(Maybe(Whole(1, 2**31)), setting=True, to_json=_maybe_int),
    "forget": Field(OneOf(("oldest", "random", "project")), setting=True),
    "tolerance": Field(Range(0.0, 1.0 - 2**-53), setting=True),
    "keep_ledger": Field(bool, "ledger", setting=True, to_json=lambda ledger: ledger is not None),
    "seed": Field(Whole(0, 2**63 - 1), setting=True, to_json=int),
    "block_size": Field(Maybe(Whole(1, 2**31)), setting=True, to_json=_maybe_int),
    "n_features": Field(Whole(0, 2**48), "_n_features"),
}
REAL_FIELDS = {name: LEARNER_FIELDS[name] for name in ("rule", "fit_intercept", "seed", "rows_seen")} | {
    "passes": Field(COUNT)
}


def priors(value: Any, place: str) -> None:
    """Check that a value is "uniform", "empirical" or a list of numbers."""
    schema.check(value, OneOf(("uniform", "empirical")) if type(value) is str else [NON_NEGATIVE], place)


PRIOR_FIELDS = {
    "fit_prior": Field(bool, setting=True, default=True),
    "class_prior": Field(Maybe([POSITIVE]), setting=True, default=None),
}
BAYES_FIELDS = {
    "smoothing": Field(NON_NEGATIVE, setting=True),
    "binarize": Field(Maybe(Range()), setting=True),
    **PRIOR_FIELDS,
}
COUNT_BAYES_FIELDS = {"smoothing": Field(NON_NEGATIVE, setting=True), **PRIOR_FIELDS}
CENTROID_FIELDS = {
    "shrink_threshold": Field(Maybe(POSITIVE), setting=True, default=None),
    "priors": Field(priors, setting=True, default="uniform"),
}

# The metadata of a model. Other keys belong to the caller who saved it.
SHARD_PASS = (COUNT, COUNT, COUNT, COUNT, NON_NEGATIVE, COUNT)
MIXED_EPOCH = (COUNT, COUNT, COUNT, NON_NEGATIVE, NON_NEGATIVE, COUNT, COUNT, [SHARD_PASS])
SERVICE = Object(
    {"settings": ANY_OBJECT, "counts": Object({}, {"mistakes": COUNT, "seq": COUNT, "failed": COUNT})}
)
ABOUT = Object(
    {},
    {
        "learner": str,
        "estimator": str,
        "hypothesis": OneOf(tuple(hypotheses.NAMES)),
        "map": Maybe(OneOf(("quadratic",))),
        "n_iter": COUNT,
        "normalise": bool,
        "feature_names": Maybe([str]),
        "schema": Maybe(ANY_OBJECT),
        "calibration": Maybe(calibration),
        "held_out": Maybe(held_out),
        "hashed_names": ANY_OBJECT,
        "parameters": Object(
            {},
            {"max_iter": Maybe(COUNT), "shuffle": bool, "warm_start": bool, "keep_ledger": bool},
            others=True,
        ),
        "stream": Object(
            {"rows": COUNT, "forget": Maybe(Range(1.0)), "since": COUNT},
            {
                "online": bool,
                "right": COUNT,
                "predicted": COUNT,
                "service": SERVICE,
                "calibration": running_calibration,
                "auto": Object({"candidates": [rule], "leader": COUNT, "losses": [NON_NEGATIVE]}),
            },
        ),
        "mixing_run": ANY_OBJECT,
        "mixed_epochs": [MIXED_EPOCH],
    },
    others=True,
)


# --- Tensors ----------------------------------------------------------------------------------------------------------

# Fields of structured arrays that have another name in format version 1.
VERSION_1 = {"scale_sum": "shadow", "max_sqnorm": "reach", "target": "up", "rival": "down"}

RUN = (  # the numbers of a training run: see rosenblatt.core.state
    records(
        "running",
        RUNNING,
        "hypotheses",
        {"scale": POSITIVE, "scale_sum": NON_NEGATIVE, "decay": NON_NEGATIVE, "updates": COUNTS},
        renamed=VERSION_1,
    ),
    records(
        "totals",
        TOTALS,
        1,
        {
            "clock": Range(0.0, binds="clock"),
            "mistakes": COUNTS,
            "updates": COUNTS._replace(binds="updates"),
            "max_sqnorm": Range(0.0, binds="max_sqnorm"),
            "written": Range(0, 0),
        },
        renamed=VERSION_1,
    ),
)
LEDGER = records(
    "ledger",
    ENTRY,
    "lines",
    {
        "row": Range(0, "last_row"),
        "target": Range("first_target", "last_target"),
        "rival": Range("first_rival", "last_rival"),
        "decay": NON_NEGATIVE,
        "clock": Range(0.0, "clock", order="ascending"),
    },
    renamed=VERSION_1,
    part="ledger",
    attribute="ledger.entries",
)
WEIGHTS = (
    array("W", Tensor(FLOATS, ("rows", "width"))),
    array("A", Tensor(FLOAT, ("rows", "width")), "average_offset"),
    *RUN,
)
STATISTICS_ITEM = records(  # of the bias and of every feature: see rosenblatt.core.scaling
    "statistics",
    STATISTICS,
    "width",
    {"count": COUNTS, "mean": Range(-LARGEST_VALUE, LARGEST_VALUE), "m2": NON_NEGATIVE},
    renamed={},
    part="statistics",
)


def stacked(item: Item, shapes: Mapping[str, tuple[str | int, ...]]) -> Item:
    """Declare the tensors of an item for several candidates at once; the stream that continues reads them itself."""
    tensors = {
        f"candidates.{name}": Tensor(
            tensor.dtypes, shapes[name], tensor.range._replace(binds=""), "candidates"
        )
        for name, tensor in item.tensors.items()
    }

    def pack(value: Any) -> dict[str, NDArray[Any]]:
        return {f"candidates.{name}": each for name, each in item.pack(value).items()}

    return Item(f"candidates.{item.name}", f"candidates.{item.attribute}", tensors, pack, lambda *_: None)


# Every learner that a stream trains beside the one that predicts: see rosenblatt.streams.model_file.
CANDIDATE_SHAPE = ("candidates", "rows", "width")
CANDIDATE_ITEMS = tuple(
    stacked(item, dict.fromkeys(item.tensors, shape))
    for item, shape in (
        (array("W", Tensor(FLOAT, ())), CANDIDATE_SHAPE),
        (array("A", Tensor(FLOAT, ()), "average_offset"), CANDIDATE_SHAPE),
        (array("S", Tensor(FLOAT, ())), (*CANDIDATE_SHAPE, "stacked_numbers")),
        (RUN[0], ("candidates", "hypotheses")),
        (RUN[1], ("candidates", 1)),
    )
)
LEARNER_ITEMS = (
    *WEIGHTS,
    STATISTICS_ITEM,
    *CANDIDATE_ITEMS,
    array("S", Tensor(FLOAT, ("rows", "width"), part="S")),
    array("pocket", Tensor(FLOATS, ("rows", "width"), part="pocket")),
    array(
        "ledger.support_rows",
        Tensor(INT, ("support",), Range(0, "last_row", order="strictly ascending"), "ledger"),
    ),
    array("ledger.start", Tensor(FLOATS, ("rows", "width"), part="ledger")),
    LEDGER,
    rows("ledger.support", FLOATS, "support", "features"),
)
# Geometries with several numbers per weight: those of a weight are together.
NUMBERS = array("S", Tensor(FLOAT, ("rows", "width", "numbers"), part="S"))
NUMBERS_ITEMS = tuple(NUMBERS if item.name == "S" else item for item in LEARNER_ITEMS)
KERNEL_ITEMS = (
    array("support_rows", Tensor(INT, ("support",), Range(0, "last_row"))),
    array("W", Tensor(FLOAT, ("rows", "support"))),
    array("A", Tensor(FLOAT, ("rows", "support")), "average_offset"),
    *RUN,
    LEDGER,
    array("pocket", Tensor(INT, ("hypotheses",), Range(0, "lines"), "pocket")),
    rows("support", FLOATS, "support", "features"),
    array("budget.since", Tensor(INT, ("budget",), COUNTS, "budget"), "budget_slots.last_correction"),
    array("budget.counts", Tensor(INT, (3,), COUNTS, "budget"), "budget_slots.counts"),
    records(
        "toll",
        FORGETTING_COST,
        1,
        dict.fromkeys(("mistakes", "lengths", "shrunk", "short"), NON_NEGATIVE),
        renamed={},
        part="budget",
        attribute="budget_slots.cost",
    ),
)
# The support rows of a precomputed kernel are columns of the caller's Gram matrix.
GRAM_COLUMNS = array("support", Tensor(INT, ("support",), Range(0, "last_feature"), "dense"))
GRAM_ITEMS = tuple(GRAM_COLUMNS if item.name == "support" else item for item in KERNEL_ITEMS)
HYPERPLANES = (array("weights", Tensor(FLOATS, ("rows", "width")), "_weights"),)
SUMS = (
    array("sums", Tensor(FLOAT, ("classes", "features"))),
    array("counts", Tensor(FLOAT, ("classes",), NON_NEGATIVE)),
)
SPREAD = array("squares", Tensor(FLOAT, ("features",), NON_NEGATIVE, "squares"))


# --- Relations between tensors ----------------------------------------------------------------------------------------

# Relative error of ‖w‖² per update, since it is updated by differences.
DRIFT = {"float32": 1e-2, "float64": 1e-7}
ROUNDING = 1e-3  # relative error of sums in float32


def bias_is_zero_without_intercept(content: Content) -> None:
    """With ``fit_intercept=False`` every bias is zero."""
    if not content.fields["fit_intercept"]:
        for name in ("W", "A", "pocket", "ledger.start"):
            if name in content.arrays:
                bias = content.arrays[name][:, 0]
                refuse_first(f"{name}[:, 0]", bias, bias != 0.0, "0 where no intercept is learned")


def classes_before_updates(content: Content) -> None:
    """A learner without classes has learned nothing; a kernel learner is saved only after it has learned."""
    if content.classes is not None and not content.classes.size:
        symbols, lines = content.symbols, content.arrays.get("ledger.row", ())
        learned = symbols["clock"] or symbols["updates"] or content.arrays["W"].any() or len(lines)
        if learned or content.name == "dual":
            refuse("classes.values", [], "the classes that the weights were learned from")


def updates_add_up(content: Content) -> None:
    """Totals and updates per hypothesis agree.

    Where two classes became several, the updates they shared count once in the total and once for each of them.
    """
    each, total = content.arrays["running.updates"], int(content.symbols["updates"])
    if not int(each.max()) <= total <= int(each.sum()):
        expected = f"a number from {each.max()} to {each.sum()}, as running.updates counts"
        refuse("totals.updates", total, expected)
    for place, name in enumerate(("totals.mistakes", "totals.updates")):
        of_epochs = sum(epoch[place] for epoch in content.fields.get("epochs", ()))
        if of_epochs > int(content.arrays[name][0]):
            refuse(name, int(content.arrays[name][0]), f"the {of_epochs} of all epochs")


def _per_hypothesis(sums: NDArray[np.float64], content: Content) -> NDArray[np.float64]:
    """Return sums per row of weights as sums per hypothesis: one in all where classes are learned jointly."""
    return np.array([sums.sum()]) if content.arrays["running.scale"].size == 1 else sums


def _drift(content: Content) -> float:
    """Return a bound on the rounding error of ``‖w‖²`` after all updates, for the largest step of the rule."""
    parameters = {name: float(value) for name, value in content.fields["rule"].items() if name != "name"}
    steps = [1.0 / value if name == "lam" and value else value for name, value in parameters.items()]
    step = max([1.0, *(value for value in steps if value < math.inf)])
    start = float(content.fields.get("start_norm", 0.0))
    moved = (1.0 + content.symbols["updates"]) * content.symbols["max_sqnorm"] * step * step
    return DRIFT[content.fields.get("dtype", content.arrays["W"].dtype.name)] * (moved + start * start) + 1e-9


def sqnorm_is_of_weights(content: Content) -> None:
    """``running.sqnorm`` is ``‖w‖²`` updated by differences, so it may be off by the rounding of every update.

    The tolerance follows from the norms that the weights had during training: those that steps of this rule can reach,
    and those in the accumulator ``A``. ROMMA scales weights by a quotient of differences, whose error has no bound.
    """
    if content.fields["rule"]["name"] == "romma":
        return
    W, A, sqnorm = content.arrays["W"], content.arrays["A"], content.arrays["running.sqnorm"]
    with np.errstate(over="ignore", invalid="ignore"):
        square = _per_hypothesis(np.einsum("ij,ij->i", W, W, dtype=np.float64), content)
        past = _per_hypothesis(np.einsum("ij,ij->i", A, A), content)
        # Of scale_sum·W, from which A is subtracted.
        summed = square * content.arrays["running.shadow"] ** 2
        square = square * content.arrays["running.scale"] ** 2
        past = np.minimum(past, np.finfo(np.float64).max)  # an infinite tolerance would accept anything
        near = np.abs(sqnorm - square) <= 1e-2 * square + 1e-9 * past + _drift(content)
        wrong = ~(near & np.isfinite(square) & np.isfinite(summed))
    if wrong.any():
        place = int(wrong.argmax())
        refuse(f"running.sqnorm[{place}]", sqnorm[place].item(), f"‖w‖² = {square[place]:.6g}")


def sqnorm_is_possible(content: Content) -> None:
    """``‖Σ αᵢ φ(xᵢ)‖ ≤ Σ |αᵢ| R``: the norm of a kernel learner cannot be checked further without its Gram matrix."""
    if content.fields["rule"]["name"] == "romma":
        return
    sqnorm, sqradius = content.arrays["running.sqnorm"], content.symbols["max_sqnorm"]
    with np.errstate(over="ignore", invalid="ignore"):
        now = _per_hypothesis(np.abs(content.arrays["W"]).sum(axis=1), content)
        past = _per_hypothesis(np.abs(content.arrays["A"]).sum(axis=1), content)
        now = now * content.arrays["running.scale"]
        tolerance = _drift(content) + 1e-9 * past * past * sqradius
        most = 1.01 * now * now * sqradius
        wrong = ~(np.isfinite(most) & (sqnorm <= most + tolerance) & (sqnorm >= -tolerance))
    refuse_first("running.sqnorm", sqnorm, wrong, "‖w‖², at most (Σ|W|)² · max_sqnorm")


def auxiliary_numbers_fit(content: Content) -> None:
    """``S``: a variance in (0, 1] for every weight (second order), its power (p-norm), or several numbers."""
    if "S" not in content.arrays:
        sqnorm_is_of_weights(content)
        return
    S, geometry = content.arrays["S"], rules.geometry_of(content["rule"])
    if isinstance(geometry, rules.SecondOrder):
        refuse_first("S", S, ~((S > 0.0) & (S <= 1.0 + 1e-9)), "a variance above 0 and at most 1")
        sqnorm_is_of_weights(content)
        return
    if isinstance(geometry, rules.CoordinateSums | rules.CoordinateRates):
        coordinate_numbers_fit(content, geometry)
        return
    assert isinstance(geometry, rules.PNorm)
    with np.errstate(over="ignore", under="ignore"):
        W = content.arrays["W"].astype(np.float64)
        power = np.sign(W) * np.abs(W) ** (geometry.p - 1.0)
        wrong = ~(np.abs(S - power) <= 1e-6 * np.abs(power) + 1e-12)
        refuse_first("S", S, wrong, f"the weight's power {geometry.p - 1.0:g}")
        total = _per_hypothesis(np.einsum("ij,ij->i", W, S), content)
    sqnorm = content.arrays["running.sqnorm"]
    refuse_first("running.sqnorm", sqnorm, ~(np.abs(sqnorm - total) <= 1e-2 * total + 1e-6), "Σ|w|^p")


def statistics_are_possible(content: Content) -> None:
    """Entry 0 is the bias, 1 in every row; no feature has more values than there are rows, or spread without values."""
    if "statistics.count" not in content.arrays:
        return
    count, mean, m2 = (content.arrays[f"statistics.{name}"] for name in ("count", "mean", "m2"))
    if mean[0] != 1.0 or m2[0] != 0.0:
        refuse("statistics.mean[0]", mean[0].item(), "1, with m2 of 0: the constant input of the bias")
    refuse_first("statistics.count", count, count > count[0], f"at most the {count[0]} rows")
    refuse_first("statistics.mean", mean, (mean != 0.0) & (count == 0), "0 for a feature without values")
    refuse_first("statistics.m2", m2, (m2 != 0.0) & (count < 2), "0 for a feature with one value or none")


def candidates_fit(content: Content) -> None:
    """A stream that chooses among rules has the weights of each; one of them is the learner of the file."""
    auto = content.about.get("stream", {}).get("auto")
    if (auto is not None) != ("candidates.W" in content.arrays):
        raise ValueError("about.stream.auto and the tensors candidates.* must both be there, or neither")
    if auto is None:
        return
    W, leader = content.arrays["candidates.W"], auto["leader"]
    if len(auto["candidates"]) != W.shape[0] or len(auto["losses"]) != 2 * W.shape[0]:
        refuse(
            "about.stream.auto.candidates", auto["candidates"], f"{W.shape[0]} rules, and two losses for each"
        )
    if leader >= 2 * W.shape[0]:
        refuse("about.stream.auto.leader", leader, f"below {2 * W.shape[0]}")
    if rules.from_dict(auto["candidates"][leader // 2]) != content["rule"]:
        refuse(
            "about.stream.auto.candidates",
            auto["candidates"][leader // 2],
            "the rule of the file for the leader",
        )
    for at, each in enumerate(auto["candidates"]):
        S, own_rule = content.arrays["candidates.S"][at], rules.from_dict(each)
        geometry = rules.geometry_of(own_rule)
        if isinstance(geometry, rules.PNorm):
            refuse(f"about.stream.auto.candidates[{at}]", each, "a rule without a p-norm")
        if isinstance(geometry, rules.SecondOrder):
            variance, most = S[..., 0], geometry.initial_variance * (1.0 + 1e-9)
            wrong = ~((variance > 0.0) & (variance <= most))
            refuse_first(
                f"candidates.S[{at}]", variance, wrong, "a variance above 0 and at most the first one"
            )
        if isinstance(geometry, rules.CoordinateSums | rules.CoordinateRates):
            if S.shape[-1] < len(geometry.initial):
                refuse("candidates.S", S.shape, f"{len(geometry.initial)} numbers for every weight")
            numbers = tuple(np.moveaxis(S[..., : len(geometry.initial)], -1, 0))
            wrong = ~(np.asarray(own_rule.possible(numbers)) & (numbers[0] >= 0.0))
            refuse_first(f"candidates.S[{at}]", numbers[0], wrong, "numbers of this rule")


def coordinate_numbers_fit(content: Content, geometry: rules.CoordinateSums | rules.CoordinateRates) -> None:
    """``S``: the largest value of the weight's feature, then numbers that are possible for the rule.

    The largest value is at most ‖x‖. Weights follow from their numbers, or are zero where no value was seen and
    training started from zero weights. ``running.sqnorm`` is ``Σ (wᵢ maxᵢ)²``.
    """
    S, W, rule = content.arrays["S"], content.arrays["W"].astype(np.float64), content["rule"]
    largest, numbers = S[..., 0], tuple(np.moveaxis(S, -1, 0))
    most = math.sqrt(content.symbols["max_sqnorm"]) * (1.0 + 1e-6)
    refuse_first(
        "S[..., 0]", largest, ~((largest >= 0.0) & (largest <= most)), f"a value from 0 to {most:.6g}"
    )
    refuse_first("S", S, np.stack([~rule.possible(numbers)] * S.shape[-1], axis=-1), "numbers of this rule")
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(geometry, rules.CoordinateSums):
            expected = rule.weight_of(numbers)
            wrong = ~(np.abs(W - expected) <= 1e-5 * np.abs(expected))
            refuse_first("W", W, wrong, "the weight that follows from S")
        elif not content.fields["start_norm"]:
            refuse_first("W", W, (largest == 0.0) & (W != 0.0), "0 where S has no largest value")
        total = _per_hypothesis(np.einsum("ij,ij->i", W * largest, W * largest), content)
    sqnorm = content.arrays["running.sqnorm"]
    wrong = ~(np.abs(sqnorm - total) <= 1e-2 * total + 1e-6)
    refuse_first("running.sqnorm", sqnorm, wrong, "Σ (w · largest value)²")


def _check_support(name: str, content: Content, present: bool) -> None:
    """A CSR matrix has one offset more than rows and ends with its last value; columns of a row ascend."""
    dense, sparse = name in content.arrays, f"{name}.data" in content.arrays
    if dense + sparse != present:
        raise ValueError(f"tensor {name} {'is missing' if present and not dense else 'must not be there'}")
    if not sparse:
        return
    indptr, indices = content.arrays[f"{name}.indptr"], content.arrays[f"{name}.indices"]
    if indptr.size != content.symbols["support"] + 1 or indptr[0] != 0 or indptr[-1] != indices.size:
        refuse(
            f"{name}.indptr",
            f"{indptr.size} offsets from {indptr[:1].tolist()} to {indptr[-1:].tolist()}",
            f"{content.symbols['support'] + 1} from 0 to {indices.size}",
        )
    fallen = np.zeros(indices.size, np.bool_)
    fallen[1:] = indices[1:] <= indices[:-1]
    starts = indptr[:-1]
    fallen[starts[starts < indices.size]] = False
    refuse_first(f"{name}.indices", indices, fallen, "ascending columns within a row")


def _support_values(name: str, content: Content) -> NDArray[Any]:
    return content.arrays[name if name in content.arrays else f"{name}.data"]


def _support_sqnorms(name: str, content: Content) -> NDArray[np.float64]:
    """Return ``‖x‖²`` of every support row."""
    values = _support_values(name, content)
    with np.errstate(over="ignore"):
        if values.ndim == 2:
            return np.asarray(np.einsum("ij,ij->i", values, values, dtype=np.float64))
        sums = np.concatenate([[0.0], np.cumsum(values.astype(np.float64) ** 2)])
        indptr = content.arrays[f"{name}.indptr"]
        return np.asarray(sums[indptr[1:]] - sums[indptr[:-1]])


def ledger_rows_are_stored(content: Content) -> None:
    """Every line names a stored row, every stored row has a line, and each hypothesis as many lines as updates."""
    if "ledger.row" not in content.arrays:
        return
    name = "support_rows" if "support_rows" in content.arrays else "ledger.support_rows"
    lines, ascending = content.arrays["ledger.row"], np.sort(content.arrays[name])
    place = np.searchsorted(ascending, lines)
    stored = place < ascending.size
    stored[stored] = ascending[place[stored]] == lines[stored]
    refuse_first("ledger.row", lines, ~stored, f"a row of {name}")
    named = np.zeros(ascending.size, np.bool_)
    named[place] = True
    refuse_first(name, ascending, ~named, "a row that a line of the ledger names")
    target, rival = content.arrays["ledger.up"], content.arrays["ledger.down"]
    refuse_first("ledger.down", rival, target == rival, "another class than ledger.up")
    updates = content.arrays["running.updates"]
    counted = np.bincount(target, minlength=updates.size) if updates.size > 1 else np.array([lines.size])
    refuse_first("running.updates", updates, updates != counted, "as many as the ledger has lines")


def learner_support(content: Content) -> None:
    """The examples that the ledger names are in the file, and none has a norm above the largest of training."""
    present = "ledger.row" in content.arrays and content.symbols["support"] > 0
    if "ledger.start" in content.arrays:  # it is cast to the type of the weights
        start, kind = content.arrays["ledger.start"], content.arrays["W"].dtype
        refuse_first("ledger.start", start, np.abs(start) > np.finfo(kind).max, f"a number that {kind} holds")
    _check_support("ledger.support", content, present)
    if present:
        values, start = _support_values("ledger.support", content), content.arrays["ledger.start"]
        for name, weights in (("ledger.start", start), ("W", content.arrays["W"])):
            if weights.dtype.itemsize < values.dtype.itemsize:
                raise ValueError(f"{name} is {weights.dtype}, but ledger.support {values.dtype}")
        sqnorm = _support_sqnorms("ledger.support", content)
        most = content.symbols["max_sqnorm"] * (1.0 + ROUNDING) + ROUNDING
        refuse_first("ledger.support, squared norms of rows", sqnorm, ~(sqnorm <= most), f"at most {most:g}")


def kernel_support(content: Content) -> None:
    """Support rows are distinct and stored, and ``K(x, x)`` of none is above the largest of training."""
    rows, kernel_fields = content.arrays["support_rows"], content.fields["kernel"]
    if np.unique(rows).size < rows.size:
        refuse("support_rows", rows.tolist(), "every row once")
    if kernel_fields["name"] == "precomputed":
        if ("support" in content.arrays) != (rows.size > 0):
            raise ValueError(f"tensor support is {'missing' if rows.size else 'there without support rows'}")
        if rows.size:
            columns = content.arrays["support"]
            refuse_first("support", columns, columns != rows, "the column of the row in support_rows")
        return
    _check_support("support", content, rows.size > 0)
    if not rows.size:
        return
    values = _support_values("support", content)
    if values.dtype.name != content.fields["dtype"]:
        raise ValueError(f"support is {values.dtype}, but dual.dtype says {content.fields['dtype']}")
    sqnorm = _support_sqnorms("support", content)
    if kernel_fields["name"] == "poly":
        with np.errstate(over="ignore"):
            sqnorm = (kernel_fields["gamma"] * sqnorm + kernel_fields["coef0"]) ** kernel_fields["degree"]
    if kernel_fields["name"] in ("poly", "linear"):
        most = content.symbols["max_sqnorm"] * (1.0 + 10 * ROUNDING) + ROUNDING
        name = "support, kernels of rows with themselves"
        refuse_first(name, sqnorm, ~(sqnorm <= most), f"at most {most:g}")
    else:
        refuse_first("support, squared norms of rows", sqnorm, ~np.isfinite(sqnorm), "a finite number")


def pocket_has_no_more_updates(content: Content) -> None:
    """The pocket of a hypothesis has at most as many updates as the hypothesis."""
    if "pocket" in content.arrays:
        updates, pocket = content.arrays["running.updates"], content.arrays["pocket"]
        refuse_first("pocket", pocket, pocket > updates, "at most as many updates as the hypothesis has")


def budget_slots(content: Content) -> None:
    """Slots are filled from the first on, and emptied only when all are full."""
    if "budget.since" not in content.arrays:
        return
    since, (used, emptied, visits) = content.arrays["budget.since"], content.arrays["budget.counts"].tolist()
    support, slots = int(content.symbols["support"]), since.size
    if used != support or used > slots:
        refuse("budget.counts[0]", used, f"the {support} support rows, in {slots} slots")
    if emptied and used < slots:
        refuse("budget.counts[1]", emptied, "0 while slots are free")
    refuse_first("budget.since", since, since > visits, f"at most the {visits} of budget.counts[2]")
    refuse_first(f"budget.since[{used}:]", since[used:], since[used:] != 0, "0 in a free slot")


def sums_need_counts(content: Content) -> None:
    """A class without examples has no sum."""
    sums, counts = content.arrays["sums"], content.arrays["counts"]
    refuse_first("sums", sums, (sums != 0.0) & (counts == 0.0)[:, None], "0 in a class without examples")


def sums_are_within_counts(content: Content) -> None:
    """No sum of binary features exceeds the count of its class."""
    sums, most = content.arrays["sums"], content.arrays["counts"][:, None] * (1.0 + 1e-9)
    refuse_first("sums", sums, (sums < 0.0) | (sums > most), "from 0 to the count of the class")


def sums_are_not_negative(content: Content) -> None:
    """No sum of counts is negative."""
    refuse_first("sums", content.arrays["sums"], content.arrays["sums"] < 0.0, "0 or more")


def about_fits(content: Content) -> None:
    """Feature names, schema and hashed names in ``about`` match the features of the model."""
    about, features = content.about, int(content.symbols["features"])
    if about.get("map") is not None:  # names and schema are of the features before the map
        features = features_before(features)
    names = about.get("feature_names")
    if names is not None and len(names) != features:
        raise ValueError(f"about.feature_names has {len(names)} names for {features} features")
    if about.get("schema") is not None:
        try:
            read_as = schema_from_dict(about["schema"])
        except ValueError as error:
            raise ValueError(f"about.schema is {error}") from None
        if read_as.n_features != features:
            raise ValueError(f"about.schema has {read_as.n_features} features, the model {features}")
        if names is not None and read_as.feature_names is not None and list(read_as.feature_names) != names:
            raise ValueError("about.feature_names are not those of about.schema")
    if about.get("calibration") is not None:
        columns, classes = len([*about["calibration"].values()][1]), int(content.symbols.get("classes", 0))
        if content.classes is None or columns != (1 if classes <= 2 else classes):
            refuse("about.calibration", columns, f"columns of scores for {classes} classes")
    for place, name in about.get("hashed_names", {}).items():
        if re.fullmatch(r"0|[1-9][0-9]{0,9}", place) is None or int(place) >= features:
            refuse("about.hashed_names", place, f"features below {features}")
        schema.check(name, str, f"about.hashed_names.{place}")
    stream = about.get("stream", {})
    if stream.get("predicted", 0) > stream.get("rows", 0):
        refuse("about.stream.predicted", stream["predicted"], f"at most the {stream['rows']} rows")
    predicted = stream.get("predicted", stream.get("rows", 0))
    if stream.get("right", 0) > predicted:
        refuse("about.stream.right", stream["right"], f"at most the {predicted} rows predicted")
    if "stream" in about and stream["forget"] is None and stream["since"] != 0:
        refuse("about.stream.since", stream["since"], "0 where nothing is forgotten")


def kernel_fields_agree(value: Any, place: str) -> None:
    """Check that the settings of a kernel learner agree with each other."""
    if not isinstance(rules.geometry_of(rules.from_dict(value["rule"])), rules.Euclidean):
        refuse(f"{place}.rule", value["rule"], "a rule with a dual form")
    if value["tolerance"] and (value["budget"] is None or value["forget"] != "project"):
        refuse(f"{place}.tolerance", value["tolerance"], "0 without projections onto a budget")
    if value["keep_ledger"] and value["budget"] is not None:
        refuse(f"{place}.keep_ledger", True, "false with a budget")


def rule_is_for_regression(value: Any, place: str) -> None:
    """Check that a regression model was trained by Widrow and Hoff's rule."""
    if value["rule"]["name"] != "widrow-hoff":
        refuse(f"{place}.rule.name", value["rule"]["name"], "widrow-hoff, the rule for regression")


# --- Kinds ------------------------------------------------------------------------------------------------------------


def _symbols(fields: dict[str, Any], classes: int) -> Symbols:
    """Return the sizes and limits of tensors that follow from the header.

    Two classes share one row of weights, and lines of the ledger name the second; joint lines name two classes.
    """
    rows = 1 if classes <= 2 else classes
    joint = fields.get("multi_class") == "joint" and rows > 1
    geometry = rules.geometry_of(rules.from_dict(fields["rule"])) if "rule" in fields else None
    numbers = (
        len(geometry.initial) if isinstance(geometry, rules.CoordinateSums | rules.CoordinateRates) else None
    )
    symbols = {
        "numbers": numbers,
        "classes": classes,
        "rows": rows,
        "hypotheses": 1 if joint else rows,
        "last_row": fields.get("rows_seen", 0) - 1,
        "first_target": 1 if rows == 1 else 0,
        "last_target": 1 if rows == 1 else rows - 1,
        "first_rival": 0 if joint else -1,
        "last_rival": rows - 1 if joint else -1,
        "features": fields.get("n_features"),
        "budget": fields.get("budget"),
    }
    return {name: value for name, value in symbols.items() if value is not None}


def _learner_parts(fields: dict[str, Any]) -> dict[str, bool | None]:
    euclidean = isinstance(rules.geometry_of(rules.from_dict(fields["rule"])), rules.Euclidean)
    ledger = None if euclidean else False
    return {
        "S": not euclidean,
        "pocket": None,
        "ledger": ledger,
        "dense": ledger,
        "sparse": ledger,
        "statistics": None,
        "candidates": None,
    }


def _centroid_parts(fields: dict[str, Any]) -> dict[str, bool | None]:
    shrinks = fields.get("shrink_threshold") is not None
    return {"squares": shrinks or fields.get("priors", "uniform") != "uniform"}


def _learner_items(fields: dict[str, Any]) -> tuple[Any, ...]:
    geometry = rules.geometry_of(rules.from_dict(fields["rule"]))
    several = isinstance(geometry, rules.CoordinateSums | rules.CoordinateRates)
    return NUMBERS_ITEMS if several else LEARNER_ITEMS


def _kernel_parts(fields: dict[str, Any]) -> dict[str, bool | None]:
    return {
        "ledger": fields["keep_ledger"],
        "pocket": None if fields["keep_ledger"] else False,
        "budget": fields["budget"] is not None,
        "dense": None,
        "sparse": False if fields["kernel"]["name"] == "precomputed" else None,
    }


KINDS: Mapping[str, Kind] = {
    "learner": Kind(
        "a learner",
        "learner",
        LEARNER_FIELDS,
        _learner_items,
        (
            classes_before_updates,
            bias_is_zero_without_intercept,
            updates_add_up,
            auxiliary_numbers_fit,
            ledger_rows_are_stored,
            learner_support,
            statistics_are_possible,
            candidates_fit,
        ),
        _learner_parts,
    ),
    "dual": Kind(
        "a kernel learner",
        "dual",
        KERNEL_FIELDS,
        lambda fields: GRAM_ITEMS if fields["kernel"]["name"] == "precomputed" else KERNEL_ITEMS,
        (
            classes_before_updates,
            updates_add_up,
            sqnorm_is_possible,
            ledger_rows_are_stored,
            kernel_support,
            pocket_has_no_more_updates,
            budget_slots,
        ),
        _kernel_parts,
        kernel_fields_agree,
    ),
    "real": Kind(
        "a regression model",
        "model",
        REAL_FIELDS,
        lambda fields: WEIGHTS,
        (bias_is_zero_without_intercept, updates_add_up, sqnorm_is_of_weights),
        agree=rule_is_for_regression,
        classes="",
    ),
    "centroid": Kind(
        "a model of kind centroid",
        "model",
        CENTROID_FIELDS,
        lambda fields: (*SUMS, SPREAD),
        (sums_need_counts,),
        _centroid_parts,
    ),
    "naive-bayes": Kind(
        "a model of kind naive-bayes",
        "model",
        BAYES_FIELDS,
        lambda fields: SUMS,
        (sums_need_counts, sums_are_within_counts),
    ),
    "multinomial-bayes": Kind(
        "a model of kind multinomial-bayes",
        "model",
        COUNT_BAYES_FIELDS,
        lambda fields: SUMS,
        (sums_need_counts, sums_are_not_negative),
    ),
    "planes": Kind("a model of kind planes", "model", {}, lambda fields: HYPERPLANES, classes="distinct"),
}


def kind_of(header: Mapping[str, Any]) -> str:
    """Return the name of the kind of file that a header describes."""
    sections = [name for name in ("learner", "dual", "model") if name in header]
    if len(sections) != 1:
        raise ValueError(f"the header has {' and '.join(sections) or 'none'} of learner, dual and model")
    if sections[0] != "model":
        return sections[0]
    name = header.get("kind")
    schema.check(name, OneOf(tuple(name for name, kind in KINDS.items() if kind.section == "model")), "kind")
    return str(name)


def check_content(header: dict[str, Any], arrays: Arrays) -> Content:
    """Compare a header and tensors with the declaration of their kind; raise ValueError at the first difference."""
    name = kind_of(header)
    own = {"kind": str} if KINDS[name].section == "model" else {}
    other_fields = {"format": str, "version": COUNT, "classes": Maybe(ANY_OBJECT), "about": ABOUT}
    content = KINDS[name].check(name, header, arrays, other_fields | own, _symbols)
    about_fits(content)
    return content


def titles_of(kinds: Iterable[str]) -> str:
    """Return kinds of files in words.

    >>> titles_of(["learner", "dual"])
    'a learner or a kernel learner'
    """
    return " or ".join(KINDS[kind].title for kind in kinds)
