"""The messages of the filter and the answers about them, in a database beside the service's journal.

An answer is written here first, with a key of its own; then to the journal under that key; then its place in the
journal is recorded here. If a process stops in between, the next one finds the answers without a place and sends them
again: the journal stores a key once, so nothing is lost and nothing learned twice.
"""

import contextlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rosenblatt.mail.features import features
from rosenblatt.mail.marks import MODEL
from rosenblatt.mail.message import LONGEST_SHOWN, Mail
from rosenblatt.service.store import Orphan, Store, StoreBroken, make_private_file

FILE = "mail.sqlite3"
VERSION = 2
SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
  number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, sent REAL NOT NULL, sender TEXT NOT NULL, name TEXT NOT NULL,
  subject TEXT NOT NULL, text TEXT NOT NULL, features BLOB NOT NULL, dated INTEGER NOT NULL DEFAULT 1);
CREATE INDEX IF NOT EXISTS messages_by_time ON messages (sent);
CREATE INDEX IF NOT EXISTS messages_by_sender ON messages (sender);
CREATE TABLE IF NOT EXISTS answers (
  number INTEGER PRIMARY KEY AUTOINCREMENT, message INTEGER NOT NULL, model INTEGER NOT NULL, label TEXT NOT NULL,
  key TEXT NOT NULL, way TEXT NOT NULL, at REAL NOT NULL, seq INTEGER, undone INTEGER NOT NULL DEFAULT 0,
  act INTEGER);
