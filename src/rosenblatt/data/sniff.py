"""Which format a file is in: by its name, else by its first bytes and lines."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.lines import blocks_of_lines, first_text_line
from rosenblatt.data.packed import opened, without_suffix
from rosenblatt.data.standard_input import STANDARD_INPUT

BY_SUFFIX = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".vw": "vw",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".mbox": "mbox",
    ".mbx": "mbox",
}
BY_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
LIBSVM_LINE = re.compile(rb"[^\s:,;|]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?", re.ASCII)
_NUMBER = rb"[+-]?[\d.]+([eE][+-]?\d+)?"
VW_LINE = re.compile(rb"(%b\s+){0,3}('?[^\s|,;]*)?\|.*" % _NUMBER, re.ASCII | re.DOTALL)


def find_format(path: str) -> str:
    """Return the name of the format of a file or folder.

    >>> find_format("train.svm.gz"), find_format("train.csv"), find_format("logs.jsonl.zst")
    ('libsvm', 'csv', 'jsonl')
    """
    if path != STANDARD_INPUT and Path(path).is_dir():
        return _of_folder(path)
    suffix = PurePath(without_suffix(path)).suffix.lower()
    return BY_SUFFIX.get(suffix) or _by_magic(path) or _by_content(path)


def _of_folder(path: str) -> str:
    from rosenblatt.data.mail import class_folders, is_maildir
    from rosenblatt.data.sources import files_in

    if is_maildir(Path(path)):
        return "maildir"
    files, classes = files_in(path), class_folders(path)
    data = [file for file in files if PurePath(without_suffix(file)).suffix.lower() in BY_SUFFIX]
    if files and (data or len(classes) < 2):
        return "folder of files"
    if classes:  # files beside them, a README perhaps, are no data
        return "folders"
    raise BadInput(path, None, "is a folder without files: name a file, or a folder that has some")


def _by_magic(path: str) -> str | None:
    with opened(path) as (file, packing):
        start = file.peek(8)[:8] if packing is None or path == STANDARD_INPUT else b""  # which comes unpacked
    return next((name for magic, name in BY_MAGIC.items() if start.startswith(magic)), None)


def _by_content(path: str) -> str:
    for line in _first_lines(path):
        if line.startswith(b"{"):
            return "jsonl"
        if line.startswith(b"From "):
            return "mbox"
        if LIBSVM_LINE.fullmatch(line):
            return "libsvm"
        if VW_LINE.fullmatch(line):
            return "vw"
        if line.lstrip().startswith(b"#") or _is_label(line):
            continue
        if any(separator in line for separator in (b",", b"\t", b";")):
            return "csv"
        break
    raise BadInput(
        path,
        None,
        "neither LIBSVM text nor CSV, Vowpal Wabbit text, JSON lines or mbox by its first lines: "
        "name the format (--format libsvm, csv ...)",
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
