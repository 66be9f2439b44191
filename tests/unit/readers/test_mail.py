from __future__ import annotations

import gzip
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.mail import MAIL_READER, MEDIA_TYPE

if TYPE_CHECKING:
    from pathlib import Path

_HEADERS = (
    b"From: Ann <ann@example.org>\nTo: Bo <bo@example.org>, Cy <cy@example.org>\n"
    b"Subject: The boat\nDate: Wed, 31 Jan 2024 12:30:45 +0100\nMessage-ID: <1@example.org>\n"
)


def _read(path: Path, data: bytes) -> list[Document | Problem]:
    path.write_bytes(data)
    return list(MAIL_READER.read(SourceFile.at(path), ReadOptions()))


def _document(path: Path, data: bytes) -> Document:
    (document,) = _read(path, data)
    assert isinstance(document, Document)
    return document


def test_headers_give_title_date_and_metadata(tmp_path: Path) -> None:
    """The subject is the title; date and correspondents are kept; quoted text stays."""
    document = _document(tmp_path / "a.eml", _HEADERS + b"\nSold.\n\n> Is it sold?\n")
    assert document.title == "The boat"
    assert document.date == "2024-01-31T12:30:45+01:00"
    assert document.text == "Sold.\n\n> Is it sold?"
    assert document.media_type == MEDIA_TYPE
    assert document.id is None
    assert document.metadata == {
        "from": "Ann <ann@example.org>",
        "to": "Bo <bo@example.org>, Cy <cy@example.org>",
        "message_id": "<1@example.org>",
    }


def test_gzipped_message_is_read(tmp_path: Path) -> None:
    """A gzipped message is unpacked on the way."""
    assert _document(tmp_path / "a.eml.gz", gzip.compress(_HEADERS + b"\nSold.")).text == "Sold."


def test_plain_text_is_preferred_to_html(tmp_path: Path) -> None:
    """Of alternatives the plain one is read, wherever it stands."""
    message = EmailMessage()
    message["Subject"] = "Both"
    message.set_content("<p>as a page</p>", subtype="html")
    message.add_alternative("as text")
    assert _document(tmp_path / "a.eml", message.as_bytes()).text == "as text"


def test_html_is_read_where_plain_text_is_missing_or_blank(tmp_path: Path) -> None:
    """Tags are taken off a message that is HTML only, or whose plain part is empty."""
    message = EmailMessage()
    message["Subject"] = "Page"
    message.set_content("<p>as a <b>page</b></p>", subtype="html")
    assert _document(tmp_path / "a.eml", message.as_bytes()).text == "as a page"
    message.add_alternative(" \n")
    assert _document(tmp_path / "b.eml", message.as_bytes()).text == "as a page"


def test_attachments_are_named_but_not_read(tmp_path: Path) -> None:
    """The text of an attachment stays out; its name is kept, in any script."""
    message = EmailMessage()
    message["Subject"] = "Papers"
    message.set_content("See below.")
    message.add_attachment("not to be read", filename="Verträge.txt")
    message.add_attachment(b"\0", maintype="image", subtype="png")
    document = _document(tmp_path / "a.eml", message.as_bytes())
    assert document.text == "See below."
    assert document.metadata["attachments"] == ["Verträge.txt", "image/png"]


def test_forwarded_message_is_part_of_the_text(tmp_path: Path) -> None:
    """What was forwarded was written to be read."""
    inner = EmailMessage()
    inner["Subject"] = "Old news"
    inner.set_content("The boat leaks.")
    data = (
        _HEADERS
        + b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nLook:\n--b\n"
        + b"Content-Type: message/rfc822\n\n"
        + inner.as_bytes()
        + b"\n--b--\n"
    )
    assert _document(tmp_path / "a.eml", data).text == "Look:\n\nOld news\n\nThe boat leaks."


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        (b"=?utf-8?q?B=C3=A4r?= and =?iso-8859-1?b?5w==?=", "Bär and ç"),
        (b"=?gb2312?b?1tDOxA==?=", "中文"),
        (b"=?no-such-charset?q?caf=C3=A9?=", "café"),
        (b"folded\n  over lines", "folded over lines"),
        ("raw café".encode(), "raw café"),
        (b"raw caf\xe9", "raw café"),
        (b"=?utf-8?b?broken", "=?utf-8?b?broken"),
    ],
)
def test_subjects_are_decoded(tmp_path: Path, subject: bytes, title: str) -> None:
    """Encoded words, unknown charsets and bare 8-bit bytes all give a readable title."""
    assert _document(tmp_path / "a.eml", b"Subject: " + subject + b"\n\ntext").title == title


