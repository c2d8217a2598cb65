"""``python -m rosenblatt``: the command line where the ``rosenblatt`` command is not on the path."""

from rosenblatt.cli import main

if __name__ == "__main__":
    main()
