from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.man import arguments, plain
from lpisearch.readers.plaintext import TEXT_READER, first_line_title
from lpisearch.readers.registry import READERS, reader_for
from tests.readers import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Read = Callable[[str, str], Document]


_read = partial(read, TEXT_READER)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Boats\n\nThey float.", "Boats"),
        ("\n\n  Boats  \nThey float.", "Boats"),
        ("= Boats =\nThey float.", "Boats"),
        ("## Boats\nThey float.", "Boats"),
        (".. _boats:\n\nBoats¶\nThey float.", "Boats"),
        ("Boats alone\n\n", ""),
        ("x" * 120 + "\nmore", "x" * 120),
        ("x" * 121 + "\nmore", ""),
        ("-----\nBoats\n", ""),
        ("", ""),
    ],
)
def test_title_is_a_short_first_line(text: str, title: str) -> None:
    assert first_line_title(text) == title


def test_text_keeps_its_title_line(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.txt", b"\nBoats\r\n\r\nThey float.\n") == [
        Document("Boats", "Boats\n\nThey float.")
    ]


def test_file_name_is_the_last_resort_for_a_title(tmp_path: Path) -> None:
    assert _read(tmp_path / "of boats.txt", b"They float.") == [Document("of boats", "They float.")]


def test_encoding_is_stated(tmp_path: Path) -> None:
    warning, document = _read(tmp_path / "a.txt", b"caf\xe9")
    assert warning == Problem("not UTF-8; read as cp1252", warning=True)
    assert document == Document("a", "café", metadata={"encoding": "cp1252"})


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\xef\xbb\xbf", b"\0\0"])
def test_nothing_to_read_is_an_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=r"is empty|has no text"):
        _read(tmp_path / "a.txt", data)


def test_binary_file_named_txt_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="looks like binary data"):
        _read(tmp_path / "a.txt", b"\x7fELF" + bytes(range(32)) * 9)


def test_huge_line_is_read_when_the_limit_allows(tmp_path: Path) -> None:
    data = b"x" * 100_000_000
    with pytest.raises(
        ReaderError, match=r"is 95\.4 MiB, over the limit of 32\.0 MiB .*max_document_bytes"
    ):
        _read(tmp_path / "a.txt", data)
    (document,) = _read(tmp_path / "a.txt", data, ReadOptions(max_document_bytes=100 * MEBIBYTE))
    assert isinstance(document, Document)
    assert len(document.text) == 100_000_000


@pytest.fixture
def read_named(tmp_path: Path) -> Read:
    """Return a reader of the one document of a file: its name, and what is in it."""

    def one(name: str, content: str) -> Document:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        source = SourceFile.at(path)
        reader = reader_for(source, ReadOptions())
        assert reader is not None
        (document,) = reader.read(source, ReadOptions())
        assert isinstance(document, Document)
        return document

    return one


def _named(document: Document) -> list[tuple[str, str]]:
    """Return each section's name, and the line of the text where it begins."""
    return [(one.name, document.text[one.start :].split("\n")[0]) for one in document.sections]


_RST = """\
.. _top:

=========
All boats
=========

.. comment that
   goes on

Read :ref:`more <there>` about *wooden* ``hulls`` and `ropes <https://example.org>`_.

Sails
-----

.. note:: Mind the wind.

   It turns.

.. image:: sail.png
   :alt: a sail

.. code-block:: python

   hoist("sail")
"""


def test_restructured_text(read_named: Read) -> None:
    """Adornment, roles, comments and options of directives go; headings are sections."""
    document = read_named("boats.rst", _RST)
    assert document.title == "All boats"
    assert _named(document) == [("All boats", "All boats"), ("Sails", "Sails")]
    assert "Read more  about wooden hulls and ropes ." in document.text
    assert "Mind the wind." in document.text
    assert 'hoist("sail")' in document.text
    for mark in ("===", "---", "_top", "comment", "alt", "sail.png", "code-block", "::", "``"):
        assert mark not in document.text


