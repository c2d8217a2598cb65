"""Texts that are nearly right: seeds of every format, and ways to spoil them."""

import random

NUMBERS = [
    *(
        b"0",
        b"1",
        b"-1",
        b"+1",
        b"0.5",
        b"-0.25",
        b"1e3",
        b"1E-7",
        b".5",
        b"5.",
        b"1e400",
        b"-1e-400",
        b"00012",
    ),
    *(
        b"nan",
        b"-inf",
        b"Infinity",
        b"1e",
        b"e5",
        b".",
        b"--1",
        b"+-1",
        b"1_0",
        b"0x10",
        b"1,5",
        b"1e99999999999",
    ),
    *(
        b"123456789012345678",
        b"0.1000000000000000055511151231257827",
        b"9007199254740993",
        b"12345678.12345678",
    ),
    *(
        b"0.12345678901234567",
        b"99999999.9999999999999999",
        b"2.2250738585072011e-308",
        b"1.7976931348623159e308",
    ),
    *(b"3.4e38", b"8.5070591730234615865843651857942052864e37", b"0." + b"0" * 30 + b"1", b"1" + b"0" * 30),
]
SEEDS = {
    "libsvm": [
        b"1 1:1 2:0.5 7:-3\n-1 3:1e-3 4:2\n",
        b"+1 qid:3 1:0.1234 5:0.5 # said\n\n-1 2:1 \n0 100:12345678.5 2147483648:1\n",
        b"# head\n2 10:0.7352941176470588 20:1 30:1 40:1 50:-0.25 60:9 70:1 80:1\n" * 2,
        b"1 1:0.5 3:-2.25 9:1 12:0.1234\n-1 2:7 5:12.5 \n" * 4 + b"1 4:1.5\n" * 12,  # many at a time
        b"0 7:0.123456789 8:1234.567891 9:-3 10:1\n" * 5 + b"1 4:1.5\n" * 12,
    ],
    "vw": [
        b"1 | free:2 offer\n-1 2.5 'mail7|from bob ann:3 |body:0.5 a b:0.1234 c\n",
        b"0 1 0 tag|n x:1 y:-2 z\n\n1 |name_of_a_space longer_name_than_eight:0.7352941176470588 s\n",
        b"-1 | 730:0.1773 1910:0.6724 1934:0.2189 3178:0.0648 3708:0.0785 3775:0.973\n" * 2,
        b"spam 2 'm1|n :0.5 :2 colour:red |: x\nham | :1 a:nancy |s:2 :3 b:x\n",
    ],
    "csv": [
        b"1,2.5,x\n3, 4 ,y\n-5,1e3,z\n",
        b'1,2,"a,b"\n\n3,4,"say ""hi"""\r\n5,,NA\n',
        b"0.1234567890123456,-1.25,7\n12345678.5,0.1234,0\n" * 3,
        b"0.25,-1.5,1\n12.75,3,0\n" * 9,  # many at a time
        b"-0.123456789,1234.567891,1\r\n12.75,3,0\n" * 6,
        b'1,"2\n3",x\n"a\r\n""b""\n",5,"c,\n\n"\n7,8,9\n',  # records over several lines
    ],
    "jsonl": [
        b'{"label": 1, "wind": 3.5, "sky": "grey"}\n{"label": "a", "tags": ["x", "y"], "at": {"x": [1, 2.5e3]}}\n',
        b'{"label": true, "wet": false, "none": null, "deep": {"a": {"b": {"c": -0.0}}}}\n\n{"label": 0}\n',
        b'{"label": "\xc3\xa9\\u00e9\\ud83d\\ude00", "n": 12345678901234567890, "m": [[1, "a"], {"k": 1e-9}]}\n',
    ],
}
PIECES = {
    "libsvm": [
        *(b" ", b":", b"\n", b"#", b"\t", b"qid:7", b"0:1", b" 1:1", b" 00:1", b"\r\n"),
        *(b" 99999999999:1", b" 2147483649:1"),
    ],
    "vw": [
        *(b" ", b":", b"|", b"'", b"\n", b"|n:2 ", b"|:3", b" a:1:2", b"^", b"\t", b"\r\n"),
        *(
            b"\xc3\xa9",
            b"|big:1e308 a:1e308",
            b" :7",
            b" c:red",
            b" :red",
            b" d:-.5",
            b" e:-x",
            b"ham ",
            b"a,b ",
            b"inf ",
        ),
    ],
    "csv": [
        *(b",", b";", b'"', b'""', b"\n", b"\r\n", b"\r", b" ", b"\t", b"NA", b"?", b'"x"'),
        *(b"\xc3\xa9", b"1e999"),
    ],
    "jsonl": [
        *(
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b'"',
            b"\\",
            b"\\u00",
            b"\\u0000",
            b"NaN",
            b"Infinity",
            b"null",
            b"true",
        ),
        *(b'"label"', b"[" * 30, b'"a": 1, "a": 2', b"\n", b" ", b"1" * 400, b"1" * 5000),
    ],
}
ODD = [
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\x0b",
    b"\x0c",
    b"\x1c",
    b"\x85",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
]


def mutant(format, number):
    """Return the mutated text of this number: always the same."""
    rng = random.Random(f"{format} {number}")
    text = bytearray(rng.choice(SEEDS[format]))
    if rng.random() < 0.3:
        text += rng.choice(SEEDS[format])
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 9))):
        _spoil(text, rng, format)
    return bytes(text)


def _spoil(text, rng, format):
    at = rng.randrange(len(text) + 1)
    end = min(len(text), at + rng.choice((1, 1, 2, 4, 9, 30)))
    match rng.randrange(10):
        case 0:
            text[at:at] = rng.choice(NUMBERS)
        case 1:
            text[at:end] = rng.choice(NUMBERS)
        case 2:
            text[at:at] = rng.choice(PIECES[format])
        case 3:
            text[at:end] = rng.choice(PIECES[format])
        case 4:
            del text[at:end]
        case 5:
            text[at:at] = text[at:end] * rng.choice((1, 2, 20))
        case 6:
            text[at:end] = bytes(rng.randrange(256) for _ in range(end - at))
        case 7:
            text[at:at] = rng.choice(ODD)
        case 8:
            text[at:at] = bytes([rng.choice(b"0123456789")]) * rng.choice((1, 3, 8, 20, 400))
        case 9:
            other = rng.choice(SEEDS[format])
            text[at:at] = other[rng.randrange(len(other)) :]
