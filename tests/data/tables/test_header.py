import pytest

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.tables.header import read_header


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write_file


DATA = {
    "fractions": "5.1,3.5,setosa\n4.9,3.0,setosa\n6,2,virginica\n",
    "values that occur again": "39, State-gov, 77516\n50, State-gov, 83311\n38, Private, 2156\n28, Private, 8\n",
    "letters": "p,x,s\ne,x,y\np,b,s\ne,x,w\n",
    "the same number twice": "1,0,1\n0,5,7\n8,9,3\n",
    "label and text": "ham\tGo until the point\nspam\tWin a prize now\nham\tsee you at nine\nham\tall is well then\n",
}
NAMES = {
    "words above numbers": "width,kind\n5.1,a\n4.9,b\n6.0,a\n",
    "a label called y": "x1,x2,y\n1,2,y\n3,4,n\n5,6,y\n",
    "numbers that count": "0,1,2\n0,1,1\n1,1,0\n",
    "one row": "a,b\nx,y\n",
    "all text": "text,label\nGo until the point,ham\nWin a prize now,spam\nall is well then,ham\n",
    "nothing below": "a,b\n",
}


@pytest.mark.parametrize("content", DATA.values(), ids=DATA)
def test_a_first_line_of_data_is_an_example(write, content):
    path = write(content)
    header = read_header(path)
    assert not header.named
    found = read_all(path)
    assert found.lines.tolist() == list(range(1, content.count("\n") + 1))
    assert len(set(header.names)) == len(header.names)
    again = read_all(path, schema=found.schema.to_dict())
    assert (again.X != found.X).sum() == 0
    assert again.y.tolist() == found.y.tolist()


@pytest.mark.parametrize("content", NAMES.values(), ids=NAMES)
def test_a_first_line_of_names_is_none(write, content):
    header = read_header(write(content))
    assert header.named
    assert header.names == content.split("\n")[0].split(",")


@pytest.mark.parametrize(
    "content", ["1990,1992,country\n5,6,fr\n7,8,de\n9,1,it\n", "3,5,7\n1,2,8\n4,6,9\n", "5.1,2,a\n"]
)
def test_numbers_that_could_be_names_are_an_error_with_a_way_out(write, content):
    with pytest.raises(
        BadInput,
        match=r"data.csv:1: the first line holds .* header=True \(--header\) .* header=False \(--no-header\)",
    ):
        open_examples(write(content))
    assert read_all(write(content), header=False).lines[0] == 1


def test_what_the_caller_says_goes(write):
    path = write(DATA["letters"])
    assert read_all(path, header=True).lines[0] == 2
    assert read_all(write(NAMES["all text"]), header=False).lines[0] == 1


def test_columns_are_named_by_their_place_and_can_be_asked_for(write):
    path = write("p,x,1\ne,x,0.5\np,b,3\n")
    found = read_all(path, target="x1")
    assert found.feature_names == ["x2=b", "x2=x", "x3"]
    assert found.y.tolist() == ["p", "e", "p"]


def test_a_new_file_may_lack_the_target_or_bring_names(write):
    schema = read_all(write("p,x,1\ne,x,0.5\np,b,3\n"), target="x1").schema
    without = read_all(write("x,7\nb,8\n", "new.csv"), schema=schema)
    assert without.X.toarray().tolist() == [[0, 1, 7], [1, 0, 8]]
    assert without.y is None
    named = read_all(write("x3,x2\n7,x\n", "named.csv"), schema=schema)
    assert named.X.toarray().tolist() == [[0, 1, 7]]
    with pytest.raises(
        BadInput, match=r"new.csv:1: 4 values where the model was trained on 3, the target 'x1'"
    ):
        read_all(write("1,2,3,4\n", "new.csv"), schema=schema)


@pytest.mark.parametrize("name", ["data.txt", "data.tsv", "data.csv"])
def test_the_separator_cuts_the_lines_evenly(write, name):
    path = write("ham\tGo, go, go\nspam\tWin a, prize now\nham\tone; two; three\nspam\tcall me\n", name)
    header = read_header(path)
    assert (header.separator, header.names, header.target) == ("\t", ["label", "text"], "label")


YEARS = "country,2019,2020,y\n" + "".join(f"c{k % 3},{k}.5,{k}.25,{'ab'[k % 2]}\n" for k in range(8))


def test_years_are_names_beside_words_and_not_where_years_stand_below(write):
    assert read_header(write(YEARS)).names == ["country", "2019", "2020", "y"]
    rows = "".join(f"c{k % 3},{2000 + k},{1990 + k},{'ab'[k % 2]}\n" for k in range(8))
    with pytest.raises(BadInput, match=r"holds '2019', not names.*--header"):
        read_header(write("country,2019,2020,y\n" + rows))


def test_numbers_are_names_where_the_caller_says_so(write):
    text = "a,7,y\n" + "".join(f"{k},{k}.25,{'ab'[k % 2]}\n" for k in range(8))
    with pytest.raises(BadInput, match=r"holds '7', not names"):
        read_header(write(text))
    assert read_all(write(text), header=True).feature_names == ["a", "7"]


@pytest.mark.parametrize(
    ("line", "names"), [("'{k}',{k}.5,{y}", ["index", "a", "y"]), ("{k}.5,{y},", ["a", "y", "column 3"])]
)
def test_lines_one_value_longer_than_the_names_have_row_names_or_end_twice(write, line, names):
    rows = "".join(line.format(k=k, y="ab"[k % 2]) + "\n" for k in range(8))
    path = write("a,y\n" + rows)
    assert read_header(path).names == names
    table = read_all(path)
    assert table.feature_names == ["a"]
    assert table.X[:, 0].tolist() == [k + 0.5 for k in range(8)]
    assert table.y.tolist() == list("abababab")
    assert read_all(path, schema=table.schema).X.tolist() == table.X.tolist()
    one = write("a,y\n" + rows.split("\n")[1] + "\n", "one.csv")
    assert read_all(one, schema=table.schema).X.tolist() == [[1.5]]


def test_lines_longer_than_the_names_are_bad_where_their_first_values_repeat(write):
    rows = "".join(f"{k % 2},{k}.5,{'ab'[k % 2]}\n" for k in range(8))
    with pytest.raises(BadInput, match=r":2:\d+: 3 values where the header names 2"):
        read_all(write("a,y\n" + rows))


@pytest.mark.parametrize("second", ["left,right,class", "(m),(kg),"])
def test_a_second_line_of_names_or_units_is_an_error_that_says_so(write, second):
    rows = "".join(f"{k}.5,{-k}.25,{'ab'[k % 2]}\n" for k in range(40))
    path = write(f"A,B,C\n{second}\n{rows}")
    with pytest.raises(BadInput, match=r"data.csv:1: the line below holds .* names or units.*--skip-bad"):
        read_all(path)
    table = read_all(path, skip_bad=True)
    assert table.X.shape == (40, 2)
    assert [each.line for each in table.skipped] == [2]
    assert [column.summary for column in table.columns[:2]] == ["0.5 to 39.5", "-39.25 to 0.25"]
