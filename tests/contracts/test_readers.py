"""What every reader must keep to, whatever its format."""

import gzip
import io
import json
import random
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import Reader, SourceFile
from lpisearch.readers.registry import READERS, reader_for
from tests.office import RTF, SHEETS, SLIDES, opendocument, outlook_message, presentation, workbook

_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)
_OPTIONS = ReadOptions(archives=True)
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_MAIL = b"From: Ann <ann@example.org>\nSubject: Boats\nMessage-ID: <1@example.org>\n\nThe boat.\n"


def _zip(**parts: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _pdf() -> bytes:
    shown = b"BT /F1 12 Tf 72 720 Td (The boat.) Tj ET"
    font = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources %s >>"
        % font,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown),
    ]
    data = b"%PDF-1.4\n"
    rows = b"0000000000 65535 f \n"
    for number, content in enumerate(objects, 1):
        rows += b"%010d 00000 n \n" % len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    return data + b"xref\n0 5\n%strailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        rows,
        len(data),
    )


# The smallest honest file of each format: name and bytes, by the name of its reader.
EXAMPLES: dict[str, tuple[str, bytes]] = {
    "text": ("boat.txt", b"Boats\n\nThe boat na\xc3\xafvely floats.\n"),
    "markdown": ("boat.md", b"---\ntags: [sea]\n---\n# Boats\n\nThe *boat* floats.\n"),
    "html": ("boat.html", b"<!DOCTYPE html><title>Boats</title><p>The <b>boat</b> floats."),
    "csv": ("boats.csv", b"id,title,text,label\n1,Boats,The boat floats.,sea;wood\n"),
    "tsv": ("boats.tsv", b"id\ttext\n1\tThe boat floats.\n"),
    "jsonl": ("boats.jsonl", b'{"_id": "1", "title": "Boats", "text": "The boat floats."}\n'),
    "json": ("boats.json", b'[{"text": "The boat floats."}]\n'),
    "reuters": (
        "boats.sgm",
        b'<REUTERS LEWISSPLIT="TEST" NEWID="1"><TOPICS><D>ship</D></TOPICS><TEXT>%s</TEXT>\n'
        % b"<TITLE>BOATS</TITLE><BODY>It floats.</BODY></REUTERS>",
    ),
    "smart": ("boats.all", b".I 1\n.T\nBoats\n.W\nThe boat floats.\n.X\n1\t5\t1\n"),
    "newsgroups": ("49960", b"From: ann@example.org\nSubject: Boats\nLines: 1\n\nThe boat.\n"),
    "eml": ("boat.eml", _MAIL),
    "mbox": ("boats.mbox", b"From ann Wed Jan 31 12:30:45 2024\n" + _MAIL + b"\n"),
    "pdf": ("boat.pdf", _pdf()),
    "odt": (
        "boat.odt",
        _zip(
            **{
                "mimetype": "application/vnd.oasis.opendocument.text",
                "content.xml": f"<office:document-content {_ODF}><office:body><office:text>"
                "<text:p>The boat.</text:p></office:text></office:body></office:document-content>",
            }
        ),
    ),
    "docx": (
        "boat.docx",
        _zip(
            **{
                "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
                '<Default Extension="rels"'
                ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
                f'<Override PartName="/word/document.xml" ContentType="{_WORD_TYPE}"/></Types>',
                "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship'
                f' Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
                "</Relationships>",
                "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body><w:p><w:r>'
                "<w:t>The boat.</w:t></w:r></w:p></w:body></w:document>",
            }
        ),
    ),
    "epub": (
        "boat.epub",
        _zip(
            **{
                "META-INF/container.xml": "<container"
                ' xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                '<rootfile full-path="book.opf"/></rootfiles></container>',
                "book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>'
                '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
                '<spine><itemref idref="a"/></spine></package>',
                "a.xhtml": "<html><body><p>The boat.</p></body></html>",
            }
        ),
    ),
}

