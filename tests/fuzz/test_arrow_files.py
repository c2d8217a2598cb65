"""A bounded run over hostile Arrow and Parquet files; ``make fuzz`` is the long one."""

from tests.fuzz import arrow_files

MUTANTS = 1200
FOUND = [21_001_804]  # by longer runs: a decimal whose scale is out of range


def test_hostile_arrow_and_parquet_files_are_read_or_refused_and_never_end_the_process():
    findings = []
    for number in [*range(MUTANTS), *FOUND]:
        try:
            arrow_files.check(number)
        except AssertionError as error:
            findings.append(str(error))
    assert not findings, "\n".join(findings[:5])
