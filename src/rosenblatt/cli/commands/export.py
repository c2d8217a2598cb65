"""``rosenblatt export``: a model as an ONNX graph, or as source that runs anywhere."""

from typing import Any

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import note
from rosenblatt.cli.reading import output_file, refuse_overwriting
from rosenblatt.learner.models import load


def export(
    model: opt.ModelFile,
    out: opt.OutputArgument = None,
    output: opt.RequiredOutput = None,
    hypothesis: opt.Hypothesis = None,
) -> None:
    """Write a model as an ONNX graph, or as Python, C or SQL source.

    \b
    Examples:
      rosenblatt export m.safetensors -o m.onnx
      rosenblatt export m.safetensors -o model.c
      rosenblatt export m.safetensors -o model.sql --hypothesis last

    The suffix of the file name chooses the format: FILE.onnx, FILE.py, FILE.c or FILE.sql.
    ONNX takes linear and kernel models, the other formats linear ones. Features are in the order of training, except
    in SQL, which uses the names of the columns. Probabilities are exported with a model that has them.
    """
    from rosenblatt.cli.commands.predict import known_hypothesis
    from rosenblatt.export import export_model
    from rosenblatt.learner.models import stored_schema
    from rosenblatt.learner.models.folds import calibration_of, score_norm

    out = output_file(out, output, "model.onnx")
    refuse_overwriting(out, model)
    trained = load(model)
    chosen = known_hypothesis(trained, model, hypothesis)
    if trained.about.get("map"):
        refuse(
            f"{model}: a model of a quadratic map is not exported; fit a boundary of the same kind with "
            "--learner kernel --kernel poly --degree 2, and export that to .onnx"
        )
    calibration = calibration_of(trained, chosen)
    link = None if calibration is None else calibration.folded(score_norm(trained, chosen))
    try:
        export_model(trained.learner, out, hypothesis=chosen, schema=stored_schema(trained), link=link)
    except (ValueError, ImportError) as error:
        refuse(f"{model}: {error}")
    print(out)
    if out.endswith(".sql"):
        for requirement in _converted_columns(stored_schema(trained)):
            note(requirement)


def _converted_columns(schema: Any) -> list[str]:
    """Return what the table of an SQL query must hold in place of text that this package reads as numbers."""
    from rosenblatt.data import TableSchema

    requirements = []
    for column in schema.columns if isinstance(schema, TableSchema) else ():
        if column.parts:
            names = " and ".join(f'"{name}"' for name in column.features)
            requirements.append(
                f"the table needs the columns {names} for the date {column.name!r} (docs: Export)"
            )
        elif column.format is not None:
            requirements.append(
                f"the table needs {column.name!r} as numbers, not as text in the notation of the file"
            )
    return requirements
