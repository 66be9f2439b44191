from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch.errors import BadOption, DocumentNotFound, IndexNotFound
from lpisearch.index.build import build_index
from lpisearch.index.fusion import SAFE_WEIGHT
from lpisearch.index.subspace import SubspaceIndex
from lpisearch.location import index_folder
from lpisearch.model.documents import Document, Filter
from lpisearch.options import IndexOptions, SearchOptions
from lpisearch.search.engine import Engine
from tests.indexing import open_index
from tests.searching import run_batch, run_feedback, run_search, run_similar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTES = {
    "sea/harbour.txt": "The ship left the harbour at dawn with sailors on deck.",
    "sea/storm.txt": "A storm on the ocean: sailors tied the ship to the harbour wall.",
    "sea/lamp.txt": "The lighthouse lamp guides a ship past the rocks in a storm.",
    "sea/copy.txt": "The lighthouse lamp guides a ship past the rocks in a storm.",
    "kitchen/bread.txt": "Knead the dough and bake the bread in a hot oven.",
    "kitchen/cake.txt": "Bake a cake with butter, sugar and flour in the oven.",
    "kitchen/soup.txt": "Boil the soup with onions and salt, and eat it with bread.",
}
WAYS = ("hybrid", "semantic", "lexical")


@pytest.fixture
def notes(library: Path, folder: Callable[..., Path], ingest: Callable[..., object]) -> Path:
    """Return a library with an index."""
    ingest(folder(NOTES), labels="folder")
    build_index(library, IndexOptions())
    return library


