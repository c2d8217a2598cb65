"""The small checker: standard library only, runs alone, and agrees with the fast verifier."""

import ast
import gzip
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import run, run_well
from tests.proofs.mutations import mutated, prove, small_table

from rosenblatt.data import read_all
from rosenblatt.proofs import checker, from_json, hard_margin, separability, soft_margin

VERSION_1 = json.loads((Path(__file__).parent / "fixtures" / "version1.json").read_text(encoding="utf-8"))


def fast(text, X, y, fit_intercept):
    """Return the verdict of the fast verifier: "refused", "fails" or "holds"."""
    try:
        proof = from_json(text)
    except ValueError:
        return "refused"
    return "holds" if proof.verify(X, y, fit_intercept=fit_intercept) else "fails"


def small(text, X, y, fit_intercept):
    """Return the verdict of the small checker."""
    try:
        proof = checker.load_proof(text)
    except checker.Refused:
        return "refused"
    try:
        checker.check(proof, small_table(X.tolist(), y), fit_intercept=fit_intercept)
    except checker.Refused:
        return "fails"
    return "holds"


@pytest.mark.parametrize("chunk", range(4))
def test_both_verifiers_agree_on_proofs_and_on_mutated_proofs(chunk):
    rng = np.random.default_rng(chunk)
    answers, verdicts = Counter(), Counter()
    for seed in range(chunk, 240, 4):
        proved = prove(seed)
        if proved is None:
            continue
        proof, X, y, fit_intercept = proved
        text = proof.to_json()
        answers[type(proof).__name__] += 1
        assert fast(text, X, y, fit_intercept) == small(text, X, y, fit_intercept) == "holds", seed
        assert from_json(text) == proof
        if y is not None:
            assert fast(text, X, y, not fit_intercept) == small(text, X, y, not fit_intercept) == "fails"
            assert fast(text, X, None, False) == small(text, X, None, False) == "fails"
        for _ in range(12):
            other = mutated(text, rng)
            verdict = fast(other, X, y, fit_intercept)
            assert verdict == small(other, X, y, fit_intercept), (seed, other)
            verdicts[verdict] += 1
    assert {"Separable", "Inseparable", "Undecided", "HardMargin", "SoftMargin", "KernelProof"} <= set(
        answers
    )
    assert min(verdicts[verdict] for verdict in ("refused", "fails", "holds")) > 10


@pytest.mark.parametrize("case", VERSION_1, ids=lambda case: case["name"])
def test_proofs_of_version_1_hold(case):
    text, X, y = json.dumps(case["proof"]), np.array(case["X"]), case["y"]
    assert type(from_json(text)).__name__ == case["answer"]
    assert fast(text, X, y, case["fit_intercept"]) == small(text, X, y, case["fit_intercept"]) == "holds"


