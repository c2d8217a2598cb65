"""Where in its line a cell of delimited text stands: asked only when something is wrong with it."""

QUOTE = 34


def cell_starts(line: bytes, separator: str) -> list[int]:
    """Return where every cell of a line starts, from 0, spaces before it stepped over.

    >>> cell_starts(b'1, 2,"x,y",4', ",")
    [0, 3, 5, 11]
    """
    starts = [0]
    quoted = False
    for at, byte in enumerate(line):
        if byte == QUOTE:
            quoted = not quoted
        elif byte == ord(separator) and not quoted:
            starts.append(at + 1)
    spaces = _spaces(separator)
    ends = [*(start - 1 for start in starts[1:]), len(line)]
    cells = [line[start:end] for start, end in zip(starts, ends, strict=True)]
    return [start + len(cell) - len(cell.lstrip(spaces)) for start, cell in zip(starts, cells, strict=True)]


def _spaces(separator: str) -> bytes:
    return b" " if separator == "\t" else b" \t"


def column_of_cell(line: bytes, separator: str, place: int) -> int:
    """Return the column of a cell, 1-based in bytes; where the line has too few cells, that of its end.

    >>> column_of_cell(b"7;spam", ";", 1), column_of_cell(b"7;spam", ";", 2)
    (3, 7)
    """
    if QUOTE not in line:  # as almost always
        before = line.split(separator.encode(), place + 1)
        if place < len(before):
            cell, start = before[place], sum(map(len, before[:place])) + place
            return 1 + start + len(cell) - len(cell.lstrip(_spaces(separator)))
    starts = cell_starts(line, separator)
    return 1 + (starts[place] if place < len(starts) else len(line.rstrip(b"\r")))


def first_not_utf8(line: bytes) -> int:
    """Return where the first byte that is not UTF-8 stands, from 0.

    >>> first_not_utf8(bytes([97, 255]))
    1
    """
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0
