"""The same examples in every format, and standard input that arrives in pieces."""

import io
import threading

import numpy as np
import pandas as pd

SVM = b"".join(b"%d 1:%d 3:%d.5\n" % (i % 2, i, -i) for i in range(1, 300))


def dense(found):
    return found.X if isinstance(found.X, np.ndarray) else found.X.toarray()


def by_name(found):
    """Rows as dicts, so that the order of features does not matter."""
    names = found.feature_names
    return [{names[j]: v for j, v in enumerate(row) if v} for row in dense(found).tolist()]


class Stdin:
    """Standard input that arrives in pieces."""

    def __init__(self, data, piece):
        self.buffer = io.BufferedReader(Pieces(data, piece))


class Pieces(io.RawIOBase):
    def __init__(self, data, piece):
        self.data, self.piece = data, piece

    def readable(self):
        return True

    def readinto(self, buffer):
        n = min(len(buffer), self.piece, len(self.data))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n


class Stalling(Pieces):
    """What arrives in one piece; whoever asks for more waits, at most until ``patience`` is over."""

    patience = 20.0

    def __init__(self, data):
        super().__init__(data, 1 << 20)
        self.over = threading.Event()

    def readinto(self, buffer):
        if not self.data:
            self.over.wait(self.patience)
            self.over.set()
        return super().readinto(buffer)


FRAME = pd.DataFrame(
    {
        "wind": [1.5, 2.0, -3.0, 1.0],
        "sky": ["grey", "blue", "grey", "red"],
        "play": ["no", "yes", "no", "yes"],
    }
)


def as_csv(path):
    FRAME.to_csv(path / "a.csv", index=False)
    return path / "a.csv"


def as_parquet(path):
    FRAME.astype({"sky": "category"}).to_parquet(path / "a.parquet")
    return path / "a.parquet"


def as_arrow(path):
    FRAME.to_feather(path / "a.arrow")
    return path / "a.arrow"


def as_json(path):
    FRAME.to_json(path / "a.jsonl", orient="records", lines=True)
    return path / "a.jsonl"


def as_vw(path):
    rows = zip(FRAME.wind, FRAME.sky, FRAME.play, strict=True)
    (path / "a.vw").write_text("".join(f"{int(y == 'yes')} | wind:{w} sky={s}\n" for w, s, y in rows))
    return path / "a.vw"


WRITERS = [as_csv, as_parquet, as_arrow, as_json, as_vw]


def make(folder):
    folder.mkdir(parents=True)
    return folder
