"""Exit codes, and how a command that cannot go on says so.

======  ==================================================================================
 code    meaning
======  ==================================================================================
  0      done; of ``prove``, ``verify``, ``solve`` and ``store``: the answer is yes
  1      the answer is no: not separable, infeasible, a proof that fails, a damaged store
  2      usage: an option, an argument or a file name that cannot be used with this data
  3      undecided within the time limit
  65     bad data: the file can be opened, but not read as data, a model or a proof
  70     a bug of rosenblatt, with a line on how to report it
  130    interrupted with Ctrl-C
  141    the reader of standard output went away
======  ==================================================================================
"""

import os
from enum import IntEnum
from typing import NoReturn

DEBUG = "ROSENBLATT_DEBUG"


class ExitCode(IntEnum):
    """The exit code of a command."""

    YES = 0
    NO = 1
    USAGE = 2
    UNDECIDED = 3
    BAD_DATA = 65  # EX_DATAERR of sysexits.h
    BUG = 70  # EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class Refused(Exception):
    """A request that cannot be met; its text says why and what to do."""


class RefusedData(Refused):
    """Data that cannot be used; its text names the file and says why."""


def refuse(message: str) -> NoReturn:
    """End the command with a message and the exit code of a usage error."""
    raise Refused(message)


def refuse_data(message: str) -> NoReturn:
    """End the command with a message and the exit code of bad data."""
    raise RefusedData(message)


def show_tracebacks() -> None:
    """Print the traceback of errors in this process."""
    os.environ[DEBUG] = "1"


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code of a command that an exception ended.

    >>> exit_code(Refused("--passes must be 1 or more")), exit_code(ZeroDivisionError())
    (<ExitCode.USAGE: 2>, <ExitCode.BUG: 70>)
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "BadInput" in kinds and not _exists(str(getattr(error, "path", ""))):
        return ExitCode.USAGE
    if "BadOption" in kinds:
        return ExitCode.USAGE
    if kinds & {"BadInput", "BadModel", "RefusedData"}:
        return ExitCode.BAD_DATA
    missing_extra = isinstance(error, ImportError) and "pip install" in str(error)
    if missing_extra or isinstance(error, Refused | ValueError | OSError | MemoryError):
        return ExitCode.USAGE
    return ExitCode.BUG


def _exists(source: str) -> bool:
    """Return whether a source names something that can be opened."""
    return source == "-" or any(mark in source for mark in "*?[") or os.path.exists(source)  # noqa: PTH110


def message(error: BaseException, command: str) -> str:
    """Return what to print about an exception: data errors name their file, others begin with the command."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"BadInput", "BadModel", "RefusedData", "FileNotFoundError"}:
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"rosenblatt {command}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"rosenblatt {command}: not enough memory: {error}"
    if exit_code(error) is ExitCode.USAGE:
        return f"rosenblatt {command}: {error}"
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return (
        f"rosenblatt {command}: internal error, {what}\n"
        f"This is a bug in rosenblatt: please report the command and what it prints with {DEBUG}=1 (CONTRIBUTING.md)"
    )
