"""Main."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from lpisearch.cli.failures import heard_everywhere, prepare

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
        from lpisearch.cli.failures import INTERRUPTED, STOPPED, stated, was_interrupted
    except MemoryError:
        sys.stderr.write("Error: Not enough memory to start.\n")
        raise SystemExit(1) from None
    if was_interrupted(error):
        sys.stderr.write(f"{STOPPED}\n")
        raise SystemExit(INTERRUPTED) from None
    known = stated(error, "")
    if known is None:
        raise error
    sys.stderr.write(f"Error: {known}\n")
    raise SystemExit(known.exit_status) from None
