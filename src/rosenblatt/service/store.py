"""The store: an embedded SQLite journal of every feedback, and what is needed to begin near its end.

The truth about a model is its *base* (what it began with, if it did not begin with nothing) and its lines in the
journal, in order. Snapshots only save time: any of them may be lost.

**Guarantee.** When :meth:`Store.append` returns, the feedbacks are on disk (write-ahead log, ``synchronous=FULL``).
They are there entirely or not at all, and a key that has been seen is never stored again.
"""

import contextlib
import shutil
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rosenblatt.service.learner import Named
from rosenblatt.service.lock import FolderLock
from rosenblatt.service.messages import LedgerLine
from rosenblatt.service.tables import SCHEMA, Tables

VERSION = 1
PARTS = 6  # columns of the journal
ROWS_AT_ONCE = 128  # in one statement: SQLite's smallest limit is 999 parameters
CHECKPOINT_PAGES = 4000

_encode = msgspec.json.Encoder().encode
_features = msgspec.json.Decoder(dict[str, float]).decode
_label = msgspec.json.Decoder(str | int).decode


class StoreBroken(ValueError):
    """What is in the store does not hold together."""


class Fresh(NamedTuple):
    """A feedback on its way into the journal."""

    model: int
    features: Named
    label: Any
    key: str | None = None


class Kept(NamedTuple):
    """Where a feedback is in the journal."""

    seq: int
    repeated: bool  # it had been there under its key
    conflict: bool = False  # under its key, something else had been there


class Entry(NamedTuple):
    """A feedback of the journal."""

    seq: int
    features: Named
    label: Any


