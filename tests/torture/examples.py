"""Files with much in them, to be spoilt: the smallest leave a good part of a reader untouched."""

# ruff: noqa: E501 (markup is not cut where it has no line ends)

import io
import tarfile
import warnings
import zipfile
from collections.abc import Callable

from tests.contracts.test_readers import EXAMPLES
from tests.office import outlook_message, presentation, workbook, zipped

_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "meta", "drawing")
)
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_MAIL = b"""From: =?utf-8?B?w4RubmU=?= <ann@example.org>
To: "Bob, B." <bob@example.org>, carl@example.org
Subject: =?iso-8859-1?Q?B=F6ote?= and
 ships
Date: Wed, 31 Jan 2024 12:30:45 +0100
Message-ID: <1@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="outer"; charset=utf-8

--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset="iso-8859-1"; format=flowed
Content-Transfer-Encoding: quoted-printable

The b=F6ot =
floats.
--inner
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: base64

PHA+VGhlIGJvYXQgZmxvYXRzLjwvcD4=
--inner--
--outer
Content-Type: message/rfc822

Subject: Within
Content-Type: text/plain

A mail.
--outer
Content-Type: text/plain; name="a.txt"
Content-Disposition: attachment; filename*=utf-8''%C3%A4.txt

A file.
--outer--
"""
_PAGE = b"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Boats &amp; ships</title>
<meta name="author" content="Ann"><meta name="date" content="2024-01-31"><style>p { x: y }</style>
<script>if (a < b) { "</p>" }</script></head><body><nav><a href="/">Home</a></nav><main><h1>Boats</h1>
<p>The <b>boat</b> <i>floats</i>.<br>It&#160;does &#x41;.</p><ul><li>oak<ul><li>ash</ul></ul>
<table><tr><th>Kind<th>Price<tr><td>oak<td colspan="2">7</table><pre>a
 b</pre><p hidden>no</p><svg><title>S</title></svg><template><p>t</template></main></body></html>
"""
_XML = (
    b'<?xml version="1.0" encoding="utf-8"?><!-- a list --><book xmlns="urn:b" xmlns:x="urn:x"><title>'
    b"Boats &amp; ships</title><x:author>Ann</x:author><date>2024-01-31</date><section id='1'><title>"
    b"Hulls</title><p>The <b>boat</b> <i>floats</i>.</p><![CDATA[<p>raw</p>]]></section><section><p>"
    b"More.</p><list><item>oak</item></list></section></book>\n"
)
_MARKDOWN = b"""---
title: "Boats: a list"
tags: [sea, wood]
date: 2024-01-31
meta: {a: [1, 2], b: null}
---
# Boats

