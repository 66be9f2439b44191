"""Files made to cost their reader minutes or gigabytes, small on disk or not.

`HOSTILE` has them by name. `write_hostile(name, folder, share=1.0)` writes one and returns its
path: whole as it was measured (docs/hostile-files.md, `benchmarks/hostile.py`), or a `share` of it,
as the tests do. Each is written piece by piece, so that writing takes little memory, and is the
same on every run. What is promised of each: read or refused within 60 s of processor time and
1 GB, with the file named, and the run goes on.
"""

import gzip
import io
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile

from tests.office import opendocument, presentation, workbook

Content = Callable[[float], Iterator[bytes]]

_PIECE_BYTES = 256_000


@dataclass(frozen=True, slots=True)
class HostileFile:
    """One kind of file.

    Attributes
    ----------
    what
        What is in it, for a table.
    content
        Gives its bytes piece by piece, for a share of its size.
    padding
        Bytes that do not pack, put after a gzipped file's own: it then unpacks to no more than
        an honest one, and only what it costs gives it away.
    """

    what: str
    content: Callable[[float], Iterator[bytes]]
    padding: int = 0


def write_hostile(name: str, folder: Path, share: float = 1.0) -> Path:
    """Write the file of a name into a folder; its size is a share of the full one."""
    hostile = HOSTILE[name]
    path = folder / name
    with path.open("wb") as raw:
        if not name.endswith(".gz"):
            raw.writelines(hostile.content(share))
            return path
        with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0) as stream:
            for piece in hostile.content(share):
                stream.write(piece)
            stream.write(_unpackable(int(hostile.padding * share)))
    return path


