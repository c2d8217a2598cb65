"""The command reference, written from the commands themselves: ``{commands}`` lists each with its help and options."""

import inspect
import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive


class Commands(Directive):
    """Every command of the app, one section each."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        import typer.main

        from rosenblatt.cli.app import app

        self.state.document.settings.env.note_reread()  # the code may have changed where the page has not
        group: Any = typer.main.get_command(app)
        sections: list[nodes.Node] = []
        for name, command in every(group):
            section = nodes.section(ids=[nodes.make_id(f"rosenblatt {name}")])
            section += nodes.title("", f"rosenblatt {name}")
            section += described(command, name)
            self.state.document.note_implicit_target(section, section)
            sections.append(section)
        return sections


def every(group: Any, before: str = "") -> list[tuple[str, Any]]:
    """Return every command by what is typed for it; a command of commands stands for those in it."""
    found: list[tuple[str, Any]] = []
    for name, command in group.commands.items():
        typed = f"{before}{name}"
        found += every(command, f"{typed} ") if hasattr(command, "commands") else [(typed, command)]
    return found


def described(command: Any, name: str) -> list[nodes.Node]:
    """Return what a command says of itself: sentences, examples, arguments, options."""
    out: list[nodes.Node] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        text = paragraph.replace("\b", "").strip("\n")
        if text.lstrip().startswith("Examples:"):
            lines = inspect.cleandoc(text.partition("Examples:")[2])
            out.append(nodes.literal_block(lines, lines, language="console"))
        elif text.strip():
            out.append(sentences(text))
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(["rosenblatt", name, *command.collect_usage_pieces(context)])
    out.insert(1, nodes.literal_block(usage, usage, language="text"))
    rows = [row for parameter in command.get_params(context) if (row := told(parameter, context))]
    out.append(table(rows))
    return out


def sentences(text: str) -> nodes.paragraph:
    """Return a paragraph in which options look like options, and keep their two dashes."""
    parts = re.split(r"(--[a-z][\w-]*)", " ".join(text.split()))
    made: list[nodes.Node] = [
        nodes.literal("", part) if at % 2 else nodes.Text(part) for at, part in enumerate(parts)
    ]
    return nodes.paragraph("", "", *made)


def told(parameter: Any, context: Any) -> tuple[str, str] | None:
    """Return how an argument or option is written, and what it means; None for a hidden one."""
    if getattr(parameter, "hidden", False):
        return None
    record = parameter.get_help_record(context)
    if record is None:
        return parameter.make_metavar(context), getattr(parameter, "help", "") or ""
    return record


def table(rows: list[tuple[str, str]]) -> nodes.table:
    """Return a table of two columns."""
    whole, group = nodes.table(classes=["options"]), nodes.tgroup(cols=2)
    group += [nodes.colspec(colwidth=35), nodes.colspec(colwidth=65)]
    body = nodes.tbody()
    for written, meaning in rows:
        row = nodes.row()
        row += nodes.entry("", nodes.paragraph("", "", nodes.literal("", written)))
        row += nodes.entry("", sentences(meaning))
        body += row
    group += body
    whole += group
    return whole


def setup(app: Any) -> dict[str, Any]:
    """Offer the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
