"""``rosenblatt cache``: what fits out of core have kept for the next run, and how it is removed."""

from typing import Annotated, Any

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.telling import counted


def cache(
    remove: Annotated[bool, typer.Option("--remove", help="Remove all of it.")] = False,
    json: opt.AsJson = False,
) -> None:
    """Show what is kept between runs, or remove it.

    A fit out of core keeps the rows it has read, so that the next one need not parse them again.

    \b
    Examples:
      rosenblatt cache --json
      rosenblatt cache --remove
    """
    from rosenblatt.streams.cache import cache_folder, kept_files, remove_cache

    files = kept_files()
    size = remove_cache() if remove else sum(file.stat().st_size for file in files)
    told: dict[str, Any] = {
        "folder": str(cache_folder()),
        "files": len(files),
        "bytes": size,
        "removed": remove,
    }
    if json:
        from rosenblatt.cli.drawing import print_json

        print_json(told)
    else:
        done = "removed" if remove else "kept"
        print(f"{told['folder']}: {counted(len(files), 'file')}, {size:,} bytes {done}")