def _repeated(
    piece: bytes, size: float, head: bytes = b"", tail: bytes = b""
) -> Callable[[float], Iterator[bytes]]:
    """Give a piece over and over, between a head and a tail."""

    def content(share: float) -> Iterator[bytes]:
        yield head
        block = piece * max(1, _PIECE_BYTES // len(piece))
        whole, rest = divmod(int(size * share) // len(piece), len(block) // len(piece))
        for _ in range(whole):
            yield block
        yield piece * rest
        yield tail

    return content


def _numbered(line: str, number: int, head: str = "") -> Callable[[float], Iterator[bytes]]:
    """Give a line with its number in it, so many times."""

    def content(share: float) -> Iterator[bytes]:
        yield head.encode()
        for start in range(0, int(number * share), 1000):
            yield "".join(line.format(each) for each in range(start, start + 1000)).encode()

    return content


def _characters(first: int, last: int, size: float) -> Callable[[float], Iterator[bytes]]:
    """Give a text of characters at random, without a space or a full stop in it."""

    def content(share: float) -> Iterator[bytes]:
        chosen = random.Random(1)  # noqa: S311 - to be the same in each run
        for _ in range(int(size * share) // 30_000):
            yield "".join(map(chr, chosen.choices(range(first, last), k=10_000))).encode()

    return content


def _words(size: float) -> Callable[[float], Iterator[bytes]]:
    """Give words of which none comes twice."""
    return _numbered("{0:x}q\n", int(size / 8))


def _unpackable(size: int) -> bytes:
    return random.Random(1).randbytes(size)  # noqa: S311 - to be the same in each run


def _zipped(parts: Callable[[float], dict[str, Iterator[bytes]]], padding: int = 0) -> Content:
    """Give an archive of these parts; padding that does not pack is a part of its own."""

    def content(share: float) -> Iterator[bytes]:
        with (
            SpooledTemporaryFile(_PIECE_BYTES) as made,
            zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for name, pieces in parts(share).items():
                packed = zipfile.ZipInfo(name)  # of a date that is the same in each run
                packed.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(packed, "w") as part:
                    for piece in pieces:
                        part.write(piece)
            archive.writestr(zipfile.ZipInfo("padding"), _unpackable(int(padding * share)))
            archive.close()
            made.seek(0)
            while piece := made.read(_PIECE_BYTES):
                yield piece

    return content


def _parts_of(maker: Callable[[], bytes]) -> dict[str, Iterator[bytes]]:
    with zipfile.ZipFile(io.BytesIO(maker())) as archive:
        return {each: iter([archive.read(each)]) for each in archive.namelist()}


def _office(maker: Callable[[], bytes], name: str, part: Content) -> Content:
    """Give an honest office file of which one part is made anew."""
    return _zipped(lambda share: _parts_of(maker) | {name: part(share)}, _UNDER)


def _sheet(piece: bytes, size: float) -> Content:
    head = b'<worksheet xmlns="%s"><sheetData>' % _SPREADSHEET
    end = b"</sheetData></worksheet>"
    return _office(workbook, "xl/worksheets/sheet1.xml", _repeated(piece, size, head, end))


def _body(name: bytes, piece: bytes, size: float) -> Content:
    """Give an OpenDocument file whose body is a piece over and over."""
    with zipfile.ZipFile(io.BytesIO(opendocument("@"))) as archive:
        head, tail = archive.read("content.xml").split(b"@")
    head, tail = head + b"<office:%s>" % name, b"</office:%s>" % name + tail
    return _office(lambda: opendocument(""), "content.xml", _repeated(piece, size, head, tail))


_RELATIONS = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SPREADSHEET = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_MAIL = b"From: a@b.c\nSubject: s\n"
_TABLE = b"text,name\n"
_UNDER = 400_000  # so many bytes that 60 MB are less than 200 times as much

HOSTILE: dict[str, HostileFile] = {
    "newlines.jsonl.gz": HostileFile("300 MB of line ends", _repeated(b"\n", 3e8)),
    "bad-lines.jsonl.gz": HostileFile("300 MB of lines that are no JSON", _repeated(b"x\n", 3e8)),
    "bad-lines-padded.jsonl.gz": HostileFile(
        "60 MB of lines that are no JSON, padded", _repeated(b"x\n", 6e7), _UNDER
    ),
    "documents-padded.jsonl.gz": HostileFile(
        "60 MB of documents of a letter, padded", _repeated(b'{"text":"a"}\n', 6e7), _UNDER
    ),
    "objects.json.gz": HostileFile("100 million empty objects", _repeated(b",{}", 3e8, b"[{}")),
    "one-document.json.gz": HostileFile(
        "a document, then 150 million numbers", _repeated(b",1", 3e8, b'[{"text":"a"}')
    ),
    "one-document-padded.json.gz": HostileFile(
        "a document, then 30 million numbers, padded",
        _repeated(b",1", 6e7, b'[{"text":"a"}'),
        _UNDER,
    ),
    "rows.csv.gz": HostileFile("300 MB of rows", _repeated(b"a,b\n", 3e8, _TABLE)),
    "rows-padded.csv.gz": HostileFile(
        "60 MB of rows, padded", _repeated(b"a,b\n", 6e7, _TABLE), _UNDER
    ),
    "bad-rows-padded.csv.gz": HostileFile(
        "60 MB of rows with a cell too many, padded", _repeated(b"a,b,c\n", 6e7, _TABLE), _UNDER
    ),
    "fields-padded.all.gz": HostileFile(
        "60 MB of SMART fields, padded", _repeated(b".W\na\n", 6e7, b".I 1\n"), _UNDER
    ),
    "records-padded.all.gz": HostileFile(
        "60 MB of SMART records, padded", _repeated(b".I 1\n.W\na\n", 6e7), _UNDER
    ),
    "elements-padded.sgm.gz": HostileFile(
        "60 MB of SGML elements, padded", _repeated(b"<REUTERS></REUTERS>", 6e7), _UNDER
    ),
    "messages-padded.mbox.gz": HostileFile(
        "60 MB of messages, padded", _repeated(b"From a 1:11\nA: b\n\n\n", 6e7), _UNDER
    ),
    "lines-padded.mbox.gz": HostileFile(
        "60 MB of line ends in a message, padded",
        _repeated(b"\n", 6e7, b"From a 1:11\nA: b\n\n"),
        _UNDER,
    ),
    "page.html.gz": HostileFile("a page of 60 MB", _repeated(b"<p>a", 6e7)),
    "page-padded.html.gz": HostileFile("a page of 60 MB, padded", _repeated(b"<p>a", 6e7), _UNDER),
    "one-line.jsonl": HostileFile(
        "a line of 64 MB of empty lists", _repeated(b",[]", 6.4e7, b'{"text":"a","b":[0', b"]}\n")
    ),
    "one-text.jsonl": HostileFile(
        "a document of 64 MB", _repeated(b"word ", 6.4e7, b'{"text":"', b'"}\n')
    ),
    "half-text.jsonl": HostileFile(
        "a document of 30 MB", _repeated(b"word ", 3e7, b'{"text":"', b'"}\n')
    ),
    "metadata.jsonl": HostileFile(
        "40 documents with 8 MB of metadata each",
        lambda share: (
            piece
            for _ in range(40)
            for piece in _repeated(b"word ", 8e6, b'{"text":"a","b":"', b'"}\n')(share)
        ),
    ),
    "layouts.jsonl": HostileFile(
        "200,000 records with fields of their own", _numbered('{{"text":"a","k{0}":1}}\n', 200_000)
    ),
    "chinese.txt": HostileFile("40 MB of Chinese characters", _characters(0x4E00, 0x5A00, 4e7)),
    "chinese-30.txt": HostileFile("30 MB of Chinese characters", _characters(0x4E00, 0x5A00, 3e7)),
    "chinese-most.txt": HostileFile(
        "30 MB of Chinese, just below 1.5 million different pairs",
        _characters(0x4E00, 0x4E00 + 1200, 3e7),
    ),
    "words-most.txt": HostileFile(
        "30 MB, just below 1.5 million different words",
        _numbered("{0:x} a1b c2d e3\n", 1_490_000),
    ),
    "thai.txt": HostileFile("40 MB of Thai characters", _characters(0x0E01, 0x0E2F, 4e7)),
    "thai-30.txt": HostileFile("30 MB of Thai characters", _characters(0x0E01, 0x0E2F, 3e7)),
    "marks.txt": HostileFile(
        "30 MB of marks on a letter", _repeated("\u0301\u0327".encode(), 3e7, b"a")
    ),
    "words.txt": HostileFile("40 MB of words, none twice", _words(4e7)),
    "words-30.txt": HostileFile("30 MB of words, none twice", _words(3e7)),
    "newlines.md": HostileFile("64 MB of line ends", _repeated(b"\n", 6.4e7)),
    "newlines-30.md": HostileFile("30 MB of line ends", _repeated(b"\n", 3e7, b"a", b"b")),
    "brackets.md": HostileFile("30 MB of brackets", _repeated(b"[", 3e7)),
    "links.md": HostileFile("30 MB of links that do not end", _repeated(b"[a](b ", 3e7)),
    "comments.md": HostileFile("30 MB of comments that do not end", _repeated(b"<!--", 3e7)),
    "attribute.sgm": HostileFile(
        "an attribute of 1 MB", _repeated(b"a", 1e6, b"<REUTERS ", b">x</REUTERS>")
    ),
    "fields.all": HostileFile("5 MB of SMART fields", _repeated(b".W\na\n", 5e6, b".I 1\n")),
    "semicolons.eml": HostileFile(
        "a header with a million semicolons",
        _repeated(b";", 1e6, _MAIL + b"Content-Type: text/plain", b"\n\nbody\n"),
    ),
    "boundary.eml": HostileFile(
        "the same of a mail in parts",
        _repeated(b";a=b", 4e6, _MAIL + b"Content-Type: multipart/mixed", b"\n\nbody\n"),
    ),
    "subject.eml": HostileFile(
        "a subject of a million encoded words",
        _repeated(b"=?a?q?", 6e6, b"From: a@b.c\nSubject: ", b"\n\nbody\n"),
    ),
    "parts.eml": HostileFile(
        "a million parts",
        _repeated(
            b"--b\n\na\n", 7e6, _MAIL + b'Content-Type: multipart/mixed; boundary="b"\n\n', b"--b--"
        ),
    ),
    "columns.csv": HostileFile(
        "a million columns", _repeated(b",a", 2e6, b"text", b"\n" + b"word," * 3 + b"\n")
    ),
    "columns-full.csv": HostileFile(
        "a million columns, and rows of as many cells",
        lambda share: (
            piece for _ in range(3) for piece in _repeated(b",abc", 4e6, b"text", b"\n")(share)
        ),
    ),
    "quote.csv": HostileFile(
        "a quote that is never closed", _repeated(b"a,b\n", 3e7, _TABLE + b'"')
    ),
    "formatting.html": HostileFile(
        "73 kB: 900 bold elements, all reopened in each paragraph",
        lambda share: iter(
            (
                b"<p>",
                b"".join(b"<b id=%d>" % number for number in range(900)),
                b"</p><p>y" * int(7900 * share),
            )
        ),
    ),
    "nesting.html": HostileFile("a million elements within each other", _repeated(b"<div>", 5e6)),
    "attributes.html": HostileFile(
        "a tag with a million attributes", _numbered(" a{0}=1", 1_000_000, "<p")
    ),
    "table.html": HostileFile("cells of tables within tables", _repeated(b"<table><td>", 5e6)),
    "entities.html": HostileFile("30 MB of references", _repeated(b"&lt;", 3e7)),
    "headings.rst": HostileFile("30 MB of headings", _repeated(b"a\n==\n", 3e7)),
    "roles.rst": HostileFile("30 MB of roles that do not end", _repeated(b":a:`b <c", 3e7)),
    "links.org": HostileFile("30 MB of links that do not end", _repeated(b"[[a][b", 3e7)),
    "tags.org": HostileFile("30 MB of tags", _repeated(b"a:", 3e7, b"* b :")),
    "paragraph.man": HostileFile("a paragraph of 30 MB", _repeated(b"a\n", 3e7, b".TH A 1\n")),
    "escapes.man": HostileFile("30 MB of escapes", _repeated(b"\\f[", 3e7, b".TH A 1\n")),
    "arguments.man": HostileFile("30 MB of arguments", _repeated(b'"a ', 3e7, b".TH A 1\n.B ")),
    "keys.yaml": HostileFile("30 MB of keys", _repeated(b"a: b\n", 3e7)),
    "definitions.py": HostileFile("30 MB of definitions", _repeated(b"def a\n", 3e7)),
    "nesting.xml": HostileFile("10 million elements within each other", _repeated(b"<a>", 3e7)),
    "elements.xml": HostileFile(
        "8 million elements", _repeated(b"<a>b", 1.5e7, b"<r>", b"</a>" * 9 + b"</r>")
    ),
    "groups.rtf": HostileFile("groups within each other", _repeated(b"{", 3e7, b"{\\rtf1 ")),
    "words.rtf": HostileFile("10 million control words", _repeated(b"\\b ", 3e7, b"{\\rtf1 a")),
    "documents.trec": HostileFile(
        "a million documents", _repeated(b"<DOC><DOCNO>1</DOCNO>a</DOC>\n", 3e7)
    ),
    "texts.trec": HostileFile(
        "a document of 5 million texts", _repeated(b"<TEXT>", 3e7, b"<DOC><DOCNO>1", b"</DOC>")
    ),
    "macros.man": HostileFile(
        "macros that call themselves, and each other",
        _repeated(b".de A\n.A\n.B\n..\n.de B\n.A\n..\n.A\n", 3e7, b".TH A 1\n.so a.man\n"),
    ),
    "strings.man": HostileFile(
        "strings that hold themselves", _repeated(b".ds a \\*a\\*a\n\\*a\n", 3e7, b".TH A 1\n")
    ),
    "aliases.yaml": HostileFile(
        "each key ten times the one before (a billion laughs)",
        _numbered("a{0}: &a{0} [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", 500_000),
    ),
    "front-matter.md": HostileFile(
        "64 kB of nested lists in the front matter",
        _repeated(b"- ", 6.3e4, b"---\n", b"\n---\ntext\n"),
    ),
    "nesting.yaml": HostileFile("15 million lists in lists", _repeated(b"- ", 3e7)),
    "nesting.rst": HostileFile("30 MB of lists in lists", _repeated(b"   * a\n\n", 3e7)),
    "directives.rst": HostileFile("3 million directives", _repeated(b".. a:: \n", 3e7, b"a\n")),
    "nesting.org": HostileFile("30 MB of stars", _repeated(b"*", 3e7, b"a\n", b" b\n")),
    "emphasis.org": HostileFile("30 MB of marks", _repeated(b" *a/b=", 3e7)),
    "drawers.org": HostileFile("drawers that do not end", _repeated(b":LOGBOOK:\n", 3e7, b"a\n")),
    "attributes.xml": HostileFile(
        "an element with 3 million attributes",
        lambda share: (
            piece
            for part in (_numbered(' a{0}="1"', 2_500_000, "<r"), lambda _: iter([b">a</r>"]))
            for piece in part(share)
        ),
    ),
    "namespace.xml": HostileFile(
        "a million elements of a namespace whose name has a megabyte",
        lambda share: (
            piece
            for part in (
                _repeated(b"a", 1e6, b'<r xmlns="', b'">'),
                _repeated(b"<b/>", 4e6, b"", b"a</r>"),
            )
            for piece in part(share)
        ),
    ),
    "titles.xml": HostileFile(
        "2 million headings", _repeated(b"<title>a</title>", 3e7, b"<r>", b"</r>")
    ),
    "escapes.rtf": HostileFile("7 million bytes by number", _repeated(b"\\'e9", 3e7, b"{\\rtf1 ")),
    "unicode.rtf": HostileFile(
        "characters whose stand-ins are left out", _repeated(b"\\uc9\\u233 ?", 3e7, b"{\\rtf1 ")
    ),
    "open-documents.trec": HostileFile(
        "documents that do not end", _repeated(b"<DOC><DOCNO>1", 3e7, b"<DOC><DOCNO>1</DOCNO>a")
    ),
    "documents-padded.trec.gz": HostileFile(
        "60 MB of documents of a letter, padded",
        _repeated(b"<DOC><DOCNO>1</DOCNO>a</DOC>", 6e7),
        _UNDER,
    ),
    "page-padded.xml.gz": HostileFile(
        "30 MB of elements, padded", _repeated(b"<a>b</a>", 3e7, b"<r>", b"</r>"), _UNDER
    ),
    "keys-padded.yaml.gz": HostileFile("30 MB of keys, padded", _repeated(b"a: b\n", 3e7), _UNDER),
    "text-padded.rtf.gz": HostileFile(
        "30 MB of paragraphs, padded", _repeated(b"a\\par ", 3e7, b"{\\rtf1 "), _UNDER
    ),
    "cells.xlsx": HostileFile(
        "60 MB of cells",
        _sheet(b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>', 6e7),
    ),
    "strings.xlsx": HostileFile(
        "a shared string of 60 MB",
        _office(
            workbook,
            "xl/sharedStrings.xml",
            _repeated(b"a ", 6e7, b"<sst><si><t>", b"</t></si></sst>"),
        ),
    ),
    "shared.xlsx": HostileFile(
        "a million cells that share a string of a megabyte",
        _zipped(
            lambda share: (
                _parts_of(workbook)
                | {
                    "xl/sharedStrings.xml": _repeated(
                        b"a ", 1e6, b"<sst><si><t>", b"</t></si></sst>"
                    )(share),
                    "xl/worksheets/sheet1.xml": _repeated(
                        b'<c t="s"><v>0</v></c>', 2.1e7, b"<w><row>", b"</row></w>"
                    )(share),
                }
            ),
            _UNDER,
        ),
    ),
    "sheets.xlsx": HostileFile(
        "a million sheets that are one",
        _office(
            workbook,
            "xl/workbook.xml",
            _repeated(
                b'<sheet name="a" r:id="r1"/>',
                2.7e7,
                b'<workbook xmlns:r="%s">' % _RELATIONS,
                b"</workbook>",
            ),
        ),
    ),
    "nesting.xlsx": HostileFile("rows within each other", _sheet(b"<row>", 6e7)),
    "slides.pptx": HostileFile(
        "a million slides that are one",
        _office(
            presentation,
            "ppt/presentation.xml",
            _repeated(
                b'<p:sldId r:id="r1"/>',
                2e7,
                b'<p:p xmlns:p="p" xmlns:r="%s">' % _RELATIONS,
                b"</p:p>",
            ),
        ),
    ),
    "shapes.pptx": HostileFile(
        "shapes within each other",
        _office(
            presentation,
            "ppt/slides/slide1.xml",
            _repeated(
                b"<sp><txBody><p><t>a</t></p></txBody>", 6e7, b"<sld>", b"</sp>" * 9 + b"</sld>"
            ),
        ),
    ),
    "repeated.ods": HostileFile(
        "cells that say they are repeated a million times",
        _body(
            b"spreadsheet",
            b'<table:table><table:table-row table:number-rows-repeated="1048576"><table:table-cell '
            b'table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell>'
            b"</table:table-row></table:table>",
            6e7,
        ),
    ),
    "spaces.odp": HostileFile(
        "characters that say they are a billion spaces",
        _body(
            b"presentation",
            b'<draw:page><text:p>a<text:s text:c="1000000000"/></text:p></draw:page>',
            6e7,
        ),
    ),
    "nesting.odt": HostileFile("paragraphs within each other", _body(b"text", b"<text:p>a", 6e7)),
    "garbage.doc": HostileFile(
        "a file of Word of which the first bytes alone are right",
        _repeated(b"\xff\x00\x01\xfe", 3e7, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ),
}
