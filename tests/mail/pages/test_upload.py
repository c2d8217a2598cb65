"""An upload on a page is limited by the server, whatever the browser says."""

import subprocess
import sys

from tests.patience import SECONDS

UPLOADS = """
import re, sys, threading
from pathlib import Path
import httpx
from rosenblatt.mail.pages.mounting import mount
from rosenblatt.service.models import Models
from rosenblatt.service.server import address, listening, server
from rosenblatt.web.settings import Settings

def parts(n):
    yield b'--XX\\r\\ncontent-disposition: form-data; name="f"; filename="a.mbox"\\r\\n\\r\\n'
    for _ in range(n):
        yield b"x" * 65536
    yield b"\\r\\n--XX--\\r\\n"

settings = Settings(data=Path(sys.argv[1]), port=0, mail_bytes=1 << 20)
sock, running = listening(settings), server(settings, Models(settings.data), mount)
thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]})
thread.start()
with httpx.Client(base_url=address(settings, sock), timeout=None) as client:
    path = re.search(r"/_nicegui/client/[0-9a-f-]+/upload/[0-9]+", client.get("/").text)[0]
    kind = {"content-type": "multipart/form-data; boundary=XX"}
    bodies = parts(1), parts(64), b"".join(parts(64))
    print([client.post(path, content=body, headers=kind).status_code for body in bodies])
running.should_exit = True
thread.join()
"""


def test_an_upload_on_a_page_is_limited_by_the_server(tmp_path):
    words = [sys.executable, "-c", UPLOADS, str(tmp_path / "store")]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout.split("\n")[-2] == "[200, 413, 413]"
