"""The page of networks: what Tower, Upstart and Backpropagation build on data."""

from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, NamedTuple

import numpy as np
from nicegui import ui
from numpy.typing import NDArray

from rosenblatt.lab import frame
from rosenblatt.lab.computing import Share
from rosenblatt.lab.elements.circuit import Circuit, drawing_of
from rosenblatt.lab.elements.plane import Edit, Plane
from rosenblatt.lab.playground import PICTURE, data_code
from rosenblatt.lab.points import POINTS, Points, arrays, counted, edited, generated
from rosenblatt.lab.scene import (
    Scene,
    add_line,
    add_shape,
    empty_scene,
    from_grid,
    from_scores,
    grid,
    legend,
    legend_of,
)
from rosenblatt.lab.table import Session, column, number, one_of, whole
from rosenblatt.networks import Backpropagation, Tower, Upstart
from rosenblatt.networks.gate import every_input
from rosenblatt.plots.style import MISTAKE, PINK
from rosenblatt.web import layout
from rosenblatt.web.chart import Curve, chart
from rosenblatt.web.layout import Markup, html
from rosenblatt.web.theme import THEMES

# The state of the page

PARITIES = ("parity-3", "parity-4", "parity-5", "parity-6")
DATA = ("corners", "xor", "circles", "moons", "overlapping", *PARITIES, "own")
BUILDERS = ("tower", "upstart", "backpropagation")
MOST_ITERATIONS = 500
ALL = 60  # units: as many as it takes
CORNERS: Points = POINTS.read("b-150_-120a-150_120a150_-120b150_120")


@dataclass(frozen=True)
class NetworksState:
    """Data, a learner that builds a network, and how many units it may have."""

    data: str = column("corners", one_of(*DATA))
    n: int = column(40, whole(4, 200))
    noise: float = column(0.3, number(0.0, 1.0))
    seed: int = column(0, whole(0, 9999))
    points: Points = column((), POINTS)  # noqa: RUF009 (a tuple); used where data are "own"
    builder: str = column("tower", one_of(*BUILDERS))
    units: int = column(ALL, whole(1, ALL))
    hidden: int = column(4, whole(1, 16))
    iterations: int = column(
        0, whole(0, MOST_ITERATIONS)
    )  # of backpropagation; 0: until the loss stops moving
    tool: str = column("move", one_of("move", "plus", "minus", "flip", "erase"))
    theme: str = column("auto", one_of(*THEMES))

    @property
    def boolean(self) -> int:
        """How many inputs a Boolean function has, 0 where data lie in the plane."""
        return int(self.data[-1]) if self.data in PARITIES else 0

    def examples(self) -> Points:
        """Return the examples of the plane."""
        if self.data == "own":
            return self.points
        if self.data == "corners":
            return CORNERS
        return () if self.boolean else generated(self.data, self.n, 0.3, self.noise, self.seed)


# The session

CLASSES = {"tower": Tower, "upstart": Upstart, "backpropagation": Backpropagation}
FOLLOWED = 12  # iterations at which backpropagation is measured
DRAWN = 12  # units whose own boundary is drawn


RESET = {"data", "n", "noise", "seed", "points", "builder", "hidden"}  # a change begins a new training
SHOWN_ONLY = {"tool", "theme"}  # what can change without building anew


