"""`lpisearch doctor`: is the library sound, and what to do if not."""

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
        bool, typer.Option("--repair", help="Mend what can be mended from the documents.")
    ] = False,
    json: Json = False,
) -> None:
    """Look for damage in the library, and say what to do about it."""
    with stage_line() as line:
        findings = context.obj.library.examine(repair=repair, on_stage=line.stage)
    sound = all(finding.ok for finding in findings)
    if json:
        print_json(findings_record(findings))
    else:
        rows = [("ok" if one.ok else "BAD", one.check, one.detail) for one in findings]
        print_table(("", "check", "found"), rows)
        for finding in findings:
            if finding.next_step:
                note(Message(f"{finding.check}: next: ", finding.next_step))
    if not sound:
        raise typer.Exit(1)
