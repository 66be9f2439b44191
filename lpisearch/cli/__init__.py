"""The command line: each verb parses its options, calls one workflow, and renders the result."""

from __future__ import annotations

import sys

INTERRUPTED = 130
STOPPED = "\nStopped. What was finished is kept; run the same command again."


def main() -> None:
    """Run the command line."""
    try:
        from lpisearch.cli.interrupts import heard_everywhere
        from lpisearch.cli.streams import prepare

        with heard_everywhere():
            prepare()
            from lpisearch.cli.app import app

            app()
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, MemoryError, ImportError, OSError) as error:
        _end(error)


def _end(error: BaseException) -> None:
    """State what befell the program before it could hear of it, while it was being loaded."""
    try:
        from lpisearch.cli.failures import stated, was_interrupted
    except MemoryError:
        sys.stderr.write("Error: There is not enough memory to begin.\n")
        raise SystemExit(1) from None
    if was_interrupted(error):
        sys.stderr.write(f"{STOPPED}\n")
        raise SystemExit(INTERRUPTED) from None
    known = stated(error, "")
    if known is None:
        raise error
    sys.stderr.write(f"Error: {known}\n")
    raise SystemExit(known.exit_status) from None
