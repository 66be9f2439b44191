"""`lpisearch doctor`: check the library for damage and repair it."""

from __future__ import annotations

from typing import Annotated

import typer

from lpisearch.cli.progress import stage_line
from lpisearch.cli.render import Json, note, print_json, print_table
from lpisearch.messages import Message
from lpisearch.records.wire import findings_record


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
        print_json(findings_record(findings))
    else:
        rows = [("ok" if one.ok else "BAD", one.check, one.detail) for one in findings]
        print_table(("", "check", "result"), rows)
        for finding in findings:
            if finding.next_step:
                note(Message(f"{finding.check}. Next: ", finding.next_step))
    if not sound:
        raise typer.Exit(1)
