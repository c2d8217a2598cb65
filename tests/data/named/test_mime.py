"""One message: as Python's own reader has it where mail is ordinary, and read in any case where it is hostile."""

import codecs
import email
import email.policy
import html
import os
import random
import re
import unicodedata
from email.header import decode_header, make_header
from email.utils import getaddresses

import pytest

from rosenblatt.data import BadInput, read_all
from rosenblatt.data.named import mail, mime
from rosenblatt.data.words import Words, _normalized
from rosenblatt.mail.message import read_mail

TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.IGNORECASE | re.DOTALL)
HTML = [
    "<p>", "</p>", "<br/>", "<div class='a b'>", "<style>p{color:red} a>b{}</style>", "<STYLE>q</STYLE >",
    "<script>if(a<b){x('</p>')}</script>", "<!-- hidden > words -->", "<!-->", "<img alt='a > b'>",
    "<!DOCTYPE html>", "<", ">", "&nbsp;", "&amp;", "&lt;b&gt;", "&#8364;", "&#x20ac;", "&eacute;",
    "&copy", "&", " 3 < 5 ", "gold", "\n", "</script>", "<script", "<!--", "-->", "&#00000000065;", "&#0;",
]  # fmt: skip
SUBJECTS = [
    "Hello world",
    "=?utf-8?q?caf=C3=A9?= au lait",
    "Re: =?utf-8?b?w6lww6k=?= and =?utf-8?b?w6lww6k=?=",
    "=?iso-8859-1?q?p=F6stal?= =?utf-8?q?_m=C3=BCnchen?=",
    "=?utf-8?q?long?=\n =?utf-8?q?_folded?=",
    "=?utf-8?q?split=C3?= \n =?utf-8?q?=A9?= end",
    "=?gb2312?b?1tDOxA==?=",
    "=?iso-2022-jp?b?GyRCRnxLXBsoQg==?=",
    "Fwd: [list] =?windows-1252?Q?smart_=93quotes=94?=",
    "=?unknown?q?abc?=",
    "=?utf-8?b?!!!?=",
    "=?utf-8?q?bad=FF?=",
    "a =?us-ascii?q?b?= c",
    "folded\n\tsubject here",
    "(=?utf-8?q?=C3=A9?=)",
]
LEAVES = [
    b"Content-Type: text/plain; charset=utf-8\n\nplain caf\xc3\xa9\n",
    b'Content-Type: text/html; charset="iso-8859-1"\nContent-Transfer-Encoding: quoted-printable\n\n<p>gr=F6=DFe</p>\n',
    b"Content-Type: text/plain; charset=koi8-r\nContent-Transfer-Encoding: BASE64\n\n8NLJ18XU\n",
    b"Content-Type: text/plain\nContent-Disposition: attachment; filename*0=a; filename*1=b.txt\n\nattached\n",
    b"Content-Type: image/png; name=p.png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n",
    b"\nno headers in this part\n",
    b"Content-Type: message/rfc822\n\nFrom: c@d.e\nSubject: inner\n\ninner text\n",
    b"Content-Type: text/plain; charset=nobody-knows\n\nunknown charset\n",
    b"Content-Type: nonsense\n\ntype without a slash\n",
]


def by_email(content):
    """Return the texts of a message as Python's reader has them."""
    texts = []
    for part in email.message_from_bytes(content, policy=email.policy.compat32).walk():
        if part.get_content_maintype() != "text" or part.get_filename():
            continue
        payload = part.get_payload(decode=True)
        try:
            text = payload.decode(part.get_content_charset() or "utf-8", "replace")
        except LookupError:
            text = payload.decode("utf-8", "replace")
        texts.append(html.unescape(TAG.sub(" ", text)) if part.get_content_subtype() == "html" else text)
    return "\n".join(texts)


def a_message(rng, depth=3):
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(LEAVES)
    boundary = b"=_%s_%d" % (rng.choice((b"a:b", b"x y", b"part")), rng.randrange(10**9))
    parts = b"".join(
        b"--" + boundary + rng.choice((b"", b" ")) + b"\n" + a_message(rng, depth - 1) + b"\n"
        for _ in range(rng.randrange(1, 4))
    )
    kind = rng.choice((b"mixed", b"alternative", b"digest"))
    end = b"--" + boundary + b"--\nepilogue\n" if rng.random() < 0.9 else b""
    return (
        b"Content-Type: multipart/" + kind + b';\n\tboundary="' + boundary + b'"\n\npreamble\n' + parts + end
    )


