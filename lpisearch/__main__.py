"""Run the command line with `python -m lpisearch`."""

from __future__ import annotations

from lpisearch.cli import main

if __name__ == "__main__":
    main()
