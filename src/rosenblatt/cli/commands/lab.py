"""``rosenblatt lab``: the pages on which the library can be seen at work."""

import ipaddress
from typing import Annotated

import typer

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import note


def lab(
    port: Annotated[
        int, typer.Option("--port", help="Port on this computer; 0 takes a free one.", min=0, max=65535)
    ] = 8137,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on. 0.0.0.0 opens the lab to a class, which joins with a token."
        ),
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", help="Name under which a class reaches this computer, beside its address."
        ),
    ] = None,
    pages: Annotated[
        int,
        typer.Option("--pages", help="Largest number of pages that a class may have open.", min=1, max=1000),
    ] = 120,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the browser, or only print the address.")
    ] = True,
) -> None:
    """Open the lab: watch learning, play the perceptron game, build XOR.

    Only this computer can open the pages. With --host 0.0.0.0 everybody who can reach this computer and has the
    printed join link can open them; each visitor has pages of their own.

    \b
    Examples:
      rosenblatt lab
      rosenblatt lab --no-open
      rosenblatt lab --port 0 --no-open
      rosenblatt lab --host 0.0.0.0
    """
    try:
        import nicegui  # noqa: F401 (its absence is reported with the extra that brings it)

        from rosenblatt.lab.app import address_of, listening, serve, warm_up
        from rosenblatt.lab.guard import ClassRoom
    except ImportError as error:
        refuse(f'the lab needs {error.name}: pip install "rosenblatt[service]"')
    own = listening(port, host)
    address = address_of(own)
    room = None
    if not _is_loopback(host):
        room = ClassRoom(address, most_pages=pages, allowed_hosts=tuple(allow_host or ()))
        address = room.join_link
    warm_up()
    print(address, flush=True)
    if room is not None:
        note(
            f"Everybody who can reach this computer may join with this link, or with the token {room.token}."
        )
        note("The network can read along, as with every page over plain HTTP.")
    note("Ctrl-C ends it")
    if open_browser:
        import webbrowser

        webbrowser.open(address)
    serve(own, room)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
