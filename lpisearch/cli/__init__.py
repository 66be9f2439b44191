"""The command line: reads arguments, calls the library once, prints a table, lines or JSON."""

from __future__ import annotations

import sys

from lpisearch import VERSION


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:  # without loading anything
        sys.stdout.write(f"lpisearch {VERSION}\n")
        return
    try:
        from lpisearch.cli.failures import handle_sigint, prepare

        with handle_sigint():
            prepare()
            from lpisearch.cli.app import app

            app(prog_name="lpisearch")
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, MemoryError, ImportError, OSError) as error:
        _report(error)


def _report(error: BaseException) -> None:
    """Report an error raised while the program was being loaded."""
    try:
        from lpisearch.cli.failures import INTERRUPTED, stated, stopped, was_interrupted
    except MemoryError:
        sys.stderr.write("Error: Not enough memory to start.\n")
        raise SystemExit(1) from None
    if was_interrupted(error):
        sys.stderr.write(f"{stopped(None)}\n")
        raise SystemExit(INTERRUPTED) from None
    known = stated(error, "")
    if known is None:
        raise error
    sys.stderr.write(f"Error: {known}\n")
    raise SystemExit(known.exit_status) from None
