"""Tables with a text column: the column becomes a bag of words, wherever it stands."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rosenblatt.data import BadInput, Preprocessing, PreprocessingPlan, Words, open_examples, read_all
from rosenblatt.data.words import count_words
from rosenblatt.learner import Learner

MAILS = 'text,hour,label\n"free prize, call now",3,spam\nsee you at nine,9,ham\n"call me, free later",8,ham\n'


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write_file


def test_a_column_of_prose_becomes_words(write):
    found = read_all(write(MAILS), words=Words())
    assert found.feature_names[:4] == ["text:free", "text:prize", "text:call", "text:now"]
    assert found.feature_names[-1] == "hour"
    assert found.X.toarray()[:, -1].tolist() == [3, 9, 8]
    assert found.X.toarray()[0, :4].tolist() == [1, 1, 1, 1]
    assert found.X.has_sorted_indices


def test_the_schema_carries_the_words(write):
    schema = json.loads(json.dumps(read_all(write(MAILS), words=Words()).schema.to_dict()))
    new = read_all(write("hour,text\n1,FREE call\n2,unheard of\n3,\n", "new.csv"), schema=schema)
    assert new.X.sum(axis=1).tolist() == [3, 2, 3]
    assert new.unseen == 1  # the text of which no word is known; an empty one knows no word to be unknown


def test_text_can_be_asked_for(write):
    path = write("a,y\nx,1\nx y,0\nx,1\n")
    assert read_all(path).feature_names == ["a=x", "a=x y"]
    assert read_all(path, text=["a"]).feature_names == ["a:x", "a:y"]
    assert read_all(path, text="a", words=Words(buckets=4)).X.shape == (3, 4)
    assert read_all(path, text=["a"], words=Words(ngrams=(1, 2))).feature_names == ["a:x", "a:y", "a:x y"]
    with pytest.raises(BadInput, match="no column is called 'b'; there are 'a', 'y'"):
        open_examples(path, text=["b"])


@pytest.mark.parametrize("first", ["label\ttext", None])
def test_quotes_in_tab_separated_prose_are_only_quotes(write, first):
    rows = [
        'ham\tthe 5" pipe is here',
        'spam\t"win now, he said',
        'ham\tsay "hi" to all',
        'spam\t"all ""quoted"" here"',
    ]
    path = write("\n".join(([first] if first else []) + rows), "data.tsv")
    found = read_all(path)
    assert found.schema.target == "label"
    assert found.y.tolist() == ["ham", "spam", "ham", "spam"]
    words = [["the", "5", "pipe", "is", "here"], ["win", "now", "he", "said"], ["say", "hi", "to", "all"]]
    for row, expected in zip(found.X.toarray(), [*words, ["all", "quoted", "here"]], strict=True):
        assert {name for name, x in zip(found.feature_names, row, strict=True) if x} == {
            f"text:{w}" for w in expected
        }


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\t"), max_size=12)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(CELLS, st.floats(-9, 9), CELLS), min_size=1, max_size=8), st.integers(1, 90))
def test_any_block_size_is_one_go_and_each_column_is_its_own_bag(tmp_path_factory, rows, block_bytes):
    path = tmp_path_factory.mktemp("words") / "data.tsv"
    # a leading letter keeps values from being quoted as a whole
    path.write_text(
        "\n".join(["a\tn\tb\ty", *(f"q {a}\t{n!r}\tq {b}\tyes" for a, n, b in rows)]), encoding="utf-8"
    )
    found = read_all(path, text=["a", "b"], numeric="n", words=Words())
    index_a, index_b = {}, {}
    X_a = count_words([f"q {a}" for a, _, _ in rows], Words(), index_a, grow=True).X.toarray()
    X_b = count_words([f"q {b}" for _, _, b in rows], Words(), index_b, grow=True).X.toarray()
    expected = np.hstack([X_a, [[n] for _, n, _ in rows], X_b])
    assert found.X.toarray().tolist() == expected.tolist()
    assert found.feature_names == [*(f"a:{w}" for w in index_a), "n", *(f"b:{w}" for w in index_b)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", block_bytes)
        split = read_all(path, text=["a", "b"], numeric="n", words=Words(), batch_rows=2)
    assert split.schema.columns == found.schema.columns
    assert split.X.toarray().tolist() == expected.tolist()


def test_scaled_numbers_have_mean_0_and_deviation_1(write):
    path = write("a,d,b,y\n1,u,5,p\n2,v,5,q\n6,u,5,p\n")
    found = read_all(path, scale=True)
    X = found.X.toarray()
    assert np.allclose(X[:, 0].mean(), 0)
    assert np.allclose(X[:, 0].std(), 1)
    assert X.shape[1] == 3  # a constant column is left out
    again = read_all(write("a,d,b\n3,u,6\n", "new.csv"), schema=found.schema.to_dict())
    assert again.X.toarray().tolist() == [[0, 1, 0]]
    kept = read_all(path, scale=True, numeric="b")
    assert kept.X.toarray()[:, -1].tolist() == [0, 0, 0]


def held_out_third(found):
    held = np.arange(found.y.size) % 3 == 0
    learner = Learner()
    learner.train(found.X[~held], found.y[~held])
    return float((learner.predict(found.X[held]) == found.y[held]).mean())


def test_sms_spam_as_it_comes(data_folder):
    found = read_all(data_folder / "text/sms_spam.tsv.gz")
    assert found.X.shape[0] == 5574
    assert sorted(set(found.y.tolist())) == ["ham", "spam"]
    assert held_out_third(found) >= 0.975


def test_adult_as_it_comes(data_folder):
    path = data_folder / "uci/adult_train.csv.gz"
    found = read_all(path)
    assert found.X.shape[0] == 32561
    assert sorted(set(found.y.tolist())) == ["<=50K", ">50K"]
    assert [c.name for c in found.schema.columns if not c.discrete] == [
        f"x{n}" for n in (1, 3, 5, 11, 12, 13)
    ]
    assert held_out_third(read_all(path, scale=True)) >= 0.84


def test_text_columns_become_tfidf_rows_of_unit_length(tmp_path):
    """Each text column alone; other columns are left as they are."""
    path = tmp_path / "mails.csv"
    path.write_text(
        "n,a,k,b,y\n1,free prize free,u,one two three,1\n2,call me now,v,two two four,0\n,free call now,u,,1\n"
    )
    options = {"text": ["a", "b"], "category": "k"}
    rows, counted = read_all(path, **options), read_all(path, words="counts", **options)
    assert rows.feature_names == counted.feature_names
    X, C = rows.X.toarray(), counted.X.toarray()
    names = np.array(rows.feature_names)
    for prefix in ("a:", "b:"):
        ours = np.char.startswith(names, prefix)
        df = (C[:, ours] > 0).sum(axis=0)
        expected = np.where(C[:, ours] > 0, 1 + np.log(np.maximum(C[:, ours], 1)), 0.0)
        expected *= 1 + np.log(4 / (1 + df))
        lengths = np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(X[:, ours], expected / np.where(lengths > 0, lengths, 1.0), rtol=1e-13)
    others = ~(np.char.startswith(names, "a:") | np.char.startswith(names, "b:"))
    assert (X[:, others] == C[:, others]).all()
    again = read_all(path, schema=json.loads(json.dumps(rows.schema.to_dict())))
    assert (again.X.toarray() == X).all()


def test_weights_of_text_columns_are_fitted_on_any_rows(tmp_path):
    path = tmp_path / "mails.csv"
    path.write_text("n,a,y\n1,free prize,1\n2,call me,0\n3,free call now,1\n5,now or never,0\n")
    raw = read_all(path, text="a", scale=True, prepared=False)
    rows = read_all(path, text="a", scale=True)
    whole = raw.plan.fit(raw.X)
    np.testing.assert_allclose(whole.apply(raw.X).toarray(), rows.X.toarray(), rtol=1e-13, atol=1e-15)
    part = raw.plan.fit(raw.X[:2])
    assert part.documents == 2
    unknown = [rows.feature_names.index(name) for name in ("a:now", "a:or", "a:never")]
    assert not part.apply(raw.X).toarray()[:, unknown].any()
    schema = replace(raw.schema, preprocessing=part)
    np.testing.assert_allclose(
        read_all(path, schema=schema).X.toarray(), part.apply(raw.X).toarray(), rtol=1e-13, atol=1e-15
    )


@pytest.mark.parametrize(
    "texts", [[[0, [1]]], [[1, [3, 1]]], [[1, [1, 1, 1]]], [[1, [1]], [1, [1]]], [[1, 2]], [["1", [1]]], 5]
)
def test_document_counts_of_a_table_must_be_those_of_its_texts(texts):
    fitted = PreprocessingPlan((0,), texts=((1, 3),)).fit(csr_array([[1.0, 1.0, 0.0], [2.0, 0.0, 2.0]]))
    assert Preprocessing.from_dict(fitted.to_dict()) == fitted
    with pytest.raises(ValueError, match="not a preprocessing"):
        Preprocessing.from_dict(fitted.to_dict() | {"texts": texts})
