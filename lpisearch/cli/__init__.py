"""The command line: each verb parses its options, calls one workflow, and renders the result."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from lpisearch.cli.app import app

    app()
