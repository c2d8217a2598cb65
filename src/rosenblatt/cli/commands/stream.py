"""``rosenblatt stream``: predict, then learn, one example after the other, and say how it goes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli import signals
from rosenblatt.cli.errors import ExitCode, refuse
from rosenblatt.cli.output import counted, note
from rosenblatt.cli.progress import Meter, in_words
from rosenblatt.cli.reading import note_oddities, read_options, refuse_overwriting
from rosenblatt.rules import BY_NAME, to_dict

if TYPE_CHECKING:
    from rosenblatt.data import Examples
    from rosenblatt.streams.names import NameSketch
    from rosenblatt.streams.rows_learner import RowsLearner


def stream(
    source: opt.Source = "-",
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", metavar="FILE", help="Go on from this model if it is there, and write it."
        ),
    ] = None,
    every: Annotated[
        int, typer.Option("--every", help="Report, and write the model, after so many rows.")
    ] = 10_000,
    target: opt.Target = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", help=f"One of {', '.join(BY_NAME)}.", show_default="rosenblatt"),
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="A parameter of the rule.")
    ] = None,
    hypothesis: Annotated[
        Literal["last", "averaged", "voted", "survivor", "random"] | None,
        typer.Option("--hypothesis", help="What predicts.", show_default="averaged"),
    ] = None,
    forget: Annotated[
        float | None,
        typer.Option("--forget", help="Half-life of the average in rows, for streams that drift."),
    ] = None,
    hash_bits: Annotated[
        int | None,
        typer.Option(
            "--hash-bits", help="Hash names into 2^N features; 0 keeps every name.", show_default="0"
        ),
    ] = None,
    multi_class: Annotated[
        Literal["joint", "ovr"] | None,
        typer.Option("--multi-class", help="As of fit.", show_default="joint"),
    ] = None,
    no_intercept: opt.NoIntercept = False,
    skip_bad: opt.SkipBad = False,
    format: opt.InputFormat = None,
    header: opt.Header = None,
    text: opt.TextColumns = None,
    zero_based: opt.ZeroBased = None,
    json: opt.AsJson = False,
) -> None:
    """Predict each example, then learn from it.

    \b
    Examples:
      cat events.jsonl | rosenblatt stream --target label --model m.safetensors --every 10000
      rosenblatt stream mail.mbox --model mail.safetensors
      rosenblatt stream 'logs/*.csv' --target y --forget 5000 --json
    """
    from rosenblatt.cli.rule_parameters import rule_of
    from rosenblatt.data import open_examples
    from rosenblatt.streams.model_file import load_stream
    from rosenblatt.streams.names import NameSketch, listen
    from rosenblatt.streams.rows_learner import RowsLearner

    if every < 1:
        refuse(f"--every must be 1 or more, got {every}")
    schema = None
    told: dict[str, Any] = {}
    if model is not None:
        refuse_overwriting(model, source)
    if model is not None and Path(model).exists():
        learner, schema, told = load_stream(model, RowsLearner)
        began = learner.learner
        own_rule = to_dict(began.rule)
        asked_rule = to_dict(rule_of(rule or own_rule["name"], param)) if rule or param else own_rule
        _refuse_another(
            model,
            {
                "--rule": (_options_of(asked_rule), _options_of(own_rule)),
                "--hypothesis": (hypothesis, learner.hypothesis),
                "--forget": (forget, learner.forget),
                "--hash-bits": (hash_bits, getattr(schema, "bits", 0)),
                "--multi-class": (multi_class, began.multi_class),
                "--no-intercept": (no_intercept or None, not began.bias_input),
            },
        )
    else:
        learner = RowsLearner(
            hypothesis or "averaged",
            rule=rule_of(rule or "rosenblatt", param),
            multi_class=multi_class or "joint",
            fit_intercept=not no_intercept,
            forget=forget,
        )
    examples = open_examples(
        source,
        read_options(
            target=target,
            format=format,
            zero_based=zero_based,
            skip_bad=skip_bad,
            header=header,
            text=text,
            hash_bits=hash_bits or 0,
            grow=True,
            at_once=True,
        ),
        schema=schema,
        batch_rows=None,
    )
    sketch = told.get("names") or NameSketch()
    listen(examples, sketch)
    run = _Run(learner, examples, model, every, json, int(told.get("right", 0)), sketch, Meter(source))
    try:
        run.all()
    except KeyboardInterrupt:
        if run.rows:
            run.finish()
        note(f"interrupted after {counted(run.rows, 'row')}" + _left(model, run.rows))
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    run.finish()
    note_oddities(examples)


def _refuse_another(model: str, options: dict[str, tuple[Any, Any]]) -> None:
    """Refuse options (value asked for or None, value of the model) that an existing model was not trained with."""
    for option, (asked, own) in options.items():
        if asked is not None and asked != own:
            trained = f"with {option} {own}" if own not in (None, False) else f"without {option}"
            refuse(f"{model} exists and was trained {trained}: omit the option, or choose another --model")


def _options_of(rule: dict[str, Any]) -> str:
    """Return what follows ``--rule`` on a command line that asks for this rule."""
    return " ".join(
        [rule["name"], *(f"--param {key}={value}" for key, value in rule.items() if key != "name")]
    )


def _left(model: str | None, rows: int) -> str:
    """Say what an interrupt leaves of a model."""
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
        right: int,
        sketch: "NameSketch",
        meter: Meter,
    ) -> None:
        self.sketch, self.meter = sketch, meter
        self.learner, self.examples, self.model = learner, examples, model
        self.every, self.json = every, json
        self.rows = self.reported = 0
        self.before = learner.rows  # rows of earlier runs
        self.right, self.right_before = 0, right
        self.recent = 0
        self.first_index: int | None = None  # of the rows learned from, in LIBSVM text

    def all(self) -> None:
        for batch in self.examples:
            signals.check_interrupt()
            if batch.y is None:
                refuse(f"{self.examples.path}: no labels to learn from")
            if batch.first_index == 0 and self.first_index == 1:
                self.learner.insert_first_feature()
            self.first_index = batch.first_index
            at = 0
            while at < batch.lines.size:
                stop = min(batch.lines.size, at + self.every - (self.rows - self.reported))
                weight = None if batch.weight is None else batch.weight[at:stop]
                right = self.learner.progress(batch.X[at:stop], batch.y[at:stop], weight)
                self.rows += stop - at
                self.right += int(right.sum())
                self.recent += int(right.sum())
                at = stop
                if self.rows - self.reported >= self.every:
                    self.report()

    def report(self) -> None:
        """Say where the stream stands, and write the model."""
        since = self.rows - self.reported
        self.sketch.prune(self.learner.learner.W)
        told: dict[str, Any] = {
            "rows": self.before + self.rows,
            "accuracy": round((self.right_before + self.right) / max(self.before + self.rows, 1), 6),
            "recent_accuracy": round(self.recent / max(since, 1), 6),
            "recent_rows": since,
            "mistakes": int(self.learner.learner.mistakes),
            "updates": int(self.learner.learner.updates),
            "classes": len(self.learner.labels),
            "features": self.examples.n_features,
            "progressive_loss": 0.0,
            **self.meter.told(self.rows),
            "skipped": self.examples.skipped.total,
        }
        told["progressive_loss"] = round(1.0 - told["accuracy"], 6)
        self._write()
        if self.json:
            import json

            print(json.dumps(told), flush=True)
        else:
            print(
                f"{told['rows']:>12,} rows  accuracy {told['accuracy']:.4f}  "
                f"last {since:,}: {told['recent_accuracy']:.4f}  "
                f"{counted(told['features'], 'feature')}  {in_words(told)}",
                flush=True,
            )
        self.reported, self.recent = self.rows, 0

    def finish(self) -> None:
        """Report what came after the last report."""
        if self.rows > self.reported or not self.reported:
            self.report()

    def _write(self) -> None:
        if self.model is not None and self.rows:
            from rosenblatt.streams.model_file import save_stream

            schema, right = self.examples.schema, self.right_before + self.right
            hashed = self.sketch if getattr(schema, "bits", 0) else None
            save_stream(self.learner, self.model, schema, {"right": right}, hashed)
