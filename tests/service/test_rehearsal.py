"""After the rehearsal nobody waits for machine code."""

import subprocess
import sys

import pytest

LEARNS = """
import gc
import sys
from numba.core.dispatcher import Dispatcher
from rosenblatt.service.messages import Example, ModelSettings
from rosenblatt.service.models import Models
from rosenblatt.service.rehearsal import rehearse

settings = ModelSettings(rule=sys.argv[2], multi_class=sys.argv[3])
if sys.argv[4] == "rehearsed":
    rehearse([settings])

def loaded():
    return sum(len(each.signatures) for each in gc.get_objects() if isinstance(each, Dispatcher))

before = loaded()
models = Models(sys.argv[1], recent_bytes=1 << 16)
models.create("m", settings)
for label in "ababcbc":
    models.feedback("m", label, Example(features={"x": 1.0, label: 2.0}))
models.predict("m", [Example(features={"x": 1.0})])
models.close(snapshot=False)
print(loaded() - before)
"""


@pytest.mark.parametrize("kind", [("rosenblatt", "joint"), ("passive-aggressive", "ovr")])
def test_what_was_rehearsed_is_not_loaded_in_a_request(kind, tmp_path):
    def loaded(when):
        words = [sys.executable, "-c", LEARNS, str(tmp_path / when), *kind, when]
        return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)

    assert loaded("cold") > 0
    assert loaded("rehearsed") == 0
