"""``rosenblatt cache``: what fits out of core have stored for the next run, and how to remove it."""

from typing import Any

from rosenblatt.cli import options as opt
from rosenblatt.cli.output import counted


def show(json: opt.AsJson = False) -> None:
    """Show the files that out-of-core fits have stored.

    An out-of-core fit stores the rows it has parsed, so that the next fit need not parse them again. The cache takes
    at most 10 GB, or ROSENBLATT_CACHE (such as 20GB); the files used least recently are removed first. Half-written
    files of a killed run are counted too.

    \b
    Examples:
      rosenblatt cache show
      rosenblatt cache show --json
    """
    from rosenblatt.streams.cache import abandoned_files, cached_files

    files = cached_files()
    _report(len(files), len(abandoned_files()), sum(file.bytes for file in files), False, json)


def remove(json: opt.AsJson = False) -> None:
    """Remove the files that out-of-core fits have stored, half-written ones too.

    \b
    Examples:
      rosenblatt cache remove
      rosenblatt cache remove --json
    """
    from rosenblatt.streams.cache import abandoned_files, cached_files, remove_cache

    files, abandoned = len(cached_files()), len(abandoned_files())
    _report(files, abandoned, remove_cache(), True, json)


def _report(files: int, abandoned: int, size: int, removed: bool, as_json: bool) -> None:
    from rosenblatt.streams.cache import cache_folder, cache_limit, limit_in_words

    report: dict[str, Any] = {
        "folder": str(cache_folder()),
        "files": files,
        "half_written": abandoned,
        "bytes": size,
        "limit": cache_limit(),
        "removed": removed,
    }
    if as_json:
        from rosenblatt.cli.output import print_json

        print_json(report)
        return
    from rosenblatt.cli.progress import size_in_words

    done = "removed" if removed else "stored"
    half_written = f" ({abandoned} left half-written by a run that was killed)" if abandoned else ""
    limit = "" if removed else f", limit {limit_in_words()}"
    print(f"{report['folder']}: {counted(files, 'file')}{half_written}, {size_in_words(size)} {done}{limit}")


SUBCOMMANDS = {"show": show, "remove": remove}
