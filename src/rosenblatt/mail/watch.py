"""Mail as it arrives, from a Maildir or an IMAP server, into the mailbox of a store.

Nothing at the source is changed: a Maildir is only read, and an IMAP mailbox is opened read-only (``EXAMINE``) and its
messages are fetched without marking them as seen (``BODY.PEEK``). Connections to an IMAP server are encrypted, and its
certificate is checked. How far a source was read is written into the mailbox, so that a watch which was stopped goes
on from there.
"""

import base64
import contextlib
import imaplib
import json
import os
import re
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, unquote, urlsplit

from rosenblatt.data.errors import BadLine, SkippedLines
from rosenblatt.data.named.mail import (
    LARGEST_MESSAGE,
    MAILDIR_PARTS,
    TOO_LARGE,
    Letter,
    read_file,
)
from rosenblatt.mail.filter import Intake
from rosenblatt.mail.folders import read_letter
from rosenblatt.mail.mailbox import NO_MODEL, Mailbox

MOST_AT_ONCE = 200  # messages of one poll; the next follows at once
MOST_BYTES = 64 << 20  # of the messages of one poll
EXISTING = 500  # messages that are there when the watch begins, the newest, which are taken
SECONDS = 30.0  # in which an IMAP server must answer
PORTS = {"imaps": 993, "imap": 143}
TEMPORARY = re.compile(r"\[(?:UNAVAILABLE|INUSE|LIMIT)\]")  # response codes of RFC 5530
SIZE = re.compile(rb"UID (\d+).*?RFC822\.SIZE (\d+)|RFC822\.SIZE (\d+).*?UID (\d+)", re.DOTALL)


class SourceUnavailable(Exception):
    """A source cannot be read now; the next poll may succeed."""


class SourceRefused(ValueError):
    """A source that refuses to be read, now and later: wrong password, unknown mailbox or untrusted certificate."""


class Source(Protocol):
    """Where mail comes from."""

    name: str  # under which its position is stored

    def poll(self) -> list[Letter]:
        """Return messages that have come since the last poll, :data:`MOST_AT_ONCE` at most, oldest first."""

    def position(self) -> str:
        """Return how far it was read, as JSON."""

    def resume(self, position: str) -> None:
        """Continue from a position that an earlier watch stored; called before the first poll."""

    def close(self) -> None:
        """Close the connection, if there is one."""


class Arrivals(NamedTuple):
    """The result of one poll."""

    letters: int
    new: int  # messages that the mailbox did not have
    failures: SkippedLines


def take(source: Source, box: Mailbox) -> Arrivals:
    """Add new messages to the mailbox; a message that cannot be read is listed, and the others are stored."""
    letters = source.poll()
    mails = (read_letter(letter, number) for number, letter in enumerate(letters, 1))
    intake = Intake(box, NO_MODEL)
    intake.take(mail if isinstance(mail, BadLine) else (mail, None) for mail in mails)
    if letters:
        box.set_position(source.name, source.position())  # after its messages: none is passed over
    return Arrivals(len(letters), intake.new, intake.failures)


class MaildirSource:
    """A Maildir, polled: files in ``new`` and ``cur`` whose names were not there before.

    Parameters
    ----------
    folder : Path
        The Maildir.
    existing : int
        How many of the messages that are there already are taken, the newest by their files' times.
    """

    def __init__(self, folder: Path, existing: int = EXISTING) -> None:
        if not any((folder / part).is_dir() for part in MAILDIR_PARTS):
            raise ValueError(f"{folder}: not a Maildir: there is no folder 'cur' or 'new' in it")
        self.name = str(folder.resolve())
        self._folder = folder
        files = self._files()
        newest = sorted(files, key=lambda name: files[name].modified)[-existing:] if existing else []
        self._seen = set(files) - set(newest)
        self._last = 0.0  # the newest time of a file that was taken

    def poll(self) -> list[Letter]:
        """Return messages that have come since the last poll, oldest first."""
        files = self._files()
        self._seen &= set(files)  # only names that are there are remembered
        fresh = sorted(set(files) - self._seen, key=lambda name: (files[name].modified, name))[:MOST_AT_ONCE]
        self._seen.update(fresh)
        self._last = max([self._last, *(files[name].modified for name in fresh)])
        return [read_file(files[name].path, "INBOX") for name in fresh]

    def position(self) -> str:
        """Return the newest time of a file that was taken."""
        return json.dumps({"modified": self._last})

    def resume(self, position: str) -> None:
        """Also take all files that are newer than those of an earlier watch."""
        self._last = float(json.loads(position)["modified"])
        self._seen -= {name for name, file in self._files().items() if file.modified >= self._last}

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _files(self) -> "dict[str, _File]":
        """Return the files of messages by their unique names, which stay when flags change or they leave ``new``."""
        files: dict[str, _File] = {}
        for part in MAILDIR_PARTS:
            with contextlib.suppress(FileNotFoundError), os.scandir(self._folder / part) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    with contextlib.suppress(FileNotFoundError):  # it was moved meanwhile
                        modified = entry.stat(follow_symlinks=False).st_mtime
                        files[entry.name.partition(":")[0]] = _File(entry.path, modified)
        return files