def test_ordinary_messages_have_the_texts_that_python_finds():
    for seed in range(300):
        rng = random.Random(seed)
        content = b"Subject: s\nMIME-Version: 1.0\n" + a_message(rng)
        if seed % 3 == 0:
            content = content.replace(b"\n", b"\r\n")
        assert mime.text_of(mime.parse_message(content)).split() == by_email(content).split(), content


def test_parts_are_found_across_the_windows_of_the_search(monkeypatch):
    contents = [b"Subject: s\n" + a_message(random.Random(seed)) for seed in range(100)]
    parts = [mime.parse_message(content).parts for content in contents]
    monkeypatch.setattr(mime, "WINDOW", 5)
    assert [mime.parse_message(content).parts for content in contents] == parts


def test_html_has_the_text_that_a_quadratic_pattern_finds():
    for seed in range(3000):
        rng = random.Random(seed)
        text = "".join(rng.choice(HTML) for _ in range(rng.randrange(1, 25)))
        assert mime.html_text(text) == html.unescape(TAG.sub(" ", text)), text


@pytest.mark.parametrize("subject", SUBJECTS)
def test_headers_are_decoded_as_python_decodes_them(subject):
    try:
        expected = str(make_header(decode_header(subject)))
    except (email.errors.HeaderParseError, ValueError, LookupError):
        expected = subject
    assert mime.header_text(subject).split() == expected.split()


def test_ordinary_addresses_are_what_python_finds():
    values = ['"Last, First" <a@b.c>, root', "Team: x@y.z, q@r.s;", "d@e.f (Dora)", ""]
    assert mime.addresses(values) == getaddresses(values)


def test_every_text_encoding_is_a_codec_that_decodes_text():
    for name in mime.TEXT_CODECS:
        assert mime.text_codec(name) in mime.TEXT_CODECS
        assert isinstance(bytes(range(256)).decode(name, "replace"), str)


@pytest.mark.parametrize(
    "charset",
    ["idna", "undefined", "punycode", "unicode_escape", "raw_unicode_escape", "zlib", "base64", "hex", "bz2", "rot13",
     "uu", "quopri", "charmap", "mbcs", "a\0b", "", "..", "os", "../../x", "é", "a" * 100_000],
)  # fmt: skip
def test_a_charset_that_is_no_text_encoding_is_read_as_utf_8(charset):
    looked_up = []
    codecs.register(looked_up.append)
    assert mime.text_codec(charset) is None
    assert mime.decode_text("naïve".encode(), charset) == "naïve"
    header = charset.encode("utf-8")
    for content in (
        b"Subject: x\nContent-Type: text/plain; charset=" + header + b"\n\nna\xc3\xafve",
        b"Subject: x\nContent-Type: text/plain; charset*=" + header + b"''x\n\nna\xc3\xafve",
        b"Subject: =?" + header + b"?q?y?= z\n\nna\xc3\xafve",
    ):
        assert "naïve" in mail.words_of(content, Words())
        assert read_mail(content).text == "naïve"
    codecs.unregister(looked_up.append)
    assert looked_up == []  # no name of a message reached Python's codecs


def test_no_lone_surrogate_comes_out_of_any_codec():
    noise = random.Random(1).randbytes(20_000) + b"+2AA- +3AA-" + b"\x00\xd8" * 100
    for name in sorted(mime.TEXT_CODECS):
        mime.decode_text(noise, name).encode()
        codecs.lookup(name)


@pytest.mark.parametrize(
    "value",
    ["(" * 3_000 + ")" * 3_000, "(" * 100_000, "a:" * 3_000, "a:;" * 3_000, '"' * 3_001, "\\" * 5_001, "<" * 3_000,
     "@" * 3_000, "a@b," * 50_000, "\0" * 3_000, "[" * 3_000],
)  # fmt: skip
def test_an_address_field_never_ends_a_message(value):
    content = f"From: {value}\nTo: {value}\nSubject: budget\n\ndecide\n".encode()
    assert "decide" in mail.words_of(content, Words())
    assert read_mail(content).subject == "budget"


@pytest.mark.parametrize("levels", [10, 10_000])
@pytest.mark.parametrize("kind", ["multipart", "same boundary", "message"])
def test_parts_inside_each_other(kind, levels):
    header = {
        "multipart": lambda n: b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n),
        "same boundary": lambda n: b"Content-Type: multipart/mixed; boundary=b\n\n--b\n",
        "message": lambda n: b"Content-Type: message/rfc822\n\n",
    }[kind]
    content = b"Subject: deep\n" + b"".join(map(header, range(levels))) + b"Subject: inner\n\nthe text\n"
    assert read_mail(content).subject == "deep"
    message = mime.parse_message(content)
    assert len(message.parts) <= mime.MOST_PARTS
    assert ("the text" in mime.text_of(message)) == (levels <= mime.DEEPEST)


