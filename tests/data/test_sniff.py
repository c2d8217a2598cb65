import pytest

from rosenblatt.data import BadInput
from rosenblatt.data.sniff import find_format


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.svm", "libsvm"),
        ("a.LIBSVM", "libsvm"),
        ("a.svmlight.gz", "libsvm"),
        ("a.CSV", "csv"),
        ("a.tsv.gz", "tsv"),
    ],
)
def test_the_name_says_it(name, expected):
    assert find_format(name) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"# made by hand\n\n1\n+1 3:1 11:1 \n", "libsvm"),
        (b"1 qid:1 1:0.5 # the first, best\r\n", "libsvm"),
        (b"a,b\n1,2\n", "csv"),
        (b"a\tb\n1\t2\n", "csv"),
        (b"time;y\n12:30;2\n", "csv"),
        (b"a b,y\n1:2,2\n", "csv"),
    ],
)
@pytest.mark.parametrize("name", ["data.txt", "a9a", "a9a.t"])
def test_the_content_says_it(tmp_path, name, content, expected):
    (tmp_path / name).write_bytes(content)
    assert find_format(str(tmp_path / name)) == expected


@pytest.mark.parametrize("content", [b"hello\n", b"3\n4\n", b"\x00\x01\x02"])
def test_otherwise_the_user_must(tmp_path, content):
    (tmp_path / "data.txt").write_bytes(content)
    with pytest.raises(BadInput, match=r"neither LIBSVM text nor CSV.*--format"):
        find_format(str(tmp_path / "data.txt"))
