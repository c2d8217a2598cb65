"""The store: an embedded SQLite journal of every feedback, and the tables beside it.

A model is defined by its *base* (the file it started from, if any) and its rows in the journal, in order. Snapshots
only save time: any of them may be lost. A lock on the folder itself keeps other processes out; the system releases it
when its owner ends.

**Guarantee.** When :meth:`Store.append` returns, the feedbacks are on disk (write-ahead log, ``synchronous=FULL``).
Each is stored entirely or not at all, and a key is stored once.
"""

import contextlib
import errno
import os
import shlex
import shutil
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from rosenblatt.service.learner import Named
from rosenblatt.service.schemas import LARGEST, LONGEST_NAME, Label, LedgerLine, ModelSettings, Name, Number
from rosenblatt.web.refusals import BadMessage, Conflict


class Locked(ValueError):
    """Another process has the folder open."""


class FolderLock:
    """An exclusive lock on a folder, held until :meth:`release` or the death of the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = _locked_folder(folder)
        path = folder / "lock"
        try:
            self._file: BinaryIO = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
            try:
                _lock_file(self._file)
            except OSError:
                self._file.close()
                raise _locked(folder) from None
        except BaseException:
            self._release_folder()
            raise
        self._file.truncate(0)
        self._file.write(str(os.getpid()).encode())
        self._file.flush()

    def release(self) -> None:
        """Release the lock."""
        self._file.close()
        self._release_folder()

    def _release_folder(self) -> None:
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def _locked_folder(folder: Path) -> int | None:
    """Return a handle of the locked folder, None where folders cannot be locked."""
    try:
        import fcntl
    except ImportError:  # Windows, where a file that is open cannot be deleted
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP):  # a network file system
            return None
        raise _locked(folder) from None
    return handle


def _locked(folder: Path) -> Locked:
    owner = "unknown"
    with contextlib.suppress(OSError):
        owner = (folder / "lock").read_bytes()[:20].decode("ascii", "replace").strip() or owner
    return Locked(
        f"{folder}: another process ({owner}) has this store open; stop it, or name another folder with --data"
    )


def _lock_file(file: BinaryIO) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(1 << 30)  # past what is written, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        file.seek(0)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
  number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, settings BLOB NOT NULL, made REAL NOT NULL);
CREATE TABLE IF NOT EXISTS journal (
  seq INTEGER PRIMARY KEY, model INTEGER NOT NULL, at REAL NOT NULL, label BLOB NOT NULL, features BLOB NOT NULL,
  checksum INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS keys (
  model INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (model, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger (
  model INTEGER NOT NULL, seq INTEGER NOT NULL, clock INTEGER NOT NULL, label BLOB, predicted BLOB, score REAL NOT NULL,
  moved INTEGER NOT NULL, mistakes INTEGER NOT NULL, updates INTEGER NOT NULL, PRIMARY KEY (model, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS snapshots (
  model INTEGER NOT NULL, seq INTEGER NOT NULL, file TEXT NOT NULL, digest TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (model, seq));
CREATE TABLE IF NOT EXISTS marks (seq INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS bases (
  model INTEGER PRIMARY KEY, seq INTEGER NOT NULL, digest TEXT NOT NULL, content BLOB NOT NULL);
"""
OWNED = ("journal", "keys", "ledger", "snapshots", "bases")  # tables whose rows belong to a model


def settings_from(content: bytes) -> ModelSettings:
    """Decode the settings of a model."""
    return msgspec.json.decode(content, type=ModelSettings)


VERSION = 1
PARTS = 6  # columns of the journal
ROWS_AT_ONCE = 128  # in one statement: SQLite's smallest limit is 999 parameters
CHECKPOINT_PAGES = 4000
LOST_ROWS = "holds rows that the journal lost"  # in place of a snapshot's digest

_encode = msgspec.json.Encoder().encode
_features = msgspec.json.Decoder(dict[str, float]).decode
_label = msgspec.json.Decoder(str | int).decode
_checked_features = msgspec.json.Decoder(dict[Name, Number]).decode  # what may be written; more may be read
_checked_label = msgspec.json.Decoder(Label).decode
ONLY_FLOATS, ONLY_TEXT = {float}, {str}
NUL = b"\\u0000"  # as JSON writes it


class StoreBroken(ValueError):
    """The content of the store is damaged or contradicts itself."""


def unreadable(path: Path, error: sqlite3.DatabaseError) -> StoreBroken:
    """Return the error of a journal that SQLite cannot open or read."""
    return StoreBroken(f"{path}: cannot be opened as a store: {error}; restore the folder from a copy")


