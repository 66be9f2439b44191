"""Read transactions, transactions and the smaller parts of a store."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from lpisearch.errors import (
    DocumentNotFound,
    LibraryLocked,
    LibraryNotFound,
    NotUnicode,
    SeveralDocuments,
)
from lpisearch.location import Location
from lpisearch.messages import Message, Option
from lpisearch.model.answers import LabelShare
from lpisearch.model.documents import (
    UNFINISHED,
    Document,
    DocumentRow,
    DocumentWrite,
    FailedFile,
    Filter,
    PredictedLabel,
    Section,
    Source,
    Traits,
    Trouble,
)
from lpisearch.options import ENTRY_SORTS
from lpisearch.storage import (
    back_up,
    create_store,
    open_store,
    schema_differences,
    schema_revision,
    upgrade_store,
    writer_lock,
)
from lpisearch.storage.integrity import content_hash
from lpisearch.storage.metadata import TOKENISER, IndexEntry
from lpisearch.storage.reading import Prefix
from lpisearch.storage.store import ReadTransaction, Store

Fill = Callable[..., None]

EVERY = Filter()
NOW = "2026-01-01T00:00:00+00:00"


def _ids(snapshot: ReadTransaction) -> list[str]:
    return list(snapshot.documents.ids().values())


def _write(document: Document, key: int = 1, tokens: str = "", position: int = 1) -> DocumentWrite:
    name = document.id or ""
    place = DocumentRow(key, name, 1, position, content_hash(document))
    return DocumentWrite(place, "/notes/1.jsonl", document, tokens)


def test_a_new_library_is_empty_and_of_this_schema(place: Location) -> None:
    with pytest.raises(LibraryNotFound):
        open_store(place)
    create_store(place).close()
    with create_store(place) as store, store.reading() as snapshot:
        assert store.writable
        assert store.path == place
        assert snapshot.documents.count_and_sum(EVERY)[0] == 0
        assert snapshot.revision() == schema_revision()
        assert store.size_bytes() > 0
    assert upgrade_store(place) is None
    assert schema_differences(place) == []


def test_a_snapshot_sees_one_state_while_others_write(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "ship"}])
    with open_store(store.path) as readers, readers.reading() as before:
        assert _ids(before) == ["a"]
        fill(store, [{"id": "a", "text": "boat"}, {"id": "b", "text": "ship"}])
        assert _ids(before) == ["a"]
        assert [one.text for one in before.corpus.stream(EVERY)] == ["ship"]
        assert before.lexical.allowed(EVERY) is None
        assert [key for key, _ in before.lexical.bm25(["ship"])] == [1]
        with readers.reading() as after:
            assert _ids(after) == ["a", "b"]
            assert [key for key, _ in after.lexical.bm25(["ship"])] == [2]
        assert _ids(before) == ["a"]


def test_a_reader_does_not_see_what_is_not_committed(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "ship"}])
    with open_store(store.path) as readers:
        with store.writing() as transaction:
            transaction.changes.delete([1])
            assert _ids(transaction) == []
            with readers.reading() as snapshot:
                assert _ids(snapshot) == ["a"]
        with readers.reading() as snapshot:
            assert _ids(snapshot) == []


@pytest.mark.parametrize("durable", [False, True])
def test_a_failed_transaction_leaves_nothing(store: Store, fill: Fill, *, durable: bool) -> None:
    fill(store, [{"id": "a", "text": "ship", "labels": ("sea",)}])

    def fail() -> None:
        with store.writing(durable=durable) as transaction:
            transaction.changes.delete([1])
            transaction.changes.insert([_write(Document("", "x", "b"), 2, "x")], NOW)
            transaction.sources.save([Source(9, "/9", "/", "jsonl", 1, 1, "")], NOW)
            transaction.settings.set("one", {"a": 1})
            transaction.indexes.save(IndexEntry("one", "lsi", {}, "f", "one-1", NOW))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading() as snapshot:
        assert _ids(snapshot) == ["a"]
        assert snapshot.labels.names() == ["sea"]
        assert snapshot.lexical.some_with("ship", 5) == [1]
        assert snapshot.lexical.some_with("x", 5) == []
        assert len(snapshot.sources.known()) == 2
        assert snapshot.settings.get("one") is None
        assert snapshot.indexes.entries() == []


def test_what_is_rolled_back_is_undone(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "ship"}])
    with store.writing() as transaction:
        transaction.changes.delete([1])
        transaction.rollback()
    with store.reading() as snapshot:
        assert _ids(snapshot) == ["a"]


def test_threads_read_side_by_side(store: Store, fill: Fill) -> None:
    stopped = Event()

    def read(readers: Store) -> set[tuple[int, int]]:
        seen: set[tuple[int, int]] = set()
        while not stopped.is_set() or not seen:
            with readers.reading() as snapshot:
                counted = snapshot.documents.count_and_sum(EVERY)[0]
                seen.add((counted, len(list(snapshot.corpus.stream(EVERY)))))
        return seen

    fill(store, [{"id": "0", "text": "ship"}])
    with open_store(store.path) as readers, ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(read, readers) for _ in range(4)]
        try:
            for number in range(1, 30):
                fill(store, [{"id": str(each), "text": "ship"} for each in range(number)])
        finally:
            stopped.set()
        seen = set.union(*(run.result() for run in runs))
    assert {one == other for one, other in seen} == {True}


def test_one_writer_at_a_time(place: Location) -> None:
    with (
        writer_lock(place, "ingest", 0),
        pytest.raises(LibraryLocked, match="ingest"),
        writer_lock(place, "index", 0),
    ):
        pass
    with writer_lock(place, "index", 0):
        pass


def test_a_copy_is_a_library(store: Store, fill: Fill, tmp_path: Path) -> None:
    fill(store, [{"id": "a", "text": "ship"}])
    with open_store(back_up(store.path, tmp_path / "copy.db")) as copy, copy.reading() as snapshot:
        assert _ids(snapshot) == ["a"]


WHOLE = Document(
    title="Sé",
    text="One\n\ttwo \U0001f600",
    id="a/b c",
    labels=("sea", "Ä"),
    split="train",
    date="2024-05",
    path="/elsewhere/x.txt",
    media_type="text/html",
    metadata={"n": 1, "x": 0.5, "list": ["ü", None, True], "deep": {"k": {}}},
)


def test_a_document_comes_back_whole(store: Store) -> None:
    with store.writing() as transaction:
        transaction.changes.insert([_write(WHOLE, 7, "one two")], NOW)
    with store.reading() as snapshot:
        assert snapshot.corpus.load([7, 8]) == [WHOLE]
        assert list(snapshot.corpus.stream(EVERY)) == [WHOLE]
        assert list(snapshot.documents.texts([7, 8])) == [(7, WHOLE.title, WHOLE.text)]
        assert list(snapshot.documents.texts([7], 3)) == [(7, WHOLE.title, "One")]
        (entry,) = snapshot.corpus.entries(EVERY, 10, 0)
        assert (entry.id, entry.title, entry.labels) == (WHOLE.id, WHOLE.title, WHOLE.labels)
        assert snapshot.corpus.content_hashes(EVERY) == {7: content_hash(WHOLE)}
        assert snapshot.documents.tokens([7]) == ["one two"]


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b"], ids=["nul", "half-a-pair"])
@pytest.mark.parametrize("part", ["id", "title", "text", "labels", "tokens"])
def test_strings_that_cannot_be_stored_are_refused(store: Store, part: str, bad: str) -> None:
    facts: dict[str, Any] = {"title": "", "text": "", "id": "b", "labels": ()}
    if part != "tokens":
        facts[part] = (bad,) if part == "labels" else bad
    place = DocumentRow(2, facts["id"], 1, 2, b"2" * 16)
    tokens = bad if part == "tokens" else "x"

    def write() -> None:
        with store.writing() as transaction:
            good = _write(Document("", "good", "a"), 1, "good")
            transaction.changes.insert([good], NOW)
            transaction.changes.insert([DocumentWrite(place, "/x", Document(**facts), tokens)], NOW)

    with pytest.raises((ValueError, NotUnicode), match=r"NUL|Unicode"):
        write()
    with store.reading() as snapshot:
        assert _ids(snapshot) == []


def test_numbers_beyond_32_bits(store: Store) -> None:
    source = Source(3, "/big", "/", "jsonl", 5_000_000_000, 1_763_498_234_123_456_789, "o")
    with store.writing() as transaction:
        transaction.sources.save([source], NOW)
        transaction.changes.insert([_write(Document("", "x", "a"), 2**40, "x")], NOW)
        assert next(transaction.changes.new_keys()) == 2**40 + 1
    with store.reading() as snapshot:
        assert snapshot.sources.known()["/big"] == source
        assert snapshot.documents.keys() == [2**40]
        assert snapshot.documents.count_and_sum(EVERY) == (1, 2**40)
        assert [key for key, _ in snapshot.lexical.bm25(["x"], {2**40})] == [2**40]


def test_sources_tell_what_they_have(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}])
    with store.writing() as transaction:
        assert transaction.sources.next_id() == 3
        assert transaction.sources.unfinished() == ["/notes/1.jsonl", "/notes/2.jsonl"]
        finished = Source(1, "/notes/1.jsonl", "/notes", "jsonl", 10, 20, "")
        transaction.sources.save([finished], NOW)
        transaction.changes.mark_gone([2])
        transaction.changes.mark_gone([2])
        assert transaction.sources.unfinished() == ["/notes/2.jsonl"]
        known = transaction.sources.known()["/notes/1.jsonl"]
        assert (known.size, known.documents, known.gone) == (10, 2, 1)
        assert transaction.sources.known()["/notes/2.jsonl"].size == UNFINISHED
        transaction.changes.delete([2])
        assert _ids(transaction) == ["a"]


def test_a_document_is_found_where_it_was(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}])
    with store.writing() as transaction:
        changes = transaction.changes
        assert [one.id for one in changes.at(["b", "none"], [])] == ["b"]
        changes.mark_gone([1])
        (gone,) = changes.at([], [(1, 1), (2, 1)])
        assert (gone.key, gone.id, gone.position) == (1, "a", -1)
        moved = gone._replace(source_id=2, position=5)
        changes.move([DocumentWrite(moved, "/notes/2.jsonl", Document("", "x", "a"))])
        assert changes.at([], [(2, 5)]) == [moved]
        assert changes.of_source(2) == [1]
        assert transaction.documents.find("/notes/2.jsonl") == [1]


def test_names_mean_one_document(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}])
    with store.reading() as snapshot:
        assert snapshot.documents.only("b") == 2
        assert snapshot.documents.find("/notes/all.jsonl") == [1, 2]
        with pytest.raises(SeveralDocuments, match="2"):
            snapshot.documents.only("/notes/all.jsonl")
        with pytest.raises(DocumentNotFound):
            snapshot.documents.only("c")


def test_pages_of_a_listing(store: Store, fill: Fill) -> None:
    fill(store, [{"id": name, "text": name, "split": name} for name in "cab"])
    with store.reading() as snapshot:
        pages = [snapshot.corpus.entries(EVERY, 2, offset) for offset in (0, 2, 4)]
        assert [[entry.id for entry in page] for page in pages] == [["c", "a"], ["b"], []]
        assert len(snapshot.corpus.entries(EVERY, -1, 0)) == 3
        assert snapshot.labels.split_counts() == {"a": 1, "b": 1, "c": 1}


def test_labels_by_hand_hold_for_new_content(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "x", "labels": ("one", "two")}])
    with store.writing() as transaction:
        assert transaction.labels.edit([1], ["three", "one"], ["two", "four"]) == (1, 1)
    fill(store, [{"id": "a", "text": "y", "labels": ("two", "four")}])
    with store.reading() as snapshot:
        assert snapshot.corpus.load([1])[0].labels == ("four", "one", "three")
        assert snapshot.labels.rejected([1]) == {1: {"two"}}
    with store.writing() as transaction:
        transaction.changes.delete([1])
        assert transaction.labels.rejected([1]) == {}


def test_predicted_labels_are_no_labels(store: Store, fill: Fill) -> None:
    fill(store, [{"id": name, "text": name, "labels": ("given",)} for name in "ab"])
    said = {1: [LabelShare("x", 0.4), LabelShare("y", 0.5)], 2: [LabelShare("x", 1.0)]}
    with store.writing() as transaction:
        transaction.labels.predict(said, "svm", NOW)
    with store.reading() as snapshot:
        assert snapshot.labels.counts() == {"given": 2}
        assert snapshot.labels.predicted_counts() == {"x": 2, "y": 1}
        found = snapshot.labels.predicted([1, 3])
        assert found == {1: (PredictedLabel("y", 0.5, "svm"), PredictedLabel("x", 0.4, "svm"))}
        assert snapshot.documents.count_and_sum(Filter(predicted=("y",)))[0] == 1
        assert snapshot.documents.count_and_sum(Filter(("given",), predicted=("y",)))[0] == 2
        assert snapshot.documents.count_and_sum(Filter(("nothing",)))[0] == 0
        assert snapshot.documents.details([2])[2].predicted == (PredictedLabel("x", 1.0, "svm"),)
    fill(store, [{"id": "b", "text": "new"}])
    with store.writing() as transaction:
        assert transaction.labels.predicted([2]) == {}
        transaction.labels.edit([1], ["x"])
        assert [each.label for each in transaction.labels.predicted([1])[1]] == ["y"]
        assert transaction.labels.forget_predicted([1, 2]) == 1
        assert transaction.labels.predicted_counts() == {}


def test_a_listing_is_sorted(store: Store, fill: Fill) -> None:
    fill(
        store,
        [
            {"id": "c", "text": "x", "title": "beta", "date": "2024-05-01"},
            {"id": "a", "text": "y", "title": "Alpha"},
            {"id": "d", "text": "z", "date": "2023"},
            {"id": "b", "text": "w", "title": "alpha", "date": "2024-05-01"},
        ],
    )
    with store.reading() as snapshot:
        orders = {
            sort: "".join(entry.id for entry in snapshot.corpus.entries(EVERY, -1, 0, sort))
            for sort in ENTRY_SORTS
        }
    assert orders == {
        "added": "cadb",
        "date": "cbda",
        "oldest": "dcba",
        "title": "abcd",
        "path": "cadb",
        "id": "abcd",
    }


def test_settings_are_replaced(store: Store) -> None:
    with store.writing() as transaction:
        assert transaction.settings.get(TOKENISER) is None
        transaction.settings.set(TOKENISER, {"language": "english", "n": [1, "ü"]})
        transaction.settings.set("other", {})
        transaction.settings.set(TOKENISER, {"language": "german"})
    with store.reading() as snapshot:
        assert snapshot.settings.get(TOKENISER) == {"language": "german"}
        assert snapshot.settings.get("other") == {}


def test_the_register_of_indexes(store: Store) -> None:
    entry = IndexEntry("b", "lsi", {"dims": 3, "where": {"labels": ["ä"]}}, "f", "b-1", "2026")
    newer = IndexEntry("b", "rlpi", {}, "g", "b-2", "2027")
    other = IndexEntry("a", "lpi", {}, "h", "a-1", "2026")
    with store.writing(durable=True) as transaction:
        transaction.indexes.save(entry)
        assert transaction.indexes.entries() == [entry]
        transaction.indexes.save(other)
        transaction.indexes.save(newer)
    with store.reading() as snapshot:
        assert snapshot.indexes.entries() == [other, newer]


def test_tokens_made_anew_are_what_is_found(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "ship"}, {"id": "b", "text": "ship"}])
    with store.writing() as transaction:
        transaction.changes.replace_tokens({2: "boat boats"}, {2: Traits("german")})
        transaction.changes.replace_tokens({}, {})
    with store.reading() as snapshot:
        assert snapshot.documents.tokens([2]) == ["boat boats"]
        assert [key for key, _ in snapshot.lexical.bm25(["ship"])] == [1]
        assert snapshot.lexical.some_with("boat", 9) == [2]
        assert snapshot.documents.traits_of([1, 2]) == {2: ("german", "", "")}
        assert snapshot.documents.details([1, 2])[2].language == "german"
        assert snapshot.documents.languages() == {"german": 1}
        for value in ("german", "de"):
            where = Filter(metadata=(("language", value),))
            assert snapshot.documents.count_and_sum(where)[0] == 1


def test_a_sound_library_has_nothing_to_mend(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "ship"}, {"id": "b", "text": "boat", "labels": ("x",)}])
    with store.writing() as transaction:
        assert all(finding.ok for finding in transaction.health.findings())
        assert transaction.health.untokenised() == []
        before = transaction.corpus.content_hashes(EVERY)
        transaction.health.repair()
        assert transaction.corpus.content_hashes(EVERY) == before
        assert transaction.lexical.some_with("boat", 9) == [2]


def test_beginnings_of_words(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "shipping ship"}, {"id": "b", "text": "shop"}])
    with store.writing() as transaction:
        transaction.changes.replace_tokens({1: "ship shipping", 2: "shop"}, {})
        lexical = transaction.lexical
        assert lexical.candidates([[Prefix("shi")]]) == {1}
        assert lexical.candidates([[Prefix("sh")]]) == {1, 2}
        assert lexical.candidates([["ship"], ["shipping"]]) == {1}
        assert lexical.candidates([["shipping"], ["ship"]]) == set()
        assert lexical.candidates([["shop", "shipping"], ["ship", "shop"]]) == {1, 2}
        assert lexical.terms_between(("ship", "shop")) == [("ship", 1), ("shipping", 1)]
        assert lexical.terms_between(("a", "b"), ("shi", "shj"), ("sho", "shp")) == [
            ("ship", 1),
            ("shipping", 1),
            ("shop", 1),
        ]
        assert lexical.some_with("shop", 1) == [2]


def test_sections_belong_to_their_document(store: Store) -> None:
    sections = (Section(0, "page", "1"), Section(2, "page", "ii"), Section(2, "heading", "Results"))
    plain = Document("", "ship", "b")
    with store.writing() as transaction:
        writes = [_write(Document("", "a b", "a", sections=sections)), _write(plain, 2, "", 2)]
        transaction.changes.insert(writes, NOW)
    with store.reading() as snapshot:
        assert [one.sections for one in snapshot.corpus.load([1, 2])] == [sections, ()]
        assert [one.sections for one in snapshot.corpus.stream(EVERY)] == [sections, ()]
        assert snapshot.documents.sections([1, 2, 3]) == {1: sections}
    with store.writing() as transaction:
        changed = replace(plain, id="a", sections=sections[:1])
        transaction.changes.replace([_write(changed)], NOW)
    with store.reading() as snapshot:
        assert snapshot.documents.sections([1]) == {1: sections[:1]}
    with store.writing() as transaction:
        transaction.changes.delete([1])
        assert transaction.documents.sections([1]) == {}


def test_sections_are_part_of_the_content() -> None:
    document = Document("A title", "text", "a", ("x",), metadata={"k": 1})
    assert content_hash(document).hex() == "61d5385b2c9bf28b4688fd9487809ff7"
    others = {
        content_hash(replace(document, sections=(Section(0, "page", name),))) for name in "12"
    }
    assert len(others | {content_hash(document)}) == 3


def test_parts_of_texts_are_counted_in_characters(store: Store, fill: Fill) -> None:
    fill(store, [{"id": "a", "text": "Über 東京 und 𝄞 mehr"}, {"id": "b", "text": "ship"}])
    with store.reading() as snapshot:
        wanted = [(2, 1, 3), (1, 5, 7), (1, 12, 99), (3, 0, 5), (1, 4, 4)]
        assert snapshot.documents.parts(wanted) == ["hi", "東京", "𝄞 mehr", "", ""]
        assert snapshot.documents.parts([]) == []


def test_files_that_failed_are_kept(store: Store) -> None:
    reason = Message("is too large (raise it with ", Option("max_document_bytes"), ")")
    troubles = (Trouble("/notes/a", reason, "line 2"), Trouble("/notes/a", "is “damaged”"))
    first = FailedFile("/notes/a", 7, 1 << 62, "options", troubles, 9)
    second = FailedFile("/notes/b", UNFINISHED, UNFINISHED, "options", (), 1)
    with store.writing() as transaction:
        transaction.sources.save_failed([first, second])
    with store.reading() as snapshot:
        assert snapshot.sources.failed() == {"/notes/a": first, "/notes/b": second}
        kept = snapshot.sources.failed()["/notes/a"].troubles[0].reason
    assert isinstance(kept, Message)
    assert kept.parts == reason.parts
    changed = replace(first, size=8, troubles=())
    with store.writing() as transaction:
        transaction.sources.save_failed([changed])
        transaction.sources.forget_failed(["/notes/b", "/notes/unknown"])
    with store.reading() as snapshot:
        assert snapshot.sources.failed() == {"/notes/a": changed}


def test_each_state_has_a_mark(store: Store, fill: Callable[[Store, Any], None]) -> None:
    def mark() -> str:
        with store.reading() as snapshot:
            return snapshot.state()

    seen = [mark()]
    assert mark() == seen[0]
    fill(store, [{"id": "a", "text": "one"}])
    seen.append(mark())
    with store.writing() as transaction:
        key = transaction.documents.only("a")
        transaction.changes.delete({key})
        transaction.rollback()
    assert mark() == seen[-1]
    with store.writing() as transaction:
        transaction.documents.count_and_sum(EVERY)[0]
    assert mark() == seen[-1]
    with store.writing() as transaction:
        transaction.settings.set("name", {"value": 1})
    seen.append(mark())
    with store.writing() as transaction:
        transaction.changes.delete({transaction.documents.only("a")})
    seen.append(mark())
    assert len(set(seen)) == len(seen)


def test_pairs_are_all_labels(store: Store, fill: Callable[[Store, Any], None]) -> None:
    fill(store, [{"id": "a", "text": "x", "labels": ("sea", "sky")}, {"id": "b", "text": "y"}])
    with store.reading() as snapshot:
        key = snapshot.documents.only("a")
        assert sorted(snapshot.labels.pairs()) == [(key, "sea"), (key, "sky")]


def test_traits_are_those_of_every_document(
    store: Store, fill: Callable[[Store, Any], None]
) -> None:
    fill(
        store, [{"id": "a", "text": "x", "split": "test", "date": "2024"}, {"id": "b", "text": "y"}]
    )
    with store.reading() as snapshot:
        keys = snapshot.documents.keys()
        assert [tuple(row) for row in snapshot.documents.traits()] == [
            (keys[0], "test", "2024", "/notes/all.jsonl", "text/plain", "", ""),
            (keys[1], "", "", "/notes/all.jsonl", "text/plain", "", ""),
        ]
