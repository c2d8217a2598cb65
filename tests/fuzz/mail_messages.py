"""Hostile mail: mutants of whole messages and mailboxes, and families of messages whose cost might grow too fast.

Whatever the bytes are, a message is read: nothing is raised, and what is read is bounded and can be stored.
"""

import base64
import random
import sys
import tempfile
from pathlib import Path

import msgspec
from tests.mail.messages import mbox

from rosenblatt.data.errors import BadInput, BadLine
from rosenblatt.data.named import mail, mime
from rosenblatt.data.words import Words
from rosenblatt.mail import message as filter_message
from rosenblatt.mail.features import LONGEST, MOST_WORDS, features
from rosenblatt.mail.folders import new_mail

FULL = 100_000
SEEDS = [
    b"From: Ann <ann@example.org>\nTo: a@b.c, d@e.f\nSubject: Re: budget\nDate: Tue, 02 Jan 2024 10:00:00 +0000\n"
    b"Message-ID: <1@b>\n\nThe deadline is near: http://a.b/c\n> From: x\n-- forwarded by y\n",
    b"From: =?utf-8?q?J=C3=BCrgen?= <j@x.de>\nSubject: =?utf-8?b?w6lww6k=?= =?iso-8859-1?q?p=F6st?=\n =?utf-8?q?_on?=\n"
    b"X-Gmail-Labels: Inbox,Starred\nList-Id: <l.x>\n\ncaf\xc3\xa9 \xff\n",
    b'Subject: parts\nMIME-Version: 1.0\nContent-Type: multipart/mixed;\n\tboundary="b:1"\n\npreamble\n--b:1\n'
    b"Content-Type: multipart/alternative; boundary=b2\n\n--b2\nContent-Type: text/plain; charset=iso-8859-1\n"
    b'Content-Transfer-Encoding: quoted-printable\n\ngr=F6=\n=DFe\n--b2\nContent-Type: text/html; charset="utf-8"\n'
    b"Content-Transfer-Encoding: base64\n\n"
    + base64.encodebytes(
        b"<style>p{}</style><p>Buy&nbsp;<b>gold</b> &#8364;<!-- no --><script>x()</script></p>"
    )
    + b"--b2--\n--b:1\nContent-Type: message/rfc822\n\nFrom: c@d.e\nSubject: inner\n\ninner text\n--b:1\n"
    b"Content-Disposition: attachment; filename*=utf-8''a%20b.txt\n\nfile\n--b:1--\nepilogue\n",
    b"Subject: uu\nContent-Type: text/plain; charset=koi8-r\nContent-Transfer-Encoding: x-uuencode\n\n"
    b"begin 644 a\n#86)C\n`\nend\n",
    b"Subject: report\nContent-Type: multipart/report; boundary=r\n\n--r\nContent-Type: message/delivery-status\n\n"
    b"Reporting-MTA: dns; x\n\nAction: failed\n\n--r\nContent-Type: multipart/digest; boundary=d\n\n--d\n\n"
    b"Subject: one\n\nfirst\n--d\n\nSubject: two\n\nsecond\n--d--\n--r--\n",
    b"Just a text, no headers at all.\n\nFrom here on it goes.\n",
]
TOKENS = [
    b"\n", b"\r\n", b"\r", b"\n\n", b"\x00", b"\xff", b"\xed\xa0\x80", b" ", b"\t", b":", b";", b"=", b'"',
    b"\\", b"(", b")", b"<", b">", b"&", b"&#", b"&#x", b"&#99999999999;", b"&amp;", b"<!--", b"-->",
    b"<![CDATA[", b"<script", b"</script", b"<style>", b"</style >", b"=?", b"?=", b"=?utf-8?q?",
    b"=?utf-8?b?", b"=?idna?q?a?=", b"=?undefined?b?YQ==?=", b"=?a\x00b?q?x?=", b"--", b"\n--b2\n",
    b"\n--b2--\n", b"\n--b:1\n", b"boundary=", b"charset=", b"charset=idna", b"charset=undefined",
    b"charset=unicode_escape", b"charset=utf-7", b"charset=zlib", b"charset=rot13", b"charset=utf-16",
    b"charset=a\x00b", b"charset*0*=idna''x", b"name*=undefined''%ff", b"filename=", b"Content-Type: ",
    b"\nContent-Type: text/html", b"\nContent-Type: multipart/mixed; boundary=b2\n\n",
    b"\nContent-Type: message/rfc822\n\n", b"\nContent-Transfer-Encoding: base64",
    b"\nContent-Transfer-Encoding: quoted-printable", b"\nContent-Transfer-Encoding: uue",
    b"\nDate: Tue, 99 Jan 99999 99:99:99 +9999", b"\nFrom: ", b"\n>From ", b"\nFrom \n", b"\n\nFrom x\n",
    b"@", b",", b"\xe2\x80\xae", b"\xcc\x80\xcc\x96",
]  # fmt: skip
REPEATS = (1, 1, 1, 2, 3, 40, 1500)
LONGEST_MUTANT = 1 << 13


