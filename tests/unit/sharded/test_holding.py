"""What shards hold is what the library holds that they were made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch import BadOption, DocumentNotFound, Filter
from lpisearch.errors import NotOnShards
from lpisearch.settings import ENTRY_SORTS, ClassifyOptions, DimensionOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch import Library


@pytest.mark.parametrize("sort", ENTRY_SORTS)
def test_documents_are_listed_in_one_order(whole: Library, parts: Library, sort: str) -> None:
    """All of them, and a page from the middle of those that pass a filter."""
    assert parts.entries(sort=sort) == whole.entries(sort=sort)
    where = Filter(labels=("sea",))
    page = {"limit": 5, "offset": 4, "sort": sort}
    assert parts.listing(where, **page) == whole.listing(where, **page)  # type: ignore[arg-type]


def test_documents_are_found_by_name(whole: Library, parts: Library) -> None:
    """By id or path, in any shard; names are completed."""
    for name in ("sea/00", "/notes/sky/59.txt", "copy/2"):
        assert parts.document(name) == whole.document(name)
        assert parts.predicted(name) == ()
    assert list(parts) == list(whole)
    assert len(parts) == len(whole)
    for kind, beginning in (("document", "sea"), ("label", ""), ("index", "d")):
        assert parts.names(kind, beginning, 5) == whole.names(kind, beginning, 5)
    with pytest.raises(DocumentNotFound):
        parts.document("nobody")
    with pytest.raises(BadOption):
        parts.listing(sort="colour")


def test_documents_are_counted_together(whole: Library, parts: Library) -> None:
    """By label, split, folder, format and date, and in the status, which names the shards."""
    assert parts.facets() == whole.facets()
    assert parts.facets(Filter(labels=("sea",))) == whole.facets(Filter(labels=("sea",)))
    here, there = whole.status(), parts.status()
    for name in ("documents", "labels", "predicted", "splits", "language", "schema"):
        assert there[name] == here[name]
    assert [shard["documents"] for shard in there["shards"]] == [20, 21, 21]
    assert {shard["state"] for shard in there["shards"]} == {"ready"}
    (index,) = there["indexes"]
    assert (index["documents"], index["state"]) == (62, "ready")


def test_every_shard_knows_all_labels_and_words(whole: Library, parts: Library) -> None:
    """Classes, marks and vectors are those of the whole."""
    assert parts.classify("a star at night") == whole.classify("a star at night")
    each = list(parts.classify_each(["a", "ship"], ClassifyOptions()))
    assert each == list(whole.classify_each(["a", "ship"], ClassifyOptions()))
    assert parts.marks("ships", "a ship at sea") == whole.marks("ships", "a ship at sea")
    ids, vectors = whole.vectors()
    same, others = parts.vectors()
    assert (same, others.tolist()) == (ids, vectors.tolist())
    assert parts.vector("ship").tolist() == whole.vector("ship").tolist()


def test_the_state_is_a_mark(parts: Library) -> None:
    """It is the same as long as nothing changes; nobody writes; no damage is found."""
    assert parts.state() == parts.state()
    assert parts.writer() == ""
    assert not parts.is_source("/nowhere")
    assert all(finding.ok for finding in parts.examine())
    assert parts.examine()[0].check.startswith("shard-0000.db: ")


@pytest.mark.parametrize(
    "refused",
    [
        lambda library: library.ingest("somewhere"),
        lambda library: library.index(),
        lambda library: library.plan(),
        lambda library: library.label("sea/00", add="x"),
        lambda library: library.predict_labels(),
        lambda library: library.forget_predicted(),
        lambda library: library.delete("sea/00"),
        lambda library: library.retokenise(),
        lambda library: library.split("there", 2),
        lambda library: library.upgrade(),
        lambda library: library.schema_differences(),
        lambda library: library.back_up(),
        lambda library: library.export("file"),
        lambda library: library.topics(),
        lambda library: library.map(),
        lambda library: library.dimensions(DimensionOptions("spg")),
        lambda library: library.evaluate(),
        lambda library: library.evaluating(),
        lambda library: library.examine(repair=True),
        lambda library: library.as_shard(),
    ],
)
def test_what_cannot_be_done_is_said(parts: Library, refused: Callable[[Library], object]) -> None:
    """Whatever writes, or needs all documents in one place, says what to do in its place."""
    with pytest.raises(NotOnShards, match=r"A sharded library cannot .* Next: "):
        refused(parts)
