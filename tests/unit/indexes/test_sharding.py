from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lpisearch import open as open_library
from lpisearch.errors import (
    BadOption,
    IndexNotFound,
    LibraryTooNew,
    ShardsUnusable,
    SubspaceError,
)
from lpisearch.indexes.opening import open_index
from lpisearch.indexes.shard_map import FILE, ShardMap, shard_name
from lpisearch.indexes.sharding import Shared, place_shard
from lpisearch.maintenance.splitting import split_library
from lpisearch.settings import index_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS_SAID = "ship harbour dawn sailor deck storm ocean lamp rock bread oven cake butter"
WORDS = tuple(WORDS_SAID.split())
NUMBER = 40


def _text(number: int, words: int = 12) -> str:
    rng = np.random.default_rng(number)
    return " ".join(rng.choice(WORDS, words).tolist())


@pytest.fixture
def notes(library: Path, folder: Callable[..., Path], ingest: Callable[..., object]) -> Path:
    """Return a library with an index; two of its documents are long, and have passages."""
    texts = {f"{number:02}.txt": _text(number) for number in range(NUMBER)}
    texts |= {f"long-{number}.txt": _text(100 + number, 1500) for number in range(2)}
    ingest(folder(texts))
    with open_library(library) as opened:
        opened.index(method="rlpi", dims=5)
    return library


def _shared(notes: Path, scratch: Path) -> Shared:
    index = open_index(notes)
    source = next(each for each in index_folder(notes).iterdir() if each.is_dir())
    scratch.mkdir()
    return Shared.of_index(source, index, scratch, 3)


def test_shards_have_all_documents_and_the_statistics_of_all(notes: Path, tmp_path: Path) -> None:
    """Rows of the shards, put together, are those of the whole; words are as rare as there."""
    split_library(notes, tmp_path / "parts", 3)
    whole = open_index(notes)
    parts = [open_index(tmp_path / "parts" / shard_name(number)) for number in range(3)]
    rows = np.concatenate([part.document_rows for part in parts])
    assert rows.tolist() == whole.document_rows.tolist()
    vectors = np.vstack([part.vectors for part in parts])
    assert vectors.tobytes() == whole.vectors.tobytes()
    for part in parts:
        assert part.postings.terms() == whole.postings.terms()
        assert part.postings.n_documents == NUMBER + 2
        assert part.postings.mean_length == whole.postings.mean_length
        assert part.postings.frequencies().tolist() == whole.postings.frequencies().tolist()
    passages = [part.passages for part in parts]
    assert sum(len(each) for each in passages if each) == len(whole.passages or ())


def test_a_shard_is_worked_out_from_its_own_tokens(notes: Path, tmp_path: Path) -> None:
    """What a worker makes of tokens and a shared map is what is cut out of the whole index."""
    split_library(notes, tmp_path / "parts", 3)
    shared = pickle.loads(pickle.dumps(_shared(notes, tmp_path / "scratch")))  # noqa: S301
    for number in range(3):
        library = tmp_path / "parts" / shard_name(number)
        cut = open_index(library)
        place_shard(library, shared, number)
        placed = open_index(library)
        assert placed.arrays.keys() == cut.arrays.keys()
        for name, array in cut.arrays.items():
            if name.startswith("passage_strongest"):
                continue  # among the passages of the shard
            if array.dtype.kind == "f":
                np.testing.assert_allclose(placed.arrays[name], array, atol=1e-5)
            else:
                assert placed.arrays[name].tolist() == array.tolist(), name


def test_the_map_names_shards_and_their_build(notes: Path, tmp_path: Path) -> None:
    """`shards.json` says how many documents each shard has, and which build all are of."""
    split_library(notes, tmp_path / "parts", 3)
    found = ShardMap.read(tmp_path / "parts")
    assert [entry.documents for entry in found.shards] == [14, 14, 14]
    built = open_index(tmp_path / "parts" / shard_name(2)).manifest.shard
    assert built["build"] == found.builds["default"]
    assert (built["number"], built["of"], built["documents"]) == (2, 3, NUMBER + 2)