class _File(NamedTuple):
    path: str
    modified: float


class ImapAddress(NamedTuple):
    """Where an IMAP mailbox is: ``imaps://USER@HOST[:PORT]/MAILBOX``, or ``imap://`` with STARTTLS."""

    scheme: str
    user: str
    host: str
    port: int
    mailbox: str


def parse_address(url: str) -> ImapAddress:
    """Return the parts of an IMAP address; refuse one that contains a password.

    >>> parse_address("imaps://ann%40example.org@mail.example.org/INBOX")
    ImapAddress(scheme='imaps', user='ann@example.org', host='mail.example.org', port=993, mailbox='INBOX')
    """
    parts = urlsplit(url)
    if parts.scheme not in PORTS:
        raise ValueError(f"{parts.scheme}://: use imaps://, or imap:// for STARTTLS")
    if parts.password is not None:
        raise ValueError(
            "a password in the address is seen by every user of this machine: leave it out, and give --password-file "
            "or type it"
        )
    if not parts.username or not parts.hostname:
        raise ValueError(f"{url}: give it as imaps://USER@HOST/MAILBOX")
    mailbox = unquote(parts.path.lstrip("/")) or "INBOX"
    port = parts.port or PORTS[parts.scheme]
    return ImapAddress(parts.scheme, unquote(parts.username), parts.hostname, port, mailbox)


def modified_utf7(name: str) -> str:
    """Return the name of a mailbox as IMAP spells it (RFC 3501, section 5.1.3).

    >>> modified_utf7("Gelöscht"), modified_utf7("R&D")
    ('Gel&APY-scht', 'R&-D')
    """

    def encoded(match: re.Match[str]) -> str:
        text = match[0]
        if text == "&":
            return "&-"
        packed = base64.b64encode(text.encode("utf-16-be")).decode().rstrip("=")
        return f"&{packed.replace('/', ',')}-"

    return re.sub(r"&|[^\x20-\x7e]+", encoded, name)


def read_password(path: Path) -> str:
    """Return the first line of a file that only its owner may read."""
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise ValueError(f"{path}: not a regular file")
    if os.name == "posix" and state.st_mode & 0o077:
        raise ValueError(f"{path}: other users of this machine can read it; close it with: chmod 600 {path}")
    password = path.read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r")
    if not password:
        raise ValueError(f"{path}: its first line is empty; write the password there")
    return password


