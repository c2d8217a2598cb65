"""ONNX graphs of forms: input ``x``, outputs ``label``, ``probabilities`` and ``scores``, all numbers doubles."""

from typing import Any

import numpy as np

from rosenblatt.data.tables.preprocess import Preprocessing
from rosenblatt.export.form import Form, KernelForm
from rosenblatt.learner.calibration import SMALLEST, Link
from rosenblatt.learner.kernel.kernels import RBF, Poly

OPSET, IR_VERSION = 17, 8


class Graph:
    """Nodes and constants of a graph under construction."""

    def __init__(self) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError:
            raise ImportError("an ONNX graph needs onnx: pip install 'rosenblatt[onnx]'") from None
        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        """Add a constant and return its name."""
        array = np.asarray(value)
        if array.dtype.kind in "USO":
            text = [str(each).encode() for each in array]
            tensor = self.helper.make_tensor(name, 8, [len(text)], text)  # 8: strings
        else:
            tensor = self.numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        return name

    def add(self, operation: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        self.nodes.append(self.helper.make_node(operation, inputs, [output], **attributes))
        return output


def graph_of(form: Form | KernelForm) -> bytes:
    """Return the bytes of a checked ONNX model."""
    graph = Graph()
    return _model(graph, form, outputs_of(graph, form))


def outputs_of(
    graph: Graph, form: Form | KernelForm, column: bool = False
) -> list[tuple[str, int, list[Any]]]:
    """Add the nodes of a form; return name, type and shape of every output.

    A single score is a vector like that of ``decision_function``, or a column with ``column``.
    """
    scores = _linear(graph, form) if isinstance(form, Form) else _kernel(graph, form)
    columns = len(form.bias)
    flat = columns == 1 and not column
    if flat:
        scores = graph.add("Squeeze", [scores, graph.constant("second", np.array([1], np.int64))], "scores")
    else:
        scores = graph.add("Identity", [scores], "scores")
    outputs = [("scores", 11, ["rows"] if flat else ["rows", columns])]  # 11: doubles
    if form.classes is not None:
        outputs.insert(0, _label(graph, scores, form.classes, flat))
        if form.link is not None:
            outputs.insert(1, _probabilities(graph, scores, form.link, flat, len(form.classes)))
    return outputs


def _linear(graph: Graph, form: Form) -> str:
    x = "x"
    if form.absent is not None:
        absent = graph.add("IsNaN", [x], "absent")
        x = graph.add("Where", [absent, graph.constant("nothing_there", np.float64(0.0)), x], "present")
    if form.above is not None:
        counted = graph.add("Greater", [x, graph.constant("above", form.above)], "counted")
        if form.absent is not None:
            counted = graph.add("And", [counted, graph.add("Not", ["absent"], "there")], "counted_there")
        x = graph.add("Cast", [counted], "binary", to=11)
    weights = graph.constant("weights", np.ascontiguousarray(form.weights.T))
    product = graph.add("MatMul", [x, weights], "product")
    if form.absent is not None:
        gaps = graph.add("Cast", ["absent"], "gaps", to=11)
        of_gaps = graph.constant("absent_weights", np.ascontiguousarray(form.absent.T))
        product = graph.add("Add", [product, graph.add("MatMul", [gaps, of_gaps], "of_gaps")], "with_gaps")
    return graph.add("Add", [product, graph.constant("bias", form.bias)], "all_scores")


def _prepared(graph: Graph, preprocessing: Preprocessing) -> str:
    """Add the nodes of :meth:`Preprocessing.apply`; return the name of the prepared rows."""
    n = preprocessing.raw_features
    numeric = list(range(n) if preprocessing.numeric is None else preprocessing.numeric)
    fill, centre, spread = np.zeros(n), np.zeros(n), np.ones(n)
    fill[numeric] = preprocessing.fill
    if preprocessing.centre is not None and preprocessing.spread is not None:
        centre[numeric], spread[numeric] = preprocessing.centre, preprocessing.spread
    x = "x"
    if preprocessing.missing not in ("refuse", "drop"):
        absent = graph.add("IsNaN", [x], "absent")
        x = graph.add("Where", [absent, graph.constant("fill", fill), x], "filled")
    x = graph.add("Sub", [x, graph.constant("centre", centre)], "centred")
    x = graph.add("Div", [x, graph.constant("spread", spread)], "scaled")
    if preprocessing.indicators:
        which = graph.constant("indicators", np.array(preprocessing.indicators, np.int64))
        gaps = graph.add("Gather", ["absent", which], "gaps", axis=1)
        x = graph.add("Concat", [x, graph.add("Cast", [gaps], "of_gaps", to=11)], "prepared", axis=1)
    return x


def _kernel(graph: Graph, form: KernelForm) -> str:
    kernel, support = form.kernel, form.support
    x = "x" if form.preprocessing is None else _prepared(graph, form.preprocessing)
    rows = graph.constant("support", np.ascontiguousarray(support.T))
    values = graph.add("MatMul", [x, rows], "products")
    if isinstance(kernel, Poly):
        values = graph.add("Mul", [values, graph.constant("gamma", np.float64(kernel.gamma))], "stretched")
        values = graph.add("Add", [values, graph.constant("coef0", np.float64(kernel.coef0))], "base")
        values = graph.add("Pow", [values, graph.constant("degree", np.float64(kernel.degree))], "values")
    elif isinstance(kernel, RBF):
        squares = graph.add("Mul", [x, x], "squares")
        second = graph.constant("across", np.array([1], np.int64))
        norms = graph.add("ReduceSum", [squares, second], "norms", keepdims=1)
        twice = graph.add("Mul", [values, graph.constant("two", np.float64(2.0))], "twice")
        nearer = graph.add("Sub", [twice, norms], "nearer")
        minus = graph.add(
            "Sub", [nearer, graph.constant("norms_of_support", (support**2).sum(axis=1))], "minus"
        )
        scaled = graph.add("Mul", [minus, graph.constant("gamma", np.float64(kernel.gamma))], "exponent")
        values = graph.add(
            "Exp", [graph.add("Min", [scaled, graph.constant("zero", np.float64(0))], "cut")], "values"
        )
    product = graph.add("MatMul", [values, graph.constant("coefficients", form.coefficients)], "sum")
    return graph.add("Add", [product, graph.constant("bias", form.bias)], "all_scores")


def _label(graph: Graph, scores: str, classes: Any, flat: bool) -> tuple[str, int, list[Any]]:
    if flat:
        zero = graph.constant("nothing", np.float64(0.0))
        positive = graph.add("Greater", [scores, zero], "positive")
        place = graph.add("Cast", [positive], "place", to=7)  # 7: int64
        classes = classes[[0, -1]]
    else:
        place = graph.add("ArgMax", [scores], "place", axis=1, keepdims=0)
    text = np.asarray(classes).dtype.kind in "USO"
    known = classes if text else _numbers(classes)
    graph.add("Gather", [graph.constant("classes", known), place], "label", axis=0)
    kind = 8 if text else 7 if known.dtype == np.int64 else 11
    return "label", kind, ["rows"]


def _probabilities(
    graph: Graph, scores: str, link: Link, flat: bool, classes: int
) -> tuple[str, int, list[Any]]:
    """Add the probabilities; ``flat``: of two classes with one score."""
    name, shape = "probabilities", ["rows", classes]
    if link.method == "softmax":
        return graph.add("Softmax", [scores], name, axis=1), 11, shape
    across = graph.constant("classes_axis", np.array([1], np.int64))
    if flat:
        columns = graph.add("Unsqueeze", [scores, across], "columns")
    elif link.method == "one-vs-rest":
        columns = scores
    else:  # the gap between the score of each class and that of its best rival
        two = graph.constant("two_best", np.array([2], np.int64))
        graph.nodes.append(graph.helper.make_node("TopK", [scores, two], ["best_two", "best_places"], axis=1))
        first, second = (
            graph.add(
                "Gather",
                ["best_two", graph.constant(f"rank_{k}", np.array([k], np.int64))],
                f"best_{k}",
                axis=1,
            )
            for k in range(2)
        )
        every = graph.constant("every_class", np.arange(classes, dtype=np.int64))
        leader = graph.add("Gather", ["best_places", "rank_0"], "leader", axis=1)
        leads = graph.add("Equal", [leader, every], "leads")
        rival = graph.add("Where", [leads, second, first], "rival")
        columns = graph.add("Sub", [scores, rival], "columns")
    if link.method == "venn-abers":
        each = _steps(graph, columns, link)
    else:
        if link.method == "platt":
            columns = graph.add("Mul", [columns, graph.constant("slope", link.slope)], "sloped")
            columns = graph.add("Add", [columns, graph.constant("offset", link.offset)], "log_odds")
        each = graph.add("Sigmoid", [columns], "each")
    if flat:
        rest = graph.add("Sub", [graph.constant("whole", np.float64(1.0)), each], "rest")
        return graph.add("Concat", [rest, each], name, axis=1), 11, shape
    if link.method != "one-vs-rest":
        each = graph.add("Max", [each, graph.constant("smallest", np.float64(SMALLEST))], "each_at_least")
    total = graph.add("ReduceSum", [each, across], "total", keepdims=1)
    return graph.add("Div", [each, total], name), 11, shape


def _steps(graph: Graph, columns: str, link: Link) -> str:
    """Add the step functions, one per column."""
    values = []
    for c, (edges, steps) in enumerate(zip(link.edges, link.values, strict=True)):
        place = graph.constant(f"column_{c}", np.array([c], np.int64))
        own = graph.add("Gather", [columns, place], f"own_{c}", axis=1)
        above = graph.add("GreaterOrEqual", [own, graph.constant(f"edges_{c}", edges)], f"above_{c}")
        counts = graph.add("Cast", [above], f"counts_{c}", to=7)
        group = graph.add("ReduceSum", [counts, "classes_axis"], f"group_{c}", keepdims=1)
        values.append(graph.add("Gather", [graph.constant(f"steps_{c}", steps), group], f"value_{c}", axis=0))
    return graph.add("Concat", values, "each", axis=1)


def _numbers(classes: Any) -> Any:
    return np.asarray(classes).astype(np.float64 if np.asarray(classes).dtype.kind == "f" else np.int64)


def _model(graph: Graph, form: Form | KernelForm, outputs: list[tuple[str, int, list[Any]]]) -> bytes:
    import onnx

    from rosenblatt import __version__

    width = form.weights.shape[1] if isinstance(form, Form) else form.support.shape[1]
    if isinstance(form, KernelForm) and form.preprocessing is not None:
        width = form.preprocessing.raw_features
    onnx_graph = graph.helper.make_graph(
        graph.nodes,
        "rosenblatt",
        [graph.helper.make_tensor_value_info("x", 11, ["rows", width])],
        [graph.helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs],
        graph.constants,
    )
    opset = graph.helper.make_opsetid("", OPSET)
    model = graph.helper.make_model(
        onnx_graph, opset_imports=[opset], producer_name="rosenblatt", producer_version=__version__
    )
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())