def test_what_is_beyond_a_limit_is_left_out():
    many = b"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nword\n" * 5_000
    assert len(mime.parse_message(many).parts) == mime.MOST_PARTS
    headers = b"Subject: s\n" + b"".join(b"X-%d: a\n" % n for n in range(5_000)) + b"\nthe text"
    message = mime.parse_message(headers)
    assert len(message.headers) <= mime.MOST_HEADERS + 1
    assert mime.text_of(message) == "the text"
    long = mime.parse_message(b"Subject: " + b"a" * 200_000 + b"\n " + b"b" * 200_000 + b"\n\nthe text")
    assert len(long.headers.first("subject")) <= mime.LONGEST_HEADER
    assert mime.text_of(long) == "the text"
    huge = b"Subject: s\n\n" + b"word " * (1 << 20)
    assert len(mime.text_of(mime.parse_message(huge))) == mime.LONGEST_TEXT


def test_a_number_with_many_digits_is_no_character():
    assert mime.html_text("&#" + "9" * 10_000 + ";x") == "\ufffdx"
    assert mime.html_text("&#x" + "f" * 10_000 + ";x") == "\ufffdx"
    assert mime.html_text("&#" + "0" * 10_000 + "65;") == "A"


def test_words_are_normalised_in_pieces_and_so_in_linear_time():
    for text in ("é" * 2_000, "cafe\u0301 " * 500, "ÅngstrÖm e\u0323\u0302 한글 가"):
        assert _normalized(text) == unicodedata.normalize("NFC", text)
    marks = "a" + "\u0300\u0316" * 500_000
    assert len(Words().cut(marks)) == 1
    assert Words().cut("cafe\u0301") == ["café"]


def test_a_mailbox_is_split_alike_however_it_is_cut_into_blocks(tmp_path, monkeypatch):
    path = tmp_path / "box.mbox"
    pieces = [
        b"From x",
        b"From ",
        b"\n",
        b"\n\n",
        b">From ",
        b">>From y",
        b"a",
        b" ",
        b"\r\n",
        b"a line",
        b">",
    ]
    for seed in range(300):
        rng = random.Random(seed)
        path.write_bytes(b"From a\n" + b"".join(rng.choice(pieces) for _ in range(rng.randrange(25))))
        monkeypatch.setattr(mail, "PIECE", 1 << 20)
        whole = list(mail.letters(str(path)))
        monkeypatch.setattr(mail, "PIECE", 120)
        assert list(mail.letters(str(path))) == whole


def test_a_message_that_is_too_large_is_passed_over_and_the_next_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(mail, "LARGEST_MESSAGE", 1_000)
    path = tmp_path / "box.mbox"
    path.write_bytes(
        b"From a\nSubject: one\n\n" + b"large\n" * 1_000 + b"\nFrom b\nSubject: two\n\nsmall words\n"
    )
    with pytest.raises(BadInput, match=r"box.mbox:1: larger than"):
        read_all(path)
    rows = read_all(path, skip_bad=True)
    assert set(rows.feature_names) == {"subject:two", "small", "words"}
    assert [line.line for line in rows.skipped] == [1]


def test_a_maildir_with_links_and_pipes_is_read_without_them(tmp_path):
    for part in ("cur", "new", "tmp"):
        (tmp_path / "box" / part).mkdir(parents=True)
    (tmp_path / "secret").write_text("password")
    (tmp_path / "box" / "cur" / "1").write_bytes(b"Subject: a\n\nwords\n")
    (tmp_path / "box" / "cur" / "2").symlink_to(tmp_path / "secret")
    (tmp_path / "box" / "cur" / "3").symlink_to("/dev/zero")
    (tmp_path / "box" / "cur" / "4").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "box" / "cur" / "5")
    letters = list(mail.letters(str(tmp_path / "box")))
    assert [bool(letter.problem) for letter in letters] == [False, True, True, True, True]
    assert not any(b"password" in letter.content for letter in letters)
    assert letters[4].problem.startswith("not a regular file")
    assert set(read_all(tmp_path / "box", skip_bad=True).feature_names) == {"subject:a", "words"}