class ImapSource:
    """An IMAP mailbox, polled read-only over TLS; after a lost connection the next poll connects again.

    Parameters
    ----------
    address : ImapAddress
        Server, user and mailbox.
    password : str
        The user's password.
    ca_file : Path, optional
        Certificates to trust instead of the system's.
    existing : int
        How many of the messages that are there already are taken, the newest.
    """

    def __init__(
        self, address: ImapAddress, password: str, ca_file: Path | None = None, existing: int = EXISTING
    ) -> None:
        self._address, self._password, self._existing = address, password, existing
        user, server = quote(address.user, safe=""), f"{address.host}:{address.port}"
        self.name = f"{address.scheme}://{user}@{server}/{quote(address.mailbox)}"
        self._context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        self._connection: Any = None
        self._validity = ""  # of the numbers of messages; another one begins anew
        self._last: int | None = None  # number of the last message that was taken

    def poll(self) -> list[Letter]:
        """Return messages that have come since the last poll, oldest first."""
        letters: list[Letter] = []
        server = f"{self._address.host}:{self._address.port}"
        try:
            letters.extend(self._fetch(self._new()))
        except ssl.SSLCertVerificationError as error:
            self.close()
            reason = f"{server}: its certificate cannot be verified: {error.verify_message}"
            raise SourceRefused(f"{reason}; name the one to trust with --ca-file") from None
        except (OSError, imaplib.IMAP4.error) as error:
            self.close()
            if letters:  # the next poll begins after them
                return letters
            raise SourceUnavailable(f"{server}: {_reason(error)}") from None
        except SourceRefused as error:
            self.close()
            raise SourceRefused(f"{server}: {error}") from None
        return letters

    def position(self) -> str:
        """Return the number of the last message that was taken, and the UIDVALIDITY of its mailbox."""
        return json.dumps({"validity": self._validity, "last": self._last})

    def resume(self, position: str) -> None:
        """Begin after the last message of an earlier watch, if UIDVALIDITY is still the same."""
        fields = json.loads(position)
        self._validity, self._last = str(fields["validity"]), fields["last"]

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError, imaplib.IMAP4.error):
                connection.logout()

    def _connect(self) -> Any:
        host, port = self._address.host, self._address.port
        if self._address.scheme == "imaps":
            connection: Any = imaplib.IMAP4_SSL(host, port, ssl_context=self._context, timeout=SECONDS)
        else:
            connection = imaplib.IMAP4(host, port, timeout=SECONDS)
            if "STARTTLS" not in connection.capabilities:
                connection.shutdown()
                raise SourceRefused("the server offers no STARTTLS; use imaps://")
            connection.starttls(self._context)
        self._connection = connection
        try:
            self._log_in(connection)
        except imaplib.IMAP4.abort:  # the connection broke
            raise
        except imaplib.IMAP4.error as error:
            if TEMPORARY.search(_reason(error)):
                raise
            raise SourceRefused(f"{self._address.user} cannot sign in: {_reason(error)}") from None
        return connection

    def _log_in(self, connection: Any) -> None:
        user, password = self._address.user, self._password
        if user.isascii() and password.isascii():
            connection.login(user, password)
        else:  # LOGIN takes ASCII alone
            connection.authenticate("PLAIN", lambda _: f"\0{user}\0{password}".encode())

    def _new(self) -> list[int]:
        """Return the numbers of messages that were not taken yet, oldest first."""
        connection = self._connection or self._connect()
        mailbox = modified_utf7(self._address.mailbox).replace("\\", "\\\\").replace('"', '\\"')
        status, answers = connection.select(f'"{mailbox}"', readonly=True)
        if status != "OK":
            raise SourceRefused(f"mailbox {self._address.mailbox!r}: {_text(answers[0])}")
        validity = _text(connection.response("UIDVALIDITY")[1][0])
        if validity != self._validity:
            self._validity, self._last = validity, None
        first = 1 if self._last is None else self._last + 1
        matches = b" ".join(_checked(connection.uid("SEARCH", "UID", f"{first}:*")))
        numbers = sorted(
            number for number in map(int, matches.split()) if number >= first
        )  # *: the last, if below
        if self._last is None:
            numbers = numbers[-self._existing :] if self._existing else []
            self._last = max(numbers[0] - 1, 0) if numbers else self._highest(connection)
        return numbers[:MOST_AT_ONCE]

    def _highest(self, connection: Any) -> int:
        upcoming = connection.response("UIDNEXT")[1][0]
        return int(upcoming) - 1 if upcoming else 0

    def _fetch(self, numbers: list[int]) -> Iterator[Letter]:
        """Fetch messages one by one, up to :data:`MOST_BYTES` together; a message that is too large is not fetched."""
        if not numbers:
            return
        connection, name = self._connection, self._address.mailbox
        sizes = self._sizes(numbers)
        size = 0
        for number in numbers:
            place = f"{self._address.host}/{name}"
            size += min(sizes.get(number, 0), LARGEST_MESSAGE)
            if size > MOST_BYTES and number != numbers[0]:
                return
            if sizes.get(number, 0) > LARGEST_MESSAGE:
                yield Letter(place, number, name, b"", TOO_LARGE)
            else:
                for part in _checked(connection.uid("FETCH", str(number), "(BODY.PEEK[])")):
                    if isinstance(part, tuple):  # none where it was deleted meanwhile
                        yield Letter(place, number, name, part[1].replace(b"\r\n", b"\n"))  # as files have it
            self._last = number

    def _sizes(self, numbers: list[int]) -> dict[int, int]:
        answers = _checked(self._connection.uid("FETCH", ",".join(map(str, numbers)), "(UID RFC822.SIZE)"))
        sizes: dict[int, int] = {}
        for answer in answers:
            match = SIZE.search(answer) if isinstance(answer, bytes) else None
            if match is not None:
                uid, size = (match[1], match[2]) if match[1] else (match[4], match[3])
                sizes[int(uid)] = int(size)
        return sizes


def _checked(answer: tuple[str, list[Any]]) -> list[Any]:
    status, data = answer
    if status != "OK":
        raise imaplib.IMAP4.error(_text(data[0]) if data else "the server refused")
    return [part for part in data if part is not None]


def _reason(error: Exception) -> str:
    return _text(error.args[0]) if error.args and isinstance(error.args[0], bytes) else str(error)


def _text(answer: Any) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else str(answer)
