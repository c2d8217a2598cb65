"""Parse any mail message in linear time: headers, parts and their text.

Python's :mod:`email` reads ordinary mail well, but a hostile message makes it recurse without limit, take quadratic
time, or raise any exception of a codec. This parser gives the same headers and texts for ordinary mail and is total:
any sequence of bytes has headers and parts, each byte is read a bounded number of times, and nothing is raised.

What exceeds these limits is ignored:

===========================  ===================================================================================
:data:`MOST_HEADERS`         header fields of a part; of all parts together, :data:`MOST_HEADER_LINES` lines
:data:`LONGEST_HEADER`       bytes of a header field, its folded lines included
:data:`LONGEST_ADDRESSES`    characters of all ``From`` fields, or of all recipients, that are searched for addresses
:data:`MOST_PARTS`           parts of a message
:data:`DEEPEST`              multiparts and attached messages inside each other
:data:`MOST_DELIMITERS`      lines that begin with ``--`` and may end a part
:data:`LARGEST_TEXT_PART`    bytes of a part with text, as they were sent
:data:`LONGEST_TEXT`         characters of text, of all parts together
===========================  ===================================================================================
"""

import binascii
import html
import re
from collections.abc import Sequence
from email.utils import getaddresses, parsedate_to_datetime
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

MOST_HEADERS = 1_000
MOST_HEADER_LINES = 20_000
LONGEST_HEADER = 1 << 16
LONGEST_ADDRESSES = 1 << 14
LONGEST_PARAMETERS = 1 << 14
LONGEST_DATE = 200
MOST_PARTS = 1_000
DEEPEST = 50
MOST_DELIMITERS = 100_000
LARGEST_TEXT_PART = 1 << 22
LONGEST_TEXT = 1 << 20
WINDOW = 1 << 22  # bytes searched per call, which blocks other threads
MOST_NESTED = 30  # comments and groups in addresses; the standard library's parser recurses into each

# Python's codecs for text, except those that are not encodings of text (zlib, rot13), are not used in mail (idna,
# punycode, unicode_escape) or always fail (undefined).
_CODECS = (
    "ascii big5 big5hkscs cp037 cp273 cp424 cp437 cp500 cp720 cp737 cp775 cp850 cp852 cp855 cp856 "
    "cp857 cp858 cp860 cp861 cp862 cp863 cp864 cp865 cp866 cp869 cp874 cp875 cp932 cp949 cp950 cp1006 "
    "cp1026 cp1125 cp1140 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 euc_jis_2004 "
    "euc_jisx0213 euc_jp euc_kr gb18030 gb2312 gbk hp_roman8 hz iso2022_jp iso2022_jp_1 iso2022_jp_2 "
    "iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext iso2022_kr iso8859_1 iso8859_2 iso8859_3 iso8859_4 "
    "iso8859_5 iso8859_6 iso8859_7 iso8859_8 iso8859_9 iso8859_10 iso8859_11 iso8859_13 iso8859_14 "
    "iso8859_15 iso8859_16 johab koi8_r koi8_t koi8_u kz1048 latin_1 mac_croatian mac_cyrillic "
    "mac_greek mac_iceland mac_latin2 mac_roman mac_romanian mac_turkish ptcp154 shift_jis "
    "shift_jis_2004 shift_jisx0213 tis_620 utf_16 utf_16_be utf_16_le utf_32 utf_32_be utf_32_le "
    "utf_7 utf_8 utf_8_sig "
)
TEXT_CODECS = frozenset(_CODECS.split())
SURROGATES = re.compile("[\ud800-\udfff]")
FIRST_HEADER = re.compile(
    rb"[A-Za-z][A-Za-z0-9-]*+:[ \t]|(?:Return-Path|Received|Delivered-To|X-[A-Za-z0-9-]++):"
)
ENVELOPE = re.compile(rb">?From [^\r\n]*+\r?\n")
HEADER_LINE = re.compile(rb"From |[\x21-\x39\x3b-\x7e]*+:|[\t ]")
PARAMETER = re.compile(r';\s*+([^=;\s"]*+)\s*+(?:=\s*+("(?:[^"\\]|\\.)*+"?|[^;]*+))?[^;]*+', re.DOTALL)
ENCODED_WORD = re.compile(r"=\?([^?]*)\?([qQbB])\?")
QUOTED_BYTE = re.compile(rb"=([0-9a-fA-F]{2})")
LONG_NUMBER = re.compile(r"&#(?:([0-9]{8,})|[xX]([0-9a-fA-F]{7,}));?")
RAW_TEXT = re.compile(r"<(script|style)\b", re.IGNORECASE)
RAW_TEXT_END = re.compile(r"</(script|style)\s*>", re.IGNORECASE)
UU_BEGIN = re.compile(rb"^begin [0-7]+ .*$", re.MULTILINE)
UU_NAMES = ("x-uuencode", "uuencode", "uue", "x-uue")