_ORG = """\
#+TITLE: The *log* of a boat
#+FILETAGS: :sea:log:
#+DATE: <2024-05-01 Wed>
#+AUTHOR: Ann
* TODO [#A] Leave the harbour :plan:
:PROPERTIES:
:ID: 17
:END:
We sailed /early/ to [[https://example.org][the island]].
** At sea
#+BEGIN_SRC sh
echo wind
#+END_SRC
# a comment
"""


def test_org(read_named: Read) -> None:
    """Title, tags and date are taken up; keywords, drawers and marks go."""
    document = read_named("log.org", _ORG)
    assert (document.title, document.labels, document.date) == (
        "The log of a boat",
        ("sea", "log"),
        "2024-05-01",
    )
    assert document.metadata["author"] == "Ann"
    assert _named(document) == [("Leave the harbour", "Leave the harbour"), ("At sea", "At sea")]
    assert "We sailed early to the island." in document.text
    assert "echo wind" in document.text
    for mark in ("#+", "PROPERTIES", "17", "comment", "[["):
        assert mark not in document.text


_MAN = r"""'\" t
.\" a comment
.TH SAIL 1 "May 2024" "Boats 1.0" "User Commands"
.SH NAME
sail \- hoist a sail
.SH "SYNOPSIS AND MORE"
.B sail
[\fB\-\-wind\fR=\fIDIRECTION\fR] \*(lqnow\*(rq
.de XX
not shown
..
.PP
Na\(:ive sailors\[u2014]and \(aqothers\(aq \(em sail.
.TP
.BR \-h ", " \-\-help
Show help\c
"""


def test_a_manual_page(read_named: Read) -> None:
    document = read_named("sail.1", _MAN)
    assert document.title == "sail - hoist a sail"
    assert _named(document) == [
        ("NAME", "NAME"),
        ("SYNOPSIS AND MORE", "SYNOPSIS AND MORE"),
    ]
    assert "sail [--wind=DIRECTION] “now”" in document.text
    assert "Naïve sailors—and 'others' — sail." in document.text
    assert "-h, --help" in document.text
    assert "not shown" not in document.text
    assert "\\" not in document.text


_MDOC = """\
.Dd May 1, 2024
.Dt SAIL 1
.Os
.Sh NAME
.Nm sail
.Nd hoist a sail
.Sh SYNOPSIS
.Nm
.Op Fl w Ar wind
.Sh DESCRIPTION
The
.Nm
utility reads
.Xr rope 1 .
"""


def test_a_manual_page_of_bsd(read_named: Read) -> None:
    document = read_named("sail.1", _MDOC)
    assert document.title == "sail – hoist a sail"
    assert "The sail utility reads rope 1 ." in document.text
    assert "sail w wind" in document.text


def test_names_of_manual_pages(read_named: Read) -> None:
    page = ".TH A 1\n.SH NAME\na \\- first\n.sp\na [option]\n.SH MORE\nx\n"
    assert read_named("a.1", page).title == "a - first"
    document = read_named(
        "b.1", ".Dd x\n.Dt B 1\n.Sh NAME\n.Nm b\n.Nd last\n.Sh MORE\nrun by\n.Nm .\n"
    )
    assert document.title == "b – last"
    assert document.text.endswith("run by b .")


