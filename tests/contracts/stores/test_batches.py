from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lpisearch.ingest.recorder import BatchWriter, Incoming, Written
from lpisearch.model.answers import LabelShare
from lpisearch.model.documents import Document, DocumentWrite, Filter, Source
from lpisearch.storage.store import Store

_NOW = "2026-01-01T00:00:00+00:00"


def _tokens(write: DocumentWrite) -> DocumentWrite:
    return write._replace(tokens=f"{write.document.title} {write.document.text}".lower())


def _writer(*gone: int, ids_are_global: bool = True) -> BatchWriter:
    return BatchWriter(_tokens, lambda source: source in gone, ids_are_global)


def _incoming(
    text: str, *ids: str, source: int = 1, position: int = 1, stated: bool = True, **facts: Any
) -> Incoming:
    document = Document("", text, ids[0] if stated else None, **facts)
    return Incoming(source, position, ids, stated, f"/notes/{source}.jsonl", document)


def _write(store: Store, writer: BatchWriter, *batch: Incoming) -> list[Written]:
    with store.writing() as transaction:
        return writer.write(transaction, batch, _NOW)


def _texts(store: Store) -> dict[str | None, str]:
    with store.reading() as snapshot:
        return {one.id: one.text for one in snapshot.corpus.stream(Filter())}


def _matches(store: Store, word: str) -> list[int]:
    with store.reading() as snapshot:
        return [key for key, _ in snapshot.lexical.bm25([word])]


def _assert_in_step(store: Store) -> None:
    with store.writing() as transaction:
        found = transaction.health.findings()
        transaction.rollback()
    assert [finding for finding in found if not finding.ok] == []