def test_it_imports_the_standard_library_alone():
    tree = ast.parse(Path(checker.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in imports if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert all(not node.level for node in imports if isinstance(node, ast.ImportFrom))


def test_it_runs_alone(tmp_path):
    shutil.copy(checker.__file__, tmp_path / "checker.py")
    (tmp_path / "xor.csv").write_text("a,b,y\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n", encoding="utf-8")
    X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["no", "yes", "yes", "no"]
    separability(X, y).to_json(tmp_path / "proof.json")

    def run(*options):
        command = [sys.executable, "-I", "-S", "checker.py", "proof.json", "xor.csv", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    verdict = run("--target", "y", "--expect", "inseparable")
    assert verdict.returncode == 0, verdict.stderr
    assert (
        "target 'y'; 4 rows, 2 features, labels 'no', 'yes', hyperplanes with an intercept" in verdict.stdout
    )
    assert "the binary64 nearest to its text" in verdict.stdout
    assert "\nholds: Inseparable: no hyperplane has every row strictly" in verdict.stdout
    assert run("--target", "y", "--expect", "separable").returncode == 1
    assert run("--target", "y", "--no-intercept").returncode == 1
    assert run("--constraints").returncode == 2  # the labels are no numbers
    assert run("--target", "z").returncode == 2


NUMBERS = (
    "0.1,1e-5,-3.,+.5,1E3,2\n0.30000000000000004,9007199254740993,-0,5e-324,1.7976931348623157e308,0.5\n"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("numbers.csv", "a,b,c,d,e,y\n" + NUMBERS),
        ("words.csv", "a,b,y\n1,2,x\n3,4, z\n\n5,6,x\n"),
        ("quoted.csv", '"a","b","y"\n1,2,"p, q"\n3,4,"r"\n'),
        ("bare.csv", "0.5,1,0\n2,1,1\n0.25,1,0\n"),
        ("ends.csv", "a,y\r\n1,0\r\n2,1\r\n"),
        ("whole.csv", "a,y\n1,1.0\n2,2\n"),
        ("floats.csv", "a,y\n1,0.5\n2,2\n"),
        ("data.svm", "+1 1:0.1 3:2e-3 # comment\n-1 2:1.5\n\n1 1:7\n"),
        ("labels.svm", "2.5 1:1\n-3 2:1\n"),
    ],
)
def test_it_reads_the_same_numbers_and_labels(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    data, table = read_all(str(path), exact=True), checker.read_table(str(path))
    dense = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    ours = np.zeros((len(table.rows), table.n_features))
    for i, row in enumerate(table.rows):
        for j, value in row.items():
            ours[i, j] = value
    assert np.array_equal(ours, dense)
    assert table.labels == data.y.tolist()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("huge.csv", "a,y\n1e999999999,0\n1,1\n"),
        ("nan.csv", "a,y\nnan,0\n1,1\n"),
        ("inf.csv", "a,y\ninf,0\n1,1\n"),
        ("under.csv", "a,y\n1_000,0\n1,1\n"),
        ("digits.csv", "a,y\n١,0\n1,1\n"),
        ("hex.csv", "a,y\n0x10,0\n1,1\n"),
        ("missing.csv", "a,y\n,0\n1,1\n"),
        ("label.csv", "a,y\n1,\n1,1\n"),
        ("nul.csv", "a,y\n1,x\0\n1,x\n"),
        ("ragged.csv", "a,y\n1,0,3\n1,1\n"),
        ("twice.csv", "a,a\n1,0\n1,1\n"),
        ("mixed.csv", "a,1\n1,0\n1,1\n"),
        ("empty.csv", ""),
        ("names.csv", "a,y\n"),
        ("quote.csv", 'a,y\n"1,0\n'),
        ("empty.svm", "\n"),
        ("zero.svm", "1 0:1\n"),
        ("descends.svm", "1 2:1 1:1\n"),
        ("twice.svm", "1 2:1 2:1\n"),
        ("far.svm", "1 9999999999:1\n"),
        ("pair.svm", "1 2\n"),
        ("word.svm", "x 1:1\n"),
        ("latin.svm", "1 1:\xe9\n"),
    ],
)
def test_what_it_cannot_read_is_refused(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ValueError, match=r"\S"):
        checker.read_table(str(path))
    proof = tmp_path / "proof.json"
    separability([[0.0], [1.0]], [0, 1]).to_json(proof)
    assert checker.main([str(proof), str(path)]) == 2


@pytest.mark.parametrize("text", ["1 1:{}\n", "{} 1:1\n"])
def test_a_long_word_that_is_no_number_is_refused_in_time_linear_in_it(text, tmp_path):
    path = tmp_path / "long.svm"
    path.write_text(text.format("1" * 500_000 + "x"), encoding="utf-8")
    with pytest.raises(checker.Refused, match="number"):
        checker.read_table(str(path))


@pytest.mark.parametrize(
    ("name", "content", "way_out"),
    [
        ("lines.csv", b'note,a,y\n"two\nlines",1,0\nx,2,1\n', r"several lines; .*prove --export-matrix"),
        ("names.csv", b'a,"y\n1,0\n2,1"\n1,0\n2,1\n', r"several lines; .*prove --export-matrix"),
        ("words.csv", b"a,b,y\n1,red,0\n2,blue,1\n", r"row 1: 'red' .*prove --export-matrix"),
        ("missing.csv", b"a,b,y\n1,,0\n2,3,1\n", r"row 1: '' .*prove --export-matrix"),
        ("old.csv", b"a,y\r1,0\r2,1\r", "newlines; .*prove --export-matrix"),
        ("semicolons.csv", b"a;y\n1;0\n2;1\n", "no other separator is read; .*prove --export-matrix"),
        ("packed.csv", gzip.compress(b"a,y\n1,0\n2,1\n", mtime=0), "'utf-8' codec.*prove --export-matrix"),
        ("latin.csv", b"a,y\n1,\xe9\n2,x\n", "'utf-8' codec.*prove --export-matrix"),
        ("mixed.csv", b"1,p\n2,q\n", "names or a row; .*prove --export-matrix"),
        ("counted.csv", b"0,1\n0,1\n2,0\n", "names or a row; .*prove --export-matrix"),
        ("counted_from_1.csv", b"1,2\n0,1\n2,0\n", "names or a row; .*prove --export-matrix"),
        ("twice.csv", b"a,a,y\n1,2,0\n2,3,1\n", "rename one"),
        ("zero.svm", b"1 0:1\n-1 1:2\n", "ascending from 1; .*prove --export-matrix"),
        ("queries.svm", b"1 qid:1 1:1\n", "prove --export-matrix"),
        ("words.svm", b"spam 1:1\nham 1:2\n", "use CSV; .*prove --export-matrix"),
    ],
)
def test_a_refusal_of_data_names_the_way_out(name, content, way_out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(checker.Refused, match=f"^{name}: .*{way_out}"):
        checker.read_table(name)
    separability([[1.0], [2.0]], [0, 1]).to_json(tmp_path / "proof.json")
    answer = run(f"verify proof.json {name} --independent")
    assert answer.exit_code == 65
    assert re.search(way_out, answer.output)


@pytest.mark.parametrize(
    "source",
    [
        *("-", "part*.csv", "sample:xor", "data.csv --skip-bad", "data.csv --scale", "data.csv --header"),
        *("data.tsv", "data.csv --sep ;", "data.svm --zero-based", "data.svm --format csv"),
    ],
)
def test_what_is_not_one_file_of_numbers_as_written_is_exported_first(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("data.csv", "data.tsv", "data.svm"):
        Path(name).write_text("a,y\n1,0\n2,1\n", encoding="utf-8")
    separability([[1.0], [2.0]], [0, 1]).to_json(tmp_path / "proof.json")
    answer = run(f"verify proof.json {source} --independent")
    assert answer.exit_code == 2
    assert "prove --export-matrix" in answer.output


@pytest.mark.parametrize("option", ["--drop b", "--comment #", "--missing mean", "--category a", "--date a"])
def test_no_option_of_the_caller_is_passed_over(option, tmp_path, monkeypatch):
    """A claim about some of the columns is not decided on all of them."""
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a,b,y\n1,0,0\n1,1,1\n", encoding="utf-8")
    run_well("prove data.csv -o proof.json")
    assert run("verify proof.json data.csv --independent").exit_code == 0
    answer = run(f"verify proof.json data.csv --independent {option}")
    assert answer.exit_code == 2
    assert option.split()[0] in answer.output


@pytest.mark.parametrize("record", [{"header": False}, {"zero_based": True}])
def test_a_record_of_another_reading_is_refused_by_both(record, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a,y\n1,0\n2,1\n", encoding="utf-8")
    run_well("prove data.csv -o proof.json")
    content = json.loads(Path("proof.json").read_text(encoding="utf-8"))
    content["reading"] |= record
    Path("proof.json").write_text(json.dumps(content), encoding="utf-8")
    for way in ("", "--independent"):
        assert run(f"verify proof.json data.csv {way}").exit_code == 2


def test_names_that_are_numbers_are_exported_as_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("1,2,3\n0,0,1\n1,1,2\n", encoding="utf-8")
    run_well("prove data.csv --header -o proof.json --export-matrix matrix.csv")
    for way in ("", "--independent"):
        assert run(f"verify proof.json matrix.csv {way}").exit_code == 0


def test_the_way_out_of_cells_of_several_lines_leads_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lines.csv").write_text('note,a,y\n"two\nlines",1,0\nx,2,1\n', encoding="utf-8")
    run_well("prove lines.csv -o proof.json --export-matrix matrix.csv")
    assert run("verify proof.json matrix.csv --independent --expect separable").exit_code == 0


def test_a_label_of_several_lines_is_not_exported_and_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lines.csv").write_text('a,y\n1,"two\nlines"\n2,x\n', encoding="utf-8")
    answer = run("prove lines.csv --export-matrix matrix.csv")
    assert answer.exit_code == 2
    assert "rename the label" in answer.output


def test_a_wrong_target_is_answered_with_the_columns_there_are(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,y\n1,2,0\n2,3,1\n", encoding="utf-8")
    with pytest.raises(checker.Refused, match="no column is called '3'; there are 'a', 'b', 'y'"):
        checker.read_table(str(path), target="3")


def test_classes_that_the_verdict_does_not_list_are_counted():
    labels = [f"class {at}" for at in range(11)]
    assert "'class 6' and 3 more, hyperplanes" in checker.stated(small_table([[0.0]] * 11, labels), True)


@pytest.mark.parametrize(
    ("prove", "parts"),
    [
        (lambda X, y: soft_margin(X, y, 2.0), ["C 2.0", "objective {objective}", "lower {lower}"]),
        (hard_margin, ["margin {margin}", "upper {upper}"]),
        (
            lambda X, y: hard_margin(X, y, penalise_intercept=False),
            ["margin {margin}", "upper {upper}", "norms leave the intercept out"],
        ),
    ],
    ids=["soft", "hard", "hard, intercept not penalised"],
)
def test_the_verdict_states_the_bounds_that_it_is_about(prove, parts):
    X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    proof = prove(X, y)
    verdict = checker.check(checker.load_proof(proof.to_json()), small_table(X, y)).split("; ")
    assert verdict[1:] == [part.format(**vars(proof)) for part in parts]
