"""Spellings of a missing value in tables; a scanner is compiled with them, so they live in its package."""

SCANNED_MISSING = frozenset(  # known to the scanner of numbers; in a target column, rows without a label
    [
        *("", "?", "NA", "Na", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN"),
        *("null", "Null", "NULL", "None", "none", "NONE"),
    ]
)
MISSING = SCANNED_MISSING | {
    *("-", "--", "–", "—", ".", "n.a.", "N.A.", "#NV"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
}
