"""The command line: each verb parses its options, calls one workflow, and renders the result."""

from __future__ import annotations

import sys
from io import TextIOWrapper

INTERRUPTED = 130
STOPPED = "\nStopped. What was finished is kept; run the same command again."


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # programs that read us expect one encoding
            stream.reconfigure(
                encoding=None if stream.isatty() else "utf-8", errors="backslashreplace"
            )
    try:
        from lpisearch.cli.app import app

        app()
    except KeyboardInterrupt:  # before the program could hear of it
        sys.stderr.write(f"{STOPPED}\n")
        raise SystemExit(INTERRUPTED) from None