EXAMPLES |= {
    "rst": ("boat.rst", b"Boats\n=====\n\nThe *boat* floats.\n"),
    "asciidoc": ("boat.adoc", b"= Boats\n:author: Ann\n\nThe *boat* floats.\n"),
    "info": (
        "boat.info",
        b"This is boat.info, produced by hand.\n\x1f\nFile: b.info,  Node: Top\n\nBoats\n****\n",
    ),
    "gettext": ("boat.po", b'msgid "Boat"\nmsgstr "Boot"\n'),
    "org": ("boat.org", b"#+TITLE: Boats\n* Hulls\nThe /boat/ floats.\n"),
    "man": ("boat.1", b".TH BOAT 1\n.SH NAME\nboat \\- floats\n.SH MORE\nThe \\fIboat\\fR.\n"),
    "yaml": ("boat.yaml", b"name: Boats\ntext: The boat floats.\n"),
    "xml": ("boat.xml", b"<a><title>Boats</title><p>The <b>boat</b> floats.</p></a>"),
    "code": ("boat.py", b"def sail():\n    return 'The boat floats.'\n"),
    "trec": (
        "boats.trec",
        b"<DOC>\n<DOCNO> B-1 </DOCNO>\n<HL>Boats</HL>\n<TEXT>\nIt floats.\n</TEXT>\n</DOC>\n",
    ),
    "rtf": ("boat.rtf", RTF),
    "pptx": ("boat.pptx", presentation()),
    "xlsx": ("boat.xlsx", workbook()),
    "ods": ("boat.ods", opendocument(SHEETS)),
    "odp": ("boat.odp", opendocument(SLIDES)),
}


