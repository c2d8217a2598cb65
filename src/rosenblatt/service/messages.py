"""What goes over the wire: one type for each message, read strictly, told to the OpenAPI document as it stands."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MOST_FEATURES = 10_000  # of one example
LARGEST = 1e30  # of a feature's value: squares and their sums stay far from overflow
LONGEST_NAME = 512
LONGEST_TEXT = 1 << 20
MOST_EXAMPLES = 1_000  # of one predict
DEFAULT_REASONS = 5
MODEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
Words = Annotated[str, Meta(max_length=LONGEST_NAME)]
Features = Annotated[
    dict[Name, Number | Words | bool | None],
    Meta(
        max_length=MOST_FEATURES,
        description="A number counts as it is; text becomes name=value; true is 1; false and null are nothing.",
    ),
]
Vector = Annotated[
    list[Number], Meta(max_length=MOST_FEATURES, description="Its numbers are the features x0, x1 …")
]
Text = Annotated[
    str, Meta(max_length=LONGEST_TEXT, description="Cut into words; each is the feature text:word.")
]
Label = (
    Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)] | Annotated[int, Meta(ge=-(2**53), le=2**53)]
)
Key = Annotated[str, Meta(min_length=1, max_length=128)]
PredictionId = Annotated[str, Meta(min_length=1, max_length=64)]
Reasons = Annotated[int, Meta(ge=0, le=100, description="How many reasons to give, the weightiest first.")]


class Message(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Base of every request: a field that is not known is an error, not an accident."""


class Example(Message, kw_only=True):
    """What is known of one thing: features, a vector, text, or several of them together."""

    features: Features | UnsetType = UNSET
    vector: Vector | UnsetType = UNSET
    text: Text | UnsetType = UNSET


class Predict(Example, kw_only=True):
    """One example, or many under ``examples``."""

    examples: Annotated[list[Example], Meta(max_length=MOST_EXAMPLES)] | UnsetType = UNSET
    reasons: Reasons = DEFAULT_REASONS


class Feedback(Example, kw_only=True):
    """The truth about a prediction, named by its id, or about an example given here."""

    label: Label
    prediction: PredictionId | UnsetType = UNSET
    key: Key | UnsetType = UNSET


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model learns and predicts; fixed when it is made."""

    hypothesis: Literal["averaged", "last"] = "averaged"
    rule: str = "rosenblatt"
    parameters: dict[str, Annotated[float, Meta(ge=-1e6, le=1e6)]] = {}
    multi_class: Literal["joint", "ovr"] = "joint"
    fit_intercept: bool = True
    hash_bits: Annotated[int, Meta(ge=0, le=24)] = 0
    forget: Annotated[float, Meta(ge=1.0, le=1e12)] | None = None
    labels: Literal["text", "integer"] = "text"
    classes: Annotated[list[Label], Meta(max_length=1_000)] = []
    undecided_below: Annotated[float, Meta(ge=0.0, le=LARGEST)] = 0.0
    ngrams: tuple[Annotated[int, Meta(ge=1, le=5)], Annotated[int, Meta(ge=1, le=5)]] = (1, 1)
    lowercase: bool = True
    binary: bool = True


class Reason(Struct, gc=False):
    """What one feature added to the lead of a label over the next best."""

    feature: str
    contribution: float


class Prediction(Struct, gc=False):
    """What the model says of one example."""

    id: str
    label: Label | None  # none before any class is known
    score: float  # two classes: above zero speaks for the second in order; more: the label's own
    margin: float  # how far the label is ahead of the next best
    undecided: bool  # nothing is ahead, or not by as much as the model asks for
    reasons: list[Reason]


class Predictions(Struct):
    """What the model says of many examples, in their order."""

    predictions: list[Prediction]


class Moved(Struct, gc=False):
    """A feature whose weight moved: what it says for the true label, before and after."""

    feature: str
    before: float
    after: float


class Change(Struct, omit_defaults=True, gc=False):
    """What a feedback did."""

    seq: int  # its place in the journal
    repeated: bool  # its key had been seen: nothing was learned again
    right: bool | None = None  # whether the model had it right before
    predicted: Any = None
    score: float | None = None  # before
    moved: bool | None = None  # whether the rule moved any weight
    label: Any = None  # what the model says of the example now
    changed: list[Moved] = []
    clock: int | None = None  # examples learned from, with this one
    error: str | None = None


class Learned(Struct):
    """What a bulk of examples did."""

    learned: int
    repeated: int
    mistakes: int  # predicted wrongly before they were learned from
    last_seq: int


class LedgerLine(Struct, gc=False):
    """One line of the ledger: an example that was told wrong, or that moved the weights."""

    seq: int
    clock: int
    label: Any
    predicted: Any
    score: float
    moved: bool
    mistakes: int  # told wrong so far, this one included
    updates: int  # of the weights so far, this one included


class Ledger(Struct):
    """Lines in their order; ``next`` is where to go on, none at the end."""

    lines: list[LedgerLine]
    next: int | None


class ModelInfo(Struct):
    """A model and how it stands."""

    name: str
    settings: ModelSettings
    classes: list[Any]
    features: int
    clock: int  # examples learned from
    mistakes: int  # told wrong before they were learned from
    accuracy: float | None  # progressive: told right before being learned from
    updates: int
    radius: float
    seq: int  # of its last feedback in the journal
    snapshot_seq: int  # what its newest snapshot holds
    fingerprint: str | None = None


class ModelOffline(Struct):
    """A model that cannot be rebuilt from its journal, and why."""

    name: str
    reason: str


class ModelList(Struct, omit_defaults=True):
    """All models; those under ``offline`` answer 503 until they are repaired or deleted."""

    models: list[ModelInfo]
    offline: list[ModelOffline] = []


class Part(Struct):
    """What one feature adds to a score, exactly."""

    feature: str
    value: float
    weight: float
    contribution: float


class Explained(Struct):
    """Why an example gets its score: the contributions sum exactly to it."""

    label: Any
    against: Any
    score: float
    parts: list[Part]


class Portrait(Struct):
    """What speaks for a class."""

    label: Any
    bias: float
    features: list[Reason]


class Portraits(Struct):
    """What each class looks for."""

    classes: list[Portrait]


class Problem(Struct, omit_defaults=True):
    """What went wrong: a short word for programs, a sentence for people, and the request it speaks of."""

    error: str
    message: str
    request_id: str
    learned: Learned | None = None  # what a bulk had learned before, durably
