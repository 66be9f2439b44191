from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import time
import zipfile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import BadOption
from lpisearch.ingest.discovery import Discovery
from lpisearch.options import MEBIBYTE
from lpisearch.readers.base import Reader
from lpisearch.readers.registry import READERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.model.documents import Document, IngestReport, Problem
    from lpisearch.options import ReadOptions
    from lpisearch.readers.base import SourceFile

    Ingest = Callable[..., IngestReport]
    Folder = Callable[..., Path]

_GOOD = "A letter that is in order."


@pytest.fixture
def texts(sql: Callable[..., list[Any]]) -> Callable[[], dict[str, str]]:
    """Return a reader of the library: id to text."""
    return lambda: dict(sql("SELECT external_id, text FROM documents"))


def _zip(entries: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


_JSON_LINE = b'{"id": "%d", "text": "a line"}\n'
_UNREADABLE = {
    "binary.txt": bytes(range(256)) * 40,
    "damaged.pdf": b"%PDF-1.7\n" + b"\0rubbish\n" * 100,
    "damaged.docx": b"PK\x03\x04" + b"rubbish" * 100,
    "empty.docx": _zip({}),
    "damaged.odt": _zip({"content.xml": b"<office:document-content"}),
    "damaged.epub": _zip({"META-INF/container.xml": b"<container"}),
    "bomb.docx": _zip({"word/document.xml": b" " * (300 * MEBIBYTE)}),
    "truncated.txt.gz": gzip.compress(os.urandom(50_000).hex().encode())[:20_000],
    "truncated.jsonl.gz": gzip.compress(b"".join(_JSON_LINE % n for n in range(9999)))[:200],
    "rubbish.txt.gz": b"\x1f\x8b\x08\x00" + b"\xff" * 200,
    "head.txt.gz": b"\x1f\x8b",
    "binary.jsonl": bytes(range(256)) * 40,
    "list.jsonl": b"[1, 2]\n",
}


@pytest.mark.parametrize("name", _UNREADABLE)
def test_a_file_of_no_use_is_named_and_the_rest_is_read(
    folder: Folder, ingest: Ingest, texts: Callable[[], dict[str, str]], name: str
) -> None:
    root = folder({"a.txt": _GOOD, name: _UNREADABLE[name], "zz.txt": _GOOD})
    report = ingest(root)
    assert {one.path for one in report.failures} == {str(root / name)}
    assert all(one.reason and not one.reason.endswith(".") for one in report.failures)
    assert "reader failed" not in report.failures[0].reason
    assert {"a.txt": _GOOD, "zz.txt": _GOOD}.items() <= texts().items()


_ENCODINGS = {
    "utf16.txt": "Grüße aus Köln".encode("utf-16"),
    "utf16be.txt": b"\xfe\xff" + "Grüße aus Köln".encode("utf-16-be"),
    "utf8-bom.txt": "Grüße aus Köln".encode("utf-8-sig"),
    "cp1252.txt": ("Grüße aus Köln, “wörtlich” – schöne, größere Städte. " * 4).encode("cp1252"),
    "gbk.txt": ("中文信息检索的方法与实践 文档索引" * 10).encode("gbk"),
}


@pytest.mark.parametrize("name", _ENCODINGS)
def test_encodings(
    folder: Folder, ingest: Ingest, texts: Callable[[], dict[str, str]], name: str
) -> None:
    """Text in the encodings that people have is read as what was written."""
    report = ingest(folder({name: _ENCODINGS[name]}))
    assert report.failures == []
    assert texts()[name].startswith(("Grüße aus Köln", "中文信息检索"))


def test_broken_utf8_is_read_with_a_warning(
    folder: Folder, ingest: Ingest, texts: Callable[[], dict[str, str]]
) -> None:
    root = folder({"a.txt": b"Ships \xff and " + "Köln, schöne größere Städte. ".encode() * 20})
    report = ingest(root)
    assert report.failures == []
    assert [one.path for one in report.warnings] == [str(root / "a.txt")]
    assert "Ships" in texts()["a.txt"]


def test_stray_nul_bytes(
    folder: Folder, ingest: Ingest, texts: Callable[[], dict[str, str]]
) -> None:
    record = json.dumps({"id": "a\0b", "text": "one\0two", "labels": ["x\0"], "k\0": "v\0"})
    root = folder({"a.txt": b"Ships\0 and boats. " + b"More text. " * 50, "b.jsonl": record})
    assert ingest(root).added == 2
    assert "\0" not in "".join([*texts(), *texts().values()])
    assert ingest(root, labels="none").updated == 1


def test_lone_surrogates(
    folder: Folder, ingest: Ingest, texts: Callable[[], dict[str, str]]
) -> None:
    """Half of a surrogate pair in JSON is replaced, wherever it stands."""
    half = "\\ud83d"
    fields = ("id", "title", "text", "labels", "split", "path", "media_type", half, "metadata")
    record = "{" + ", ".join(f'"{name}": "{half} x"' for name in fields) + "}"
    assert ingest(folder({"a.jsonl": record})).added == 1
    assert next(iter(texts().values())) == "� x"


def test_a_broken_line_of_many(folder: Folder, ingest: Ingest) -> None:
    lines = [_JSON_LINE % number for number in range(1, 5011)]
    lines[4999] = b'{"id": "5000", "text": \n'
    root = folder({"a.jsonl": b"".join(lines)})
    report = ingest(root)
    assert report.added == 5009
    failure = report.failures[0]
    assert (failure.path, failure.where) == (str(root / "a.jsonl"), "line 5000")
    assert "not valid JSON" in failure.reason


@pytest.mark.parametrize("option", ["text_field", "id_field", "labels"])
def test_a_csv_without_the_named_column(folder: Folder, ingest: Ingest, option: str) -> None:
    root = folder({"a.csv": "id,text\n1,one\n"})
    report = ingest(root, **{option: "colour"})
    said = [*report.failures, *report.warnings]
    assert [one.path for one in said] == [str(root / "a.csv")]
    assert "colour" in said[0].reason


def test_an_unexpected_exception_of_a_reader(
    folder: Folder,
    ingest: Ingest,
    texts: Callable[[], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = READERS["jsonl"]

    def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
        documents = whole.read(source, options)
        yield next(documents)
        raise ZeroDivisionError("by nought")

    broken = Reader("jsonl", whole.suffixes, read, many=True)
    by_suffix = {".jsonl": broken, ".txt": READERS["text"]}
    choose = "lpisearch.ingest.extraction.reader_for"
    monkeypatch.setattr(choose, lambda source, _options: by_suffix[source.suffix])
    root = folder({"a.txt": _GOOD, "b.jsonl": _JSON_LINE % 1 + _JSON_LINE % 2, "c.txt": _GOOD})
    report = ingest(root)
    assert report.added == 3
    assert [one.path for one in report.failures] == [str(root / "b.jsonl")]
    assert "ZeroDivisionError: by nought" in report.failures[0].reason
    assert set(texts()) == {"a.txt", "1", "c.txt"}


def test_a_defect_in_choosing_a_reader(
    folder: Folder, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(source: SourceFile, _options: ReadOptions) -> Reader:
        if source.stem == "b":
            raise ZeroDivisionError
        return READERS["text"]

    monkeypatch.setattr("lpisearch.ingest.extraction.reader_for", choose)
    root = folder({"a.txt": _GOOD, "b.txt": _GOOD})
    report = ingest(root)
    assert (report.added, [one.path for one in report.failures]) == (1, [str(root / "b.txt")])


def test_an_unknown_format_is_refused_before_anything_is_made(
    folder: Folder, ingest: Ingest, library: Path
) -> None:
    with pytest.raises(BadOption, match="format:"):
        ingest(folder({"a.txt": _GOOD}), format="wordstar")
    assert not library.exists()


def test_a_folder_that_vanishes_in_the_middle(
    folder: Folder,
    ingest: Ingest,
    texts: Callable[[], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = folder({f"{name}/{n}.txt": _GOOD for name in "ab" for n in range(3)})
    ingest(root / "b")
    find = Discovery.files

    def files(self: Discovery, arguments: Any) -> Iterator[Any]:
        found = list(find(self, arguments))
        shutil.rmtree(root / "b")
        return iter(found)

    monkeypatch.setattr(Discovery, "files", files)
    report = ingest(root, labels="none", prune=True)
    assert (report.added, report.removed, report.failed) == (3, 0, 3)
    assert {one.reason for one in report.failures} == {"no such file (deleted, or a broken link)"}
    assert len(texts()) == 6


def test_a_folder_that_vanishes_while_it_is_walked(
    folder: Folder, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder({"a/1.txt": _GOOD, "b/2.txt": _GOOD})
    walk = Discovery._list

    def list_(self: Discovery, name: str) -> Any:
        if name.endswith("/b"):
            shutil.rmtree(name, ignore_errors=True)
        return walk(self, name)

    monkeypatch.setattr(Discovery, "_list", list_)
    report = ingest(root)
    assert report.added == 1
    assert [one.path for one in report.failures] == [str(root / "b")]


def test_a_file_beyond_the_limit(folder: Folder, ingest: Ingest) -> None:
    big = json.dumps({"text": "x" * 3000}) + "\n" + json.dumps({"text": "small"}) + "\n"
    root = folder({"a.txt": "x" * 3000, "b.jsonl": big})
    report = ingest(root, max_document_bytes=2000)
    assert report.added == 1
    assert [one.path for one in report.failures] == [str(root / "a.txt"), str(root / "b.jsonl")]


def test_a_single_line_of_100_megabytes(
    folder: Folder, ingest: Ingest, sound: Callable[..., None]
) -> None:
    line = b"a word and another " * (100 * MEBIBYTE // 19)
    root = folder({"a.txt": line, "b.jsonl": b'{"text": "' + line + b'"}\n{"text": "next"}\n'})
    begun = time.perf_counter()
    report = ingest(root)
    assert time.perf_counter() - begun < 20
    assert {one.path for one in report.failures} == {str(root / "a.txt"), str(root / "b.jsonl")}
    assert report.added == 1
    sound()


@pytest.mark.slow
def test_a_single_line_of_100_megabytes_that_is_allowed(
    folder: Folder, ingest: Ingest, sound: Callable[..., None]
) -> None:
    root = folder({"a.txt": b"a word and another " * (100 * MEBIBYTE // 19)})
    assert ingest(root, max_document_bytes=200 * MEBIBYTE).added == 1
    sound()


@pytest.mark.parametrize(
    ("text", "format_"),
    [("A letter.\n", "auto"), (json.dumps({"text": "one"}), "jsonl")],
)
def test_standard_input(
    ingest: Ingest,
    texts: Callable[[], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    format_: str,
) -> None:
    """What is piped in is a document; the same again is unchanged, another is another."""
    for content, expected in ((text, (1, 0)), (text, (0, 1)), (text + "\n\n ", (1, 0))):
        stdin = SimpleNamespace(buffer=io.BytesIO(content.encode()))
        monkeypatch.setattr("sys.stdin", stdin)
        report = ingest("-", format=format_)
        assert (report.added, report.unchanged) == expected
        assert report.failures == []
    assert all(one.startswith("stdin-") for one in texts())


def test_empty_files_are_counted(folder: Folder, ingest: Ingest) -> None:
    root = folder({"a.txt": "", "b.txt": " \n", "c.pdf": "", "d.csv": "", "e.txt": "one"})
    report = ingest(root)
    assert (report.added, report.empty, report.failed) == (1, 4, 0)
    folder({"e.txt": ""})
    report = ingest(root, prune=True)
    assert (report.empty, report.removed, report.failed) == (1, 1, 0)


def test_empty_standard_input(ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO()))
    report = ingest("-")
    assert [one.reason for one in report.failures] == ["is empty"]


def test_a_binary_file_that_is_named(folder: Folder, ingest: Ingest) -> None:
    root = folder({"a.exe": bytes(range(256)) * 40})
    report = ingest(root)
    assert (report.failed, report.skipped) == (0, {".exe": 1})
    report = ingest(root / "a.exe")
    assert [one.path for one in report.failures] == [str(root / "a.exe")]
    assert "set format if" in report.failures[0].reason


def test_why_a_file_was_given_up_is_named_among_many_failures(
    folder: Folder, ingest: Callable[..., IngestReport]
) -> None:
    root = folder({"a.jsonl": "x\n" * 12_000, "b.txt": "An honest note."})
    for _ in range(2):
        report = ingest(root)
        listed = [*report.failures, *report.known_failures]
        assert report.failed == 10_002
        assert len(listed) <= 1001
        assert listed[-1].reason == "gave up at line 10001: 10,001 records could not be read"
