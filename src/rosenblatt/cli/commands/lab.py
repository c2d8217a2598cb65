"""``rosenblatt lab``: the pages on which the library can be seen at work."""

from typing import Annotated

import typer

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import note


def lab(
    port: Annotated[
        int, typer.Option("--port", help="Port on this computer; 0 takes a free one.", min=0, max=65535)
    ] = 8137,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the browser, or only print the address.")
    ] = True,
) -> None:
    """Open the lab: see it learn, play the perceptron game, build XOR.

    Its pages are served to this computer only.

    \b
    Examples:
      rosenblatt lab
      rosenblatt lab --no-open
      rosenblatt lab --port 0 --no-open
    """
    try:
        import nicegui  # noqa: F401 (its absence is reported with the extra that brings it)

        from rosenblatt.lab.app import address_of, listening, serve, warm_up
    except ImportError as error:
        refuse(f'the lab needs {error.name}: pip install "rosenblatt[service]"')
    own = listening(port)
    address = address_of(own)
    warm_up()
    print(address, flush=True)
    note("Ctrl-C ends it")
    if open_browser:
        import webbrowser

        webbrowser.open(address)
    serve(own)
