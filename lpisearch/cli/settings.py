"""The verb config."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from lpisearch.cli import options as typed
from lpisearch.cli.commands import VerbCommand, VerbGroup, names_library
from lpisearch.cli.output import Json, print_json, print_pairs, print_table, say

app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    help="Show each setting and where it comes from.",
    invoke_without_command=True,
)

_KEY = typer.Argument(
    metavar="KEY",
    help="Setting, as listed by “lpisearch config”: k, index.method, …",
    autocompletion=typed.keys,
)
Beside = Annotated[
    bool, typer.Option("--beside", help="For this library only, in lpisearch.toml next to it.")
]


@app.callback()
def config(context: typer.Context, json: Json = False) -> None:
    """Show each setting and where it comes from.

    Command-line options override the environment, then lpisearch.toml next to the library, then
    your user config file, then the defaults. “exclude” patterns from all of them are combined.
    """
    if context.invoked_subcommand is not None:
        return
    rows = [_library_row(context), *_rows(context)]
    if json:
        print_json([dict(zip(("key", "value", "from"), row, strict=True)) for row in rows])
        return
    shown = [(key, _written(value), origin or "default") for key, value, origin in rows]
    print_table(("setting", "value", "from"), shown)


@app.command("path", cls=VerbCommand)
def path(context: typer.Context, json: Json = False) -> None:
    """Show the paths of the config files."""
    from lpisearch.config import file_beside, own_file

    files = {"user": own_file(), "next to the library": file_beside(context.obj.library.path)}
    if json:
        print_json([str(file) for file in files.values()])
        return
    missing = {
        name: "" if file.exists() else "  (does not exist yet)" for name, file in files.items()
    }
    print_pairs([(name, f"{file}{missing[name]}") for name, file in files.items()])


@app.command("set", cls=VerbCommand)
def set_(
    context: typer.Context,
    key: Annotated[str, _KEY],
    values: Annotated[
        list[str], typer.Argument(metavar="VALUE", help="New value; several for a list.")
    ],
    beside: Beside = False,
) -> None:
    """Change a setting, in your user config file or for this library."""
    from lpisearch.config import set_preference

    file = _file(context, beside=beside)
    value = set_preference(file, key, values, own=not beside)
    say(f"{key} = {_written(value)}  ({file})")


@app.command("unset", cls=VerbCommand)
def unset(context: typer.Context, key: Annotated[str, _KEY], beside: Beside = False) -> None:
    """Remove a setting; the next source applies."""
    from lpisearch.config import unset_preference

    file = _file(context, beside=beside)
    was_there = unset_preference(file, key)
    say(f"{key} is no longer set in {file}" if was_there else f"{key} is not set in {file}")


def _file(context: typer.Context, *, beside: bool) -> Path:
    from lpisearch.config import file_beside, own_file

    return file_beside(context.obj.library.path) if beside else own_file()


def _library_row(context: typer.Context) -> tuple[str, Any, str]:
    from lpisearch.config import default_library

    standing, value = default_library(), context.obj.library.path
    if names_library(context):
        origin = "--db"
    elif os.environ.get("LPISEARCH_DB"):
        origin = "LPISEARCH_DB"
    elif standing is not None and value == standing.value:
        origin = standing.origin
    else:
        origin = "current folder" if isinstance(value, Path) and value.exists() else ""
    return "library", str(value), origin


def _rows(context: typer.Context) -> list[tuple[str, Any, str]]:
    from lpisearch.config import KEYS

    preferences = context.obj.preferences
    rows: list[tuple[str, Any, str]] = []
    for key, known in KEYS.items():
        set_values = preferences.values.get(key, ())
        if key == "library":
            continue
        if isinstance(known.default, list):
            value, origins = preferences.all_of(key), [one.origin for one in set_values]
        else:
            value = set_values[-1].value if set_values else known.default
            origins = [one.origin for one in set_values[-1:]]
        rows.append((key, value, "; ".join(origins)))
    return rows


def _written(value: Any) -> str:
    if value is None or value == "":
        return "not set"
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)
