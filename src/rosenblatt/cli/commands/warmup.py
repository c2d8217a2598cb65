"""``rosenblatt warmup``: machine code for exactly this CPU, compiled in advance."""

from typing import Annotated

import typer

from rosenblatt.cli.output import counted, note


def warmup(
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", min=0, help="Processes that compile; 0: one for every CPU.")
    ] = 0,
) -> None:
    """Compile everything for this CPU in advance.

    The package comes with machine code for common work on any CPU of its level (x86-64-v3, arm64), so nothing need be
    done before the first command. Code for exactly this CPU gives the same results to the last bit; passes over data
    may be up to a tenth faster. It is stored in the user's cache: ~/.cache/rosenblatt, or below XDG_CACHE_HOME. Where
    the package was installed without code, this avoids waiting later.

    \b
    Examples:
      rosenblatt warmup
      rosenblatt warmup --jobs 1
      rosenblatt warmup --jobs 4
    """
    from rosenblatt.cli.warmup import compile_natively

    folders, failures = compile_natively(jobs)
    for failure in failures:
        note(failure)
    for folder in folders:
        files = [path.stat().st_size for path in folder.glob("*.nbc")]
        print(f"{folder}: {counted(len(files), 'loop')}, {sum(files) / 1e6:.1f} MB")
    if failures:
        raise typer.Exit(1)
