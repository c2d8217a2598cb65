"""Without the extra that brings what the service stands on, importing it says which."""

import subprocess
import sys

WITHOUT = """
import importlib.util as util
there = util.find_spec
util.find_spec = lambda name, package=None: None if name == "fastapi" else there(name, package)
try:
    import rosenblatt.service.server
except ImportError as error:
    print(error.name, error)
"""


def test_the_line_that_installs_it_is_told():
    told = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True).stdout
    assert told == "fastapi the service needs fastapi: pip install 'rosenblatt[service]'\n"