@pytest.mark.parametrize("number", [0, 1000])
def test_a_number_of_shards_that_cannot_be_is_refused(
    notes: Path, tmp_path: Path, number: int
) -> None:
    """No shard is empty; nothing is written."""
    with pytest.raises(BadOption, match="must be between 1 and"):
        split_library(notes, tmp_path / "parts", number)
    assert not (tmp_path / "parts").exists()


def test_a_library_without_an_index_is_not_split(
    library: Path, put: Callable[..., object], tmp_path: Path
) -> None:
    """Shards are ranked together by an index."""
    put([{"id": "one", "text": "a ship"}])
    with pytest.raises(IndexNotFound):
        split_library(library, tmp_path / "parts", 1)


def test_an_index_that_is_behind_is_not_split(notes: Path, tmp_path: Path) -> None:
    """What the index does not cover would be in no shard."""
    with open_library(notes) as library:
        library.label("00.txt", add="sea")
        library.delete("01.txt")
    with pytest.raises(SubspaceError, match="does not cover"):
        split_library(notes, tmp_path / "parts", 2)


def test_a_folder_with_something_else_is_left_alone(notes: Path, tmp_path: Path) -> None:
    """Neither a sharded library nor other files are replaced; what a kill has left is."""
    folder = tmp_path / "parts"
    split_library(notes, folder, 2)
    with pytest.raises(ShardsUnusable, match="a sharded library already"):
        split_library(notes, folder, 2)
    (folder / FILE).unlink()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(ShardsUnusable, match=r"“mine\.txt” already"):
        split_library(notes, folder, 2)
    (folder / "mine.txt").unlink()
    split_library(notes, folder, 3)
    assert len(ShardMap.read(folder).shards) == 3


def test_a_folder_of_shards_takes_in_nothing_by_a_single_one(
    notes: Path, tmp_path: Path, folder: Callable[..., Path], ingest: Callable[..., object]
) -> None:
    """A document brought into one shard is safe, and its index says why it is not in it."""
    split_library(notes, tmp_path / "parts", 2)
    report = ingest(
        folder({"new.txt": "a new ship"}, "more"), into=tmp_path / "parts/shard-0000.db"
    )
    assert "belongs to one shard" in str(report)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("{", ShardsUnusable, "not as it was written"),
        ('{"format": 1}', ShardsUnusable, "not as it was written"),
        ('{"format": 1, "shards": [], "builds": {}}', ShardsUnusable, "lists no shards"),
        ('{"format": 2}', LibraryTooNew, "format 2"),
        (
            '{"format": 1, "builds": {}, "shards": [{"library": "../a.db", "documents": 1}]}',
            ShardsUnusable,
            "not as it was written",
        ),
    ],
)
def test_a_map_that_is_none_is_refused(
    tmp_path: Path, text: str, error: type[Exception], said: str
) -> None:
    """Damage, a later format and paths out of the folder are stated."""
    (tmp_path / FILE).write_text(text)
    with pytest.raises(error, match=said):
        ShardMap.read(tmp_path)


def test_a_folder_without_a_map_is_none(tmp_path: Path) -> None:
    """It is written last: a split that was killed leaves nothing that opens."""
    with pytest.raises(ShardsUnusable, match="has no"):
        ShardMap.read(tmp_path)


@pytest.mark.usefixtures("notes")
def test_the_command_splits(cli: Callable[..., object], tmp_path: Path) -> None:
    """`lpisearch db split` says what it wrote."""
    found = cli("db", "split", tmp_path / "parts", "--shards", "2", "--json")
    said = json.loads(found.stdout)  # type: ignore[attr-defined]
    assert (said["shards"], said["documents"]) == (2, [21, 21])
