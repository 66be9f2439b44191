from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.delimited import CSV_READER, TSV_READER

if TYPE_CHECKING:
    from pathlib import Path


def _read(
    path: Path, data: bytes | str, options: ReadOptions | None = None
) -> list[Document | Problem]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    reader = TSV_READER if path.suffix == ".tsv" else CSV_READER
    return list(reader.read(SourceFile.at(path), options or ReadOptions()))


def test_usual_columns_are_known(tmp_path: Path) -> None:
    table = (
        "ID,Title,Abstract,Category,split,date,author,pages\n"
        '1,Boats,"They float,\n""always"".",sea;wood | oak,train,2024-01-31,Ann,\n'
    )
    assert _read(tmp_path / "a.csv", table) == [
        Document(
            "Boats",
            'They float,\n"always".',
            id="1",
            labels=("sea", "wood", "oak"),
            split="train",
            date="2024-01-31",
            metadata={"author": "Ann"},
        )
    ]


def test_labels_in_a_cell_are_separated_by_the_option(tmp_path: Path) -> None:
    table = 'text,label\nboats,"sea, wood"\n'
    for separators, labels in ((";|", ("sea, wood",)), (",", ("sea", "wood"))):
        options = ReadOptions(label_separators=separators)
        assert _read(tmp_path / "a.csv", table, options) == [Document("", "boats", labels=labels)]


def test_columns_are_named_by_options(tmp_path: Path) -> None:
    options = ReadOptions(text_field="words", labels="kind", id_field="n")
    assert _read(tmp_path / "a.csv", "n,words,kind\n5,boats,sea\n", options) == [
        Document("", "boats", id="5", labels=("sea",))
    ]


@pytest.mark.parametrize(
    "table",
    [
        "id;text;n\n1;a, b, c;3,5\n2;d;4,5\n",
        "id\ttext\tn\n1\ta, b, c\t3,5\n2\td\t4,5\n",
        "id|text|n\n1|a, b, c|3,5\n2|d|4,5\n",
        'id,text,n\n1,"a, b, c","3,5"\n2,d,"4,5"\n',
    ],
    ids=["semicolon", "tab", "bar", "comma"],
)
def test_delimiter_is_detected(table: str, tmp_path: Path) -> None:
    expected = [
        Document("", "a, b, c", id="1", metadata={"n": "3,5"}),
        Document("", "d", id="2", metadata={"n": "4,5"}),
    ]
    assert _read(tmp_path / "a.csv", table) == expected
    assert _read(tmp_path / "a.tsv", table) == expected


def test_single_column_needs_no_delimiter(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.csv", "text\nboats float\n") == [Document("", "boats float")]


def test_rows_that_do_not_fit_are_problems_with_their_line(tmp_path: Path) -> None:
    table = 'id,text\n1,"two\nlines"\n2\n\n3,a,b\n4,c,,\n5,d\n'
    found = _read(tmp_path / "a.csv", table)
    assert [item for item in found if isinstance(item, Problem)] == [
        Problem("1 cell, but the header has 2", "line 4"),
        Problem("3 cells, but the header has 2", "line 6"),
    ]
    assert [item.id for item in found if isinstance(item, Document)] == ["1", "4", "5"]


def test_broken_quotes_are_problems(tmp_path: Path) -> None:
    table = 'id,text\n1,"a"b\n2,c\n3,"never closed\n4,d\n'
    assert _read(tmp_path / "a.csv", table) == [
        Problem("not valid CSV: ',' expected after '\"'", "line 2"),
        Document("", "c", id="2"),
        Problem("not valid CSV: unclosed quote; the rest of the file cannot be read", "line 4"),
    ]


def test_row_without_words_is_a_problem(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.csv", "id,text\n1,\n") == [
        Problem("has neither title nor text", "line 2")
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ReadOptions(labels="topic"),
            "has no column “topic” (labels); its columns are “id”, “text”",
        ),
        (
            ReadOptions(text_field="body"),
            "has no column “body” (text_field); its columns are “id”, “text”",
        ),
    ],
)
def test_missing_named_column_is_stated(options: ReadOptions, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ReaderError) as error:
        _read(tmp_path / "a.csv", "id,text\n1,a\n", options)
    assert error.value.what == reason


def test_without_a_text_column_all_columns_are_the_text(tmp_path: Path) -> None:
    rows = "id,date,what,amount,label\n7,2024-03-01,Train to Leeds,45.20,travel\n8,,,3,\n"
    assert _read(tmp_path / "a.csv", rows) == [
        Document(
            "Train to Leeds",
            "2024-03-01\tTrain to Leeds\t45.20",
            "7",
            ("travel",),
            date="2024-03-01",
            metadata={"what": "Train to Leeds", "amount": "45.20"},
        ),
        Document("", "3", "8", metadata={"amount": "3"}),
    ]


def test_a_table_of_numbers_is_one_document(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.csv", "time,height\n1,2\n3,4\n") == [
        Document("a", "time\theight\n1\t2\n3\t4")
    ]


@pytest.mark.parametrize("data", [b"", b"\n\n", b",,\n1,2,3\n", bytes(300)])
def test_useless_file_is_an_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=r"is empty|has no header row|looks like binary"):
        _read(tmp_path / "a.csv", data)


def test_repeated_column_names_are_told_apart(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.csv", "text,text,note\na,b,c\n")
    assert document == Document("", "a", metadata={"text (2)": "b", "note": "c"})


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_encoding_is_detected(encoding: str, tmp_path: Path) -> None:
    table = "text,label\r\n今天天气很好我们去公园散步,天气\r\n"
    (document,) = _read(tmp_path / "a.csv", table.encode(encoding))
    assert isinstance(document, Document)
    assert document.text == "今天天气很好我们去公园散步"
    assert document.labels == ("天气",)


def test_late_byte_that_is_no_utf8_is_warned_of(tmp_path: Path) -> None:
    table = b"text\n" + b"plain words\n" * 50_000 + b"caf\xe9\n"
    warning, *documents = _read(tmp_path / "a.csv", table)
    assert warning == Problem("not UTF-8; read as cp1252", warning=True)
    assert documents[-1] == Document("", "café", metadata={"encoding": "cp1252"})


def test_nul_characters_are_removed_with_a_warning(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.csv", b"id,text\n1,a\0b\n2,c\0d\n") == [
        Document("", "ab", id="1"),
        Document("", "cd", id="2"),
        Problem("NUL characters were removed", warning=True),
    ]


def test_long_cells_are_read_up_to_the_limit(tmp_path: Path) -> None:
    table = "id,text\n1,a\n2," + "x" * 300_000 + "\n"
    assert len(_read(tmp_path / "a.csv", table)) == 2
    path = tmp_path / "b.csv"
    path.write_text(table)
    items = CSV_READER.read(SourceFile.at(path), ReadOptions(max_document_bytes=200_000))
    with pytest.raises(ReaderError, match=r"has a line that is over the limit of 0\.2 MiB"):
        list(items)


def test_old_mac_newlines_are_newlines(tmp_path: Path) -> None:
    assert len(_read(tmp_path / "a.csv", "id,text\r1,a\r2,b\r")) == 2
