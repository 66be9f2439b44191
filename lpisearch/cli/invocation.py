"""What holds for every verb: the library that is meant, and how errors are shown.

`--db` and `--debug` may stand before the verb or after it; what stands last holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lpisearch.library import Library

EVERYWHERE = "Everywhere"
"""The heading of the options that every verb has."""
_DEBUG = "lpisearch.debug"


@dataclass(frozen=True, slots=True)
class Invocation:
    """What every verb finds in its context."""

    library: Library


def _choose_library(context: typer.Context, path: Path | None) -> None:
    """Open the library; a verb without `--db` of its own keeps what was said before it."""
    from lpisearch.library import open_library

    if context.parent is None or is_typed(context, "db"):
        library = open_library(path)
        context.call_on_close(library.close)
        context.obj = Invocation(library)


def _choose_debugging(context: typer.Context, on: bool) -> None:
    if on:
        context.meta[_DEBUG] = True


def is_typed(context: Any, name: str) -> bool:
    """Tell whether an option stands on the command line, and has not just its default."""
    return str(context.get_parameter_source(name)).endswith("COMMANDLINE")


def is_debugging(context: Any) -> bool:
    """Tell whether the traceback of an error is wanted."""
    return context is not None and bool(context.meta.get(_DEBUG))


Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="The library to use (lpisearch.db if not given).",
        envvar="LPISEARCH_DB",
        show_envvar=True,
        readable=False,  # the library says so itself, with a next step
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
        help="Show the traceback of an error.",
        callback=_choose_debugging,
        expose_value=False,
        is_eager=True,
        rich_help_panel=EVERYWHERE,
    ),
]
