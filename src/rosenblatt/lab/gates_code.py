"""The page of gates as Python that reproduces it with the library."""

from rosenblatt.lab.gates_session import GatesSession


def gates_code(session: GatesSession) -> str:
    """Return code that makes the unit and the network, and prints their truth tables."""
    gate, wanted = session.gate, session.targets.tolist()
    lines = [
        f"# Made by the lab of rosenblatt: the gates ?{session.link}",
        "from rosenblatt import Gate, Network, separability",
        "from rosenblatt.networks import Unit",
        "from rosenblatt.networks.gate import every_input",
        "",
        f"unit = Gate({tuple(gate.weights)!r}, {gate.bias!r}, {gate.name!r})",
        f"print('unit', unit.truth_table(), 'wanted', {wanted!r})",
        f"print(separability(every_input(2), {wanted!r}))",
    ]
    network = session.network
    if network is not None:
        lines += ["", "network = Network(2, ["]
        for wired in session.state.wiring:
            count = "" if wired.kind == "NOT" else str(len(wired.sources))
            lines.append(f"    Unit(Gate.{wired.kind}({count}), {wired.sources!r}),")
        lines += ["])", "print('network', network.truth_table())", "print(network.to_dot())"]
    return "\n".join([*lines, ""])
