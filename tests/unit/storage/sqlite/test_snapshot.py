"""What a snapshot loads."""

import subprocess
import sys
from pathlib import Path

import lpisearch


def test_a_listing_loads_no_part_of_the_store_that_it_does_not_use(tmp_path: Path) -> None:
    (tmp_path / "lamp.txt").write_text("A lamp by the sea.")
    with lpisearch.open(tmp_path / "x.db") as library:
        library.ingest(tmp_path / "lamp.txt")
    code = (
        f"import sys, lpisearch; assert list(lpisearch.open({str(tmp_path / 'x.db')!r})); "
        "print([name for name in ('lexical', 'corpus', 'changes', 'transaction')"
        " if f'lpisearch.storage.sqlite.{name}' in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
