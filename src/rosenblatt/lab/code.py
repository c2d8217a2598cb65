"""The state of the playground as Python that reproduces it with the library."""

from pprint import pformat
from typing import Any

import numpy as np

from rosenblatt.lab.fitted import CLASSES
from rosenblatt.lab.playground_session import PlaygroundSession
from rosenblatt.lab.points import Points
from rosenblatt.lab.spaces import RBF_GAMMA
from rosenblatt.lab.training import Training

PICTURE = """
try:
    from rosenblatt import plots

    axes = plots.boundary({model}, X, y)
    axes.figure.savefig("{name}.png")
except ImportError:
    print('a picture needs matplotlib: pip install "rosenblatt[plots]"')
"""


def data_code(points: Points) -> str:
    """Write the examples down."""
    rows = pformat([[p.x / 100, p.y / 100] for p in points], width=110, compact=True)
    labels = pformat([p.label for p in points], width=110, compact=True)
    return f"import numpy as np\n\nX = np.array({rows})\ny = np.array({labels})\n"


def playground_code(session: PlaygroundSession) -> str:
    """Return code that makes the model of a session, and prints what the page shows."""
    if np.unique(session.y).size < 2:
        return data_code(session.points) + '\nprint("a boundary needs examples of both classes")\n'
    if session.training is not None:
        body = _training(session.training)
    elif session.fitted is not None and session.fitted.model is not None:
        body = _fitted(session)
    else:
        return data_code(session.points) + f"\nprint({session.problem!r})\n"
    proof = ""
    if session.state.proof:
        rows = "Z" if not session.insight.space.kernel else "X"
        proof = (
            f"\nfrom rosenblatt import separability\n\nproof = separability({rows}, y)\nprint(proof)\n"
            f"assert proof.verify({rows}, y)\n"
        )
    return f"# Made by the lab of rosenblatt: the state ?{session.link}\n{data_code(session.points)}{body}{proof}"


def _mapped(space: Any) -> str:
    if space.kernel or space.is_plane:
        return "Z = X\n"
    return (
        f'from rosenblatt import FeatureMap\n\nfmap = FeatureMap("{space.kind}", degree={space.degree})\n'
        "Z = fmap.fit_transform(X)\n"
    )


def _training(run: Training) -> str:
    state = run.state
    cls = "KernelPerceptron" if run.space.kernel else "Perceptron"
    told = _arguments(run)
    whole, rest = divmod(run.clock, run.n)
    lines = [f"\nfrom rosenblatt import {cls}, rules\n", _mapped(run.space)]
    start = ""
    if any(state.first_weights):
        width = run.Z.shape[1]
        first = [state.start[1], state.start[2], *[0.0] * (width - 2)]
        start = f", coef_init={[first]!r}, intercept_init=[{state.start[0]!r}]"
    if not run.clock:
        lines.append("# nothing has been learned yet; the first pass:\n")
        whole = 1
    if whole:
        lines.append(f"clf = {cls}({told}, max_iter={whole}).fit(Z, y{start})\n")
    else:
        if start:
            lines.append(f"# begins with the weights {state.start!r}, the bias first\n")
        lines.append(f"clf = {cls}({told})\n")
    if rest and state.hypothesis != "pocket":
        rows = [run.row_at(whole * run.n + k) for k in range(rest)]
        picked = f"[:{rest}]" if rows == list(range(rest)) else f"[{rows!r}]"
        if not whole and start:
            lines.append(
                "from rosenblatt.learner import Learner\n\n"
                f"clf.learner_ = Learner(rules.resolve({state.rule!r}, {state.eta!r}))\n"
                f"clf.learner_.start_from({[first]!r}, {state.start[0]!r}, [-1, 1])\nclf.n_features_in_ = Z.shape[1]\n"
            )
        lines.append(f"clf.partial_fit(Z{picked}, y{picked}, classes=[-1, 1])  # the pass that has begun\n")
    lines.append("\nprint(clf.n_mistakes_, 'mistakes in', int(clf.clock_), 'examples')\n")
    if not run.space.kernel and state.hypothesis != "voted":
        lines.append("print('weights', clf.coef_[0], 'bias', clf.intercept_[0])\n")
    if run.space.is_plane or run.space.kernel:
        lines.append(PICTURE.format(model="clf", name="playground"))
    return "".join(lines)


def _arguments(run: Training) -> str:
    state = run.state
    told = [f"rule=rules.resolve({state.rule!r}, {state.eta!r})", f"hypothesis={state.hypothesis!r}"]
    told += [f"shuffle={state.order == 'shuffled'}", f"random_state={state.seed}"]
    if run.space.kernel and run.space.kind == "rbf":
        told.insert(0, f'kernel="rbf", gamma={RBF_GAMMA!r}')
    elif run.space.kernel:
        told.insert(0, f'kernel="poly", degree={run.space.degree}')
    return ", ".join(told)


def _fitted(session: PlaygroundSession) -> str:
    found = session.fitted
    assert found is not None
    cls, _ = CLASSES[found.name]
    told = ", ".join(f"{name}={value!r}" for name, value in found.arguments.items())
    picture = PICTURE.format(model="clf", name="playground") if found.space.is_plane else ""
    return (
        f"\nfrom rosenblatt import {cls}\n\n{_mapped(found.space)}clf = {cls}({told}).fit(Z, y)\n"
        "print((clf.predict(Z) != y).sum(), 'of', len(y), 'misclassified')\n"
        f"print('weights', clf.coef_[0], 'bias', clf.intercept_[0])\n{picture}"
    )