def ids(library: Path, text: str, **options: object) -> list[str]:
    """Return the ids of the hits."""
    return [hit.id for hit in run_search(library, text, SearchOptions(**options)).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize("by", WAYS)
def test_each_way_finds_by_topic(notes: Path, by: str) -> None:
    answer = run_search(notes, "bread", SearchOptions(by=by, k=2))
    assert all(hit.labels == ("kitchen",) for hit in answer.hits)
    if by != "semantic":
        assert {hit.id for hit in answer.hits} == {"kitchen/bread.txt", "kitchen/soup.txt"}
    assert answer.by == by
    assert answer.notes == ()
    for rank, hit in enumerate(answer.hits, start=1):
        assert hit.rank == rank
        assert (hit.cosine is None) == (by == "lexical")
        assert (hit.bm25 is None) == (by == "semantic")
        assert hit.snippet.text


def test_filters_that_leave_nothing_are_named(notes: Path) -> None:
    def said(**conditions: Any) -> str:
        where = Filter(**conditions)
        return " ".join(run_search(notes, "bread", SearchOptions(where=where)).notes)

    assert "No documents match “path=code docs”" in said(path="code docs")
    assert "No documents match “path=nowhere”" in said(path="nowhere", labels=("kitchen",))
    assert "“label=kitchen”, “path=sea”" in said(path="sea", labels=("kitchen",))
    assert said(path="kitchen") == ""
    many = said(metadata=tuple((f"field{n}", "yes") for n in range(100)))
    assert "“field9=yes”" in many
    assert "field10" not in many


def test_hits_without_the_word(notes: Path) -> None:
    for by in ("hybrid", "semantic"):
        assert sorted(ids(notes, "bread", by=by)) == [
            "kitchen/bread.txt",
            "kitchen/cake.txt",
            "kitchen/soup.txt",
        ]
    assert len(ids(notes, "bread", by="lexical")) == 2


@pytest.mark.parametrize("by", WAYS)
def test_no_hit_without_evidence(notes: Path, by: str) -> None:
    sea = Filter(labels=("sea",))
    assert ids(notes, "butter flour", by=by, where=sea, k=100) == []
    assert ids(notes, "butter ship", by=by, where=sea, k=100)


def test_the_weight_of_the_subspace_is_given(notes: Path) -> None:
    def scores(weight: float | None) -> list[float]:
        options = SearchOptions(semantic_weight=weight)
        ((_, run),) = run_batch(notes, [("1", "bread")], options)
        hits = run_search(notes, "bread", options).hits
        assert [score for _, score in run][: len(hits)] == pytest.approx(
            [hit.score for hit in hits], abs=2e-5
        )
        return [hit.score for hit in hits]

    assert scores(None) == scores(SAFE_WEIGHT) != scores(3)
    for unfit in (-1.0, float("nan"), float("inf")):
        with pytest.raises(BadOption, match="semantic_weight"):
            run_search(notes, "bread", SearchOptions(semantic_weight=unfit))


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("text", ["", "the of", "zzzqqq", "-bread", '"', "\0", "🎂"])
def test_nothing_to_look_for(notes: Path, by: str, text: str) -> None:
    answer = run_search(notes, text, SearchOptions(by=by))
    assert answer.hits == ()
    assert answer.notes


@pytest.mark.parametrize("by", WAYS)
def test_counts_and_offsets(notes: Path, by: str) -> None:
    every = ids(notes, "ship storm", by=by, k=100)
    assert ids(notes, "ship storm", by=by, k=0) == []
    assert ids(notes, "ship storm", by=by, k=2, offset=1) == every[1:3]
    assert run_search(notes, "ship", SearchOptions(by=by, offset=1)).hits[0].rank == 2
    assert ids(notes, "ship", by=by, offset=100) == []


@pytest.mark.parametrize("by", WAYS)
def test_filters_come_before_ranking(notes: Path, by: str) -> None:
    where = Filter(labels=("kitchen",))
    assert (
        ids(notes, "bread ship storm", by=by, k=2, where=where)
        == ids(notes, "bread ship storm", by=by, where=where)[:2]
    )
    assert all(name.startswith("kitchen") for name in ids(notes, "bread ship", by=by, where=where))
    assert "kitchen/bread.txt" not in ids(notes, "bread -dough", by=by)
    twins = ids(notes, '"lighthouse lamp"', by=by, collapse=False)
    assert set(twins) == {"sea/lamp.txt", "sea/copy.txt"}


def test_least_scores(notes: Path) -> None:
    scores = [hit.score for hit in run_search(notes, "ship").hits]
    assert len(ids(notes, "ship", min_score=scores[2])) == 3


def test_options_that_cannot_work(notes: Path) -> None:
    for options, words in (
        (SearchOptions(by="hybird"), "hybrid"),
        (SearchOptions(where=Filter(labels=("kitchn",))), "kitchen"),
        (SearchOptions(k=-1), "-1"),
        (SearchOptions(offset=-1), "-1"),
    ):
        with pytest.raises(BadOption, match=words):
            run_search(notes, "bread", options)
    with pytest.raises(IndexNotFound):
        run_search(notes, "bread", SearchOptions(index="other"))


def test_no_index_yet(
    library: Path, folder: Callable[..., Path], ingest: Callable[..., object]
) -> None:
    ingest(folder(NOTES), labels="folder")
    answer = run_search(library, "bread")
    assert [hit.id for hit in answer.hits] == ["kitchen/bread.txt", "kitchen/soup.txt"]
    assert answer.by == "lexical"
    assert "library.index()" in answer.notes[0]
    assert ids(library, "bread dawn", where=Filter(labels=("sea",)), k=1) == ["sea/harbour.txt"]


@pytest.mark.parametrize("name", ["vectors", "posting_counts", "loadings"])
def test_a_flipped_byte_never_answers(notes: Path, name: str) -> None:
    run_search(notes, "bread")
    (path,) = index_folder(notes).glob(f"*/{name}.npy")
    facts = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    answer = run_search(notes, "bread")
    assert answer.by == "lexical"
    assert "is corrupt" in answer.notes[0]
    assert len(answer.hits) == 2


def test_an_index_folder_that_is_gone(notes: Path) -> None:
    shutil.rmtree(index_folder(notes))
    assert run_search(notes, "bread").by == "lexical"


def test_documents_that_changed_or_went(notes: Path, sql: Callable[..., object]) -> None:
    sql("UPDATE documents SET content_hash = x'00' WHERE external_id = 'kitchen/bread.txt'")
    answer = run_search(notes, "bread", SearchOptions(k=2))
    assert answer.hits[0].id == "kitchen/soup.txt"
    assert len(answer.hits) == 2
    assert "skipped" in answer.notes[0]
    sql("DELETE FROM documents WHERE external_id = 'sea/storm.txt'")
    answer = run_search(notes, "storm")
    assert "sea/storm.txt" not in [hit.id for hit in answer.hits]
    assert "out of date" in " ".join(answer.notes)
    ((_, run),) = run_batch(notes, [("1", "bread storm")])
    assert {name for name, _ in run}.isdisjoint({"sea/storm.txt", "kitchen/bread.txt"})


def test_an_open_library_sees_a_new_index(
    notes: Path, folder: Callable[..., Path], ingest: Callable[..., object]
) -> None:
    with lpisearch.open(notes) as opened:
        assert not opened.search("walrus", by="lexical").hits
        ingest(folder(NOTES | {"sea/walrus.txt": "A walrus near the ship."}), labels="folder")
        assert opened.search("walrus")[0].id == "sea/walrus.txt"


@pytest.mark.parametrize("by", WAYS)
def test_a_batch_answers_as_one_by_one(notes: Path, by: str) -> None:
    texts = ["bread", "ship storm", "zzz", "", "oven butter ship"]
    options = SearchOptions(by=by)
    runs = dict(run_batch(notes, [(text, text) for text in texts], options))
    for text in texts:
        hits = run_search(notes, text, options).hits
        run = [pair for pair in runs[text] if pair[0] in {hit.id for hit in hits}]
        assert [name for name, _ in run] == [hit.id for hit in hits]
        assert [score for _, score in run] == pytest.approx([hit.score for hit in hits], abs=2e-5)
    assert len(runs["bread"]) == (2 if by == "lexical" else 7)


def test_queries_of_a_batch_are_prose(notes: Path) -> None:
    runs = dict(run_batch(notes, [("1", '"ship" -bread'), ("2", "ship bread")]))
    assert runs["1"] == runs["2"]


def test_similar_documents(notes: Path, tmp_path: Path) -> None:
    """A document by id, a file, and one that is nowhere find their like; never itself."""
    found = [hit.id for hit in run_similar(notes, "sea/lamp.txt").hits]
    assert found[0] == "sea/copy.txt"
    assert "sea/lamp.txt" not in found
    file = tmp_path / "new.txt"
    file.write_text("Bake bread in the oven.", encoding="utf-8")
    assert lpisearch.open(notes).similar(file)[0].id == "kitchen/bread.txt"
    document = Document(title="", text="Bake bread in the oven.")
    assert run_similar(notes, document).hits[0].id == "kitchen/bread.txt"
    with pytest.raises(DocumentNotFound):
        run_similar(notes, "nowhere")


def test_feedback_moves_the_query(notes: Path) -> None:
    found = [h.id for h in run_feedback(notes, "bake", ["sea/lamp.txt"], []).hits]
    assert "sea/copy.txt" in found
    assert "sea/copy.txt" not in [h.id for h in run_search(notes, "bake").hits]
    assert "sea/lamp.txt" not in found
    found = [h.id for h in run_feedback(notes, "ship", [], ["sea/lamp.txt"]).hits]
    assert found.index("sea/copy.txt") >= 2
    assert run_feedback(notes, "", ["sea/lamp.txt"], []).hits[0].id == "sea/copy.txt"
    with pytest.raises(DocumentNotFound):
        run_feedback(notes, "ship", ["nowhere"], [])


def test_from_python(notes: Path) -> None:
    """Library.search and Library.similar give hits; what is given by name goes before options."""
    opened = lpisearch.open(notes)
    assert [hit.id for hit in opened.search("bread", k=2, by="lexical", label="kitchen")] == ids(
        notes, "bread", by="lexical"
    )
    options = SearchOptions(k=3, by="lexical")
    assert len(opened.search("ship", options=options)) == 3
    assert len(opened.search("ship", k=1, options=options)) == 1
    assert opened.similar("sea/lamp.txt", k=1)[0].id == "sea/copy.txt"


def test_a_query_imports_no_heavy_library(notes: Path) -> None:
    code = (
        "import sys, lpisearch; "
        f"assert lpisearch.open({str(notes)!r}).search('bread').hits; "
        "print({'scipy', 'sklearn', 'alembic', 'sqlalchemy'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_a_word_that_the_map_does_not_know_keeps_its_say(notes: Path) -> None:
    index = open_index(notes)
    columns = np.array(index.postings.lexicon_columns)
    columns[index.postings.find("onion")] = -1
    engine = Engine(SubspaceIndex(index.manifest, index.arrays | {"lexicon_columns": columns}))
    question = engine.look_up(["onion", "oven"])
    assert engine.look_up(["oven"]).known == 1
    assert 0 < question.known < 1
    assert engine.look_up(["oven", "zebra"]).known < engine.look_up(["oven", "ship"]).known == 1
    found = engine.scores(question, "hybrid")
    (first,) = np.flatnonzero(engine.scores(engine.look_up(["onion"]), "lexical").total)
    assert found.total.argmax() == first
    assert found.cosines is not None
    assert found.cosines.argmax() != first