class NetworksSession(Session[NetworksState]):
    """One visitor's network."""

    def __init__(self, state: NetworksState) -> None:
        self.state = state
        self._path: dict[int, tuple[float, float]] = {}  # loss and errors in percent, by iterations
        self._build()

    def _build(self) -> None:
        state = self.state
        self.points = state.examples()
        self.X, self.y = arrays(self.points)
        if state.boolean:
            self.X = every_input(state.boolean)
            self.y = np.where(self.X.sum(axis=1) % 2 == 1, 1, -1)
        self.model: Any = None
        if np.unique(self.y).size == 2:
            self.model = CLASSES[state.builder](**self.arguments).fit(self.X, self.y)
            if state.builder == "backpropagation":
                self._follow()

    def _follow(self) -> None:
        """Measure the model after a few of its iterations, up to the present one."""
        done = int(self.model.n_iter_)
        self._path = {clock: measured for clock, measured in self._path.items() if clock < done}
        for clock in np.unique(np.linspace(1, done, min(done, FOLLOWED)).astype(int)).tolist():
            if clock == done or not any(abs(clock - other) <= done // FOLLOWED for other in self._path):
                own = {**self.arguments, "max_iter": clock}
                model = self.model if clock == done else Backpropagation(**own).fit(self.X, self.y)
                wrong = float(100 * (model.predict(self.X) != self.y).mean())
                self._path[clock] = (float(model.mlp_.loss_), wrong)

    def path(self) -> tuple[list[int], list[float], list[float]]:
        """Return iterations of backpropagation with the loss and the errors in percent after each."""
        clocks = sorted(self._path)
        return clocks, [self._path[c][0] for c in clocks], [self._path[c][1] for c in clocks]

    @property
    def trained(self) -> bool:
        """Whether the loss of backpropagation stopped moving."""
        return self.model is None or bool(self.model.converged_) or self.model.n_iter_ >= MOST_ITERATIONS

    def step(self, count: int) -> None:
        """Go on by so many iterations of backpropagation; from the end, begin anew."""
        now = self.state.iterations
        self.set(iterations=min(MOST_ITERATIONS, now + count) if now else count)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the learner."""
        if self.state.builder == "backpropagation":
            steps = {"max_iter": self.state.iterations} if self.state.iterations else {}
            return {"hidden": (self.state.hidden,), **steps}
        return {} if self.state.units == ALL else {"max_units": self.state.units}

    @property
    def wrong(self) -> NDArray[np.int64]:
        """The examples that the network gets wrong."""
        if self.model is None:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self.model.predict(self.X) != self.y)

    def set(self, **values: Any) -> None:
        """Change the state; the network is built anew."""
        different = self.change(**values)
        if different & RESET:
            self._path = {}
        if different - SHOWN_ONLY:
            self._build()
            if self.state.iterations and self.model is not None:
                self.change(iterations=min(self.state.iterations, self.model.n_iter_))

    def draw_others(self) -> None:
        """Generate other points of the same kind."""
        self.set(seed=(self.state.seed + 1) % 10_000)

    def edit(self, what: str, **details: Any) -> None:
        """Do to the points what was done on the plane."""
        self.set(data="own", points=edited(self.points, what, **details))

    def status(self) -> str:
        """Say what was built."""
        if self.model is None:
            return "A network needs examples of both classes."
        wrong, n = len(self.wrong), len(self.y)
        if self.state.builder == "backpropagation":
            said = "the loss stopped moving" if self.model.converged_ else "the loss still moves"
            after = counted(int(self.model.n_iter_), "iteration")
            hidden = counted(self.state.hidden, "hidden unit")
            return f"{hidden}, {wrong} of {n} wrong after {after}; {said}. Nothing is promised."
        units = len(self.model.network_.units)
        text = f"{counted(units, 'unit')}, {wrong} of {n} wrong."
        return text if wrong else text + " Zero errors, as promised on any consistent data."

    def errors(self) -> NDArray[np.int64] | None:
        """Return the errors after each unit, where units come one after the other."""
        return self.model.errors_[0] if self.state.builder == "tower" and self.model is not None else None

    def drawing(self) -> tuple[list[str], list[tuple[str, tuple[int, ...]]], list[Any] | None]:
        """Return the wiring: names of the inputs, units with what they read, weights."""
        if self.model is None:
            return [], [], None
        if self.state.builder == "backpropagation":
            hidden, inputs = self.state.hidden, self.X.shape[1]
            units = [(f"h{k + 1}", tuple(range(inputs))) for k in range(hidden)]
            output = ("out", tuple(range(inputs, inputs + hidden)))
            coefs = self.model.mlp_.coefs_
            weights = [list(coefs[0][:, k]) for k in range(hidden)] + [list(coefs[1][:, 0])]
            return [f"x{j + 1}" for j in range(inputs)], [*units, output], weights
        network = self.model.network_
        units = [(f"u{k + 1}", unit.sources) for k, unit in enumerate(network.units)]
        return list(network.input_names), units, [unit.gate.weights for unit in network.units]

    def scene(self) -> Scene:
        """Return the plane: examples, composed region, and the boundary of every unit."""
        scene = empty_scene(self.points)
        if self.model is None or self.state.boolean:
            return scene
        if self.state.builder == "backpropagation":
            add_shape(scene, from_scores(lambda P: self.model.predict_proba(P)[:, 1] - 0.5, steps=True))
            for plane in self.model.hidden_planes():
                add_line(scene, plane, "unit")
        else:
            add_shape(scene, from_scores(self.model.decision_function, steps=True))
            network, read = self.model.network_, self.model.inputs_.read
            scores = network.scores(read(grid()))
            for k in range(min(DRAWN, len(network.units) - 1)):
                edge = from_grid(scores[:, k], lambda P, k=k: network.scores(read(P))[:, k]).edge  # type: ignore[misc]
                scene["paths"].append([edge, "unit"])
        scene["rings"] = [[int(row), "wrong", ""] for row in self.wrong]
        return scene


# The page as Python code


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
    arguments = ", ".join(f"{name}={value!r}" for name, value in session.arguments.items())
    lines = [f"\nfrom rosenblatt import {cls}\n", f"clf = {cls}({arguments}).fit(X, y)"]
    lines.append("print('wrong', int((clf.predict(X) != y).sum()), 'of', len(y))")
    if state.builder != "backpropagation":
        lines.append("print('units', clf.n_units_)\nprint(clf.network_.to_dot())")
    drawn = state.builder != "backpropagation" and not state.boolean
    picture = PICTURE.format(model="clf", name="network") if drawn else ""
    return begin + data + "\n".join([*lines, ""]) + picture


# The page

DATA_TITLES = {
    "corners": "XOR, four corners",
    "xor": "XOR, clouds",
    "circles": "Circles",
    "moons": "Moons",
    "overlapping": "Overlapping",
    "parity-3": "Parity of 3 inputs",
    "parity-4": "Parity of 4 inputs",
    "parity-5": "Parity of 5 inputs",
    "parity-6": "Parity of 6 inputs",
    "own": "Your own points",
}
BUILDER_TITLES = {"tower": "Tower", "upstart": "Upstart", "backpropagation": "Backpropagation"}
WHAT = {
    "tower": "Each new unit reads the inputs and the unit below it, and errs on fewer examples.",
    "upstart": "Daughters silence a unit where it is wrongly on, and wake it where it is wrongly off.",
    "backpropagation": "Soft units, all trained at once by scikit-learn. No guarantee.",
}
TICK = 0.25  # seconds between two iterations of a run
MOST_DRAWN = 16  # units of a circuit that can still be read


class NetworksView(NamedTuple):
    """What the page shows of a session."""

    scene: Scene | None  # None: a Boolean function has no plane
    truth: str
    status: str
    units: int
    circuit: dict[str, Any] | None  # where it can be read
    errors: str
    trained: bool

    @classmethod
    def of(cls, session: NetworksSession) -> "NetworksView":
        """Look at a session."""
        colour = "lab-right" if session.model is not None and not len(session.wrong) else ""
        inputs, units, weights = session.drawing()
        readable = 0 < len(units) <= MOST_DRAWN
        return cls(
            None if session.state.boolean else session.scene(),
            _truth(session) if session.state.boolean else "",
            f"<b class='{colour}'>{escape(session.status())}</b>",
            len(units),
            drawing_of(inputs, units, weights) if readable else None,
            _errors(session),
            session.trained,
        )


class NetworksPage(frame.LabPage[NetworksSession]):
    """One visitor's page."""

    path, table, code = "/networks", NetworksState, staticmethod(networks_code)

    @classmethod
    def begin(cls, state: NetworksState, share: Share) -> NetworksSession:
        """Build the network of a state."""
        return NetworksSession(state)

    @staticmethod
    def look(session: NetworksSession, whole: bool = True) -> NetworksView:
        """Compute what is shown of a session."""
        return NetworksView.of(session)

    def draw(self, first: bool) -> None:
        """Build the elements."""
        self.trained = False
        self.tick = 0
        self.timer = ui.timer(TICK, self._tick, active=False)
        frame.head(self, self.path, self.state.theme, self._controls)
        with ui.element("main").classes("lab-main even"):
            with ui.element("div").classes("lab-stack"):
                self._plane()
            with ui.element("div").classes("lab-stack"):
                with layout.card("The network"):
                    self.what = ui.label("").classes("lab-faint q-mb-sm")
                    self.circuit = Circuit(drawing_of(["x1"], [("u1", (0,))]), label="The wiring")
                    self.wires = html(Markup(legend("wire", "negative"))).classes("lab-key")
                    self.too_many = ui.label("").classes("lab-faint")
                with layout.card("Errors") as self.errors_card:
                    self.errors = html().classes("lab-chart")
        frame.shortcuts(self)

    def _controls(self) -> None:
        with ui.element("div").classes("lab-side"):
            layout.heading("Data")
            frame.choice(self, "data", "Examples", DATA_TITLES)
            self.generated_only = ui.element("div").classes("w-full")
            with self.generated_only:
                frame.slider(self, "n", "Points", 1)
                frame.slider(self, "noise", "Noise", 0.05)
                frame.button("Draw others", "casino", lambda: self.apply(self.session.draw_others))
            layout.heading("Learner")
            frame.choice(self, "builder", "Built by", BUILDER_TITLES)
            self.units = frame.slider(self, "units", "Most units", 1, {ALL: "all it takes"})
            self.hidden = frame.slider(self, "hidden", "Hidden units", 1)

    def _plane(self) -> None:
        with layout.card() as box:
            box.classes("lab-plane-card")
            self.in_plane = ui.element("div").classes("lab-plane-card")
            with self.in_plane:
                with frame.toolbar("Editing tools"):
                    self.tools = frame.editing_tools(self)
                self.plane = Plane(
                    empty_scene(),
                    label="The plane with the examples and the region of the network",
                    tool=self.state.tool,
                    on_edit=self._edited,
                )
            self.truth = html().classes("lab-scroll")
            self.steps = frame.toolbar("Steps", "lab-steps")
            with self.steps:
                self.step_button = frame.main_button("Step", "play_arrow", partial(self._step, 1))
                self.ten_button = frame.button("Ten steps", "fast_forward", partial(self._step, 10))
                self.run_button = frame.button("Run", "directions_run", self._run)
                self.end_button = frame.button("To the end", "skip_next", partial(self.set, iterations=0))
            self.status = html().classes("lab-status q-mt-sm").props("role=status")
            self.key = html().classes("lab-key")

    def _edited(self, event: Any) -> None:
        edit = Edit.of(event)
        if edit is not None and edit.done:  # building anew takes longer than a drag
            self.apply(partial(self.session.edit, edit.what, **edit.details))

    def _step(self, count: int) -> None:
        self.timer.deactivate()
        self.apply(partial(self.session.step, count))

    def _run(self) -> None:
        if self.timer.active:
            self.timer.deactivate()
        else:
            self.tick = 0
            self.timer.activate()
        self._show_run()

    def _tick(self) -> None:
        if self.working:
            return  # the last iteration is still being made
        if not self.allowed or (self.state.iterations and self.trained):
            self.timer.deactivate()
            self._show_run()
        else:
            self.tick += 1
            self.apply(partial(self.session.step, 1), merge=self.tick > 1)

    def _show_run(self) -> None:
        self.run_button.set_text("Pause" if self.timer.active else "Run")

    def show(self, view: NetworksView) -> None:
        """Bring the page to the state."""
        state = self.state
        self.has_picture = view.scene is not None
        self.in_plane.set_visibility(self.has_picture)
        self.truth.set_visibility(view.scene is None)
        self.key.set_visibility(self.has_picture)
        self.truth.content = Markup(view.truth)
        if view.scene is not None:
            self.plane.show(view.scene, state.tool)
            self.key.content = Markup(legend_of(view.scene))
        self.status.content = Markup(view.status)
        self.what.text = WHAT[state.builder]
        for each in (self.circuit, self.wires):
            each.set_visibility(view.circuit is not None)
        self.too_many.text = f"{view.units} units: too many to draw." if view.units > MOST_DRAWN else ""
        if view.circuit is not None:
            self.circuit.show(view.circuit)
        self.errors_card.set_visibility(bool(view.errors))
        self.errors.content = Markup(view.errors)
        self.generated_only.set_visibility(state.data in ("xor", "circles", "moons", "overlapping"))
        soft = state.builder == "backpropagation"
        self.trained = view.trained
        self.steps.set_visibility(soft)
        for each in (self.step_button, self.ten_button, self.run_button):
            each.set_enabled(not (state.iterations and view.trained))
        self.end_button.set_enabled(bool(state.iterations) and not view.trained)
        self._show_run()
        frame.show_slider(self.units, not soft)
        frame.show_slider(self.hidden, soft)
        for name, tool in self.tools.items():
            frame.pressed(tool, name == state.tool)
        self.record()


def _errors(session: NetworksSession) -> str:
    """Return the charts of errors: after each unit, or along the iterations."""
    errors = session.errors()
    if errors is not None:
        curve = Curve(range(1, len(errors) + 1), errors, MISTAKE, f"errors: {errors[-1]}")
        return chart("Errors after each unit", "units", [curve])
    clocks, losses, percents = session.path()
    if not clocks:
        return ""
    wrong = Curve(clocks, percents, MISTAKE, f"wrong: {percents[-1]:.3g}%")
    loss = Curve(clocks, losses, PINK, f"loss: {losses[-1]:.3g}")
    return chart("Misclassified, in percent", "iteration", [wrong]) + chart("Loss", "iteration", [loss])


def _truth(session: NetworksSession) -> str:
    """Return the truth table of a Boolean function, and what the network says."""
    said = session.model.predict(session.X)
    rows = [
        [*row, int(wanted > 0), f"{int(predicted > 0)} {frame.mark(wanted == predicted)}"]
        for row, wanted, predicted in zip(session.X.astype(int), session.y, said, strict=True)
    ]
    names = [f"x{j + 1}" for j in range(session.X.shape[1])]
    return frame.html_table("truth", [*names, "parity", "says"], rows)
