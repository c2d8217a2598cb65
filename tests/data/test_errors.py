import pickle

from rosenblatt.data import BadInput


def test_it_crosses_processes():
    error = pickle.loads(pickle.dumps(BadInput("a.csv", 7, "two columns are called 'x': rename one")))
    assert str(error) == "a.csv:7: two columns are called 'x': rename one"
    assert (error.path, error.line) == ("a.csv", 7)
    assert isinstance(error, ValueError)


def test_without_a_line_the_whole_file_is_named():
    assert str(BadInput("a.csv", None, "no such file")) == "a.csv: no such file"
