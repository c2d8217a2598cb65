"""Files of the version before load as they did then: the same numbers, the same scores, and they can be learned on."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.model_files import FILES, described

FOLDER = Path(__file__).parent / "fixtures" / "v0.1" / "models"
RECORD = json.loads((FOLDER / "record.json").read_text())
NEW = {("stream", "online-scaled"), ("stream", "online-auto")}  # version 0.1 had none
EVERY = [(kind, name) for kind, files in FILES.items() for name in files if (kind, name) not in NEW]


def test_there_is_a_file_of_every_kind():
    assert {f"{kind}-{name}.safetensors" for kind, name in EVERY} == set(RECORD)
    assert set(RECORD) == {path.name for path in FOLDER.glob("*.safetensors")}


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_an_old_file_says_what_it_said(kind, name):
    path = FOLDER / f"{kind}-{name}.safetensors"
    said, before = described(kind, name, path), RECORD[path.name]
    assert said["classes"] == before["classes"]
    assert said["digest"] == before["digest"]
    assert set(said["scores"]) == set(before["scores"])
    for hypothesis, scores in before["scores"].items():
        assert np.allclose(said["scores"][hypothesis], scores, rtol=1e-6, atol=1e-9)
