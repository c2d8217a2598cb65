"""A bounded run of the fuzzer; ``make fuzz`` is the long one."""

import pytest
from tests.fuzz import plain
from tests.fuzz.checks import CHECKS, guarded
from tests.fuzz.mutants import SEEDS, mutant

from rosenblatt.data import BadInput, read_all

INPUTS = 1500


@pytest.mark.parametrize("format", CHECKS)
def test_whatever_is_accepted_is_what_a_plain_reader_accepts(format):
    with guarded():
        for text in SEEDS[format]:
            CHECKS[format](text)
        for number in range(INPUTS):
            text = mutant(format, number)
            try:
                CHECKS[format](text)
            except Exception as error:
                raise AssertionError(f"mutant {number} of {format}: {text!r}") from error


def good_rows(format, text):
    """Return (line, label) of every row that a file of this text holds, by the plain reader."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    if format == "libsvm":
        rows, bad = plain.lines_of(text, plain.libsvm_line)
        return [(line + 1, row[0]) for line, row in rows], [line + 1 for line in bad]

    def read(line):
        line.decode()
        if b"\0" in line:
            raise ValueError("no text")
        return plain.vw_line(line)

    rows, bad = plain.lines_of(text, read)
    first = next((row[0] for _, row in rows if row[0] is not None), None)
    if first is None:
        return [(line + 1, None) for line, _ in rows], [line + 1 for line in bad]
    if isinstance(first, bytes):
        lines = text.split(b"\n")
        good = [(line + 1, lines[line].split()[0].decode()) for line, row in rows if row[0] is not None]
        return good, [line + 1 for line in bad]
    good = [(line + 1, row[0]) for line, row in rows if isinstance(row[0], float)]
    return good, sorted(line + 1 for line in [*bad, *(n for n, row in rows if isinstance(row[0], bytes))])


@pytest.mark.parametrize("format", ["libsvm", "vw"])
def test_a_file_in_small_blocks_holds_what_a_plain_reader_finds(format, tmp_path, monkeypatch):
    path = tmp_path / "mutant"
    for number in range(200):
        text = mutant(format, number)
        rows, bad = good_rows(format, text)
        path.write_bytes(text)
        monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 20 + number)
        options = {"zero_based": False} if format == "libsvm" else {}
        try:
            found = read_all(path, format=format, skip_bad=True, skip_share=1.0, **options)
        except BadInput:
            found = None
        assert (found is None) == (not rows), (number, text)
        if found is None:
            continue
        assert found.lines.tolist() == [line for line, _ in rows], (number, text)
        assert [line.line for line in found.skipped] == bad, (number, text)
        if found.y is not None:
            assert found.y.tolist() == [label for _, label in rows], (number, text)
