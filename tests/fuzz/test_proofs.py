"""A bounded run of the trials of proofs, and what they found; ``make fuzz`` is the long one."""

import collections
import contextlib
import io
import json
import random
from fractions import Fraction

import numpy as np
import pytest
from tests.cli.commands import run
from tests.fuzz import proof_oracle as oracle
from tests.fuzz import proofs

from rosenblatt.proofs import checker, from_json, kernel_separability, separability
from rosenblatt.proofs.examples import as_classes, as_matrix

TRIALS = 3000


@pytest.fixture(scope="module", autouse=True)
def prepared():
    proofs.prepare()


@pytest.mark.parametrize("part", range(4))
def test_verifier_checker_and_oracle_agree(part):
    for number in range(part * TRIALS // 4, (part + 1) * TRIALS // 4):
        try:
            proofs.check(number)
        except Exception as error:
            raise AssertionError(f"trial {number}: {proofs.trial(number)}") from error


def test_the_trials_reach_every_kind_with_every_verdict():
    verdicts = collections.Counter()
    for number in range(1000):
        trial = proofs.trial(number)
        verdict = proofs.judged(trial)
        if verdict == "malformed":
            verdicts[verdict] += 1
            continue
        answer = json.loads(trial.text)["answer"]
        verdicts[answer, verdict] += 1
    missing = [(kind, v) for kind in oracle.KINDS for v in ("holds", "fails") if not verdicts[kind, v]]
    assert not missing
    assert verdicts["malformed"] > 100


def test_what_the_searches_prove_holds():
    for at, case in enumerate(proofs.cases()):
        for content in proofs.proved(at):
            trial = proofs.Trial(case.problem, json.dumps(content), True)
            verdicts = proofs.judged(trial), proofs.fast(trial), proofs.independent(trial)
            assert verdicts == ("holds",) * 3, (case.problem, content)


def verdicts_of(statement, problem):
    trial = proofs.Trial(problem, json.dumps(proofs.content_of(statement)), False)
    return proofs.judged(trial), proofs.fast(trial), proofs.independent(trial)


def test_a_thousand_rows_of_many_more_on_the_margin_are_named():
    labels = [i % 2 for i in range(1010)]
    problem = proofs.problem("many", [[2 * label - 1] for label in labels], labels, form="float64")
    statement = proofs.separable(problem.claim(), [Fraction(1), Fraction(0)])
    rows = random.Random(5).sample(range(1010), 1000)
    for named, verdict in (
        (statement["rows"], "holds"),
        (rows, "holds"),
        (rows[1:], "fails"),
        ([*rows[1:], rows[1]], "fails"),
        ([*rows, next(i for i in range(1010) if i not in rows)], "fails"),
        ([*rows[1:], 1010], "fails"),
    ):
        trial = proofs.Trial(problem, json.dumps(proofs.content_of(statement | {"rows": named})), False)
        assert oracle.holds(oracle.read(trial.text), problem.claim()) == (verdict == "holds")
        assert (proofs.fast(trial), proofs.independent(trial)) == (verdict, verdict)


# What was found, and stays mended


@pytest.mark.parametrize(
    "rows", [[[2**53 + 1, 0.5]], [[2**63 + 1, -1]], [[2**64 + 1, 1]], [[10**30 + 1, 0.5]]]
)
def test_integers_that_numpy_rounds_among_floats_are_refused(rows):
    with pytest.raises(ValueError, match="exactly"):
        as_matrix(rows)


@pytest.mark.parametrize("kind", [list, tuple, collections.deque, collections.UserList])
def test_labels_of_any_sequence_are_told_apart(kind):
    assert len(as_classes(kind([2**53, 2**53 + 1, 0.5]), 3)[0]) == 3
    with pytest.raises(ValueError, match="NUL"):
        as_classes(kind(["x", "x\0"]), 2)


def test_masked_labels_are_refused():
    with pytest.raises(ValueError, match="mask"):
        as_classes(np.ma.array([1, 2], mask=[0, 1]), 2)


def spoiled(**changes):
    return json.dumps(json.loads(separability([[0.0], [1.0]], [0, 1]).to_json()) | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"classes": [0, 1.0]},
        {"classes": [0.0, 1]},
        {"margin": {"float": "0x1.8p-1074"}},
        {"margin": {"float": "0x1.0p-9999"}},
        {"margin": {"float": "0x1.0000000000001p-1030"}},
    ],
)
def test_what_is_not_as_the_format_says_is_refused_by_both_readers(changes):
    for read in (from_json, checker.load_proof):
        with pytest.raises(ValueError, match=next(iter(changes))):
            read(spoiled(**changes))


