"""How tables write a value that is not there; among the scanners, whose machine code it is part of."""

MISSING = frozenset(["", "?", "NA", "N/A", "n/a", "null", "NULL", "None"])
