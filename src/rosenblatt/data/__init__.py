"""Examples from anywhere: every source becomes the same stream of batches."""

from rosenblatt.data.batch import Batch
from rosenblatt.data.errors import BadInput, BadLine
from rosenblatt.data.examples import Examples
from rosenblatt.data.named.vocabulary import NamedSchema
from rosenblatt.data.open import FORMATS, AllExamples, open_examples, read_all
from rosenblatt.data.options import ReadOptions
from rosenblatt.data.schema import Column, LibsvmSchema, Schema, TableSchema, schema_from_dict
from rosenblatt.data.tables.infer import ColumnReport
from rosenblatt.data.tables.preprocess import Preprocessing, PreprocessingPlan
from rosenblatt.data.tables.values import NumberFormat
from rosenblatt.data.words import Words

__all__ = [
    "FORMATS",
    "AllExamples",
    "BadInput",
    "BadLine",
    "Batch",
    "Column",
    "ColumnReport",
    "Examples",
    "LibsvmSchema",
    "NamedSchema",
    "NumberFormat",
    "Preprocessing",
    "PreprocessingPlan",
    "ReadOptions",
    "Schema",
    "TableSchema",
    "Words",
    "open_examples",
    "read_all",
    "schema_from_dict",
]
