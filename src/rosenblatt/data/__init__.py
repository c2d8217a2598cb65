"""Examples from anywhere: every source becomes the same stream of batches."""

from rosenblatt.data.bad_input import BadInput, BadLine
from rosenblatt.data.batch import Batch
from rosenblatt.data.examples import Examples
from rosenblatt.data.opening import AllExamples, open_examples, read_all
from rosenblatt.data.schema import Column, LibsvmSchema, Schema, TableSchema, schema_from_dict
from rosenblatt.data.words import Words

__all__ = [
    "AllExamples",
    "BadInput",
    "BadLine",
    "Batch",
    "Column",
    "Examples",
    "LibsvmSchema",
    "Schema",
    "TableSchema",
    "Words",
    "open_examples",
    "read_all",
    "schema_from_dict",
]
