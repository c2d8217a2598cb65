"""A bounded run of the mail fuzzer: mutants, hostile families, and how the work grows with the size of a message."""

import pytest
from tests.fuzz.mail_messages import (
    FAMILY_BYTES,
    check_mailbox,
    check_message,
    mailbox_families,
    message_families,
    mutant,
    python_work,
    read_all,
)

MUTANTS = 1500
BYTES = 1_500
FAMILIES = message_families()
# What the reader before this one took quadratic time for, inside one call of a C function: at this size, hours.
ONCE_QUADRATIC = [
    "html b'<'",
    "html b'<script>'",
    "html b'<!--'",
    "html b'</script' closed",
    "subject b'=?a?q? '",
    "content type b';'",
    "text b'a'",
    "text b'>\\n'",
    "marks after a letter",
    "nested",
    "base64",
]


def test_whatever_the_bytes_are_a_message_is_read(tmp_path):
    for number in range(MUTANTS):
        content = mutant(number)
        try:
            if number % 10 == 0:
                check_mailbox(content, tmp_path / "mutant.mbox")
            else:
                check_message(content)
        except Exception as error:
            raise AssertionError(f"mutant {number}: {content!r}") from error


@pytest.mark.parametrize("name", FAMILIES)
def test_work_grows_in_proportion_to_the_size_of_a_message(name):
    small, large = (python_work(lambda n=n: read_all(FAMILIES[name](n))) for n in (BYTES, 2 * BYTES))
    assert large < 2.5 * small + 2_000


@pytest.mark.parametrize("name", mailbox_families())
def test_work_grows_in_proportion_to_the_size_of_a_mailbox(name, tmp_path):
    build = mailbox_families()[name]
    path = tmp_path / "box.mbox"
    small, large = (python_work(lambda n=n: check_mailbox(build(n), path)) for n in (BYTES, 2 * BYTES))
    assert large < 2.5 * small + 2_000


@pytest.mark.parametrize("name", ONCE_QUADRATIC)
def test_a_megabyte_of_what_once_took_quadratic_time_is_read(name):
    check_message(FAMILIES[name](FAMILY_BYTES))
