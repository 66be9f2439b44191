from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from lpisearch.records import Document, Filter
from lpisearch.storage.sqlite import fulltext, rows
from lpisearch.storage.sqlite.batches import BatchWriter, Incoming, Written
from lpisearch.storage.sqlite.documents import stream
from lpisearch.storage.sqlite.schema import create_library
from lpisearch.storage.sqlite.sources import Source, delete_sources, known_sources, save_sources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lpisearch.storage.sqlite.engine import Database

_NOW = "2026-01-01T00:00:00+00:00"


@pytest.fixture
def database(library: Path) -> Iterator[Database]:
    """Open an empty library with two sources."""
    with create_library(library) as database:
        with database.writing() as connection:
            save_sources(connection, [_source(1), _source(2)], _NOW)
        yield database


def _source(number: int) -> Source:
    return Source(number, f"/notes/{number}.jsonl", "/notes", "jsonl", -1, -1, "")


def _tokens(document: Document) -> str:
    return f"{document.title} {document.text}".lower()


def _writer(*gone: int) -> BatchWriter:
    return BatchWriter(_tokens, lambda source: source in gone)


def _incoming(
    text: str, *ids: str, source: int = 1, position: int = 1, stated: bool = True, **facts: Any
) -> Incoming:
    document = Document("", text, ids[0] if stated else None, **facts)
    return Incoming(source, position, ids, stated, f"/notes/{source}.jsonl", document)


def _write(database: Database, writer: BatchWriter, *batch: Incoming) -> list[Written]:
    with database.writing() as connection:
        return writer.write(connection, batch, _NOW)


def _texts(database: Database) -> dict[str | None, str]:
    with database.reading() as connection:
        return {one.id: one.text for one in stream(connection, Filter())}


def _matches(database: Database, word: str) -> list[int]:
    query = text("SELECT rowid FROM documents_fts WHERE documents_fts MATCH :word")
    with database.reading() as connection:
        return list(connection.execute(query, {"word": word}).scalars())


def _assert_in_step(database: Database) -> None:
    with database.writing() as connection:
        fulltext.check(connection)
        for part in ("labels", "document_tokens"):
            orphans = f"SELECT * FROM {part} WHERE document_id NOT IN (SELECT id FROM documents)"  # noqa: S608 (a constant)
            assert connection.execute(text(orphans)).all() == []
        counts = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM document_tokens)"
        documents, tokens = connection.execute(text(counts)).one()
        assert documents == tokens


def test_added_updated_unchanged(database: Database) -> None:
    """A document is added, then unchanged, then updated; tokens and labels go with it."""
    writer = _writer
    assert _write(database, writer(), _incoming("ships", "a", labels=("sea", "old"))) == [
        ("added", 0)
    ]
    assert _write(database, writer(), _incoming("ships", "a", labels=("sea", "old"))) == [
        ("unchanged", 0)
    ]
    assert _write(database, writer(), _incoming("boats", "a", labels=("old",))) == [("updated", 0)]
    assert _texts(database) == {"a": "boats"}
    assert (_matches(database, "ships"), _matches(database, "boats")) == ([], [1])
    with database.reading() as connection:
        assert connection.execute(text("SELECT document_id, name FROM labels")).all() == [
            (1, "old")
        ]
    _assert_in_step(database)


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
def test_every_part_counts_as_a_change(database: Database, change: dict[str, Any]) -> None:
    """A change of any stored part, the order of labels included, is an update."""
    _write(database, _writer(), _incoming("ships", "a", labels=("a", "b")))
    facts = {"labels": ("a", "b")} | change
    assert _write(database, _writer(), _incoming("ships", "a", **facts)) == [("updated", 0)]


def test_title_and_text_are_told_apart(database: Database) -> None:
    """Moving a word from the title to the text is a change."""
    whole = Incoming(1, 1, ("a",), stated=True, path="", document=Document("one two", "", "a"))
    parted = Incoming(1, 1, ("a",), stated=True, path="", document=Document("one ", "two", "a"))
    _write(database, _writer(), whole)
    assert _write(database, _writer(), parted) == [("updated", 0)]


def test_tokens_of_unchanged_documents_are_not_made_again(database: Database) -> None:
    """Only new and changed documents are tokenised."""
    tokenised: list[str] = []

    def tokenise(document: Document) -> str:
        tokenised.append(document.text)
        return document.text

    first = [_incoming("one", "a"), _incoming("two", "b", position=2)]
    _write(database, BatchWriter(tokenise, lambda _source: False), *first)
    second = [_incoming("one", "a"), _incoming("three", "b", position=2)]
    _write(database, BatchWriter(tokenise, lambda _source: False), *second)
    assert tokenised == ["one", "two", "three"]


def test_an_id_twice_in_one_file(database: Database) -> None:
    """The second document of an id in one file is refused, in one batch and across batches."""
    writer = _writer()
    pair = [_incoming("one", "a"), _incoming("two", "a", position=2)]
    assert [one.outcome for one in _write(database, writer, *pair)] == ["added", "duplicate"]
    third = _write(database, writer, _incoming("three", "a", position=3))
    assert third == [("duplicate", 0)]
    assert _texts(database) == {"a": "one"}