def test_added_updated_unchanged(store: Store) -> None:
    writer = _writer
    assert _write(store, writer(), _incoming("ships", "a", labels=("sea", "old"))) == [("added", 0)]
    assert _write(store, writer(), _incoming("ships", "a", labels=("sea", "old"))) == [
        ("unchanged", 0)
    ]
    assert _write(store, writer(), _incoming("boats", "a", labels=("old",))) == [("updated", 0)]
    assert _texts(store) == {"a": "boats"}
    assert (_matches(store, "ships"), _matches(store, "boats")) == ([], [1])
    with store.reading() as snapshot:
        assert snapshot.corpus.labels(Filter()) == {1: ["old"]}
    _assert_in_step(store)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ("b", "a")},
        {"split": "test"},
        {"date": "2026-01-02"},
        {"path": "/elsewhere"},
        {"media_type": "text/html"},
        {"metadata": {"by": "someone"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_part_counts_as_a_change(store: Store, change: dict[str, Any]) -> None:
    _write(store, _writer(), _incoming("ships", "a", labels=("a", "b")))
    facts = {"labels": ("a", "b")} | change
    assert _write(store, _writer(), _incoming("ships", "a", **facts)) == [("updated", 0)]


def test_title_and_text_are_told_apart(store: Store) -> None:
    whole = Incoming(1, 1, ("a",), stated=True, path="", document=Document("one two", "", "a"))
    parted = Incoming(1, 1, ("a",), stated=True, path="", document=Document("one ", "two", "a"))
    _write(store, _writer(), whole)
    assert _write(store, _writer(), parted) == [("updated", 0)]


def test_tokens_of_unchanged_documents_are_not_made_again(store: Store) -> None:
    tokenised: list[str] = []

    def tokenise(write: DocumentWrite) -> DocumentWrite:
        tokenised.append(write.document.text)
        return write

    first = [_incoming("one", "a"), _incoming("two", "b", position=2)]
    _write(store, BatchWriter(tokenise, lambda _source: False), *first)
    second = [_incoming("one", "a"), _incoming("three", "b", position=2)]
    _write(store, BatchWriter(tokenise, lambda _source: False), *second)
    assert tokenised == ["one", "two", "three"]


@pytest.mark.parametrize("labels", [(), ("new",)])
def test_a_document_of_a_missing_file_moves(store: Store, labels: tuple[str, ...]) -> None:
    """Key, labels by hand and predictions stay; id, file, title and labels of the source change."""
    origin = Source(1, "/notes/1.txt", "/notes", "text", 9, 9, "")
    _write(store, _writer(), _incoming("ships", "1.txt", stated=False))
    with store.writing() as transaction:
        transaction.labels.edit([1], add=["sea"])
        transaction.labels.predict({1: [LabelShare("guess", 0.5)]}, "c", _NOW)
        edited = transaction.labels.by_hand([1])
    assert edited == {"1.txt": ["+sea"]}
    moved = _incoming("ships", "new/2.txt", source=2, stated=False, labels=labels)
    batch = [moved._replace(origins=[origin]), _incoming("ships", "copy.txt", source=2, position=2)]
    assert _write(store, _writer(1), *batch) == [("moved", 1), ("added", 0)]
    with store.writing() as transaction:
        transaction.sources.delete_empty([1, 2])
        assert [one.id for one in transaction.sources.known().values()] == [2]
        (entry, _) = transaction.corpus.entries(Filter(), -1, 0)
        assert transaction.documents.only("new/2.txt") == 1
    assert (entry.labels, entry.predicted[0].label) == ((*labels, "sea"), "guess")
    _assert_in_step(store)


def test_an_id_twice_in_one_file(store: Store) -> None:
    writer = _writer()
    pair = [_incoming("one", "a"), _incoming("two", "a", position=2)]
    assert [one.outcome for one in _write(store, writer, *pair)] == ["added", "duplicate"]
    third = _write(store, writer, _incoming("three", "a", position=3))
    assert third == [("duplicate", 0)]
    assert _texts(store) == {"a": "one"}


@pytest.mark.parametrize("together", [True, False])
def test_equal_ids_of_two_files(store: Store, *, together: bool) -> None:
    first = _incoming("one", "a", "1.jsonl:a")
    second = _incoming("two", "a", "2.jsonl:a", source=2)
    for outcome in ("added", "unchanged"):
        writer = _writer(ids_are_global=False)
        if together:
            results = _write(store, writer, first, second)
        else:
            results = _write(store, writer, first) + _write(store, writer, second)
        assert results == [(outcome, 0), (outcome, 0)]
    assert _texts(store) == {"a": "one", "2.jsonl:a": "two"}
    _assert_in_step(store)


@pytest.mark.parametrize("together", [True, False])
def test_an_id_of_another_file_is_taken(store: Store, *, together: bool) -> None:
    writer = _writer()
    first, second = _incoming("one", "a"), _incoming("two", "a", source=2)
    if together:
        results = _write(store, writer, first, second)
    else:
        results = _write(store, writer, first) + _write(store, writer, second)
    assert results == [("added", 0), ("taken", 1)]
    assert _texts(store) == {"a": "one"}


def test_a_moved_file_takes_its_documents_along(store: Store) -> None:
    _write(store, _writer(), _incoming("one", "a"))
    assert _write(store, _writer(1), _incoming("one", "a", source=2)) == [("moved", 1)]
    assert _write(store, _writer(), _incoming("one", "a")) == [("taken", 2)]
    with store.writing() as transaction:
        transaction.sources.delete([1])
    assert _texts(store) == {"a": "one"}
    _assert_in_step(store)


def test_derived_ids_belong_to_the_place(store: Store) -> None:
    _write(store, _writer(), _incoming("one", "a.txt", "notes/a.txt", stated=False))
    again = _incoming("two", "notes/a.txt", "/home/notes/a.txt", stated=False)
    assert _write(store, _writer(), again) == [("updated", 0)]
    assert _texts(store) == {"a.txt": "two"}


def test_a_taken_name_falls_to_the_next(store: Store) -> None:
    names = ("a.txt", "notes/a.txt", "/notes/a.txt")
    batch = [
        _incoming(str(source), *names, source=source, stated=False, position=position)
        for source, position in ((1, 1), (2, 1), (2, 2), (2, 3), (2, 4))
    ]
    _write(store, _writer(), *batch[:2])
    _write(store, _writer(), *batch[2:])
    texts = _texts(store)
    assert len(texts) == 5
    assert list(texts)[:3] == list(names)
    _assert_in_step(store)


def test_a_failing_batch_leaves_nothing(store: Store) -> None:
    _write(store, _writer(), _incoming("one", "a", labels=("x",)))

    def fail(write: DocumentWrite) -> DocumentWrite:
        if write.document.text == "bad":
            raise ZeroDivisionError
        return _tokens(write)

    batch = [_incoming("two", "a"), _incoming("new", "b", position=2), _incoming("bad", "c")]
    with pytest.raises(ZeroDivisionError):
        _write(store, BatchWriter(fail, lambda _source: False), *batch)
    assert _texts(store) == {"a": "one"}
    assert _matches(store, "one") == [1]
    _assert_in_step(store)


def test_deleting_a_source_takes_everything_along(store: Store) -> None:
    _write(store, _writer(), _incoming("one", "a", labels=("x",)))
    _write(store, _writer(), _incoming("two", "b", source=2))
    with store.writing() as transaction:
        transaction.sources.delete([1])
    assert _texts(store) == {"b": "two"}
    assert _matches(store, "one") == []
    _assert_in_step(store)
    with store.reading() as snapshot:
        assert [source.documents for source in snapshot.sources.known().values()] == [1]


_ODD = ["a", "A", "ß", "\U0001f600", "\ud7ff", "\xe9", "e\u0301", "'", '"']


def test_odd_ids_are_found_again(store: Store) -> None:
    batch = [_incoming(str(n), name, position=n) for n, name in enumerate(_ODD, start=1)]
    assert {one.outcome for one in _write(store, _writer(), *batch)} == {"added"}
    assert {one.outcome for one in _write(store, _writer(), *batch)} == {"unchanged"}
    assert list(_texts(store)) == _ODD


_STEPS = st.lists(
    st.tuples(
        st.sampled_from([1, 2]),
        st.sampled_from("abcd"),
        st.sampled_from(["ship", "ship boat", "boat", ""]),
        st.sampled_from([(), ("x",), ("x", "y"), ("y", "x")]),
    ),
    max_size=8,
)


@given(batches=st.lists(_STEPS, max_size=4), delete=st.sets(st.sampled_from("abcd")))
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # makes a new one each time
)
def test_all_parts_stay_in_step(
    new_store: Callable[[], Store], batches: list[Any], delete: set[str]
) -> None:
    expected: dict[str, tuple[int, str]] = {}
    with new_store() as store:
        for batch in batches:
            seen = set()
            for source, name, words, _ in batch:
                owner = expected.get(name, (source, ""))[0]
                if owner == source and name not in seen:
                    expected[name] = (source, words)
                    seen.add(name)
            _write(
                store,
                _writer(),
                *(
                    _incoming(words, name, source=source, position=position, labels=labels)
                    for position, (source, name, words, labels) in enumerate(batch, start=1)
                ),
            )
        with store.writing() as transaction:
            keys = [key for name in delete for key in transaction.documents.find(name)]
            transaction.changes.delete(keys)
        left = {name: words for name, (_, words) in expected.items() if name not in delete}
        assert _texts(store) == left
        ships = [name for name, words in left.items() if "ship" in words]
        assert len(_matches(store, "ship")) == len(ships)
        _assert_in_step(store)
