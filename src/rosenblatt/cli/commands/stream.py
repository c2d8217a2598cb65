"""``rosenblatt stream``: predict, then learn, one example after the other, and report the accuracy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli import signals
from rosenblatt.cli.errors import ExitCode, refuse, refuse_data
from rosenblatt.cli.flags import flag
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import counted, note, share
from rosenblatt.cli.progress import Meter, describe
from rosenblatt.cli.reading import TABLES, note_oddities, refuse_overwriting

if TYPE_CHECKING:
    from rosenblatt.data import Examples
    from rosenblatt.streams.names import NameSketch
    from rosenblatt.streams.rows_learner import RowsLearner

LEARNER = "Learner"
MOST_FRACTIONS = 10  # different labels with fractions: more are measurements


def stream(
    data: opt.StreamDataFlags,
    source: opt.Source = STANDARD_INPUT,
    rule: Annotated[
        str | None,
        flag("--rule", group=LEARNER, help=f"One of {', '.join(opt.RULES)}.", show_default="--auto"),
    ] = None,
    param: Annotated[
        list[str] | None,
        flag(
            "--param", group=LEARNER, metavar="NAME=VALUE", help="A parameter of the rule; may be repeated."
        ),
    ] = None,
    hypothesis: Annotated[
        Literal["last", "averaged", "voted", "survivor", "random"] | None,
        flag(
            "--hypothesis",
            group=LEARNER,
            help="The hypothesis that predicts.",
            show_default="averaged, with --rule",
        ),
    ] = None,
    auto: Annotated[
        bool,
        flag(
            "--auto",
            group=LEARNER,
            help="Train several rules; the one with the fewest recent mistakes predicts. The default.",
        ),
    ] = False,
    scale: Annotated[
        bool | None,
        flag(
            "--scale/--no-scale",
            group=LEARNER,
            help="Standardise features by running statistics.",
            show_default="--scale, but for LIBSVM and VW",
        ),
    ] = None,
    half_life: Annotated[
        float | None,
        flag(
            "--half-life",
            group=LEARNER,
            metavar="ROWS",
            help="Half-life of the averaged weights, in rows, for streams that drift.",
        ),
    ] = None,
    multi_class: Annotated[
        Literal["joint", "ovr"] | None,
        flag(
            "--multi-class",
            group=LEARNER,
            rare=True,
            help="Three or more classes: the true class against its best rival, or each class against the rest.",
            show_default="joint",
        ),
    ] = None,
    no_intercept: opt.NoIntercept = False,
    hash_bits: opt.HashBits = None,
    model: Annotated[
        str | None,
        flag(
            "--model",
            "-m",
            group=opt.OUTPUT,
            metavar="FILE",
            help="Continue from this model file if it exists, and write it.",
        ),
    ] = None,
    every: Annotated[
        int,
        flag(
            "--every",
            group=opt.OUTPUT,
            metavar="ROWS",
            help="Report, and write the model, each time after this many rows.",
        ),
    ] = 10_000,
    forget: Annotated[float | None, flag("--forget", hidden=True, help="Now --half-life.")] = None,
    json: opt.AsJson = False,
) -> None:
    """Predict each example, then learn from it.

    \b
    Examples:
      cat events.jsonl | rosenblatt stream --target label -m m.safetensors
      rosenblatt stream mail.mbox --model mail.safetensors
      rosenblatt stream 'logs/*.csv' --target y --half-life 5000 --json
    """
    from rosenblatt.data import open_examples
    from rosenblatt.learner.models.options import parse_parameters, rule_from
    from rosenblatt.rules import to_dict
    from rosenblatt.streams.model_file import load_stream
    from rosenblatt.streams.names import NameSketch, collect_names
    from rosenblatt.streams.rows_learner import AUTO, RowsLearner

    if every < 1:
        refuse(f"--every must be 1 or more, got {every}")
    single = bool(rule or param or hypothesis)
    if auto and single:
        refuse(
            "--auto chooses rule and hypothesis: leave out --auto, or leave out --rule, --param and --hypothesis"
        )
    if forget is not None:
        note(f"--forget {forget:g} is now --half-life {forget:g}")
        half_life = forget
    schema = None
    stored: dict[str, Any] = {}
    parameters = parse_parameters(param)
    if model is not None:
        refuse_overwriting(model, source)
    if model is not None and Path(model).exists():
        learner, schema, stored = load_stream(model, RowsLearner)
        trained = learner.learner
        own_rule = to_dict(trained.rule)
        requested_rule = (
            _options_of(to_dict(rule_from(rule or own_rule["name"], parameters))) if rule or param else None
        )
        chosen = learner.hypothesis == AUTO
        _refuse_another(
            model,
            {
                "--auto": (auto or None, chosen),
                "--rule": (requested_rule, None if chosen else _options_of(own_rule)),
                "--hypothesis": (hypothesis, None if chosen else learner.hypothesis),
                "--scale": (scale, learner.statistics is not None),
                "--half-life": (half_life, learner.forget),
                "--hash-bits": (hash_bits, getattr(schema, "bits", 0)),
                "--multi-class": (multi_class, trained.multi_class),
                "--no-intercept": (no_intercept or None, not trained.bias_input),
            },
        )
    else:
        learner = RowsLearner(
            (hypothesis or "averaged") if single else AUTO,
            rule=rule_from(rule, parameters) if single else None,
            multi_class=multi_class or "joint",
            fit_intercept=not no_intercept,
            forget=half_life,
            scale=scale is not False,
        )
    examples = open_examples(
        source,
        data.read_options(hash_bits=hash_bits or 0, classes=True, grow=True, at_once=True),
        schema=schema,
        batch_rows=None,
    )
    if data.words == "tfidf" and examples.format in TABLES:
        refuse("--words tfidf: the rows of a table that arrives are not counted; choose counts or binary")
    if not stored and scale is None and examples.format in ("libsvm", "vw"):
        learner.statistics = None  # prepared vectors are scaled only on request
    sketch = stored.get("names") or NameSketch()
    collect_names(examples, sketch)
    right = int(stored.get("right", 0))
    predicted = int(stored.get("predicted", learner.rows if "right" in stored else 0))
    run = _Run(learner, examples, model, every, json, (right, predicted), sketch, Meter(source))
    try:
        run.all()
    except KeyboardInterrupt:
        if run.rows:
            run.finish()
        note(f"interrupted after {counted(run.rows, 'row')}" + _saved(model, run.rows))
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    run.finish()
    note_oddities(examples)


def _refuse_another(model: str, options: dict[str, tuple[Any, Any]]) -> None:
    """Refuse options (requested value or None, value of the model) that an existing model was not trained with."""
    for option, (requested, own) in options.items():
        if requested is not None and requested != own:
            value = "" if own is True else f" {own}"
            trained = f"with {option}{value}" if own not in (None, False) else f"without {option}"
            refuse(f"{model} exists and was trained {trained}: omit the option, or choose another --model")


def _options_of(rule: dict[str, Any]) -> str:
    """Return what follows ``--rule`` on a command line that asks for this rule."""
    return " ".join(
        [rule["name"], *(f"--param {key}={value}" for key, value in rule.items() if key != "name")]
    )


def _saved(model: str | None, rows: int) -> str:
    """Return what an interrupt leaves of a model."""
    if model is None:
        return ""
    return f"; {model} is as it was then" if rows or Path(model).exists() else f"; {model} is not written"


class _Run:
    """A stream under way: counts, reports, and a model written at every report."""

    def __init__(
        self,
        learner: "RowsLearner",
        examples: "Examples",
        model: str | None,
        every: int,
        json: bool,
        before: tuple[int, int],
        sketch: "NameSketch",
        meter: Meter,
    ) -> None:
        self.sketch, self.meter = sketch, meter
        self.learner, self.examples, self.model = learner, examples, model
        self.every, self.json = every, json
        self.rows = self.reported = 0
        # Of earlier streams: rows predicted right, and rows predicted; rows that fit learned from were not.
        self.right_before, self.before = before
        self.right = 0
        self.recent = 0
        self.numbers_noted = False
        # Rows of this run with the label of the row before, which is ``label_before`` for the next one.
        self.repeats = 0
        self.label_before: Any = None
        self.first_index: int | None = None  # of the rows learned from, in LIBSVM text

    def all(self) -> None:
        for batch in self.examples:
            signals.check_interrupt()
            if batch.y is None:
                refuse_data(f"{self.examples.path}: no labels to learn from")
            if batch.first_index == 0 and self.first_index == 1:
                self.learner.insert_first_feature()
            self.first_index = batch.first_index
            at = 0
            while at < batch.lines.size:
                stop = min(batch.lines.size, at + self.every - (self.rows - self.reported))
                weight = None if batch.weight is None else batch.weight[at:stop]
                labels = batch.y[at:stop]
                right = self.learner.progress(batch.X[at:stop], labels, weight)
                self.repeats += int((labels[1:] == labels[:-1]).sum()) + int(labels[0] == self.label_before)
                self.label_before = labels[-1]
                self.rows += stop - at
                self.right += int(right.sum())
                self.recent += int(right.sum())
                at = stop
                if self.rows - self.reported >= self.every:
                    self.report()

    def report(self) -> None:
        """Report the accuracy so far, and write the model."""
        since = self.rows - self.reported
        self.sketch.prune(self.learner.learner.W)
        self._note_numbers()
        status: dict[str, Any] = {
            "rows": self.before + self.rows,
            "accuracy": round((self.right_before + self.right) / max(self.before + self.rows, 1), 6),
            "recent_accuracy": round(self.recent / max(since, 1), 6),
            "recent_rows": since,
            "repeat_accuracy": round(self.repeats / max(self.rows, 1), 6),
            "mistakes": int(self.learner.learner.mistakes),
            "updates": int(self.learner.learner.updates),
            "classes": len(self.learner.labels),
            "features": self.examples.n_features,
            "progressive_loss": 0.0,
            **self.meter.status(self.rows),
            "skipped": self.examples.skipped.total,
            **self._leader(),
        }
        status["progressive_loss"] = round(1.0 - status["accuracy"], 6)
        self._write()
        if self.json:
            import json

            print(json.dumps(status), flush=True)
        else:
            print(
                f"{status['rows']:>12,} rows  accuracy {share(status['accuracy'])}  "
                f"last {since:,}: {share(status['recent_accuracy'])}  "
                f"{counted(status['features'], 'feature')}  {describe(status)}"
                + (f"  by {status['leader']}" if "leader" in status else ""),
                flush=True,
            )
        self.reported, self.recent = self.rows, 0

    def _note_numbers(self) -> None:
        """Say once that many different labels with fractions are each a class."""
        labels = self.learner.labels
        many = len(labels) > MOST_FRACTIONS and all(isinstance(label, float) for label in labels)
        if not self.numbers_noted and many and any(not label.is_integer() for label in labels):
            note(
                f"{self.examples.path}: the target holds {len(labels):,} different numbers, and each is learned as a "
                "class: rosenblatt fit --task regression predicts numbers"
            )
            self.numbers_noted = True

    def _leader(self) -> dict[str, Any]:
        """Return what predicts under ``--auto``, and how often that changed in this run."""
        from rosenblatt.streams.rows_learner import leader_name

        if not self.learner.candidates:
            return {}
        name = leader_name(self.learner.learner.rule, self.learner.predicting)
        return {"leader": name, "leader_changes": self.learner.leader_changes_in_all}

    def finish(self) -> None:
        """Report what came after the last report."""
        if self.rows > self.reported or not self.reported:
            self.report()
        if self.repeats > self.right:
            note(
                f"repeating the label of the row before would be right on {share(self.repeats / self.rows)} of these "
                f"rows, which is more than {share(self.right / self.rows)}: if that label is known in time, make it a "
                "column"
            )

    def _write(self) -> None:
        if self.model is not None and self.rows:
            from rosenblatt.streams.model_file import save_stream

            schema = self.examples.schema
            counts = {"right": self.right_before + self.right, "predicted": self.before + self.rows}
            hashed = self.sketch if getattr(schema, "bits", 0) else None
            save_stream(self.learner, self.model, schema, counts, hashed)
