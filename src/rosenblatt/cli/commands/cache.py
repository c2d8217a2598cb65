"""``rosenblatt cache``: what fits out of core have kept for the next run, and how it is removed."""

from typing import Annotated, Any

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.output import counted


def cache(
    remove: Annotated[bool, typer.Option("--remove", help="Remove all of it.")] = False,
    json: opt.AsJson = False,
) -> None:
    """Show what is kept between runs, or remove it.

    A fit out of core keeps the rows it has read, so that the next one need not parse them again. All of it takes no
    more than 10 GB, or what ROSENBLATT_CACHE says (20GB): the files used least recently are removed first. What a run
    that was killed left half-written is counted and removed too.

    \b
    Examples:
      rosenblatt cache --json
      rosenblatt cache --remove
    """
    from rosenblatt.streams.cache import (
        abandoned_files,
        cache_folder,
        cache_limit,
        cached_files,
        remove_cache,
    )

    files, abandoned = cached_files(), len(abandoned_files())
    size = remove_cache() if remove else sum(file.bytes for file in files)
    report: dict[str, Any] = {
        "folder": str(cache_folder()),
        "files": len(files),
        "half_written": abandoned,
        "bytes": size,
        "limit": cache_limit(),
        "removed": remove,
    }
    if json:
        from rosenblatt.cli.output import print_json

        print_json(report)
    else:
        done = "removed" if remove else "kept"
        of_which = f" ({abandoned} left half-written by a run that was killed)" if abandoned else ""
        limit = "" if remove else f", at most {report['limit']:,}"
        print(f"{report['folder']}: {counted(len(files), 'file')}{of_which}, {size:,} bytes {done}{limit}")
