"""The verbs that keep a library and its settings in order: db, status, doctor and config."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpisearch.cli import options as typed
from lpisearch.cli.commands import VerbCommand, VerbGroup, names_library
from lpisearch.cli.output import (
    Json,
    note,
    print_json,
    print_pairs,
    print_prose,
    print_table,
    say,
    size,
    stage_line,
    weight_text,
)
from lpisearch.messages import Message, counted
from lpisearch.model.codec import Findings

if TYPE_CHECKING:
    from collections.abc import Mapping


app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Upgrade, check and back up the library.",
)


@app.command(cls=VerbCommand)
def upgrade(context: typer.Context, json: Json = False) -> None:
    """Upgrade an older library to the current schema (any other command does this too)."""
    done = context.obj.library.upgrade()
    if json:
        print_json(done)
        return
    say(f"{done['library']} is at schema {done['schema']}.")
    if done["copy"]:
        say(f"A copy of the old library is in {done['copy']}.")


@app.command(cls=VerbCommand)
def check(context: typer.Context, json: Json = False) -> None:
    """Compare the database tables with the expected schema."""
    differences = context.obj.library.schema_differences()
    if json:
        print_json({"ok": not differences, "differences": differences})
    elif not differences:
        say("The tables match the expected schema.")
    else:
        say("\n".join(differences))
    if differences:
        raise typer.Exit(1)


@app.command(cls=VerbCommand)
def backup(
    context: typer.Context,
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Backup file (default: a dated name next to the library)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Back up the library, even while it is in use."""
    copy = context.obj.library.back_up(target)
    if json:
        print_json({"copy": str(copy)})
    else:
        say(f"Copied to {copy}.")


@app.command(cls=VerbCommand)
def vector(
    context: typer.Context,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="A query, as for `lpisearch search`.")
    ],
    index: Annotated[str, typer.Option(metavar="NAME", help="Index to use.")] = "default",
    json: Json = False,
) -> None:
    """Print the vector of a query in pgvector syntax."""
    numbers = [
        round(float(number), 7)
        for number in context.obj.library.vector(" ".join(text), index=index)
    ]
    if json:
        print_json({"vector": numbers})
    else:
        say(f"[{','.join(map(str, numbers))}]")


@app.command(cls=VerbCommand)
def retokenise(
    context: typer.Context,
    language: Annotated[
        str, typer.Option(metavar="auto|NAME", help="New language (default: the current one).")
    ] = "",
    json: Json = False,
) -> None:
    """Split all documents into words again, for example in another language."""
    number = context.obj.library.retokenise(language)
    if json:
        print_json({"documents": number})
    else:
        say(f"Documents split into words again: {number:,}.")


def _word_rules(facts: Mapping[str, Any]) -> str:
    """Say by which version of the rules the library's texts were split into words."""
    version, newest = facts["word_rules"], facts["newest_word_rules"]
    if version is None:
        return "not set"
    newer = f"; lpisearch db retokenise brings {newest}" if version < newest else ""
    return f"{version}{newer}"


def _languages(facts: dict[str, Any]) -> tuple[str, str]:
    """Return the language of a library, or those of its documents with their numbers."""
    languages = [f"{name} {number:,}" for name, number in facts["languages"].items()]
    if len(languages) > 1:
        return "languages", ", ".join(languages)
    return "language", facts["language"] or "not set"


def status(context: typer.Context, json: Json = False) -> None:
    """Show the contents and state of the library."""
    facts = context.obj.library.status()
    if json:
        print_json(facts)
        return
    pairs: list[tuple[str, object]] = [
        ("library", facts["library"]),
        ("documents", facts["documents"]),
        ("sources", facts["sources"]),
        ("labels", len(facts["labels"])),
        ("splits", ", ".join(f"{name} {n:,}" for name, n in facts["splits"].items()) or "none"),
        _languages(facts),
        ("word rules", _word_rules(facts)),
        ("size", size(facts["size_bytes"])),
    ]
    if facts["unfinished"]:
        pairs.append(("unfinished", f"{counted(len(facts['unfinished']), 'file')}; ingest again"))
    print_pairs(pairs)
    if facts["indexes"]:
        say()
        columns = ("index", "method", "dims", "documents", "state", "classifier")
        print_table(columns, _index_rows(facts))
    for index in facts["indexes"]:
        if "calibration" in index:
            print_prose(f"{index['name']}: semantic weight {weight_text(index['calibration'])}")
        changes = [f"{index[how]:,} {how}" for how in ("appended", "removed") if index.get(how)]
        if changes:
            print_prose(f"{index['name']}: {', '.join(changes)} since it was written as a whole")
        if index["note"]:
            note(index["note"])
    if not facts["indexes"] and facts["documents"]:
        note("No index yet. Next: lpisearch index")
    predicted = facts["predicted"]
    if facts["labels"] or predicted:
        names = dict.fromkeys((*facts["labels"], *predicted))
        rows = [(name, facts["labels"].get(name, 0), predicted.get(name, "")) for name in names]
        say()
        heads = ("label", "documents", "predicted")
        shown = len(heads) if predicted else 2
        print_table(heads[:shown], [row[:shown] for row in rows])


def _index_rows(facts: dict[str, Any]) -> list[tuple[object, ...]]:
    return [
        (
            index["name"],
            index["method"],
            index.get("dims", "?"),
            index.get("documents", "?"),
            index["state"],
            _classifier(index.get("classifier")),
        )
        for index in facts["indexes"]
    ]


def _classifier(facts: dict[str, Any] | None) -> str:
    """Return the chosen classifier and its held-out accuracy."""
    if not facts or "chosen" not in facts:
        return "none"
    right = facts["accuracy"].get(facts["chosen"])
    return facts["chosen"] if right is None else f"{facts['chosen']} ({right:.1%} accurate)"


def doctor(
    context: typer.Context,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be rebuilt from the documents.")
    ] = False,
    json: Json = False,
) -> None:
    """Check the library for damage and suggest repairs."""
    with stage_line() as line:
        findings = context.obj.library.examine(repair=repair, on_stage=line.stage)
    sound = all(finding.ok for finding in findings)
    if json:
        print_json(Findings.of(findings))
    else:
        rows = [("ok" if one.ok else "BAD", one.check, one.detail) for one in findings]
        print_table(("", "check", "result"), rows)
        for finding in findings:
            if finding.next_step:
                note(Message(f"{finding.check}. Next: ", finding.next_step))
    if not sound:
        raise typer.Exit(1)


config_app = typer.Typer(
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


@config_app.callback()
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


@config_app.command("path", cls=VerbCommand)
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


@config_app.command("set", cls=VerbCommand)
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


@config_app.command("unset", cls=VerbCommand)
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
