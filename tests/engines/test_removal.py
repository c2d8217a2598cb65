"""Folders are removed while others go on, and before Python ends."""

import subprocess
import sys

from rosenblatt.engines.removal import remove_behind, removed


def filled(folder, shards=5):
    for at in range(shards):
        (folder / f"{at}").mkdir(parents=True)
        (folder / f"{at}" / "X").write_bytes(bytes(100))
    return str(folder)


def test_all_folders_go_and_those_that_are_gone_do_not_matter(tmp_path):
    folders = [filled(tmp_path / "one"), filled(tmp_path / "two"), str(tmp_path / "three")]
    remove_behind(folders)
    remove_behind(folders)
    removed()
    assert list(tmp_path.iterdir()) == []


def test_python_ends_when_they_are_gone(tmp_path):
    folder = filled(tmp_path / "one", 200)
    code = f"from rosenblatt.engines.removal import remove_behind; remove_behind([{folder!r}])"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (told.stdout, told.stderr, list(tmp_path.iterdir())) == ("", "", [])
