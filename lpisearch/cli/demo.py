"""`lpisearch demo`: the main job, on the sample corpus, in a library of its own."""

from __future__ import annotations

import typer


def demo() -> None:
    """Walk through the program on the sample corpus."""
    typer.echo("…")
