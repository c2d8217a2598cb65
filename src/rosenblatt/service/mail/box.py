"""The messages of the filter and what was said about each, in a database beside the service's journal.

What is said about a message is written here first, with a key of its own; then it goes into the journal under that key;
then the place in the journal is noted here. Whatever stops a process in between, the next one finds the answers
that have no place yet and sends them again: the journal takes a key once, so nothing is lost and nothing learned twice.
"""

import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rosenblatt.service.mail.features import features
from rosenblatt.service.mail.message import LONGEST_SHOWN, Mail
from rosenblatt.service.store import StoreBroken, make_private_file

FILE = "mail.sqlite3"
VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
  number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, sent REAL NOT NULL, sender TEXT NOT NULL, name TEXT NOT NULL,
  subject TEXT NOT NULL, text TEXT NOT NULL, features BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS messages_by_time ON messages (sent);
CREATE INDEX IF NOT EXISTS messages_by_sender ON messages (sender);
CREATE TABLE IF NOT EXISTS answers (
  number INTEGER PRIMARY KEY AUTOINCREMENT, message INTEGER NOT NULL, model INTEGER NOT NULL, label TEXT NOT NULL,
  key TEXT NOT NULL, way TEXT NOT NULL, at REAL NOT NULL, seq INTEGER, undone INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS answers_by_message ON answers (message);
CREATE INDEX IF NOT EXISTS answers_of_pages ON answers (model, undone, number) WHERE way = 'page';
CREATE INDEX IF NOT EXISTS answers_waiting ON answers (model) WHERE seq IS NULL;
"""
TOLD = (
    "(SELECT label FROM answers WHERE message = messages.number AND model = ? AND undone = 0 "
    "ORDER BY answers.number DESC LIMIT 1)"
)
PAGE, FILED = "page", "filed"  # ways in which an answer came
AT_ONCE = 500  # numbers in one statement
ASKED, DONE = 1, 2  # how far an answer has been taken back

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, float]).decode


class Kept(NamedTuple):
    """A message of the box, without its text."""

    number: int
    sent: float  # as it says itself; when it came, where it does not say, or names a time to come
    sender: str
    name: str
    subject: str
    features: dict[str, float]
    told: str | None  # the label that a person gave it


class Answer(NamedTuple):
    """What a person said about a message; without a place in the journal it may not have been learned."""

    number: int
    message: int
    label: str
    key: str
    seq: int | None


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
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
            if found not in (0, VERSION):
                raise StoreBroken(
                    f"{self.path}: mail of version {found}, but this rosenblatt reads {VERSION}"
                )
            self._db.executescript(f"BEGIN IMMEDIATE;{SCHEMA}PRAGMA user_version={VERSION};COMMIT;")
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise StoreBroken(f"{self.path}: cannot be opened: {error}") from error

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()

    # Models that were deleted

    def orphans(self, live: set[int], has_model: bool) -> list[tuple[str, int]]:
        """Count answers for models that do not exist, and all messages where the filter's model does not."""
        answers = sum(number not in live for (number,) in self._read("SELECT model FROM answers", ()))
        counts = [
            ("mail answers for models that were deleted", answers),
            ("mail messages without a model", 0 if has_model else self.count()),
        ]
        return [(what, count) for what, count in counts if count]

    def sweep(self, live: set[int], has_model: bool) -> None:
        """Delete what :meth:`orphans` counts; afterwards its bytes are in neither the database nor its log."""
        with self._lock:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                if not has_model:
                    self._db.execute("DELETE FROM messages")
                    self._db.execute("DELETE FROM answers")
                for (number,) in self._db.execute("SELECT DISTINCT model FROM answers").fetchall():
                    if number not in live:
                        self._db.execute("DELETE FROM answers WHERE model = ?", (number,))
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Messages

    def add(self, mails: Sequence[Mail], model: int = 0, labels: Sequence[str | None] | None = None) -> int:
        """Keep messages, with the labels they came with, in one transaction; return how many are new.

        A label that a message has already been given is not given again.
        """
        new, now = 0, time.time()
        encoded = [
            _encode(features(mail)) for mail in mails
        ]  # nothing is written where one cannot be encoded
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for at, mail in enumerate(mails):
                sent = now if mail.sent is None else min(mail.sent, now)
                made = self._db.execute(
                    "INSERT OR IGNORE INTO messages (digest, sent, sender, name, subject, text, features) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (mail.digest, sent, mail.sender, mail.name, mail.subject, mail.text[:LONGEST_SHOWN],
                     encoded[at]),
                )  # fmt: skip
                new += made.rowcount
                label = labels[at] if labels is not None else None
                if label is not None:
                    number = self._db.execute(
                        "SELECT number FROM messages WHERE digest = ?", (mail.digest,)
                    ).fetchone()[0]
                    if self.told(number, model) != label:
                        self._answer(number, model, label, FILED)
        return new

    def find(self, query: str, model: int, limit: int) -> list[Kept]:
        """Return the newest messages in which all words of a query occur."""
        where, values = [], []
        for word in query.split():
            pattern = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
            where.append("(subject LIKE ? ESCAPE '\\' OR sender LIKE ? ESCAPE '\\' OR name LIKE ? ESCAPE '\\' "
                         "OR text LIKE ? ESCAPE '\\')")  # fmt: skip
            values += [pattern] * 4
        rows = self._read(
            f"SELECT number, sent, sender, name, subject, features, {TOLD} FROM messages "
            f"{'WHERE' if where else ''} {' AND '.join(where)} ORDER BY sent DESC, number DESC LIMIT ?",
            (model, *values, limit),
        )
        return [
            Kept(number, sent, sender, name, subject, _decode(named), told)
            for number, sent, sender, name, subject, named, told in rows
        ]

    def text(self, number: int) -> str:
        """Return the text of a message."""
        rows = self._read("SELECT text FROM messages WHERE number = ?", (number,))
        return str(rows[0][0]) if rows else ""

    def features(self, number: int) -> dict[str, float]:
        """Return the features of a message, as they were when it came."""
        return _decode(self._read("SELECT features FROM messages WHERE number = ?", (number,))[0][0])

    def count(self) -> int:
        """Return how many messages there are."""
        return int(self._read("SELECT count(*) FROM messages", ())[0][0])

    def met_again(self, senders: Iterable[str]) -> set[str]:
        """Return the senders of whom there is more than one message."""
        asked = [sender for sender in set(senders) if sender]
        found: set[str] = set()
        for at in range(0, len(asked), AT_ONCE):
            some = asked[at : at + AT_ONCE]
            places = ",".join("?" * len(some))
            rows = self._read(
                f"SELECT sender FROM messages WHERE sender IN ({places}) GROUP BY sender HAVING count(*) > 1",
                some,
            )
            found |= {row[0] for row in rows}
        return found

    # Answers

    def told(self, message: int, model: int) -> str | None:
        """Return the label that a message was given last."""
        rows = self._read(
            "SELECT label FROM answers WHERE message = ? AND model = ? AND undone = 0 ORDER BY number DESC LIMIT 1",
            (message, model),
        )
        return rows[0][0] if rows else None

    def told_among(self, numbers: Iterable[int], model: int) -> dict[int, str]:
        """Return the labels that some messages were given last, by their numbers."""
        asked = list(numbers)
        found: dict[int, str] = {}
        for at in range(0, len(asked), AT_ONCE):
            some = asked[at : at + AT_ONCE]
            places = ",".join("?" * len(some))
            found.update(
                self._read(
                    f"SELECT message, label FROM answers WHERE message IN ({places}) AND model = ? AND undone = 0 "
                    "ORDER BY number",
                    (*some, model),
                )
            )
        return found

    def answer(self, message: int, model: int, label: str) -> Answer:
        """Write down what a person says about a message, before the journal has it."""
        with self._lock:
            return self._answer(message, model, label, PAGE)

    def _answer(self, message: int, model: int, label: str, way: str) -> Answer:
        key = f"mail-{secrets.token_hex(12)}"
        made = self._db.execute(
            "INSERT INTO answers (message, model, label, key, way, at) VALUES (?, ?, ?, ?, ?, ?)",
            (message, model, label, key, way, time.time()),
        )
        return Answer(int(made.lastrowid or 0), message, label, key, None)

    def waiting(self, model: int, limit: int) -> list[tuple[Answer, dict[str, float]]]:
        """Return answers that have no place in the journal, as their messages were sent, with their features."""
        rows = self._read(
            "SELECT answers.number, message, label, key, seq, features FROM answers "
            "JOIN messages ON messages.number = answers.message WHERE model = ? AND seq IS NULL AND undone = 0 "
            "ORDER BY sent, answers.number LIMIT ?",
            (model, limit),
        )
        return [(Answer(*row[:5]), _decode(row[5])) for row in rows]

    def placed(self, places: Iterable[tuple[int, int]]) -> None:
        """Note where answers are in the journal: pairs of an answer's number and its place."""
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "UPDATE answers SET seq = ? WHERE number = ?", [(seq, number) for number, seq in places]
            )

    def last_answer(self, model: int) -> Answer | None:
        """Return the newest answer given on the page that was not taken back."""
        rows = self._read(
            "SELECT number, message, label, key, seq FROM answers WHERE model = ? AND undone = 0 AND way = 'page' "
            "ORDER BY number DESC LIMIT 1",
            (model,),
        )
        return Answer(*rows[0]) if rows else None

    def take_back(self, answer: Answer) -> None:
        """Write down that an answer no longer counts, before the journal is rid of it."""
        self._set_undone(answer, ASKED)

    def taken_back(self, answer: Answer) -> None:
        """Note that the journal is rid of an answer."""
        self._set_undone(answer, DONE)

    def _set_undone(self, answer: Answer, value: int) -> None:
        with self._lock:
            self._db.execute("UPDATE answers SET undone = ? WHERE number = ?", (value, answer.number))

    def half_taken_back(self, model: int) -> list[Answer]:
        """Return answers that no longer count, but that the journal may still have."""
        rows = self._read(
            "SELECT number, message, label, key, seq FROM answers WHERE model = ? AND undone = ?",
            (model, ASKED),
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


def there_is_mail(folder: Path) -> bool:
    """Whether a store has messages."""
    return (folder / FILE).is_file()
