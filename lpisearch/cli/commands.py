"""The classes of verbs, their help, and the options that all verbs share.

`--db` and `--debug` may precede the verb or follow it; the last one applies. A verb is imported
when it runs. An error that refuses a value names the help of the verb.
"""

from __future__ import annotations

import re
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from lpisearch.cli.output import say
from lpisearch.cli.verbs import EXAMPLES, VERBS
from lpisearch.messages import Message, call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.config import Preferences
    from lpisearch.errors import BadOption
    from lpisearch.library import Library


_USUAL = "Options"
_UNDER_WAY = "lpisearch.verb"
_TYPE = re.compile(r" <[^<>]*>$")  # "TEXT <list[str]>": the Python type is of no use to readers
_FACTS = re.compile(r"\.?  \[([^\[\]]*)\]$")  # what Typer appends to the help of an option
_WRONG_USAGE = 2
_HELP_ALL = "help_all"
_WHOLE = 1000  # characters: the first sentence is never cut
_NUMBERS = (bool, float, int)


class _LightCheck:
    """Checks typed values as Typer does, but loads what it needs for that only if it must."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """Return a value that needs no check, or that Typer has checked."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        wanted = param.type_descriptor.annotation
        if several and wanted == list[str] and all(isinstance(one, str) for one in value):
            return list(value)
        is_text = wanted is str or param.name == "db"  # the library checks its path
        is_choice = isinstance(value, str) and value in get_args(wanted)
        if (
            is_text
            or is_choice
            or (wanted in _NUMBERS and type(value) is wanted and value == param.default)
        ):
            return value
        return self._load().coerce(value, param=param, ctx=ctx)


