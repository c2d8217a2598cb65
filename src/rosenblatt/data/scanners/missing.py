"""How tables write a value that is not there; among the scanners, whose machine code it is part of."""

SCANNED_MISSING = frozenset(  # known to the scanner of numbers; of a target, no label
    [
        *("", "?", "NA", "Na", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN"),
        *("null", "Null", "NULL", "None", "none", "NONE"),
    ]
)
MISSING = SCANNED_MISSING | {
    *("-", "--", "–", "—", ".", "n.a.", "N.A.", "#NV"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
}
