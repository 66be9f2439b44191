from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Section
from lpisearch.readers.html import MEDIA_TYPE, READER, Page, page_of, read_page, sniff
from tests.readers import read

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>Of
 Boats &amp; Tides</title><style>p { color: red }</style>
<meta name="author" content="Ann Shore"><meta name="description" content=" Short  words ">
<meta property="article:published_time" content="2024-01-31T12:30:45Z"></head>
<body><nav>Home | About</nav><h1>Boats</h1><!-- hidden -->
<p>The <b>boat</b>,
 floats.<br>It does.</p><script>if (a < b) {}</script>
<ul><li>one<li>two</ul><pre>x = 1
  y</pre><table><tr><td>1<td>2<tr><td>3</table>after</body></html>
"""


_read = partial(read, READER)


def test_page_becomes_a_document(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.html", PAGE.encode()) == [
        Document(
            "Of Boats & Tides",
            "Boats\nThe boat, floats.\nIt does.\none\ntwo\nx = 1\n  y\n1 2\n3\nafter",
            date="2024-01-31T12:30:45Z",
            media_type=MEDIA_TYPE,
            metadata={"author": "Ann Shore", "description": "Short words", "lang": "en"},
            sections=(Section(0, "heading", "Boats"),),
        )
    ]


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>a</title><h1>b</h1>c", "a"),
        ("<title> </title><h1>b<i>c</i></h1>", "bc"),
        ("x", "f"),
    ],
)
def test_title_then_heading_then_file_name(page: str, title: str, tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "f.html", page.encode())
    assert isinstance(document, Document)
    assert document.title == title


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<meta charset=windows-1251><p>Привет".encode("cp1251"), "Привет"),
        (
            b'<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">'
            + "日本".encode("cp932"),
            "日本",
        ),
        ("<?xml version='1.0' encoding='iso-8859-1'?><p>é</p>".encode("latin-1"), "é"),
        ("<meta charset=latin-1>é".encode("utf-16"), "é"),
        ("<meta charset=no-such-thing>é".encode(), "é"),
        ("<meta charset=utf-8><p>é".encode("cp1252"), "é"),
    ],
)
def test_declared_encoding_is_believed_unless_it_fails(data: bytes, text: str) -> None:
    assert page_of(data).text == text


def test_xhtml_empty_elements_do_not_swallow_the_page() -> None:
    page = (
        '<?xml version="1.0"?><html xmlns="x"><head><title/></head><body><a id="b"/>c</body></html>'
    )
    assert page_of(page) == Page("", "c")


@pytest.mark.parametrize("page", ["<p></p>", "<script>x</script>", "<frameset><frame src=a>", " "])
def test_page_without_words_is_an_error(page: str, tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="has no text"):
        _read(tmp_path / "a.html", page.encode())


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 200_000 + "deep" + "</div>" * 200_000,
        "<b>" * 200_000 + "deep",
        "<p><b>" * 100_000 + "deep",
        "<svg>" * 1 + "<table><td>" * 100_000 + "</svg>deep",
        "<a " + " ".join(f"a{i}=1" for i in range(200_000)) + ">deep</a>",
        "<p>" * 200_000 + "deep",
        "<" * 200_000 + "p>deep",
        "<!--" * 200_000 + "--><p>deep",
    ],
    ids=["div", "b", "p-b", "table", "attributes", "p", "open", "comment"],
)
def test_page_built_to_stall_a_parser_is_read(page: str) -> None:
    begun = time.monotonic()
    assert read_page(page).text.endswith("deep")
    assert time.monotonic() - begun < 10


def test_hostile_page_still_loses_its_scripts() -> None:
    page = "<div>" * 2000 + "<style>x</style><script>a<b</script><p>One &amp; two<td>3<td>4"
    assert read_page(page).text == "One & two 3 4"


def test_large_page_is_read_in_time() -> None:
    page = "<div><p>Some words <b>here</b>.</p><table><tr><td>1</td></tr></table></div>\n" * 30_000
    text = read_page(page).text
    assert text.count("Some words here.\n1") == 30_000


@pytest.mark.parametrize(
    "head", [b"<!doctype HTML>", b"\xef\xbb\xbf \n<html>", b"<!-- a --><head>"]
)
def test_html_is_known_by_its_beginning(head: bytes) -> None:
    assert sniff(head)
    assert not sniff(b"text about <html>")


def test_headings_are_sections() -> None:
    """Each heading begins a section at its own line, also below white space and within blocks."""
    page = read_page(
        "<body><pre>\n\n  x</pre><h1>Of <i>boats</i></h1><p>They float.</p>"
        "<section><h3> Of\nships</h3>They too.</section><h2></h2>"
    )
    assert [(one.kind, one.name) for one in page.sections] == [
        ("heading", "Of boats"),
        ("heading", "Of ships"),
    ]
    assert [page.text[one.start :].split("\n")[0] for one in page.sections] == [
        "Of boats",
        "Of ships",
    ]


@pytest.mark.parametrize(
    "furniture",
    [
        "<nav>menu</nav>",
        "<header>site</header>",
        "<footer>rights reserved</footer>",
        "<aside>see also</aside>",
        '<div role="navigation">menu</div>',
        '<ul class="wide Breadcrumbs"><li>Home</ul>',
        '<div id="sidebar">menu</div>',
        '<div class="navheader"><table><tr><td>Part 2</table></div>',
        '<h2 hidden></h2><p>Prev <a href="b">Up</a> | Next</p>',
        "<p>Next: Tides, Previous: Ropes, Up: Boats &nbsp; [Contents][Index]</p>",
    ],
)
def test_furniture_is_not_text(furniture: str) -> None:
    for page in (f"{furniture}<p>words</p>", f"<p>words</p>{furniture}"):
        assert read_page(page).text == "words"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<header><h1>Boats</h1></header>x", "Boats\nx"),
        ("<article><header>by Ann</header>x<aside>a note</aside></article>", "by Ann\nx\na note"),
        ('<section class="sidebar">menu</section><main><footer>f</footer></main>', "f"),
        ("<p>Next: the harbour</p><p>Up and up</p>", "Next: the harbour\nUp and up"),
        ("<nav>Home</nav><footer>Contents</footer>", "Home\nContents"),
    ],
)
def test_what_only_looks_like_furniture_is_text(page: str, text: str) -> None:
    assert read_page(page).text == text
