"""Options in groups: a dataclass of flags is one parameter of a command, and one section of its ``--help``."""

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

F = TypeVar("F", bound=Callable[..., Any])
OTHER = "Options"  # the section of options that name none
HELP_ALL = "--help-all"
INTEGER = re.compile(r"-?\d{1,18}")
# What typer calls a type, and what the help says.
PLACEHOLDERS = {"<str>": "NAME", "<int>": "N", "<int range>": "N", "<float>": "NUMBER", "<list[str]>": "NAME"}
DECIMAL = re.compile(r"-?\d{1,15}(\.\d{1,15})?(e-?\d{1,2})?")
RARE = " (rare)"  # ends the section of an option that only --help-all lists


def flag(*names: str, group: str = OTHER, rare: bool = False, help: str, **settings: Any) -> Any:
    """Return a typer option that belongs to a section of the help; a rare one is listed by ``--help-all`` only."""
    return typer.Option(*names, help=help, rich_help_panel=group + RARE * rare, **settings)


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


class _PlainParameter:
    """A parameter that takes text and plain numbers as they are, and leaves all else to typer.

    To convert any value typer loads pydantic, which takes a tenth of the time of a short command.
    """

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value of a parameter."""
        own: Any = self
        several = own.multiple or own.nargs == -1
        description: Any = getattr(self, "type_descriptor", None)  # typer before pydantic has none
        plain = not own.required if value is None else _is_plain(value, description, several)
        if description is None or not plain:
            return super().process_value(ctx, value)  # type: ignore[misc]
        kind = _kind(description.annotation)
        if value is None:
            value = () if several else None
        elif kind in (int, float):
            value = kind(value)
        return value if own.callback is None else own.callback(ctx, self, value)


class PlainOption(_PlainParameter, TyperOption):
    """An option that takes plain values as they are."""


class PlainArgument(_PlainParameter, TyperArgument):
    """An argument that takes plain values as they are."""


def plain_parameter(param: Any) -> Any:
    """Return a parameter that takes plain values as they are, made of one of typer's."""
    kinds: dict[type, Any] = {TyperOption: PlainOption, TyperArgument: PlainArgument}
    plain = kinds.get(type(param))
    if plain is None:
        return param
    own = plain.__new__(plain)
    vars(own).update(vars(param))
    return own


def _kind(annotation: Any) -> Any:
    """Return an annotation without ``None``."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    return kinds[0] if NoneType in get_args(annotation) and len(kinds) == 1 else annotation


def _is_plain(value: Any, description: Any, several: bool) -> bool:
    """Whether a value of the command line is valid as it is written, or as the number that Python reads in it."""
    if description is None:
        return False
    info, kind = description.parameter_info, _kind(description.annotation)
    if getattr(info, "min", None) is not None or getattr(info, "max", None) is not None:
        return False
    if several:
        return kind == list[str] and isinstance(value, list | tuple) and all(type(v) is str for v in value)
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if type(value) is str:
        pattern = {int: INTEGER, float: DECIMAL}.get(kind)
        return kind is str or (pattern is not None and pattern.fullmatch(value) is not None)
    return type(value) is kind and kind in (bool, int, float)


class PlainValues:
    """A command or group whose parameters take plain values as they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; only now all parameters are there, as typer adds some after it made a group."""
        own: Any = self
        own.params = [plain_parameter(param) for param in own.params]
        return super().parse_args(ctx, args)  # type: ignore[misc, no-any-return]

    def get_help_option(self, ctx: Any) -> Any:
        """Return ``--help``, which is not among the parameters."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        return None if option is None else plain_parameter(option)


class Subcommands(PlainValues, TyperGroup):
    """A group of commands whose help lists each with the whole first line of its own help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the name of every command and what it does."""
        with formatter.section("Commands"):
            lines = {name: (command.help or "").partition("\n")[0] for name, command in self.commands.items()}
            formatter.write_dl([*lines.items()])


class GroupedCommand(PlainValues, TyperCommand):
    """A command whose help lists its options in sections, the common ones first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; a pattern that the shell expanded to several files is refused with the way out."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            source = any(param.metavar == "SOURCE" for param in self.params)
            if source and "unexpected extra argument" in str(getattr(error, "message", "")):
                error.message += ": several files are one SOURCE, as in 'logs/*.csv' with the quotes"  # type: ignore[attr-defined]
            raise

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
            names, _, kind = record[0].partition(" <")
            if param.param_type_name == "argument":
                arguments.append((names, record[1]))
                continue
            if kind:
                record = (f"{names} {PLACEHOLDERS.get(f'<{kind}', f'<{kind}')}", record[1])
            section = getattr(param, "rich_help_panel", None) or OTHER
            if section.endswith(RARE) and not everything:
                hidden += 1
            else:
                sections.setdefault(section.removesuffix(RARE), []).append(record)
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
            formatter.write_text(f"{hidden} more options: {ctx.command_path} {HELP_ALL}")
