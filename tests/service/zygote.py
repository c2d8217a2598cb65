"""A process that has everything imported, and becomes a server again and again: killing one costs no second to start.

``python tests/service/zygote.py FOLDER SNAPSHOT_EVERY``: for every line on standard input it forks a server of the
folder on a free port and prints its process id and port; it says so when that server is dead.
"""

import os
import signal
import sys
from pathlib import Path

from rosenblatt.service.models import Models
from rosenblatt.service.rehearsal import rehearse
from rosenblatt.service.serving import listening, server
from rosenblatt.service.settings import Settings


def serve(settings):
    """Serve as the command does, without its signal handlers."""
    sys.setswitchinterval(0.0005)
    models = Models(settings.data, recent_bytes=settings.recent_bytes)
    sock = listening(settings)
    running = server(settings, models)
    print(os.getpid(), sock.getsockname()[1], flush=True)
    running.run(sockets=[sock])


def main():
    """Fork a server for every line."""
    settings = Settings(
        data=Path(sys.argv[1]), port=0, pages=False, recent_bytes=1 << 18, snapshot_every=int(sys.argv[2])
    )
    rehearse()  # loops are loaded before anything is forked
    server(Settings(data=Path("/nonexistent"), pages=False))  # imports what a server needs
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                serve(settings)
                os._exit(0)
            except BaseException as error:
                print("failed", repr(error), flush=True)
                os._exit(1)
        os.waitpid(child, 0)
        print("dead", flush=True)
    signal.raise_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
