"""The command line: each verb parses its options, calls one workflow, and renders the result."""

from __future__ import annotations

import sys

INTERRUPTED = 130
STOPPED = "\nStopped. What was finished is kept; the same command goes on."


def main() -> None:
    """Run the command line."""
    try:
        from lpisearch.cli.app import app

        app()
    except KeyboardInterrupt:  # before the program could hear of it
        sys.stderr.write(f"{STOPPED}\n")
        raise SystemExit(INTERRUPTED) from None