def _tar(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


EXAMPLES |= {
    "msg": ("boat.msg", outlook_message()),
    "zip": ("boats.zip", _zip(**{"boat.txt": "Boats\n\nThe boat floats.\n"})),
    "tar": ("boats.tar", _tar("boat.txt", b"Boats\n\nThe boat floats.\n")),
}

# What these make of a file depends on the programs that are installed: see their own tests.
_BY_CONVERTERS = {"doc", "image", "parquet", "ppt", "xls"}  # or a package that may be missing
IN_PROCESS = sorted(name for name, reader in READERS.items() if not reader.isolated)
# Files of these formats hold many records, of which those before the damage are whole.
# Files that are more than their records: what comes before the first, and one record.
_RECORDS_OF = {
    "csv": (b"id,text\n", b"1,The boat floats.\n"),
    "tsv": (b"id\ttext\n", b"1\tThe boat floats.\n"),
    "json": (b"[", b'{"text": "The boat floats."},\n'),
}
RECORDS = sorted(
    name
    for name, reader in READERS.items()
    if reader.many and name not in {"parquet", "tar", "zip"}
)


def _items(reader: Reader, path: Path, data: bytes) -> list[Document | Problem | str]:
    """Read bytes as a file; a `ReaderError` ends the list as its text."""
    path.write_bytes(data)
    items: list[Document | Problem | str] = []
    try:
        # What `extend` took before an error stays.
        items.extend(reader.read(SourceFile.at(path), _OPTIONS))
    except ReaderError as error:
        items.append(error.what)
    return items


def check_items(items: Sequence[Document | Problem | str]) -> None:
    """Check that items are what the contract allows, fit to be stored and shown."""
    for item in items:
        if isinstance(item, Problem):
            assert item.reason
            assert "\n" not in item.reason
        elif isinstance(item, Document):
            stored = (item.title, item.text, item.split, item.date, item.path, item.id or "")
            for text in (*stored, *item.labels):
                text.encode()
                assert "\0" not in text
                assert "\r" not in text
            assert len(set(item.labels)) == len(item.labels)
            metadata = json.dumps(item.metadata, allow_nan=False, ensure_ascii=False)
            assert json.loads(metadata.encode()) == item.metadata
        else:
            assert item


def _random_bytes(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)  # noqa: S311 - to be the same in each run


def test_every_reader_has_an_example() -> None:
    assert sorted([*EXAMPLES, *_BY_CONVERTERS]) == sorted(READERS)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example_is_found_by_its_name_and_read(name: str, tmp_path: Path) -> None:
    filename, data = EXAMPLES[name]
    path = tmp_path / filename
    (document,) = _items(READERS[name], path, data)
    assert reader_for(SourceFile.at(path), _OPTIONS) is READERS[name]
    assert isinstance(document, Document)
    assert document.text.strip()
    check_items([document])


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_gzipped_reads_as_plain(name: str, tmp_path: Path) -> None:
    filename, data = EXAMPLES[name]
    plain = _items(READERS[name], tmp_path / filename, data)
    assert _items(READERS[name], tmp_path / f"{filename}.gz", gzip.compress(data)) == plain
    assert reader_for(SourceFile.at(tmp_path / f"{filename}.gz"), _OPTIONS) is READERS[name]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_reading_twice_gives_the_same(name: str, tmp_path: Path) -> None:
    filename, data = EXAMPLES[name]
    path = tmp_path / filename
    assert _items(READERS[name], path, data) == _items(READERS[name], path, data)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_empty_file_is_a_stated_error(name: str, tmp_path: Path) -> None:
    items = _items(READERS[name], tmp_path / EXAMPLES[name][0], b"")
    assert len(items) == 1
    assert isinstance(items[0], str)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
@pytest.mark.parametrize(
    "data",
    [_random_bytes(1, 5000), _random_bytes(2, 300_000), bytes(4096), b"\x89PNG\r\n\x1a\n" * 50],
    ids=["random", "much-random", "zeros", "png"],
)
def test_binary_data_is_no_document(name: str, data: bytes, tmp_path: Path) -> None:
    items = _items(READERS[name], tmp_path / EXAMPLES[name][0], data)
    check_items(items)
    assert items
    assert not any(isinstance(item, Document) for item in items)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_damaged_gzip_is_a_stated_error(name: str, tmp_path: Path) -> None:
    filename, data = EXAMPLES[name]
    packed = gzip.compress(data)
    for damaged in (packed[:-9], packed[:-8] + bytes(8)):
        items = _items(READERS[name], tmp_path / f"{filename}.gz", damaged)
        assert isinstance(items[-1], str)
        assert "gzip" in items[-1]


@pytest.mark.parametrize("name", RECORDS)
def test_records_before_the_damage_are_kept(name: str, tmp_path: Path) -> None:
    filename, data = EXAMPLES[name]
    head, record = _RECORDS_OF.get(name, (b"", data))
    plain = head + record * 50
    packer = zlib.compressobj(wbits=31)
    flushed = packer.compress(plain) + packer.flush(zlib.Z_SYNC_FLUSH)
    *items, error = _items(READERS[name], tmp_path / f"{filename}.gz", flushed)
    assert sum(isinstance(item, Document) for item in items) >= 49
    assert "truncated" in str(error)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_missing_file_is_left_to_the_caller(name: str, tmp_path: Path) -> None:
    filename, data = EXAMPLES[name]
    path = tmp_path / filename
    path.write_bytes(data)
    source = SourceFile.at(path)
    path.unlink()
    with pytest.raises(OSError, match=filename):
        list(READERS[name].read(source, _OPTIONS))


@pytest.mark.parametrize("name", IN_PROCESS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_bytes_break_a_reader(name: str, data: st.DataObject, tmp_path: Path) -> None:
    filename, example = EXAMPLES[name]
    noise = data.draw(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
    start = data.draw(st.integers(0, len(example)))
    end = data.draw(st.integers(start, len(example)))
    repeated = data.draw(st.integers(0, 3))
    mutated = example[:start] + noise + example[end:] + example * repeated
    check_items(_items(READERS[name], tmp_path / filename, mutated))
