"""Which format a file is in: by its name, else by its first lines."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.lines import blocks_of_lines, first_text_line

BY_SUFFIX = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
}
LIBSVM_LINE = re.compile(rb"[^\s:,;]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?", re.ASCII)


def find_format(path: str) -> str:
    """Return ``"libsvm"``, ``"csv"`` or ``"tsv"``.

    >>> find_format("train.svm.gz"), find_format("train.csv")
    ('libsvm', 'csv')
    """
    suffix = PurePath(path.removesuffix(".gz")).suffix.lower()
    return BY_SUFFIX.get(suffix) or _by_content(path)


def _by_content(path: str) -> str:
    for line in _first_lines(path):
        if LIBSVM_LINE.fullmatch(line):
            return "libsvm"
        if line.lstrip().startswith(b"#") or _is_label(line):
            continue
        if any(separator in line for separator in (b",", b"\t", b";")):
            return "csv"
        break
    raise BadInput(
        path, None, "neither LIBSVM text nor CSV by its first lines: name the format (--format libsvm or csv)"
    )


def _first_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of the first block that is not blank."""
    first_text_line(path)  # a file without one is an error
    for block in blocks_of_lines(path, 1 << 16):
        lines = [line.strip() for line in block.text.split(b"\n") if line.strip()]
        if lines:
            yield from lines
            return


def _is_label(line: bytes) -> bool:
    """Whether this may be a LIBSVM line whose features are all zero."""
    try:
        float(line.split(b"#")[0])
    except ValueError:
        return False
    return True
