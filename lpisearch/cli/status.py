"""`lpisearch status`: show the contents and state of the library."""

from __future__ import annotations

from typing import Any

import typer  # noqa: TC002 (Typer reads the annotations)

from lpisearch.cli.render import (
    Json,
    note,
    print_json,
    print_pairs,
    print_table,
    say,
    semantic_weight,
    size,
)
from lpisearch.records.wire import status_record


def status(context: typer.Context, json: Json = False) -> None:
    """Show the contents and state of the library."""
    found = context.obj.library.status()
    if json:
        print_json(status_record(found))
        return
    pairs: list[tuple[str, object]] = [
        ("library", found["library"]),
        ("documents", found["documents"]),
        ("sources", found["sources"]),
        ("labels", len(found["labels"])),
        ("splits", ", ".join(f"{name} {n:,}" for name, n in found["splits"].items()) or "none"),
        ("language", found["language"] or "not set"),
        ("size", size(found["size_bytes"])),
    ]
    if found["unfinished"]:
        pairs.append(("unfinished", f"{len(found['unfinished'])} files; ingest them again"))
    print_pairs(pairs)
    if found["indexes"]:
        say()
        columns = ("index", "method", "dims", "documents", "state", "classifier")
        print_table(columns, _index_rows(found))
    for index in found["indexes"]:
        if "calibration" in index:
            say(f"{index['name']}: semantic weight {semantic_weight(index['calibration'])}")
        if index["note"]:
            note(index["note"])
    if not found["indexes"] and found["documents"]:
        note("No index yet. Next: lpisearch index")
    predicted = found["predicted"]
    if found["labels"] or predicted:
        names = dict.fromkeys((*found["labels"], *predicted))
        rows = [(name, found["labels"].get(name, 0), predicted.get(name, "")) for name in names]
        say()
        heads = ("label", "documents", "predicted")
        shown = len(heads) if predicted else 2
        print_table(heads[:shown], [row[:shown] for row in rows])


def _index_rows(found: dict[str, Any]) -> list[tuple[object, ...]]:
    return [
        (
            index["name"],
            index["method"],
            index.get("dims", "?"),
            index.get("documents", "?"),
            index["state"],
            _classifier(index.get("classifier")),
        )
        for index in found["indexes"]
    ]


def _classifier(facts: dict[str, Any] | None) -> str:
    """Name the classifier that was chosen, and how much it had right of what was held out."""
    if not facts or "chosen" not in facts:
        return "none"
    right = facts["accuracy"].get(facts["chosen"])
    return facts["chosen"] if right is None else f"{facts['chosen']} ({right:.1%} accurate)"
