"""Fixtures that more than one folder of tests uses."""

import logging
import os
from pathlib import Path

import pytest

# What commands print must not depend on what is compiled already.
logging.getLogger("rosenblatt.jit").setLevel(logging.ERROR)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data, named by ROSENBLATT_DATA; beside the checkout by default."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ROSENBLATT_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: name their folder in ROSENBLATT_DATA")
    return folder
