"""What a store keeps beside its journal: models, the ledger, snapshots and bases."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rosenblatt.service.messages import LedgerLine, ModelSettings
from rosenblatt.web.refusals import Conflict

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
_encode = msgspec.json.Encoder().encode


class Tables:
    """Reading and writing of everything but the journal, over a connection that a store opens."""

    folder: Path
    live: set[int]
    _db: sqlite3.Connection
    _writing: threading.RLock

    def transaction(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """All that is written inside is there afterwards, or none of it."""
        raise NotImplementedError

    def reader(self) -> sqlite3.Connection:
        """Return a connection of one's own that only reads."""
        raise NotImplementedError

    def mark(self, db: sqlite3.Connection) -> None:
        """Remember how far the journal went, before feedbacks leave it."""
        raise NotImplementedError

    # Snapshots and bases

    def snapshots(self, model: int) -> list[tuple[int, str, str]]:
        """Return place in the journal, file and digest of a model's snapshots, the newest first."""
        return self._db.execute(
            "SELECT seq, file, digest FROM snapshots WHERE model = ? ORDER BY seq DESC", (model,)
        ).fetchall()

    def base(self, model: int) -> tuple[int, str, bytes] | None:
        """Return place in the journal, digest and content of what a model began with, if not with nothing."""
        found: tuple[int, str, bytes] | None = self._db.execute(
            "SELECT seq, digest, content FROM bases WHERE model = ?", (model,)
        ).fetchone()
        return found

    def base_seq(self, model: int) -> int:
        """Return the place in the journal after which a model's feedbacks count."""
        found = self._db.execute("SELECT seq FROM bases WHERE model = ?", (model,)).fetchone()
        return int(found[0]) if found else -1

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
                msgspec.json.decode(told),
                score,
                bool(moved),
                wrong,
                n,
            )
            for seq, clock, label, told, score, moved, wrong, n in rows
        ]

    # Models

    def models(self) -> list[tuple[int, str, bytes]]:
        """Return number, name and encoded settings of every model."""
        return self._db.execute("SELECT number, name, settings FROM models ORDER BY number").fetchall()

    def add_model(self, name: str, settings: ModelSettings) -> int:
        """Make a model; return its number, which is never used again."""
        with self._writing:
            try:
                with self.transaction() as db:
                    made = db.execute(
                        "INSERT INTO models (name, settings, made) VALUES (?, ?, ?)",
                        (name, _encode(settings), time.time()),
                    )
                    number = int(made.lastrowid or 0)
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


def settings_from(content: bytes) -> ModelSettings:
    """Decode the settings of a model."""
    return msgspec.json.decode(content, type=ModelSettings)