def message_families():
    """Return builders of hostile messages by name: each takes a size and returns about so many bytes."""

    def header(name, unit, before=b"", after=b""):
        return lambda n: (
            name + b": " + before + unit * (n // len(unit)) + after + b"\nX-Other: a\n\nsome text\n"
        )

    def html(unit, before=b"", after=b""):
        head = b"Subject: s\nContent-Type: text/html; charset=utf-8\n\n"
        return lambda n: head + before + unit * (n // len(unit)) + after

    def text(unit, before=b"", after=b"", charset=b"utf-8"):
        head = b"Subject: s\nContent-Type: text/plain; charset=" + charset + b"\n\n"
        return lambda n: head + before + unit * (n // len(unit)) + after

    def encoded(encoding, unit):
        head = b"Subject: s\nContent-Transfer-Encoding: " + encoding + b"\n\n"
        return lambda n: head + unit * (n // len(unit))

    def nested(n):
        levels = range(n // 60)
        return b"Subject: s\n" + b"".join(
            b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (level, level) for level in levels
        )

    def closed(n):
        levels = range(n // 80)
        return nested(60 * len(levels)) + b"".join(b"\n--b%d--\n" % level for level in reversed(levels))

    def parts(unit):
        head = b"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n"
        return lambda n: head + unit * (n // len(unit))

    def message_chain(n):
        unit = b"Content-Type: message/rfc822\n\n"
        return b"Subject: s\n" + unit * (n // len(unit))

    units = {
        "html": [
            b"<", b">", b"<!", b"<!-", b"<!--", b"<![", b"<![CDATA[", b"<?", b"</", b"<a ", b"<a>",
            b"<script", b"<script>", b"<SCRIPT ", b"</script", b"<style>", b"<script>a</style>",
            b"<script></script>", b"<!---->", b"-->", b"&", b"&#", b"&#x", b"&#9", b"&a", b"&amp", b"&lt;",
            b"&#65;", b'<a title="', b"<\xc3\xa9", b"\x00", b"<s", b"&CounterClockwiseContourIntegra",
        ],
        "subject": [
            b"=?", b"?=", b"=?a?q?", b"=?a?q? ", b"=?utf-8?q?x?= ", b"=?utf-8?q?x?=\n ",
            b"=?idna?q?x?= =?utf-8?q?y?= ", b"=?utf-8?b?!?= ", b"=", b"?", b"_", b"\n ", b"a\n\t", b"\r",
            b"\xff", b" ",
        ],
        "from": [
            b"(", b")", b"()", b"(a", b"a:", b"a:;", b",", b";", b"<", b">", b"@", b'"', b"\\", b"a@b,",
            b"a ", b'"a" ', b"[", b".", b"\n (", b"(\\", b":", b"a <b> ",
        ],
        "content": [
            b";", b"a=", b";a=", b';a="', b"\\", b";a*0=b", b";charset*1*=x", b'"', b"=", b" ",
            b";boundary=x", b"/",
        ],
        "text": [
            b"a", b"a ", b"@", b"a@", b"a@b ", b">\n", b"> ", b"from\n", b"from ", b"\n", b"\nfrom",
            b"www.", b"www ", b"http:", b"https", b"forwarded by ", b"forwarded b", b"a'", b"\xe2\x80\x99",
            b"\xcc\x80\xcc\x96", b"\xcc\x96\xcc\x80", b"\xe1\x84\x80", b"\xe1\x85\xa1", b"\xc4\xb0",
            b"\xe3\x81\x8b\xe3\x82\x99", b"$", b"1", b"1 ", b"!", b"\r", b"\t", b"\xa0", b"\xad", b"\xff",
            b"_", b"\xe2\x80\x8b", b">", b" \n", b"\n>",
        ],
    }  # fmt: skip
    families = {}
    for unit in units["html"]:
        families[f"html {unit!r}"] = html(unit)
        families[f"html {unit!r} closed"] = html(unit, after=b"></b>")
    for unit in (b"</", b"</script", b" ", b"<"):
        families[f"script, then {unit!r}"] = html(unit, before=b"<script></script", after=b">")
    families["html number"] = html(b"9", before=b"&#", after=b";")
    families["html hexadecimal number"] = html(b"f", before=b"&#x", after=b";")
    families.update({f"subject {unit!r}": header(b"Subject", unit) for unit in units["subject"]})
    for name in (b"From", b"To"):
        families.update({f"{name.decode()} {unit!r}": header(name, unit) for unit in units["from"]})
    for unit in units["content"]:
        families[f"content type {unit!r}"] = header(b"Content-Type", unit, before=b"text/plain")
        families[f"disposition {unit!r}"] = header(b"Content-Disposition", unit, before=b"attachment")
    families["date"] = header(b"Date", b"9")
    families["label"] = header(b"X-Gmail-Labels", b"=?utf-8?q?a?=,")
    families["header name"] = lambda n: b"Subject: s\n" + b"a" * n + b": b\n\ntext"
    families["headers"] = lambda n: b"Subject: s\n" + b"a:b\n" * (n // 4) + b"\ntext"
    families["nameless headers"] = lambda n: b"Subject: s\n" + b":\n" * (n // 2) + b"\ntext"
    families["From lines in headers"] = lambda n: b"Subject: s\n" + b"From \n" * (n // 6) + b"\ntext"
    families["folds"] = lambda n: b"Subject: s\n" + b" \n" * (n // 2) + b"\ntext"
    families.update({f"text {unit!r}": text(unit) for unit in units["text"]})
    families["marks after a letter"] = text(b"\xcc\x80\xcc\x96", before=b"a")
    families["utf-7"] = text(b"+2AA-", charset=b"utf-7")
    families["utf-7 without an end"] = text(b"+AAAA", charset=b"utf-7")
    families["utf-16 surrogates"] = text(b"\x00\xd8", charset=b"utf-16-le")
    families["shift_jis garbage"] = text(b"\x81\xff", charset=b"shift_jis")
    families["iso-2022-jp escapes"] = text(b"\x1b$B\x1b(J", charset=b"iso-2022-jp")
    families["base64"] = encoded(b"base64", b"A")
    families["base64 lines"] = encoded(b"base64", b"\n")
    families["base64 padding"] = encoded(b"base64", b"=")
    families["quoted-printable"] = encoded(b"quoted-printable", b"=")
    families["quoted-printable lines"] = encoded(b"quoted-printable", b"=\n")
    families["uu begins"] = encoded(b"uue", b"begin 1 ")
    families["uu lines"] = lambda n: encoded(b"uue", b"#86)C\n")(n).replace(b"\n\n", b"\n\nbegin 644 a\n")
    families.update({"nested": nested, "nested and closed": closed, "chain of messages": message_chain})
    for unit in (
        b"--b\n",
        b"--b--\n",
        b"--\n",
        b"--a\n",
        b"--b\n\n",
        b"--b",
        b"-",
        b"\n",
        b"--b\nContent-Type: message/rfc822\n\n",
    ):
        families[f"parts {unit!r}"] = parts(unit)
    families["the same boundary again"] = lambda n: (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" * (n // 50)
    )
    return families


def mailbox_families():
    """Return builders of hostile mailboxes by name."""

    def of(unit, before=b"From x\n"):
        return lambda n: before + unit * (n // len(unit))

    units = [b"\nFrom x\n", b"From x\n", b"\n", b">", b">From \n", b"a", b" ", b"\n\n", b"\0", b"\nFrom "]
    return {f"mbox {unit!r}": of(unit) for unit in units} | {"blank mbox": of(b"\n", b"")}


def read_all(content):
    """Read a message in every way that the package has."""
    mail.words_of(content, Words())
    mail.sent_at(content)
    filter_message.message_id(content)
    read = filter_message.read_mail(content)
    return read, features(read)


def check_message(content):
    """Assert that a message is read, and that what is read is bounded and can be stored."""
    read, named = read_all(content)
    assert len(read.text) <= mime.LONGEST_TEXT
    for text in (read.sender, read.name, read.subject):
        assert len(text) <= filter_message.LONGEST_HEADER
        assert "\n" not in text
    for text in (read.sender, read.name, read.subject, read.text, *named):
        text.encode()  # no lone surrogates
        assert "\0" not in text
    assert len(named) <= MOST_WORDS + 2 * filter_message.LONGEST_HEADER
    assert all(len(name) <= max(LONGEST, filter_message.LONGEST_HEADER) + 12 for name in named)
    assert msgspec.json.decode(msgspec.json.encode(named)) == named
    if mail.is_message(content):
        assert len(mime.parse_message(content).parts) <= mime.MOST_PARTS


def check_mailbox(content, path):
    """Assert that every message of a mailbox is read, that a text without headers is reported, or the file refused."""
    path.write_bytes(content)
    try:
        letters = list(mail.letters(str(path)))
        mails = list(new_mail(path))
    except BadInput as error:
        if not any(reason in str(error) for reason in ("not an mbox", "UTF-16", "archive")):
            raise
        return
    assert len(mails) == len(letters)
    for letter, each in zip(letters, mails, strict=True):
        assert isinstance(each, BadLine) != mail.is_message(letter.content)
        assert not isinstance(each, BadLine) or each.reason.endswith("does not begin with header lines")
    assert sum(len(letter.content) for letter in letters) <= len(content)
    assert [letter.line for letter in letters] == sorted({letter.line for letter in letters})


def mutant(number):
    """Return the message or, for every tenth number, the mailbox with a number."""
    rng = random.Random(f"mail {number}")
    content = bytearray(rng.choice(SEEDS))
    if number % 10 == 0:
        content = bytearray(mbox([rng.choice(SEEDS) for _ in range(rng.randrange(1, 4))]))
    for _ in range(rng.choice((1, 1, 2, 3, 5, 9))):
        _spoil(content, rng)
    return bytes(content[:LONGEST_MUTANT])


def _spoil(content, rng):
    at = rng.randrange(len(content) + 1)
    end = min(len(content), at + rng.choice((1, 2, 5, 20, 100)))
    match rng.randrange(9):
        case 0:
            content[at:at] = rng.choice(TOKENS) * rng.choice(REPEATS)
        case 1:
            content[at:end] = rng.choice(TOKENS)
        case 2:
            del content[at:end]
        case 3:
            content[at:at] = content[at:end] * rng.choice(REPEATS)
        case 4:
            content[at:end] = rng.randbytes(end - at)
        case 5:
            other = rng.choice(SEEDS)
            content[at:at] = other[rng.randrange(len(other)) :]
        case 6:  # nest it in a part or in a message
            wrap = rng.choice(
                (b"Content-Type: message/rfc822\n\n", b"Content-Type: multipart/mixed; boundary=b2\n\n--b2\n")
            )
            content[:0] = wrap * rng.choice(REPEATS)
        case 7:
            line = content.find(b"\n", at) + 1
            content[line:line] = b"".join(rng.choice(TOKENS) for _ in range(rng.randrange(1, 8)))
        case 8:
            content[:] = content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n ")))


FAMILY_BYTES = 1_000_000  # quadratic work would take hours
_folders = []
_families = {}


def prepare():
    """Make the folder of the mailboxes and the families, and read every seed."""
    _folders.append(tempfile.TemporaryDirectory(prefix="fuzz-mail-"))
    _families.update(message_families() | mailbox_families())
    for seed in SEEDS:
        check_message(seed)


def check(number):
    """Check a large member of a family, one for each of the first numbers, then one mutant."""
    path = Path(_folders[-1].name) / "mutant.mbox"
    if number < len(_families):
        name = list(_families)[number]
        content = _families[name](FAMILY_BYTES)
        check_mailbox(content, path) if "mbox" in name else check_message(content)
    elif number % 10 == 0:
        check_mailbox(mutant(number), path)
    else:
        check_message(mutant(number))


def python_work(function):
    """Return how many instructions of Python's virtual machine a call executes in our modules, always the same."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if event == "call":
            if "rosenblatt" not in frame.f_code.co_filename and "email" not in frame.f_code.co_filename:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
