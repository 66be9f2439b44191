from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lpisearch
from lpisearch.errors import IndexNotFound, LibraryNotFound
from lpisearch.options import IndexOptions, SearchOptions


@pytest.fixture
def opened(indexed: Path) -> lpisearch.Library:
    """Return a library of records with an index."""
    return lpisearch.open(indexed)


def test_one_with_block_does_everything(
    library: Path, folder: Callable[..., Path], records: list[dict[str, Any]]
) -> None:
    files = {f"{one['labels'][0]}/{at}.txt": one["text"] for at, one in enumerate(records)}
    with lpisearch.open(library) as notes:
        assert notes.ingest(folder(files), labels="folder").added == len(notes) == len(files)
        assert "No index yet" in notes.search(records[0]["text"]).notes[0]
        notes.index(options=IndexOptions(dims=4))
        answer = notes.search(records[0]["text"], k=3, explain=True)
        assert len(answer) == 3
        assert not answer.notes
        for hit in answer:
            assert hit.explanation is not None
            assert hit.explanation.cosine == pytest.approx(hit.cosine, abs=1e-5)
        assert notes.evaluate("similarity").tables[0].rows


def test_iteration_gives_every_document(opened: lpisearch.Library) -> None:
    assert [one.id for one in opened] == [entry.id for entry in opened.entries()]
    assert len(opened) == len(list(opened)) > 1
    assert bool(opened)


def test_vectors_belong_to_the_documents(opened: lpisearch.Library) -> None:
    ids, vectors = opened.vectors()
    assert sorted(ids) == sorted(str(one.id) for one in opened)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    with pytest.raises(IndexNotFound):
        opened.vectors("nowhere")


def test_every_question_names_an_index_alike(opened: lpisearch.Library) -> None:
    opened.index(options=IndexOptions(name="other", method="lsi", dims=3))
    assert opened.vectors("other")[1].shape[1] == 3
    assert opened.search("ship", by="semantic", index="other").by == "semantic"
    for ask in (opened.search, opened.similar, opened.classify):
        with pytest.raises(IndexNotFound):
            ask("ship", index="nowhere")
    with pytest.raises(IndexNotFound):
        opened.topics(index="nowhere")


def test_answers_carry_their_notes(opened: lpisearch.Library) -> None:
    assert any("zyzzyva" in note for note in opened.search("ship zyzzyva").notes)


def test_an_index_built_anew_is_taken_up(opened: lpisearch.Library) -> None:
    before = opened.vectors()[1].shape[1]
    lpisearch.open(opened.path).index(options=IndexOptions(dims=before - 1))
    assert opened.vectors()[1].shape[1] == before - 1


def test_a_closed_library_opens_again(opened: lpisearch.Library) -> None:
    with opened:
        first = opened.search("ship")
    assert opened.search("ship") == first


def test_nothing_is_made_by_asking(tmp_path: Path) -> None:
    with lpisearch.open(tmp_path / "none.db") as library, pytest.raises(LibraryNotFound):
        library.search("ship")
    assert not list(tmp_path.iterdir())


def test_threads_share_a_library(opened: lpisearch.Library, records: list[dict[str, Any]]) -> None:
    texts = [one["text"] for one in records]
    wanted = {text: opened.search(text) for text in texts}

    def ask(text: str) -> bool:
        judged = opened.classify(text, k=1)
        answer = opened.search(text, options=SearchOptions(explain=True))
        same = [hit.id for hit in answer] == [hit.id for hit in wanted[text]]
        return same and bool(judged.labels) and answer.notes == wanted[text].notes

    with ThreadPoolExecutor(9) as pool:
        building = pool.submit(lambda: [opened.index() for _ in range(3)])
        assert all(pool.map(ask, texts * 4))
        building.result()