The *boat* **floats**, [here](http://example.org "title") and ![there](a.png).[^1]

| kind | price |
|------|-------|
| oak  | `7`   |

- one
  - two

```python
x = 1
```
> said

[^1]: A note. <b>bold</b>
"""
_JSON = (
    b'{"_id": "1", "title": "Boats", "text": "The boat \\u00e4\\ud83d\\ude00 floats.", "n": 7, '
    b'"labels": ["sea", "wood"], "date": "2024-01-31", "deep": {"a": [1, 2.5, null, true]}}'
)
_TABLE = (
    b'id,title,text,label,date,split\n1,Boats,"The boat, it ""floats"".",sea;wood,2024-01-31,train\n'
    b'2,Ships,"Two\nlines",sea,,test\n'
)
_SGML = (
    b'<!DOCTYPE lewis SYSTEM "lewis.dtd">\n<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="1"><DATE>'
    b"26-FEB-1987 15:01:01.79</DATE><TOPICS><D>ship</D><D>oil</D></TOPICS><TEXT>&#2;<TITLE>BOATS"
    b"</TITLE><DATELINE>    SALVADOR</DATELINE><BODY>It &lt;floats>.\n Reuter\n&#3;</BODY></TEXT>"
    b'</REUTERS>\n<REUTERS LEWISSPLIT="TRAIN" NEWID="2"><TEXT TYPE="BRIEF">&#2;<TITLE>B</TITLE>'
    b"</TEXT></REUTERS>\n"
)
_TREC = (
    b"<DOC>\n<DOCNO> B-1 </DOCNO>\n<DATE1>31 Jan 2024</DATE1>\n<HL>Boats</HL>\n<TEXT>\nIt <F P=105>"
    b"floats</F>.\n<P>\nMore.\n</P>\n</TEXT>\n</DOC>\n<DOC>\n<DOCNO>B-2</DOCNO>\n<TEXT>x</TEXT>\n</DOC>\n"
)
_SMART = b".I 1\n.T\nBoats\n.A\nAnn\n.W\nThe boat floats.\n.X\n1\t5\t1\n2\t5\t1\n.I 2\n.T\nShips\n.W\nTwo.\n"
_YAML = (
    b"%YAML 1.2\n---\nname: &a Boats\ntext: |\n  The boat\n  floats.\nlist:\n  - *a\n  - {x: 1, y: [~, "
    b"2024-01-31]}\n? complex\n: !!str 7\n---\ntext: 'second'\n...\n"
)


def _document() -> bytes:
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Boats</w:t></w:r></w:p>'
        '<w:p><w:hyperlink><w:r><w:t xml:space="preserve">They </w:t></w:r></w:hyperlink><w:ins><w:r>'
        "<w:t>float</w:t><w:tab/><w:br/></w:r></w:ins><w:del><w:r><w:delText>no</w:delText></w:r>"
        '</w:del><w:r><w:footnoteReference w:id="2"/></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>oak'
        '</w:t></w:r></w:p></w:tc><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p/></w:tc></w:tr>'
        '</w:tbl><w:sdt><w:sdtContent><w:p><w:r><w:t>s</w:t></w:r></w:p></w:sdtContent></w:sdt>'
    )  # fmt: skip
    parts = parts_of(EXAMPLES["docx"][1])
    parts["word/document.xml"] = (
        f"<w:document {_WORD}><w:body>{body}</w:body></w:document>".encode()
    )
    parts["word/footnotes.xml"] = (
        f'<w:footnotes {_WORD}><w:footnote w:id="2"><w:p><w:r><w:t>Note.</w:t></w:r></w:p></w:footnote>'
        "</w:footnotes>"
    ).encode()
    parts["docProps/core.xml"] = (
        b'<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-'
        b'properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:t="http://purl.org/dc/terms/">'
        b"<dc:title>Boats</dc:title><dc:creator>Ann</dc:creator><t:created>2024-01-31T12:00:00Z"
        b"</t:created></cp:coreProperties>"
    )
    return archive_of(list(parts.items()))


def _text_document() -> bytes:
    body = (
        '<text:h text:outline-level="1">Boats</text:h><text:p>They<text:s text:c="3"/>float<text:tab/>'
        "<text:line-break/><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>"
        "Note.</text:p></text:note-body></text:note></text:p><text:list><text:list-item><text:p>oak"
        "</text:p></text:list-item></text:list><table:table><table:table-row "
        'table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2"><text:p>7'
        "</text:p></table:table-cell></table:table-row></table:table>"
    )
    content = (
        f"<office:document-content {_ODF}><office:body><office:text>{body}</office:text>"
        "</office:body></office:document-content>"
    )
    meta = (
        f'<office:document-meta {_ODF} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
        "<dc:title>Boats</dc:title><dc:creator>Ann</dc:creator><dc:date>2024-01-31T12:00:00</dc:date></office:meta>"
    )
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": content,
            "meta.xml": f"{meta}</office:document-meta>",
        }
    )


def _book() -> bytes:
    head = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'unique-identifier="i"><metadata><dc:identifier id="i">urn:1</dc:identifier><dc:title>Boats'
        "</dc:title><dc:creator>Ann</dc:creator><dc:date>2024-01-31</dc:date><dc:language>en"
        "</dc:language></metadata>"
    )
    chapters = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in "ab"
    )
    parts = parts_of(EXAMPLES["epub"][1])
    parts.pop("a.xhtml")
    parts["book.opf"] = (
        f'{head}<manifest>{chapters}<item id="n" href="n.xhtml" media-type="application/xhtml+xml" '
        'properties="nav"/></manifest><spine><itemref idref="a"/><itemref idref="b" linear="no"/>'
        "</spine></package>"
    ).encode()
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>%s</h1><p>The <i>boat</i>.</p></body>'
        "</html>"
    )
    for name in "ab":
        parts[f"text/{name}.xhtml"] = (page % name).encode()
    parts["n.xhtml"] = (page % "contents").encode()
    return archive_of(list(parts.items()))


def parts_of(data: bytes) -> dict[str, bytes]:
    """Return the parts of an archive, by their names."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(parts: list[tuple[str, bytes]]) -> bytes:
    """Return an archive of parts; two may have one name."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it is meant
        for name, content in parts:
            archive.writestr(zipfile.ZipInfo(name[:200]), content)
    return made.getvalue()


# What is read where the smallest file would leave much of a reader untouched.
_ASCIIDOC = b"""= On *boats*
Ann Lee <ann@example.org>
:date: 2024-01-31

[[keel]]
== The keel // of a boat
* See https://example.org/a[them], <<keel,there>> and image::a.png[A boat].
. `code` _and_ **more**
////
not this
////
[source,c]
----
int keel;
----
|===
| a | b
|===
"""
_INFO = b"""This is boats.info, produced by makeinfo version 6.8 from boats.texi.

START-INFO-DIR-ENTRY
* Boats: (boats).  How they float.
END-INFO-DIR-ENTRY

\x1f
File: boats.info,  Node: Top,  Next: Keel,  Up: (dir)

Boats
*****

* Menu:

* Keel::  *Note Keel::.
\x1f
File: boats.info,  Node: Keel,  Prev: Top,  Up: Top

1 Keel
======

P\bPo\bo
\x1f
Tag Table:
Node: Top\x7f100
\x1f
End Tag Table
"""
_PO = b"""# A comment
msgid ""
msgstr ""
"Project-Id-Version: boats 1.0\\n"
"Language: de\\n"

#: boat.c:1
msgctxt "sea"
msgid "one \\"boat\\""
msgid_plural "%d boats"
msgstr[0] "ein Boot"
msgstr[1] "%d Boote"
"""


def _archive(kind: str) -> bytes:
    """Return an archive of several formats, of which one is a mail with attachments."""
    files = {"d/a.txt": b"The boat.", "../m.eml": _MAIL, "t.csv": _TABLE, "p.html": _PAGE}
    buffer = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return buffer.getvalue()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


RICH: dict[str, Callable[[], bytes]] = {
    "docx": _document,
    "odt": _text_document,
    "epub": _book,
    "pptx": presentation,
    "xlsx": workbook,
    "eml": lambda: _MAIL,
    "newsgroups": lambda: _MAIL,
    "mbox": lambda: (b"From ann Wed Jan 31 12:30:45 2024\n" + _MAIL + b"\n") * 2,
    "html": lambda: _PAGE,
    "xml": lambda: _XML,
    "markdown": lambda: _MARKDOWN,
    "json": lambda: b"[" + _JSON + b",\n" + _JSON + b"]\n",
    "jsonl": lambda: (_JSON + b"\n") * 3,
    "csv": lambda: _TABLE,
    "tsv": lambda: _TABLE.replace(b",", b"\t"),
    "reuters": lambda: _SGML,
    "trec": lambda: _TREC,
    "smart": lambda: _SMART,
    "yaml": lambda: _YAML,
    "asciidoc": lambda: _ASCIIDOC,
    "info": lambda: _INFO,
    "gettext": lambda: _PO,
    "zip": lambda: _archive("zip"),
    "tar": lambda: _archive("tar"),
    "msg": lambda: outlook_message(_PAGE),
}
