"""Print the oldest versions that pyproject.toml allows, as pip takes them: ``make oldest``."""

import re
import tomllib
from pathlib import Path

OLDEST = re.compile(r"^([\w.-]+)>=([\w.]+)")
TOOLS = {"hypothesis", "pandas", "polars", "pytest"}  # of the extra "dev": what the tests run with


def oldest() -> list[str]:
    """Return ``name==version`` of every dependency and of the tools of the tests.

    >>> {"numba==0.61", "pytest==8.2"} <= set(oldest())
    True
    """
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    bounds = [
        OLDEST.match(each) for each in project["dependencies"] + project["optional-dependencies"]["dev"]
    ]
    names = {OLDEST.match(each)[1] for each in project["dependencies"]} | TOOLS
    return ["==".join(each.groups()) for each in bounds if each and each[1] in names]


if __name__ == "__main__":
    print(*oldest())
