"""The door to every source: a path or ``sample:NAME`` in, examples out."""

import os
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.bad_input import BadInput, BadLine
from rosenblatt.data.batch import concatenate
from rosenblatt.data.examples import Examples
from rosenblatt.data.schema import Schema, schema_from_dict
from rosenblatt.data.sniff import find_format
from rosenblatt.data.words import Words

FORMATS = ("libsvm", "csv", "tsv")


class AllExamples(NamedTuple):
    """A whole source in memory: a batch of everything, and what is known about it."""

    X: Any
    y: NDArray[Any] | None
    lines: NDArray[np.int64]
    feature_names: list[str] | None
    schema: Schema
    skipped: list[BadLine]
    unseen: int
    weight: NDArray[np.float64] | None = None  # importance of every row; None: one each


def open_examples(
    source: str | os.PathLike[str],
    *,
    target: str | None = None,
    format: str | None = None,
    batch_rows: int = 65536,
    schema: Schema | Mapping[str, Any] | None = None,
    skip_bad: bool = False,
    zero_based: bool | None = None,
    header: bool | None = None,
    text: Collection[str] = (),
    words: Words | None = None,
    scale: bool = False,
) -> Examples:
    """Open a file or an embedded sample as a stream of batches.

    Parameters
    ----------
    source : a path to LIBSVM text or to CSV, plain or gzip; or ``sample:NAME``
    target : the target column of a CSV file; the last by default, or the first if the last is text
    format : ``"libsvm"``, ``"csv"`` or ``"tsv"``; found from the name and the content by default
    batch_rows : rows of every batch but the last
    schema : the schema of a trained model (or its ``to_dict()``), to encode new files as in training
    skip_bad : pass over bad lines and list them in ``skipped``, instead of raising at the first
    zero_based : whether LIBSVM indices count from 0; from 1 by default, or as the schema says
    header : whether the first line of a CSV file names its columns; found from the first lines by default
    text : columns that are text, each to become a bag of words; those that read like prose by default
    words : how text becomes words; single words, lower case, 1 where they occur by default
    scale : numeric columns become (x − mean) / standard deviation; kept as they are by default

    Raises
    ------
    BadInput : with the path, the line, what is wrong and what to do

    Examples
    --------
    >>> examples = open_examples("sample:iris", batch_rows=100)
    >>> [batch.X.shape for batch in examples]
    [(100, 4), (50, 4)]
    """
    path = os.fspath(source)
    known = schema_from_dict(schema) if isinstance(schema, Mapping) else schema
    if format not in (None, *FORMATS):
        raise ValueError(f"format is {format!r}: expected one of {', '.join(FORMATS)}")
    if isinstance(text, str):
        text = [text]
    if path.startswith("sample:"):
        from rosenblatt.data.samples import SampleExamples

        if target not in (None, "class"):
            raise BadInput(path, None, f"its target is 'class', not {target!r}: drop the target")
        return SampleExamples(path, known, batch_rows, skip_bad)
    format = format or find_format(path)
    if format == "libsvm":
        from rosenblatt.data.libsvm import open_libsvm

        return open_libsvm(
            path, target=target, schema=known, zero_based=zero_based, batch_rows=batch_rows, skip_bad=skip_bad
        )
    from rosenblatt.data.attributes import Wish
    from rosenblatt.data.table import open_table

    separator = "\t" if format == "tsv" else None
    return open_table(
        path,
        target=target,
        schema=known,
        separator=separator,
        batch_rows=batch_rows,
        skip_bad=skip_bad,
        named=header,
        wish=Wish(text=text, words=(words or Words()).check(), scale=scale),
    )


def read_all(source: str | os.PathLike[str], **options: Any) -> AllExamples:
    """Read a whole source into memory; takes the options of :func:`open_examples`.

    >>> iris = read_all("sample:iris")
    >>> iris.X.shape, iris.feature_names[0]
    ((150, 4), 'sepal length (cm)')
    """
    examples = open_examples(source, **options)
    batch = concatenate(list(examples))
    return AllExamples(
        *batch[:3],
        examples.feature_names,
        examples.schema,
        examples.skipped,
        examples.unseen,
        batch.weight,
    )
