"""The page of networks as Python that reproduces it with the library."""

from rosenblatt.lab.code import PICTURE, data_code
from rosenblatt.lab.networks_session import CLASSES, NetworksSession


def networks_code(session: NetworksSession) -> str:
    """Return code that builds the network, and prints its errors."""
    state, cls = session.state, CLASSES[session.state.builder].__name__
    begin = f"# Made by the lab of rosenblatt: the network ?{session.link}\n"
    if state.boolean:
        data = (
            "import numpy as np\n\nfrom rosenblatt.networks.gate import every_input\n\n"
            f"X = every_input({state.boolean})\ny = np.where(X.sum(axis=1) % 2 == 1, 1, -1)\n"
        )
    else:
        data = data_code(session.points)
    if session.model is None:
        return begin + data + "print('a network needs examples of both classes')\n"
    told = ", ".join(f"{name}={value!r}" for name, value in session.arguments.items())
    lines = [f"\nfrom rosenblatt import {cls}\n", f"clf = {cls}({told}).fit(X, y)"]
    lines.append("print('wrong', int((clf.predict(X) != y).sum()), 'of', len(y))")
    if state.builder != "backpropagation":
        lines.append("print('units', clf.n_units_)\nprint(clf.network_.to_dot())")
    drawn = state.builder != "backpropagation" and not state.boolean
    picture = PICTURE.format(model="clf", name="network") if drawn else ""
    return begin + data + "\n".join([*lines, ""]) + picture
