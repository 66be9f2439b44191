"""Options common to all commands: the library and how errors are shown.

`--db` and `--debug` may stand before the verb or after it; what stands last holds.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lpisearch.library import Library
    from lpisearch.settings.preferences import Preferences

_SEARCH = ("k", "by")
EVERYWHERE = "Global options"
"""The heading of the options that every verb has."""
_DEBUG, _ORIGINS = "lpisearch.debug", "lpisearch.origins"
# The verbs whose options can be set, and by which keys; none: by those of the table “index”.
_SETTABLE: dict[str | None, tuple[str, ...]] = {"query": _SEARCH, "similar": _SEARCH, "index": ()}


class Invocation:
    """What every verb finds in its context; nothing is opened or read before it is asked for.

    Parameters
    ----------
    path
        The library that was named; None for the one that is meant where none is.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path

    @cached_property
    def library(self) -> Library:
        """The library that is meant."""
        from lpisearch.library import open_library

        return open_library(self._path)

    @cached_property
    def preferences(self) -> Preferences:
        """What the person has set, for this library too."""
        from lpisearch.settings.preferences import read_preferences

        return read_preferences(self.library.path)

    def close(self) -> None:
        """Release the library, if it was opened."""
        if "library" in vars(self):
            self.library.close()


def _choose_library(context: typer.Context, path: str | None) -> None:
    """Choose the library; a verb without `--db` of its own keeps what was said before it."""
    if context.parent is None or is_typed(context, "db"):
        context.obj = Invocation(path)
        context.call_on_close(context.obj.close)
    if context.info_name in _SETTABLE and not context.resilient_parsing:
        _take_preferences(context, context.obj.preferences)


def _take_preferences(context: Any, preferences: Preferences) -> None:
    """Let what is set stand for what is not typed."""
    keys = _SETTABLE[context.info_name]
    found = {key: preferences.get(key) for key in keys} if keys else preferences.below("index")
    known = {name: each for name, each in found.items() if each is not None}
    context.default_map = {name: str(each.value) for name, each in known.items()}
    context.meta[_ORIGINS] = {name: each.origin for name, each in known.items()}


def origin_of(context: Any, field: str) -> str:
    """Return where the value of a field was set, if it was not typed; else ""."""
    source = str(context.get_parameter_source(field))
    origins: dict[str, str] = context.meta.get(_ORIGINS, {})
    return origins.get(field, "") if source.endswith("DEFAULT_MAP") else ""


def _choose_debugging(context: typer.Context, on: bool) -> None:
    if on:
        context.meta[_DEBUG] = True


def is_typed(context: Any, name: str) -> bool:
    """Tell whether an option stands on the command line, and has not just its default."""
    return str(context.get_parameter_source(name)).endswith("COMMANDLINE")


def names_library(context: Any) -> bool:
    """Tell whether a library was named on the command line, before the verb or after it."""
    return context is not None and (is_typed(context, "db") or names_library(context.parent))


def is_debugging(context: Any) -> bool:
    """Tell whether the traceback of an error is wanted."""
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
        help="Show a full traceback on errors.",
        callback=_choose_debugging,
        expose_value=False,
        is_eager=True,
        rich_help_panel=EVERYWHERE,
    ),
]
