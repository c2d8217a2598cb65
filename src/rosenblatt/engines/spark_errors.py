"""What went wrong on Spark's executors, in one line."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SAID = re.compile(r"^(?:[\w.]+\.)?(ValueError|TypeError|BadInput|FileNotFoundError): (.*)$", re.MULTILINE)
_VERSIONS = re.compile(r"Python in worker has different version: ([\d.]+) than that in driver: ([\d.]+)")
_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_PROGRAM = re.compile(r'Cannot run program "([^"]*)"')


@contextmanager
def plain_errors() -> Iterator[None]:
    """Say what an executor said, without the stack of two languages around it."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PythonException

    try:
        yield
    except (PythonException, Py4JJavaError) as error:
        text = str(error)
        wrong = wrong_python(text)
        if wrong is not None:
            raise RuntimeError(wrong) from None
        said = _SAID.findall(text) if isinstance(error, PythonException) else []
        if not said:
            raise
        kind, message = said[-1]
        raise (TypeError if kind == "TypeError" else ValueError)(message) from None


def wrong_python(text: str) -> str | None:
    """Say what is wrong with the Python that Spark's workers run, or None where a text tells of nothing such.

    >>> wrong_python("ModuleNotFoundError: No module named 'rosenblatt'").partition(":")[0]
    "the Python of Spark's workers has no module 'rosenblatt'"
    """
    versions, module, program = (found.search(text) for found in (_VERSIONS, _MODULE, _PROGRAM))
    if versions:
        wrong = f"Spark's workers run Python {versions[1]}, and this is {versions[2]}"
    elif module:
        wrong = f"the Python of Spark's workers has no module {module[1]!r}"
    elif program:
        wrong = f"Spark's workers cannot run {program[1]!r}"
    else:
        return None
    way_out = f"or name another before Spark starts: PYSPARK_PYTHON={sys.executable}"
    return f"{wrong}: install rosenblatt for the Python they run, {way_out}"
