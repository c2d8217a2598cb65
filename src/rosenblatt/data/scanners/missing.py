"""How tables write a value that is not there; among the scanners, whose machine code it is part of."""

MISSING = frozenset(
    [
        *("", "?", "NA", "Na", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN"),
        *("null", "Null", "NULL", "None", "none", "NONE"),
    ]
)
