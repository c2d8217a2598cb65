"""Options in groups: a dataclass of flags is one parameter of a command, and one section of its ``--help``."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

F = TypeVar("F", bound=Callable[..., Any])
OTHER = "Options"  # the section of options that name none
HELP_ALL = "--help-all"
_rare: set[str] = set()  # the options that only --help-all lists


def flag(*names: str, group: str = OTHER, rare: bool = False, help: str, **settings: Any) -> Any:
    """Return a typer option that belongs to a section of the help; a rare one is listed by ``--help-all`` only."""
    if rare:
        _rare.add(names[0].partition("/")[0])
    return typer.Option(*names, help=help, rich_help_panel=group, **settings)


def _show_all(context: typer.Context, value: bool) -> None:
    if value:
        context.meta["rosenblatt.help_all"] = True
        typer.echo(context.get_help())
        raise typer.Exit


_HELP_ALL = typer.Option(
    HELP_ALL, is_eager=True, callback=_show_all, help="Show this message with every option."
)


def flatten(command: F) -> F:
    """Return a command whose dataclass parameters are replaced by one option for each of their fields.

    The command is called with the dataclasses: what travels together is one object from the flag to its use.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        p.name: p.annotation for p in signature.parameters.values() if is_dataclass(p.annotation)
    }
    if not groups:
        return command
    help_all = inspect.Parameter(
        "help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, _HELP_ALL]
    )
    flat: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            flat.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(group, include_extras=True)
        flat += [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=hints[each.name],
            )
            for each in fields(group)
        ]

    @functools.wraps(command)
    def run(*, help_all: bool = False, **values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        return command(**values)

    run.__signature__ = signature.replace(parameters=[*flat, help_all])  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run  # type: ignore[return-value]


def arguments_of(flags: Any) -> list[str]:
    """Return the arguments that would be typed for a dataclass of flags: the options that are not their defaults."""
    hints = get_type_hints(type(flags), include_extras=True)
    arguments: list[str] = []
    for each in fields(flags):
        value = getattr(flags, each.name)
        if value == each.default or value is None:
            continue
        option = next(part for part in hints[each.name].__metadata__ if hasattr(part, "param_decls"))
        written = [
            option.default,
            *option.param_decls,
        ]  # of an annotation, the first name stands for the default
        names = next(name for name in written if isinstance(name, str) and name.startswith("--"))
        on, _, off = names.partition("/")
        if isinstance(value, bool):
            arguments.append(on if value else off)
        else:
            for item in value if isinstance(value, list | tuple) else [value]:
                arguments += [on, str(item)]
    return arguments


class GroupedCommand(TyperCommand):
    """A command whose help lists its options in sections, the common ones first."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section for each group of options."""
        everything = bool(ctx.meta.get("rosenblatt.help_all"))
        sections: dict[str, list[tuple[str, str]]] = {}
        arguments: list[tuple[str, str]] = []
        hidden = 0
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            if param.param_type_name == "argument":
                arguments.append(record)
            elif not everything and param.opts[0] in _rare:
                hidden += 1
            else:
                sections.setdefault(getattr(param, "rich_help_panel", None) or OTHER, []).append(record)
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        last = sections.pop(OTHER, [])
        for name, records in [*sections.items(), (OTHER, last)]:
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"{hidden} more options: rosenblatt {self.name} {HELP_ALL}")
