"""reStructuredText, Org, manual pages, YAML, XML, source code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.man import arguments, plain
from lpisearch.readers.registry import READERS, reader_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Read = Callable[[str, str], Document]


@pytest.fixture
def read(tmp_path: Path) -> Read:
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


def test_restructured_text(read: Read) -> None:
    """Adornment, roles, comments and options of directives go; headings are sections."""
    document = read("boats.rst", _RST)
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


def test_org(read: Read) -> None:
    """Title, tags and date are taken up; keywords, drawers and marks go."""
    document = read("log.org", _ORG)
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


def test_a_manual_page(read: Read) -> None:
    """Requests, fonts and escapes go; the title is the line of NAME; headings are sections."""
    document = read("sail.1", _MAN)
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


def test_a_manual_page_of_bsd(read: Read) -> None:
    """Macros of mdoc give their words."""
    document = read("sail.1", _MDOC)
    assert document.title == "sail – hoist a sail"
    assert "The sail utility reads rope 1 ." in document.text
    assert "sail w wind" in document.text


def test_names_of_manual_pages(read: Read) -> None:
    """The title is the first line of NAME alone; a macro without a name repeats the page's."""
    page = ".TH A 1\n.SH NAME\na \\- first\n.sp\na [option]\n.SH MORE\nx\n"
    assert read("a.1", page).title == "a - first"
    document = read("b.1", ".Dd x\n.Dt B 1\n.Sh NAME\n.Nm b\n.Nd last\n.Sh MORE\nrun by\n.Nm .\n")
    assert document.title == "b – last"
    assert document.text.endswith("run by b .")


def test_a_page_that_stands_for_another(read: Read) -> None:
    """A page that only names another has no text of its own, and says so."""
    with pytest.raises(ReaderError, match="no text"):
        read("furl.1", ".so man1/sail.1\n")


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
    """Fonts, sizes and motions go; named characters become themselves."""
    assert plain(text) == expected


def test_arguments_of_troff() -> None:
    """Quotation marks hold words together; two of them are one."""
    assert arguments(' LS 1 "User Commands" "say ""hi"""') == [
        "LS",
        "1",
        "User Commands",
        'say "hi"',
    ]
    assert arguments("") == []


def test_yaml(read: Read) -> None:
    """The text stays as it is; the outermost keys are sections, title or name the title."""
    document = read("a.yaml", "---\nname: 'Boat list'\n# all\nboats:\n  - hull: oak\n")
    assert document.title == "Boat list"
    assert document.text == "name: 'Boat list'\n# all\nboats:\n  - hull: oak"
    assert _named(document) == [("name", "name: 'Boat list'"), ("boats", "boats:")]
    assert read("b.yml", "boats: [a, b]\n").title == "b"


def test_xml(read: Read) -> None:
    """Elements that hold text are a line each, with what is within them."""
    document = read(
        "a.xml",
        "<book><title>Boats</title><chapter><title>Hulls</title>"
        "<para>Of <em>oak</em>\n  wood.</para></chapter><price unit='x'>7</price></book>",
    )
    assert document.title == "Boats"
    assert document.text == "Boats\nHulls\nOf oak wood.\n7"
    assert _named(document) == [("Boats", "Boats"), ("Hulls", "Hulls")]


def test_xml_with_entities_is_refused(read: Read) -> None:
    """A file that declares entities is refused: they could swell without end."""
    with pytest.raises(ReaderError, match="entities"):
        read("a.xml", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>')


def test_source_code(read: Read) -> None:
    """Code is called by its file; what it defines at its outermost level are its sections."""
    text = '"""Boats."""\n\nclass Boat(Base):\n    def sail(self): ...\n\nasync def go():\n    x\n'
    document = read("boat.py", text)
    assert document.title == "boat.py"
    assert document.text == text.strip()
    assert _named(document) == [("Boat", "class Boat(Base):"), ("go", "async def go():")]
    assert [one.name for one in read("a.rs", "pub fn row() {}\nstruct Oar;\n").sections] == [
        "row",
        "Oar",
    ]


def test_suffixes_are_told_once() -> None:
    """No two readers claim a suffix."""
    suffixes = [suffix for reader in READERS.values() for suffix in reader.suffixes]
    assert len(suffixes) == len(set(suffixes))
