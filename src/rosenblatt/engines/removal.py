"""Folders of shards are removed while others go on: to give back their memory keeps a core busy for a while."""

import os
import shutil
from pathlib import Path
from threading import Thread

_at_work: list[Thread] = []  # or were, a moment ago


def remove_behind(folders: list[str]) -> None:
    """Begin to remove folders of shards, several shards at a time.

    Python ends no sooner than this does: the threads are ordinary ones.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> remove_behind([folder])
    >>> removed()
    >>> os.path.exists(folder)
    False
    """
    _at_work[:] = [thread for thread in _at_work if thread.is_alive()]
    shards = [str(shard) for folder in folders for shard in Path(folder).glob("*")]
    wide = max(1, min(os.cpu_count() or 1, len(shards)))
    for at in range(wide if folders else 0):
        thread = Thread(target=_remove, args=([*shards[at::wide], *folders],), name="rosenblatt-removal")
        thread.start()
        _at_work.append(thread)


def removed() -> None:
    """Wait until all is removed that was to be."""
    while _at_work:
        _at_work.pop().join()


def _remove(folders: list[str]) -> None:
    for folder in folders:  # the whole folder comes last: who is done first helps the others
        shutil.rmtree(folder, ignore_errors=True)