@pytest.mark.parametrize("answer", ["Separable", "Undecided", "QuasiSeparable", "HardMargin", "SoftMargin"])
def test_a_hyperplane_of_zeros_on_huge_data_raises_no_floating_point_error(answer):
    problem = proofs.problem("huge", [[1e308, -1e308], [-1e308, 1.7e308]], [1, 0], form="float64")
    case = proofs.case_of(problem, problem.claim())
    for seed in range(200):
        statement = proofs.forged(case, random.Random(seed))
        if statement["answer"] == answer:
            zeros = [[Fraction(0)] * 3]
            with np.errstate(all="raise"):
                judged, fast, independent = verdicts_of(statement | {"hyperplanes": zeros}, problem)
            assert judged == fast == independent


def test_a_kernel_proof_is_about_labelled_examples():
    statement = {
        **{"answer": "Undecided", "classes": [], "fit_intercept": False, "n_rows": 1, "n_features": 1},
        **{"hyperplanes": [[Fraction(1)]], "lower": 0.0, "upper": 9.0, "least": Fraction(0)},
        **{"rows": [0], "rivals": [], "weights": [Fraction(1)]},
    }
    kernel = {"answer": "KernelProof", "degree": 1, "coef0": 0, "proof": statement}
    assert verdicts_of(kernel, proofs.problem("one", [[2]], None, False))[1:] == ("fails", "fails")


def numbers_of_many_digits(count):
    rng = random.Random(1)

    def digits():
        return "".join(rng.choice("123456789") for _ in range(34_999)) + "1"

    return [[f"{digits()}/{digits()}" for _ in range(count)]]


def test_denominators_of_many_digits_in_all_are_refused_at_once():
    content = {
        **{
            "format": "rosenblatt-proof",
            "version": 2,
            "answer": "Feasible",
            "classes": [],
            "fit_intercept": False,
        },
        **{"n_rows": 1, "n_features": 4, "hyperplanes": numbers_of_many_digits(4)},
    }
    for read in (from_json, checker.load_proof):
        with pytest.raises(ValueError, match="denominator"):
            read(json.dumps(content))


def checked(tmp_path, proof, data, *options, name="data.csv"):
    """Return the exit code of the checker on two files."""
    (tmp_path / "proof.json").write_text(json.dumps(proof), encoding="utf-8")
    (tmp_path / name).write_bytes(data.encode())
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return checker.main([str(tmp_path / "proof.json"), str(tmp_path / name), *options])


def without_features(*labels):
    """Prove that labels cannot be told apart where there are no features at all."""
    half = ["1/2", "1/2"]
    return {
        **{"format": "rosenblatt-proof", "version": 2, "answer": "Inseparable", "classes": sorted(labels)},
        **{
            "fit_intercept": True,
            "n_rows": 2,
            "n_features": 0,
            "culprits": [0, 1],
            "rivals": [],
            "weights": half,
        },
        **{"overlap": True, "core_rows": [0, 1], "core_rivals": [], "core_weights": half},
    }


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        ("a;b;y\n0;0;n\n1;1;p\n", ["0;0;n", "1;1;p"]),
        ("a\tb\ty\n0\t0\tn\n1\t1\tp\n", ["0\t0\tn", "1\t1\tp"]),
        ("9 1:1\n1 1:1\n-1 1:2\n", ["1 1:1", "-1 1:2"]),
        ("y\nn\np\n", ["n", "p"]),
    ],
)
def test_a_table_without_features_is_refused(tmp_path, data, labels):
    proof = without_features(*labels)
    assert checked(tmp_path, proof, data, "--expect", "inseparable") == 2
    files = [str(tmp_path / "proof.json"), str(tmp_path / "data.csv")]
    assert run(["verify", *files, "--independent"]).exit_code == 65
    assert run(["verify", *files]).exit_code != 0