class OpenToOthers(ValueError):
    """A folder that other users can read, where a store's may not be."""


class Orphan(NamedTuple):
    """Rows or files that belong to no model, and how many there are."""

    what: str
    amount: int


class Content(NamedTuple):
    """The two values of a journal row that hold what a client sent."""

    label: bytes
    features: bytes


class Fresh(NamedTuple):
    """A feedback on its way into the journal."""

    model: int
    features: Named
    label: Any
    key: str | None = None
    content: Content | None = None  # encoded; None: encode when it is written
    new_names: tuple[str, ...] = ()  # features that the model had not met when this was checked


DELETED = 0  # the sequence number of a feedback whose model had been deleted: it was not stored


class JournalPlace(NamedTuple):
    """Where a feedback is in the journal."""

    seq: int  # DELETED: nowhere
    repeated: bool  # it had been there under its key
    conflict: bool = False  # under its key, something else had been there


def journal_row(features: Named, label: Any, known: bool = False) -> tuple[Content, Named, Any]:
    """Encode a feedback for the journal and return it as a replay will read it.

    Names and a label that the model has ``known`` from feedbacks before were checked then.
    The model learns from what is returned, so it learns exactly what a replay of the journal learns. Raises
    :class:`BadMessage` for whatever could not be read back: text with NUL or a lone surrogate, numbers that are not
    finite or beyond the limit of a message, names or labels that are empty or too long.
    """
    try:
        content = Content(_encode(label), _encode(features))
        if not _reads_back_as_it_is(features, label, known):
            features, label = _checked_features(content.features), _checked_label(content.label)
    except (msgspec.DecodeError, UnicodeError, OverflowError, RecursionError, TypeError) as error:
        raise BadMessage(_reason(features, label, error)) from None
    if not known and (NUL in content.features or NUL in content.label):
        for text in (label, *features):
            if isinstance(text, str) and "\0" in text:
                raise BadMessage(
                    f"{text[:80]!r} contains NUL (U+0000), which no label or name may: remove it"
                )
    return content, features, label


def _reads_back_as_it_is(features: Named, label: Any, known: bool) -> bool:
    """Whether decoding certainly gives the same values, by a cheap check; if not, they are decoded."""
    values = features.values()
    numbers = (
        set(map(type, values)) == ONLY_FLOATS
        and max(values) <= LARGEST
        and min(values) >= -LARGEST
        and isfinite(sum(values))  # NaN compares as it likes
    )
    return numbers and (
        known
        or (
            type(label) is str
            and 0 < len(label) <= LONGEST_NAME
            and set(map(type, features)) == ONLY_TEXT
            and len(max(features, key=len)) <= LONGEST_NAME
            and "" not in features
        )
    )


def _reason(features: Named, label: Any, error: Exception) -> str:
    """Name the label, name or value that cannot be stored."""
    if not _storable(label, _checked_label):
        return f"label {label!r:.80} cannot be stored: {error}"
    for name, value in features.items():
        if not _storable({name: 0.0}, _checked_features):
            return (
                f"feature {name!r:.80} cannot be stored: {error}; a name has 1 to {LONGEST_NAME} characters"
            )
        if not _storable({name: value}, _checked_features):
            return f"feature {name[:80]!r} has the value {value!r:.80}, which cannot be stored: {error}"
    return f"the feedback cannot be stored: {error}"


def _storable(value: Any, decode: Any) -> bool:
    try:
        decode(_encode(value))
    except (msgspec.DecodeError, UnicodeError, OverflowError, RecursionError, TypeError):
        return False
    return True


class Entry(NamedTuple):
    """A feedback of the journal."""

    seq: int
    features: Named
    label: Any


class Damaged(NamedTuple):
    """A feedback of the journal that cannot be read."""

    seq: int
    reason: str


class JournalRow(NamedTuple):
    """A row of the journal and the number of the model that it belongs to."""

    model: int
    entry: "Entry | Damaged"


