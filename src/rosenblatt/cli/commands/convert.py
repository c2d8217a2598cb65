"""``rosenblatt convert``: a source read once, written as Arrow batches that are mapped into memory ever after."""

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import counted
from rosenblatt.cli.reading import note_oddities, output_file, refuse_overwriting


def convert(
    source: opt.Source,
    data: opt.DataFlags,
    out: opt.OutputArgument = None,
    output: opt.RequiredOutput = None,
    hash_bits: opt.HashBits = None,
    json: opt.AsJson = False,
) -> None:
    """Convert examples to Arrow, which is read without parsing.

    \b
    Examples:
      rosenblatt convert data.svm.gz -o data.arrow
      rosenblatt convert 'logs/*.csv' -o logs.arrow --target y
    """
    out = output_file(out, output, "data.arrow")
    if not out.endswith((".arrow", ".ipc", ".feather")):
        refuse(f"{out}: only Arrow is written: choose a name that ends in .arrow")
    refuse_overwriting(out, source)
    from pathlib import Path

    from rosenblatt.data.arrow_batches import write_batches
    from rosenblatt.data.batch import coalesce
    from rosenblatt.data.open import open_examples
    from rosenblatt.storage import replacing

    with replacing(out) as file:
        examples = open_examples(
            source,
            data.read_options(hash_bits=hash_bits),
            batch_rows=None,
        )
        written = write_batches(file, examples, coalesce(examples))
    note_oddities(examples)
    report = {
        "source": examples.path,
        "format": examples.format,
        "out": out,
        "rows": written["rows"],
        "features": examples.n_features,
        "classes": len(written["classes"]),
        "bytes": Path(out).stat().st_size,
        "zero_based": getattr(examples, "zero_based", None),
        "skipped": [str(line) for line in examples.skipped],
        "skipped_in_all": examples.skipped.total,
    }
    if json:
        from rosenblatt.cli.output import print_json

        print_json(report)
    else:
        print(
            f"{out}: {report['rows']:,} rows, {report['features']:,} features{_first_index(report['zero_based'])}, "
            f"{counted(report['classes'], 'class', 'classes')}, {report['bytes']:,} bytes"
        )


def _first_index(zero_based: bool | None) -> str:
    """Return from where indices count."""
    return "" if zero_based is None else f" (indices from {0 if zero_based else 1})"