class Headers(dict[str, list[str]]):
    """Header fields: lower-case name to values, in order."""

    def first(self, name: str) -> str:
        """Return the first value of a field, "" without one."""
        return self[name][0] if name in self else ""


class Part(NamedTuple):
    """A part of a message."""

    headers: Headers
    content_type: str  # like text/plain
    parameters: dict[str, str]  # of the content type
    start: int  # of its body in the message
    end: int

    @property
    def is_attachment(self) -> bool:
        """Whether the part has a file name."""
        disposition = self.headers.first("content-disposition")
        name = parse_parameters(disposition).get("filename") if disposition else None
        return bool((name if name is not None else self.parameters.get("name", "")).strip())


class Message(NamedTuple):
    """A message: its bytes, its headers, and its parts in order; the first part is the message itself."""

    content: bytes
    headers: Headers
    parts: list[Part]


def is_message(content: bytes) -> bool:
    """Whether a text begins like a message: with headers, and perhaps an envelope line ``From ...`` before them.

    >>> is_message(b"Subject: hi\\n\\nhello"), is_message(b"once upon a time")
    (True, False)
    """
    return FIRST_HEADER.match(without_envelope(content)) is not None


def without_envelope(content: bytes) -> bytes:
    """Return a message without the line ``From ...`` that an mbox or a mail server put before its headers.

    >>> without_envelope(b"From ann@example.org Wed May  1 00:00:00 2024\\nSubject: hi\\n\\nhello")
    b'Subject: hi\\n\\nhello'
    >>> without_envelope(b"From now on\\neverything changes")
    b'From now on\\neverything changes'
    """
    line = ENVELOPE.match(content)
    return content[line.end() :] if line is not None and FIRST_HEADER.match(content, line.end()) else content


# Structure


def parse_headers(content: bytes) -> Headers:
    """Return the header fields at the beginning of a message."""
    content = _with_newlines(content)
    return _read_headers(content, 0, MOST_HEADER_LINES, {})[0]


def parse_message(content: bytes) -> Message:
    """Return the headers and parts of a message.

    A delimiter line belongs to the outermost open multipart with its boundary and closes all inside it, as in
    :mod:`email`. Each such line costs one lookup, however many multiparts are open.

    >>> message = parse_message(b"Subject: hi\\nContent-Type: text/html\\n\\n<b>hello</b>")
    >>> message.headers.first("subject"), text_of(message)
    ('hi', ' hello ')
    """
    content = _with_newlines(content)
    parts: list[Part] = []
    boundaries: list[bytes] = []  # of the open multiparts, outermost first
    levels: dict[bytes, int] = {}  # boundary -> its position in ``boundaries``
    delimiters = _Delimiters(content)
    lines_left = MOST_HEADER_LINES
    depth, start, default_type = 0, 0, "text/plain"
    digests: list[bool] = []  # whether each open multipart holds messages unless its parts say otherwise
    while len(parts) < MOST_PARTS and lines_left > 0:
        # An entity begins at ``start``: its headers, then another one inside it, or a body up to the next delimiter.
        headers, body, lines = _read_headers(content, start, lines_left, levels)
        lines_left -= lines
        content_type, parameters = _content_type(headers, default_type)
        if (
            content_type.startswith("message/")
            and content_type != "message/delivery-status"
            and depth < DEEPEST
        ):
            parts.append(Part(headers, content_type, parameters, body, body))
            depth, start, default_type = depth + 1, body, "text/plain"
            continue
        boundary = parameters.get("boundary", "").rstrip().encode("utf-8", "replace")
        is_new = bool(boundary) and boundary not in levels and len(boundaries) < DEEPEST
        if content_type.startswith("multipart/") and is_new:
            levels[boundary] = len(boundaries)
            boundaries.append(boundary)
            digests.append(content_type == "multipart/digest")
        delimiter = delimiters.next(body, levels)
        parts.append(Part(headers, content_type, parameters, body, max(body, delimiter.start)))
        while (
            delimiter.boundary is not None
        ):  # close what the delimiter ends, and skip what follows a last part
            keep = levels[delimiter.boundary] + (not delimiter.closes)
            for closed in boundaries[keep:]:
                del levels[closed]
            del boundaries[keep:], digests[keep:]
            if not delimiter.closes:
                break
            delimiter = delimiters.next(delimiter.end, levels)
        if delimiter.boundary is None:
            break
        depth, start = 0, delimiter.end
        default_type = "message/rfc822" if digests[-1] else "text/plain"
    return Message(content, parts[0].headers, parts)


