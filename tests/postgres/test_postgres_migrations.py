"""One history of the tables for both stores: up, down and up again in PostgreSQL too."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lpisearch.library import Library
from lpisearch.location import Address, shipped_folder
from lpisearch.storage import schema_differences, schema_revision, tables
from lpisearch.storage.postgres import schema
from lpisearch.storage.postgres.database import single
from tests.samples import downgrade


@pytest.mark.parametrize("target", ["0001", "0005"])
def test_an_older_library_is_brought_to_this_schema(
    shelf: Library, target: str, sound_at: Callable[[Address], None]
) -> None:
    assert isinstance(shelf.path, Address)
    texts = sorted(one.text for one in shelf)
    shelf.close()
    downgrade(shelf.path, target)
    with Library(shelf.path) as again:
        assert again.status()["schema"] == schema_revision()
        assert sorted(one.text for one in again) == texts
        assert again.search("ship", by="lexical")
    assert schema_differences(shelf.path) == []
    sound_at(shelf.path)


def test_a_failed_upgrade_changes_nothing(
    shelf: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert isinstance(shelf.path, Address)
    shelf.close()
    downgrade(shelf.path, "0003")
    folder = tmp_path / "migrations"
    shutil.copytree(shipped_folder("migrations"), folder)
    broken = next((folder / "versions").glob("0005*"))
    text = broken.read_text("utf-8")
    broken.write_text(
        text.replace("def upgrade() -> None:", "def upgrade() -> None:\n    1 / 0"), "utf-8"
    )
    monkeypatch.setattr(tables, "shipped_folder", lambda _name: folder)
    with pytest.raises(ZeroDivisionError):
        schema.upgrade(shelf.path)
    monkeypatch.undo()
    with single(shelf.path).connect() as connection:
        assert tables.revision(connection) == "0003"
    assert len(shelf) == 40
