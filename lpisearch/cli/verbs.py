"""The list of verbs: each is imported when it is asked for, so that the others cost nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from lpisearch.cli.commands import VerbCommand, with_common_options

if TYPE_CHECKING:
    from collections.abc import Mapping


class Verb(NamedTuple):
    """Where a verb is, and what it does.

    Attributes
    ----------
    module, name
        A function, or a Typer with words of its own.
    purpose
        One line for the list of verbs.
    """

    module: str
    name: str
    purpose: str


# In the order of a first visit.
VERBS: Mapping[str, Verb] = {
    "ingest": Verb("ingest", "ingest", "Bring documents into the library."),
    "index": Verb("index", "index", "Build the subspace index."),
    "query": Verb("query", "query_app", "Find documents by meaning and by words."),
    "similar": Verb("query", "similar", "Find documents that are like one."),
    "open": Verb("open", "open_", "Open a hit of the last answer."),
    "classify": Verb("classify", "classify", "Label texts by what `index` learned."),
    "label": Verb("label", "label_app", "Give documents labels, or take them away."),
    "topics": Verb("topics", "topics", "Show what the library is about."),
    "evaluate": Verb("evaluate.app", "app", "Measure an index on labels and judged queries."),
    "status": Verb("status", "status", "Show what the library holds."),
    "docs": Verb("documents", "app", "List, show, delete and export documents."),
    "doctor": Verb("doctor", "doctor", "Look for damage, and say what to do about it."),
    "db": Verb("database", "app", "Upgrade, check and copy the library."),
    "config": Verb("config", "app", "Show what is set, and set it."),
    "serve": Verb("serve", "serve", "Open the library in a browser, and to programs."),
    "demo": Verb("demo", "demo", "Walk through the program on the sample corpus."),
}


def load(name: str) -> Any:
    """Import a verb and make a command of it."""
    verb = VERBS[name]
    found = getattr(import_module(f"lpisearch.cli.{verb.module}"), verb.name)
    if not isinstance(found, typer.Typer):
        only = typer.Typer(add_completion=False)
        only.command(name, cls=getattr(found, "verb_class", VerbCommand))(found)
        found = only
    found.rich_markup_mode = None  # as for the program itself
    command: Any = typer.main.get_command(found)
    command.name = name
    return with_common_options(command)
