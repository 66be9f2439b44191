from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import BadOption
from lpisearch.ingest.extraction import InProgressFiles
from lpisearch.readers import isolation
from lpisearch.readers.base import SourceFile
from tests.samples import downgrade

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.documents import IngestReport

    Ingest = Callable[..., IngestReport]
    Sql = Callable[..., list[Any]]
    Folder = Callable[..., Path]
    Held = Callable[[], Any]
    Sound = Callable[..., None]

_COUNTS = ("added", "updated", "unchanged", "moved", "removed", "missing", "failed")
_NOTES = {"sea/a.txt": "A letter about ships.", "land/b.md": "# Cake\n\nA recipe for plum cake."}


def _counts(report: IngestReport) -> dict[str, int]:
    return {name: number for name in _COUNTS if (number := getattr(report, name))}


def _lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def held(sql: Sql) -> Callable[[], dict[str, tuple[str, str | None]]]:
    """Return a reader of the library: id to text and labels."""
    statement = """SELECT external_id, text, (SELECT group_concat(name) FROM (SELECT name
    FROM labels l WHERE l.document_id = d.id ORDER BY position)) FROM documents d ORDER BY d.id"""
    return lambda: {name: (text, labels) for name, text, labels in sql(statement)}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the name of every file that is opened to be read."""
    names: list[str] = []
    whole = SourceFile.at.__func__  # type: ignore[attr-defined]

    def at(path: Path, name: str = "") -> SourceFile:
        names.append(path.name)
        return whole(SourceFile, path, name)  # type: ignore[no-any-return]

    monkeypatch.setattr(SourceFile, "at", at)
    return names


def test_the_second_run_changes_nothing(
    folder: Folder, ingest: Ingest, opened: list[str], sql: Sql
) -> None:
    root = folder(_NOTES)
    assert _counts(ingest(root)) == {"added": 2}
    opened.clear()
    before = sql("SELECT * FROM documents"), sql("SELECT * FROM sources")
    assert _counts(ingest(root)) == {"unchanged": 2}
    assert opened == []
    assert (sql("SELECT * FROM documents"), sql("SELECT * FROM sources")) == before


def test_a_touched_file_is_read_and_found_unchanged(
    folder: Folder, ingest: Ingest, opened: list[str]
) -> None:
    root = folder(_NOTES)
    ingest(root)
    os.utime(root / "sea" / "a.txt", ns=(1, 1))
    opened.clear()
    assert _counts(ingest(root)) == {"unchanged": 2}
    assert opened == ["a.txt"]
    assert _counts(ingest(root)) == {"unchanged": 2}
    assert opened == ["a.txt"]


def _swapped(path: Path, text: str) -> None:
    """Give a file other content of the same size, and its former time."""
    facts = path.stat()
    path.write_bytes(text.encode().ljust(facts.st_size))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (facts.st_size, facts.st_mtime_ns)


_NO_CHANGE_TIME = pytest.mark.skipif(os.name == "nt", reason="it is the time of creation there")


@_NO_CHANGE_TIME
def test_other_content_of_the_same_size_and_time_is_read(
    folder: Folder, ingest: Ingest, held: Held
) -> None:
    root = folder(_NOTES | {"bad.jsonl": "{no JSON, but a file"})
    assert len(ingest(root).failures) == 1
    _swapped(root / "sea" / "a.txt", "A secret of ships")
    assert _counts(ingest(root)) == {"updated": 1, "unchanged": 1, "failed": 1}
    assert held()["sea/a.txt"][0] == "A secret of ships"
    _swapped(root / "bad.jsonl", '{"text": "well"}')
    assert _counts(ingest(root)) == {"added": 1, "unchanged": 2}


@_NO_CHANGE_TIME
def test_times_that_an_earlier_version_did_not_store(
    folder: Folder, ingest: Ingest, opened: list[str], library: Path
) -> None:
    root = folder(_NOTES)
    ingest(root)
    downgrade(library, "0007")
    opened.clear()
    for _ in range(2):
        assert _counts(ingest(root)) == {"unchanged": 2}
        assert opened == []
    _swapped(root / "sea" / "a.txt", "A secret of ships")
    assert _counts(ingest(root)) == {"updated": 1, "unchanged": 1}


def test_a_changed_file_is_replaced(
    folder: Folder, ingest: Ingest, held: Held, sql: Sql, sound: Sound
) -> None:
    root = folder({"a.jsonl": _lines({"id": "x", "text": "ships", "labels": ["sea"]})})
    ingest(root)
    folder({"a.jsonl": _lines({"id": "x", "text": "mountains", "labels": ["land", "high"]})})
    assert _counts(ingest(root)) == {"updated": 1}
    assert held() == {"x": ("mountains", "land,high")}
    match = "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?"
    assert [sql(match, word) for word in ("ship", "mountain")] == [[(0,)], [(1,)]]
    sound()


@pytest.mark.parametrize("first_without_prune", [True, False])
def test_a_removed_file(
    folder: Folder, ingest: Ingest, held: Held, sound: Sound, *, first_without_prune: bool
) -> None:
    """Documents of a removed file are missing at every run, until --prune removes them."""
    root = folder(_NOTES)
    ingest(root)
    (root / "sea" / "a.txt").unlink()
    for _ in range(2 * first_without_prune):
        assert _counts(ingest(root)) == {"unchanged": 1, "missing": 1}
        assert len(held()) == 2
    assert _counts(ingest(root, prune=True)) == {"unchanged": 1, "removed": 1}
    assert list(held()) == ["land/b.md"]
    assert _counts(ingest(root, prune=True)) == {"unchanged": 1}
    sound()


@pytest.mark.parametrize("first_without_prune", [True, False])
def test_a_removed_record(
    folder: Folder, ingest: Ingest, held: Held, sound: Sound, *, first_without_prune: bool
) -> None:
    """A record removed from a file is missing at every run, until --prune removes it."""
    records = [{"id": name, "text": f"text {name}"} for name in "abc"]
    root = folder({"a.jsonl": _lines(*records)})
    ingest(root)
    folder({"a.jsonl": _lines(records[0], records[2])})
    for _ in range(2 * first_without_prune):
        assert _counts(ingest(root)) == {"unchanged": 2, "missing": 1}
        assert list(held()) == ["a", "b", "c"]
    assert _counts(ingest(root, prune=True)) == {"unchanged": 2, "removed": 1}
    assert list(held()) == ["a", "c"]
    assert _counts(ingest(root, prune=True)) == {"unchanged": 2}
    sound()


def test_a_record_that_comes_back(folder: Folder, ingest: Ingest, held: Held) -> None:
    stated = [{"id": name, "text": name} for name in "abc"]
    plain = [{"text": name} for name in "abc"]
    root = folder({"s.jsonl": _lines(*stated), "p.jsonl": _lines(*plain)})
    ingest(root)
    before = held()
    folder({"s.jsonl": _lines(*stated[:2]), "p.jsonl": _lines(*plain[:2])})
    assert _counts(ingest(root)) == {"unchanged": 4, "missing": 2}
    folder({"s.jsonl": _lines(*stated), "p.jsonl": _lines(*plain)})
    assert _counts(ingest(root)) == {"unchanged": 6}
    assert held() == before
    assert _counts(ingest(root, prune=True)) == {"unchanged": 6}


def test_a_record_without_an_id_among_others(folder: Folder, ingest: Ingest, held: Held) -> None:
    records = [{"id": "x", "text": "one"}, {"id": "1", "text": "two"}]
    root = folder({"a.jsonl": _lines(*records)})
    ingest(root)
    folder({"a.jsonl": _lines({"text": "new"}, *records, {"text": "last"})})
    assert _counts(ingest(root)) == {"added": 2, "unchanged": 2}
    expected = {"x": "one", "1": "two", "a.jsonl#1": "new", "a.jsonl#4": "last"}
    assert {name: text for name, (text, _) in held().items()} == expected
    folder({"a.jsonl": _lines({"text": "newer"}, *records[::-1], {"text": "last"})})
    assert _counts(ingest(root, prune=True)) == {"updated": 1, "unchanged": 3}
    assert held()["a.jsonl#1"] == ("newer", None)


def test_a_record_moves_to_another_file(folder: Folder, ingest: Ingest, sound: Sound) -> None:
    records = [{"id": name, "text": name} for name in "abc"]
    root = folder({"m.jsonl": _lines(*records)})
    ingest(root)
    folder({"m.jsonl": _lines(records[0])})
    ingest(root)
    folder({"z.jsonl": _lines(records[1]), "b.jsonl": _lines(records[2])})
    assert _counts(ingest(root)) == {"unchanged": 1, "moved": 2}
    assert _counts(ingest(root, prune=True)) == {"unchanged": 3}
    sound()


@pytest.mark.parametrize("prune", [True, False])
def test_a_moved_file_takes_its_documents_along(
    folder: Folder, ingest: Ingest, held: Held, sound: Sound, *, prune: bool
) -> None:
    root = folder({"old.jsonl": _lines({"id": "a", "text": "one"}, {"id": "b", "text": "two"})})
    ingest(root)
    (root / "old.jsonl").rename(root / "new.jsonl")
    assert _counts(ingest(root, prune=prune)) == {"moved": 2}
    assert _counts(ingest(root, prune=True)) == {"unchanged": 2}
    assert list(held()) == ["a", "b"]
    sound()


def test_nested_roots_keep_ids_and_labels(folder: Folder, ingest: Ingest, held: Held) -> None:
    root = folder({"sea/deep/a.txt": "one", "sea/b.txt": "two"})
    ingest(root, labels="folder")
    before = held()
    assert before["sea/deep/a.txt"] == ("one", "sea")
    assert _counts(ingest(root / "sea")) == {"unchanged": 2}
    assert _counts(ingest(root / "sea" / "deep" / "a.txt")) == {"unchanged": 1}
    assert _counts(ingest(root)) == {"unchanged": 2}
    assert held() == before


def test_an_outer_root_keeps_ids(folder: Folder, ingest: Ingest, held: Held) -> None:
    root = folder({"sea/deep/a.txt": "one"})
    ingest(root / "sea", labels="folder")
    assert held() == {"deep/a.txt": ("one", "deep")}
    assert _counts(ingest(root, labels="folder")) == {"updated": 1}
    assert held() == {"deep/a.txt": ("one", "sea")}
    assert _counts(ingest(root / "sea")) == {"unchanged": 1}
    assert _counts(ingest(root)) == {"unchanged": 1}


def test_equal_names_under_two_roots(folder: Folder, ingest: Ingest, held: Held) -> None:
    first, second = folder({"a.txt": "one"}, "first"), folder({"a.txt": "two"}, "second")
    assert _counts(ingest(first)) == {"added": 1}
    assert _counts(ingest(second)) == {"added": 1}
    assert held() == {"a.txt": ("one", None), "second/a.txt": ("two", None)}
    assert _counts(ingest(second, first)) == {"unchanged": 2}


@pytest.mark.parametrize("order", [1, -1])
def test_ids_do_not_depend_on_the_order_of_folders(
    folder: Folder, ingest: Ingest, held: Held, order: int
) -> None:
    rows = _lines({"id": "1", "text": "three"})
    first = folder({"a.txt": "one", "x.jsonl": rows, "in/b.txt": "four"}, "first")
    second = folder({"a.txt": "two", "y.jsonl": rows}, "second")
    ingest(*[first / "in", first, second][::order])
    assert {name: text for name, (text, _) in held().items()} == {
        "first/a.txt": "one",
        "second/a.txt": "two",
        "in/b.txt": "four",
        "1": "three",
        "y.jsonl:1": "three",
    }


_ROWS = "id,text\n1,one\n2,two\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("{}.csv", _ROWS),
        ("{}.jsonl", _lines({"id": 1, "text": "one"}, {"id": 2, "text": "two"})),
        ("{}.all", ".I 1\n.W\none\n.I 2\n.W\ntwo\n"),
        (
            "{}.sgm",
            (
                '<REUTERS NEWID="1"><BODY>one</BODY></REUTERS>'
                '<REUTERS NEWID="2"><BODY>two</BODY></REUTERS>'
            ),
        ),
    ],
)
def test_ids_are_kept_apart_by_file(
    folder: Folder, ingest: Ingest, held: Held, name: str, content: str
) -> None:
    second = name.format("b")
    root = folder({name.format("a"): content, second: content})
    assert _counts(ingest(root, batch_documents=1)) == {"added": 4}
    assert list(held()) == ["1", "2", f"{second}:1", f"{second}:2"]
    folder({second: content.replace("two", "new")})
    assert _counts(ingest(root)) == {"updated": 1, "unchanged": 3}
    assert held()[f"{second}:2"] == ("new", None)


def test_records_without_ids_are_kept_apart_by_file(
    folder: Folder, ingest: Ingest, held: Held
) -> None:
    root = folder({"a.jsonl": _lines({"text": "one"}), "b.jsonl": _lines({"text": "two"})})
    assert _counts(ingest(root)) == {"added": 2}
    assert list(held()) == ["a.jsonl#1", "b.jsonl#1"]


def test_ids_kept_apart_are_stable(
    folder: Folder, ingest: Ingest, held: Held, sound: Sound
) -> None:
    root = folder({"a.csv": _ROWS, "sub/b.csv": _ROWS})
    ingest(root / "a.csv")
    ingest(root / "sub")
    before = list(held())
    assert before == ["1", "2", "b.csv:1", "b.csv:2"]
    folder({"sub/b.csv": "id,text\n2,two\n1,one\n"})
    assert _counts(ingest(root, labels="none")) == {"unchanged": 4}
    (root / "a.csv").unlink()
    folder({"sub/b.csv": _ROWS})
    assert _counts(ingest(root, labels="none", prune=True)) == {"unchanged": 2, "removed": 2}
    assert list(held()) == ["b.csv:1", "b.csv:2"]
    sound()


def test_ids_that_all_are_taken(folder: Folder, ingest: Ingest, held: Held, sound: Sound) -> None:
    b = str(folder({}) / "b.csv")
    ids = ["1", "b.csv:1", f"{folder({}).name}/b.csv:1", f"{b}:1"]
    records = [{"id": name, "text": "other"} for name in ids]
    root = folder({"a.jsonl": _lines(*records), "b.csv": "id,text\n1,own\n"})
    assert _counts(ingest(root)) == {"added": 5}
    assert _counts(ingest(root)) == {"unchanged": 5}
    assert [text for text, _ in held().values()].count("own") == 1
    sound()


def test_an_id_of_another_file_is_refused_where_ids_are_global(
    folder: Folder, ingest: Ingest
) -> None:
    first, second = {"id": "a", "text": "one"}, {"id": "a", "text": "two"}
    root = folder({"1.jsonl": _lines(first), "2.jsonl": _lines(second, {"id": "b", "text": "3"})})
    report = ingest(root, ids="global")
    assert _counts(report) == {"added": 2, "failed": 1}
    assert _counts(ingest(root, ids="global")) == {"unchanged": 2, "failed": 1}
    failure = report.failures[0]
    assert (failure.path, failure.where) == (str(root / "2.jsonl"), "document 1")
    assert failure.reason == f"the id “a” is already used by {root / '1.jsonl'}"
    assert _counts(ingest(root)) == {"added": 1, "unchanged": 2}


def test_ids_are_file_or_global(folder: Folder, ingest: Ingest, library: Path) -> None:
    with pytest.raises(BadOption, match="ids: must be file or global"):
        ingest(folder(_NOTES), ids="row")
    assert not library.exists()


@pytest.mark.parametrize("batch_documents", [1, 2, 1000])
def test_an_id_twice_in_one_file_is_refused(
    folder: Folder, ingest: Ingest, held: Held, batch_documents: int
) -> None:
    records = [{"id": name, "text": f"{number}"} for number, name in enumerate("abcab")]
    root = folder({"a.jsonl": _lines(*records)})
    report = ingest(root, batch_documents=batch_documents)
    assert _counts(report) == {"added": 3, "failed": 2}
    assert [one.where for one in report.failures] == ["document 4", "document 5"]
    assert "the id “a” is used twice" in report.failures[0].reason
    assert list(held().values()) == [("0", None), ("1", None), ("2", None)]
    assert _counts(ingest(root, batch_documents=batch_documents)) == {"unchanged": 3, "failed": 2}


def test_a_file_of_one_id_is_given_up(
    folder: Folder, ingest: Ingest, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpisearch.ingest.recorder.MOST_PROBLEMS", 3)
    same = [{"id": "a", "text": f"{number}"} for number in range(50)]
    root = folder({"a.jsonl": _lines(*same), "b.jsonl": _lines({"id": "b", "text": "later"})})
    report = ingest(root, batch_documents=1)
    assert [one.reason for one in report.failures if not one.where] == [
        "gave up at document 5: duplicate ids"
    ]
    assert list(held().values()) == [("0", None), ("later", None)]
    assert _counts(ingest(root)) == {"unchanged": 2, "failed": 5}


@pytest.mark.parametrize("batch_documents", [1, 1000])
def test_a_file_with_failures_is_read_when_it_changes(
    folder: Folder, ingest: Ingest, held: Held, opened: list[str], batch_documents: int
) -> None:
    good = [{"id": name, "text": name} for name in "abc"]
    root = folder({"a.jsonl": _lines(*good)})
    ingest(root)
    folder({"a.jsonl": _lines(good[0]) + "{broken\n" + _lines(good[2])})
    for unchanged in (2, 3):  # those that were seen; those that are known
        report = ingest(root, prune=True, batch_documents=batch_documents)
        assert _counts(report) == {"unchanged": unchanged, "failed": 1}
        assert list(held()) == ["a", "b", "c"]
    assert opened == ["a.jsonl", "a.jsonl"]
    folder({"a.jsonl": _lines(*good)})
    assert _counts(ingest(root)) == {"unchanged": 3}
    opened.clear()
    assert _counts(ingest(root)) == {"unchanged": 3}
    assert opened == []


def test_known_failures_are_counted_and_not_tried_again(
    folder: Folder, ingest: Ingest, opened: list[str]
) -> None:
    """A file that failed is not read again until something changes, and is told once."""
    root = folder({"a.pdf": "%PDF-", "b.jsonl": "{broken\n" + _lines({"text": "x"})})
    report = ingest(root)
    told = {(one.path, one.where, one.reason) for one in report.failures}
    assert _counts(report) == {"added": 1, "failed": 2}
    opened.clear()
    report = ingest(root)
    assert _counts(report) == {"unchanged": 1, "failed": 2}
    assert (report.failures, opened) == ([], [])
    assert {(one.path, one.where, one.reason) for one in report.known_failures} == told
    again = ingest(root, retry=True)
    assert sorted(opened) == ["a.pdf", "b.jsonl"]
    assert (len(again.failures), again.known_failures) == (2, [])
    opened.clear()
    ingest(root, labels="none")
    assert sorted(opened) == ["a.pdf", "b.jsonl"]
    (root / "a.pdf").write_text("%PDF-1")
    (root / "b.jsonl").unlink()
    opened.clear()
    assert _counts(ingest(root, labels="none", prune=True)) == {"removed": 1, "failed": 1}
    assert opened == ["a.pdf"]


def test_a_new_failure_beside_known_ones(folder: Folder, ingest: Ingest) -> None:
    root = folder({"a.jsonl": "{broken\n" + _lines({"id": "a", "text": "x"})})
    ingest(root)
    folder({"a.jsonl": "{broken\n" + _lines({"id": "a", "text": "x"}) + "[1]\n"})
    report = ingest(root)
    assert [one.where for one in report.failures] == ["line 3"]
    assert [one.where for one in report.known_failures] == ["line 1"]


def test_what_the_system_refused_is_tried_at_each_run(
    folder: Folder, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder({"a.txt": "one"})

    def refuse(*_: Any, **__: Any) -> SourceFile:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(SourceFile, "at", refuse)
        assert len(ingest(root).failures) == 1
        assert len(ingest(root).known_failures) == 1
    assert _counts(ingest(root)) == {"added": 1}
    assert _counts(ingest(root)) == {"unchanged": 1}


def test_very_many_failures_are_counted(folder: Folder, ingest: Ingest) -> None:
    root = folder({"a.jsonl": _lines({"text": "x"}) + "{broken\n" * 1500})
    report = ingest(root)
    assert (report.failed, len(report.failures), report.unlisted) == (1500, 1000, 500)
    again = ingest(root)
    assert (again.failed, again.failures) == (1500, [])


def test_a_failure_is_of_its_own_file(folder: Folder, ingest: Ingest, opened: list[str]) -> None:
    twice = _lines({"id": "a", "text": "one"}, {"id": "a", "text": "two"})
    root = folder({"1.jsonl": twice, "2.jsonl": _lines({"id": "b", "text": "three"})})
    ingest(root, batch_documents=3)
    opened.clear()
    assert _counts(ingest(root, retry=True)) == {"unchanged": 2, "failed": 1}
    assert opened == ["1.jsonl"]


def test_a_freed_id_is_taken(folder: Folder, ingest: Ingest) -> None:
    record = {"id": "a", "text": "one"}
    root = folder({"1.jsonl": _lines(record), "2.jsonl": _lines(record)})
    assert _counts(ingest(root, ids="global")) == {"added": 1, "failed": 1}
    (root / "1.jsonl").unlink()
    assert _counts(ingest(root, ids="global")) == {"moved": 1}
    assert _counts(ingest(root, prune=True)) == {"unchanged": 1}


def test_changed_options_read_again(folder: Folder, ingest: Ingest, held: Held) -> None:
    root = folder(_NOTES)
    ingest(root, labels="folder")
    assert _counts(ingest(root, labels="none")) == {"updated": 2}
    assert {labels for _, labels in held().values()} == {None}
    assert _counts(ingest(root, labels="none")) == {"unchanged": 2}
    assert _counts(ingest(root, labels="folder")) == {"updated": 2}


def test_folders_are_labels_where_that_is_said_once(
    folder: Folder, ingest: Ingest, held: Held, sql: Sql
) -> None:
    root = folder({f"{name}/{n}.txt": f"{name} {n}" for name in ("sea", "sky") for n in range(5)})
    report = ingest(root)
    assert {labels for _, labels in held().values()} == {None}
    assert any('labels="folder"' in note for note in report.notes)
    ingest(root, labels="folder")
    folder({"sea/0.txt": "changed", "sea/new.txt": "new"})
    report = ingest(root)
    assert _counts(report) == {"added": 1, "updated": 1, "unchanged": 9}
    assert {held()[name][1] for name in ("sea/0.txt", "sea/new.txt")} == {"sea"}
    assert not any("labels" in note for note in report.notes)
    assert _counts(ingest(root, labels="stated")) == {"updated": 11}
    # As an earlier version wrote it, which took folders where nothing was stated.
    sql("UPDATE sources SET read_options = 'a3ab959dbb94525c'")
    folder({"sky/new.txt": "new"})
    assert _counts(ingest(root)) == {"added": 1, "unchanged": 11}
    assert held()["sky/new.txt"][1] == "sky"


def test_labels_of_a_csv_file(folder: Folder, ingest: Ingest, held: Held) -> None:
    root = folder({**_NOTES, "labels.csv": "path,label\nsea/a.txt,x;y\n"})
    labels = str(root / "labels.csv")
    assert _counts(ingest(root, labels=labels)) == {"added": 2}
    assert [labels for _, labels in held().values()] == [None, "x,y"]
    folder({"labels.csv": "path,label\nsea/a.txt,y;x\nb.md,z\n"})
    assert _counts(ingest(root, labels=labels)) == {"updated": 2}
    assert _counts(ingest(root, labels=labels)) == {"unchanged": 2}


def test_labels_and_splits(folder: Folder, ingest: Ingest, sql: Sql) -> None:
    root = folder(
        {
            "train/sea/a.txt": "one",
            "test/land/b.txt": "two",
            "c.jsonl": _lines({"id": "c", "text": "three", "labels": ["x", "y"], "split": "dev"}),
            "d.csv": "id,text,category\nd,four,z\n",
        }
    )
    ingest(root)
    statement = """SELECT external_id, split, group_concat(name) FROM documents d
    JOIN labels l ON l.document_id = d.id GROUP BY 1, 2 ORDER BY 1"""
    assert sql(statement) == [
        ("c", "dev", "x,y"),
        ("d", "", "z"),
    ]
    ingest(root, labels="folder", split="folder")
    assert sql(statement) == [
        ("test/land/b.txt", "test", "land"),
        ("train/sea/a.txt", "train", "sea"),
    ]


def test_a_folder_that_is_gone_for_a_while(folder: Folder, ingest: Ingest, held: Held) -> None:
    root = folder(_NOTES)
    ingest(root)
    before = held()
    away = root.parent / "away"
    shutil.move(root / "sea", away)
    assert _counts(ingest(root)) == {"unchanged": 1, "missing": 1}
    shutil.move(away, root / "sea")
    assert _counts(ingest(root, prune=True)) == {"unchanged": 2}
    assert held() == before


def test_a_deleted_document_stays_deleted(
    folder: Folder, ingest: Ingest, library: Path, held: Held
) -> None:
    from lpisearch.admin.curation import delete_documents

    root = folder(_NOTES)
    ingest(root, labels="folder")
    assert delete_documents(library, ["sea/a.txt"]) == 1
    assert _counts(ingest(root)) == {"unchanged": 1}
    folder({"sea/a.txt": "Another letter."})
    assert _counts(ingest(root)) == {"added": 1, "unchanged": 1}
    assert held()["sea/a.txt"] == ("Another letter.", "sea")


def test_an_empty_folder(folder: Folder, ingest: Ingest) -> None:
    assert _counts(ingest(folder({}))) == {}


def test_a_file_at_which_a_run_was_ended_is_read_last(
    ingest: Ingest, folder: Folder, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "LONG_WAIT_SECONDS", 0.0)  # any file of a worker is waited for
    root = folder({"a.html": "<p>First words.", "b.txt": "Second words.", "c.txt": "Third words."})

    def interrupt(_self: object, _file: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(InProgressFiles, "end", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ingest(root)
    opened.clear()
    assert _counts(ingest(root)) == {"added": 3}
    assert opened == ["b.txt", "c.txt", "a.html"]
    opened.clear()
    for path in root.iterdir():
        os.utime(path, (1, 1))
    ingest(root)
    assert opened == ["a.html", "b.txt", "c.txt"]