@pytest.mark.parametrize("together", [True, False])
def test_an_id_of_another_file_is_taken(database: Database, *, together: bool) -> None:
    """An id that another file has stays with that file, in one batch and across batches."""
    writer = _writer()
    first, second = _incoming("one", "a"), _incoming("two", "a", source=2)
    if together:
        results = _write(database, writer, first, second)
    else:
        results = _write(database, writer, first) + _write(database, writer, second)
    assert results == [("added", 0), ("taken", 1)]
    assert _texts(database) == {"a": "one"}


def test_a_moved_file_takes_its_documents_along(database: Database) -> None:
    """A document whose file is gone may come from another file, which then owns it."""
    _write(database, _writer(), _incoming("one", "a"))
    assert _write(database, _writer(1), _incoming("one", "a", source=2)) == [("unchanged", 0)]
    assert _write(database, _writer(), _incoming("one", "a")) == [("taken", 2)]
    with database.writing() as connection:
        delete_sources(connection, [1])
    assert _texts(database) == {"a": "one"}
    _assert_in_step(database)


def test_derived_ids_belong_to_the_place(database: Database) -> None:
    """A document without an id keeps the identity of its place when its text changes."""
    _write(database, _writer(), _incoming("one", "a.txt", "notes/a.txt", stated=False))
    again = _incoming("two", "notes/a.txt", "/home/notes/a.txt", stated=False)
    assert _write(database, _writer(), again) == [("updated", 0)]
    assert _texts(database) == {"a.txt": "two"}


def test_a_taken_name_falls_to_the_next(database: Database) -> None:
    """Derived ids that are taken, in this batch or before, give way to longer ones."""
    names = ("a.txt", "notes/a.txt", "/notes/a.txt")
    batch = [
        _incoming(str(source), *names, source=source, stated=False, position=position)
        for source, position in ((1, 1), (2, 1), (2, 2), (2, 3), (2, 4))
    ]
    _write(database, _writer(), *batch[:2])
    _write(database, _writer(), *batch[2:])
    texts = _texts(database)
    assert len(texts) == 5
    assert list(texts)[:3] == list(names)
    _assert_in_step(database)


def test_a_failing_batch_leaves_nothing(database: Database) -> None:
    """A batch that fails rolls back its documents, labels, tokens and FTS rows together."""
    _write(database, _writer(), _incoming("one", "a", labels=("x",)))

    def fail(document: Document) -> str:
        if document.text == "bad":
            raise ZeroDivisionError
        return document.text

    batch = [_incoming("two", "a"), _incoming("new", "b", position=2), _incoming("bad", "c")]
    with pytest.raises(ZeroDivisionError):
        _write(database, BatchWriter(fail, lambda _source: False), *batch)
    assert _texts(database) == {"a": "one"}
    assert _matches(database, "one") == [1]
    _assert_in_step(database)


def test_deleting_a_source_takes_everything_along(database: Database) -> None:
    """Documents, labels, tokens and FTS rows go with their source, by cascade."""
    _write(database, _writer(), _incoming("one", "a", labels=("x",)))
    _write(database, _writer(), _incoming("two", "b", source=2))
    with database.writing() as connection:
        delete_sources(connection, [1])
    assert _texts(database) == {"b": "two"}
    assert _matches(database, "one") == []
    _assert_in_step(database)
    with database.reading() as connection:
        assert [source.documents for source in known_sources(connection).values()] == [1]


_ODD = ["a", "A", "ß", "\U0001f600", "\ud7ff", "\xe9", "e\u0301", "'", '"']


def test_odd_ids_are_found_again(database: Database) -> None:
    """Ids with quotes, accents and emoji are distinct, and found again."""
    batch = [_incoming(str(n), name, position=n) for n, name in enumerate(_ODD, start=1)]
    assert {one.outcome for one in _write(database, _writer(), *batch)} == {"added"}
    assert {one.outcome for one in _write(database, _writer(), *batch)} == {"unchanged"}
    assert list(_texts(database)) == _ODD


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
@settings(max_examples=25, deadline=None)
def test_tables_stay_in_step(
    tmp_path_factory: pytest.TempPathFactory, batches: list[Any], delete: set[str]
) -> None:
    """Whatever is added, updated and deleted, tokens, labels and FTS stay in step."""
    path = tmp_path_factory.mktemp("step") / "library.db"
    expected: dict[str, tuple[int, str]] = {}
    with create_library(path) as database:
        with database.writing() as connection:
            save_sources(connection, [_source(1), _source(2)], _NOW)
        for batch in batches:
            seen = set()
            for source, name, words, _ in batch:
                owner = expected.get(name, (source, ""))[0]
                if owner == source and name not in seen:
                    expected[name] = (source, words)
                    seen.add(name)
            _write(
                database,
                _writer(),
                *(
                    _incoming(words, name, source=source, position=position, labels=labels)
                    for position, (source, name, words, labels) in enumerate(batch, start=1)
                ),
            )
        with database.writing() as connection:
            gone = "SELECT id FROM documents WHERE external_id = :name"
            ids = [connection.execute(text(gone), {"name": name}).scalar() for name in delete]
            rows.delete_documents(connection, [row for row in ids if row is not None])
        left = {name: words for name, (_, words) in expected.items() if name not in delete}
        assert _texts(database) == left
        ships = [name for name, words in left.items() if "ship" in words]
        assert len(_matches(database, "ship")) == len(ships)
        _assert_in_step(database)