def _with_newlines(content: bytes) -> bytes:
    """Replace carriage returns by newlines in a message without newlines."""
    return content if b"\n" in content else content.replace(b"\r", b"\n")


class _Delimiter(NamedTuple):
    start: int  # of the line end before it
    end: int  # after its own line end
    boundary: bytes | None  # None at the end of the message
    closes: bool


class _Delimiters:
    """A scanner of the delimiter lines of a message, from left to right."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._remaining = MOST_DELIMITERS

    def next(self, at: int, levels: dict[bytes, int]) -> _Delimiter:
        """Return the first delimiter of an open multipart from ``at`` on, the start of a line."""
        content, end = self._content, len(self._content)
        while levels and self._remaining and at < end:
            line = at if content.startswith(b"--", at) else self._find(at)
            if line < 0:
                break
            self._remaining -= 1
            at = content.find(b"\n", line) + 1 or end
            boundary, closes = _boundary_of(content, line, at, levels)
            if boundary is not None:
                before = line - (line > 0)
                before -= before > 0 and content[before - 1 : before + 1] == b"\r\n"
                return _Delimiter(before, at, boundary, closes)
        return _Delimiter(end, end, None, True)

    def _find(self, at: int) -> int:
        """Return the start of the next line with two hyphens, or -1; other threads can run between two windows."""
        for start in range(at, len(self._content), WINDOW):
            newline = self._content.find(b"\n--", start, start + WINDOW + 2)
            if newline >= 0:
                return newline + 1
        return -1


def _boundary_of(content: bytes, line: int, end: int, levels: dict[bytes, int]) -> tuple[bytes | None, bool]:
    """Return the open boundary in a line with two hyphens, or None, and whether it closes its multipart."""
    # A boundary is a parameter of a header, whose length is limited.
    text = content[line + 2 : min(end, line + LONGEST_PARAMETERS + 100)].rstrip(b" \t\r\n")
    if text in levels:
        return text, False
    if text.endswith(b"--") and text[:-2] in levels:
        return text[:-2], True
    return None, False


def _read_headers(
    content: bytes, at: int, lines_left: int, levels: dict[bytes, int]
) -> tuple[Headers, int, int]:
    """Parse the header fields at a position: (headers, start of the body, number of lines)."""
    headers = Headers()
    name, value, size = "", [b""], 0  # of the current field
    start, end, fields, lines = at, len(content), 0, 0

    def finish() -> None:
        if name:
            text = b"".join(value).rstrip(b"\r\n").decode("ascii", "replace")
            headers.setdefault(name, []).append(text)

    while at < end:
        if lines >= lines_left or fields > MOST_HEADERS:  # skip the rest of them
            blanks = content.find(b"\n\n", at - 1), content.find(b"\n\r\n", at - 1)
            blank = min((place for place in blanks if place >= 0), default=end)
            at = content.find(b"\n", blank + 1) + 1 or end
            break
        newline = content.find(b"\n", at, end)
        stop = end if newline < 0 else newline + 1
        match = HEADER_LINE.match(content, at, stop)
        if match is None:  # an empty line, which is skipped, or the first line of text
            at = at if content[at : min(stop, at + 3)].strip(b"\r\n") else stop
            break
        if (
            levels
            and content.startswith(b"--", at)
            and _boundary_of(content, at, stop, levels)[0] is not None
        ):
            break
        lines += 1
        if content[at : at + 1] in (b" ", b"\t"):
            if name and size < LONGEST_HEADER:
                value.append(content[at : min(stop, at + LONGEST_HEADER - size)])
                size += stop - at
        elif match[0] == b"From ":
            if at != start:
                finish()
                name = ""
        else:
            finish()
            fields += 1
            name = match[0][:LONGEST_HEADER].rstrip(b":").decode("ascii").lower()
            rest = match.end()
            value = [content[rest : min(stop, rest + LONGEST_HEADER)].lstrip(b" \t")]
            size = stop - rest
        at = stop
    finish()
    return headers, at, lines


def _content_type(headers: Headers, default: str) -> tuple[str, dict[str, str]]:
    value = headers.first("content-type")
    if "content-type" not in headers:
        return default, {}
    kind = value.partition(";")[0].strip().lower()
    return (kind if kind.count("/") == 1 else "text/plain"), parse_parameters(value)


def parse_parameters(value: str) -> dict[str, str]:
    """Return the parameters of a structured header, RFC 2231 continuations joined and percent signs decoded.

    >>> parse_parameters('text/plain; charset="utf-8"; name*0="a long "; name*1=name')
    {'charset': 'utf-8', 'name': 'a long name'}
    """
    plain: dict[str, str] = {}
    continued: dict[str, dict[int, str]] = {}
    percent: set[str] = set()
    start = value.find(";")
    for match in PARAMETER.finditer(value[:LONGEST_PARAMETERS], start) if start >= 0 else ():
        name, text = match[1].lower(), _unquote((match[2] or "").strip())
        name, star, number = name.partition("*")
        if not star:
            plain.setdefault(name, text)
            continue
        if number.endswith("*") or not number:
            percent.add(name)
        digits = number.rstrip("*") or "0"
        if digits.isdecimal() and digits.isascii() and len(digits) <= 3:
            continued.setdefault(name, {}).setdefault(int(digits), text)
    for name, pieces in continued.items():
        text = "".join(text for _, text in sorted(pieces.items()))
        if name in percent:
            charset, _, rest = text.partition("'")
            _, quote, rest = rest.partition("'")
            text = decode_text(unquote_to_bytes(rest), charset) if quote else text
        plain.setdefault(name, text)
    return plain


def _unquote(text: str) -> str:
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace("\\\\", "\\").replace('\\"', '"')
    if len(text) > 1 and text.startswith("<") and text.endswith(">"):
        return text[1:-1]
    return text


# Text


def text_of(message: Message) -> str:
    """Return the text of a message, with HTML reduced to text."""
    texts: list[str] = []
    size = 0
    for part in message.parts:
        if not part.content_type.startswith("text/") or part.is_attachment:
            continue
        payload = _payload(message, part)
        text = decode_text(payload, part.parameters.get("charset", "").lower() or "utf-8")
        if part.content_type == "text/html":
            text = html_text(text)
        texts.append(text[:LONGEST_TEXT])
        size += len(texts[-1])
        if size >= LONGEST_TEXT:
            break
    return "\n".join(texts)[:LONGEST_TEXT]


def _payload(message: Message, part: Part) -> bytes:
    """Return the bytes of a part with their transfer encoding decoded, or unchanged if that fails."""
    payload = message.content[part.start : min(part.end, part.start + LARGEST_TEXT_PART)]
    encoding = part.headers.first("content-transfer-encoding").lower()
    if encoding == "quoted-printable":
        return binascii.a2b_qp(payload)
    if encoding == "base64":
        for padding in (b"", b"=="):
            try:
                return binascii.a2b_base64(payload + padding)
            except binascii.Error:
                continue
    if encoding in UU_NAMES:
        return _uudecode(payload)
    return payload


def _uudecode(payload: bytes) -> bytes:
    begin = UU_BEGIN.search(payload)
    if begin is None:
        return payload
    decoded: list[bytes] = []
    for line in payload[begin.end() + 1 :].splitlines():
        if line.strip() == b"end":
            return b"".join(decoded)
        if line:
            try:
                decoded.append(binascii.a2b_uu(line))
            except binascii.Error:
                try:  # some encoders write a longer line than its length says
                    decoded.append(binascii.a2b_uu(line[: (((line[0] - 32) & 63) * 4 + 5) // 3]))
                except binascii.Error:
                    return payload
    return payload


def text_codec(charset: str) -> str | None:
    """Return Python's codec for a charset, or None if it is not a text encoding.

    A name from a message is never passed to :func:`codecs.lookup`, which would import a module of that name and cache
    every name.

    >>> text_codec("ISO-8859-1"), text_codec("idna"), text_codec("rot13")
    ('latin_1', None, None)
    """
    if len(charset) > 64 or not charset.isascii():
        return None
    name = normalize_encoding(charset.lower())
    for codec in (aliases.get(name) or aliases.get(name.replace(".", "_")), name):
        if codec in TEXT_CODECS:
            return codec
    return None


def decode_text(content: bytes, charset: str) -> str:
    """Decode bytes, with UTF-8 for an unknown charset and U+FFFD for what cannot be decoded."""
    text = content.decode(text_codec(charset) or "utf-8", "replace")
    return text if text.isascii() else SURROGATES.sub("\ufffd", text)


def html_text(text: str) -> str:
    """Return the text of HTML: tags, comments, scripts and styles become spaces, character references are decoded.

    One pass from left to right. If the end of a comment, script or style is not found, it is never searched again, as
    there is none later either.

    >>> html_text("<style>p{}</style><p>Buy&nbsp;<b>gold</b> &#x2265; 3</p>").split()
    ['Buy', 'gold', '≥', '3']
    """
    end = text.rfind(">") + 1  # no tag ends later
    pieces: list[str] = []
    missing: set[str] = set()  # ends that the rest of the text does not have
    at = size = 0
    while size < 2 * LONGEST_TEXT and (start := text.find("<", at, end)) >= 0:
        pieces.append(text[at:start])
        size += start - at + 1
        at = _tag_end(text, start, missing)
    if size < 2 * LONGEST_TEXT:
        pieces.append(text[at : at + 2 * LONGEST_TEXT])
    text = " ".join(pieces)
    return html.unescape(LONG_NUMBER.sub(_short_reference, text)) if "&" in text else text


def _tag_end(text: str, start: int, missing: set[str]) -> int:
    """Return the end of the tag at ``start``; a script or style ends with its closing tag."""
    mark = text[start + 1]
    if mark in "sSſ" and (raw := RAW_TEXT.match(text, start)):
        name = raw[1].lower()
        at = raw.end()
        while name not in missing:
            at = text.find("</", at)
            if at < 0:
                missing.add(name)
                break
            close = RAW_TEXT_END.match(text, at)
            if close and close[1].lower() == name:
                return close.end()
            at += 2
    elif mark == "!" and "-->" not in missing and text.startswith("<!--", start):
        at = text.find("-->", start + 4)
        if at >= 0:
            return at + 3
        missing.add("-->")
    return text.index(">", start) + 1


def _short_reference(match: re.Match[str]) -> str:
    """Remove the leading zeros of a character reference; return U+FFFD if its number is too large."""
    digits = (match[1] or match[2]).lstrip("0") or "0"
    base = "" if match[1] else "x"
    return f"&#{base}{digits};" if len(digits) <= 7 else "\ufffd"


# Header values


def encoded_words(value: str) -> list[tuple[bytes, str]] | None:
    """Return the pieces of a header with encoded words (RFC 2047), each with its charset; None without encoded words.

    Text between encoded words has no charset (``""``). Neighbours with the same charset are one piece, as a character
    may be split between two words. Return None also if a word is not valid base64.
    """
    words: list[tuple[bytes, str, bool]] = []  # content, charset, whether it was encoded
    for line in value.splitlines():
        at = 0
        while match := ENCODED_WORD.search(line, at):
            stop = line.find("?=", match.end())
            if stop < 0:  # no later word ends either
                break
            plain = line[at : match.start()] if at else line[: match.start()].lstrip()
            decoded = _decode_word(line[match.end() : stop], match[2].lower())
            if decoded is None:
                return None
            words += [(plain.encode("raw-unicode-escape"), "", False), (decoded, match[1].lower(), True)]
            at = stop + 2
        rest = line[at:] if at else line.lstrip()
        words.append((rest.encode("raw-unicode-escape"), "", False))
    words = [word for word in words if word[0] or word[2]]
    if not any(encoded for _, _, encoded in words):
        return None
    spaces = {
        at + 1
        for at in range(len(words) - 2)
        if words[at][2] and words[at + 2][2] and not words[at + 1][2] and words[at + 1][0].isspace()
    }
    return _merge_charsets([word[:2] for at, word in enumerate(words) if at not in spaces])


def _decode_word(text: str, encoding: str) -> bytes | None:
    content = text.encode("raw-unicode-escape")
    if encoding == "q":
        return QUOTED_BYTE.sub(lambda match: bytes.fromhex(match[1].decode()), content.replace(b"_", b" "))
    try:
        return binascii.a2b_base64(content + b"==="[: -len(content) % 4])
    except binascii.Error:
        return None


def _merge_charsets(words: Sequence[tuple[bytes, str]]) -> list[tuple[bytes, str]]:
    runs: list[tuple[list[bytes], str]] = []
    for content, charset in words:
        if runs and runs[-1][1] == charset:
            runs[-1][0].append(content)
        else:
            runs.append(([content], charset))
    return [((b"" if charset else b" ").join(contents), charset) for contents, charset in runs]


def header_words(value: str) -> str:
    """Return a header with decoded words and spaces between pieces, ready to be split into words."""
    pieces = encoded_words(value)
    if pieces is None:
        return value
    return " ".join(decode_text(content, charset or "utf-8") for content, charset in pieces)


def header_text(value: str) -> str:
    """Return a header with decoded words for display, or unchanged if one cannot be decoded.

    >>> header_text("Re: =?utf-8?q?caf=C3=A9?= =?utf-8?b?IG5vaXI=?= today")
    'Re: café noir today'
    """
    pieces = encoded_words(value)
    if pieces is None:
        return value
    text: list[str] = []
    plain_before = True
    for content, charset in pieces:
        codec = text_codec(charset) if charset else "ascii"
        if codec is None:
            return value
        try:
            piece = content.decode(codec)
        except UnicodeError:
            return value
        plain = codec == "ascii"
        if text and plain != plain_before:
            touching = piece[:1] if plain else text[-1][-1:]
            if not (touching.isspace() or touching in "()\\"):
                text.append(" ")
        text.append(piece)
        plain_before = plain
    return SURROGATES.sub("\ufffd", "".join(text))


def addresses(values: Sequence[str]) -> list[tuple[str, str]]:
    """Return (name, address) of all addresses in header values.

    With more than :data:`MOST_NESTED` comments or groups, all of them are read as plain text.

    >>> addresses(["Ann <ann@example.org>, bob@example.org (Bob)"])
    [('Ann', 'ann@example.org'), ('Bob', 'bob@example.org')]
    """
    limited: list[str] = []
    remaining = LONGEST_ADDRESSES
    for value in values:
        limited.append(value[:remaining])
        remaining -= len(limited[-1])
        if not remaining:
            break
    for marks in ("()", ":;"):
        if sum(value.count(marks[0]) for value in limited) > MOST_NESTED:
            limited = [value.translate(dict.fromkeys(map(ord, marks), " ")) for value in limited]
    return getaddresses(limited)


def sent(headers: Headers) -> float | None:
    """Return the date of a message as a timestamp, None without a valid one."""
    try:
        return float(parsedate_to_datetime(headers.first("date")[:LONGEST_DATE]).timestamp())
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
