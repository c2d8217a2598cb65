"""Hostile Arrow and Parquet files: each is read, or refused with its path; the process never dies and never swells.

Mutants are read by a child process with a limit on its memory, one after the other; where it dies, hangs or swells, the
number of the mutant it was reading is the finding. A mutant that is read must be what it claims: rows of finite numbers
with labels, as many as there are lines.
"""

import atexit
import faulthandler
import json
import random
import resource
import select
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FULL = (
    40_000  # mutants of a full run; every second one is an Arrow file or stream, every other a Parquet file
)
SLOWEST = 30  # seconds that a mutant may take
MEMORY = 1 << 30  # bytes that a mutant may take beside what the process has after reading the seeds
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    8,
    255,
    256,
    1 << 15,
    1 << 16,
    (1 << 31) - 1,
    -(1 << 31),
    1 << 40,
    (1 << 63) - 1,
    -(1 << 63),
]
SEEDS: dict[str, list[tuple[str, bytes]]] = {"arrow": [], "parquet": []}


def prepare() -> None:
    """Build the seeds, and let a child read all of them."""
    if not SEEDS["arrow"]:
        SEEDS["arrow"], SEEDS["parquet"] = _arrow_seeds(), _parquet_seeds()


def check(number: int) -> None:
    """Let the child read mutant ``number``; AssertionError where it dies, hangs, swells or lets a wrong one pass."""
    prepare()
    answer = _child().read(number)
    if answer != "fine":
        raise AssertionError(f"mutant {number}: {answer}")


def mutant(number: int) -> tuple[str, bytes]:
    """Return the name and the content of the mutant of this number: always the same."""
    rng = random.Random(number)
    kind = "arrow" if number % 2 == 0 else "parquet"
    name, content = rng.choice(SEEDS[kind])
    text = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        _spoil(text, rng, [other for _, other in SEEDS[kind]])
    return name, bytes(text)


def _spoil(text, rng, others):
    if not text:
        return
    # Metadata stands at the ends of these files, and every number in it counts.
    at = (
        rng.randrange(len(text))
        if rng.random() < 0.6
        else max(0, len(text) - 1 - int(rng.expovariate(1 / 300)))
    )
    match rng.randrange(9):
        case 0 | 1:
            text[at] ^= 1 << rng.randrange(8)
        case 2:
            text[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        case 3 | 4:
            form = rng.choice(("<i", "<q", "<h"))
            size = struct.calcsize(form)
            at -= at % size
            value = rng.choice(NUMBERS) if rng.random() < 0.7 else rng.randrange(len(text) + 64)
            limit = 1 << (8 * size - 1)
            text[at : at + size] = struct.pack(form, (value + limit) % (2 * limit) - limit)
        case 5:
            del text[at : at + rng.choice((1, 4, 8, 64, len(text)))]
        case 6:
            text[at:at] = text[at : at + rng.choice((1, 8, 64))]
        case 7:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            size = rng.choice((4, 8, 16, 64, 256))
            text[at : at + size] = other[start : start + size]
        case 8:
            end = min(len(text), at + rng.choice((4, 16, 64)))
            text[at:end] = bytes(rng.randrange(256) for _ in range(end - at))


def _tables():
    import pyarrow as pa

    numbers = pa.table(
        {
            "a": [1.5, -2.0, 3.25, 0.0] * 3,
            "b": pa.array([1, 2, None, 4] * 3, pa.int16()),
            "y": [0, 1, 1, 0] * 3,
        }
    )
    texts = pa.table(
        {
            "sky": ["grey", "blue", "", "grey"] * 3,
            "wet": [True, False, True, None] * 3,
            "y": ["no", "yes", "no", "yes"] * 3,
        }
    )
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1] * 3, pa.int8()), ["red", "green", "blue"])
    coded = pa.table(
        {
            "colour": codes,
            "n": pa.array(range(12), pa.uint64()),
            "y": pa.array(["a", "b"] * 6).dictionary_encode(),
        }
    )
    from datetime import date, datetime, timedelta
    from decimal import Decimal

    others = pa.table(
        {
            "day": [date(2020, 1, 1)] * 4,
            "at": [datetime(2020, 1, 1)] * 4,
            "price": [Decimal("1.25")] * 4,
            "half": pa.array([0.5] * 4, pa.float32()),
            "long": pa.array(["x", "yy", "z", ""], pa.large_string()),
            "view": pa.array(["x", "a longer text than twelve", "z", ""], pa.string_view()),
            "took": [timedelta(1)] * 4,
            "y": [1, 2, 1, 2],
        }
    )
    nested = pa.table(
        {
            "l": [[1, 2], [], None, [3]],
            "s": [{"p": 1, "q": "x"}] * 4,
            "b": [b"a", b"", b"c", b"d"],
            "y": [1, 2, 1, 2],
        }
    )
    return {"numbers": numbers, "texts": texts, "coded": coded, "others": others, "nested": nested}


def _arrow_seeds():
    import pyarrow as pa

    seeds = []
    for name, table in _tables().items():
        for packing in (None, "lz4", "zstd") if name in ("numbers", "texts", "coded") else (None,):
            options = pa.ipc.IpcWriteOptions(compression=packing)
            for form, writer in (("arrow", pa.ipc.new_file), ("ipc", pa.ipc.new_stream)):
                sink = pa.BufferOutputStream()
                with writer(sink, table.schema, options=options) as out:
                    out.write_table(table, max_chunksize=7)
                seeds.append((f"mutant.{form}", sink.getvalue().to_pybytes()))
    return seeds + _converted_seeds()


