"""Run the command line by `python -m lpisearch`."""

from lpisearch.cli import main

if __name__ == "__main__":
    main()