CREATE INDEX IF NOT EXISTS answers_by_message ON answers (message);
CREATE INDEX IF NOT EXISTS answers_of_pages ON answers (model, undone, number) WHERE way = 'page';
CREATE INDEX IF NOT EXISTS answers_waiting ON answers (model) WHERE seq IS NULL;
CREATE TABLE IF NOT EXISTS sources (name TEXT PRIMARY KEY, position TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS filters (model INTEGER PRIMARY KEY);
"""
MIGRATION = """
ALTER TABLE messages ADD COLUMN dated INTEGER NOT NULL DEFAULT 1;
ALTER TABLE answers ADD COLUMN act INTEGER;
"""  # from version 1 to 2
ANSWER = (
    "(SELECT label FROM answers WHERE message = messages.number AND model = ? AND undone = 0 "
    "ORDER BY answers.number DESC LIMIT 1)"
)
PAGE, FILED = "page", "filed"  # ways in which an answer came
AT_ONCE = 500  # numbers in one statement
NO_MODEL = 0  # number under which answers wait for a model to be chosen
REQUESTED, DONE = 1, 2  # how far an answer has been taken back

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, float]).decode


class StoredMessage(NamedTuple):
    """A message of the box, without its text."""

    number: int
    sent: float  # as it says itself; when it came, where it does not say, or names a time to come
    sender: str
    name: str
    subject: str
    features: dict[str, float]
    answer: str | None  # the label that a person gave it


class Answer(NamedTuple):
    """A person's answer about a message; without a place in the journal it may not have been learned."""

    number: int
    message: int
    label: str
    key: str
    seq: int | None


class Waiting(NamedTuple):
    """An answer that waits to be learned."""

    number: int
    dated: bool  # whether its message says when it was sent


class Mailbox:
    """Messages and answers; used by whoever holds the store's lock, from any of its threads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.RLock()
        make_private_file(self.path)
        self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, 1, VERSION):
                raise StoreBroken(
                    f"{self.path}: mail of version {version}, but this rosenblatt reads {VERSION}"
                )
            migration = MIGRATION if version == 1 else ""
            self._db.executescript(
                f"BEGIN IMMEDIATE;{migration}{SCHEMA}PRAGMA user_version={VERSION};COMMIT;"
            )
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise StoreBroken(f"{self.path}: cannot be opened: {error}") from error

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()

    # Models that were deleted

    def set_model(self, model: int) -> None:
        """Record that the messages belong to a model and are deleted with it."""
        with self._lock, self._db:
            self._db.execute("INSERT OR IGNORE INTO filters VALUES (?)", (model,))

    def orphans(self, live: set[int], has_model: bool) -> list[tuple[str, int]]:
        """Count answers for models that were deleted, and all messages where the filter's model was.

        Messages and answers that wait for a first model are not left over from any.
        """
        models = [number for (number,) in self._read("SELECT model FROM answers", ())]
        answers = sum(number not in live and number != NO_MODEL for number in models)
        owners = {number for (number,) in self._read("SELECT model FROM filters", ())}
        deleted = not has_model and (answers > 0 or not owners <= live)
        counts = [
            ("mail answers for models that were deleted", answers),
            ("mail messages of a model that was deleted", self.count() if deleted else 0),
        ]
        return [(what, count) for what, count in counts if count]

    def sweep(self, live: set[int], has_model: bool) -> None:
        """Delete what :meth:`orphans` counts; afterwards its bytes are in neither the database nor its log."""
        with self._lock:
            orphans = self.orphans(live, has_model)
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                if orphans and not has_model:
                    for table in ("messages", "sources", "answers"):
                        self._db.execute(f"DELETE FROM {table}")
                for table in ("answers", "filters"):
                    for (number,) in self._db.execute(f"SELECT DISTINCT model FROM {table}").fetchall():
                        if number not in live and number != NO_MODEL:
                            self._db.execute(f"DELETE FROM {table} WHERE model = ?", (number,))
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Messages

    def add(
        self, mails: Sequence[Mail], model: int = NO_MODEL, labels: Sequence[str | None] | None = None
    ) -> int:
        """Store messages, with the labels they came with, in one transaction; return how many are new.

        A label that a message already has is not stored again.
        """
        new, now = 0, time.time()
        encoded = [
            _encode(features(mail)) for mail in mails
        ]  # nothing is written where one cannot be encoded
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for at, mail in enumerate(mails):
                sent = now if mail.sent is None else min(mail.sent, now)
                inserted = self._db.execute(
                    "INSERT OR IGNORE INTO messages (digest, sent, sender, name, subject, text, features, dated) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (mail.digest, sent, mail.sender, mail.name, mail.subject, mail.text[:LONGEST_SHOWN],
                     encoded[at], mail.sent is not None),
                )  # fmt: skip
                new += inserted.rowcount
                label = labels[at] if labels is not None else None
                if label is not None:
                    number = self._db.execute(
                        "SELECT number FROM messages WHERE digest = ?", (mail.digest,)
                    ).fetchone()[0]
                    if self.answer_to(number, model) != label:
                        self._answer(number, model, label, FILED)
        return new

    def find(self, query: str, model: int, limit: int) -> list[StoredMessage]:
        """Return the newest messages in which all words of a query occur."""
        where, values = [], []
        for word in query.split():
            pattern = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
            where.append("(subject LIKE ? ESCAPE '\\' OR sender LIKE ? ESCAPE '\\' OR name LIKE ? ESCAPE '\\' "
                         "OR text LIKE ? ESCAPE '\\')")  # fmt: skip
            values += [pattern] * 4
        rows = self._read(
            f"SELECT number, sent, sender, name, subject, features, {ANSWER} FROM messages "
            f"{'WHERE' if where else ''} {' AND '.join(where)} ORDER BY sent DESC, number DESC LIMIT ?",
            (model, *values, limit),
        )
        return [
            StoredMessage(number, sent, sender, name, subject, _decode(named), answer)
            for number, sent, sender, name, subject, named, answer in rows
        ]

    def position(self, source: str) -> str | None:
        """Return how far a watched source was read; None before the first message of it."""
        rows = self._read("SELECT position FROM sources WHERE name = ?", (source,))
        return str(rows[0][0]) if rows else None

    def set_position(self, source: str, position: str) -> None:
        """Record how far a watched source was read."""
        with self._lock, self._db:
            self._db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?)", (source, position))

    def text(self, number: int) -> str:
        """Return the text of a message."""
        rows = self._read("SELECT text FROM messages WHERE number = ?", (number,))
        return str(rows[0][0]) if rows else ""

    def features(self, number: int) -> dict[str, float]:
        """Return the features of a message, as they were when it came."""
        return _decode(self._read("SELECT features FROM messages WHERE number = ?", (number,))[0][0])

    def newest_features(self, limit: int) -> list[dict[str, float]]:
        """Return the features of the newest messages."""
        rows = self._read("SELECT features FROM messages ORDER BY sent DESC, number DESC LIMIT ?", (limit,))
        return [_decode(row[0]) for row in rows]

    def newest(self) -> int:
        """Return the number of the message that came last, 0 where there is none."""
        return int(self._read("SELECT ifnull(max(number), 0) FROM messages", ())[0][0])

    def count(self) -> int:
        """Return how many messages there are."""
        return int(self._read("SELECT count(*) FROM messages", ())[0][0])

    def met_again(self, senders: Iterable[str]) -> set[str]:
        """Return the senders of whom there is more than one message."""
        wanted = [sender for sender in set(senders) if sender]
        again: set[str] = set()
        for at in range(0, len(wanted), AT_ONCE):
            some = wanted[at : at + AT_ONCE]
            places = ",".join("?" * len(some))
            rows = self._read(
                f"SELECT sender FROM messages WHERE sender IN ({places}) GROUP BY sender HAVING count(*) > 1",
                some,
            )
            again |= {row[0] for row in rows}
        return again

    # Answers

    def answer_to(self, message: int, model: int) -> str | None:
        """Return the label that a message was given last."""
        rows = self._read(
            "SELECT label FROM answers WHERE message = ? AND model = ? AND undone = 0 ORDER BY number DESC LIMIT 1",
            (message, model),
        )
        return rows[0][0] if rows else None

    def answers_among(self, numbers: Iterable[int], model: int) -> dict[int, str]:
        """Return the labels that some messages were given last, by their numbers."""
        wanted = list(numbers)
        answers: dict[int, str] = {}
        for at in range(0, len(wanted), AT_ONCE):
            some = wanted[at : at + AT_ONCE]
            places = ",".join("?" * len(some))
            answers.update(
                self._read(
                    f"SELECT message, label FROM answers WHERE message IN ({places}) AND model = ? AND undone = 0 "
                    "ORDER BY number",
                    (*some, model),
                )
            )
        return answers

    def answer(self, messages: Sequence[int], model: int, label: str) -> list[Answer]:
        """Store a person's answer about messages before the journal has it; one undo takes back all of it.

        Messages that already have this answer get no new one.
        """
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            answers = [
                self._answer(message, model, label, PAGE)
                for message in messages
                if self.answer_to(message, model) != label
            ]
            self._db.executemany(
                "UPDATE answers SET act = ? WHERE number = ?",
                [(answers[0].number, each.number) for each in answers],
            )
        return answers

    def _answer(self, message: int, model: int, label: str, way: str) -> Answer:
        key = f"mail-{secrets.token_hex(12)}"
        inserted = self._db.execute(
            "INSERT INTO answers (message, model, label, key, way, at) VALUES (?, ?, ?, ?, ?, ?)",
            (message, model, label, key, way, time.time()),
        )
        return Answer(int(inserted.lastrowid or 0), message, label, key, None)

    def waiting(self, model: int) -> list[Waiting]:
        """Return the answers that have no place in the journal, in the order in which to learn from them.

        Messages are taken in the order in which they were sent. Those that do not say when come last, the classes in
        turn, in proportion to their numbers: one class after the other would teach the second one only.
        """
        rows = self._read(
            "SELECT answers.number, dated FROM (SELECT *, "
            "(row_number() OVER (PARTITION BY dated, label ORDER BY number) - 0.5) "
            "/ count(*) OVER (PARTITION BY dated, label) AS rank "
            "FROM (SELECT answers.number, label, dated, sent FROM answers "
            "JOIN messages ON messages.number = answers.message WHERE model = ? AND seq IS NULL AND undone = 0)"
            ") AS answers ORDER BY dated DESC, CASE WHEN dated THEN sent ELSE rank END, label, number",
            (model,),
        )
        return [Waiting(number, bool(dated)) for number, dated in rows]

    def answers(self, numbers: Sequence[int]) -> list[tuple[Answer, dict[str, float]]]:
        """Return answers by their numbers, in that order, with the features of their messages."""
        places = ",".join("?" * len(numbers))
        rows = self._read(
            "SELECT answers.number, message, label, key, seq, features FROM answers "
            f"JOIN messages ON messages.number = answers.message WHERE answers.number IN ({places})",
            numbers,
        )
        by_number = {row[0]: (Answer(*row[:5]), _decode(row[5])) for row in rows}
        return [by_number[number] for number in numbers]

    def assign_answers(self, model: int) -> None:
        """Assign the answers that wait for a first model to this one."""
        with self._lock, self._db:
            self._db.execute("UPDATE answers SET model = ? WHERE model = ?", (model, NO_MODEL))

    def learned_without_date(self, model: int) -> int:
        """Return how many messages without a date were learned from: their order says nothing."""
        rows = self._read(
            "SELECT count(*) FROM answers JOIN messages ON messages.number = answers.message "
            "WHERE model = ? AND undone = 0 AND NOT dated AND way = 'filed'",
            (model,),
        )
        return int(rows[0][0])

    def placed(self, places: Iterable[tuple[int, int]]) -> None:
        """Record where answers are in the journal: pairs of an answer's number and its place."""
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "UPDATE answers SET seq = ? WHERE number = ?", [(seq, number) for number, seq in places]
            )

    def last_answers(self, model: int) -> list[Answer]:
        """Return the answers of the newest act on a page that was not undone."""
        rows = self._read(
            "SELECT number, message, label, key, seq FROM answers WHERE model = ? AND undone = 0 AND way = 'page' "
            "AND ifnull(act, number) = (SELECT ifnull(act, number) FROM answers WHERE model = ? AND undone = 0 "
            "AND way = 'page' ORDER BY number DESC LIMIT 1) ORDER BY number",
            (model, model),
        )
        return [Answer(*row) for row in rows]

    def take_back(self, answers: Sequence[Answer]) -> None:
        """Record that answers no longer count, before they are removed from the journal."""
        self._set_undone(answers, REQUESTED)

    def taken_back(self, answers: Sequence[Answer]) -> None:
        """Record that answers were removed from the journal."""
        self._set_undone(answers, DONE)

    def _set_undone(self, answers: Sequence[Answer], value: int) -> None:
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "UPDATE answers SET undone = ? WHERE number = ?",
                [(value, answer.number) for answer in answers],
            )

    def half_taken_back(self, model: int) -> list[Answer]:
        """Return answers that no longer count, but that the journal may still have."""
        rows = self._read(
            "SELECT number, message, label, key, seq FROM answers WHERE model = ? AND undone = ?",
            (model, REQUESTED),
        )
        return [Answer(*row) for row in rows]

    def subjects(self, model: int, places: Sequence[int]) -> dict[int, str]:
        """Return the subjects of the messages whose answers are at places of the journal."""
        marks = ",".join("?" * len(places))
        rows = self._read(
            "SELECT seq, subject FROM answers JOIN messages ON messages.number = answers.message "
            f"WHERE model = ? AND seq IN ({marks})",
            (model, *places),
        )
        return dict(rows)

    def _read(self, statement: str, values: Iterable[Any]) -> list[Any]:
        with self._lock:
            return self._db.execute(statement, tuple(values)).fetchall()


class StoredMail:
    """The mail in a store's folder, for the commands that verify and compact a store."""

    def orphans(self, store: Store) -> list[Orphan]:
        """Count answers for deleted models, and all messages where the filter's model was deleted."""
        with _existing(store) as box:
            return (
                [] if box is None else [Orphan(*each) for each in box.orphans(store.live, _has_model(store))]
            )

    def sweep(self, store: Store) -> None:
        """Delete what :meth:`orphans` counts, and rewrite the database without unused space."""
        with _existing(store) as box:
            if box is not None:
                box.sweep(store.live, _has_model(store))


@contextlib.contextmanager
def _existing(store: Store) -> "Iterator[Mailbox | None]":
    """Open the mailbox of a store, where it has one."""
    if not (store.folder / FILE).is_file():
        yield None
        return
    box = Mailbox(store.folder)
    try:
        yield box
    finally:
        box.close()


def _has_model(store: Store) -> bool:
    return any(name == MODEL for _, name, _ in store.models())
