"""The door to every source: a path, a pattern, ``-`` or ``sample:NAME`` in, examples out."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.bad_input import BadInput, LateZero, SkippedLines
from rosenblatt.data.batch import concatenate
from rosenblatt.data.examples import Examples
from rosenblatt.data.openers import OPENERS, Wishes
from rosenblatt.data.schema import Schema, schema_from_dict
from rosenblatt.data.sniff import find_format
from rosenblatt.data.sources import Source, files_in, name_of, paths_of
from rosenblatt.data.standard_input import STANDARD_INPUT
from rosenblatt.data.words import Words

FORMATS = tuple(OPENERS)
T = TypeVar("T")


class AllExamples(NamedTuple):
    """A whole source in memory: a batch of everything, and what is known about it."""

    X: Any
    y: NDArray[Any] | None
    lines: NDArray[np.int64]
    feature_names: list[str] | None
    schema: Schema
    skipped: SkippedLines
    unseen: int
    weight: NDArray[np.float64] | None = None  # importance of every row; None: one each
    tags: NDArray[np.str_] | None = None  # what the source calls every row; None: nothing


def open_examples(
    source: Source,
    *,
    target: str | None = None,
    format: str | None = None,
    batch_rows: int | None = 65536,
    schema: Schema | Mapping[str, Any] | None = None,
    skip_bad: bool = False,
    zero_based: bool | None = None,
    header: bool | None = None,
    text: Collection[str] = (),
    words: Words | None = None,
    scale: bool = False,
    grow: bool = False,
    hash_bits: int = 0,
    at_once: bool = False,
    tight: bool = False,
) -> Examples:
    """Open a file, several files, a folder, standard input or an embedded sample as a stream of batches.

    Parameters
    ----------
    source : a path, a pattern as in ``logs/*.csv``, a list of paths, ``-`` for standard input, or ``sample:NAME``
    target : the target: a column, a field of JSON lines, a header of mail; the last column by default (or the
        first if the last is text), the usual field or header, else the name of the mailbox or folder
    format : one of ``FORMATS``; found from the name and the content by default
    batch_rows : rows of every batch but the last; None for batches as they are read, without copying
    schema : the schema of a trained model (or its ``to_dict()``), to encode new files as in training
    skip_bad : pass over bad lines and list them in ``skipped``, instead of raising at the first
    zero_based : whether LIBSVM indices count from 0; looked for by default, or as the schema says
    header : whether the first line of a CSV file names its columns; found from the first lines by default
    text : columns that are text, each to become a bag of words; those that read like prose by default
    words : how text becomes words; single words, lower case, 1 where they occur by default
    scale : numeric columns become (x − mean) / standard deviation; kept as they are by default
    grow : with a schema, take in features it does not know; without one they always are
    hash_bits : hash named features into ``2**hash_bits``; 0 keeps their names
    at_once : read a table once and as it arrives, each value speaking for itself, instead of first looking for
        the kind of every column
    tight : memory is short: take longer rather than more of it

    Raises
    ------
    BadInput : with the path, the line, what is wrong and what to do

    Examples
    --------
    >>> examples = open_examples("sample:iris", batch_rows=100)
    >>> [batch.X.shape for batch in examples]
    [(100, 4), (50, 4)]
    """
    known = schema_from_dict(schema) if isinstance(schema, Mapping) else schema
    if format not in (None, *FORMATS):
        raise ValueError(f"format is {format!r}: expected one of {', '.join(FORMATS)}")
    path = name_of(source)
    if path.startswith("sample:"):
        from rosenblatt.data.samples import SampleExamples

        if target not in (None, "class"):
            raise BadInput(path, None, f"its target is 'class', not {target!r}: drop the target")
        return SampleExamples(path, known, batch_rows, skip_bad, scale)
    paths = paths_of(source)
    found = find_format(paths[0]) if format is None or Path(paths[0]).is_dir() else format
    if found == "folder of files":
        paths = [file for folder in paths for file in files_in(folder)]
        found = find_format(paths[0]) if format is None else format
    format = format or found
    asked = Wishes(
        path=path,
        paths=paths,
        format=format,
        target=target,
        schema=known,
        grow=grow,
        zero_based=zero_based,
        header=header,
        text=[text] if isinstance(text, str) else list(text),
        words=(words or Words()).check(),
        scale=scale,
        hash_bits=hash_bits,
        at_once=at_once,
        tight=tight,
        batch_rows=batch_rows,
        skip_bad=skip_bad,
    )
    return OPENERS[format](asked)


def read_all(source: Source, **options: Any) -> AllExamples:
    """Read a whole source into memory; takes the options of :func:`open_examples`.

    >>> iris = read_all("sample:iris")
    >>> iris.X.shape, iris.feature_names[0]
    ((150, 4), 'sepal length (cm)')
    """

    def all_of(examples: Examples) -> AllExamples:
        batch = concatenate(list(examples))
        return AllExamples(
            *batch[:3],
            examples.feature_names,
            examples.schema,
            examples.skipped,
            examples.unseen,
            batch.weight,
            batch.tags,
        )

    return read_whole(source, all_of, **{"batch_rows": None, **options})


def read_whole(source: Source, read: Callable[[Examples], T], **options: Any) -> T:
    """Return what a function makes of a source that it reads to its end; takes the options of :func:`open_examples`.

    Where an index 0 comes late in LIBSVM text it reads anew, counting from 0; what came through a pipe is gone by then.
    """
    try:
        return read(open_examples(source, **options))
    except LateZero:
        if STANDARD_INPUT in paths_of(source):
            raise
        return read(open_examples(source, **{**options, "zero_based": True}))
