"""Print the oldest version of every dependency that pyproject.toml allows, as pip takes them: ``make oldest``."""

import re
import tomllib
from pathlib import Path

OLDEST = re.compile(r"^([\w.-]+)>=([\w.]+)")


def oldest() -> list[str]:
    """Return ``name==version`` for every dependency.

    >>> "numba==0.60" in oldest()
    True
    """
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    return ["==".join(OLDEST.match(each).groups()) for each in project["dependencies"]]


if __name__ == "__main__":
    print(*oldest())
