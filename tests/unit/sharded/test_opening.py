"""Folders of shards that are not whole, or do not fit together."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

import lpisearch
from lpisearch import BadOption, LibraryTooNew, NotALibrary
from lpisearch.errors import ConversationLost, NotOfShards, ShardsUnusable
from lpisearch.indexes.shard_map import FILE
from lpisearch.settings import SearchOptions
from lpisearch.settings.asked import Asked

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch import Library


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the shards."""
    return shutil.copytree(made / "parts", tmp_path / "parts")


def test_a_missing_shard_is_named(copy: Path) -> None:
    """When something is asked; a machine that serves another one need not have it."""
    (copy / "shard-0001.db").unlink()
    with lpisearch.open(copy) as parts:
        for ask in (lambda: parts.search("ship"), parts.status, lambda: parts.shard("2/3")):
            with pytest.raises(ShardsUnusable, match=r"shard-0001\.db is missing"):
                ask()
        assert parts.shard("1/3").status()["documents"] == 20


def test_a_split_that_was_killed_does_not_open(copy: Path) -> None:
    """The map is written last."""
    (copy / FILE).unlink()
    with pytest.raises(ShardsUnusable, match="so the split did not finish"):
        lpisearch.open(copy)


def test_a_later_format_is_refused(copy: Path) -> None:
    """A newer program is named as what is needed."""
    said = json.loads((copy / FILE).read_text()) | {"format": 2}
    (copy / FILE).write_text(json.dumps(said))
    with pytest.raises(LibraryTooNew):
        lpisearch.open(copy)


def test_any_other_folder_is_no_library(tmp_path: Path) -> None:
    """It is refused as ever."""
    with lpisearch.open(tmp_path) as library, pytest.raises(NotALibrary, match="it is a folder"):
        library.status()


def test_a_shard_of_another_build_is_refused(made: Path, copy: Path, tmp_path: Path) -> None:
    """Its statistics are others: it would be ranked wrongly."""
    with lpisearch.open(made / "notes.db") as library:
        library.split(tmp_path / "others", 2)
    for name in ("shard-0001.db", "shard-0001.index"):
        path = copy / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        (tmp_path / "others" / name).rename(path)
    with lpisearch.open(copy) as parts:
        with pytest.raises(ShardsUnusable, match=r"shard-0001\.db is from a different build"):
            parts.search("ship")
        with pytest.raises(ShardsUnusable, match=r"shard-0001\.db is from a different build"):
            parts.shard("2/3")


def test_a_library_that_is_whole_is_no_shard(made: Path, copy: Path) -> None:
    """It does not know the statistics of others."""
    shutil.copy(made / "notes.db", copy / "shard-0001.db")
    shutil.rmtree(copy / "shard-0001.index")
    shutil.copytree(made / "notes.index", copy / "shard-0001.index")
    with lpisearch.open(copy) as parts, pytest.raises(ShardsUnusable, match="another build"):
        parts.search("ship")


def test_a_shard_that_was_written_to_is_said_to_be_behind(copy: Path) -> None:
    """Its documents are no longer those of its index."""
    with lpisearch.open(copy / "shard-0002.db") as shard:
        shard.delete("copy/2")
    with lpisearch.open(copy) as parts:
        answer = parts.search("ship", k=62)
    assert "copy/2" not in [hit.id for hit in answer]
    assert any("do not match its index" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("5/4", "is not a shard"),
        ("0/3", "is not a shard"),
        ("x", "is not"),
        ("1/2", "has 3 shards"),
    ],
)
def test_a_shard_that_there_is_not_is_refused(parts: Library, said: str, why: str) -> None:
    """`--shard` is a number of as many as there are."""
    with pytest.raises(BadOption, match=why):
        parts.shard(said)


def test_a_whole_library_has_no_shards(whole: Library) -> None:
    """And is one itself for nobody."""
    with pytest.raises(BadOption, match="is not in shards"):
        whole.shard("1/2")
    assert not whole.is_sharded


def test_what_no_shard_says_is_refused(parts: Library) -> None:
    """Conversations that are over, steps out of order, and places that there are not."""
    side = parts.shard("1/3").as_shard()
    with pytest.raises(ConversationLost):
        side.step("unknown", {})
    begun = side.begin(Asked("ship"))
    for heard in ({}, {"kind": "sums"}, {"kind": "sums", "legs": 3, "documents": "x"}):
        with pytest.raises(NotOfShards, match="not belong to this step"):
            side.step(begun["id"], heard)
    done = side.begin(Asked("ship", SearchOptions(by="lexical")))
    with pytest.raises(NotOfShards, match="no such place"):
        side.finish(done["id"], [10_000], [], [])
    with pytest.raises(ConversationLost):
        side.finish(begun["id"], [], [], [])