def _converted_seeds():
    """Return files as ``convert`` writes them: sparse and dense rows, labels that are numbers and text."""
    import io

    from rosenblatt.data import open_examples
    from rosenblatt.data.arrow_batches import write_batches

    texts = {
        "a.svm": "1 1:0.5 3:2\n-1 2:1\n1 1:1 7:0.25\n" * 4,
        "b.csv": "a,b,y\n1,2,0\n3,4.5,1\n0,1,1\n" * 1 + "1,2,0\n" * 5,
        "c.vw": "1 2 | free offer:2\n-1 |n lunch\n" * 4,
        "d.jsonl": '{"label": "spam", "a": 1, "b": "x"}\n{"label": "ham", "c": 2}\n' * 4,
    }
    seeds = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.write_text(text)
            sink = io.BytesIO()
            examples = open_examples(path, batch_rows=5)
            about = write_batches(sink, examples)
            assert about["rows"]
            seeds.append(("mutant.arrow", sink.getvalue()))
    return seeds


def _parquet_seeds():
    import pyarrow as pa
    from pyarrow import parquet

    ways = [
        {"compression": "none", "use_dictionary": False},
        {"compression": "snappy"},
        {"compression": "zstd", "data_page_version": "2.0"},
        {"compression": "gzip", "use_dictionary": False, "column_encoding": None, "write_statistics": False},
    ]
    seeds = []
    for name, table in _tables().items():
        written = table.drop_columns(["view", "took"]) if name == "others" else table
        for options in ways:
            sink = pa.BufferOutputStream()
            parquet.write_table(written, sink, row_group_size=7, **options)
            seeds.append(("mutant.parquet", sink.getvalue().to_pybytes()))
    delta = _tables()["numbers"].drop_columns(["a"])
    sink = pa.BufferOutputStream()
    parquet.write_table(delta, sink, use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")
    return [*seeds, ("mutant.parquet", sink.getvalue().to_pybytes())]


class _Child:
    """A process that reads mutants, begun anew where one killed it."""

    def __init__(self):
        self._process = None

    def read(self, number):
        """Return ``fine``, or what is wrong."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.arrow_files"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
            atexit.register(self.close)
            self._answer(600)  # ready
        self._process.stdin.write(f"{number}\n")
        answer = self._answer(SLOWEST)
        if answer is None:
            self._process.kill()
            _, told = self._process.communicate()
            code, self._process = self._process.returncode, None
            return f"the process ended or took longer than {SLOWEST} s (exit code {code}): {told[-600:]}"
        return json.loads(answer)

    def _answer(self, seconds):
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return (self._process.stdout.readline() or None) if ready else None

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


_CHILD: list[_Child] = []


def _child():
    if not _CHILD:
        _CHILD.append(_Child())
    return _CHILD[0]


def serve() -> None:
    """Read the mutants whose numbers come through standard input, and say of each what came of it."""
    faulthandler.enable()
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        for seeds in SEEDS.values():
            for at, (name, content) in enumerate(seeds):
                path = Path(folder, f"seed-{at}-{name}")
                path.write_bytes(content)
                _outcome(path)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        print("ready", flush=True)
        for line in sys.stdin:
            name, content = mutant(int(line))
            path = Path(folder, name)
            path.write_bytes(content)
            try:
                told = _outcome(path)
            except Exception as error:  # whatever it is, it is the finding
                import traceback

                told = f"{error!r}\n{''.join(traceback.format_tb(error.__traceback__)[-3:])}"
            print(json.dumps(told), flush=True)


def _outcome(path):
    """Read a file in every way there is; return ``fine``, or what is wrong with what was read."""
    import numpy as np

    from rosenblatt.data import BadInput, open_examples

    for options in ({}, {"skip_bad": True, "at_once": True}):
        try:
            examples = open_examples(path, batch_rows=None, **options)
            for batch in examples:
                X = batch.X
                values = X if isinstance(X, np.ndarray) else X.data
                rows = batch.lines.size
                if X.shape[0] != rows or (batch.y is not None and batch.y.size != rows):
                    return f"{X.shape} values, {rows} lines"
                if not np.isfinite(values).all():
                    return "a value that is not finite"
                if not isinstance(X, np.ndarray):
                    X.check_format(full_check=True)
                    row_of = np.repeat(np.arange(rows), np.diff(X.indptr))
                    if ((np.diff(X.indices) <= 0) & (np.diff(row_of) == 0)).any():
                        return "indices that do not ascend"
                if batch.weight is not None and not (np.isfinite(batch.weight) & (batch.weight >= 0)).all():
                    return "a weight that is none"
                if (
                    batch.y is not None
                    and batch.y.dtype.kind == "U"
                    and any("\0" in y for y in batch.y.tolist())
                ):
                    return "a label with a NUL"
                batch.where(rows - 1)
        except BadInput as error:
            if str(path) not in str(error):
                return f"an error without the path: {error}"
    return "fine"


if __name__ == "__main__":
    serve()