class Store(Tables):
    """A folder with the journal, the models and their snapshots; one process at a time may have it open."""

    def __init__(self, folder: str | Path, *, most_pages: int | None = None, reading: bool = False) -> None:
        self.folder = Path(folder)
        self._most_pages = most_pages
        self._writing = threading.RLock()
        self._lock: FolderLock | None = None
        if reading:  # beside whoever has it open
            self._db = self.reader()
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self.folder / "snapshots").mkdir(exist_ok=True, mode=0o700)
        self._lock = FolderLock(self.folder)
        self._sweep()
        try:
            self._connect()
        except BaseException:
            self._lock.release()
            raise

    def _sweep(self) -> None:
        """Remove what a killed process had half-written beside its snapshots."""
        for left in [*self.folder.glob(".download-*"), *(self.folder / "snapshots").glob(".*")]:
            with contextlib.suppress(OSError):
                shutil.rmtree(left) if left.is_dir() else left.unlink()

    @property
    def path(self) -> Path:
        """The file of the journal."""
        return self.folder / "journal.sqlite3"

    def _connect(self) -> None:
        try:
            self._db = sqlite3.connect(
                self.path, isolation_level=None, check_same_thread=False, cached_statements=512
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            if self._most_pages:
                self._db.execute(f"PRAGMA max_page_count={int(self._most_pages)}")
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
            if found not in (0, VERSION):
                raise StoreBroken(
                    f"{self.path}: a store of version {found}, but this rosenblatt reads {VERSION}"
                )
            self._db.executescript(f"BEGIN IMMEDIATE;{SCHEMA}PRAGMA user_version={VERSION};COMMIT;")
        except sqlite3.DatabaseError as error:
            raise StoreBroken(f"{self.path}: cannot be opened as a store: {error}") from error
        self.last_seq = self._found_last()

    def _found_last(self) -> int:
        tables = ("journal", "snapshots", "bases", "marks")
        last = [self._db.execute(f"SELECT max(seq) FROM {table}").fetchone()[0] for table in tables]
        return max(seq or 0 for seq in last)

    def close(self) -> None:
        """Close the store and let others have it."""
        with self._writing:
            self._db.close()
        if self._lock is not None:
            self._lock.release()

    def reopen(self) -> None:
        """Begin anew after the disk refused something: only what is on disk counts."""
        with self._writing:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            self._connect()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written inside is there afterwards, or none of it."""
        with self._writing:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    # The journal

    def append(self, fresh: Sequence[Fresh], ledger: Sequence[tuple[int, LedgerLine]] = ()) -> list[Kept]:
        """Put feedbacks into the journal, in order and durably; lines of the ledger may come along."""
        with self._writing:
            rows, keys, kept = self._prepared(fresh)
            if not keys and not ledger and len(rows) <= ROWS_AT_ONCE:
                if rows:
                    self._insert("journal", PARTS, rows)  # a statement is a transaction of its own
            else:
                with self.transaction():
                    for at in range(0, len(rows), ROWS_AT_ONCE):
                        self._insert("journal", PARTS, rows[at : at + ROWS_AT_ONCE])
                    if keys:
                        self._db.executemany("INSERT INTO keys VALUES (?, ?, ?, ?)", keys)
                    if ledger:
                        self._write_ledger(ledger)
            self.last_seq += len(rows)
        return kept

    def _prepared(
        self, fresh: Sequence[Fresh]
    ) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[Kept]]:
        rows: list[tuple[Any, ...]] = []
        keys: dict[tuple[int, str], tuple[Any, ...]] = {}
        kept = []
        now, seq = time.time(), self.last_seq
        for each in fresh:
            label, features = _encode(each.label), _encode(each.features)
            if each.key is not None:
                checksum = zlib.crc32(features, zlib.crc32(label))
                found = keys.get((each.model, each.key)) or self._key(each.model, each.key)
                if found is not None:
                    kept.append(Kept(found[2], repeated=True, conflict=found[3] != checksum))
                    continue
                keys[each.model, each.key] = (each.model, each.key, seq + 1, checksum)
            seq += 1
            rows.append((seq, each.model, now, label, features, _checksum(seq, each.model, label, features)))
            kept.append(Kept(seq, False))
        return rows, list(keys.values()), kept

    def _key(self, model: int, key: str) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._db.execute(
            "SELECT model, key, seq, checksum FROM keys WHERE model = ? AND key = ?", (model, key)
        ).fetchone()
        return found

    def _insert(self, table: str, columns: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows by one statement: the interpreter lock is let go once, not once a row."""
        places = f"({','.join('?' * columns)})"
        statement = f"INSERT INTO {table} VALUES {','.join([places] * len(rows))}"
        self._db.execute(statement, [value for row in rows for value in row])

    def entries(self, model: int, after: int, until: int | None = None) -> Iterator[Entry]:
        """Yield a model's feedbacks after one, in order, each checked."""
        reader = self.reader()
        try:
            for seq, label, features, checksum in reader.execute(
                "SELECT seq, label, features, checksum FROM journal "
                "WHERE model = ? AND seq > ? AND seq <= ? ORDER BY seq",
                (model, after, until or 1 << 62),
            ):
                if checksum != _checksum(seq, model, label, features):
                    raise StoreBroken(
                        f"{self.path}: feedback {seq} is damaged; restore the store from a copy"
                    )
                yield Entry(seq, _features(features), _label(label))
        finally:
            reader.close()

    def mark(self, db: sqlite3.Connection) -> None:
        """Remember how far the journal went, before feedbacks leave it: a place is never given twice."""
        db.execute("DELETE FROM marks")
        db.execute("INSERT INTO marks VALUES (?)", (self.last_seq,))

    def reader(self) -> sqlite3.Connection:
        """Return a connection of one's own that only reads."""
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)

    def journal_size(self) -> int:
        """Return how many feedbacks are in the journal."""
        return int(self._db.execute("SELECT count(*) FROM journal").fetchone()[0])

    def vacuum(self) -> None:
        """Give space back that is no longer used."""
        with self._writing:
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _checksum(seq: int, model: int, label: bytes, features: bytes) -> int:
    return zlib.crc32(features, zlib.crc32(label, seq * 2654435761 + model & 0xFFFFFFFF))