class Store:
    """A folder with the journal, the models and their snapshots; one process at a time may have it open.

    The folder must be closed to other users (:class:`OpenToOthers`); files made in it have mode 0600.
    """

    def __init__(self, folder: str | Path, *, most_pages: int | None = None, reading: bool = False) -> None:
        self.folder = Path(folder)
        self._most_pages = most_pages
        self._writing = threading.RLock()
        self._lock: FolderLock | None = None
        self.live: set[int] = set()  # numbers of the models that exist; changed only while writing
        self.generations: dict[int, int] = {}  # how often feedback was taken out of a model's journal
        if reading:  # beside whoever has it open
            self._db = self.reader()
            return
        make_private_folder(self.folder)
        make_private_folder(self.folder / "snapshots")
        self._lock = FolderLock(self.folder)
        try:
            self._connect()
        except BaseException:
            self._lock.release()
            raise

    @property
    def path(self) -> Path:
        """The file of the journal."""
        return self.folder / "journal.sqlite3"

    def _connect(self) -> None:
        try:
            make_private_file(self.path)
            self._db = sqlite3.connect(
                self.path, isolation_level=None, check_same_thread=False, cached_statements=512
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            if self._most_pages:
                self._db.execute(f"PRAGMA max_page_count={int(self._most_pages)}")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                raise StoreBroken(
                    f"{self.path}: a store of version {version}, but this rosenblatt reads {VERSION}"
                )
            if version == 0:  # a full disk must not keep an existing store from being opened
                self._db.executescript(f"BEGIN IMMEDIATE;{SCHEMA}PRAGMA user_version={VERSION};COMMIT;")
            else:
                # a file that cannot be written to is refused now; a full disk is not
                self._db.executescript(f"BEGIN IMMEDIATE;PRAGMA user_version={VERSION};ROLLBACK;")
            self._identity = _identity(self.path)
            self.last_seq = self._stored_last_seq()
            self.live = {number for number, _, _ in self.models()}
        except sqlite3.DatabaseError as error:
            raise unreadable(self.path, error) from error

    def _stored_last_seq(self) -> int:
        tables = ("journal", "snapshots", "bases", "marks")
        last = [self._db.execute(f"SELECT max(seq) FROM {table}").fetchone()[0] for table in tables]
        return max(seq or 0 for seq in last)

    def close(self) -> None:
        """Close the store and release its lock."""
        with self._writing:
            self._db.close()
        if self._lock is not None:
            self._lock.release()

    def reopen(self) -> None:
        """Open the database again after a failed write: only what is on disk counts."""
        self.check_file()
        with self._writing:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            self._connect()

    def check_file(self) -> None:
        """Raise OSError where the journal's file was deleted or replaced: what is written now would be lost."""
        if _identity(self.path) != self._identity:
            raise OSError(
                f"{self.path} was deleted or replaced while the store was open: stop the service and restore it"
            )

    def probe(self) -> None:
        """Write and delete 64 kB durably; raises where the disk takes nothing."""
        self.check_file()
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO bases VALUES (0, 0, '', zeroblob(65536))")
        with self.transaction() as db:
            db.execute("DELETE FROM bases WHERE model = 0")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit everything that is written inside, or nothing of it."""
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

    def append(
        self, fresh: Sequence[Fresh], ledger: Sequence[tuple[int, LedgerLine]] = ()
    ) -> list[JournalPlace]:
        """Put feedbacks into the journal, in order and durably; lines of the ledger may come along.

        Feedbacks and lines of a model that was deleted are left out.
        """
        with self._writing:
            self.check_file()
            rows, keys, places = self._prepared(fresh)
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
        return places

    def _prepared(
        self, fresh: Sequence[Fresh]
    ) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[JournalPlace]]:
        rows: list[tuple[Any, ...]] = []
        keys: dict[tuple[int, str], tuple[Any, ...]] = {}
        places = []
        now, seq = time.time(), self.last_seq
        for each in fresh:
            if each.model not in self.live:
                places.append(JournalPlace(DELETED, False))
                continue
            label, features = each.content or journal_row(each.features, each.label)[0]
            if each.key is not None:
                checksum = zlib.crc32(features, zlib.crc32(label))
                known = keys.get((each.model, each.key)) or self._key(each.model, each.key)
                if known is not None:
                    places.append(JournalPlace(known[2], repeated=True, conflict=known[3] != checksum))
                    continue
                keys[each.model, each.key] = (each.model, each.key, seq + 1, checksum)
            seq += 1
            rows.append((seq, each.model, now, label, features, _checksum(seq, each.model, label, features)))
            places.append(JournalPlace(seq, False))
        return rows, list(keys.values()), places

    def _key(self, model: int, key: str) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._db.execute(
            "SELECT model, key, seq, checksum FROM keys WHERE model = ? AND key = ?", (model, key)
        ).fetchone()
        return row

    def _insert(self, table: str, columns: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows by one statement: the interpreter lock is let go once, not once a row."""
        places = f"({','.join('?' * columns)})"
        statement = f"INSERT INTO {table} VALUES {','.join([places] * len(rows))}"
        self._db.execute(statement, [value for row in rows for value in row])

    def entries(self, model: int, after: int, until: int | None = None) -> Iterator[Entry]:
        """Yield a model's feedbacks after one, in order, each checked; raise StoreBroken for one that is damaged."""
        for entry in self.readable_entries(model, after, until):
            if isinstance(entry, Damaged):
                raise StoreBroken(entry.reason)
            yield entry

    def readable_entries(
        self, model: int, after: int, until: int | None = None
    ) -> "Iterator[Entry | Damaged]":
        """Yield a model's feedbacks after one, in order, with what is damaged among them."""
        where = "model = ? AND seq > ? AND seq <= ?"
        for row in self._rows(where, (model, after, until or 1 << 62)):
            yield row.entry

    def rows_after(self, seq: int) -> list[JournalRow]:
        """Return the rows of all models after a place in the journal, in order."""
        return list(self._rows("seq > ?", (seq,)))

    def _rows(self, where: str, values: tuple[int, ...]) -> Iterator[JournalRow]:
        """Yield rows of the journal in order, each checked."""
        reader = self.reader()
        try:
            for seq, model, label, features, checksum in reader.execute(
                f"SELECT seq, model, label, features, checksum FROM journal WHERE {where} ORDER BY seq",
                values,
            ):
                try:
                    sound = checksum == _checksum(seq, model, label, features)
                    entry = Entry(seq, _features(features), _label(label))
                except (ValueError, TypeError):  # not bytes, not JSON, not what a feedback holds
                    sound = False
                damaged = Damaged(seq, f"{self.path}: feedback {seq} is damaged")
                yield JournalRow(model, entry if sound else damaged)
        except sqlite3.DatabaseError as error:
            raise StoreBroken(f"{self.path}: the journal cannot be read: {error}") from error
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
        """Rewrite the database without unused space, and empty its log: what was deleted is in neither."""
        with self._writing:
            self._db.execute("VACUUM")
            busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise StoreBroken(
                f"{self.path}: another process is reading it, so deleted rows are still in its log: try again"
            )

    # Snapshots and bases

    def snapshots(self, model: int) -> list[tuple[int, str, str]]:
        """Return place in the journal, file and digest of a model's snapshots, the newest first."""
        return self._db.execute(
            "SELECT seq, file, digest FROM snapshots WHERE model = ? ORDER BY seq DESC", (model,)
        ).fetchall()

    def base(self, model: int) -> tuple[int, str, bytes] | None:
        """Return place in the journal, digest and content of what a model began with, if not with nothing."""
        row: tuple[int, str, bytes] | None = self._db.execute(
            "SELECT seq, digest, content FROM bases WHERE model = ?", (model,)
        ).fetchone()
        return row

    def base_seq(self, model: int) -> int:
        """Return the place in the journal after which a model's feedbacks count."""
        row = self._db.execute("SELECT seq FROM bases WHERE model = ?", (model,)).fetchone()
        return int(row[0]) if row else -1

    # The ledger

    def write_ledger(self, lines: Sequence[tuple[int, LedgerLine]]) -> None:
        """Write lines of the ledger; those that are there already stay, those of deleted models are left out."""
        if lines:
            with self.transaction():
                self._write_ledger(lines)

    def _write_ledger(self, lines: Sequence[tuple[int, LedgerLine]]) -> None:
        self._db.executemany(
            "INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    model,
                    line.seq,
                    line.clock,
                    _encode(line.label),
                    _encode(line.predicted),
                    line.score,
                    line.moved,
                    line.mistakes,
                    line.updates,
                )
                for model, line in lines
                if model in self.live
            ],
        )

    def ledger(self, model: int, after: int, limit: int) -> list[LedgerLine]:
        """Return lines of a model's ledger after a feedback, in order."""
        reader = self.reader()
        try:
            rows = reader.execute(
                "SELECT seq, clock, label, predicted, score, moved, mistakes, updates FROM ledger "
                "WHERE model = ? AND seq > ? ORDER BY seq LIMIT ?",
                (model, after, limit),
            ).fetchall()
        finally:
            reader.close()
        return [
            LedgerLine(
                seq,
                clock,
                msgspec.json.decode(label),
                msgspec.json.decode(predicted),
                score,
                bool(moved),
                wrong,
                n,
            )
            for seq, clock, label, predicted, score, moved, wrong, n in rows
        ]

    # Models

    def models(self) -> list[tuple[int, str, bytes]]:
        """Return number, name and encoded settings of every model."""
        try:
            return self._db.execute("SELECT number, name, settings FROM models ORDER BY number").fetchall()
        except sqlite3.DatabaseError as error:
            raise unreadable(self.path, error) from error

    def add_model(self, name: str, settings: ModelSettings) -> int:
        """Make a model; return its number, which is never used again."""
        with self._writing:
            try:
                with self.transaction() as db:
                    inserted = db.execute(
                        "INSERT INTO models (name, settings, made) VALUES (?, ?, ?)",
                        (name, _encode(settings), time.time()),
                    )
                    number = int(inserted.lastrowid or 0)
            except sqlite3.IntegrityError:
                raise Conflict(f"model {name!r} is there already") from None
            self.live.add(number)
        return number

    def drop_model(self, number: int) -> None:
        """Delete a model with all its rows and snapshots; nothing is written for its number afterwards."""
        with self._writing:
            with self.transaction() as db:
                self.mark(db)
                db.execute("DELETE FROM models WHERE number = ?", (number,))
                for table in OWNED:
                    db.execute(f"DELETE FROM {table} WHERE model = ?", (number,))
            self.live.discard(number)
        for file in (self.folder / "snapshots").glob(f"{number}-*.safetensors"):
            file.unlink(missing_ok=True)

    # Orphans

    def orphans(self) -> list[Orphan]:
        """Return rows and snapshot files that belong to no model, and half-written files."""
        orphans = []
        for table in OWNED:
            count = self._db.execute(
                f"SELECT count(*) FROM {table} WHERE model NOT IN (SELECT number FROM models)"
            ).fetchone()[0]
            if count:
                orphans.append(Orphan(f"{table} rows of models that were deleted", count))
        files = self._orphan_files()
        if files:
            orphans.append(Orphan("snapshot or temporary files that no model owns", len(files)))
        return orphans

    def sweep(self) -> None:
        """Delete what :meth:`orphans` counts."""
        if any(each.what.endswith("deleted") for each in self.orphans()):
            with self.transaction() as db:
                self.mark(db)
                for table in OWNED:
                    db.execute(f"DELETE FROM {table} WHERE model NOT IN (SELECT number FROM models)")
        for path in self._orphan_files():
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _orphan_files(self) -> list[Path]:
        entered = {row[0] for row in self._db.execute("SELECT file FROM snapshots")}
        newer = {path for path, _, _ in self.newer_snapshots()}
        folder = self.folder / "snapshots"
        return [
            *self.folder.glob(".download-*"),
            *(path for path in folder.iterdir() if path.name not in entered and path not in newer),
        ]

    def note_lost_rows(self) -> list[tuple[int, str, int]]:
        """Return model, file and seq of snapshots that hold rows which the journal has lost.

        They are entered as such, because later feedback makes the journal as long as they are again.
        """
        newer = self.newer_snapshots()
        if newer:
            self.last_seq = max(self.last_seq, newer[-1][2])
            with self.transaction() as db:
                self.mark(db)
                db.executemany(
                    "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)",
                    [(number, seq, path.name, LOST_ROWS, time.time()) for path, number, seq in newer],
                )
        return self.lost_rows()

    def lost_rows(self) -> list[tuple[int, str, int]]:
        """Return model, file and seq of snapshots that were entered as holding rows which the journal has lost."""
        return self._db.execute(
            "SELECT model, file, seq FROM snapshots WHERE digest = ? ORDER BY seq", (LOST_ROWS,)
        ).fetchall()

    def newer_snapshots(self) -> list[tuple[Path, int, int]]:
        """Return file, model and seq of snapshots that hold more than the journal has: it lost acknowledged rows."""
        newer = []
        for path in (self.folder / "snapshots").glob("*-*.safetensors"):
            number, _, seq = path.stem.partition("-")
            if number.isdigit() and seq.isdigit() and int(seq) > self.last_seq:
                newer.append((path, int(number), int(seq)))
        return sorted(newer, key=lambda each: each[2])


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter; refuse one that is there and open to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        raise OpenToOthers(
            f"{folder}: other users of this machine can read or change what is in this folder; close it with: "
            f"chmod go-rwx {shlex.quote(str(folder))}"
        )


def make_private_file(path: Path) -> None:
    """Make an empty file that only its owner may read, where there is none."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _checksum(seq: int, model: int, label: bytes, features: bytes) -> int:
    return zlib.crc32(features, zlib.crc32(label, seq * 2654435761 + model & 0xFFFFFFFF))