class _Verb:
    """The help of a verb or of a group of verbs."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters; what Typer checks them with is loaded where it is needed."""
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            load = getattr(parameter, "get_runtime_param", None)  # new in Typer 0.29
            if load is not None and "get_runtime_param" not in vars(parameter):
                parameter.get_runtime_param = partial(_LightCheck, load)
        return parameters

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete all options, also those that the short help leaves out."""
        _unhide(self)
        return super().shell_complete(ctx, incomplete)  # type: ignore[misc]

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, and note that it is running."""
        ctx.meta[_UNDER_WAY] = ctx
        return super().invoke(ctx)  # type: ignore[misc]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line; an argument without brackets is required."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [re.sub("[{}]", "", piece) for piece in pieces]

    def write_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options under their headings, and the global options last."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], _USUAL: []}
        shared: list[tuple[str, str]] = []
        parameters = ctx.command.get_params(ctx)
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is None or (parameter.name == _HELP_ALL and not is_all_help(ctx)):
                continue
            record = record[0], _plain_facts(record[1])
            heading = getattr(parameter, "rich_help_panel", None) or _USUAL
            if parameter.param_type_name == "argument":
                groups["Arguments"].append((_TYPE.sub("", record[0]), record[1]))
            elif heading == EVERYWHERE or parameter.name == "help":
                shared.append(record)
            else:
                groups.setdefault(heading, []).append(record)
        for heading, records in {**groups, EVERYWHERE: shared}.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if ctx.parent is not None and any(parameter.hidden for parameter in parameters):
            formatter.write_paragraph()
            formatter.write_text(f"More options: {ctx.command_path} --help-all")

    def write_examples(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        examples = EXAMPLES.get(verb_of(ctx), ())
        if examples:
            with formatter.section("Examples"):
                for purpose, command in examples:
                    formatter.write_text(f"{purpose}:")
                    formatter.write(f"{'':{formatter.current_indent + 2}}lpisearch {command}\n")


class VerbCommand(_Verb, TyperCommand):
    """One verb."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        self.write_options(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples."""
        self.write_examples(ctx, formatter)


class VerbGroup(_Verb, TyperGroup):
    """A verb with words of its own, such as `docs list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; without words, print the help."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            say(ctx.get_help(), aside=True)
            ctx.exit(_WRONG_USAGE)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the words of the verb."""
        words: list[tuple[str, Any]] = [
            (name, self.get_command(ctx, name)) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl([(name, word.get_short_help_str(_WHOLE)) for name, word in words])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the words, arguments and options."""
        self.format_commands(ctx, formatter)
        self.write_options(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples."""
        self.write_examples(ctx, formatter)


def _plain_facts(text: str) -> str:
    """Return the help of an option with its default and variable as a sentence has them."""
    found = _FACTS.search(text)
    if found is None:
        return text
    facts = dict(fact.partition(": ")[::2] for fact in found[1].split("; "))
    start = f"{text[: found.start()]}."
    if "default" in facts:
        start += f" Default: {facts['default'].removesuffix('.0')}."
    return f"{start} Or set {facts['env var']}." if "env var" in facts else start


def _unhide(command: Any) -> None:
    for parameter in command.params:
        parameter.hidden = False


def verb_of(ctx: Any) -> str:
    """Return the words of the verb: "docs list"."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    return " ".join(words)


def verb_under_way(ctx: Any) -> str:
    """Return the words of the verb that is running, or ""."""
    return "" if ctx is None or _UNDER_WAY not in ctx.meta else verb_of(ctx.meta[_UNDER_WAY])


def with_common_options(command: Any) -> Any:
    """Add the global options to a command and all commands below it, but for those it has."""
    for one in _all_of(command):
        own = {name for parameter in one.params for name in parameter.opts}
        one.params.extend(each for each in _common_options() if own.isdisjoint(each.opts))
    return command


@cache
def _common_options() -> tuple[Any, ...]:
    holder = typer.Typer(add_completion=False)

    @holder.command()
    def everywhere(db: Database = None, debug: Debug = False, help_all: HelpAll = False) -> None:
        """Declare the options."""

    command: Any = typer.main.get_command(holder)
    return tuple(command.params)


def _all_of(command: Any) -> Iterator[Any]:
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from _all_of(below)


def explain_refusal(error: BadOption, ctx: Any) -> None:
    """Add to an error the help of the verb, and the file that sets the wrong value."""
    ctx = ctx.meta.get(_UNDER_WAY, ctx)
    own = call("help", *verb_of(ctx).split())
    choices = error.next_step if error.next_step != call("help") else ""
    error.next_step = Message(choices, "  (", own, ")") if choices else own
    for origin in filter(None, (origin_of(ctx, name) for name in error.fields)):
        error.what = Message(error.what, f" It is set in {origin}.")


def load(name: str) -> Any:
    """Import a verb and make a command of it."""
    verb = VERBS[name]
    app = getattr(import_module(f"lpisearch.cli.{verb.module}"), verb.name)
    if not isinstance(app, typer.Typer):
        function, app = app, typer.Typer(add_completion=False)
        app.command(name, cls=VerbCommand)(function)
    app.rich_markup_mode = None  # as for the program itself
    command: Any = typer.main.get_command(app)
    command.name = name
    return with_common_options(command)


_SHORT = len("-k")
_MARK = "\N{INVISIBLE SEPARATOR}"
_EXCLUSION = re.compile(r"-[^\W_]|-[\"“„«(]")


class ExclusionsAsText(VerbCommand):
    """Takes -word for a word to exclude, which Click would read as an option of one letter.

    An argument of one minus and a letter, a digit, a quote or a parenthesis belongs to the query,
    unless it is a one-letter option, alone (-k) or with its number (-k5), or the value of the
    option before it. After -- everything is text. `words` names the argument that takes them.
    """

    words = "text"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with exclusions marked so that Click does not take them for options."""
        flags = {name for option in self.params for name in option.opts if _is_flag(option)}
        short = {name for option in self.params for name in option.opts if len(name) == _SHORT}
        short.update(name for name in ctx.help_option_names if len(name) == _SHORT)
        flags.update(ctx.help_option_names)
        marked: list[str] = []
        is_value = False
        for at, word in enumerate(args):
            if word == "--":
                marked += args[at:]
                break
            excludes = not is_value and _EXCLUSION.match(word) and not _is_short(word, short)
            marked.append(_MARK + word if excludes else word)
            is_value = not is_value and _takes_value(word, flags)
        rest = super().parse_args(ctx, marked)
        words: list[str] = ctx.params.get(self.words) or []
        ctx.params[self.words] = [word.removeprefix(_MARK) for word in words]
        return rest


def _is_flag(option: Any) -> bool:
    return bool(getattr(option, "is_flag", False))


def _is_short(word: str, short: set[str]) -> bool:
    return word[:_SHORT] in short and (len(word) == _SHORT or word[_SHORT:].isdecimal())


def _takes_value(word: str, flags: set[str]) -> bool:
    """Tell whether the next word belongs to an option."""
    is_option = word.startswith("--") or (len(word) == _SHORT and word.startswith("-"))
    return is_option and "=" not in word and word not in flags


EVERYWHERE = "Global options"
"""The heading of the options that every verb has."""
_DEBUG, _ORIGINS, _ALL = "lpisearch.debug", "lpisearch.origins", "lpisearch.help-all"
_SETTABLE = {"search": "", "similar": "", "index": "index."}  # verbs with settings: their table
_ENCODING = {"search", "ingest", "index", "serve", "evaluate"}  # the verbs that use an encoder


class Invocation:
    """What every verb has in its context; the library and the settings open when first used."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self.encoder: str | None = None

    @cached_property
    def library(self) -> Library:
        """The library that `--db`, the environment or the settings name."""
        from lpisearch.library import open_library

        return open_library(self._path, encoder=self.encoder)

    @cached_property
    def preferences(self) -> Preferences:
        """The settings of the user and of this library."""
        from lpisearch.config import read_preferences

        return read_preferences(self.library.path)

    def close(self) -> None:
        """Release the library, if it was opened."""
        if "library" in vars(self):
            self.library.close()


def _choose_library(context: typer.Context, path: str | None) -> None:
    """Choose the library; a verb without `--db` keeps the one that precedes it."""
    if context.parent is None or is_typed(context, "db"):
        context.obj = Invocation(path)
        context.call_on_close(context.obj.close)
    if context.info_name in _ENCODING and not context.resilient_parsing:
        from lpisearch.config import own_encoder

        context.obj.encoder = own_encoder()
    if context.info_name in _SETTABLE and not context.resilient_parsing:
        _apply_preferences(context, context.obj.preferences)


def _apply_preferences(context: Any, preferences: Preferences) -> None:
    """Use settings as the defaults of options that are not typed."""
    table, params = _SETTABLE[context.info_name], context.command.params
    known = {one.name: held for one in params if (held := preferences.get(f"{table}{one.name}"))}
    context.default_map = {
        name: one.value if isinstance(one.value, list) else str(one.value)
        for name, one in known.items()
    }
    context.meta[_ORIGINS] = {name: one.origin for name, one in known.items()}


def origin_of(context: Any, field: str) -> str:
    """Return the file that set the value of an option, or "" if none did."""
    source = str(context.get_parameter_source(field))
    origins: dict[str, str] = context.meta.get(_ORIGINS, {})
    return origins.get(field, "") if source.endswith("DEFAULT_MAP") else ""


def _choose_debugging(context: typer.Context, on: bool) -> None:
    if on:
        context.meta[_DEBUG] = True


def is_typed(context: Any, name: str) -> bool:
    """Tell whether an option was typed, rather than left at its default."""
    return str(context.get_parameter_source(name)).endswith("COMMANDLINE")


def names_library(context: Any) -> bool:
    """Tell whether `--db` was typed, before the verb or after it."""
    return context is not None and (is_typed(context, "db") or names_library(context.parent))


def is_debugging(context: Any) -> bool:
    """Tell whether errors show their traceback."""
    return context is not None and bool(context.meta.get(_DEBUG))


Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="Library file or postgresql:// URL (default: ./lpisearch.db, or the "
        "configured library).",
        path_type=str,  # two slashes are not one
        envvar="LPISEARCH_DB",
        show_envvar=True,
        readable=False,  # the library reports it, with a next step
        callback=_choose_library,
        expose_value=False,
        is_eager=True,
        rich_help_panel=EVERYWHERE,
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show a full traceback on errors.",
        callback=_choose_debugging,
        expose_value=False,
        is_eager=True,
        rich_help_panel=EVERYWHERE,
    ),
]


def _show_all_help(context: typer.Context, on: bool) -> None:
    if on and not context.resilient_parsing:
        _unhide(context.command)
        context.meta[_ALL] = True
        say(context.get_help())
        raise typer.Exit


def is_all_help(context: Any) -> bool:
    """Tell whether the help shows everything."""
    return bool(context.meta.get(_ALL))


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        help="Show all options and exit.",
        callback=_show_all_help,
        expose_value=False,
        is_eager=True,
        rich_help_panel=EVERYWHERE,
    ),
]