@pytest.mark.parametrize(
    ("charset", "body", "text"),
    [
        (b"iso-8859-1", b"caf\xe9", "café"),
        (b"utf-8", "naïve".encode(), "naïve"),
        (b"us-ascii", "naïve".encode(), "naïve"),
        (b"gb2312", "电子邮件".encode("gb18030"), "电子邮件"),
        (b"no-such-charset", "naïve".encode(), "naïve"),
        (b"utf-8", b"a\0b", "ab"),
    ],
)
def test_bodies_are_decoded(tmp_path: Path, charset: bytes, body: bytes, text: str) -> None:
    """The declared charset counts, then UTF-8."""
    data = b"Subject: x\nContent-Type: text/plain; charset=" + charset + b"\n\n" + body
    assert _read(tmp_path / "a.eml", data)[-1] == Document(
        "x", text, media_type=MEDIA_TYPE, metadata={}
    )


def test_undecodable_bytes_are_replaced_with_a_warning(tmp_path: Path) -> None:
    """A charset that does not fit loses characters, and says so."""
    data = b"Subject: x\nContent-Type: text/plain; charset=utf-8\n\ncaf\xe9 \x81 \x8d"
    problem, document = _read(tmp_path / "a.eml", data)
    assert isinstance(problem, Problem)
    assert problem.warning
    assert isinstance(document, Document)
    assert document.text.startswith("caf")


def test_transfer_encodings_are_undone(tmp_path: Path) -> None:
    """Quoted-printable and base64 are decoded; broken base64 gives what it can."""
    quoted = b"Subject: x\nContent-Transfer-Encoding: quoted-printable\n\na long =\nline =C3=A9"
    assert _document(tmp_path / "a.eml", quoted).text == "a long line é"
    broken = b"Subject: x\nContent-Transfer-Encoding: base64\n\nSGVsbG8gdGhlcmU"
    assert _document(tmp_path / "b.eml", broken).text == "Hello there"


def test_message_without_subject_is_called_like_its_file(tmp_path: Path) -> None:
    """The name of the file is the last resort for a title; a broken date is no date."""
    document = _document(tmp_path / "letter.eml", b"From: a@example.org\nDate: soon\n\ntext")
    assert (document.title, document.date) == ("letter", "")


@pytest.mark.parametrize(
    "headers",
    [
        b"Subject: x\nTo: <<<@@,;:\nFrom: =?utf-8?q?=ZZ?= <\nDate: 99 Foo 20x4 99:99\n",
        b"Subject: x\nContent-Type: multipart/mixed\n",
        b"Subject: x\nContent-Type: ;;;=\nContent-Disposition: ===\n",
        b"Subject: x\nContent-Type: text/plain; name*0*=x''%ff; charset*=a'b'c\n",
        b"Subject: x\nContent-Type: text/plain; charset*0*=a; charset*=b\n",
        b"Subject: x\nContent-Type: text/plain; charset*=a\0b'c'd\n",
        b"Subject: x\nbroken line without colon\nFrom: a\n",
    ],
)
def test_broken_headers_do_not_cost_the_message(tmp_path: Path, headers: bytes) -> None:
    """Mail is full of broken headers; the rest of the message is read."""
    assert _document(tmp_path / "a.eml", headers + b"\nthe text").title == "x"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"just a sentence, no header", "it has no headers"),
        (b"\n\nbody only", "it has no headers"),
        (b"From: a@example.org\n\n", "has no text"),
    ],
)
def test_what_is_no_message_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    """A file without headers, or with nothing to read, says so."""
    with pytest.raises(ReaderError, match=reason):
        _read(tmp_path / "a.eml", data)


def test_deeply_nested_parts_are_refused_or_read(tmp_path: Path) -> None:
    """A message of a thousand boxes in boxes is no way to break the run."""
    data = b"Subject: x\n" + b"Content-Type: message/rfc822\n\n" * 2000 + b"\ntext"
    try:
        assert _document(tmp_path / "a.eml", data).title == "x"
    except ReaderError as error:
        assert "cannot be read as a mail message" in error.what  # noqa: PT017 - either will do
