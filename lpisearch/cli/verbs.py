"""The list of commands, each imported only when needed."""

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
    "ingest": Verb("ingest", "ingest", "Add documents to the library."),
    "index": Verb("index", "index", "Build the index for search by meaning."),
    "query": Verb("query", "query_app", "Search by meaning and by words."),
    "similar": Verb("query", "similar", "Find documents similar to a given one."),
    "open": Verb("open", "open_", "Open a result of the last search."),
    "classify": Verb("classify", "classify", "Predict labels for text or files."),
    "label": Verb("label", "label_app", "Add or remove labels by hand."),
    "topics": Verb("topics", "topics", "List the main topics in the library."),
    "evaluate": Verb("evaluate.app", "app", "Measure search and classification quality."),
    "status": Verb("status", "status", "Show the contents and state of the library."),
    "docs": Verb("documents", "app", "List, show, delete and export documents."),
    "doctor": Verb("doctor", "doctor", "Check the library for damage and suggest repairs."),
    "db": Verb("database", "app", "Upgrade, check and back up the library."),
    "config": Verb("config", "app", "Show and change settings."),
    "serve": Verb("serve", "serve", "Serve the library as web pages and a JSON API."),
    "demo": Verb("demo", "demo", "Take a tour with the sample documents."),
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
