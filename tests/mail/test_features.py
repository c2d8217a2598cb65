"""What of a message is looked at: words and kinds, and nothing that only tells this message from all others."""

import math

import pytest
from tests.mail.messages import message

from rosenblatt.mail.features import MOST_WORDS, NORM, features, reasons
from rosenblatt.mail.message import read_mail


def named(*arguments, **options):
    return set(features(read_mail(message(*arguments, **options))))


def test_subject_and_text_are_lower_cased_words_and_the_sender_is_known_by_address_and_domain():
    found = named("Budget DECISION", "Please sign the contract.", sender="Ann <ANN@Example.org>")
    assert {
        "budget",
        "subject:budget",
        "decision",
        "contract",
        "from:ann@example.org",
        "domain:example.org",
    } <= found
    assert "the" not in found


def test_links_addresses_numbers_and_quoted_headers_are_no_words():
    text = (
        "see https://evil.example/track?id=9f3 or write to carol@corp.example\n"
        "order 48213 x9y\n> From: dora@corp.example\n> Subject: zebra\nTo: everyone zulu\n"
        "-- forwarded by quentin on monday\n"
    )
    found = named("hello", text)
    assert "kind:link" in found
    for junk in (
        "evil",
        "track",
        "9f3",
        "carol",
        "corp",
        "48213",
        "x9y",
        "dora",
        "zebra",
        "zulu",
        "quentin",
        "https",
    ):
        assert junk not in found, junk


def test_html_says_its_text_only():
    html = "<style>p{color:red}</style><script>alert('boom')</script><p onclick='run()'>quarterly <b>figures</b></p>"
    found = named("report", "plain", html=html)
    assert {"quarterly", "figures"} <= found
    assert not {"alert", "boom", "onclick", "color", "style"} & found


def test_kinds():
    many = ", ".join(f"p{n}@example.org" for n in range(9))
    found = named(
        "Re: sale", "50 % off! now!", headers=[("Cc", many), ("List-Unsubscribe", "<mailto:x@y.z>")]
    )
    assert {"kind:reply", "kind:prices", "kind:exclaims", "kind:many", "kind:list", "kind:short"} <= found


def test_a_long_message_is_cut():
    words = [f"{a}{b}{c}" for a in "bcdfg" for b in "aeiou" for c in "bcdfghklmnpqrstvwxz"]
    assert len(named("x", " ".join(words))) <= MOST_WORDS + 12


def test_any_bytes_are_a_message():
    for content in (
        b"",
        b"\xff\xfe\x00",
        b"Subject: =?utf-8?b?!!!?=\n\n\xff",
        b"From: \n\n",
        b"no headers here",
    ):
        features(read_mail(content))


def test_the_sender_of_one_message_is_no_reason():
    pushes = [("from:ann@example.org", 0.9), ("domain:example.org", 0.5), ("budget", 0.3)]
    assert [each.word for each in reasons(pushes, 1.0, lone_sender=True)] == ["budget"]
    assert reasons(pushes, 1.0)[0].word == "from ann@example.org"


def test_reasons_that_support_the_mark_come_first_and_common_ones_last():
    pushes = [
        ("sale", -0.9),
        ("budget", 0.5),
        ("kind:link", 0.6),
        ("deadline", 0.2),
        ("offer", -0.3),
        ("prize", -0.1),
    ]
    found = reasons(pushes, 1.0, shares={"links": 0.75})
    assert [each.word for each in found] == ["budget", "deadline", "links", "sale", "offer"]
    assert reasons(pushes, -1.0)[0].word == "sale"


def test_the_features_of_every_message_have_one_norm():
    for text in ("one", "budget deadline contract review " * 50):
        found = features(read_mail(message("subject", text)))
        assert math.hypot(*found.values()) == pytest.approx(NORM)