@pytest.mark.parametrize(
    "data",
    [
        "a,y\n1,x\n,\n2,z\n",  # no row may be left out
        'a,y\n1,x\n"",""\n2,z\n',
        "a,y\n1,x\r2,z\n",
        "a,y\r1,x\r2,z\r",
        "a,y\n1,\u00a0x\n2,x\n",
        "a,y\n1,x\x1c\n2,x\n",
        "a,y\n1,\uff11\n2,\uff12\n",
        "a,y\n1,9007199254740993.0\n2,9007199254740992.0\n",
        "a,y\n1,9007199254740993\n2,9007199254740992.0\n",
        "a,y\n\u00a01,x\n2,z\n",
    ],
)
def test_what_readers_could_read_differently_is_refused_or_read_the_same(data):
    proofs.compare_readings("csv", data)


@pytest.mark.parametrize(
    "data", ["1 3:1 # c\r1 2:-2\n", "1\u00a01:2\n", "1\x0c1:2\n", "1\x1c1:2\n", "\uff11 1:2\n"]
)
def test_lines_that_readers_could_split_differently_are_refused(data):
    assert proofs.compare_readings("libsvm", data) == "the checker"


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("", []),
        ("a,y\n1,x\n", ["--target", "z"]),
        ("\n\n", []),
    ],
)
def test_unusable_files_and_options_are_errors_of_their_own(tmp_path, data, options):
    assert checked(tmp_path, without_features("n", "p"), data, *options) == 2


def test_verdicts_are_printed_where_standard_output_knows_ascii_only(tmp_path):
    (tmp_path / "data.csv").write_text("a,y\n0,\u00e9\n1,\u00fc\n", encoding="utf-8")
    proof = separability([[0.0], [1.0]], ["\u00e9", "\u00fc"]).to_json(tmp_path / "proof.json")
    assert proof
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with contextlib.redirect_stdout(narrow):
        code = checker.main([str(tmp_path / "proof.json"), str(tmp_path / "data.csv")])
    narrow.flush()
    assert code == 0
    assert b"holds" in narrow.buffer.getvalue()


def test_a_kernel_proof_of_xor_does_not_prove_it_separable(tmp_path):
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    proof = kernel_separability(X, y, degree=2)
    assert not proof.verify(X, y, expect="separable")
    assert proof.verify(X, y, expect="kernel-separable")
    table = "a,b,y\n0,0,0\n0,1,1\n1,0,1\n1,1,0\n"
    content = json.loads(proof.to_json())
    assert checked(tmp_path, content, table, "--no-intercept", "--expect", "separable") == 1
    assert checked(tmp_path, content, table, "--no-intercept", "--expect", "kernel-separable") == 0
    command = [
        "verify",
        str(tmp_path / "proof.json"),
        str(tmp_path / "data.csv"),
        "--no-intercept",
        "--expect",
    ]
    assert run([*command, "separable"]).exit_code == 1
    assert run([*command, "kernel-separable"]).exit_code == 0


def test_weights_of_many_digits_are_printed(tmp_path):
    long = f"{'3' * 5000}/1{'0' * 5000}"  # about a third
    rest = f"{'1' + '6' * 4998 + '7'}/1{'0' * 5000}"  # what is left of a half
    proof = {
        **{
            "format": "rosenblatt-proof",
            "version": 2,
            "answer": "Infeasible",
            "classes": [],
            "fit_intercept": False,
        },
        **{"n_rows": 4, "n_features": 1, "rows": [0, 1, 2, 3], "weights": [long, rest, long, rest]},
    }
    assert checked(tmp_path, proof, "a\n1\n1\n-1\n-1\n", "--constraints") == 0
    answer = run(["verify", str(tmp_path / "proof.json"), str(tmp_path / "data.csv"), "--constraints"])
    assert answer.exit_code == 0, answer.output
    assert "0.333333" in answer.output
