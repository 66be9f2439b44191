from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import BadOption, ReaderError
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.registry import READERS, reader_for

if TYPE_CHECKING:
    from pathlib import Path


def _name(path: Path, data: bytes, file_format: str = "auto") -> str | None:
    path.write_bytes(data)
    reader = reader_for(SourceFile.at(path), ReadOptions(format=file_format))
    return reader.name if reader else None


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("a.txt", "text"),
        ("A.TXT", "text"),
        ("a.md", "markdown"),
        ("a.htm", "html"),
        ("a.csv", "csv"),
        ("a.tab", "tsv"),
        ("a.ndjson", "jsonl"),
        ("reut2-000.sgm", "reuters"),
        ("cran.all", "smart"),
        ("a.py", "code"),
        ("a.pyc", None),
        ("a.jpeg", None),
        ("README.Debian", "text"),
        ("changelog.Debian.amd64", "text"),
        ("reader.res", None),
        ("graph.dot", "text"),
        ("old.doc", "text"),
    ],
)
def test_suffix_tells_the_format(filename: str, name: str | None, tmp_path: Path) -> None:
    assert _name(tmp_path / filename, b"some words\n") == name


_JUDGEMENTS = (
    b"q1\t0\tsea/a b.txt\t2\nq1\t0\tsea/c.txt\t0\n",
    b"1 0 d1 1\n1 0 d2 -1\n",
    b"1 Q0 d1 1 0.5 run\n1 Q0 d2 2 1e-3 run\n",
    b"query-id\tcorpus-id\tscore\nq\td\t1\n",
)


@pytest.mark.parametrize("data", _JUDGEMENTS)
@pytest.mark.parametrize("filename", ["qrels.tsv", "qrels.txt", "qrels", "qrels.tsv.gz"])
def test_judgements_are_no_documents(filename: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / filename
    stored = gzip.compress(data) if filename.endswith(".gz") else data
    assert _name(path, stored) is None
    assert _name(path, stored, "text") == "text"
    more = data + b"and a note\n"
    assert _name(path, gzip.compress(more) if filename.endswith(".gz") else more)


@pytest.mark.parametrize(
    "data", [b"a\t0\tb\t1\n", b"id\tname\tof\tgrade\n1\t0\tx\t2\n", b"1 2 3 4\n5 6 7 8\n"]
)
def test_other_tables_are_documents(data: bytes, tmp_path: Path) -> None:
    assert _name(tmp_path / "table.tsv", data) == "tsv"


_BYTES = {
    "smart": b".I 1\n.W\nx\n",
    "reuters": b'<REUTERS NEWID="1">',
    "code": b"#!/bin/sh\necho boats\n",
    "html": b"<!DOCTYPE html><p>x",
    "jsonl": b'{"text": "x"}\n',
    "newsgroups": b"From: a\nSubject: b\n\nc\n",
    "pdf": b"%PDF-1.4\n",
}
_NAMELESS = ("data", "cran.all.1400", "49960", "a.dat", "a.json")


@pytest.mark.parametrize(
    ("filename", "data", "name"),
    [
        *((filename, data, name) for filename in _NAMELESS for name, data in _BYTES.items()),
        ("README", b"words\n", "text"),
        ("notes.2024", b"words\n", "text"),
        ("Makefile.inc", b"words\n", None),
        ("package.json", b'{\n  "name": "x"\n}\n', None),
        ("program", b"\x7fELF" + bytes(100), None),
        ("nothing", b"", None),
    ],
)
def test_content_tells_where_the_name_does_not(
    filename: str, data: bytes, name: str | None, tmp_path: Path
) -> None:
    assert _name(tmp_path / filename, data) == name


def test_format_option_is_used(tmp_path: Path) -> None:
    assert _name(tmp_path / "a.csv", b"words", "text") == "text"
    assert {_name(tmp_path / "a", b"x", name) for name in READERS} == set(READERS)


@pytest.mark.parametrize(
    ("name", "data", "reader"),
    [
        ("page.pdf", b"<!DOCTYPE html><p>No access", "html"),
        ("note.docx", b"Just a note.", "text"),
        ("page.xls", b"<html><table><tr><td>1", "html"),
        ("cut.pdf", b"\0\1\2", "pdf"),
        ("none.docx", b"", "docx"),
    ],
)
def test_a_wrong_suffix_does_not_matter(
    tmp_path: Path, name: str, data: bytes, reader: str
) -> None:
    assert _name(tmp_path / name, data) == reader


def test_unknown_format_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(BadOption) as error:
        _name(tmp_path / "a", b"x", "markdwon")
    assert error.value.what == ("format: unknown format “markdwon” (did you mean markdown?).")
    assert "auto, asciidoc, code, csv" in error.value.next_step
    with pytest.raises(BadOption, match="unknown format “zzz”\\."):
        _name(tmp_path / "a", b"x", "zzz")


def test_gzipped_file_is_recognised_by_its_content(tmp_path: Path) -> None:
    assert _name(tmp_path / "a.csv.gz", gzip.compress(b"x")) == "csv"
    assert _name(tmp_path / "data.gz", gzip.compress(b".I 1\n")) == "smart"
    with pytest.raises(ReaderError, match="the gzip data is truncated"):
        _name(tmp_path / "data.gz", gzip.compress(b"words")[:12])


def test_each_suffix_has_one_reader() -> None:
    suffixes = [suffix for reader in READERS.values() for suffix in reader.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "doc"),
        (b"{\\rtf1 A letter.}", "rtf"),
        (b"<!DOCTYPE html><p>A letter.", "html"),
        (b"A letter.", "text"),
        (bytes(range(256)), "doc"),
    ],
)
def test_what_others_call_so_is_recognised_by_content(
    data: bytes, name: str, tmp_path: Path
) -> None:
    assert _name(tmp_path / "letter.doc", data) == name
