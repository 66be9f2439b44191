"""Base classes of all commands: grouped help, examples and usage errors.

Each verb takes the options that hold everywhere (`invocation`). A wrong value is answered with the
help of the verb that refused it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from lpisearch.cli.examples import EXAMPLES
from lpisearch.cli.invocation import EVERYWHERE, Database, Debug, origin_of
from lpisearch.messages import Message, call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.errors import BadOption

_USUAL = "Options"
_UNDER_WAY = "lpisearch.verb"
_TYPE = re.compile(r" <[^<>]*>$")  # "TEXT <list[str]>": what it holds in Python is of no use here


class _Verb:
    """The help of a verb, for a command and for a group of commands."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, and remember that it is under way."""
        ctx.meta[_UNDER_WAY] = ctx
        return super().invoke(ctx)  # type: ignore[misc]

    def write_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options under their headings, those of every verb last."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], _USUAL: []}
        everywhere: list[tuple[str, str]] = []
        for parameter in ctx.command.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            heading = getattr(parameter, "rich_help_panel", None) or _USUAL
            if parameter.param_type_name == "argument":
                groups["Arguments"].append((_TYPE.sub("", record[0]), record[1]))
            elif heading == EVERYWHERE or parameter.name == "help":
                everywhere.append(record)
            else:
                groups.setdefault(heading, []).append(record)
        for heading, records in {**groups, EVERYWHERE: everywhere}.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def write_examples(self, ctx: Any, formatter: Any) -> None:
        """Write what could be typed."""
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
    """A verb of several words."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options and the words."""
        self.format_commands(ctx, formatter)
        self.write_options(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples."""
        self.write_examples(ctx, formatter)


def verb_of(ctx: Any) -> str:
    """Return the words of the verb under way: "docs list"."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    return " ".join(words)


def verb_under_way(ctx: Any) -> str:
    """Return the words of the verb that was begun, or "" before any was."""
    return "" if ctx is None or _UNDER_WAY not in ctx.meta else verb_of(ctx.meta[_UNDER_WAY])


def with_common_options(command: Any) -> Any:
    """Give a command, and all below it, the options that hold everywhere."""
    for each in _all_of(command):
        each.params.extend(_common_options())
    return command


@cache
def _common_options() -> tuple[Any, ...]:
    holder = typer.Typer(add_completion=False)

    @holder.command()
    def everywhere(db: Database = None, debug: Debug = False) -> None:
        """Hold the options."""

    command: Any = typer.main.get_command(holder)
    return tuple(command.params)


def _all_of(command: Any) -> Iterator[Any]:
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from _all_of(each)


def explain_refusal(error: BadOption, ctx: Any) -> None:
    """Let an error name the help of the verb under way, and the file that has the wrong value."""
    ctx = ctx.meta.get(_UNDER_WAY, ctx)
    own = call("help", *verb_of(ctx).split())
    choices = error.next_step if error.next_step != call("help") else ""
    error.next_step = Message(choices, "  (", own, ")") if choices else own
    for origin in filter(None, (origin_of(ctx, name) for name in error.fields)):
        error.what = Message(error.what, f" It is set in {origin}.")