def test_a_page_that_stands_for_another(read_named: Read) -> None:
    with pytest.raises(ReaderError, match="no text"):
        read_named("furl.1", ".so man1/sail.1\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a\-b", "a-b"),
        (r"\fBbold\fP \f(CWmono\fR \f[I]it\f[]", "bold mono it"),
        (r"\s-1small\s0", "small"),
        (r"\(co \[em] \[u00E9] \('e", "© — é é"),
        (r"back\eslash", "back\\slash"),
        ('text \\" comment', "text "),
        (r"\h'2n'x\v'1'", "x"),
        (r"\&.dot\|x\c", ".dotx"),
        ("plain", "plain"),
        ("end\\", "end\\"),
    ],
)
def test_escapes_of_troff(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_arguments_of_troff() -> None:
    assert arguments(' LS 1 "User Commands" "say ""hi"""') == [
        "LS",
        "1",
        "User Commands",
        'say "hi"',
    ]
    assert arguments("") == []


def test_yaml(read_named: Read) -> None:
    """The text stays as it is; the outermost keys are sections, title or name the title."""
    document = read_named("a.yaml", "---\nname: 'Boat list'\n# all\nboats:\n  - hull: oak\n")
    assert document.title == "Boat list"
    assert document.text == "name: 'Boat list'\n# all\nboats:\n  - hull: oak"
    assert _named(document) == [("name", "name: 'Boat list'"), ("boats", "boats:")]
    assert read_named("b.yml", "boats: [a, b]\n").title == "b"


def test_xml(read_named: Read) -> None:
    """Elements that hold text are a line each, with what is within them."""
    document = read_named(
        "a.xml",
        "<book><title>Boats</title><chapter><title>Hulls</title>"
        "<para>Of <em>oak</em>\n  wood.</para></chapter><price unit='x'>7</price></book>",
    )
    assert document.title == "Boats"
    assert document.text == "Boats\nHulls\nOf oak wood.\n7"
    assert _named(document) == [("Boats", "Boats"), ("Hulls", "Hulls")]


def test_xml_with_entities_is_refused(read_named: Read) -> None:
    with pytest.raises(ReaderError, match="entities"):
        read_named("a.xml", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>')


def test_source_code(read_named: Read) -> None:
    """Code is called by its file; what it defines at its outermost level are its sections."""
    text = '"""Boats."""\n\nclass Boat(Base):\n    def sail(self): ...\n\nasync def go():\n    x\n'
    document = read_named("boat.py", text)
    assert document.title == "boat.py"
    assert document.text == text.strip()
    assert _named(document) == [("Boat", "class Boat(Base):"), ("go", "async def go():")]
    assert [one.name for one in read_named("a.rs", "pub fn row() {}\nstruct Oar;\n").sections] == [
        "row",
        "Oar",
    ]


def test_suffixes_are_told_once() -> None:
    suffixes = [suffix for reader in READERS.values() for suffix in reader.suffixes]
    assert len(suffixes) == len(set(suffixes))


_READ = {
    "of.txt": ("P\bPo\bo _\bo_\bf\n\x1b[1mme\x1b[0m", "Po of", "Po of\nme"),
    "a.rst.txt": (".. _boats:\n\nBoats\n=====\n\nThey *float*.\n", "Boats", "Boats\n\nThey float."),
    "a.adoc": (
        "// no\n= On *boats*\n:author: A\n\n* See http://a.b[them], <<x,there>>\n----\n* c\n----\n",
        "On boats",
        "On boats\n\nSee them, there\n* c",
    ),
    "a.info": (
        (
            "This is a.info, produced by makeinfo.\n\n* Boats: (boats).  How they float.\n\x1f\n"
            "File: a.info,  Node: Top\n\nHulls\n*****\n\n* Keel::  *Note Oak::.\n\x1f\nTag Table:\n"
        ),
        "Boats: How they float",
        "Hulls\n\nKeel: Oak.",
    ),
    "a.po": (
        (
            'msgid ""\nmsgstr ""\n"Project-Id-Version: boats 1\\n"\n"Language: de\\n"\n\n#: a.c\n'
            'msgid "A boat"\nmsgstr "Ein "\n"\\"Boot\\""\n\nmsgid "b"\nmsgstr ""\n'
        ),
        "boats 1 (de)",
        'A boat\nEin "Boot"\n\nb',
    ),
    "a.page": (
        "<page><info/><title>Add &eacute;</title><p>Click.</p></page>",
        "Add é",
        "Add é\nClick.",
    ),
}


@pytest.mark.parametrize("name", _READ)
def test_text_without_its_marks(name: str, tmp_path: Path) -> None:
    written, title, text = _READ[name]
    path = tmp_path / name
    path.write_text(written, encoding="utf-8")
    source = SourceFile.at(path)
    reader = reader_for(source, ReadOptions())
    assert reader is not None
    (document,) = reader.read(source, ReadOptions())
    assert isinstance(document, Document)
    assert (document.title, document.text) == (title, text)


def test_what_is_not_xml_is_read_as_html(tmp_path: Path) -> None:
    warning, document = read(READERS["xml"], tmp_path / "a.xml", "<p>One<br>two")
    assert isinstance(warning, Problem)
    assert warning.warning
    assert isinstance(document, Document)
    assert document.text == "One\ntwo"
