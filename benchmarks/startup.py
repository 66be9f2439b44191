"""Run time of short commands compared with importing their parts.

Run `python benchmarks/startup.py`. Best of several alternating runs; only ratios are meaningful.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import arguments

ROUNDS = 15


def main() -> None:
    """Measure and print."""
    arguments.nothing(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.db"
        note = Path(folder) / "note.txt"
        note.write_text("A note.\n")
        lpisearch = [sys.executable, "-m", "lpisearch", "--db", str(library)]
        subprocess.run([*lpisearch, "ingest", str(note)], check=True, stdout=subprocess.DEVNULL)
        commands = {
            'python -c "import typer"': [sys.executable, "-c", "import typer"],
            "lpisearch --help": [*lpisearch, "--help"],
            "lpisearch ingest --help": [*lpisearch, "ingest", "--help"],
            'python -c "import sqlalchemy.orm, typer"': [
                *(sys.executable, "-c", "import sqlalchemy.orm, typer"),
            ],
            "lpisearch status": [*lpisearch, "status"],
            "lpisearch ingest NOTE (unchanged)": [*lpisearch, "ingest", str(note)],
        }
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):
            for name, command in commands.items():
                best[name] = min(best[name], seconds(command))
    base = best['python -c "import typer"']
    print(f"best of {ROUNDS} alternating runs; the last column is × import typer")
    for name, value in best.items():
        print(f"  {name:42} {value:6.3f} s  {value / base:6.2f}")


def seconds(command: list[str]) -> float:
    """Return how long a command takes from start to end."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
